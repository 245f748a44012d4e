package main

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"slices"
	"strings"

	"github.com/kerf-sh/kerf/controlplane/fidelity"
	"github.com/kerf-sh/kerf/internal/engine/catalog"
	"github.com/kerf-sh/kerf/internal/engine/disrupt"
	"github.com/kerf-sh/kerf/internal/engine/pack"
	"github.com/kerf-sh/kerf/internal/engine/record"
	"github.com/kerf-sh/kerf/internal/sim/scenario"
)

// problem is one member of the corpus.
type problem struct {
	name   string
	decide func() (decided, error)
}

// decided is what the corpus keeps of a decision.
type decided struct {
	digest string
	// price per hour of the nodes that a plan launches, or that a consolidation leaves.
	price catalog.MicroUSD
}

const (
	// cases of the fidelity tests: small clusters in which all features of scheduling meet.
	cases = 3000
	// clusters that lost most of their load, of each of four kinds.
	clusters = 40
	// rounds of consolidation, at the most, that are made of one cluster.
	rounds = 6
)

func problems() []problem {
	var out []problem
	for seed := uint64(1); seed <= cases; seed++ {
		out = append(out, problem{fmt.Sprintf("case-%d", seed), func() (decided, error) {
			c, err := fidelity.Generate(seed)
			if err != nil {
				return decided{}, err
			}
			return planned(c.Problem(c.Pending), nil)
		}})
	}
	for seed := uint64(1); seed <= clusters; seed++ {
		for kind, f := range map[string]scenario.Fragmentation{
			"on-demand": {}, "on-demand-topology": {Topology: true}, "spot": {Spot: true}, "spot-topology": {Spot: true, Topology: true},
		} {
			f.Seed, f.Nodes, f.Pods, f.Percent = seed, 8+int(seed), 6, 30
			out = append(out, problem{fmt.Sprintf("consolidate-%s-%d", kind, seed), func() (decided, error) {
				p, err := scenario.Fragmented(f)
				if err != nil {
					return decided{}, err
				}
				return consolidated(p)
			}})
		}
	}
	for name, make := range shapes() {
		out = append(out, problem{name, func() (decided, error) { return planned(make()) }})
	}
	slices.SortFunc(out, func(a, b problem) int { return strings.Compare(a.name, b.name) }) // maps have no order
	return out
}

// shapes are the inputs of the benchmarks.
func shapes() map[string]func() (*pack.Problem, error) {
	out := map[string]func() (*pack.Problem, error){}
	for _, n := range []int{100, 1000, 5000} {
		for seed := uint64(1); seed <= 3; seed++ {
			out[fmt.Sprintf("generic-%d-%d", n, seed)] = func() (*pack.Problem, error) { return scenario.Generate(n, 400, seed), nil }
		}
	}
	for _, n := range []int{200, 500, 2000, 10000} {
		for seed := uint64(1); seed <= 3; seed++ {
			out[fmt.Sprintf("mix-%d-%d", n, seed)] = func() (*pack.Problem, error) { return scenario.Mix(n, seed) }
		}
	}
	out["field-100"] = func() (*pack.Problem, error) { return scenario.Field(100, 170, 47, 1) }
	out["field-1060"] = func() (*pack.Problem, error) { return scenario.Field(1060, 1700, 470, 1) }
	out["large-20000"] = func() (*pack.Problem, error) { return scenario.Large(20000, 400, 1000, 10, 1) }
	return out
}

func planned(p *pack.Problem, err error) (decided, error) {
	if err != nil {
		return decided{}, err
	}
	plan := pack.Solve(p)
	text, err := record.PlanBytes(plan)
	if err != nil {
		return decided{}, err
	}
	sum := sha256.New()
	sum.Write(text)
	return decided{short(sum), plan.Price}, nil
}

// consolidated are the decisions, one after the other, by which a cluster is consolidated.
func consolidated(p *pack.Problem) (decided, error) {
	sum := sha256.New()
	for range rounds {
		q := &disrupt.Problem{Cluster: p, Options: disrupt.Options{PodPrice: 1000, NodePrice: 10_000}}
		for _, n := range p.Nodes {
			q.Nodes = append(q.Nodes, disrupt.Node{Name: n.Name})
		}
		for _, pool := range p.Pools {
			q.Pools = append(q.Pools, disrupt.Pool{Name: pool.Name, Policy: disrupt.WhenEmptyOrUnderutilized})
		}
		d := disrupt.Decide(q)
		text, err := record.DisruptionBytes(d)
		if err != nil {
			return decided{}, err
		}
		sum.Write(text)
		if len(d.Moves) == 0 {
			break
		}
		p = scenario.CarryOut(p, d)
	}
	out := decided{digest: short(sum)}
	for _, n := range p.Nodes {
		out.price += n.Price
	}
	return out, nil
}

// short is enough of a digest to tell any two decisions of the corpus apart.
func short(sum hash.Hash) string { return hex.EncodeToString(sum.Sum(nil)[:8]) }
