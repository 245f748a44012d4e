package check

import (
	"slices"

	"github.com/kerf-sh/kerf/internal/awsmodel/iampolicy"
	"github.com/kerf-sh/kerf/internal/setup/stack"
)

// need is something that the controller calls, or must not be able to call, ready to be evaluated.
type need struct {
	what   string // that a refusal is about
	action string
	sid    string
	kinds  []string // of resources, as people name them
	why    string   // what it is for
	breaks string   // what is seen without it
	calls  []iampolicy.Call
}

// needs are the calls of the controller that the wanted stack allows. They are worked out once.
func (c *checker) needs() []need {
	if c.needed == nil {
		c.needed = c.calls(c.stack.Needs())
	}
	return c.needed
}

// mustNot are the calls that the wanted stack refuses.
func (c *checker) mustNot() []need { return c.calls(c.stack.MustNot()) }

func (c *checker) calls(list []stack.Need) []need {
	w := c.stack.Where(c.found.AccountID, c.found.Region)
	w.ControllerRole = c.controllerARN()
	if q := c.found.queue; q != nil && q.FIFO {
		w.Queue = q.ARN
	}
	out := make([]need, 0, len(list))
	for _, n := range list {
		sid, _ := n.Statement(&c.stack.Options)
		// What edition or options leave out is not asked for.
		calls := slices.DeleteFunc(n.Calls(w), func(call iampolicy.Call) bool { return n.Without != "" && !c.decide(c.wanted, call).OK() })
		if len(calls) > 0 {
			out = append(out, need{what: n.Feature, action: n.Action, sid: sid, kinds: n.Kinds, why: n.Why, breaks: n.Without, calls: calls})
		}
	}
	return out
}
