package scenario

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/kerf-sh/kerf/internal/engine/catalog"
	"github.com/kerf-sh/kerf/internal/engine/cluster"
	"github.com/kerf-sh/kerf/internal/engine/pack"
	"github.com/kerf-sh/kerf/internal/engine/requirement"
	"github.com/kerf-sh/kerf/internal/engine/res"
)

// Fragmentation is the shape of a cluster after most of its load has gone.
type Fragmentation struct {
	Nodes, Pods int // pods are for each node
	Percent     int // of cpu or memory, whichever is used more
	Seed        uint64
	// Families of the nodes; the pool may launch the same.
	Families []string
	// Spot lets the pool launch spot too; the nodes are on demand.
	Spot bool
	// Topology gives every fourth class a constraint: spread over zones, apart by host, or one zone.
	Topology bool
}

var fragmentZones = []string{"us-east-1a", "us-east-1b", "us-east-1c"}

// Fragmented is a cluster of nodes of random types and zones that are hardly used. Nothing is pending.
//
// Errors: the region offers none of the families.
func Fragmented(f Fragmentation) (*pack.Problem, error) {
	if f.Families == nil {
		f.Families = []string{"m5", "m6i", "m7i", "c6i", "c7i", "r6i", "r7i"}
	}
	types, err := EC2Types("us-east-1", f.Families, []string{"large", "xlarge", "2xlarge", "4xlarge", "8xlarge"})
	if err != nil {
		return nil, err
	}
	for _, t := range types {
		t.Offerings = slices.DeleteFunc(t.Offerings, func(o catalog.Offering) bool {
			return !slices.Contains(fragmentZones, o.Zone) || (!f.Spot && o.CapacityType != catalog.OnDemand)
		})
	}
	types = slices.DeleteFunc(types, func(t *catalog.Type) bool { return len(t.Offerings) == 0 })
	pool := &cluster.Pool{Name: "default", Types: types, Requirements: []requirement.Term{
		{Key: requirement.NodePool, Operator: requirement.In, Values: []string{"default"}}}}
	p := &pack.Problem{Now: Start, Generation: 1, Pools: []*cluster.Pool{pool}, Options: pack.Options{WellKnown: WellKnown()}}
	rng := rand.New(rand.NewPCG(f.Seed, 5))
	classes := f.classes(rng)
	for i := range f.Nodes {
		t := types[rng.IntN(len(types))]
		for t.Capacity[res.CPU] > 16000 {
			t = types[rng.IntN(len(types))]
		}
		zone := fragmentZones[rng.IntN(len(fragmentZones))]
		n := fragmentNode(fmt.Sprintf("node-%05d", i), t, zone)
		f.fill(rng, n, classes, i)
		p.Nodes = append(p.Nodes, n)
	}
	return p, nil
}

func fragmentNode(name string, t *catalog.Type, zone string) *cluster.Node {
	n := &cluster.Node{Name: name, Claim: name, Pool: "default", Zone: zone, InstanceType: t.Name, CapacityType: catalog.OnDemand,
		Launched: true, Registered: true, Initialized: true, Ready: true, CreatedAt: Start.Add(-24 * time.Hour),
		Allocatable: t.Allocatable(), Capacity: t.Capacity, Used: res.List{}, Labels: map[string]string{
			requirement.Hostname: name, requirement.NodePool: "default", requirement.Zone: zone,
			requirement.InstanceType: t.Name, requirement.CapacityType: catalog.OnDemand}}
	single(n.Labels, t.Requirements)
	for _, o := range t.Offerings {
		if o.CapacityType == catalog.OnDemand {
			n.Price = o.Price
		}
	}
	return n
}

// classes are pods of many sizes: half with as much memory for a core as most instances have, a quarter with more and a
// quarter with less.
func (f Fragmentation) classes(rng *rand.Rand) []*cluster.Class {
	var out []*cluster.Class
	for i := range 120 {
		cpu := []int64{25, 50, 75, 100, 150, 200, 300, 500}[rng.IntN(8)]
		perCPU := []int64{2048, 4096, 4096, 8192}[rng.IntN(4)]
		c := &cluster.Class{Namespace: "default", Labels: map[string]string{"app": fmt.Sprintf("app-%d", i)},
			Requests: res.List{res.CPU: cpu, res.Memory: (cpu * perCPU / 1000) << 20, res.Pods: 1}}
		own := &cluster.Selector{Terms: []requirement.Term{{Key: "app", Operator: requirement.In, Values: []string{c.Labels["app"]}}}}
		if f.Topology && i%4 == 0 {
			switch i % 3 {
			case 0:
				c.Spreads = []cluster.Spread{{Key: requirement.Zone, MaxSkew: 2, Selector: own}}
			case 1:
				c.AntiAffinity = []cluster.PodAffinity{{Key: requirement.Hostname, Namespaces: []string{"default"}, Selector: own}}
			default:
				c.Selector = []requirement.Term{{Key: requirement.Zone, Operator: requirement.In, Values: []string{fragmentZones[i%3]}}}
			}
		}
		c.ID = c.Hash()
		out = append(out, c)
	}
	return out
}

// fill puts pods on the node, each of about an equal part of what is to be used.
func (f Fragmentation) fill(rng *rand.Rand, n *cluster.Node, classes []*cluster.Class, serial int) {
	used := func(more res.List) int64 {
		worst := int64(0)
		for _, r := range []string{res.CPU, res.Memory} {
			worst = max(worst, (n.Used[r]+more[r])*100/n.Allocatable[r])
		}
		return worst
	}
	has := map[*cluster.Class]bool{}
	for k := 0; k < f.Pods; k++ {
		var c *cluster.Class
		for range 20 {
			try := classes[rng.IntN(len(classes))]
			if used(try.Requests) > int64(f.Percent*(k+1)/f.Pods)+1 || (has[try] && len(try.AntiAffinity) > 0) ||
				(len(try.Selector) > 0 && try.Selector[0].Values[0] != n.Zone) {
				continue
			}
			c = try
			break
		}
		if c == nil {
			continue
		}
		has[c] = true
		name := fmt.Sprintf("%s-%d-%d", c.Labels["app"], serial, k)
		n.Pods = append(n.Pods, &cluster.Pod{PodRef: cluster.PodRef{Namespace: "default", Name: name, UID: name}, Class: c,
			Node: n.Name, CreatedAt: Start.Add(-time.Hour)})
		n.Used.Add(c.Requests)
	}
}
