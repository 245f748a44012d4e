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

// Workloads for measuring: each is the whole problem, the same for the same arguments.

// workload collects the parts of a problem.
type workload struct {
	pack.Problem
	rng *rand.Rand
	n   int
}

func newWorkload(seed uint64) *workload {
	return &workload{rng: rand.New(rand.NewPCG(seed, 4)),
		Problem: pack.Problem{Now: Start, Generation: 1, Options: pack.Options{WellKnown: WellKnown()}}}
}

func (w *workload) pool(name string, types []*catalog.Type, reqs ...requirement.Term) *cluster.Pool {
	pool := &cluster.Pool{Name: name, Types: types, Requirements: append([]requirement.Term{one(requirement.NodePool, name)}, reqs...)}
	w.Pools = append(w.Pools, pool)
	return pool
}

func (w *workload) class(name string, cpu, memory int64) *cluster.Class {
	return &cluster.Class{Namespace: "default", Labels: map[string]string{"app": name},
		Requests: res.List{res.CPU: cpu, res.Memory: memory, res.Pods: 1}}
}

// pods adds n pending pods of the class.
func (w *workload) pods(c *cluster.Class, n int) {
	c.ID = c.Hash()
	for range n {
		w.n++
		w.Pending = append(w.Pending, &cluster.Pod{Class: c, CreatedAt: Start.Add(-time.Duration(w.n) * time.Millisecond),
			PodRef: cluster.PodRef{Namespace: c.Namespace, Name: fmt.Sprintf("%s-%d", c.Labels["app"], w.n), UID: fmt.Sprintf("uid-%d", w.n)}})
	}
}

func one(key string, values ...string) requirement.Term {
	return requirement.Term{Key: key, Operator: requirement.In, Values: values}
}

func own(c *cluster.Class) *cluster.Selector {
	return &cluster.Selector{Terms: []requirement.Term{one("app", c.Labels["app"])}}
}

// ServerTypes are the real types of a region that any pod may use: no accelerators, no bare metal, and only the first
// zones of the region.
func ServerTypes(region string, zones int) ([]*catalog.Type, error) {
	all, err := RegionTypes(region, zones)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(all, func(t *catalog.Type) bool {
		return t.Capacity["nvidia.com/gpu"] > 0 || t.Capacity[res.Memory] < 1<<30
	}), nil
}

// RegionTypes are all real types of a region, as offered in its first zones.
func RegionTypes(region string, zones int) ([]*catalog.Type, error) {
	all, err := EC2Types(region, nil, nil)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, t := range all {
		for _, o := range t.Offerings {
			names = append(names, o.Zone)
		}
	}
	slices.Sort(names)
	names = slices.Compact(names)
	names = names[:min(zones, len(names))]
	var out []*catalog.Type
	for _, t := range all {
		less := *t
		less.Offerings = slices.DeleteFunc(slices.Clone(t.Offerings), func(o catalog.Offering) bool { return !slices.Contains(names, o.Zone) })
		less.Requirements = slices.Clone(t.Requirements)
		for i, r := range less.Requirements {
			if r.Key == requirement.Zone {
				less.Requirements[i].Values = slices.DeleteFunc(slices.Clone(r.Values), func(z string) bool { return !slices.Contains(names, z) })
			}
		}
		if len(less.Offerings) > 0 {
			out = append(out, &less)
		}
	}
	return out, nil
}

// Mix is n pods of three kinds over real types: half web servers that want as much of everything, a quarter that wants
// memory, and a quarter batch work that wants cores, in some 60 sizes.
func Mix(n int, seed uint64) (*pack.Problem, error) {
	types, err := ServerTypes("us-east-1", 3)
	if err != nil {
		return nil, err
	}
	w := newWorkload(seed)
	w.pool("default", types)
	kinds := []struct {
		name      string
		share     int
		cpu       []int64 // millicores
		perCPU    []int64 // MiB of memory per core
		instances int
	}{
		{"web", 50, []int64{100, 200, 250, 400, 500, 750, 1000}, []int64{2048, 3072, 4096}, 30},
		{"memory", 25, []int64{250, 500, 1000, 2000, 4000}, []int64{7168, 8192, 12288, 16384}, 15},
		{"batch", 25, []int64{500, 1000, 1500, 2000, 4000, 8000}, []int64{512, 1024, 1536}, 15},
	}
	for _, k := range kinds {
		left := n * k.share / 100
		for i := range k.instances {
			cpu := k.cpu[w.rng.IntN(len(k.cpu))]
			memory := cpu * k.perCPU[w.rng.IntN(len(k.perCPU))] / 1000 << 20
			count := left / (k.instances - i)
			if i+1 < k.instances {
				count = max(1, min(left-(k.instances-i), count/2+w.rng.IntN(count+1)))
			}
			left -= count
			w.pods(w.class(fmt.Sprintf("%s-%d", k.name, i), cpu, memory), count)
		}
	}
	return &w.Problem, nil
}

// Field is the shape in which schedulers of this kind starve their tail: nodes filled to the brim, 20 pools, and pending
// pods of which most ask for accelerators that no pool may launch.
func Field(nodes, hopeless, small int, seed uint64) (*pack.Problem, error) {
	types, err := RegionTypes("us-east-1", 3)
	if err != nil {
		return nil, err
	}
	w := newWorkload(seed)
	families := []string{"m", "c", "r", "t"}
	for i := range 20 {
		w.pool(fmt.Sprintf("pool-%02d", i), types, one("team", fmt.Sprintf("team-%d", i%10)), one(categoryKey, families[i%4]))
	}
	w.fillNodes(nodes, 10)
	for i := range 34 {
		c := w.class(fmt.Sprintf("train-%d", i), 8000, 64<<30)
		c.Requests["nvidia.com/gpu"] = int64(1 + i%8)
		c.Selector = []requirement.Term{one("team", fmt.Sprintf("team-%d", i%10))}
		w.pods(c, (hopeless+i)/34)
	}
	for i := range 40 {
		c := w.class(fmt.Sprintf("small-%d", i), 100+50*int64(w.rng.IntN(10)), (128+128*int64(w.rng.IntN(8)))<<20)
		switch i % 4 {
		case 0:
			c.Selector = []requirement.Term{one("team", fmt.Sprintf("team-%d", i%10))}
		case 1:
			c.Spreads = []cluster.Spread{{Key: requirement.Zone, MaxSkew: 1, Selector: own(c)}}
		}
		w.pods(c, (small+i)/40)
	}
	return &w.Problem, nil
}

// fillNodes adds nodes whose room is nearly used up, with running pods of a few classes.
func (w *workload) fillNodes(n, pods int) {
	running := make([]*cluster.Class, 50)
	for i := range running {
		running[i] = w.class(fmt.Sprintf("run-%d", i), 350, 1400<<20)
		running[i].ID = running[i].Hash()
	}
	zones := []string{"us-east-1a", "us-east-1b", "us-east-1c"}
	for i := range n {
		name := fmt.Sprintf("node-%05d", i)
		node := &cluster.Node{Name: name, Claim: name, Pool: fmt.Sprintf("pool-%02d", i%20), ProviderID: name, Zone: zones[i%3], InstanceType: "m7i.xlarge",
			CapacityType: catalog.OnDemand, Launched: true, Registered: true, Initialized: true, Ready: true, Price: 201_600,
			Allocatable: res.List{res.CPU: 3920, res.Memory: 14 << 30, res.Pods: 58}, Used: res.List{},
			Labels: map[string]string{requirement.Zone: zones[i%3], requirement.Arch: "amd64", requirement.OS: "linux", requirement.Hostname: name,
				requirement.CapacityType: catalog.OnDemand, requirement.InstanceType: "m7i.xlarge", requirement.NodePool: fmt.Sprintf("pool-%02d", i%20),
				"team": fmt.Sprintf("team-%d", i%10), categoryKey: []string{"m", "c", "r", "t"}[i%4], familyKey: "m7i"}}
		for k := range pods {
			c := running[w.rng.IntN(len(running))]
			node.Pods = append(node.Pods, &cluster.Pod{Class: c, Node: name, CreatedAt: Start.Add(-time.Hour),
				PodRef: cluster.PodRef{Namespace: "default", Name: fmt.Sprintf("%s-%d", name, k), UID: fmt.Sprintf("%s-%d", name, k)}})
			node.Used.Add(c.Requests)
		}
		w.Nodes = append(w.Nodes, node)
	}
}

// Large is a problem of the size at which memory and time give out elsewhere: pods of many classes, a third of which
// demand something of topology or labels, next to nodes that are nearly full, and many pools over all types of a region.
func Large(pods, classes, nodes, pools int, seed uint64) (*pack.Problem, error) {
	types, err := RegionTypes("us-east-1", 3)
	if err != nil {
		return nil, err
	}
	w := newWorkload(seed)
	w.teamPools(types, pools)
	for i, p := range w.Pools {
		p.Weight = i % 3
	}
	w.fillNodes(nodes, 9)
	for i := range classes {
		c := w.app(i)
		switch i % 9 {
		case 0:
			c.Selector = []requirement.Term{one("team", fmt.Sprintf("team-%d", i%10))}
		case 1:
			c.Spreads = []cluster.Spread{{Key: requirement.Zone, MaxSkew: 1, Selector: own(c)}}
		case 2:
			c.Selector = []requirement.Term{one(requirement.CapacityType, catalog.OnDemand)}
		case 3:
			c.Spreads = []cluster.Spread{{Key: requirement.Hostname, MaxSkew: 5, Selector: own(c)}}
		}
		w.pods(c, (pods+i)/classes)
	}
	return &w.Problem, nil
}

// teamPools makes pools of ten teams, each with two categories of types.
func (w *workload) teamPools(types []*catalog.Type, n int) {
	families := []string{"m", "c", "r", "t"}
	for i := range n {
		w.pool(fmt.Sprintf("pool-%02d", i), types, one("team", fmt.Sprintf("team-%d", i%10)), one(categoryKey, families[i%4], families[(i+1)%4]))
	}
}

// app is a class of pods of some size, which demands nothing more.
func (w *workload) app(i int) *cluster.Class {
	return w.class(fmt.Sprintf("app-%d", i), 50*int64(1+w.rng.IntN(40)), (64+64*int64(w.rng.IntN(96)))<<20)
}
