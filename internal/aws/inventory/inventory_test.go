package inventory_test

import (
	"errors"
	"log/slog"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/kerf-sh/kerf/internal/aws/inventory"
	"github.com/kerf-sh/kerf/internal/aws/session"
	"github.com/kerf-sh/kerf/internal/aws/session/sessiontest"
	"github.com/kerf-sh/kerf/internal/sim/awssim"
	"github.com/kerf-sh/kerf/internal/sim/awssim/world"
	"github.com/kerf-sh/kerf/internal/state/cloud"
)

type fixture struct {
	*awssim.Server
	api   *ec2.Client
	calls *sessiontest.Calls
}

func start(t *testing.T) *fixture {
	t.Helper()
	s, err := awssim.New(awssim.Options{Logger: slog.New(slog.DiscardHandler), World: world.Options{
		Types: []string{"m5.large"}, PendingTime: -1, ShutdownTime: -1,
	}})
	if err != nil {
		t.Fatal(err)
	}
	s.Start()
	t.Cleanup(func() { s.Close() })
	for _, kv := range s.Env() {
		k, v, _ := strings.Cut(kv, "=")
		t.Setenv(k, v)
	}
	calls := &sessiontest.Calls{}
	clients, err := session.New(t.Context(), session.Options{Middleware: calls.Middleware()})
	if err != nil {
		t.Fatal(err)
	}
	return &fixture{s, clients.EC2, calls}
}

// run starts n instances of a cluster, past the provider.
func (f *fixture) run(t *testing.T, cluster string, n int, change ...func(*ec2.RunInstancesInput)) []string {
	t.Helper()
	tags := map[string]string{"karpenter.sh/nodepool": "p", "karpenter.k8s.aws/ec2nodeclass": "c", "eks:eks-cluster-name": cluster, "karpenter.sh/nodeclaim": "claim"}
	var list []types.Tag
	for k, v := range tags {
		list = append(list, types.Tag{Key: &k, Value: &v})
	}
	subnets, err := f.api.DescribeSubnets(t.Context(), &ec2.DescribeSubnetsInput{})
	if err != nil {
		t.Fatal(err)
	}
	images, err := f.api.DescribeImages(t.Context(), &ec2.DescribeImagesInput{Filters: []types.Filter{{Name: aws.String("architecture"), Values: []string{"x86_64"}}}})
	if err != nil {
		t.Fatal(err)
	}
	in := &ec2.RunInstancesInput{
		MinCount: aws.Int32(int32(n)), MaxCount: aws.Int32(int32(n)), InstanceType: types.InstanceTypeM5Large, SubnetId: subnets.Subnets[0].SubnetId,
		ImageId:           images.Images[0].ImageId,
		TagSpecifications: []types.TagSpecification{{ResourceType: types.ResourceTypeInstance, Tags: list}},
	}
	for _, c := range change {
		c(in)
	}
	out, err := f.api.RunInstances(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	var ids []string
	for _, i := range out.Instances {
		ids = append(ids, *i.InstanceId)
	}
	return ids
}

func TestAllWhoListShareOneCall(t *testing.T) {
	f := start(t)
	f.run(t, "kerf", 3)
	f.run(t, "other", 2)
	v := inventory.New(f.api, "kerf", time.Now)
	f.calls.Reset()
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() {
			if got, err := v.List(t.Context(), time.Minute); err != nil || len(got) != 3 {
				t.Errorf("got %d instances, %v", len(got), err)
			}
		})
	}
	wg.Wait()
	if n := f.calls.Of("DescribeInstances"); n != 1 {
		t.Errorf("%d calls, want 1", n)
	}
	if _, err := v.List(t.Context(), 0); err != nil || f.calls.Of("DescribeInstances") != 2 {
		t.Errorf("an answer of no age must be a new one: %v", err)
	}
	m, err := v.List(t.Context(), time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	if m[0].Claim != "claim" || m[0].Pool != "p" || m[0].CapacityType != "on-demand" || m[0].PrivateDNSName == "" || m[0].ProviderID != "aws:///"+m[0].Zone+"/"+m[0].InstanceID {
		t.Errorf("got %+v", m[0])
	}
}

func TestAFailedListingIsNotKept(t *testing.T) {
	f := start(t)
	f.run(t, "kerf", 1)
	v := inventory.New(f.api, "kerf", time.Now)
	f.World.AddFault(world.Fault{Kind: world.FaultThrottle, Operation: "DescribeInstances", Count: 3})
	if _, err := v.List(t.Context(), time.Minute); cloud.ClassOf(err) != cloud.Throttled {
		t.Fatalf("got %v", err)
	}
	if got, err := v.List(t.Context(), time.Minute); err != nil || len(got) != 1 {
		t.Errorf("got %d instances, %v", len(got), err)
	}
}

func TestOneUnknownInstanceDoesNotSpoilTheBatch(t *testing.T) {
	f := start(t)
	ids := f.run(t, "kerf", 4)
	v := inventory.New(f.api, "kerf", time.Now)
	var wg sync.WaitGroup
	for _, id := range append(ids, "i-0123456789abcdef0") {
		wg.Go(func() {
			m, err := v.Get(t.Context(), id)
			switch {
			case id == "i-0123456789abcdef0":
				if !cloud.IsNotFound(err) {
					t.Errorf("%s: got %v", id, err)
				}
			case err != nil || m.InstanceID != id:
				t.Errorf("%s: got %v, %v", id, m, err)
			}
		})
	}
	wg.Wait()
	for _, id := range append(ids, "i-0123456789abcdef0") {
		wg.Go(func() {
			err := v.Terminate(t.Context(), id)
			if (id == "i-0123456789abcdef0") != cloud.IsNotFound(err) || err != nil && !cloud.IsNotFound(err) {
				t.Errorf("%s: got %v", id, err)
			}
		})
	}
	wg.Wait()
	for _, id := range ids {
		if _, err := v.Get(t.Context(), id); !cloud.IsNotFound(err) || !strings.Contains(err.Error(), "it is terminated: Client.UserInitiatedShutdown") {
			t.Errorf("%s is terminated, but reading it gave %v", id, err)
		}
	}
}

// EC2 ends nothing in the zone of an instance that is protected from termination; each of the others is asked for alone then.
func TestAProtectedInstanceHoldsNoOther(t *testing.T) {
	f := start(t)
	ids := f.run(t, "kerf", 4)
	held := f.run(t, "kerf", 1, func(in *ec2.RunInstancesInput) { in.DisableApiTermination = aws.Bool(true) })[0]
	v := inventory.New(f.api, "kerf", time.Now)
	var wg sync.WaitGroup
	for _, id := range append(ids, held) {
		wg.Go(func() {
			if err := v.Terminate(t.Context(), id); (err != nil) != (id == held) || err != nil && !strings.Contains(err.Error(), "disableApiTermination") {
				t.Errorf("%s: got %v", id, err)
			}
		})
	}
	wg.Wait()
}

func TestTerminationsThatComeTogetherAreOneCall(t *testing.T) {
	f := start(t)
	ids := f.run(t, "kerf", 25)
	v := inventory.New(f.api, "kerf", time.Now)
	var wg sync.WaitGroup
	for _, id := range ids {
		wg.Go(func() {
			if err := v.Terminate(t.Context(), id); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if n := f.calls.Of("TerminateInstances"); n > 3 {
		t.Errorf("%d calls for 25 instances", n)
	}
	for limit := time.Now().Add(30 * time.Second); ; { // they shut down on their own, a moment later
		got, err := v.List(t.Context(), 0)
		if err == nil && len(got) == 0 {
			break
		}
		if err != nil || time.Now().After(limit) {
			t.Fatalf("%d instances are left, %v", len(got), err)
		}
	}
	if got, err := v.Since(t.Context(), time.Now()); err != nil || len(got) != 25 {
		t.Errorf("%d instances are remembered, %v", len(got), err)
	}
}

func TestTagsSkipWhatIsGone(t *testing.T) {
	f := start(t)
	ids := f.run(t, "kerf", 3)
	v := inventory.New(f.api, "kerf", time.Now)
	tags := map[string]map[string]string{"i-0123456789abcdef0": {"team": "blue"}}
	for i, id := range ids {
		tags[id] = map[string]string{"team": "blue"}
		if i == 0 {
			tags[id] = map[string]string{"Name": strconv.Itoa(i)}
		}
	}
	if err := v.Tag(t.Context(), tags); err != nil {
		t.Fatal(err)
	}
	for i, id := range ids {
		m, err := v.Get(t.Context(), id)
		if err != nil || i == 0 && m.Tags["Name"] != "0" || i > 0 && m.Tags["team"] != "blue" {
			t.Errorf("%s has tags %v, %v", id, m.Tags, err)
		}
	}
}

func TestProviderIDs(t *testing.T) {
	if id, err := inventory.InstanceID(inventory.ProviderID("us-east-1a", "i-1")); id != "i-1" || err != nil {
		t.Errorf("got %s, %v", id, err)
	}
	for _, bad := range []string{"", "i-1", "aws://us-east-1a/i-1", "gce:///z/i-1", "aws:///z/x-1", "aws:///z/i-1/x", "aws:///i-1"} {
		if _, err := inventory.InstanceID(bad); !cloud.IsNotFound(err) || !errors.Is(err, cloud.ErrProviderID) {
			t.Errorf("%q: got %v", bad, err)
		}
	}
}

func TestAnInstanceWithHardlyAnythingIsRead(t *testing.T) {
	if _, ok := inventory.ToInstance(&types.Instance{}); ok {
		t.Error("an instance without id can't be worked with")
	}
	m, ok := inventory.ToInstance(&types.Instance{InstanceId: aws.String("i-1"), Tags: []types.Tag{{}}})
	if !ok || m.InstanceID != "i-1" || m.State != "" {
		t.Errorf("got %+v", m)
	}
	spot, _ := inventory.ToInstance(&types.Instance{InstanceId: aws.String("i-1"), SpotInstanceRequestId: aws.String("sir-1")})
	reserved, _ := inventory.ToInstance(&types.Instance{InstanceId: aws.String("i-1"), CapacityReservationId: aws.String("cr-1"),
		CapacityReservationSpecification: &types.CapacityReservationSpecificationResponse{CapacityReservationPreference: types.CapacityReservationPreferenceCapacityReservationsOnly}})
	open, _ := inventory.ToInstance(&types.Instance{InstanceId: aws.String("i-1"), CapacityReservationId: aws.String("cr-1")})
	if spot.CapacityType != "spot" || reserved.CapacityType != "reserved" || open.CapacityType != "on-demand" {
		t.Errorf("got %s, %s, %s", spot.CapacityType, reserved.CapacityType, open.CapacityType)
	}
}

func TestInstancesOfAnotherClusterOfTheSameNameAreNotSeen(t *testing.T) {
	f := start(t)
	untagged, ours, theirs := f.run(t, "kerf", 1)[0], f.run(t, "kerf", 1)[0], f.run(t, "kerf", 2)
	var told []map[string]int
	v := inventory.New(f.api, "kerf", time.Now).For("uid-1", func(byUID map[string]int) { told = append(told, byUID) })
	if err := v.Tag(t.Context(), map[string]map[string]string{
		ours: {"kerf.sh/cluster-uid": "uid-1"}, theirs[0]: {"kerf.sh/cluster-uid": "uid-2"}, theirs[1]: {"kerf.sh/cluster-uid": "uid-2"},
	}); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		got, err := v.List(t.Context(), 0)
		if err != nil || len(got) != 2 {
			t.Fatalf("listed %d instances, %v; want the one without the tag and the own one", len(got), err)
		}
	}
	if all, err := v.Since(t.Context(), time.Now()); err != nil || len(all) != 2 {
		t.Errorf("listed %d instances with the ended ones, %v", len(all), err)
	}
	if len(told) != 1 || told[0]["uid-2"] != 2 {
		t.Errorf("told %v, want once of two instances", told)
	}
	if _, err := v.Get(t.Context(), theirs[0]); !cloud.IsNotFound(err) || !strings.Contains(err.Error(), "another cluster") {
		t.Errorf("reading an instance of another cluster: %v", err)
	}
	if m, err := v.Get(t.Context(), untagged); err != nil || m.InstanceID != untagged {
		t.Errorf("reading an instance without the tag: %v", err)
	}
}

// TestABatchThatIsThrottledIsNotTakenApart: what EC2 has no time for is not asked for once more for each instance.
func TestABatchThatIsThrottledIsNotTakenApart(t *testing.T) {
	for name, fault := range map[string]world.Fault{
		"throttled": {Kind: world.FaultThrottle},
		"broken":    {Kind: world.FaultError, Code: "InternalError", Status: 500},
	} {
		t.Run(name, func(t *testing.T) {
			f := start(t)
			ids := f.run(t, "kerf", 20)
			v := inventory.New(f.api, "kerf", time.Now)
			for _, operation := range []string{"DescribeInstances", "TerminateInstances"} {
				fault.Operation = operation
				f.World.AddFault(fault)
			}
			f.calls.Reset()
			var wg sync.WaitGroup
			for _, id := range ids {
				wg.Go(func() {
					if _, err := v.Get(t.Context(), id); err == nil || cloud.IsNotFound(err) {
						t.Errorf("reading %s: %v", id, err)
					}
					if err := v.Terminate(t.Context(), id); err == nil {
						t.Errorf("terminating %s: no error", id)
					}
				})
			}
			wg.Wait()
			// Each call is made three times by the SDK; some callers come too late for the first batch.
			for _, operation := range []string{"DescribeInstances", "TerminateInstances"} {
				if n := f.calls.Of(operation); n > 9 {
					t.Errorf("%d calls of %s for 20 instances", n, operation)
				}
			}
		})
	}
}
