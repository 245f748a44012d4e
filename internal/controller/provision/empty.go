package provision

import (
	"fmt"
	"slices"

	"github.com/kerf-sh/kerf/internal/engine/catalog"
	"github.com/kerf-sh/kerf/internal/engine/cluster"
	"github.com/kerf-sh/kerf/internal/engine/pack"
	"github.com/kerf-sh/kerf/internal/engine/plan"
	"github.com/kerf-sh/kerf/internal/engine/requirement"
)

// offer remembers whether a pool's requirements leave any instance type, for as long as neither changes.
type offer struct {
	requirements string
	first        *catalog.Type
	count        int
	problem      string
}

// announceEmpty tells on pools that are ready and yet have nothing that they could launch.
func (c *Controller) announceEmpty(problem *pack.Problem) {
	for _, p := range problem.Pools {
		if p.NotReady != "" {
			continue
		}
		if text := c.offerProblem(p); text != "" {
			c.o.Applier.PoolEvent(p.Name, text)
		}
	}
}

func (c *Controller) offerProblem(p *cluster.Pool) string {
	now := offer{requirements: fmt.Sprint(p.Requirements), count: len(p.Types)}
	if len(p.Types) > 0 {
		now.first = p.Types[0]
	}
	known := c.offers[p.Name]
	if known.requirements == now.requirements && known.first == now.first && known.count == now.count {
		return known.problem
	}
	now.problem = emptied(p, !c.o.Pack.MinValuesBestEffort)
	c.offers[p.Name] = now
	return now.problem
}

// announceMinValues tells on a pool that pods wait because its minValues can't be met for them; without pods that wait,
// announceEmpty does.
func (c *Controller) announceMinValues(p *plan.Plan) {
	told := map[string]bool{}
	for _, u := range p.Unplaced {
		for _, r := range u.Reasons {
			if r.Code == plan.MinValuesUnmet && r.Pool != "" && !told[r.Pool] {
				told[r.Pool] = true
				c.o.Applier.PoolEvent(r.Pool, fmt.Sprintf("minValues can't be met for %s: %s", plan.Count(len(u.Pods), "pod"), r.Text()))
			}
		}
	}
}

// emptied says why no type of the pool meets its requirements: the first requirement that leaves none, or, where minValues is
// strict, the first key of which too few values are left.
func emptied(p *cluster.Pool, strict bool) string {
	if len(p.Types) == 0 {
		return "its node class offers none"
	}
	vocab := requirement.NewVocabulary()
	left := make([]requirement.Requirements, 0, len(p.Types))
	for _, t := range p.Types {
		if r, err := vocab.Parse(t.Requirements); err == nil {
			left = append(left, r)
		}
	}
	for _, term := range p.Requirements {
		want, err := vocab.Parse([]requirement.Term{term})
		if err != nil {
			return err.Error()
		}
		left = slices.DeleteFunc(left, func(r requirement.Requirements) bool { return !r.Intersects(want) })
		if len(left) == 0 {
			return fmt.Sprintf("none of %d types is left by the requirement %s and those before it", len(p.Types), term)
		}
	}
	if strict {
		return tooFew(vocab, p.Requirements, left)
	}
	return ""
}

// tooFew says for which key the types leave fewer values than its minValues.
func tooFew(vocab *requirement.Vocabulary, demands []requirement.Term, types []requirement.Requirements) string {
	for _, term := range demands {
		want, err := vocab.Parse([]requirement.Term{term})
		if err != nil || term.MinValues == 0 {
			continue
		}
		set, _ := want.Get(vocab.Key(term.Key))
		seen := map[string]bool{}
		for _, t := range types {
			if has, ok := t.Get(vocab.Key(term.Key)); ok {
				for _, v := range has.Intersect(set).Values() {
					seen[v] = true
				}
			}
		}
		if len(seen) > 0 && len(seen) < term.MinValues { // of a key that types know
			return fmt.Sprintf("minValues of %s is %d, and the %s that meet the requirements have %s", term.Key, term.MinValues, plan.Count(len(types), "type"), plan.Count(len(seen), "value"))
		}
	}
	return ""
}
