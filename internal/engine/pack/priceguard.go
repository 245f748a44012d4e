package pack

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/kerf-sh/kerf/internal/engine/catalog"
	"github.com/kerf-sh/kerf/internal/engine/cluster"
	"github.com/kerf-sh/kerf/internal/engine/plan"
)

// guardedShapes is how many different new nodes of a plan are compared with what their pods usually cost each by itself, the
// dearest first; all others are compared together. Each takes a small solution; a plan has rarely more than a handful of shapes.
const guardedShapes = 20

// guardRounds is how often single nodes of a plan are held back before whole classes are. A spread over a domain that only has dear
// instances holds back a part of its pods each time, one of three with three domains.
const guardRounds = 5

// guardPrices keeps new nodes out of a plan that cost more than Options.PriceGuard times what their pods usually cost: what
// the cheapest nodes for them cost when EC2 is short of nothing. Their pods wait. The multiple doubles whenever the rank of the
// oldest of them rises (agedAt), so that no pod waits for ever. New nodes that are compared by themselves are told their usual price.
//
// Other pods may have been placed as they are because those pods are where they are: to be even with them, or with them. So the
// problem is solved again without the pods that wait, until no new node is too dear.
//
// Cost: nothing unless EC2 is short of something; then a small solution for each shape of node, up to guardedShapes, and a first
// plan for the pods of all others; and where nodes are too dear another solution of the problem each time, of which there are at most
// guardRounds and as many as there are classes.
func guardPrices(p *Problem, out *plan.Plan, solve func(*Problem) *plan.Plan) *plan.Plan {
	if p.Options.PriceGuard <= 0 || len(out.NewNodes) == 0 {
		return out
	}
	g := &priceGuard{p: p, pods: map[cluster.PodRef]*cluster.Pod{}, usual: map[string]*plan.Plan{}}
	if !g.ignoreShortage() {
		return out
	}
	for _, pod := range p.Pending {
		g.pods[pod.PodRef] = pod
	}
	first, rest := out.Stats, *p
	var waiting []*cluster.Pod
	why := map[cluster.PodRef]plan.Reason{}
	wait := func(pod *cluster.Pod, r plan.Reason) {
		if _, known := why[pod.PodRef]; !known {
			waiting, why[pod.PodRef] = append(waiting, pod), r
		}
	}
	for round := 1; ; round++ {
		dear := g.dear(out)
		if len(dear) == 0 {
			break
		}
		classes := map[string]plan.Reason{}
		for i := range out.NewNodes {
			r, waits := dear[i]
			if !waits {
				continue
			}
			for _, ref := range out.NewNodes[i].Pods {
				pod := g.pods[ref]
				wait(pod, r)
				if _, known := classes[pod.Class.ID]; !known && round > guardRounds {
					classes[pod.Class.ID] = r
				}
			}
		}
		left := make([]*cluster.Pod, 0, len(rest.Pending))
		for _, pod := range rest.Pending {
			if pod.Class != nil {
				if r, waits := classes[pod.Class.ID]; waits {
					wait(pod, r)
				}
			}
			if _, waits := why[pod.PodRef]; !waits {
				left = append(left, pod)
			}
		}
		rest.Pending = left
		out = solve(&rest)
	}
	if len(waiting) == 0 {
		return out
	}
	slices.SortStableFunc(waiting, byAge)
	guarded := *out
	guarded.Unplaced = slices.Clone(out.Unplaced)
	for i := range guarded.Unplaced {
		guarded.Unplaced[i].Pods = slices.Clip(guarded.Unplaced[i].Pods)
	}
	for _, pod := range waiting {
		addUnplaced(&guarded, pod, why[pod.PodRef])
	}
	slices.SortStableFunc(guarded.Unplaced, func(a, b plan.Unplaced) int { return cmp.Compare(a.ClassID, b.ClassID) })
	guarded.Stats.Pods, guarded.Stats.Classes = first.Pods, first.Classes
	return &guarded
}

// dear are the new nodes of a plan that are too dear, by their place in it, and why.
func (g *priceGuard) dear(out *plan.Plan) map[int]plan.Reason {
	order := make([]int, len(out.NewNodes))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(out.NewNodes[b].Price, out.NewNodes[a].Price) })
	dear := map[int]plan.Reason{}
	var rest []int
	for _, i := range order {
		n := out.NewNodes[i : i+1]
		if _, known := g.usual[g.kind(n)]; !known && len(g.usual) >= guardedShapes {
			rest = append(rest, i)
		} else if r, tooDear := g.judge(n); tooDear {
			dear[i] = r
		}
	}
	nodes := make([]plan.NewNode, len(rest))
	for at, i := range rest {
		nodes[at] = out.NewNodes[i]
	}
	if r, tooDear := g.judge(nodes); tooDear {
		for _, i := range rest {
			dear[i] = r
		}
	}
	return dear
}

type priceGuard struct {
	p      *Problem
	pools  []*cluster.Pool // as they are when EC2 is short of nothing
	engine *memory
	pods   map[cluster.PodRef]*cluster.Pod
	usual  map[string]*plan.Plan // by the classes of a node's pods
}

// ignoreShortage makes the pools as they usually are; false when EC2 is short of nothing.
func (g *priceGuard) ignoreShortage() bool {
	short := false
	for _, pool := range g.p.Pools {
		usual := *pool
		var lacking bool
		usual.Types, lacking = catalog.Opened(pool.Types, func(_ *catalog.Type, o *catalog.Offering) bool { return o.Short() })
		short = short || lacking
		g.pools = append(g.pools, &usual)
	}
	return short
}

// kind is the same for new nodes with pods of the same classes.
func (g *priceGuard) kind(nodes []plan.NewNode) string {
	var classes []string
	for i := range nodes {
		for _, ref := range nodes[i].Pods {
			if pod := g.pods[ref]; pod != nil {
				classes = append(classes, pod.Class.ID)
			}
		}
	}
	slices.Sort(classes)
	return strings.Join(classes, "\x00")
}

// judge says why new nodes are too dear together; false when they are not, or when nothing is known of what their pods usually
// cost.
func (g *priceGuard) judge(nodes []plan.NewNode) (plan.Reason, bool) {
	var pending []*cluster.Pod
	var oldest *cluster.Pod
	var price catalog.MicroUSD
	for i := range nodes {
		price += nodes[i].Price
		for _, ref := range nodes[i].Pods {
			pod := g.pods[ref]
			if pod == nil {
				return plan.Reason{}, false
			}
			pending = append(pending, pod)
			if pod.Class.Virtual {
				continue // a buffer is as old as its object: room that nobody uses is worth no more for it
			}
			if oldest == nil || !pod.CreatedAt.IsZero() && pod.CreatedAt.Before(oldest.CreatedAt) {
				oldest = pod
			}
		}
	}
	if len(pending) == 0 || len(nodes[0].Types) == 0 {
		return plan.Reason{}, false
	}
	n, usual := &nodes[0], g.usually(pending, g.kind(nodes))
	if usual == nil {
		return plan.Reason{}, false
	}
	if len(nodes) == 1 {
		n.Usual = usual.Price
	}
	aged := 0
	if oldest != nil {
		aged = min(agedAt(g.p.Now, oldest), 16)
	}
	times := g.p.Options.PriceGuard << aged
	if usual.Price <= 0 || price <= usual.Price*catalog.MicroUSD(times) {
		return plan.Reason{}, false
	}
	until := "the next decision"
	if oldest != nil && !oldest.CreatedAt.IsZero() {
		until = clock(oldest.CreatedAt.Add(agingAfter << aged))
	}
	what := usual.NewNodes[0].Types[0]
	r := plan.Reason{
		Code: plan.TooDear, Pool: n.Pool,
		Want:    fmt.Sprintf("%s for %s %s", g.perHour(price), n.Types[0].CapacityType, n.Types[0].Name),
		Have:    g.perHour(usual.Price),
		Value:   fmt.Sprintf("%d.%d", price/usual.Price, price%usual.Price*10/usual.Price),
		Key:     fmt.Sprint(times),
		Nearest: fmt.Sprintf("%s %s in %s", what.CapacityType, what.Name, what.Zone),
		Detail:  until,
	}
	r.Resource = g.opens(usual.NewNodes[0].Pool)
	return r, true
}

// usually is the plan for some pods alone when EC2 is short of nothing; nil when that is not known.
func (g *priceGuard) usually(pending []*cluster.Pod, key string) *plan.Plan {
	if known, ok := g.usual[key]; ok {
		return known
	}
	if g.engine == nil {
		g.engine = newMemory()
	}
	problem := &Problem{Now: g.p.Now, Generation: g.p.Generation, Pending: pending, Pools: g.pools, Daemons: g.p.Daemons, Options: g.p.Options}
	problem.Options.PriceGuard, problem.Options.Work = 0, -1
	out := g.engine.solve(problem)
	if len(out.Unplaced) > 0 || len(out.NewNodes) == 0 || len(out.NewNodes[0].Types) == 0 {
		out = nil
	}
	g.usual[key] = out
	return out
}

// opens is when what a pool lacks is asked for again, the first of it.
func (g *priceGuard) opens(pool string) string {
	for _, p := range g.p.Pools {
		if p.Name == pool {
			return FirstOpens(p.Types)
		}
	}
	return ""
}

// FirstOpens is when the first of what EC2 lacks is asked for again; empty when it lacks nothing.
func FirstOpens(types []*catalog.Type) string {
	var first time.Time
	for _, t := range types {
		for _, o := range t.Offerings {
			if o.Short() && (first.IsZero() || o.Opens.Before(first)) {
				first = o.Opens
			}
		}
	}
	if first.IsZero() {
		return ""
	}
	return clock(first)
}

// addUnplaced notes that the pod is left, and that reason before others.
func addUnplaced(p *plan.Plan, pod *cluster.Pod, r plan.Reason) {
	at := slices.IndexFunc(p.Unplaced, func(u plan.Unplaced) bool { return u.ClassID == pod.Class.ID })
	if at < 0 {
		p.Unplaced = append(p.Unplaced, plan.Unplaced{ClassID: pod.Class.ID, Pods: []cluster.PodRef{pod.PodRef}, Reasons: []plan.Reason{r}})
		return
	}
	u := &p.Unplaced[at]
	u.Pods = append(u.Pods, pod.PodRef)
	if !slices.ContainsFunc(u.Reasons, func(o plan.Reason) bool { return o.Code == r.Code && o.Pool == r.Pool }) {
		u.Reasons = append([]plan.Reason{r}, u.Reasons...)
	}
}

// perHour writes a price in four decimals, the rest left out.
func (g *priceGuard) perHour(m catalog.MicroUSD) string {
	return g.p.Options.Currency.Amount(m-m%100) + "/h"
}
