package ec2

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/credentials"
	awsec2 "github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/smithy-go"

	"github.com/kerf-sh/kerf/internal/sim/awssim/wire"
	"github.com/kerf-sh/kerf/internal/sim/awssim/world"
)

// sim is a world behind HTTP, with the real client in front of it.
type sim struct {
	*awsec2.Client
	t     *testing.T
	world *world.World
	clock *world.ManualClock
	url   string
}

type keys struct{ w *world.World }

func (k keys) Identity(id string) (wire.Identity, bool) {
	a, ok := k.w.AccessKey(id)
	return wire.Identity{AccessKeyID: a.ID, Secret: a.Secret, Account: k.w.Account(), PrincipalARN: a.PrincipalARN}, ok
}

type faults struct{ w *world.World }

func (f faults) Intercept(ctx context.Context, r *wire.Request) wire.Interception {
	in := f.w.Intercept(r.Service.Name, r.Operation, r.Principal.PrincipalARN, r.Values()...)
	out := wire.Interception{DropReply: in.DropReply, Note: strings.Join(in.FaultIDs, ",")}
	if in.Err != nil {
		out.Err = &wire.Error{Code: in.Err.Code, Message: in.Err.Message, Status: in.Err.Status}
		if in.Throttled && in.Err.Code == world.ThrottlingCode {
			out.Err = wire.Throttled(r)
		}
	}
	return out
}

type recorder struct{ w *world.World }

func (r recorder) Record(c wire.Call) {
	outcome := c.ErrorCode
	if outcome == "" {
		outcome = "OK"
	}
	r.w.RecordCall(world.Call{Service: c.Service, Operation: c.Operation, Principal: c.Principal, At: c.Time, Outcome: outcome, Fault: c.Fault, Detail: c.Detail})
}

var testTypes = []string{"m5.large", "m5.xlarge", "c5.large", "m6g.large", "g5.xlarge", "t3.micro", "m5.metal"}

// start makes a world with few types and a clock that stands still.
func start(t *testing.T, change func(*world.Options)) *sim {
	t.Helper()
	clock := world.NewManualClock(time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC))
	o := world.Options{Seed: 7, Clock: clock, ClusterName: "demo", Types: testTypes, OnDemandDepth: 100, SpotDepth: 50}
	if change != nil {
		change(&o)
	}
	w, err := world.NewDefault(o)
	if err != nil {
		t.Fatal(err)
	}
	server := wire.New(wire.Options{
		Region: "us-east-1", Keys: keys{w}, Faults: faults{w}, Recorder: recorder{w}, Now: time.Now,
		Logger: slog.New(slog.NewTextHandler(io.Discard, nil)),
	})
	Register(server, w)
	hs := httptest.NewServer(server)
	t.Cleanup(func() { hs.Close(); w.Close() })
	s := &sim{t: t, world: w, clock: clock, url: hs.URL}
	s.Client = s.client()
	return s
}

func (s *sim) client(change ...func(*awsec2.Options)) *awsec2.Client {
	return awsec2.New(awsec2.Options{
		Region: "us-east-1", BaseEndpoint: aws.String(s.url),
		Credentials: credentials.NewStaticCredentialsProvider(world.DefaultAccessKey, world.DefaultSecretKey, ""),
		Retryer:     quickRetry(),
	}, change...)
}

// quickRetry is the client's ordinary policy without its pauses.
func quickRetry() aws.Retryer {
	return retry.NewStandard(func(o *retry.StandardOptions) { o.MaxBackoff = time.Millisecond })
}

func wantCode(t *testing.T, err error, code string) {
	t.Helper()
	var api smithy.APIError
	if !errors.As(err, &api) || api.ErrorCode() != code {
		t.Fatalf("error is %v, want code %s", err, code)
	}
}

// private returns the private subnets in the order of their zones.
func (s *sim) private() []types.Subnet {
	s.t.Helper()
	out, err := s.DescribeSubnets(s.t.Context(), &awsec2.DescribeSubnetsInput{Filters: []types.Filter{filterOn("tag:karpenter.sh/discovery", "demo")}})
	if err != nil {
		s.t.Fatal(err)
	}
	return out.Subnets
}

func filterOn(name string, values ...string) types.Filter {
	return types.Filter{Name: aws.String(name), Values: values}
}

func (s *sim) image(arch string) string {
	s.t.Helper()
	id, ok := s.world.ImageParameter("/aws/service/eks/optimized-ami/1.36/amazon-linux-2023/" + arch + "/standard/recommended/image_id")
	if !ok {
		s.t.Fatalf("no AL2023 image for %s", arch)
	}
	return id
}

// template makes a launch template as the node autoscaler would.
func (s *sim) template(name string, change func(*types.RequestLaunchTemplateData)) {
	s.t.Helper()
	groups, err := s.DescribeSecurityGroups(s.t.Context(), &awsec2.DescribeSecurityGroupsInput{Filters: []types.Filter{filterOn("tag:karpenter.sh/discovery", "demo")}})
	if err != nil {
		s.t.Fatal(err)
	}
	var ids []string
	for _, g := range groups.SecurityGroups {
		ids = append(ids, *g.GroupId)
	}
	data := &types.RequestLaunchTemplateData{ImageId: aws.String(s.image("x86_64")), SecurityGroupIds: ids}
	if change != nil {
		change(data)
	}
	if _, err := s.CreateLaunchTemplate(s.t.Context(), &awsec2.CreateLaunchTemplateInput{LaunchTemplateName: aws.String(name), LaunchTemplateData: data}); err != nil {
		s.t.Fatal(err)
	}
}

// fleet is a request for n instances from a template at the given places.
func fleet(template string, n int32, capacityType types.DefaultTargetCapacityType, places ...types.FleetLaunchTemplateOverridesRequest) *awsec2.CreateFleetInput {
	return &awsec2.CreateFleetInput{
		Type: types.FleetTypeInstant,
		TargetCapacitySpecification: &types.TargetCapacitySpecificationRequest{
			TotalTargetCapacity: aws.Int32(n), DefaultTargetCapacityType: capacityType,
		},
		SpotOptions:     &types.SpotOptionsRequest{AllocationStrategy: types.SpotAllocationStrategyPriceCapacityOptimized},
		OnDemandOptions: &types.OnDemandOptionsRequest{AllocationStrategy: types.FleetOnDemandAllocationStrategyLowestPrice},
		LaunchTemplateConfigs: []types.FleetLaunchTemplateConfigRequest{{
			LaunchTemplateSpecification: &types.FleetLaunchTemplateSpecificationRequest{LaunchTemplateName: aws.String(template), Version: aws.String("$Latest")},
			Overrides:                   places,
		}},
	}
}

func place(instanceType string, subnet types.Subnet) types.FleetLaunchTemplateOverridesRequest {
	return types.FleetLaunchTemplateOverridesRequest{
		InstanceType: types.InstanceType(instanceType), SubnetId: subnet.SubnetId, AvailabilityZone: subnet.AvailabilityZone,
	}
}

func launched(out *awsec2.CreateFleetOutput) []string {
	var ids []string
	for _, i := range out.Instances {
		ids = append(ids, i.InstanceIds...)
	}
	return ids
}
