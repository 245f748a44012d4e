package peer

import (
	"cmp"
	"math"
	"slices"

	"github.com/kerf-sh/kerf/internal/engine/catalog"
	"github.com/kerf-sh/kerf/internal/engine/cluster"
	"github.com/kerf-sh/kerf/internal/engine/plan"
	"github.com/kerf-sh/kerf/internal/engine/requirement"
	"github.com/kerf-sh/kerf/internal/engine/res"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/karpenter/pkg/controllers/provisioning/scheduling"
)

// Plan turns upstream's results into a plan, so that one judge can look at both. A new node is priced at the cheapest
// available offering that is left to it.
func (e *Engine) Plan(r scheduling.Results) *plan.Plan {
	classes := map[cluster.PodRef]*cluster.Class{}
	for _, pod := range e.problem.Pending {
		classes[pod.PodRef] = pod.Class
	}
	for _, n := range e.problem.Nodes {
		for _, pod := range n.Pods {
			classes[pod.PodRef] = pod.Class
		}
	}
	out := &plan.Plan{Generation: e.problem.Generation}
	for _, nc := range r.NewNodeClaims {
		n := newNode(nc, classes)
		out.Price += n.Price
		out.NewNodes = append(out.NewNodes, n)
	}
	for _, n := range r.ExistingNodes {
		if len(n.Pods) > 0 {
			out.Placements = append(out.Placements, plan.Placement{Node: n.Name(), Pods: refsOf(n.Pods)})
		}
	}
	slices.SortFunc(out.Placements, func(x, y plan.Placement) int { return cmp.Compare(x.Node, y.Node) })
	left := map[string][]cluster.PodRef{}
	for pod := range r.PodErrors {
		ref := refOf(pod)
		left[classes[ref].ID] = append(left[classes[ref].ID], ref)
	}
	for id, pods := range left {
		out.Unplaced = append(out.Unplaced, plan.Unplaced{ClassID: id, Pods: pods})
	}
	slices.SortFunc(out.Unplaced, func(x, y plan.Unplaced) int { return cmp.Compare(x.ClassID, y.ClassID) })
	return out
}

func newNode(nc *scheduling.NodeClaim, classes map[cluster.PodRef]*cluster.Class) plan.NewNode {
	n := plan.NewNode{Pool: nc.NodePoolName, Pods: refsOf(nc.Pods), Requests: res.List{}}
	for _, ref := range n.Pods {
		n.Requests.Add(classes[ref].Requests)
	}
	for _, t := range nc.InstanceTypeOptions {
		best := plan.TypeChoice{Name: t.Name, Price: catalog.NoPrice}
		for _, o := range t.Offerings {
			price := catalog.MicroUSD(math.Round(o.Price * 1e6))
			if o.Available && price < best.Price && nc.Requirements.Get(requirement.Zone).Has(o.Zone()) && nc.Requirements.Get(requirement.CapacityType).Has(o.CapacityType()) {
				best.Price, best.Zone, best.CapacityType = price, o.Zone(), o.CapacityType()
			}
		}
		if best.Price != catalog.NoPrice {
			n.Types = append(n.Types, best)
		}
	}
	slices.SortFunc(n.Types, func(x, y plan.TypeChoice) int {
		return cmp.Or(cmp.Compare(x.Price, y.Price), cmp.Compare(x.Name, y.Name))
	})
	if len(n.Types) > 0 {
		n.Price = n.Types[0].Price
	}
	for _, r := range nc.Requirements.NodeSelectorRequirements() {
		if r.Key == requirement.InstanceType || r.Key == requirement.Hostname {
			continue
		}
		n.Requirements = append(n.Requirements, requirement.Term{Key: r.Key, Operator: requirement.Operator(r.Operator), Values: r.Values})
	}
	slices.SortFunc(n.Requirements, func(x, y requirement.Term) int { return cmp.Compare(x.Key, y.Key) })
	return n
}

func refsOf(pods []*corev1.Pod) []cluster.PodRef {
	var out []cluster.PodRef
	for _, p := range pods {
		out = append(out, refOf(p))
	}
	return out
}

func refOf(p *corev1.Pod) cluster.PodRef {
	return cluster.PodRef{Namespace: p.Namespace, Name: p.Name, UID: string(p.UID)}
}
