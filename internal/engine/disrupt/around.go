package disrupt

import (
	"errors"
	"fmt"
	"slices"

	"github.com/kerf-sh/kerf/internal/engine/pack"
	"github.com/kerf-sh/kerf/internal/guard"
)

// mostAround is how many times nodes are left out, before it is given up.
const mostAround = 20

// brokenQuestion is what a question about nodes panics with.
type brokenQuestion struct {
	nodes []string
	cause any
}

func (b *brokenQuestion) Error() string {
	return fmt.Sprintf("asking about nodes %v: %v", b.nodes, b.cause)
}

// searchAround is searchAll without the nodes about which a question panics: these are blocked, and it begins again.
func searchAround(p *Problem, q *pack.Questions) []*search {
	for range mostAround {
		var found []*search
		err := guard.Run("disruption.search", func() error { found = searchExplained(p, q); return nil })
		if err == nil {
			return found
		}
		broken := brokenIn(err)
		if broken == nil {
			panic(err)
		}
		p = p.keeping(broken)
		q.Forget()
	}
	return searchExplained(p, q)
}

// searchExplained is searchAll, and what is said of the nodes that stay: that asks questions as well, and they may be broken, too.
func searchExplained(p *Problem, q *pack.Questions) []*search {
	found := searchAll(p, q)
	choose(found).priceTheGate()
	return found
}

// brokenIn finds the question in a panic, or in a panic about one.
func brokenIn(err error) *brokenQuestion {
	var p *guard.Panic
	for errors.As(err, &p) {
		switch v := p.Value.(type) {
		case *brokenQuestion:
			return v
		case error:
			err = v
		default:
			return nil
		}
	}
	return nil
}

// keeping is the problem with nodes blocked, because a question about them is broken.
func (p *Problem) keeping(b *brokenQuestion) *Problem {
	out := *p
	out.Nodes = slices.Clone(p.Nodes)
	for i := range out.Nodes {
		if n := &out.Nodes[i]; slices.Contains(b.nodes, n.Name) {
			n.Blocks = append(slices.Clone(n.Blocks), Reason{Code: Other, Detail: fmt.Sprintf("evaluating it failed, a defect of Kerf; please report it: %v", b.cause)})
			n.Soon = 0
		}
	}
	return &out
}
