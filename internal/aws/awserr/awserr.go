// Package awserr turns the errors of the AWS SDK into cloud.Error: one table maps the services' error codes to the class
// that callers decide on and to the reason that users see.
package awserr

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"time"

	smithy "github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/kerf-sh/kerf/internal/state/cloud"
)

// throttleWait is how long a caller should leave a throttled API alone; the SDK has already retried by then.
const throttleWait = 2 * time.Second

// Classify maps an error code and message to class and reason. known is false when no row of the table fits.
func Classify(code, message string) (class cloud.ErrorClass, reason string, known bool) {
	for _, r := range rules {
		if (r.Code == "" || r.Code == code) && (r.Text == "" || strings.Contains(message, r.Text)) {
			return r.Class, r.Reason, true
		}
	}
	return cloud.Unavailable, ReasonLaunchFailed, false
}

// Wrap makes a *cloud.Error of what an SDK call returned; op says what was being done, with the object. It returns nil
// for nil and an error that already is a *cloud.Error with op put in front.
func Wrap(op string, err error) error {
	if err == nil {
		return nil
	}
	if e, ok := errors.AsType[*cloud.Error](err); ok {
		return &cloud.Error{Op: op, Class: e.Class, Reason: e.Reason, RetryAfter: e.RetryAfter, Err: err}
	}
	out := &cloud.Error{Op: op, Class: cloud.Unavailable, Reason: ReasonLaunchFailed, Err: err}
	api, ok := errors.AsType[smithy.APIError](err)
	if !ok {
		out.Err = explainTransport(err)
		return out
	}
	class, reason, known := Classify(api.ErrorCode(), api.ErrorMessage())
	out.Class, out.Reason = class, reason
	if !known {
		out.Class = classByStatus(err, api)
	}
	switch {
	case out.Reason == ReasonCredentialsRefused:
		out.Err = fmt.Errorf("AWS refuses the credentials (%s): check AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or the role of the service account: %w", api.ErrorCode(), err)
	case out.Class == cloud.Denied:
		out.Err = denied(err, api)
	case out.Reason == ReasonSpotSLRCreationFailed:
		out.Err = fmt.Errorf("the service-linked role for spot instances does not exist and may not be created: run \"aws iam create-service-linked-role --aws-service-name spot.amazonaws.com\" once: %w", err)
	case out.Class == cloud.Throttled:
		out.RetryAfter = throttleWait
	}
	return out
}

// Code is the API error code of err, empty when the service did not answer with one.
func Code(err error) string {
	if api, ok := errors.AsType[smithy.APIError](err); ok {
		return api.ErrorCode()
	}
	return ""
}

// IsDryRunOK reports whether err is the answer to a dry run that would have been allowed.
func IsDryRunOK(err error) bool { return Code(err) == "DryRunOperation" }

// Refused reports whether the service certainly did not carry the request out: it answered, with an error that is the
// caller's fault or a throttle. Anything else — no answer, a cancelled call, a fault of the service — leaves it open.
func Refused(err error) bool {
	api, ok := errors.AsType[smithy.APIError](err)
	if !ok {
		return false
	}
	class, _, known := Classify(api.ErrorCode(), api.ErrorMessage())
	if !known {
		class = classByStatus(err, api)
	}
	return class != cloud.Unavailable
}

func classByStatus(err error, api smithy.APIError) cloud.ErrorClass {
	var status int
	if r, ok := errors.AsType[*smithyhttp.ResponseError](err); ok {
		status = r.HTTPStatusCode()
	}
	switch {
	case status >= http.StatusInternalServerError || api.ErrorFault() == smithy.FaultServer:
		return cloud.Unavailable
	case status == http.StatusTooManyRequests:
		return cloud.Throttled
	case status == http.StatusForbidden, status == http.StatusUnauthorized:
		return cloud.Denied
	case strings.Contains(api.ErrorCode(), "NotFound"):
		return cloud.NotFound
	case strings.Contains(api.ErrorCode(), "AlreadyExists"):
		return cloud.Conflict
	case status >= http.StatusBadRequest:
		return cloud.Invalid
	}
	return cloud.Unavailable
}

var actionPattern = regexp.MustCompile(`not authorized to perform:? ([a-z0-9-]+:[A-Za-z]+)`)

// Action is the IAM action that an error says is missing: the one that the message names, else the call itself.
func Action(err error) string {
	own := ""
	if call, ok := errors.AsType[*smithy.OperationError](err); ok {
		own = servicePrefix(call.Service()) + ":" + call.Operation()
	}
	if api, ok := errors.AsType[smithy.APIError](err); ok {
		m := actionPattern.FindStringSubmatch(api.ErrorMessage())
		if m != nil && !strings.EqualFold(m[1], own) { // SQS names its actions in small letters
			return m[1]
		}
	}
	return own
}

// servicePrefix is the name of a service in IAM policies.
func servicePrefix(id string) string {
	if id == "EventBridge" {
		return "events" // the name that it had before
	}
	return strings.ToLower(strings.ReplaceAll(id, " ", "-"))
}

func denied(err error, api smithy.APIError) error {
	action := Action(err)
	if action == "" {
		return err
	}
	return fmt.Errorf("%s: %w", missing(action, api.ErrorMessage()), err)
}

// Refusal says what to do about a refusal that came as part of an answer: which permission is missing and where it is to
// be given. call is what was called, for messages that name no action.
func Refusal(message, call string) string {
	if m := actionPattern.FindStringSubmatch(message); m != nil {
		call = m[1]
	}
	return missing(call, message)
}

// LacksPermission reports whether err says that the controller's role may not do a thing, which holds until somebody changes
// a policy. Credentials that are not accepted are another matter: they may be new in a moment.
func LacksPermission(err error) bool {
	e, ok := errors.AsType[*cloud.Error](err)
	return ok && e.Class == cloud.Denied && e.Reason != ReasonCredentialsRefused
}

// Unanswered reports whether err tells nothing of what was asked: the service was not reached, was asked too often, or does not accept
// the credentials. What was known before still holds then.
func Unanswered(err error) bool {
	switch cloud.ClassOf(err) {
	case cloud.Unavailable, cloud.Throttled:
		return err != nil
	case cloud.Denied:
		return !LacksPermission(err)
	}
	return false
}

// What AWS says of who was refused, and of the policies that did it; since 2026 with the policy's name where one forbids explicitly.
var (
	rolePattern = regexp.MustCompile(`:assumed-role/([^/ ]+)/`)
	denyPattern = regexp.MustCompile(`with an explicit deny in an? ([A-Za-z -]+policy|permissions boundary)(?:: (arn:[^ ]*[^ .,;]))?`)
	lackPattern = regexp.MustCompile(`because no (permissions boundary|(?:service control|resource control|session|VPC endpoint) policy) allows`)
)

// missing says why an action is refused and what allows it: "missing permission ACTION: " and what to do, or why and, after "; ",
// what to do.
func missing(action, message string) string {
	role := "the controller's role"
	if m := rolePattern.FindStringSubmatch(message); m != nil {
		role += " " + m[1]
	}
	where := "allow it in the policies of " + role
	if action == "iam:PassRole" { // policies name roles, so that one which does not exist is refused like one that is not listed
		where += "; AWS says the same of a role that does not exist: check spec.role of the EC2NodeClass"
	}
	if m := denyPattern.FindStringSubmatch(message); m != nil {
		where = denies(action, role, m[1], m[2])
	} else if m := lackPattern.FindStringSubmatch(message); m != nil {
		where = fmt.Sprintf("no %s that applies to %s allows it; allow %s in that %s%s", m[1], role, action, m[1], keeper(m[1]))
	} else if strings.Contains(message, "Not authorized for images") {
		where = "the image is not shared with this account"
	}
	return "missing permission " + action + ": " + where
}

// denies is about a policy of a kind, under a name where AWS gives one, that forbids an action explicitly: to allow it elsewhere does not help.
func denies(action, role, kind, name string) string {
	a := "a"
	if strings.HasPrefix(kind, "identity") {
		a = "an"
	}
	one := fmt.Sprintf("%s %s of %s", a, kind, role)
	switch kind {
	case "identity-based policy", "permissions boundary", "session policy":
	default: // it is attached elsewhere
		one = fmt.Sprintf("%s %s that applies to %s", a, kind, role)
	}
	if name != "" {
		one += " (" + name + ")"
	}
	return fmt.Sprintf("%s denies it explicitly; find out who wrote that Deny of %s and why, and remove it from that %s%s: an Allow elsewhere does not outweigh it", one, action, kind, keeper(kind))
}

// keeper says who can change policies of a kind, as a clause; empty for those of the account.
func keeper(kind string) string {
	if kind == "service control policy" || kind == "resource control policy" {
		return ", which is up to who manages the AWS organization"
	}
	return ""
}

// ErrNoCredentials is that the SDK found nothing to sign calls with; the network is not to blame.
var ErrNoCredentials = errors.New("no AWS credentials found")

// explainTransport says what to do about an error that no service has answered with. That there are no credentials comes before that time
// ran out: looking for them is what took it.
func explainTransport(err error) error {
	text := err.Error()
	lacks := strings.Contains(text, "get credentials") || strings.Contains(text, "failed to refresh cached credentials") || strings.Contains(text, "get identity")
	switch {
	case !lacks || errors.Is(err, context.Canceled):
		return err
	case strings.Contains(text, "EC2 IMDS") || strings.Contains(text, "ec2imds"): // the last place that the SDK looks in
		return fmt.Errorf("%w: give the service account a role, by EKS Pod Identity or IAM roles for service accounts; pods can't have the role of the instance where the hop limit of its metadata is 1; outside of a pod, set AWS_PROFILE, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY: %w", ErrNoCredentials, err)
	}
	return fmt.Errorf("%w: set AWS_PROFILE, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY; in a pod, give its service account a role: %w", ErrNoCredentials, err)
}
