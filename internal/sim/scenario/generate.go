package scenario

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/kerf-sh/kerf/internal/engine/cluster"
	"github.com/kerf-sh/kerf/internal/engine/pack"
	"github.com/kerf-sh/kerf/internal/engine/requirement"
	"github.com/kerf-sh/kerf/internal/engine/res"
)

// problem replaces the pending pods by generated ones.
//
// Example: problem generated pods=500 seed=1
func (e *Env) problem(a *args, _ []string) (string, error) {
	if kind := a.word(); kind != "generated" {
		return "", fmt.Errorf("is generated, not %q", kind)
	}
	pods := GeneratePods(a.number("pods", 100), uint64(a.number("seed", 1)))
	e.Problem.Pending = pods
	classes := map[string]bool{}
	for _, p := range pods {
		classes[p.Class.ID] = true
	}
	return fmt.Sprintf("%d pods of %d classes\n", len(pods), len(classes)), nil
}

// Generate is a problem of the shape in which schedulers of this kind are usually measured: one pool over 400 generated
// types, an empty cluster, and pods in five equal parts.
func Generate(pods, types int, seed uint64) *pack.Problem {
	pool := &cluster.Pool{Name: "default", Types: GenerateTypes(types, seed),
		Requirements: []requirement.Term{{Key: requirement.NodePool, Operator: requirement.In, Values: []string{"default"}}}}
	return &pack.Problem{Now: Start, Generation: 1, Pending: GeneratePods(pods, seed), Pools: []*cluster.Pool{pool},
		Options: pack.Options{WellKnown: WellKnown()}}
}

// GeneratePods makes pods in five equal parts: plain, spread over zones, spread over hosts, together in one zone, and
// apart by host. Sizes are drawn from a handful of amounts, labels from seven values.
func GeneratePods(n int, seed uint64) []*cluster.Pod {
	rng := rand.New(rand.NewPCG(seed, 2))
	cpu := []int64{100, 250, 500, 1000, 1500}
	memory := []int64{100 << 20, 256 << 20, 512 << 20, 1 << 30, 2 << 30, 4 << 30}
	values := []string{"a", "b", "c", "d", "e", "f", "g"}
	interned := map[string]*cluster.Class{}
	var out []*cluster.Pod
	for i := range n {
		c := &cluster.Class{Namespace: "default", Requests: res.List{
			res.CPU: cpu[rng.IntN(len(cpu))], res.Memory: memory[rng.IntN(len(memory))], res.Pods: 1}}
		value := values[rng.IntN(len(values))]
		shapeClass(c, i*5/max(n, 1), value)
		c.ID = c.Hash()
		if known, ok := interned[c.ID]; ok {
			c = known
		}
		interned[c.ID] = c
		out = append(out, &cluster.Pod{
			PodRef:    cluster.PodRef{Namespace: "default", Name: fmt.Sprintf("pod-%d", i), UID: fmt.Sprintf("uid-%d", i)},
			Class:     c,
			CreatedAt: Start.Add(-time.Duration(n-i) * time.Millisecond),
		})
	}
	return out
}

func shapeClass(c *cluster.Class, part int, value string) {
	own := func(k, v string) *cluster.Selector {
		c.Labels = map[string]string{k: v}
		return &cluster.Selector{Terms: []requirement.Term{{Key: k, Operator: requirement.In, Values: []string{v}}}}
	}
	switch part {
	case 0:
		own("my-label", value)
	case 1:
		c.Spreads = []cluster.Spread{{Key: requirement.Zone, MaxSkew: 1, Selector: own("my-label", value)}}
	case 2:
		c.Spreads = []cluster.Spread{{Key: requirement.Hostname, MaxSkew: 1, Selector: own("my-label", value)}}
	case 3:
		c.PodAffinity = []cluster.PodAffinity{{Key: requirement.Zone, Namespaces: []string{"default"}, Selector: own("my-affinity", value)}}
	default:
		c.AntiAffinity = []cluster.PodAffinity{{Key: requirement.Hostname, Namespaces: []string{"default"}, Selector: own("app", "nginx")}}
	}
}
