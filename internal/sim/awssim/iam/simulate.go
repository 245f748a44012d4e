package iam

import (
	"context"
	"encoding/base64"
	"net/url"
	"strconv"
	"strings"

	"github.com/kerf-sh/kerf/internal/awsmodel/iampolicy"
	"github.com/kerf-sh/kerf/internal/sim/awssim/wire"
)

type matchedStatement struct {
	SourcePolicyID   string `xml:"SourcePolicyId"`
	SourcePolicyType string `xml:"SourcePolicyType"`
}

type boundaryDetail struct {
	Allowed bool `xml:"AllowedByPermissionsBoundary"`
}

type resourceResult struct {
	Resource string             `xml:"EvalResourceName"`
	Decision string             `xml:"EvalResourceDecision"`
	Matched  []matchedStatement `xml:"MatchedStatements>member"`
	Missing  []string           `xml:"MissingContextValues>member"`
	InBounds *boundaryDetail    `xml:"PermissionsBoundaryDecisionDetail"`
}

type evaluation struct {
	Action   string             `xml:"EvalActionName"`
	Resource string             `xml:"EvalResourceName"`
	Decision string             `xml:"EvalDecision"`
	Matched  []matchedStatement `xml:"MatchedStatements>member"`
	Missing  []string           `xml:"MissingContextValues>member"`
	InBounds *boundaryDetail    `xml:"PermissionsBoundaryDecisionDetail"`
	Each     []resourceResult   `xml:"ResourceSpecificResults>member"`
}

var decisions = map[iampolicy.Outcome]string{
	iampolicy.Allowed: "allowed", iampolicy.ExplicitDeny: "explicitDeny", iampolicy.ImplicitDeny: "implicitDeny",
}

// simulatePrincipalPolicy says what the policies of a role would decide, without asking the resources' own policies
// unless one is given. There is one result for each action on each resource.
func (s *service) simulatePrincipalPolicy(_ context.Context, r *wire.Request) (any, error) {
	source, err := required(r.Form, "PolicySourceArn")
	if err != nil {
		return nil, err
	}
	if _, ok := s.world.RoleOf(source); !ok || iampolicy.RoleOf(source) != "" {
		return nil, wire.Errorf("NoSuchEntity", "The entity %s does not exist: want the ARN of a role.", source).WithStatus(404)
	}
	return answers(r.Form, s.world.PoliciesOf(source), source)
}

// simulateCustomPolicy is the same for policies that need not exist.
func (s *service) simulateCustomPolicy(_ context.Context, r *wire.Request) (any, error) {
	if len(wire.List(r.Form, "PolicyInputList.member")) == 0 {
		_, err := required(url.Values{}, "PolicyInputList")
		return nil, err
	}
	if r.Form.Get("ResourcePolicy") != "" && r.Form.Get("CallerArn") == "" {
		return nil, wire.Errorf("InvalidInput", "CallerArn is required with a ResourcePolicy")
	}
	return answers(r.Form, iampolicy.Policies{}, "")
}

// answers judges the actions that a request asks about, by the policies that it brings and those of a role.
func answers(form url.Values, of iampolicy.Policies, source string) (any, error) {
	q, p, err := question(form, of, source)
	if err != nil {
		return nil, err
	}
	actions := wire.List(form, "ActionNames.member")
	if len(actions) == 0 {
		_, err := required(url.Values{}, "ActionNames")
		return nil, err
	}
	resources := wire.List(form, "ResourceArns.member")
	if len(resources) == 0 {
		resources = []string{"*"}
	}
	var all []evaluation
	for _, action := range actions {
		if !strings.Contains(action, ":") || strings.ContainsAny(action, "*?") {
			return nil, wire.Errorf("InvalidInput", "Invalid Entity Arn or action: %s is not of the form service:Name", action)
		}
		for _, resource := range resources {
			q.Action, q.Resource = action, resource
			all = append(all, simulate(q, p))
		}
	}
	return simulated(form, all)
}

// simulated is the part of the results that a request is for; nothing but the request decides them, so that a place in
// the list is enough of a marker.
func simulated(form url.Values, all []evaluation) (any, error) {
	limit, err := maxItems(form)
	if err != nil {
		return nil, err
	}
	start := 0
	if m := form.Get("Marker"); m != "" {
		text, err := base64.RawURLEncoding.DecodeString(m)
		if err == nil {
			start, err = strconv.Atoi(string(text))
		}
		if err != nil || start < 0 || start > len(all) {
			return nil, wire.Errorf("InvalidInput", "The marker %q is not one that was given out.", m)
		}
	}
	out := struct {
		Results []evaluation `xml:"EvaluationResults>member"`
		mark
	}{Results: all[start:]}
	if len(out.Results) > limit {
		out.Results = out.Results[:limit]
		out.mark = mark{true, base64.RawURLEncoding.EncodeToString([]byte(strconv.Itoa(start + limit)))}
	}
	return out, nil
}

// question reads who is asked about, with which policies and context. Of the policies some are given already.
func question(form url.Values, p iampolicy.Policies, source string) (q iampolicy.Call, _ iampolicy.Policies, err error) {
	p.Identity = append([]iampolicy.Named{}, p.Identity...)
	for n, text := range wire.List(form, "PolicyInputList.member") {
		d, err := read("PolicyInputList", text)
		if err != nil {
			return q, p, err
		}
		p.Identity = append(p.Identity, iampolicy.Named{Name: "PolicyInputList." + strconv.Itoa(n+1), Document: d})
	}
	for _, text := range wire.List(form, "PermissionsBoundaryPolicyInputList.member") {
		if p.Boundary, err = read("PermissionsBoundaryPolicyInputList", text); err != nil {
			return q, p, err
		}
	}
	if text := form.Get("ResourcePolicy"); text != "" {
		if p.Resource, err = read("ResourcePolicy", text); err != nil {
			return q, p, err
		}
	}
	p.ResourceOwner = accountOf(form.Get("ResourceOwner"))
	caller := form.Get("CallerArn")
	if caller == "" {
		caller = source
	}
	q.Caller = iampolicy.Caller{ARN: caller, Account: accountOf(caller)}
	q.Context = iampolicy.Context{}
	for _, e := range wire.Structs(form, "ContextEntries.member") {
		q.Context.Set(e.Get("ContextKeyName"), wire.List(e, "ContextKeyValues.member")...)
	}
	return q, p, nil
}

func read(what, text string) (*iampolicy.Document, error) {
	d, err := iampolicy.Parse([]byte(text))
	if err != nil {
		return nil, wire.Errorf("InvalidInput", "%s: %v", what, err)
	}
	return d, nil
}

// accountOf is the account in an ARN, or the text itself if it is none.
func accountOf(arn string) string {
	parts := strings.SplitN(arn, ":", 6)
	if len(parts) < 6 {
		return arn
	}
	return parts[4]
}

func simulate(q iampolicy.Call, p iampolicy.Policies) evaluation {
	d := iampolicy.Evaluate(q, p)
	out := evaluation{Action: q.Action, Resource: q.Resource, Decision: decisions[d.Outcome], Missing: iampolicy.MissingKeys(q, p)}
	if d.Policy != "" {
		kind := "IAM Policy"
		switch d.Policy {
		case iampolicy.ResourceName:
			kind = "Resource Policy"
		case iampolicy.BoundaryName:
			kind = "Permissions Boundary Policy"
		}
		out.Matched = []matchedStatement{{d.Policy, kind}}
	}
	if p.Boundary != nil {
		alone := iampolicy.Evaluate(q, iampolicy.Policies{Identity: []iampolicy.Named{{Document: p.Boundary}}})
		out.InBounds = &boundaryDetail{alone.OK()}
	}
	out.Each = []resourceResult{{Resource: out.Resource, Decision: out.Decision, Matched: out.Matched, Missing: out.Missing, InBounds: out.InBounds}}
	return out
}
