package pack_test

import (
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/kerf-sh/kerf/internal/engine/conflict"

	"github.com/kerf-sh/kerf/internal/engine/catalog"
	"github.com/kerf-sh/kerf/internal/engine/cluster"
	"github.com/kerf-sh/kerf/internal/engine/pack"
	"github.com/kerf-sh/kerf/internal/engine/plan"
	"github.com/kerf-sh/kerf/internal/engine/requirement"
	"github.com/kerf-sh/kerf/internal/engine/res"
)

// shortOf is a problem of two pods for which EC2 has nothing but bare metal at nine times the usual price.
func shortOf(now time.Time, waited time.Duration, guard int64) *pack.Problem {
	offer := func(name string, cpu int64, price catalog.MicroUSD, short bool) *catalog.Type {
		o := catalog.Offering{Zone: "z-a", CapacityType: catalog.Spot, Price: price, Available: !short}
		if short {
			o.Unavailable, o.Opens = "insufficient capacity", now.Add(20*time.Second)
		}
		return &catalog.Type{Name: name, Capacity: res.List{res.CPU: cpu, res.Memory: 64 << 30, res.Pods: 100}, Offerings: []catalog.Offering{o},
			Requirements: []requirement.Term{
				{Key: requirement.InstanceType, Operator: requirement.In, Values: []string{name}},
				{Key: requirement.Zone, Operator: requirement.In, Values: []string{"z-a"}},
				{Key: requirement.CapacityType, Operator: requirement.In, Values: []string{catalog.Spot}},
			}}
	}
	class := &cluster.Class{ID: "c", Namespace: "shop", Requests: res.List{res.CPU: 3000, res.Pods: 1}}
	p := &pack.Problem{Now: now, Generation: 1, Options: pack.Options{PriceGuard: guard}, Pools: []*cluster.Pool{{
		Name: "default", Types: []*catalog.Type{offer("c6i.2xlarge", 8000, 41_600, true), offer("c7gd.metal", 64000, 380_000, false)},
	}}}
	for _, name := range []string{"a", "b"} {
		p.Pending = append(p.Pending, &cluster.Pod{PodRef: cluster.PodRef{Namespace: "shop", Name: name, UID: name}, Class: class, CreatedAt: now.Add(-waited)})
	}
	return p
}

// Nine times the usual price is not paid at once, but pods do not wait for ever, and they are told why they wait.
func TestPodsWaitRatherThanPayManyTimesTheUsualPrice(t *testing.T) {
	now := time.Date(2026, 1, 2, 10, 0, 0, 0, time.UTC)
	for name, tt := range map[string]struct {
		guard  int64
		waited time.Duration
		waits  bool
	}{
		"a new pod":                  {5, 0, true},
		"one that waited 9 minutes":  {5, 9 * time.Minute, true},
		"one that waited 10 minutes": {5, 10 * time.Minute, false},
		"a guard of 2, 19 minutes":   {2, 19 * time.Minute, true},
		"a guard of 2, an hour":      {2, time.Hour, false},
		"a guard that is higher":     {10, 0, false},
		"no guard":                   {0, 0, false},
	} {
		t.Run(name, func(t *testing.T) {
			p := shortOf(now, tt.waited, tt.guard)
			out := pack.Solve(p)
			if waits := len(out.NewNodes) == 0; waits != tt.waits {
				t.Fatalf("waits %v: %+v", waits, out)
			}
			if !tt.waits {
				usual := catalog.MicroUSD(41_600)
				if tt.guard == 0 {
					usual = 0 // nobody asked what it is
				}
				if got := out.NewNodes[0].Usual; got != usual {
					t.Errorf("the usual price is %d, want %d", got, usual)
				}
				return
			}
			if len(out.Unplaced) != 1 || len(out.Unplaced[0].Pods) != 2 || out.Price != 0 {
				t.Fatalf("%+v", out)
			}
			r := out.Unplaced[0].Reasons[0]
			for _, want := range []string{"EC2 is short of spot c6i.2xlarge in z-a, next try at 10:00:20 UTC", "$0.3800/h for spot c7gd.metal, 9.1 times the usual $0.0416/h"} {
				if r.Code != plan.TooDear || !strings.Contains(r.Text(), want) {
					t.Errorf("%s: %q, want it to say %q", r.Code, r.Text(), want)
				}
			}
			x := conflict.Explain(p, out, "c")
			if x == nil || x.Best != nil || len(x.Conflicts) != 1 || x.Conflicts[0].Reason == nil || x.Conflicts[0].Reason.Code != plan.TooDear {
				t.Errorf("explained as %+v", x)
			}
		})
	}
}

// A buffer's virtual pods are as old as the buffer. Room that nobody uses is not worth many times the usual price for that, and pods that
// share a node with it wait as they would without.
func TestAnOldBufferDoesNotPassTheGuard(t *testing.T) {
	now := time.Date(2026, 1, 2, 10, 0, 0, 0, time.UTC)
	for name, tt := range map[string]struct {
		virtual []bool
		waited  time.Duration // of pods that are not virtual
		waits   bool
	}{
		"room alone":                          {[]bool{true, true}, 0, true},
		"room beside a new pod":               {[]bool{true, false}, 0, true},
		"room beside a pod of twenty minutes": {[]bool{true, false}, 20 * time.Minute, false},
	} {
		p := shortOf(now, 14*24*time.Hour, 5)
		virtual := *p.Pending[0].Class
		virtual.ID, virtual.Virtual = "v", true
		for i, pod := range p.Pending {
			if tt.virtual[i] {
				pod.Class = &virtual
			} else {
				pod.CreatedAt = now.Add(-tt.waited)
			}
		}
		if out := pack.Solve(p); (len(out.NewNodes) == 0) != tt.waits {
			t.Errorf("%s: %d new nodes", name, len(out.NewNodes))
		}
	}
}

// Of thirty kinds of pods that each want a node of their own not one is paid for, though not each is judged by itself.
func TestManyKindsOfPodsDoNotPassTheGuard(t *testing.T) {
	now := time.Date(2026, 1, 2, 10, 0, 0, 0, time.UTC)
	for guard, nodes := range map[int64]int{5: 0, 10: 30} {
		p := shortOf(now, 0, guard)
		p.Pending = nil
		for i := range int64(30) {
			id := string(rune('A' + i))
			class := &cluster.Class{ID: id, Namespace: "shop", Requests: res.List{res.CPU: 5000 + 37*i, res.Pods: 1}, HostPorts: []cluster.HostPort{{Protocol: "TCP", Port: 80}}}
			p.Pending = append(p.Pending, &cluster.Pod{PodRef: cluster.PodRef{Namespace: "shop", Name: id, UID: id}, Class: class, CreatedAt: now})
		}
		if out := pack.Solve(p); len(out.NewNodes) != nodes {
			t.Errorf("with a guard of %d: %d new nodes, want %d", guard, len(out.NewNodes), nodes)
		}
	}
}

// What EC2 is short of is named before any edit that would do as well.
func TestAShortageIsExplainedAsOne(t *testing.T) {
	now := time.Date(2026, 1, 2, 10, 0, 0, 0, time.UTC)
	p := shortOf(now, 0, 5)
	small := *p.Pools[0].Types[1]
	small.Name, small.Capacity = "c6i.large", res.List{res.CPU: 2000, res.Memory: 4 << 30, res.Pods: 10}
	small.Requirements = append([]requirement.Term{{Key: requirement.InstanceType, Operator: requirement.In, Values: []string{"c6i.large"}}}, small.Requirements[1:]...)
	p.Pools[0].Types[1] = &small
	out := pack.Solve(p)
	if len(out.Unplaced) != 1 || !strings.Contains(out.Unplaced[0].Reasons[0].Text(), "EC2 is short of spot c6i.2xlarge in z-a, next try at 10:00:20 UTC") {
		t.Fatalf("%+v", out.Unplaced)
	}
	x := conflict.Explain(p, out, "c")
	if x == nil || x.Best == nil || x.Best.Constraint.Kind != plan.Availability || !strings.Contains(x.Best.Text(), "wait: EC2 is short of spot c6i.2xlarge in z-a, next try at 10:00:20 UTC") {
		t.Errorf("the best is %+v", x.Best)
	}
}

// What a pod that waits for a better price was to be even with, or together with, is planned as it can be without it.
func TestPodsThatWaitForAPriceHoldUpNoOthers(t *testing.T) {
	now := time.Date(2026, 1, 2, 10, 0, 0, 0, time.UTC)
	short := func(t *catalog.Type, at int) *catalog.Type {
		t.Offerings[at].Available, t.Offerings[at].Unavailable, t.Offerings[at].Opens = false, "insufficient capacity", now.Add(time.Minute)
		return t
	}
	ofKind := func(t *catalog.Type, arch string) *catalog.Type {
		t.Requirements[1].Values = []string{arch}
		return t
	}
	even := app("even", 1000, func(c *cluster.Class) {
		c.Spreads = []cluster.Spread{{Key: requirement.Zone, MaxSkew: 1, Selector: named("even")}}
	})
	leader := app("leader", 1000, func(c *cluster.Class) { c.Selector = []requirement.Term{in(requirement.Arch, "arm64")} })
	follower := app("follower", 1000, func(c *cluster.Class) {
		c.Selector = []requirement.Term{in(requirement.Arch, "amd64")}
		c.PodAffinity = []cluster.PodAffinity{{Key: requirement.Zone, Selector: named("leader")}}
	})
	for name, test := range map[string]struct {
		types    []*catalog.Type
		nodes    []*cluster.Node
		pending  []*cluster.Pod
		launched map[string]int // pods, by zone
		dear     int            // pods that wait for a better price
	}{
		"a spread over a zone with dear instances": {[]*catalog.Type{short(sold("usual", 2100, 100, "a", "b", "c"), 2), sold("metal", 64000, 5000, "c")},
			[]*cluster.Node{standing("full", "c", 10)}, someOf(even, "even", 5), map[string]int{"a": 1, "b": 1}, 3},
		"followers of a pod on a dear instance": {[]*catalog.Type{short(ofKind(sold("usual", 2100, 100, "a"), "arm64"), 0), ofKind(sold("metal", 64000, 5000, "a"), "arm64"), sold("plain", 2100, 90, "a")},
			nil, append(someOf(leader, "leader", 1), someOf(follower, "follower", 2)...), map[string]int{}, 1},
		"hundreds of pods": {[]*catalog.Type{short(sold("usual", 2100, 100, "a", "b", "c"), 2), sold("metal", 2200, 5000, "c")},
			[]*cluster.Node{standing("full", "c", 10)}, someOf(even, "even", 300), nil, 0},
	} {
		t.Run(name, func(t *testing.T) {
			p := &pack.Problem{Now: now, Nodes: test.nodes, Pending: test.pending, Options: pack.Options{PriceGuard: 5}, Pools: []*cluster.Pool{{Name: "p", Types: test.types}}}
			for _, pod := range p.Pending {
				pod.CreatedAt = now
			}
			out := solved(t, p)
			launched, dear := map[string]int{}, 0
			for _, n := range out.NewNodes {
				launched[n.Types[0].Zone] += len(n.Pods)
			}
			for _, u := range out.Unplaced {
				if u.Reasons[0].Code == plan.TooDear {
					dear += len(u.Pods)
				}
			}
			if test.launched != nil && (!maps.Equal(launched, test.launched) || dear != test.dear) {
				t.Errorf("launched %v, %d wait for a better price; want %v and %d\n%s", launched, dear, test.launched, test.dear, out)
			}
			if n := waiting(out); launched["c"] > 0 || n+launched["a"]+launched["b"] != len(p.Pending) || out.Stats.Pods != len(p.Pending) {
				t.Errorf("launched %v, %d wait, %d in all", launched, n, out.Stats.Pods)
			}
		})
	}
}
