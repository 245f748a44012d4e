package provision

import (
	"fmt"
	"strings"

	"github.com/kerf-sh/kerf/internal/engine/pack"
	"github.com/kerf-sh/kerf/internal/engine/plan"
	"github.com/kerf-sh/kerf/internal/engine/verify"
)

// Violation is a part of a plan that the independent check refuses.
type Violation struct {
	// NewNode is the index of the offending node in Plan.NewNodes, -1 when it is a placement on Node, or, when Node is
	// empty too, the whole plan.
	NewNode int
	Node    string
	// Harmless violations are told, but carried out: a price that is not what it should be.
	Harmless bool
	Text     string
}

// Check runs package verify over a plan and finds the part of the plan that each violation is about.
func Check(problem *pack.Problem, p *plan.Plan) []Violation {
	var out []Violation
	for _, v := range verify.Check(problem, p) {
		out = append(out, attribute(v, p)...)
	}
	return out
}

func attribute(v verify.Violation, p *plan.Plan) []Violation {
	at := Violation{NewNode: -1, Text: v.String()}
	at.Harmless = v.Rule == "price" || v.Rule == "reasons"
	if at.Harmless {
		return []Violation{at}
	}
	if pool, ok := strings.CutPrefix(v.Where, "pool "); ok {
		return everyNodeOf(pool, at, p)
	}
	for i, n := range p.NewNodes {
		at.NewNode = i
		if v.Where == fmt.Sprintf("new node %d", i+1) {
			return []Violation{at}
		}
		for _, ref := range n.Pods {
			if v.Where == ref.String() {
				return []Violation{at}
			}
		}
	}
	at.NewNode = -1
	for _, x := range p.Placements {
		at.Node = x.Node
		if v.Where == x.Node {
			return []Violation{at}
		}
		for _, ref := range x.Pods {
			if v.Where == ref.String() {
				return []Violation{at}
			}
		}
	}
	at.Node = ""
	return []Violation{at}
}

func everyNodeOf(pool string, at Violation, p *plan.Plan) []Violation {
	var out []Violation
	for i, n := range p.NewNodes {
		if n.Pool == pool {
			at.NewNode = i
			out = append(out, at)
		}
	}
	return out
}

// checked drops from the plan what the independent check refuses, and words it; its pods have no place in what is kept.
func (c *Controller) checked(problem *pack.Problem, p *plan.Plan) (kept *plan.Plan, dropped []string) {
	violations := c.o.Check(problem, p)
	if len(violations) == 0 {
		return p, nil
	}
	newNodes, nodes, all := map[int]bool{}, map[string]bool{}, false
	for _, v := range violations {
		dropped = append(dropped, v.Text)
		c.o.Meter.Violated()
		c.o.Log.Error("a plan failed its check; that part of it is dropped unless it is harmless; please report it",
			"violation", v.Text, "harmless", v.Harmless, "generation", problem.Generation)
		switch {
		case v.Harmless:
		case v.NewNode >= 0:
			newNodes[v.NewNode] = true
		case v.Node != "":
			nodes[v.Node] = true
		default:
			all = true
		}
	}
	out := *p
	out.NewNodes, out.Placements = nil, nil
	left := newLeftOut(problem)
	for i, n := range p.NewNodes {
		if all || newNodes[i] {
			left.add(n.Pods, plan.Reason{Code: plan.CheckFailed, Pool: n.Pool})
			continue
		}
		out.NewNodes = append(out.NewNodes, n)
	}
	for _, x := range p.Placements {
		if all || nodes[x.Node] {
			left.add(x.Pods, plan.Reason{Code: plan.CheckFailed})
			continue
		}
		out.Placements = append(out.Placements, x)
	}
	return withUnplaced(&out, left.unplaced()), dropped
}
