package offering

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	awsv1 "github.com/kerf-sh/kerf/api/aws/v1"
	"github.com/kerf-sh/kerf/internal/aws/instancetype"
	"github.com/kerf-sh/kerf/internal/aws/network"
	"github.com/kerf-sh/kerf/internal/engine/catalog"
	"github.com/kerf-sh/kerf/internal/engine/requirement"
	"github.com/kerf-sh/kerf/internal/engine/res"
)

type clock struct{ t time.Time }

func (c *clock) now() time.Time       { return c.t }
func (c *clock) pass(d time.Duration) { c.t = c.t.Add(d) }
func newClock() *clock                { return &clock{time.Date(2026, 8, 1, 12, 0, 0, 0, time.UTC)} }
func spot(instanceType, zone string) Pool {
	return Pool{CapacityType: catalog.Spot, InstanceType: instanceType, Zone: zone}
}

func why(u *Unavailable, p Pool, vcpus int) string {
	r, _ := u.Snapshot().Why(p, vcpus)
	return r
}

func TestAPoolClosesForLongerEachTimeItFailsSoonAfterOpening(t *testing.T) {
	c := newClock()
	u := NewUnavailable(c.now)
	p := spot("m5.large", "us-east-1a")
	for i, want := range []time.Duration{3 * time.Minute, 6 * time.Minute, 12 * time.Minute, 24 * time.Minute, 24 * time.Minute} {
		u.MarkPool(p, NoCapacity)
		if got := why(u, p, 2); got != NoCapacity {
			t.Fatalf("failure %d: the pool is open (%q)", i+1, got)
		}
		if got := u.Snapshot().Opens().Sub(c.t); got != want {
			t.Errorf("failure %d closes for %v, want %v", i+1, got, want)
		}
		c.pass(want - time.Second)
		if why(u, p, 2) == "" {
			t.Errorf("failure %d: the pool opens early", i+1)
		}
		c.pass(time.Second)
		if got := why(u, p, 2); got != "" {
			t.Errorf("failure %d: the pool is still closed: %s", i+1, got)
		}
	}
	c.pass(24 * time.Minute)
	u.MarkPool(p, NoCapacity)
	if got := u.Snapshot().Opens().Sub(c.t); got != 3*time.Minute {
		t.Errorf("after a calm time it closes for %v", got)
	}
}

func TestABurstOfErrorsCountsOnce(t *testing.T) {
	c := newClock()
	u := NewUnavailable(c.now)
	p := spot("m5.large", "us-east-1a")
	for range 5 {
		u.MarkPool(p, NoCapacity)
		c.pass(time.Second)
	}
	if got := u.Snapshot().Opens(); !got.Equal(newClock().t.Add(3 * time.Minute)) {
		t.Errorf("the pool opens at %v", got)
	}
}

func TestAPurchaseForgivesWhatIsOpenAndOpensNothing(t *testing.T) {
	c := newClock()
	u := NewUnavailable(c.now)
	p := spot("m5.large", "us-east-1a")
	u.MarkPool(p, NoCapacity)
	u.MarkQuota(catalog.Spot, "m5.large", 2, QuotaOf(catalog.Spot, "m5.large"))
	u.Launched(p, 2) // by the request that took the last one
	if got := why(u, p, 2); got != NoCapacity {
		t.Errorf("a pool that sold its last instance is closed for %q, want %q", got, NoCapacity)
	}
	c.pass(3 * time.Minute)
	u.Launched(p, 2)
	u.MarkPool(p, NoCapacity)
	u.MarkQuota(catalog.Spot, "m5.large", 2, QuotaOf(catalog.Spot, "m5.large"))
	if got := u.Snapshot().Opens().Sub(c.t); got != 3*time.Minute {
		t.Errorf("what sold since is closed for %v, want the first wait", got)
	}
	c.pass(3 * time.Minute)
	u.Launched(p, 1) // smaller than what the quota had no room for
	u.MarkQuota(catalog.Spot, "m5.large", 2, QuotaOf(catalog.Spot, "m5.large"))
	if got := u.Snapshot().Opens().Sub(c.t); got != 6*time.Minute {
		t.Errorf("a quota with room for less is closed for %v, want the second wait", got)
	}
}

func TestWhatAMarkCloses(t *testing.T) {
	type ask struct {
		pool  Pool
		vcpus int
		want  string
	}
	od := func(instanceType string) Pool {
		return Pool{CapacityType: catalog.OnDemand, InstanceType: instanceType, Zone: "us-east-1a"}
	}
	for name, c := range map[string]struct {
		mark func(*Unavailable)
		asks []ask
	}{
		"a pool closes itself only": {
			func(u *Unavailable) { u.MarkPool(spot("m5.large", "us-east-1a"), Reclaimed) },
			[]ask{{spot("m5.large", "us-east-1a"), 2, Reclaimed}, {spot("m5.large", "us-east-1b"), 2, ""}, {spot("m5.xlarge", "us-east-1a"), 4, ""}, {od("m5.large"), 2, ""}},
		},
		"a quota closes what is as large, in all zones": {
			func(u *Unavailable) {
				u.MarkQuota(catalog.OnDemand, "m5.4xlarge", 16, QuotaOf(catalog.OnDemand, "m5.4xlarge"))
			},
			[]ask{{od("c6i.8xlarge"), 32, NoQuota}, {od("m5.4xlarge"), 16, NoQuota}, {od("m5.2xlarge"), 8, ""}, {od("g5.4xlarge"), 16, ""}, {spot("m5.4xlarge", "us-east-1a"), 16, ""}},
		},
		"the smallest that hit the quota counts": {
			func(u *Unavailable) {
				u.MarkQuota(catalog.OnDemand, "m5.4xlarge", 16, QuotaOf(catalog.OnDemand, "m5.4xlarge"))
				u.MarkQuota(catalog.OnDemand, "m5.large", 2, QuotaOf(catalog.OnDemand, "m5.large"))
				u.MarkQuota(catalog.OnDemand, "m5.xlarge", 4, QuotaOf(catalog.OnDemand, "m5.xlarge"))
			},
			[]ask{{od("m5.large"), 2, NoQuota}, {od("t3.nano"), 1, ""}},
		},
		"a capacity type closes all of it": {
			func(u *Unavailable) { u.MarkCapacityType(catalog.Spot, NotPermitted, Quota{}) },
			[]ask{{spot("m5.large", "us-east-1b"), 2, NotPermitted}, {od("m5.large"), 2, ""}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			u := NewUnavailable(newClock().now)
			c.mark(u)
			for _, a := range c.asks {
				if got := why(u, a.pool, a.vcpus); got != a.want {
					t.Errorf("%v is closed for %q, want %q", a.pool, got, a.want)
				}
			}
		})
	}
}

func TestSnapshotsAreStableUntilSomethingChanges(t *testing.T) {
	c := newClock()
	u := NewUnavailable(c.now)
	first := u.Snapshot()
	c.pass(time.Hour)
	if u.Snapshot() != first {
		t.Error("nothing happened, but the snapshot is another")
	}
	u.MarkSubnet("subnet-1", network.Demand{})
	second := u.Snapshot()
	if second.Generation == first.Generation || !second.SubnetClosed("subnet-1", network.Demand{}) || first.SubnetClosed("subnet-1", network.Demand{}) {
		t.Errorf("generations %d, %d; closed before %v, after %v", first.Generation, second.Generation, first.SubnetClosed("subnet-1", network.Demand{}), second.SubnetClosed("subnet-1", network.Demand{}))
	}
	u.MarkSubnet("subnet-1", network.Demand{})
	if u.Snapshot() != second {
		t.Error("marking what is closed changed the snapshot")
	}
	c.pass(3 * time.Minute)
	third := u.Snapshot()
	if third.Generation == second.Generation || third.SubnetClosed("subnet-1", network.Demand{}) {
		t.Error("the subnet did not open by itself")
	}
	if u.Snapshot() != third {
		t.Error("the open subnet makes a new snapshot each time")
	}
}

// What a subnet can't give to instances that take much of it is no lack for others.
func TestASubnetClosesForThoseThatDemandAsMuch(t *testing.T) {
	u := NewUnavailable(newClock().now)
	u.MarkSubnet("subnet-a", network.Demand{Addresses: 1, Prefixes: 15})
	u.MarkSubnet("subnet-a", network.Demand{Addresses: 32})
	shapes := []instancetype.Shape{
		{Type: catalog.Type{Name: "m5.large"}, Zones: []string{"z-a"}, UsageClasses: []string{"on-demand"}},
		{Type: catalog.Type{Name: "p5.48xlarge", Capacity: res.List{awsv1.ResourceEFA: 32}}, Zones: []string{"z-a"}, UsageClasses: []string{"on-demand"}},
	}
	in := Input{
		Subnets: []awsv1.Subnet{{ID: "subnet-a", Zone: "z-a", ZoneID: "az1"}}, Prices: prices{"m5.large": 1, "p5.48xlarge": 2}, Unavailable: u.Snapshot(),
	}
	for name, c := range map[string]struct {
		prefixes int
		want     [2]string
	}{
		"no prefixes":   {0, [2]string{"", NoAddresses}},
		"some prefixes": {14, [2]string{"", NoAddresses}},
		"as many":       {15, [2]string{NoAddresses, NoAddresses}},
	} {
		in.Demand = func(t *catalog.Type) network.Demand {
			return network.Demand{Addresses: max(1, int(t.Capacity[awsv1.ResourceEFA])), Prefixes: c.prefixes}
		}
		types := Assemble(shapes, in)
		if got := [2]string{types[0].Offerings[0].Unavailable, types[1].Offerings[0].Unavailable}; got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
	want := []UnavailableCount{{Scope: "subnet", Reason: NoAddresses, Count: 1, Opens: u.Snapshot().Opens()}}
	if diff := cmp.Diff(want, u.Snapshot().Counts()); diff != "" {
		t.Errorf("unavailable (-want +got):\n%s", diff)
	}
}

// A price that is set by hand opens what has no price; it must not open what is closed for another reason.
func TestAMissingPriceHidesNoOtherReason(t *testing.T) {
	u := NewUnavailable(newClock().now)
	u.MarkPool(spot("m5.large", "z-a"), NoCapacity)
	in := Input{Subnets: []awsv1.Subnet{{ID: "subnet-a", Zone: "z-a", ZoneID: "az1"}}, Prices: prices{}, Unavailable: u.Snapshot()}
	shapes := []instancetype.Shape{{Type: catalog.Type{Name: "m5.large"}, Zones: []string{"z-a"}, UsageClasses: []string{"on-demand", "spot"}}}
	got := Assemble(shapes, in)[0]
	hand := got.Overlay([]catalog.Overlay{{Name: "by-hand", Price: &catalog.PriceRule{Price: 7}}}, nil)
	want := []catalog.Offering{offer("z-a", "az1", "on-demand", 7, ""), shut(offer("z-a", "az1", "spot", 7, NoCapacity))}
	if diff := cmp.Diff(want, hand.Offerings); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// Instances out of a reservation that die as they start are no more launched in a loop than others.
func TestReservedPoolsCloseAsOthersDo(t *testing.T) {
	for name, mark := range map[string]func(*Unavailable){
		"a pool": func(u *Unavailable) {
			u.MarkPool(Pool{CapacityType: catalog.Reserved, InstanceType: "m5.large", Zone: "z-a"}, NoCapacity)
		},
		"the number of fleets": func(u *Unavailable) { u.MarkCapacityType(catalog.Reserved, NoCapacity, Quota{}) },
	} {
		u := NewUnavailable(newClock().now)
		mark(u)
		in := Input{
			Subnets: []awsv1.Subnet{{ID: "subnet-a", Zone: "z-a", ZoneID: "az1"}}, Prices: prices{"m5.large": 100}, Unavailable: u.Snapshot(),
			Reservations: []Reservation{{ID: "cr-1", InstanceType: "m5.large", Zone: "z-a", Kind: "default", Left: 3}},
		}
		shapes := []instancetype.Shape{{Type: catalog.Type{Name: "m5.large"}, Zones: []string{"z-a"}, UsageClasses: []string{"on-demand", "spot"}}}
		for _, o := range Assemble(shapes, in)[0].Offerings {
			if o.CapacityType == catalog.Reserved && (o.Available || o.Unavailable != NoCapacity) {
				t.Errorf("%s: reserved is available: %v, closed for %q", name, o.Available, o.Unavailable)
			}
			if o.CapacityType == catalog.OnDemand && !o.Available {
				t.Errorf("%s: on-demand is closed for %q", name, o.Unavailable)
			}
		}
	}
}

func TestQuotaGroups(t *testing.T) {
	for name, want := range map[string]string{
		"m5.large": "standard", "t3.nano": "standard", "i4i.metal": "standard", "g5.xlarge": "g", "gr6.4xlarge": "g", "vt1.3xlarge": "g",
		"p5.48xlarge": "p", "inf2.xlarge": "inf", "trn1.32xlarge": "trn", "x2gd.medium": "x", "u-6tb1.metal": "u", "u7i-12tb.224xlarge": "u",
		"dl1.24xlarge": "dl", "f1.2xlarge": "f", "hpc7g.4xlarge": "hpc", "d3.xlarge": "standard", "im4gn.large": "standard", "mac2.metal": "mac", "": "standard",
	} {
		if got := QuotaGroup(name); got != want {
			t.Errorf("%q is in group %q, want %q", name, got, want)
		}
	}
}

type prices map[string]catalog.MicroUSD

func (p prices) OnDemand(name string) (catalog.MicroUSD, bool) { v, ok := p[name]; return v, ok }
func (p prices) Spot(name, zone string) (catalog.MicroUSD, bool) {
	v, ok := p[name+"/"+zone]
	return v, ok
}
func (p prices) SpotLately(name, zone string) *catalog.Range {
	if high, ok := p[name+"/"+zone+"/high"]; ok {
		return &catalog.Range{Low: p[name+"/"+zone], High: high}
	}
	return nil
}

func offer(zone, id, capacityType string, price catalog.MicroUSD, reason string) catalog.Offering {
	passing := slices.Contains([]string{NoCapacity, NoQuota, NoAddresses, NotPermitted, Reclaimed, Shifted}, reason)
	return catalog.Offering{Zone: zone, ZoneID: id, CapacityType: capacityType, Price: price, Available: reason == "", Unavailable: reason, ForNow: passing}
}

func lately(o catalog.Offering, low, high catalog.MicroUSD) catalog.Offering {
	o.Lately = &catalog.Range{Low: low, High: high}
	return o
}

func TestAssemble(t *testing.T) {
	u := NewUnavailable(newClock().now)
	u.MarkPool(spot("m5.large", "z-a"), NoCapacity)
	u.MarkSubnet("subnet-b", network.Demand{})
	u.MarkSubnet("subnet-a2", network.Demand{})
	in := Input{
		Subnets: []awsv1.Subnet{
			{ID: "subnet-a1", Zone: "z-a", ZoneID: "az1"}, {ID: "subnet-a2", Zone: "z-a", ZoneID: "az1"},
			{ID: "subnet-b", Zone: "z-b", ZoneID: "az2"}, {ID: "subnet-d", Zone: "z-d"},
		},
		Prices:      prices{"m5.large": 96000, "m5.large/z-a": 40000, "m5.large/z-b": 41000, "m5.large/z-b/high": 45000, "m5.large/z-c": 39000, "a1.large": 51000},
		Unavailable: u.Snapshot(),
	}
	shapes := []instancetype.Shape{
		{Type: catalog.Type{Name: "m5.large", Requirements: []requirement.Term{{Key: "x", Operator: requirement.Exists}}}, Zones: []string{"z-a", "z-b", "z-c", "z-d"}, UsageClasses: []string{"on-demand", "spot"}, VCPUs: 2},
		{Type: catalog.Type{Name: "a1.large"}, Zones: []string{"z-a"}, UsageClasses: []string{"capacity-block", "on-demand"}, Refused: instancetype.RefusedCPU},
		{Type: catalog.Type{Name: "p9.large"}, Zones: []string{"z-c"}, UsageClasses: []string{"on-demand"}},
	}
	got := Assemble(shapes, in)
	want := []catalog.Offering{
		offer("z-a", "az1", "on-demand", 96000, ""),
		shut(offer("z-a", "az1", "spot", 40000, NoCapacity)),
		offer("z-b", "az2", "on-demand", 96000, NoAddresses),
		lately(offer("z-b", "az2", "spot", 41000, NoAddresses), 41000, 45000),
		offer("z-c", "", "on-demand", 96000, NoSubnet),
		offer("z-c", "", "spot", 39000, NoSubnet),
		offer("z-d", "", "on-demand", 96000, ""),
		offer("z-d", "", "spot", 0, NoPrice),
	}
	if diff := cmp.Diff(want, got[0].Offerings); diff != "" {
		t.Errorf("offerings of m5.large (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]requirement.Term{
		{Key: "karpenter.sh/capacity-type", Operator: requirement.In, Values: []string{"on-demand", "spot"}},
		{Key: "topology.k8s.aws/zone-id", Operator: requirement.In, Values: []string{"az1", "az2"}},
		{Key: "topology.kubernetes.io/zone", Operator: requirement.In, Values: []string{"z-a", "z-b", "z-d"}},
		{Key: "x", Operator: requirement.Exists},
	}, got[0].Requirements); diff != "" {
		t.Errorf("requirements of m5.large (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]catalog.Offering{offer("z-a", "az1", "on-demand", 51000, instancetype.RefusedCPU)}, got[1].Offerings); diff != "" {
		t.Errorf("a refused type (-want +got):\n%s", diff)
	}
	if r := got[2].Requirements[2]; r.Operator != requirement.DoesNotExist || got[2].Offerings[0].Unavailable != NoSubnet {
		t.Errorf("a type without a zone of ours has zone %v and the reason %q", r, got[2].Offerings[0].Unavailable)
	}
	if len(shapes[0].Type.Requirements) != 1 || shapes[0].Type.Offerings != nil {
		t.Error("the shape was changed")
	}
}

// Two classes that differ in family only must not see each other's answers.
func TestClassesDoNotShareAnswers(t *testing.T) {
	u := NewUnavailable(newClock().now)
	in := Input{Subnets: []awsv1.Subnet{{ID: "s", Zone: "z-a"}}, Prices: prices{"a1.large": 51000}, Unavailable: u.Snapshot()}
	a1 := instancetype.Shape{Type: catalog.Type{Name: "a1.large"}, Zones: []string{"z-a"}, UsageClasses: []string{"on-demand"}}
	refused := a1
	refused.Refused = instancetype.RefusedCPU
	first, second, third := Assemble([]instancetype.Shape{a1}, in), Assemble([]instancetype.Shape{refused}, in), Assemble([]instancetype.Shape{a1}, in)
	if !first[0].Offerings[0].Available || second[0].Offerings[0].Available || !third[0].Offerings[0].Available {
		t.Errorf("available: %v %v %v", first[0].Offerings[0].Available, second[0].Offerings[0].Available, third[0].Offerings[0].Available)
	}
}

func TestSubnetOrderDoesNotMatter(t *testing.T) {
	u := NewUnavailable(newClock().now)
	u.MarkSubnet("full", network.Demand{})
	subnets := []awsv1.Subnet{{ID: "full", Zone: "z"}, {ID: "free", Zone: "z", ZoneID: "az1"}}
	for range 2 {
		in := Input{Subnets: subnets, Unavailable: u.Snapshot()}
		if z := in.zones(network.Demand{})["z"]; z.reason != "" || z.id != "az1" {
			t.Errorf("with %s first the zone is %+v", subnets[0].ID, z)
		}
		slices.Reverse(subnets)
	}
}

func region() ([]instancetype.Shape, prices, []awsv1.Subnet) {
	var shapes []instancetype.Shape
	p := prices{}
	zones := []string{"z-a", "z-b", "z-c", "z-d", "z-e", "z-f"}
	var subnets []awsv1.Subnet
	for _, z := range zones {
		subnets = append(subnets, awsv1.Subnet{ID: "subnet-" + z, Zone: z, ZoneID: "id-" + z})
	}
	for i := range 1000 {
		name := fmt.Sprintf("m%03d.large", i)
		shapes = append(shapes, instancetype.Shape{Type: catalog.Type{Name: name, Requirements: make([]requirement.Term, 32)}, Zones: zones, UsageClasses: []string{"on-demand", "spot"}})
		p[name] = 1000
		for _, z := range zones {
			p[name+"/"+z] = 500
		}
	}
	return shapes, p, subnets
}

func BenchmarkAssemble(b *testing.B) {
	shapes, p, subnets := region()
	u := NewUnavailable(nil)
	for b.Loop() {
		Assemble(shapes, Input{Subnets: subnets, Prices: p, Unavailable: u.Snapshot()})
	}
}

// shut says when an offering is asked for again that was closed as the clock began.
func shut(o catalog.Offering) catalog.Offering {
	o.Opens = newClock().t.Add(firstWait).UTC()
	return o
}
