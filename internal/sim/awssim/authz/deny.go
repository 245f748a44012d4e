package authz

import (
	"bytes"
	"compress/flate"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/kerf-sh/kerf/internal/awsmodel/iampolicy"
	"github.com/kerf-sh/kerf/internal/sim/awssim/wire"
)

// worded is what a message calls the action and the resource of a check. SQS writes its actions in lower case.
func (c *call) worded(k *check) (w struct{ action, on string }) {
	w.action = k.action
	if strings.HasPrefix(k.action, "sqs:") {
		w.action = strings.ToLower(k.action)
	}
	switch {
	case k.shown != "":
		w.on = " on resource: " + k.shown
	case k.resource != "*":
		w.on = " on resource: " + k.resource
	}
	return w
}

// refusal is the text that all services give, with the kind of policy that is missing or that forbids.
//
// Source: IAM User Guide, "Troubleshoot access denied error messages", checked 2026-11.
func refusal(q *iampolicy.Call, p *iampolicy.Policies, d *iampolicy.Decision, w struct{ action, on string }) string {
	text := "User: " + q.Caller.ARN + " is not authorized to perform: " + w.action + w.on
	if d.Outcome == iampolicy.ExplicitDeny {
		return text + " with an explicit deny in " + map[string]string{
			iampolicy.ResourceName: "a resource-based policy", iampolicy.BoundaryName: "a permissions boundary",
		}[d.Policy] + identityUnless(d.Policy)
	}
	return text + " because no " + lacking(q, p) + " allows the " + w.action + " action"
}

func identityUnless(policy string) string {
	if policy == iampolicy.ResourceName || policy == iampolicy.BoundaryName {
		return ""
	}
	return "an identity-based policy"
}

// lacking finds out which kind of policy would have had to allow.
func lacking(q *iampolicy.Call, p *iampolicy.Policies) string {
	if p.Boundary != nil {
		free := *p
		free.Boundary = nil
		if iampolicy.Evaluate(*q, free).OK() {
			return "permissions boundary"
		}
	}
	if p.ResourceOnly && iampolicy.Evaluate(*q, iampolicy.Policies{Identity: p.Identity, Boundary: p.Boundary}).OK() {
		return "resource-based policy"
	}
	return "identity-based policy"
}

// refuse makes the service's own error. EC2 puts its own sentence in front and, for what is more than a look, the message
// behind that only those who may can read.
func (c *call) refuse(q *iampolicy.Call, d *iampolicy.Decision, text string) *wire.Error {
	if c.r.Service != wire.EC2 {
		return wire.Denied(c.r, text)
	}
	text = "You are not authorized to perform this operation. " + text
	if !strings.HasPrefix(c.r.Operation, "Describe") {
		text += ". Encoded authorization failure message: " + c.encoded(q, d)
	}
	return wire.Denied(c.r, text)
}

type items[T any] struct {
	Items []T `json:"items"`
}

type value struct {
	Value string `json:"value"`
}

type condition struct {
	Key    string       `json:"key"`
	Values items[value] `json:"values"`
}

// Failure is what an encoded authorization failure message says, in the form that sts:DecodeAuthorizationMessage gives.
type Failure struct {
	Allowed           bool               `json:"allowed"`
	ExplicitDeny      bool               `json:"explicitDeny"`
	MatchedStatements items[matchedFact] `json:"matchedStatements"`
	Failures          items[string]      `json:"failures"`
	Context           failureContext     `json:"context"`
}

type matchedFact struct {
	StatementID  string `json:"statementId"`
	Effect       string `json:"effect"`
	SourcePolicy string `json:"sourcePolicyId"`
}

type failureContext struct {
	Principal struct {
		ID  string `json:"id"`
		ARN string `json:"arn"`
	} `json:"principal"`
	Action     string           `json:"action"`
	Resource   string           `json:"resource"`
	Conditions items[condition] `json:"conditions"`
}

func (c *call) encoded(q *iampolicy.Call, d *iampolicy.Decision) string {
	f := Failure{ExplicitDeny: d.Outcome == iampolicy.ExplicitDeny}
	f.MatchedStatements.Items, f.Failures.Items = []matchedFact{}, []string{}
	if f.ExplicitDeny {
		f.MatchedStatements.Items = append(f.MatchedStatements.Items, matchedFact{d.Sid, "DENY", d.Policy})
	}
	f.Context.Principal.ID, f.Context.Principal.ARN = c.r.Principal.PrincipalID, q.Caller.ARN
	f.Context.Action, f.Context.Resource = q.Action, q.Resource
	for _, k := range slices.Sorted(maps.Keys(q.Context)) {
		one := condition{Key: k}
		for _, v := range q.Context[k] {
			one.Values.Items = append(one.Values.Items, value{v})
		}
		f.Context.Conditions.Items = append(f.Context.Conditions.Items, one)
	}
	text, err := json.Marshal(f)
	if err != nil { // strings and booleans only
		return ""
	}
	var b bytes.Buffer
	z, _ := flate.NewWriter(&b, flate.BestSpeed) // the level is valid
	_, _ = z.Write(text)                         // a buffer takes all
	_ = z.Close()
	return base64.RawURLEncoding.EncodeToString(b.Bytes())
}

// maxFailure bounds a decoded message, in bytes.
const maxFailure = 1 << 20

// DecodeMessage reads the encoded part of a refusal.
func DecodeMessage(encoded string) (Failure, error) {
	var f Failure
	packed, err := base64.RawURLEncoding.DecodeString(encoded)
	if err != nil {
		return f, fmt.Errorf("decode authorization message: %w", err)
	}
	text, err := io.ReadAll(io.LimitReader(flate.NewReader(bytes.NewReader(packed)), maxFailure))
	if err != nil {
		return f, fmt.Errorf("decode authorization message: %w", err)
	}
	if err := json.Unmarshal(text, &f); err != nil {
		return f, fmt.Errorf("decode authorization message: %w", err)
	}
	return f, nil
}
