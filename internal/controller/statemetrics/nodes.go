package statemetrics

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	dto "github.com/prometheus/client_model/go"

	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/internal/engine/cluster"
)

// nodeLabels are the labels of each node's metrics, by its name, without the resource.
func (p *pass) nodeLabels() map[string]*shownNode {
	managed := make(map[string]bool, len(p.view.Claims))
	for _, n := range p.view.Snapshot.Nodes {
		if n.Claim != "" {
			managed[n.Name] = true
		}
	}
	out := make(map[string]*shownNode, len(p.view.Nodes))
	for _, n := range p.view.Nodes {
		out[n.Name] = &shownNode{node: n, managed: managed[n.Name]}
	}
	return out
}

// shownNode is a node and whether it is Kerf's.
type shownNode struct {
	node    *corev1.Node
	managed bool
}

func (p *pass) labelsOf(n *shownNode) []*dto.LabelPair {
	out := make([]*dto.LabelPair, 0, len(labelsOfNodes)+4)
	for name, key := range labelsOfNodes {
		if one := p.labels.pair(name, n.node.Labels[key]); one != nil {
			out = append(out, one)
		}
	}
	out = append(out, pairOf("node_name", n.node.Name), p.labels.pair("managed", boolText(n.managed)))
	if n.node.Status.Phase != "" { // nobody sets it any more, and the label is Karpenter's
		out = append(out, p.labels.pair("phase", string(n.node.Status.Phase)))
	}
	return sorted(out)
}

// nodes makes the metrics of each node. Those of one node and one resource share their labels.
func (p *pass) nodes(nodes map[string]*shownNode, sums *podSums) {
	if p.o.WithoutNodes {
		return
	}
	for _, n := range nodes {
		labels := p.labelsOf(n)
		p.add(nodeLifetime, labels, p.now.Sub(n.node.CreationTimestamp.Time).Seconds())
		byResource := make([][]*dto.LabelPair, len(sums.names), len(sums.names)+2)
		at := func(i int) []*dto.LabelPair {
			for i >= len(byResource) {
				byResource = append(byResource, nil)
			}
			if byResource[i] == nil {
				byResource[i] = with(labels, p.labels.pair("resource_type", sums.names[i]))
			}
			return byResource[i]
		}
		for name, q := range n.node.Status.Allocatable {
			i := sums.index(string(name))
			p.add(nodeAllocatable, at(i), q.AsApproximateFloat64())
			sums.allocatable[i] += q.AsApproximateFloat64()
		}
		for name, q := range n.node.Status.Capacity {
			p.add(nodeOverhead, at(sums.index(string(name))), less(q, n.node.Status.Allocatable[name]))
		}
		on := sums.nodes[n.node.Name]
		if on == nil {
			continue
		}
		for _, x := range []struct {
			family  *family
			amounts []float64
		}{{nodeRequests, on.requests}, {nodeLimits, on.limits}, {nodeDaemonRequests, on.daemonRequests}, {nodeDaemonLimits, on.daemonLimits}} {
			for i, amount := range x.amounts {
				if amount != 0 {
					p.add(x.family, at(i), amount)
				}
			}
		}
	}
}

// less is a less b.
func less(a, b resource.Quantity) float64 {
	a = a.DeepCopy()
	a.Sub(b)
	return a.AsApproximateFloat64()
}

// utilization is what pods request of all that nodes have.
func (p *pass) utilization(sums *podSums) {
	if p.o.WithoutNodes { // the nodes were not looked at yet
		for _, n := range p.view.Nodes {
			for name, q := range n.Status.Allocatable {
				sums.allocatable[sums.index(string(name))] += q.AsApproximateFloat64()
			}
		}
	}
	known := make(map[string]bool, len(p.view.Nodes))
	for _, n := range p.view.Nodes {
		known[n.Name] = true
	}
	used := make([]float64, len(sums.names))
	for name, on := range sums.nodes {
		if !known[name] {
			continue // its node is gone, or not heard of yet
		}
		for i, amount := range on.requests {
			used[i] += amount
		}
	}
	for i, name := range sums.names {
		if sums.allocatable[i] > 0 {
			p.add(utilization, p.labels.set("resource_type", name), 100*used[i]/sums.allocatable[i])
		}
	}
}

// costs are what the nodes of each NodePool cost.
func (p *pass) costs() {
	if p.o.Pools == nil {
		return
	}
	pools := p.o.Pools()
	if pools == nil {
		return // prices have not been read yet
	}
	var prices cluster.Pricer
	cost, unpriced := map[string]float64{}, map[string]int{}
	for _, pool := range p.view.Pools {
		cost[pool.Name] = 0
	}
	for _, n := range prices.Apply(p.view.Snapshot.Nodes, pools) {
		if n.Pool == "" || n.Claim == "" {
			continue
		}
		cost[n.Pool] += float64(n.Price) / 1e6
		if n.Price == 0 {
			unpriced[n.Pool]++
		}
	}
	for pool, dollars := range cost {
		p.add(poolCost, p.labels.set("nodepool", pool), dollars)
		p.add(poolUnpriced, p.labels.set("nodepool", pool), float64(unpriced[pool]))
	}
}

func boolText(b bool) string {
	if b {
		return "true"
	}
	return "false"
}

// nodePoolOf is the NodePool of a node, empty for those that Kerf does not manage.
func nodePoolOf(n *corev1.Node) string { return n.Labels[karpv1.NodePoolLabelKey] }
