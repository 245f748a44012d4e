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

// guardPrices takes out of a plan the new nodes that cost more than Options.PriceGuard times what their pods usually cost: what
// the cheapest nodes for them cost when EC2 is short of nothing. Their pods wait. The multiple doubles whenever the rank of the
// oldest of them rises (agedAt), so that no pod waits for ever. New nodes that are compared by themselves are told their usual price.
//
// Cost: nothing unless EC2 is short of something; then a small solution for each shape of node, up to guardedShapes, and a first
// plan for the pods of all others.
func guardPrices(p *Problem, out *plan.Plan) *plan.Plan {
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
	order := make([]int, len(out.NewNodes))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(out.NewNodes[b].Price, out.NewNodes[a].Price) })
	held := map[int]plan.Reason{}
	var rest []int
	for _, i := range order {
		n := out.NewNodes[i : i+1]
		if _, known := g.usual[g.kind(n)]; !known && len(g.usual) >= guardedShapes {
			rest = append(rest, i)
		} else if r, dear := g.judge(n); dear {
			held[i] = r
		}
	}
	nodes := make([]plan.NewNode, len(rest))
	for at, i := range rest {
		nodes[at] = out.NewNodes[i]
	}
	if r, dear := g.judge(nodes); dear {
		for _, i := range rest {
			held[i] = r
		}
	}
	if len(held) == 0 {
		return out
	}
	return g.without(out, held)
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

// without is the plan without some of its new nodes, whose pods wait.
func (g *priceGuard) without(p *plan.Plan, held map[int]plan.Reason) *plan.Plan {
	out := *p
	out.NewNodes, out.Unplaced = nil, slices.Clone(p.Unplaced)
	for i := range p.NewNodes {
		n := &p.NewNodes[i]
		r, waits := held[i]
		if !waits {
			out.NewNodes = append(out.NewNodes, *n)
			continue
		}
		out.Price -= n.Price
		for _, ref := range n.Pods {
			addUnplaced(&out, g.pods[ref], r)
		}
	}
	slices.SortStableFunc(out.Unplaced, func(a, b plan.Unplaced) int { return cmp.Compare(a.ClassID, b.ClassID) })
	return &out
}

func addUnplaced(p *plan.Plan, pod *cluster.Pod, r plan.Reason) {
	at := slices.IndexFunc(p.Unplaced, func(u plan.Unplaced) bool { return u.ClassID == pod.Class.ID })
	if at < 0 {
		p.Unplaced = append(p.Unplaced, plan.Unplaced{ClassID: pod.Class.ID, Pods: []cluster.PodRef{pod.PodRef}, Reasons: []plan.Reason{r}})
		return
	}
	u := &p.Unplaced[at]
	u.Pods = append(slices.Clone(u.Pods), pod.PodRef)
	if !slices.ContainsFunc(u.Reasons, func(o plan.Reason) bool { return o.Code == r.Code && o.Pool == r.Pool }) {
		u.Reasons = append([]plan.Reason{r}, u.Reasons...)
	}
}

// perHour writes a price in four decimals, the rest left out.
func (g *priceGuard) perHour(m catalog.MicroUSD) string {
	return g.p.Options.Currency.Amount(m-m%100) + "/h"
}
