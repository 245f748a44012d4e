package aws_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	awsv1 "github.com/kerf-sh/kerf/api/aws/v1"
	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/internal/aws"
	"github.com/kerf-sh/kerf/internal/aws/session/sessiontest"
	"github.com/kerf-sh/kerf/internal/engine/catalog"
	"github.com/kerf-sh/kerf/internal/sim/awssim"
	"github.com/kerf-sh/kerf/internal/sim/awssim/world"
	"github.com/kerf-sh/kerf/internal/state/cloud"
)

// groupCluster is a provider with a class that selects the placement group "group".
type groupCluster struct {
	*testing.T
	sim   *awssim.Server
	p     *aws.Provider
	calls *sessiontest.Calls
	class *awsv1.EC2NodeClass
	group world.PlacementGroup
	ahead time.Duration
}

func newGroupCluster(t *testing.T, strategy string, partitions int32) *groupCluster {
	t.Helper()
	h := &groupCluster{T: t, sim: startSim(t, awssim.Options{})}
	h.p, h.calls = newCountedProvider(t, h.sim, func(o *aws.Options) { o.Now = func() time.Time { return time.Now().Add(h.ahead) } })
	ready(t, h.p)
	h.class = newClass(h.sim)
	h.class.Spec.PlacementGroupSelector = &awsv1.PlacementGroupSelector{Name: "group"}
	h.make(strategy, partitions)
	h.resolve()
	return h
}

func (h *groupCluster) make(strategy string, partitions int32) {
	h.Helper()
	var err error
	if h.group, err = h.sim.World.AddPlacementGroup("group", strategy, partitions, nil); err != nil {
		h.Fatal(err)
	}
}

// TestNothingIsLaunchedBeforeTheGroupIsKnown has a class as Karpenter leaves it, which is ready and does not say which group was found.
func TestNothingIsLaunchedBeforeTheGroupIsKnown(t *testing.T) {
	h := newGroupCluster(t, "cluster", 0)
	h.class.Status.PlacementGroup = nil
	if m, err := h.launch(1); cloud.ClassOf(err) != cloud.Unavailable || len(alive(h.sim)) > 0 {
		t.Errorf("launched %+v outside the group that the class selects: %v", m, err)
	}
	h.resolve()
	if m := h.mustLaunch(1); m.PlacementGroup != h.group.ID {
		t.Errorf("launched in group %q", m.PlacementGroup)
	}
}

// resolve does what the nodeclass controller does, a minute later each time.
func (h *groupCluster) resolve() {
	h.Helper()
	h.ahead += time.Minute
	r, err := h.p.Resolve(h.Context(), h.class)
	if err != nil {
		h.Fatal(err)
	}
	resolve(h.T, h.p, h.class)
	h.class.Status.PlacementGroup = r.PlacementGroup
}

func (h *groupCluster) launch(n int, requirements ...karpv1.NodeSelectorRequirementWithMinValues) (*cloud.Instance, error) {
	h.Helper()
	return h.p.Launch(h.Context(), newClaim(n, requirements...), h.class)
}

func (h *groupCluster) mustLaunch(n int, requirements ...karpv1.NodeSelectorRequirementWithMinValues) *cloud.Instance {
	h.Helper()
	m, err := h.launch(n, requirements...)
	if err != nil {
		h.Fatal(err)
	}
	return m
}

// closed says why offerings of a type are closed, by zone or by partition.
func (h *groupCluster) closed(class *awsv1.EC2NodeClass, instanceType string, by func(*catalog.Offering) string) map[string]string {
	h.Helper()
	types, err := h.p.Types(h.Context(), class)
	if err != nil {
		h.Fatal(err)
	}
	out := map[string]string{}
	for _, t := range types {
		for i := range t.Offerings {
			if o := &t.Offerings[i]; t.Name == instanceType && o.CapacityType == catalog.OnDemand {
				out[by(o)] = o.Unavailable
			}
		}
	}
	return out
}

func zoneOf(o *catalog.Offering) string { return o.Zone }

// large asks for one type in one zone, on demand.
func large(zone string, more ...karpv1.NodeSelectorRequirementWithMinValues) []karpv1.NodeSelectorRequirementWithMinValues {
	return append([]karpv1.NodeSelectorRequirementWithMinValues{
		need(corev1.LabelInstanceTypeStable, corev1.NodeSelectorOpIn, "m5.large"), need(karpv1.CapacityTypeLabelKey, corev1.NodeSelectorOpIn, "on-demand"),
		need(corev1.LabelTopologyZone, corev1.NodeSelectorOpIn, zone),
	}, more...)
}

func partition(values ...string) karpv1.NodeSelectorRequirementWithMinValues {
	return need(awsv1.LabelPlacementGroupPartition, corev1.NodeSelectorOpIn, values...)
}

// zones are those of the class in which the type is sold, sorted.
func (h *groupCluster) zones() []string {
	return slices.Sorted(func(yield func(string) bool) {
		for zone, why := range h.closed(h.class, "m5.large", zoneOf) {
			if why == "" && !yield(zone) {
				return
			}
		}
	})
}

func TestInstancesOfAPartitionGroupAreSpreadEvenly(t *testing.T) {
	h := newGroupCluster(t, "partition", 3)
	// Somebody else's choice is heeded: two stand in the first partition already.
	for n := range 2 {
		h.mustLaunch(n, large(h.zones()[0], partition("1"))...)
	}
	h.ahead += 10 * time.Minute
	var wg sync.WaitGroup
	var mu sync.Mutex
	labels := map[string]int{}
	for n := range 7 {
		wg.Go(func() {
			m, err := h.launch(10+n, large(h.zones()[0])...)
			if err != nil {
				t.Error(err)
				return
			}
			mu.Lock()
			defer mu.Unlock()
			labels[m.Labels[awsv1.LabelPlacementGroupPartition]]++
			if m.Labels[awsv1.LabelPlacementGroupID] != h.group.ID {
				t.Errorf("label of the group: %q", m.Labels[awsv1.LabelPlacementGroupID])
			}
		})
	}
	wg.Wait()
	if diff := cmp.Diff(map[string]int{"1": 1, "2": 3, "3": 3}, labels); diff != "" {
		t.Errorf("new instances by partition (-want +got)\n%s", diff)
	}
	count := map[int32]int{}
	for _, i := range alive(h.sim) {
		if i.PlacementGroupID != h.group.ID {
			t.Errorf("%s stands in group %q", i.ID, i.PlacementGroupID)
		}
		count[i.Partition]++
	}
	if diff := cmp.Diff(map[int32]int{1: 3, 2: 3, 3: 3}, count); diff != "" {
		t.Errorf("all instances by partition (-want +got)\n%s", diff)
	}
}

func TestAPodGetsThePartitionThatItAsksFor(t *testing.T) {
	h := newGroupCluster(t, "partition", 3)
	m := h.mustLaunch(1, large(h.zones()[0], partition("3"))...)
	if m.Labels[awsv1.LabelPlacementGroupPartition] != "3" || alive(h.sim)[0].Partition != 3 {
		t.Errorf("asked for 3: %v, %+v", m.Labels, alive(h.sim)[0])
	}
	if got, err := h.p.Get(t.Context(), m.ProviderID); err != nil || got.Partition != 3 || got.PlacementGroup != h.group.ID {
		t.Errorf("EC2 shows %+v, %v", got, err)
	}
	if _, err := h.launch(2, large(h.zones()[0], partition("4"))...); cloud.ClassOf(err) != cloud.Exhausted {
		t.Errorf("a partition that there is not: %v", err)
	}
}

func TestAPartitionWithoutCapacityIsLeftOutAndNoOther(t *testing.T) {
	h := newGroupCluster(t, "partition", 2)
	zone, other := h.zones()[0], h.zones()[1]
	fault := h.sim.World.AddFault(world.Fault{Kind: world.FaultNoCapacity})
	if _, err := h.launch(1, large(zone)...); cloud.ClassOf(err) != cloud.Exhausted {
		t.Fatalf("without capacity: %v", err)
	}
	h.sim.World.RemoveFault(fault)
	why := h.closed(h.class, "m5.large", func(o *catalog.Offering) string { return fmt.Sprint(o.Zone, " ", o.Partition) })
	for _, pool := range []string{zone + " 1", zone + " 2", other + " 1", other + " 2"} {
		if got, want := why[pool], map[bool]string{true: "insufficient capacity"}[pool == zone+" 1"]; got != want {
			t.Errorf("%s is closed for %q, want %q", pool, got, want)
		}
	}
	plain := newClass(h.sim)
	plain.Name = "plain"
	plain.Status = h.class.Status
	plain.Status.PlacementGroup = nil
	if why := h.closed(plain, "m5.large", zoneOf); why[zone] != "" {
		t.Errorf("outside of the group it is closed, too: %v", why)
	}
	calls := h.calls.Of("CreateFleet")
	if _, err := h.launch(2, large(zone, partition("1"))...); cloud.ClassOf(err) != cloud.Exhausted || h.calls.Of("CreateFleet") != calls {
		t.Errorf("asked for what is closed: %v, %d calls", err, h.calls.Of("CreateFleet")-calls)
	}
	// The first partition holds nothing either, but it is closed.
	if m := h.mustLaunch(3, large(zone)...); m.Labels[awsv1.LabelPlacementGroupPartition] != "2" {
		t.Errorf("labels %v", m.Labels)
	}
}

func TestASpreadGroupThatIsFullClosesItsZoneAlone(t *testing.T) {
	h := newGroupCluster(t, "spread", 0)
	zones := h.zones()
	var first *cloud.Instance
	for n := range 7 {
		m := h.mustLaunch(n, large(zones[0])...)
		if n == 0 {
			first = m
		}
		if m.Labels[awsv1.LabelPlacementGroupID] != h.group.ID || m.Labels[awsv1.LabelPlacementGroupPartition] != "" {
			t.Errorf("labels %v", m.Labels)
		}
	}
	if _, err := h.launch(7, large(zones[0])...); cloud.ClassOf(err) != cloud.Exhausted || !strings.Contains(err.Error(), "spread placement group") {
		t.Fatalf("the eighth: %v", err)
	}
	for _, instanceType := range []string{"m5.large", "c5.xlarge"} {
		for zone, why := range h.closed(h.class, instanceType, zoneOf) {
			if (why == "the placement group holds no more instances in the zone") != (zone == zones[0]) {
				t.Errorf("%s in %s: %q", instanceType, zone, why)
			}
		}
	}
	plain := newClass(h.sim)
	plain.Name = "plain"
	plain.Status = h.class.Status
	plain.Status.PlacementGroup = nil
	if why := h.closed(plain, "m5.large", zoneOf); why[zones[0]] != "" {
		t.Errorf("another class sees it closed: %v", why)
	}
	_, found := findings(t, newProvider(t, h.sim, nil), h.class)
	for _, f := range found {
		if !f.OK {
			t.Errorf("a class with a full group is not ready: %+v", f)
		}
	}
	h.mustLaunch(8, need(corev1.LabelInstanceTypeStable, corev1.NodeSelectorOpIn, "m5.large"), need(karpv1.CapacityTypeLabelKey, corev1.NodeSelectorOpIn, "on-demand"))
	// One that ends makes room at once.
	if err := h.p.Terminate(t.Context(), first.ProviderID); err != nil {
		t.Fatal(err)
	}
	if why := h.closed(h.class, "m5.large", zoneOf); why[zones[0]] != "" {
		t.Errorf("after one has ended: %v", why)
	}
}

func TestAClusterGroupStaysInItsZone(t *testing.T) {
	h := newGroupCluster(t, "cluster", 0)
	zones := h.zones()
	h.mustLaunch(1, large(zones[0])...)
	if _, err := h.launch(2, large(zones[1])...); cloud.ClassOf(err) != cloud.Exhausted {
		t.Fatalf("in another zone: %v", err)
	}
	why := h.closed(h.class, "m5.xlarge", zoneOf)
	if why[zones[0]] != "" || why[zones[1]] != "the placement group stands in another zone" {
		t.Errorf("closed: %v", why)
	}
	for n := range 3 {
		if m := h.mustLaunch(10+n, large(zones[0])...); m.Zone != zones[0] {
			t.Errorf("launched in %s", m.Zone)
		}
	}
}

func TestTypesThatCanNotStandInTheGroupAreNotLaunched(t *testing.T) {
	h := newGroupCluster(t, "cluster", 0)
	if why := slices.Compact(slices.Sorted(maps.Values(h.closed(h.class, "t3.medium", zoneOf)))); !slices.Contains(why, "not supported in a placement group of this strategy") || slices.Contains(why, "") {
		t.Errorf("t3.medium in a cluster group: %q", why)
	}
	if _, err := h.launch(1, need(corev1.LabelInstanceTypeStable, corev1.NodeSelectorOpIn, "t3.medium")); cloud.ClassOf(err) != cloud.Exhausted {
		t.Errorf("launched all the same: %v", err)
	}
}

func TestAGroupThatIsGoneIsSaidAndOneThatIsMadeAgainIsFollowed(t *testing.T) {
	h := newGroupCluster(t, "cluster", 0)
	was := h.group.ID
	if err := h.sim.World.RemovePlacementGroup(was); err != nil {
		t.Fatal(err)
	}
	h.ahead += time.Minute
	_, found := findings(t, h.p, h.class)
	if f := found[awsv1.ConditionTypePlacementGroupReady]; f.OK || f.Unknown || f.Reason != awsv1.ReasonPlacementGroupNotFound {
		t.Errorf("gone: %+v", f)
	}
	if f := found[awsv1.ConditionTypeValidationSucceeded]; f.OK || !strings.Contains(f.Message, awsv1.ConditionTypePlacementGroupReady) {
		t.Errorf("validation: %+v", f)
	}
	h.make("partition", 2)
	h.resolve()
	if m := h.mustLaunch(1); m.Labels[awsv1.LabelPlacementGroupID] != h.group.ID || h.group.ID == was || m.Labels[awsv1.LabelPlacementGroupPartition] == "" {
		t.Errorf("labels %v, the group is %s", m.Labels, h.group.ID)
	}
}

func TestTheNextProcessFindsThePartitionOfWhatWasLaunched(t *testing.T) {
	h := newGroupCluster(t, "partition", 5)
	h.mustLaunch(1, large(h.zones()[0], partition("4"))...)
	next := newProvider(t, h.sim, nil)
	if err := next.Warm(t.Context()); err != nil {
		t.Fatal(err)
	}
	next.Begin(t.Context(), []string{"uid-001"})
	m, err := next.Launch(t.Context(), newClaim(1, large(h.zones()[0])...), h.class)
	if err != nil || m.Labels[awsv1.LabelPlacementGroupPartition] != "4" || m.Labels[awsv1.LabelPlacementGroupID] != h.group.ID {
		t.Errorf("%+v, %v", m, err)
	}
	if n := len(alive(h.sim)); n != 1 {
		t.Errorf("%d instances", n)
	}
}

// Partitions make seven requests of one; that is still few, and they come out even.
func TestAThousandClaimsInSevenPartitionsAreFewCalls(t *testing.T) {
	h := newGroupCluster(t, "partition", 7)
	// A busy computer takes longer than a batch waits by default until all thousand are under way.
	h.p, h.calls = newCountedProvider(t, h.sim, func(o *aws.Options) { o.BatchIdle, o.BatchMax = time.Second, 10*time.Second })
	h.resolve()
	for _, f := range world.AccountRates() {
		h.sim.World.AddFault(f)
	}
	h.calls.Reset()
	claims := newClaims(1000)
	instances, errs := launchAll(t, h.p, h.class, claims)
	for _, err := range errs {
		t.Fatal(err)
	}
	oneEach(t, h.sim, instances, len(claims))
	t.Logf("calls: %v", h.calls.All())
	if n := h.calls.Of("CreateFleet") + h.calls.Of("CreateLaunchTemplate"); n >= 40 {
		t.Errorf("%d calls that change something, want fewer than 40: %v", n, h.calls.All())
	}
	count := map[int32]int{}
	for _, i := range alive(h.sim) {
		count[i.Partition]++
	}
	for n := range int32(7) {
		if c := count[n+1]; c < 142 || c > 143 {
			t.Errorf("%d instances in partition %d: %v", c, n+1, count)
		}
	}
}
