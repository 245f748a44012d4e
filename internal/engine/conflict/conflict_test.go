package conflict

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/kerf-sh/kerf/internal/engine/pack"

	"github.com/kerf-sh/kerf/internal/engine/catalog"
	"github.com/kerf-sh/kerf/internal/engine/cluster"
	"github.com/kerf-sh/kerf/internal/engine/plan"
	"github.com/kerf-sh/kerf/internal/engine/requirement"
	"github.com/kerf-sh/kerf/internal/engine/res"

	"pgregory.net/rapid"
)

func drawConflictingProblem(t *rapid.T) *pack.Problem {
	p := &pack.Problem{Options: pack.Options{WellKnown: []string{requirement.Zone, requirement.Arch, requirement.CapacityType, requirement.InstanceType, requirement.NodePool}}}
	zones := []string{"a", "b", "c"}
	pick := func(label, key string, values []string) requirement.Term {
		op := rapid.SampledFrom([]requirement.Operator{requirement.In, requirement.In, requirement.NotIn}).Draw(t, label+" operator")
		n := rapid.IntRange(1, len(values)-1).Draw(t, label+" values")
		return requirement.Term{Key: key, Operator: op, Values: slices.Clone(values[:n])}
	}
	var types []*catalog.Type
	for i := range rapid.IntRange(1, 4).Draw(t, "types") {
		cpu := int64(rapid.IntRange(1, 4).Draw(t, "cpu")) * 1000
		ty := &catalog.Type{Name: fmt.Sprintf("type-%d", i), Capacity: res.List{res.CPU: cpu, res.Memory: cpu << 21, res.Pods: 10}}
		for _, z := range zones {
			ty.Offerings = append(ty.Offerings, catalog.Offering{Zone: z, CapacityType: catalog.OnDemand, Price: catalog.MicroUSD(cpu * 50), Available: rapid.IntRange(0, 2).Draw(t, "available") > 0, Unavailable: "insufficient capacity"})
		}
		ty.Requirements = []requirement.Term{only(requirement.Arch, rapid.SampledFrom([]string{"amd64", "arm64"}).Draw(t, "arch")), only(requirement.InstanceType, ty.Name),
			{Key: requirement.Zone, Operator: requirement.In, Values: zones}, only(requirement.CapacityType, catalog.OnDemand)}
		types = append(types, ty)
	}
	for i := range rapid.IntRange(1, 2).Draw(t, "pools") {
		pool := &cluster.Pool{Name: fmt.Sprintf("pool-%d", i), Types: types}
		if rapid.Bool().Draw(t, "zoned pool") {
			pool.Requirements = append(pool.Requirements, pick("pool zone", requirement.Zone, zones))
		}
		if rapid.Bool().Draw(t, "team pool") {
			pool.Requirements = append(pool.Requirements, pick("pool team", "team", []string{"red", "blue"}))
		}
		if rapid.IntRange(0, 2).Draw(t, "tainted") == 0 {
			pool.Taints = []cluster.Taint{{Key: "special", Effect: cluster.NoSchedule}}
		}
		if rapid.IntRange(0, 2).Draw(t, "limited") == 0 {
			pool.Limits = res.List{res.CPU: int64(rapid.IntRange(0, 4).Draw(t, "limit")) * 1000}
		}
		p.Pools = append(p.Pools, pool)
	}
	for i := range rapid.IntRange(1, 3).Draw(t, "classes") {
		c := &cluster.Class{Namespace: "ns", Labels: map[string]string{"app": fmt.Sprintf("app-%d", i)},
			Requests: res.List{res.CPU: int64(rapid.IntRange(1, 50).Draw(t, "pod cpu")) * 100, res.Memory: 1 << 30, res.Pods: 1}}
		if rapid.Bool().Draw(t, "zoned pod") {
			c.Selector = append(c.Selector, pick("pod zone", requirement.Zone, zones))
		}
		if rapid.Bool().Draw(t, "arch pod") {
			c.Affinity = [][]requirement.Term{{only(requirement.Arch, "arm64"), pick("pod team", "team", []string{"red", "blue"})}}
		}
		if rapid.IntRange(0, 2).Draw(t, "volume") == 0 {
			c.Volumes = [][]requirement.Term{{only(requirement.Zone, rapid.SampledFrom(zones).Draw(t, "volume zone"))}}
		}
		if rapid.IntRange(0, 2).Draw(t, "apart") == 0 {
			c.AntiAffinity = []cluster.PodAffinity{{Key: requirement.Zone, Namespaces: []string{"ns"}, Selector: &cluster.Selector{}}}
		}
		c.ID = c.Hash()
		for j := range rapid.IntRange(1, 3).Draw(t, "pods") {
			p.Pending = append(p.Pending, &cluster.Pod{PodRef: cluster.PodRef{Namespace: "ns", Name: fmt.Sprintf("pod-%d-%d", i, j)}, Class: c})
		}
	}
	return p
}

// TestConflictsAreIrreducible turns off each constraint of each conflict in turn: all together must leave nothing, and
// all but one must leave something.
func TestConflictsAreIrreducible(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawConflictingProblem(t)
		out := pack.Solve(p)
		for i := range out.Unplaced {
			x := Explain(p, out, out.Unplaced[i].ClassID)
			e := newExplainer(p, out, &out.Unplaced[i])
			if !e.find() {
				t.Fatal("the class is gone")
			}
			e.surroundings()
			for _, c := range x.Conflicts {
				at := slices.IndexFunc(p.Pools, func(q *cluster.Pool) bool { return q.Name == c.Pool })
				pool := copyPool(p.Pools[at])
				pool.Used = e.used[c.Pool]
				s := &search{e: e, pool: pool, all: e.knobs(pool)}
				var members []int
				for _, k := range c.Constraints {
					members = append(members, slices.IndexFunc(s.all, func(x knob) bool { return x.is == k }))
				}
				if len(members) == 0 {
					if e.try(pool) == nil && s.feasible(nil) {
						t.Fatalf("pool %s can't take a pod, but no conflict was found", c.Pool)
					}
					continue
				}
				if s.feasible(members) {
					t.Fatalf("pool %s: these are no conflict: %v", c.Pool, c.Constraints)
				}
				for i := range members {
					if rest := slices.Delete(slices.Clone(members), i, i+1); !s.feasible(rest) {
						t.Fatalf("pool %s: %v can be spared of %v", c.Pool, c.Constraints[i], c.Constraints)
					}
				}
			}
		}
	})
}

// TestTheBestChangeIsProven looks at what is said of the best change: it was tried, it helps, and none that helps is better.
func TestTheBestChangeIsProven(t *testing.T) {
	seen := 0
	rapid.Check(t, func(t *rapid.T) {
		p := drawConflictingProblem(t)
		out := pack.Solve(p)
		for _, u := range out.Unplaced {
			x := Explain(p, out, u.ClassID)
			if x == nil {
				t.Fatalf("class %s is unplaced, but there is no explanation", u.ClassID)
			}
			if again := Explain(p, out, u.ClassID); again.String() != x.String() {
				t.Fatalf("explained differently the second time:\n%s\n%s", x, again)
			}
			if x.Best == nil {
				continue
			}
			seen++
			if !x.Best.Proven || x.Best.Places < 1 || x.Best.Places > x.Best.Of || x.Best.Of != len(u.Pods) {
				t.Fatalf("best change is not proven: %+v", x.Best)
			}
			for _, c := range x.Conflicts {
				for _, other := range c.Changes {
					if other.Proven && other.Places > 0 && byPrice(other, *x.Best) < 0 {
						t.Fatalf("%q is better than %q", other.Text(), x.Best.Text())
					}
				}
			}
		}
	})
	if seen == 0 {
		t.Error("no case had a change that would do")
	}
}

func TestClassesWithAPlaceAreNotExplained(t *testing.T) {
	if x := Explain(&pack.Problem{}, &plan.Plan{}, "nothing"); x != nil {
		t.Errorf("explained %v", x)
	}
}

// TestACureThatEC2MayRefuseSaysSo: a type that was not asked for since a quota was used up is of the same account, and stands behind what
// needs no such type.
func TestACureThatEC2MayRefuseSaysSo(t *testing.T) {
	kind := func(name string, cpu int64, offerings ...catalog.Offering) *catalog.Type {
		return &catalog.Type{Name: name, Capacity: res.List{res.CPU: cpu, res.Memory: 8 << 30, res.Pods: 10}, Offerings: offerings, Requirements: []requirement.Term{
			only(requirement.InstanceType, name), only(requirement.Zone, "a"), {Key: requirement.CapacityType, Operator: requirement.In, Values: []string{catalog.Spot, catalog.OnDemand}},
		}}
	}
	types := []*catalog.Type{
		kind("small", 1000, catalog.Offering{Zone: "a", CapacityType: catalog.OnDemand, Price: 10, Available: true}),
		kind("large", 4000, catalog.Offering{Zone: "a", CapacityType: catalog.OnDemand, Price: 40, Unavailable: catalog.OverQuota}, catalog.Offering{Zone: "a", CapacityType: catalog.Spot, Price: 30, Available: true}),
	}
	class := &cluster.Class{Namespace: "ns", Requests: res.List{res.CPU: 1500, res.Pods: 1}, Selector: []requirement.Term{only(requirement.CapacityType, catalog.OnDemand)}}
	class.ID = class.Hash()
	p := &pack.Problem{
		Options: pack.Options{WellKnown: []string{requirement.Zone, requirement.CapacityType, requirement.InstanceType, requirement.NodePool}},
		Pools:   []*cluster.Pool{{Name: "default", Types: types}}, Pending: []*cluster.Pod{{PodRef: cluster.PodRef{Namespace: "ns", Name: "api", UID: "api"}, Class: class}},
	}
	x := Explain(p, pack.Solve(p), class.ID)
	if x == nil || x.Best == nil || x.Best.Node.CapacityType != catalog.Spot || x.Best.Refused != "" {
		t.Fatalf("the best change is to allow spot: %v", x)
	}
	refused := "EC2 refuses other on-demand instances now (quota exceeded), and may refuse this one"
	if text := x.String(); !strings.Contains(text, "ask for at most 1 cpu") || strings.Count(text, refused) != 1 {
		t.Errorf("lacks %q once:\n%s", refused, text)
	}
}
