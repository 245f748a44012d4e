package bound_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/kerf-sh/kerf/internal/engine/bound"
	"github.com/kerf-sh/kerf/internal/engine/catalog"
	"github.com/kerf-sh/kerf/internal/engine/cluster"
	"github.com/kerf-sh/kerf/internal/engine/pack"
	"github.com/kerf-sh/kerf/internal/engine/plan"
	"github.com/kerf-sh/kerf/internal/engine/requirement"
	"github.com/kerf-sh/kerf/internal/engine/res"
	"github.com/kerf-sh/kerf/internal/engine/verify"
	"github.com/kerf-sh/kerf/internal/sim/scenario"
)

var threeZones = []string{"a", "b", "c"}

func chance(t *rapid.T, oneIn int) bool { return rapid.IntRange(1, oneIn).Draw(t, "chance") == 1 }

func drawZonedType(t *rapid.T, i int) *catalog.Type {
	cpu := int64(rapid.IntRange(1, 6).Draw(t, "cpu"))
	ty := &catalog.Type{Name: fmt.Sprintf("type-%d", i), Capacity: res.List{res.CPU: cpu * 1000, res.Pods: 1 + cpu*2}, Overhead: res.List{res.CPU: 100}}
	for _, z := range threeZones {
		ty.Offerings = append(ty.Offerings, catalog.Offering{Zone: z, CapacityType: catalog.OnDemand, Available: !chance(t, 6),
			Price: catalog.MicroUSD(cpu*100_000 + int64(rapid.IntRange(0, 100_000).Draw(t, "extra")))})
		if chance(t, 15) {
			ty.Offerings = append(ty.Offerings, catalog.Offering{Zone: z, CapacityType: catalog.Reserved, ReservationID: "cr-" + z, Reservable: 1, Price: 10, Available: true})
		}
	}
	ty.Requirements = []requirement.Term{in(requirement.Arch, rapid.SampledFrom([]string{"amd64", "amd64", "arm64"}).Draw(t, "arch")), in(requirement.InstanceType, ty.Name),
		in(requirement.Zone, threeZones...), in(requirement.CapacityType, catalog.OnDemand, catalog.Reserved)}
	return ty
}

func drawZonedClass(t *rapid.T, i int) *cluster.Class {
	c := class(int64(rapid.IntRange(1, 25).Draw(t, "cpu"))*100, 0)
	c.Labels = map[string]string{"app": rapid.SampledFrom([]string{fmt.Sprint("own-", i), fmt.Sprint("own-", i), "web"}).Draw(t, "app")}
	own := &cluster.Selector{Terms: []requirement.Term{in("app", c.Labels["app"])}}
	if !chance(t, 4) {
		for range rapid.IntRange(1, 4).Draw(t, "spreads") / 3 * 1 {
			c.Spreads = append(c.Spreads, cluster.Spread{Key: requirement.Hostname, MaxSkew: 1, Selector: own})
		}
		c.Spreads = append(c.Spreads, cluster.Spread{Key: requirement.Zone, MaxSkew: rapid.IntRange(1, 2).Draw(t, "skew"), MinDomains: rapid.IntRange(0, 5).Draw(t, "domains") / 2,
			Selector: own, Soft: chance(t, 12), HonorTaints: chance(t, 3), IgnoreAffinity: chance(t, 4)})
		if chance(t, 8) {
			c.Spreads = append(c.Spreads, cluster.Spread{Key: requirement.Zone, MaxSkew: 2, Selector: &cluster.Selector{}})
		}
	}
	if chance(t, 6) {
		c.AntiAffinity = []cluster.PodAffinity{{Key: requirement.Hostname, Namespaces: []string{"ns"}, Selector: own}}
	}
	if chance(t, 8) {
		c.PodAffinity = []cluster.PodAffinity{{Key: requirement.Zone, Namespaces: []string{"ns"}, Selector: own}}
	}
	if chance(t, 5) {
		c.Selector = append(c.Selector, in(requirement.Arch, "amd64"))
	}
	if chance(t, 6) {
		c.Volumes = [][]requirement.Term{{in(requirement.Zone, rapid.SampledFrom(threeZones).Draw(t, "zone"))}}
	}
	if chance(t, 6) {
		c.Affinity = [][]requirement.Term{{in(requirement.Zone, "a", rapid.SampledFrom(threeZones).Draw(t, "zone"))}}
	}
	if chance(t, 4) {
		c.Tolerations = []cluster.Toleration{{Key: "special", Exists: true}}
	}
	c.ID = ""
	c.ID = c.Hash()
	return c
}

// drawZoned draws a tiny problem of pods that are spread over zones.
func drawZoned(t *rapid.T) *pack.Problem {
	p := &pack.Problem{Now: time.Unix(1, 0), Options: pack.Options{WellKnown: scenario.WellKnown()}}
	var types []*catalog.Type
	for i := range rapid.IntRange(1, 3).Draw(t, "types") {
		types = append(types, drawZonedType(t, i))
	}
	for i := range rapid.IntRange(2, 4).Draw(t, "pools") / 2 {
		pool := &cluster.Pool{Name: fmt.Sprintf("pool-%d", i), Types: types}
		if chance(t, 4) {
			pool.Taints = []cluster.Taint{{Key: "special", Effect: cluster.NoSchedule}}
		}
		if chance(t, 5) {
			pool.Requirements = []requirement.Term{in(requirement.Zone, "a", rapid.SampledFrom(threeZones).Draw(t, "zone"))}
		}
		p.Pools = append(p.Pools, pool)
	}
	if chance(t, 4) {
		p.Daemons = []cluster.Daemon{{Name: "ns/agent", Class: &cluster.Class{ID: "agent", Requests: res.List{res.CPU: 200, res.Pods: 1}}}}
	}
	var classes []*cluster.Class
	serial := 0
	pod := func(c *cluster.Class) *cluster.Pod {
		serial++
		name := fmt.Sprintf("pod-%d", serial)
		return &cluster.Pod{PodRef: cluster.PodRef{Namespace: "ns", Name: name, UID: name}, Class: c}
	}
	for i := range rapid.IntRange(1, 3).Draw(t, "classes") {
		c := drawZonedClass(t, i)
		classes = append(classes, c)
		for range rapid.IntRange(1, 4).Draw(t, "count") {
			if len(p.Pending) < 5 {
				p.Pending = append(p.Pending, pod(c))
			}
		}
	}
	for i := range rapid.IntRange(0, 4).Draw(t, "nodes") / 2 {
		p.Nodes = append(p.Nodes, node(fmt.Sprint("node-", i), 2, 4, func(n *cluster.Node) {
			n.Labels[requirement.Zone] = rapid.SampledFrom(threeZones).Draw(t, "zone")
			if chance(t, 4) {
				n.Taints = []cluster.Taint{{Key: "special", Effect: cluster.NoSchedule}}
			}
			if chance(t, 8) {
				delete(n.Labels, requirement.Zone)
			}
			n.Used = res.List{res.CPU: int64(rapid.IntRange(0, 20).Draw(t, "used")) * 100, res.Pods: 3}
			n.Deleting, n.Leaving = chance(t, 10), chance(t, 10)
			for range rapid.IntRange(0, 2).Draw(t, "running") {
				x := pod(rapid.SampledFrom(classes).Draw(t, "class"))
				x.Node, x.Terminating = n.Name, chance(t, 6)
				n.Pods = append(n.Pods, x)
			}
		}))
	}
	return p
}

// world tries all ways to serve pods in zones.
type world struct {
	p      *pack.Problem
	pods   []*cluster.Pod
	kept   map[string]bool // classes whose spreads over zones are to be kept over all zones in which instances are launched
	prices map[string]map[string]catalog.MicroUSD
	sold   map[string]map[string]bool
	best   catalog.MicroUSD
}

// cheapestInZones is what it costs at least to serve the pods if the spreads of the classes named are kept; -1 if it can't
// be done.
func cheapestInZones(p *pack.Problem, pods []*cluster.Pod, kept map[string]bool) catalog.MicroUSD {
	w := &world{p: p, pods: pods, kept: kept, prices: map[string]map[string]catalog.MicroUSD{}, sold: map[string]map[string]bool{}, best: -1}
	w.deal(0, nil)
	return w.best
}

func (w *world) deal(i int, groups [][]*cluster.Pod) {
	if i == len(w.pods) {
		w.place(0, groups, make([]string, len(groups)), 0)
		return
	}
	for g := range groups {
		next := slices.Clone(groups)
		next[g] = append(slices.Clone(groups[g]), w.pods[i])
		w.deal(i+1, next)
	}
	w.deal(i+1, append(slices.Clone(groups), []*cluster.Pod{w.pods[i]}))
}

// place tries every zone and every node for each group.
func (w *world) place(i int, groups [][]*cluster.Pod, at []string, price catalog.MicroUSD) {
	if w.best >= 0 && price >= w.best {
		return
	}
	if i == len(groups) {
		if w.valid(groups, at) {
			w.best = price
		}
		return
	}
	for _, n := range w.p.Nodes {
		if name := "node " + n.Name; !slices.Contains(at[:i], name) {
			at[i] = name
			w.place(i+1, groups, at, price)
		}
	}
	for _, z := range threeZones {
		if x := w.price(groups[i], z); x >= 0 {
			at[i] = z
			w.place(i+1, groups, at, price+x)
		}
	}
}

func withoutZones(pods []*cluster.Pod) []*cluster.Pod {
	var out []*cluster.Pod
	for _, pod := range pods {
		c, x := *pod.Class, *pod
		c.Spreads = slices.DeleteFunc(slices.Clone(c.Spreads), func(sp cluster.Spread) bool { return sp.Key == requirement.Zone })
		x.Class = &c
		out = append(out, &x)
	}
	return out
}

func (w *world) price(group []*cluster.Pod, zone string) catalog.MicroUSD {
	key := ""
	for _, pod := range group {
		key += pod.Name + " "
	}
	if known, ok := w.prices[key][zone]; ok {
		return known
	}
	if w.prices[key] == nil {
		w.prices[key] = map[string]catalog.MicroUSD{}
	}
	best := catalog.MicroUSD(-1)
	q := *w.p
	q.Nodes, q.Pending = nil, withoutZones(group)
	for _, nn := range w.nodesIn(group, zone) {
		if best >= 0 && nn.Price >= best {
			continue
		}
		if len(verify.Check(&q, &plan.Plan{Price: nn.Price, NewNodes: []plan.NewNode{nn}})) == 0 {
			best = nn.Price
		}
	}
	w.prices[key][zone] = best
	return best
}

// nodesIn are all new nodes that may be had for the pods in the zone.
func (w *world) nodesIn(group []*cluster.Pod, zone string) []plan.NewNode {
	var refs []cluster.PodRef
	for _, pod := range group {
		refs = append(refs, pod.PodRef)
	}
	var out []plan.NewNode
	for _, pool := range w.p.Pools {
		for _, t := range pool.Types {
			for _, o := range t.Offerings {
				if o.Zone == zone && o.Available {
					out = append(out, plan.NewNode{Pool: pool.Name, Price: o.Price, Pods: refs,
						Requirements: []requirement.Term{in(requirement.Zone, o.Zone), in(requirement.CapacityType, o.CapacityType)},
						Types:        []plan.TypeChoice{{Name: t.Name, Price: o.Price, Zone: o.Zone, CapacityType: o.CapacityType}}})
				}
			}
		}
	}
	return out
}

// valid reports whether the plan holds. A plan that needs more instances of a reservation than there are does not, though a
// dearer one may: the test then shows the less.
func (w *world) valid(groups [][]*cluster.Pod, at []string) bool {
	zoneOf := map[cluster.PodRef]string{}
	out := &plan.Plan{}
	for i, g := range groups {
		zone := at[i]
		if name, isNode := nodeNamed(at[i]); isNode {
			n := w.p.Nodes[slices.IndexFunc(w.p.Nodes, func(n *cluster.Node) bool { return n.Name == name })]
			zone = n.Labels[requirement.Zone]
			x := plan.Placement{Node: n.Name}
			for _, pod := range g {
				x.Pods = append(x.Pods, pod.PodRef)
			}
			out.Placements = append(out.Placements, x)
		} else {
			price := w.price(g, zone)
			nodes := w.nodesIn(g, zone)
			q := *w.p
			q.Nodes, q.Pending = nil, withoutZones(g)
			nn := nodes[slices.IndexFunc(nodes, func(nn plan.NewNode) bool {
				return nn.Price == price && len(verify.Check(&q, &plan.Plan{Price: nn.Price, NewNodes: []plan.NewNode{nn}})) == 0
			})]
			out.NewNodes = append(out.NewNodes, nn)
			out.Price += price
		}
		for _, pod := range g {
			zoneOf[pod.PodRef] = zone
		}
	}
	if !w.even(zoneOf) {
		return false
	}
	return len(verify.Check(w.p, out)) == 0
}

func nodeNamed(at string) (string, bool) {
	if len(at) > 5 && at[:5] == "node " {
		return at[5:], true
	}
	return "", false
}

// even reports whether the spreads over zones hold when they are measured over all zones in which instances are launched.
func (w *world) even(zoneOf map[cluster.PodRef]string) bool {
	for _, pod := range w.pods {
		if !w.kept[pod.Class.ID] {
			continue
		}
		for _, sp := range pod.Class.Spreads {
			if sp.Key != requirement.Zone || sp.Soft {
				continue
			}
			in := map[string]int{}
			for _, n := range w.p.Nodes {
				for _, x := range n.Pods {
					if !n.Deleting && !x.Terminating && sp.Selector.Matches(x.Class.Labels) && (!sp.HonorTaints || len(n.Taints) == 0 || len(pod.Class.Tolerations) > 0) {
						in[n.Labels[requirement.Zone]]++
					}
				}
			}
			for _, x := range w.pods {
				if sp.Selector.Matches(x.Class.Labels) {
					in[zoneOf[x.PodRef]]++
				}
			}
			for z := range w.soldIn(pod) {
				if in[zoneOf[pod.PodRef]]-in[z] > sp.MaxSkew {
					return false
				}
			}
		}
	}
	return true
}

// soldIn are the zones in which instances are launched for pods like this one that ask for nothing.
func (w *world) soldIn(pod *cluster.Pod) map[string]bool {
	if known := w.sold[pod.Class.ID]; known != nil {
		return known
	}
	out := map[string]bool{}
	w.sold[pod.Class.ID] = out
	small := *pod.Class
	small.Requests, small.Spreads = res.List{}, nil
	x := *pod
	x.Class = &small
	q := *w.p
	q.Nodes, q.Pending, q.Daemons = nil, []*cluster.Pod{&x}, nil
	for _, z := range threeZones {
		for _, nn := range w.nodesIn(q.Pending, z) {
			if nn.Types[0].CapacityType != catalog.Reserved && len(verify.Check(&q, &plan.Plan{Price: nn.Price, NewNodes: []plan.NewNode{nn}})) == 0 {
				out[z] = true
			}
		}
	}
	return out
}

// countedOn are the classes of which the certificate counts on the spread over zones.
func countedOn(c *bound.Certificate) map[string]bool {
	out := map[string]bool{}
	for _, r := range c.Rows {
		if r.Zones != nil {
			out[r.Class] = true
		}
	}
	return out
}

func TestNoWayToServePodsInZonesIsCheaperThanTheBound(t *testing.T) {
	zoned, raised, tight := 0, 0, 0
	rapid.Check(t, func(t *rapid.T) {
		p := drawZoned(t)
		out := pack.Solve(p)
		r := bound.Lower(p, out, bound.Budget{})
		best := cheapestInZones(p, servedBy(p, out), countedOn(r.Certificate))
		if r.Bound > out.Price || best >= 0 && r.Bound > best {
			t.Fatalf("bound %d, cheapest %d, plan %d, certificate %+v\n%s", r.Bound, best, out.Price, r.Certificate, out)
		}
		if got, err := bound.Check(p, r.Certificate); err != nil || got != r.Bound {
			t.Fatalf("the checker says %d, %v, not %d", got, err, r.Bound)
		}
		if len(countedOn(r.Certificate)) > 0 {
			zoned++
			if r.Bound == best {
				tight++
			}
		}
		if r.Certificate.Whole > 0 {
			raised++
		}
	})
	t.Logf("%d certificates count on spreads, %d of them prove the cheapest; %d count whole instances", zoned, tight, raised)
	if zoned == 0 || raised == 0 || tight == 0 {
		t.Error("the test shows nothing")
	}
}

// Whatever is written into a certificate with zones, the checker must not accept more than the truth.
func TestTheCheckerNeverAcceptsMoreThanTheCheapestInZones(t *testing.T) {
	accepted := 0
	rapid.Check(t, func(t *rapid.T) {
		p := drawZoned(t)
		out := pack.Solve(p)
		c := bound.Lower(p, out, bound.Budget{}).Certificate
		for i := range c.Rows {
			change := func(v int64) int64 { return v + v*int64(rapid.IntRange(-40, 20).Draw(t, "change"))/100 }
			c.Rows[i].Value = change(c.Rows[i].Value)
			for _, z := range threeZones {
				if v, ok := c.Rows[i].Zones[z]; ok {
					c.Rows[i].Zones[z] = change(v)
				}
			}
			if chance(t, 10) && c.Rows[i].Zones == nil {
				c.Rows[i].Value, c.Rows[i].Zones = 0, map[string]int64{"a": c.Rows[i].Value}
			}
		}
		if chance(t, 2) {
			c.Whole = int64(rapid.IntRange(0, 2_000_000).Draw(t, "whole")) * 1000
		}
		got, err := bound.Check(p, c)
		if err != nil {
			return
		}
		accepted++
		if best := cheapestInZones(p, servedBy(p, out), countedOn(c)); best >= 0 && got > best {
			t.Fatalf("accepted as a proof of %d, where %d will do: %+v\n%s", got, best, c, out)
		}
	})
	t.Logf("%d accepted", accepted)
	if accepted == 0 {
		t.Error("no changed certificate was accepted: the test shows nothing")
	}
}
