package dependency_test

import (
	"context"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/ssm"

	"github.com/kerf-sh/kerf/internal/aws/dependency"
	"github.com/kerf-sh/kerf/internal/aws/session"
	"github.com/kerf-sh/kerf/internal/sim/awssim"
	"github.com/kerf-sh/kerf/internal/sim/awssim/world"
)

// Every way in which a service can fail on the wire, beside one that answers all the while.
func TestServicesThatFailAreNamedAndOthersAreNot(t *testing.T) {
	for name, tc := range map[string]struct {
		fault world.Fault
		gone  bool
		words string
	}{
		"throttled":            {world.Fault{Kind: world.FaultThrottle, Service: "ec2"}, true, "RequestLimitExceeded"},
		"errors":               {world.Fault{Kind: world.FaultError, Service: "ec2", Code: "InternalError", Status: 500}, true, "InternalError"},
		"dropped connections":  {world.Fault{Kind: world.FaultLostReply, Service: "ec2"}, true, "DescribeSubnets"},
		"credentials refused":  {world.Fault{Kind: world.FaultError, Service: "ec2", Code: "RequestExpired", Status: 400}, true, "RequestExpired"},
		"a permission missing": {world.Fault{Kind: world.FaultError, Service: "ec2", Code: "UnauthorizedOperation", Status: 403}, false, ""},
		"something not found":  {world.Fault{Kind: world.FaultError, Service: "ec2", Code: "InvalidSubnetID.NotFound", Status: 400}, false, ""},
		"nothing amiss":        {world.Fault{Kind: world.FaultThrottle, Service: "sqs"}, false, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, h := newSession(t, tc.fault)
			_, _ = s.EC2.DescribeSecurityGroups(t.Context(), &ec2.DescribeSecurityGroupsInput{})
			for range 2 {
				_, _ = s.EC2.DescribeSubnets(t.Context(), &ec2.DescribeSubnetsInput{})
			}
			if _, err := s.IAM.ListInstanceProfiles(t.Context(), &iam.ListInstanceProfilesInput{}); err != nil {
				t.Fatal(err)
			}
			err := h.Err()
			if (err != nil) != tc.gone || err != nil && (!strings.Contains(err.Error(), "ec2 does not answer") || !strings.Contains(err.Error(), tc.words)) {
				t.Errorf("got %v", err)
			}
			if err != nil && strings.Contains(err.Error(), "iam") {
				t.Errorf("IAM answers: %v", err)
			}
		})
	}
}

func TestACallThatTheCallerGivesUpSaysNothing(t *testing.T) {
	s, h := newSession(t, world.Fault{Kind: world.FaultSlow, Service: "ssm", Delay: time.Minute})
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(20*time.Millisecond, cancel)
	for range 4 {
		if _, err := s.SSM.GetParameter(ctx, &ssm.GetParameterInput{Name: new("x")}); err == nil {
			t.Fatal("it was answered")
		}
	}
	if err := h.Err(); err != nil {
		t.Error(err)
	}
}

func newSession(t *testing.T, fault world.Fault) (*session.Session, *dependency.Health) {
	t.Helper()
	sim, err := awssim.New(awssim.Options{Logger: slog.New(slog.DiscardHandler), World: world.Options{Types: []string{"m5.large"}}, Faults: []world.Fault{fault}})
	if err != nil {
		t.Fatal(err)
	}
	sim.Start()
	t.Cleanup(func() { _ = sim.Close() })
	h := dependency.New(nil)
	id, secret := sim.Credentials()
	s, err := session.New(t.Context(), session.Options{Version: "test", Middleware: h.Middleware(), Explicit: &session.Explicit{
		Region: sim.World.Region(), Endpoint: sim.URL(), AccessKeyID: id, SecretAccessKey: secret,
	}})
	if err != nil {
		t.Fatal(err)
	}
	return s, h
}
