package awserr

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	smithy "github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/kerf-sh/kerf/internal/state/cloud"
)

func apiError(service, op, code, message string, status int) error {
	return &smithy.OperationError{ServiceID: service, OperationName: op, Err: &smithyhttp.ResponseError{
		Response: &smithyhttp.Response{Response: &http.Response{StatusCode: status}},
		Err:      &smithy.GenericAPIError{Code: code, Message: message},
	}}
}

func TestEveryRowOfTheTableIsReached(t *testing.T) {
	for _, r := range rules {
		t.Run(r.Code+"/"+r.Text, func(t *testing.T) {
			code, text := r.Code, r.Text
			if code == "" {
				code = "SomethingElse"
			}
			err := Wrap("creating fleet", apiError("EC2", "CreateFleet", code, "because "+text+" of it", 400))
			e, ok := errors.AsType[*cloud.Error](err)
			if !ok {
				t.Fatalf("Wrap gave %T", err)
			}
			if e.Class != r.Class || e.Reason != r.Reason {
				t.Errorf("got %s %s, want %s %s", e.Class, e.Reason, r.Class, r.Reason)
			}
			if e.Class == cloud.Denied && e.Reason != ReasonCredentialsRefused && !strings.Contains(e.Error(), "ec2:CreateFleet") {
				t.Errorf("a denied call must name the action: %s", e)
			}
			if (e.Class == cloud.Throttled) != (e.RetryAfter > 0) {
				t.Errorf("RetryAfter is %v for class %s", e.RetryAfter, e.Class)
			}
		})
	}
}

func TestClassesThatNoRowDecides(t *testing.T) {
	tests := []struct {
		name, code string
		status     int
		want       cloud.ErrorClass
		refused    bool
	}{
		{"an unknown not-found code is not found", "InvalidThing.NotFound", 400, cloud.NotFound, true},
		{"an unknown client error is invalid", "Whatever", 400, cloud.Invalid, true},
		{"an unknown forbidden call is denied", "Whatever", 403, cloud.Denied, true},
		{"an unknown server error is unavailable and leaves the outcome open", "Whatever", 500, cloud.Unavailable, false},
		{"a throttle by status", "Whatever", 429, cloud.Throttled, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			in := apiError("EC2", "CreateFleet", tt.code, "m", tt.status)
			if got := cloud.ClassOf(Wrap("x", in)); got != tt.want {
				t.Errorf("class %s, want %s", got, tt.want)
			}
			if got := Refused(in); got != tt.refused {
				t.Errorf("Refused = %v, want %v", got, tt.refused)
			}
		})
	}
	if Refused(errors.New("EOF")) {
		t.Error("a broken connection must leave the outcome open")
	}
	if Wrap("x", nil) != nil {
		t.Error("nil must stay nil")
	}
}

func TestDeniedMessagesNameTheActionAndThePlaceToMend(t *testing.T) {
	tests := []struct{ message, action, hint string }{
		{"User: arn:aws:sts::1:x is not authorized to perform: iam:PassRole on resource: r because no identity-based policy allows the iam:PassRole action", "iam:PassRole", "policies of the controller's role"},
		{"is not authorized to perform: ec2:CreateFleet because no permissions boundary allows it", "ec2:CreateFleet", "permissions boundary"},
		{"is not authorized to perform: ec2:CreateFleet with an explicit deny in a service control policy", "ec2:CreateFleet", "service control policy"},
		{"You are not authorized to perform this operation.", "ec2:RunInstances", "policies of the controller's role"},
	}
	for _, tt := range tests {
		t.Run(tt.message, func(t *testing.T) {
			err := Wrap("checking", apiError("EC2", "RunInstances", "UnauthorizedOperation", tt.message, 403))
			for _, want := range []string{"missing permission " + tt.action, tt.hint} {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%q lacks %q", err, want)
				}
			}
		})
	}
}

func TestRefusalsWithinAnAnswerNameTheActionAndThePlaceToMend(t *testing.T) {
	const role = "allow it in the policies of the controller's role"
	for message, want := range map[string]string{
		"You are not authorized to perform this operation. User: arn:aws:sts::1:x is not authorized to perform: iam:PassRole on resource: r": "missing permission iam:PassRole: " + role + "; AWS says the same of a role that does not exist: check spec.role of the EC2NodeClass",
		"You are not authorized to perform this operation.":                                              "missing permission ec2:RunInstances: " + role,
		"is not authorized to perform: ec2:CreateTags with an explicit deny in an identity-based policy": "missing permission ec2:CreateTags: an identity-based policy of the controller's role denies it explicitly; find out who wrote that Deny of ec2:CreateTags and why, and remove it from that identity-based policy: an Allow elsewhere does not outweigh it",
		"User: arn:aws:sts::1:assumed-role/shop-karpenter/kerf is not authorized to perform: ec2:CreateFleet on resource: arn:aws:ec2:us-east-1:1:fleet/* with an explicit deny in a service control policy: arn:aws:organizations::2:policy/o-1/service_control_policy/p-1. Encoded authorization failure message: x": "missing permission ec2:CreateFleet: a service control policy that applies to the controller's role shop-karpenter (arn:aws:organizations::2:policy/o-1/service_control_policy/p-1) denies it explicitly; find out who wrote that Deny of ec2:CreateFleet and why, and remove it from that service control policy, which is up to who manages the AWS organization: an Allow elsewhere does not outweigh it",
		"User: arn:aws:sts::1:assumed-role/shop-karpenter/kerf is not authorized to perform: ec2:CreateFleet on resource: r because no permissions boundary allows the ec2:CreateFleet action":                                                                                                                         "missing permission ec2:CreateFleet: no permissions boundary that applies to the controller's role shop-karpenter allows it; allow ec2:CreateFleet in that permissions boundary",
		"User: arn:aws:sts::1:assumed-role/shop-karpenter/kerf is not authorized to perform: ec2:CreateFleet on resource: r because no identity-based policy allows the ec2:CreateFleet action":                                                                                                                        "missing permission ec2:CreateFleet: " + role + " shop-karpenter",
	} {
		if got := Refusal(message, "ec2:RunInstances"); got != want {
			t.Errorf("of %q: %q, want %q", message, got, want)
		}
	}
}

func TestWrapKeepsTheClassOfAnInnerError(t *testing.T) {
	inner := &cloud.Error{Op: "a", Class: cloud.Exhausted, Reason: "R", Err: errors.New("b")}
	err := Wrap("outer", fmt.Errorf("c: %w", inner))
	if cloud.ClassOf(err) != cloud.Exhausted || !strings.HasPrefix(err.Error(), "outer: c: a: b") {
		t.Errorf("got %s %v", cloud.ClassOf(err), err)
	}
}

// Who finds no credentials is sent to the service account and not to the network, also where the search for them took all the time.
func TestMissingCredentialsComeBeforeTheTimeThatRanOut(t *testing.T) {
	call := func(cause string, of error) error {
		return &smithy.OperationError{ServiceID: "EC2", OperationName: "DescribeInstanceTypes", Err: fmt.Errorf("%s%w", cause, of)}
	}
	const imds = "get identity: get credentials: failed to refresh cached credentials, no EC2 IMDS role found, operation error ec2imds: GetMetadata, canceled, "
	for name, tt := range map[string]struct {
		err     error
		missing bool
		says    []string
	}{
		"the hop limit of the metadata is 1": {call(imds, context.DeadlineExceeded), true, []string{"service account", "EKS Pod Identity", "IAM roles for service accounts", "hop limit"}},
		"no metadata":                        {call(imds, errors.New("404")), true, []string{"service account", "hop limit", "AWS_PROFILE"}},
		"an agent that does not answer":      {call("get identity: get credentials: ", context.DeadlineExceeded), true, []string{"AWS_PROFILE", "service account"}},
		"a process that ends":                {call(imds, context.Canceled), false, nil},
		"a service that does not answer":     {call("request send failed, ", context.DeadlineExceeded), false, nil},
	} {
		t.Run(name, func(t *testing.T) {
			got := Wrap("asking", tt.err)
			if errors.Is(got, ErrNoCredentials) != tt.missing || cloud.ClassOf(got) != cloud.Unavailable || !errors.Is(got, tt.err) {
				t.Errorf("got %v of class %s; want credentials missing: %t", got, cloud.ClassOf(got), tt.missing)
			}
			for _, want := range tt.says {
				if !strings.Contains(got.Error(), want) {
					t.Errorf("%v lacks %q", got, want)
				}
			}
		})
	}
}
