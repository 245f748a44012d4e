package audit

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/internal/engine/bound"
	"github.com/kerf-sh/kerf/internal/engine/budget"
	"github.com/kerf-sh/kerf/internal/engine/catalog"
	"github.com/kerf-sh/kerf/internal/engine/cluster"
	"github.com/kerf-sh/kerf/internal/engine/disrupt"
	"github.com/kerf-sh/kerf/internal/engine/floor"
	"github.com/kerf-sh/kerf/internal/engine/plan"
	"github.com/kerf-sh/kerf/internal/engine/res"
	"github.com/kerf-sh/kerf/internal/state/intake"
)

// The codes of parts of the difference.
const (
	EmptyNodes   = "EmptyNodes"
	DearTypes    = "DearTypes"
	OnDemand     = "OnDemandWhereSpotIsAllowed"
	SpareRoom    = "SpareRoom"
	HeldByPods   = "DoNotDisrupt"
	HeldByBudget = "PodDisruptionBudget"
	HeldByOthers = "SafeToEvict"
	HeldByPool   = "ConsolidationOff"
	NotProved    = "NotProved"
)

// difference goes from the bill down to the floor in steps. What is below is never above what it comes from, so that the parts are
// never negative and add up to the difference.
//
//	bill
//	  less the nodes that no pod needs                                        EmptyNodes
//	  less what Kerf's plan for the pods of nodes that nothing holds saves    DearTypes, OnDemand, SpareRoom
//	  less what it saves once nothing holds the others                        DoNotDisrupt, PodDisruptionBudget, …
//	floor: what no plan can be below                                          NotProved: what lies between
func (a *audit) difference() {
	planned, newNodes, all := a.settle()
	a.launches(newNodes)
	lowest := bound.Lower(a.emptied, floorPlan(a), bound.Budget{Work: a.o.Work}).Bound
	a.floor = min(a.kept+lowest, a.bill)

	holds := a.holds()
	held := func(n *audited) bool { return len(holds[n]) > 0 }
	level := a.bill
	step := func(to catalog.MicroUSD) catalog.MicroUSD {
		to = max(min(to, level), a.floor)
		by := level - to
		level = to
		return by
	}

	var empty []Object
	emptyPrice := catalog.MicroUSD(0)
	for _, n := range a.st.nodes {
		if n.movable() && len(moving(n.Node)) == 0 && !held(n) {
			emptyPrice += n.Price
			empty = append(empty, nodeObject(n))
		}
	}
	a.part(Part{
		Code: EmptyNodes, Title: "Nodes without pods", PerHour: dollars(step(level - emptyPrice)),
		Text: "Nodes on which only daemons run.", Remedy: "Remove them. Kerf and Karpenter do so by themselves unless something holds them.",
	}, empty)

	free, _, _ := a.placedAt(held)
	a.byMoving(step(a.kept+free), held)

	for _, h := range a.heldKinds(holds) {
		released := func(n *audited) bool {
			return slices.ContainsFunc(holds[n], func(x hold) bool { return !h.done[x.code] })
		}
		price, _, _ := a.placedAt(released)
		p := h.part
		p.PerHour = dollars(step(a.kept + price))
		a.part(p, h.objects)
	}
	a.part(Part{
		Code: NotProved, Title: "Between Kerf's plan and the floor", PerHour: dollars(step(a.floor)),
		Text: "The floor is proved, and no plan is known that reaches it. Instances are launched whole, and the proof leaves some rules out that every plan must keep.",
	}, nil)
	slices.SortStableFunc(a.report.Difference, func(x, y Part) int { return cmp.Compare(y.PerHour, x.PerHour) })

	f := &a.report.Floor
	f.Known = true
	f.PerHour, f.PerMonth, f.Kept, f.Pods, f.WithoutPlace = dollars(a.floor), monthly(a.floor), dollars(a.kept), len(a.emptied.Pending), len(a.unplaced)
	// A plan for all pods is not held to be above the floor: the proof says that it is, and a test must see where it is not.
	planned = min(a.kept+planned, a.bill)
	if !all {
		planned = max(planned, a.floor)
	}
	f.Plan, f.PlanNodes = dollars(planned), len(newNodes)
	for _, n := range a.st.nodes {
		if n.from == ofPool || n.from == ofGroup {
			f.AllPods += len(moving(n.Node))
		}
	}
	if a.bill > 0 {
		f.OfBill = float64(a.bill-a.floor) / float64(a.bill) * 100
	}
	if a.floor > 0 {
		f.Percent = new(float64(a.bill-a.floor) / float64(a.floor) * 100)
	}
}

// launches notes the spot prices that new nodes rest on.
func (a *audit) launches(nodes []plan.NewNode) {
	for i := range nodes {
		if list := nodes[i].Types; len(list) > 0 && list[0].CapacityType == catalog.Spot {
			a.spots.use(list[0].Name, list[0].Zone)
		}
	}
}

func floorPlan(a *audit) *plan.Plan {
	_, runs := floor.Empty(a.whole())
	return runs
}

// part adds a part of the difference, unless it is nothing.
func (a *audit) part(p Part, objects []Object) {
	if p.PerHour < lessThanCounts {
		return
	}
	slices.SortStableFunc(objects, func(x, y Object) int { return cmp.Compare(y.PerHour, x.PerHour) })
	p.Objects, p.Count = limited(objects)
	a.report.Difference = append(a.report.Difference, p)
}

// lessThanCounts is an amount per hour that is not told: rounding.
const lessThanCounts = 0.000001

func nodeObject(n *audited) Object {
	return Object{Kind: "Node", Name: n.Name, PerHour: dollars(n.Price), Detail: n.InstanceType + ", " + n.CapacityType + ", " + n.group}
}

// byMoving divides what moving pods saves: by what each node would cost less by itself as the cheapest type that carries what it
// has, then as spot, and what is left by needing fewer nodes.
func (a *audit) byMoving(saved catalog.MicroUSD, held func(*audited) bool) {
	fit := a.fitter()
	var dear, spot, room []Object
	byType, bySpot := catalog.MicroUSD(0), catalog.MicroUSD(0)
	for _, n := range a.st.nodes {
		if !n.movable() || held(n) || len(moving(n.Node)) == 0 {
			continue
		}
		same, any := fit.cheapest(n)
		if same != nil && same.price < n.Price {
			byType += n.Price - same.price
			dear = append(dear, Object{Kind: "Node", Name: n.Name, PerHour: dollars(n.Price - same.price), Detail: fmt.Sprintf("%s, where %s would do", n.InstanceType, same.name)})
		} else {
			same = &fitting{name: n.InstanceType, price: n.Price}
		}
		if any != nil && any.price < same.price && n.CapacityType == catalog.OnDemand {
			bySpot += same.price - any.price
			detail := n.InstanceType + " on demand; its pool allows spot"
			if band := a.m.interrupted(any.name); band != "" {
				detail += fmt.Sprintf(", and AWS takes back %s %% of %s in a month", band, any.name)
			}
			spot = append(spot, Object{Kind: "Node", Name: n.Name, PerHour: dollars(same.price - any.price), Detail: detail})
		}
		if part := freePart(n.Node); part >= 0.3 {
			room = append(room, Object{Kind: "Node", Name: n.Name, PerHour: part * dollars(n.Price), Detail: fmt.Sprintf("%s, %.0f %% of it is asked for by nobody", n.InstanceType, part*100)})
		}
	}
	if sum := byType + bySpot; sum > saved { // each node by itself may save more than all together
		byType = catalog.MicroUSD(float64(byType) / float64(sum) * float64(saved))
		bySpot = saved - byType
	}
	a.part(Part{
		Code: DearTypes, Title: "Dearer instance types than needed", PerHour: dollars(byType),
		Text:   "The same pods fit on a cheaper type that the pool may launch, in the same zone and capacity type.",
		Remedy: "Let the pool launch more families and sizes, and let it replace nodes. The names are of the nodes as they are; each is counted by itself.",
	}, dear)
	a.part(Part{
		Code: OnDemand, Title: "On-demand where spot is allowed", PerHour: dollars(bySpot),
		Text:   "These nodes are on demand, and their pool may launch spot.",
		Remedy: "Spot instances may be taken back with two minutes' notice: fit for workloads with several replicas that start within it.",
	}, spot)
	a.part(Part{
		Code: SpareRoom, Title: "Room that no pod asks for", PerHour: dollars(saved - byType - bySpot),
		Text:   "The same pods fit on fewer nodes, or on nodes that are cheaper together.",
		Remedy: "Consolidation: see what Kerf would do first.",
	}, room)
}

// freePart is how much of a node is asked for by nobody: of CPU or memory, whichever less is free of.
func freePart(n *cluster.Node) float64 {
	out := 1.0
	for _, r := range []string{res.CPU, res.Memory} {
		if all := n.Allocatable[r]; all > 0 {
			out = min(out, 1-float64(n.Used[r])/float64(all))
		}
	}
	return max(out, 0)
}

// hold is something that keeps a node from being consolidated.
type hold struct {
	code   string
	object Object
	pod    string // the first of the object's pods that do
	pods   int    // how many of them on the node; 0: the object itself does
}

// byOwner are the holds of the pods of a node that ask for it, one for each workload.
func (a *audit) byOwner(code string, pods []*corev1.Pod, asks func(*corev1.Pod) bool) []hold {
	found := map[owner]*hold{}
	for _, p := range pods {
		if p.DeletionTimestamp != nil || !asks(p) {
			continue
		}
		o, name := a.st.owners.of(p), p.Namespace+"/"+p.Name
		h := found[o]
		if h == nil {
			h = &hold{code: code, object: o.object(), pod: name}
			found[o] = h
		}
		h.pods++
		h.pod = min(h.pod, name)
	}
	var out []hold
	for _, h := range found {
		out = append(out, *h)
	}
	slices.SortFunc(out, func(x, y hold) int { return cmp.Compare(x.pod, y.pod) })
	return out
}

// holds are those of each node that may be considered.
func (a *audit) holds() map[*audited][]hold {
	out := map[*audited][]hold{}
	nodes := map[string]int{}
	for _, n := range a.st.nodes {
		nodes[n.Pool]++
	}
	for _, n := range a.st.nodes {
		if !n.movable() {
			continue
		}
		add := func(code string, o Object) { out[n] = append(out[n], hold{code: code, object: o}) }
		c := a.st.standing.Nodes[n.Name]
		switch {
		case n.DoNotDisrupt:
			add(HeldByPods, Object{Kind: "Node", Name: n.Name, Detail: "annotation " + karpv1.DoNotDisruptAnnotationKey})
		case c.Held != "":
			out[n] = append(out[n], a.byOwner(HeldByPods, n.pods, func(p *corev1.Pod) bool {
				if _, ok := p.Annotations[karpv1.DoNotDisruptAnnotationKey]; !ok {
					return false
				}
				held, _ := intake.HeldUntil(p, a.st.from.TakenAt)
				return held
			})...)
		}
		if c.Refused != "" {
			o := Object{Kind: "PodDisruptionBudget", Name: c.Guardian, Detail: "keeps " + c.Refused + " on " + n.Name}
			if c.Guardian == "" {
				o = Object{Kind: "Pod", Name: c.Refused, Detail: string(c.Refusal) + ", on " + n.Name}
			}
			add(HeldByBudget, o)
		}
		if n.from == ofGroup {
			out[n] = append(out[n], a.byOwner(HeldByOthers, n.pods, func(p *corev1.Pod) bool { return p.Annotations[safeToEvict] == "false" })...)
		}
		if pool := a.st.pools[n.Pool]; pool != nil {
			d := pool.Spec.Disruption
			empty := len(moving(n.Node)) == 0
			switch {
			case d.ConsolidateAfter.IsNever():
				add(HeldByPool, Object{Kind: "NodePool", Name: pool.Name, Detail: "spec.disruption.consolidateAfter: Never"})
			case d.ConsolidationPolicy == karpv1.ConsolidationPolicyWhenEmpty && !empty:
				add(HeldByPool, Object{Kind: "NodePool", Name: pool.Name, Detail: "spec.disruption.consolidationPolicy: WhenEmpty"})
			case a.budgetAllowsNone(pool, nodes[pool.Name], empty):
				add(HeldByPool, Object{Kind: "NodePool", Name: pool.Name, Detail: "spec.disruption.budgets allow no node at this time"})
			}
		}
	}
	return out
}

// budgetAllowsNone reports whether the disruption budgets of a NodePool allow none of so many nodes to be consolidated at the time of
// the snapshot. A budget that can't be read allows none.
func (a *audit) budgetAllowsNone(pool *karpv1.NodePool, nodes int, empty bool) bool {
	reason := disrupt.Underutilized
	if empty {
		reason = disrupt.Empty
	}
	most, err := budget.Allowed(intake.Budgets(pool), string(reason), nodes, a.st.from.TakenAt)
	return err != nil || most == 0
}

// heldKind is one kind of hold; done are the kinds that no longer count once it is released.
type heldKind struct {
	part    Part
	objects []Object
	done    map[string]bool
}

// heldKinds are the kinds that occur, those that hold the dearest nodes first: each is released on top of those before it.
func (a *audit) heldKinds(holds map[*audited][]hold) []heldKind {
	parts := map[string]Part{
		HeldByPods: {
			Code: HeldByPods, Title: "Pods and nodes that ask not to be disrupted", Text: "The annotation " + karpv1.DoNotDisruptAnnotationKey + " keeps these nodes as they are.",
			Remedy: "Remove it where the pod can bear a restart, or set it to a duration.",
		},
		HeldByBudget: {
			Code: HeldByBudget, Title: "PodDisruptionBudgets that allow no eviction", Text: "These budgets refuse every eviction as things are.",
			Remedy: "Let them allow one pod to be missing, or run one replica more.",
		},
		HeldByOthers: {
			Code: HeldByOthers, Title: "Pods with safe-to-evict: false", Text: "Cluster Autoscaler heeds the annotation " + safeToEvict + ". Karpenter and Kerf do not read it.",
			Remedy: "Write " + karpv1.DoNotDisruptAnnotationKey + `: "true" where the pod must stay, and nothing elsewhere.`,
		},
		HeldByPool: {
			Code: HeldByPool, Title: "NodePools that do not consolidate", Text: "Their settings keep nodes with pods as they are.",
			Remedy: "Set spec.disruption.consolidationPolicy to WhenEmptyOrUnderutilized, consolidateAfter to some seconds or minutes, and budgets that allow some nodes at some time.",
		},
	}
	type sum struct {
		price       catalog.MicroUSD
		pods, nodes int
	}
	price, objects := map[string]catalog.MicroUSD{}, map[string]map[Object]*sum{}
	for n, list := range holds {
		counted := map[string]bool{}
		for _, h := range list {
			if !counted[h.code] {
				counted[h.code] = true
				price[h.code] += n.Price
			}
			if objects[h.code] == nil {
				objects[h.code] = map[Object]*sum{}
			}
			o := h.object
			if h.code == HeldByBudget && o.Kind == "PodDisruptionBudget" {
				o.Detail = "" // one object for many nodes
			}
			if objects[h.code][o] == nil {
				objects[h.code][o] = &sum{}
			}
			s := objects[h.code][o]
			s.price += n.Price
			s.pods += h.pods
			s.nodes++
		}
	}
	codes := sortedKeys(price)
	slices.SortStableFunc(codes, func(x, y string) int { return cmp.Compare(price[y], price[x]) })
	var out []heldKind
	done := map[string]bool{}
	for _, code := range codes {
		done[code] = true
		k := heldKind{part: parts[code], done: map[string]bool{}}
		for c := range done {
			k.done[c] = true
		}
		for o, p := range objects[code] {
			o.PerHour = dollars(p.price)
			if p.pods > 0 {
				o.Detail = plural(p.pods, "pod") + " on " + plural(p.nodes, "node")
			}
			o.Detail = strings.TrimPrefix(o.Detail+"; the price is of the nodes that it holds", "; ")
			k.objects = append(k.objects, o)
		}
		slices.SortFunc(k.objects, func(x, y Object) int {
			return cmp.Or(cmp.Compare(x.Kind, y.Kind), cmp.Compare(x.Name, y.Name), cmp.Compare(x.Detail, y.Detail))
		})
		out = append(out, k)
	}
	return out
}

// blocks are the holds of a node as the reasons of a decision.
func blocks(list []hold) []disrupt.Reason {
	var out []disrupt.Reason
	for _, h := range list {
		switch h.code {
		case HeldByPods:
			r := disrupt.Reason{Code: disrupt.DoNotDisrupt}
			r.Pod = h.pod
			out = append(out, r)
		case HeldByBudget:
			out = append(out, disrupt.Reason{Code: disrupt.DisruptionBudget, Pod: h.object.Name})
		case HeldByOthers:
			out = append(out, disrupt.Reason{Code: disrupt.Other, Detail: "pod " + h.pod + " has safe-to-evict: false, which you meant, though Kerf does not read it"})
		case HeldByPool:
			out = append(out, disrupt.Reason{Code: disrupt.NoConsolidation})
		}
	}
	return out
}
