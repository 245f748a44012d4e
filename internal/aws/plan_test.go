package aws

import (
	"runtime"
	"testing"
	"time"

	awsv1 "github.com/kerf-sh/kerf/api/aws/v1"
	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/internal/aws/userdata"
	"github.com/kerf-sh/kerf/internal/engine/catalog"
)

// Each change of a price or of what is short makes a new list of all types, of a megabyte or more. Plans are kept longer than
// their lists are of use.
func TestAPlanThatIsKeptDoesNotHoldItsTypes(t *testing.T) {
	var kept plans
	const lists = 3
	gone := make(chan struct{}, lists)
	for range lists {
		types := []*catalog.Type{{Name: "m5.large"}}
		runtime.AddCleanup(types[0], func(struct{}) { gone <- struct{}{} }, struct{}{})
		key := planKeyOf(t, types)
		if again := planKeyOf(t, types); again != key {
			t.Error("the same list gives another key")
		}
		if other := planKeyOf(t, []*catalog.Type{types[0]}); other == key {
			t.Error("another list gives the same key")
		}
		kept.put(key, &launchPlan{})
		kept.partitions(key, func() []int32 { return nil })
		if kept.get(key) == nil {
			t.Error("the plan is not found")
		}
		runtime.KeepAlive(types)
	}
	for i := range lists {
		runtime.GC()
		select {
		case <-gone:
		case <-time.After(10 * time.Second):
			t.Fatalf("%d of %d lists are held by %d plans", lists-i, lists, len(kept.all))
		}
	}
	runtime.KeepAlive(&kept)
}

func planKeyOf(t *testing.T, types []*catalog.Type) planKey {
	t.Helper()
	key, err := newPlanKey(&karpv1.NodeClaim{}, &awsv1.EC2NodeClass{}, types, userdata.Cluster{})
	if err != nil {
		t.Fatal(err)
	}
	return key
}
