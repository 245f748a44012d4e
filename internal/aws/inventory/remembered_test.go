package inventory_test

import (
	"context"
	"reflect"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/kerf-sh/kerf/internal/aws/inventory"
	"github.com/kerf-sh/kerf/internal/sim/awssim/world"
	"github.com/kerf-sh/kerf/internal/state/cloud"
)

// plain leaves all decoding to the SDK.
type plain struct{ *ec2.Client }

func (p plain) DescribeInstances(ctx context.Context, in *ec2.DescribeInstancesInput, _ ...func(*ec2.Options)) (*ec2.DescribeInstancesOutput, error) {
	return p.Client.DescribeInstances(ctx, in)
}

func TestInstancesThatHaveNotChangedAreNotDecodedAgain(t *testing.T) {
	f := start(t)
	for range 3 {
		f.run(t, "mine", 2)
	}
	ids := f.run(t, "mine", 1)
	clock := world.NewManualClock(f.World.Now())
	list := func(api inventory.API) []*cloud.Instance {
		t.Helper()
		out, err := inventory.New(api, "mine", clock.Now).List(t.Context(), 0)
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	same := inventory.New(f.api, "mine", clock.Now)
	again := func() []*cloud.Instance {
		t.Helper()
		clock.Advance(1)
		out, err := same.List(t.Context(), 0)
		if err != nil {
			t.Fatal(err)
		}
		if want := list(plain{f.api}); len(out) == 0 || !reflect.DeepEqual(out, want) {
			t.Fatalf("%d instances are listed that the SDK reads in another way", len(out))
		}
		return out
	}
	known := map[string]*cloud.Instance{}
	for _, m := range again() {
		known[m.InstanceID] = m
	}
	for _, m := range again() {
		if known[m.InstanceID] != m {
			t.Errorf("%s has not changed, and was decoded again", m.InstanceID)
		}
	}
	key, value := "color", "blue & <white>"
	if _, err := f.api.CreateTags(t.Context(), &ec2.CreateTagsInput{Resources: ids, Tags: []types.Tag{{Key: &key, Value: &value}}}); err != nil {
		t.Fatal(err)
	}
	fresh := f.run(t, "mine", 1)
	n := 0
	for _, m := range again() {
		switch m.InstanceID {
		case ids[0]:
			if m.Tags[key] != value {
				t.Errorf("the new tag is %q", m.Tags[key])
			}
		case fresh[0]:
		default:
			if n++; known[m.InstanceID] != m {
				t.Errorf("%s has not changed, and was decoded again", m.InstanceID)
			}
		}
	}
	if n != 6 {
		t.Errorf("%d of six others are listed", n)
	}
	if _, err := f.api.TerminateInstances(t.Context(), &ec2.TerminateInstancesInput{InstanceIds: ids}); err != nil {
		t.Fatal(err)
	}
	if got := again(); len(got) != 7 {
		t.Errorf("%d instances are listed after one was terminated, want 7", len(got))
	}
}
