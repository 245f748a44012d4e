package audit

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/kerf-sh/kerf/internal/engine/disrupt"
)

// mostMoves is how many moves are told one by one.
const mostMoves = 12

// first asks the engine what it would do to the cluster as it is: the decision that the controller makes, without disruption budgets
// and without the time for which it has to stand. Budgets only say how many nodes go at a time.
func (a *audit) first() {
	p := &disrupt.Problem{Cluster: a.whole(), DeletionCosts: a.st.standing.DeletionCosts}
	holds := a.holds()
	managed := func(n *audited) bool { return n.movable() && (n.from == ofPool || len(a.st.pools) == 0) }
	considered := 0
	for _, n := range a.st.nodes {
		if !managed(n) {
			continue
		}
		considered++
		b := blocks(holds[n])
		if !n.Ready {
			b = append(b, disrupt.Reason{Code: disrupt.NotReady})
		}
		p.Nodes = append(p.Nodes, disrupt.Node{Name: n.Name, Blocks: b})
	}
	for _, pool := range a.base.Pools {
		one := disrupt.Pool{Name: pool.Name, Policy: disrupt.WhenEmptyOrUnderutilized}
		if np := a.st.pools[pool.Name]; np != nil && np.Spec.Disruption.ConsolidationPolicy != "" {
			one.Policy = disrupt.Policy(np.Spec.Disruption.ConsolidationPolicy)
		}
		p.Pools = append(p.Pools, one)
	}
	a.untouchedNodes(managed)
	if considered == 0 {
		return
	}
	d := disrupt.Decide(p)
	out := &First{PerHour: dollars(d.Before - d.After), NotLookedAt: d.Stats.NotLookedAt}
	switch {
	case a.st.poolsUnread() > 0:
		out.Condition = "As if the NodePools were like the assumed pools: what they allow could not be read."
	case len(a.st.pools) == 0:
		out.Condition = "Once these nodes belong to NodePools like the assumed ones, and Kerf runs. Until then nothing of this happens."
	}
	for i := range d.Moves {
		a.launches(d.Moves[i].NewNodes)
	}
	for i := range d.Moves {
		if i == mostMoves {
			out.More = len(d.Moves) - mostMoves
			break
		}
		out.Moves = append(out.Moves, a.move(&d.Moves[i]))
	}
	out.Rest = a.beyond(out)
	a.report.First = out
	a.keptNodes(d.Kept)
	slices.SortStableFunc(a.report.Untouched, func(x, y Untouched) int { return cmp.Compare(y.PerHour, x.PerHour) })
}

// telling is how much of the bill must lie between what the moves leave and the plan for it to be told, in percent.
const telling = 1

// beyond says why the moves do not reach the plan that the report shows above them; empty where they do.
func (a *audit) beyond(f *First) string {
	r := a.report
	left := r.Bill.PerHour - f.PerHour
	if left-r.Floor.Plan < r.Bill.PerHour*telling/100 {
		return ""
	}
	m := r.money()
	return fmt.Sprintf("After %s the cluster costs %s, and Kerf's plan for all pods on new nodes costs %s. The plan replaces every node at once, those too that something holds and those that no NodePool governs. "+
		"A move replaces one node or a few and leaves the others as they are: what it launches, disks included, must cost less than what it removes, by more than evicting the pods is assumed to cost.",
		cond(len(f.Moves) > 0, "these moves", "that, as now,"), m.perHour(left), m.perHour(r.Floor.Plan))
}

func (a *audit) move(m *disrupt.Move) Move {
	out := Move{Nodes: m.Nodes, PerHour: dollars(m.Saving)}
	for _, name := range m.Nodes {
		if n := a.st.byName[name]; n != nil {
			out.Pods += len(moving(n.Node))
		}
	}
	count := map[string]int{}
	for i := range m.NewNodes {
		if n := &m.NewNodes[i]; len(n.Types) > 0 {
			count[n.Types[0].Name+" "+n.Types[0].CapacityType]++
		}
	}
	for _, what := range sortedKeys(count) {
		out.New = append(out.New, fmt.Sprintf("%d × %s", count[what], what))
	}
	old := a.st.byName[m.Nodes[0]]
	what := "node " + m.Nodes[0]
	if len(m.Nodes) > 1 {
		what = fmt.Sprintf("%d nodes", len(m.Nodes))
	} else if old != nil {
		what += " (" + old.InstanceType + " " + old.CapacityType + ")"
	}
	switch {
	case out.Pods == 0:
		out.Text = "Remove " + what + ": no pod needs it"
	case len(out.New) > 0:
		out.Text = "Replace " + what + " by " + strings.Join(out.New, ", ") + ", and move " + plural(out.Pods, "pod")
	case out.Pods == 1:
		out.Text = "Remove " + what + ": its pod fits on another"
	default:
		out.Text = "Remove " + what + ": its " + plural(out.Pods, "pod") + " fit on others"
	}
	return out
}

// keptNodes tells why the engine keeps nodes: those that are held are told of by what holds them.
func (a *audit) keptNodes(kept []disrupt.Kept) {
	by := untouched{}
	for _, k := range kept {
		if n := a.st.byName[k.Node]; n != nil && len(k.Reasons) > 0 {
			by.add(keptWords(k.Reasons[0].Code), n)
		}
	}
	by.report(a.report)
}

// untouched are nodes that are kept, by the reason.
type untouched map[string]*Untouched

func (by untouched) add(reason string, n *audited) {
	u := by[reason]
	if u == nil {
		u = &Untouched{Reason: reason}
		by[reason] = u
	}
	u.Count++
	u.PerHour += dollars(n.Price)
	if len(u.Nodes) < mostObjects {
		u.Nodes = append(u.Nodes, n.Name)
	}
}

func (by untouched) report(r *Report) {
	for _, reason := range sortedKeys(by) {
		r.Untouched = append(r.Untouched, *by[reason])
	}
}

// keptWords is why nodes are kept, as a class of reasons.
func keptWords(code disrupt.Code) string {
	switch code {
	case disrupt.DoNotDisrupt:
		return "they or their pods ask not to be disrupted"
	case disrupt.DisruptionBudget:
		return "a PodDisruptionBudget refuses every eviction of one of their pods"
	case disrupt.NoConsolidation, disrupt.PolicyForbids:
		return "their NodePool does not consolidate nodes with pods"
	case disrupt.Other:
		return "their pods have safe-to-evict: false"
	case disrupt.NotReady:
		return "they are not ready"
	case disrupt.TakesPods:
		return "they take the pods of the nodes that go"
	case disrupt.NotCheaper:
		return "one by one or a few together they can't be replaced by something cheaper, disks counted"
	case disrupt.OthersFollow:
		return "other pods may be where they are only while the pods of these nodes stay"
	case disrupt.SavesTooLittle, disrupt.NotPaidBack, disrupt.NotBalanced:
		return "moving their pods would save too little for the trouble"
	case disrupt.PodHasNoPlace:
		return "one of their pods has no other place"
	case disrupt.SpotToSpotOff, disrupt.FewSpotTypes:
		return "they are spot, and spot is replaced by spot only where many types are cheaper"
	case disrupt.StaticPool:
		return "their NodePool keeps a fixed number of nodes"
	case disrupt.NotLookedAt:
		return "the search ended before it came to them"
	case disrupt.PriceUnknown:
		return "their price is not known"
	}
	return "other reasons"
}

// untouchedNodes tells of nodes that the engine is not asked about.
func (a *audit) untouchedNodes(managed func(*audited) bool) {
	by := untouched{}
	for _, n := range a.st.nodes {
		var reason string
		pool := a.st.pools[n.Pool]
		switch {
		case managed(n):
			continue
		case n.from == ofFargate:
			reason = "they are Fargate's"
		case n.from == ofOther:
			reason = "they are not EC2 instances"
		case !n.known:
			reason = "their instance type or price is not known"
		case n.absent:
			reason = "their instance was launched, and has not become a node"
		case a.stuck[n.Name] != "":
			reason = "one of their pods fits on no node that could be launched"
		case n.isReserved():
			reason = "reserved: it is paid anyway"
		case pool != nil && pool.IsStatic():
			reason = "their NodePool keeps a fixed number of nodes"
		case n.Deleting:
			reason = "they are being removed already"
		case n.apart:
			reason = "pods on them ask to stay off the nodes of NodePools, as a controller's own do"
		case n.from == ofGroup && len(a.st.pools) > 0:
			reason = "no NodePool governs them: Kerf touches only nodes that it or Karpenter launched"
		default:
			reason = "they run Windows, which is not reckoned with"
		}
		by.add(reason, n)
	}
	by.report(a.report)
}
