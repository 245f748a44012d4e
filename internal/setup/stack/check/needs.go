package check

import (
	"slices"

	"github.com/kerf-sh/kerf/internal/awsmodel/iampolicy"
	"github.com/kerf-sh/kerf/internal/setup/stack"
)

// Need is something that the controller calls, or must not be able to call, ready to be evaluated.
type Need struct {
	what   string // that a refusal is about
	action string
	SID    string
	kinds  []string // of resources, as people name them
	why    string   // what it is for
	breaks string   // what is seen without it
	calls  []iampolicy.Call
}

// Needs are the calls of the controller that the wanted stack allows. They are worked out once.
func (c *Comparison) Needs() []Need {
	if c.needed == nil {
		c.needed = c.calls(c.Stack.Needs())
	}
	return c.needed
}

// mustNot are the calls that the wanted stack refuses.
func (c *Comparison) mustNot() []Need { return c.calls(c.Stack.MustNot()) }

func (c *Comparison) calls(list []stack.Need) []Need {
	w := c.Stack.Where(c.Found.AccountID, c.Found.Region)
	w.ControllerRole = c.controllerARN()
	if q := c.Found.Queue; q != nil && q.FIFO {
		w.Queue = q.ARN
	}
	out := make([]Need, 0, len(list))
	for _, n := range list {
		sid, _ := n.Statement(&c.Stack.Options)
		// What edition or options leave out is not asked for.
		calls := slices.DeleteFunc(n.Calls(w), func(call iampolicy.Call) bool { return n.Without != "" && !c.decide(c.Wanted, call).OK() })
		if len(calls) > 0 {
			out = append(out, Need{what: n.Feature, action: n.Action, SID: sid, kinds: n.Kinds, why: n.Why, breaks: n.Without, calls: calls})
		}
	}
	return out
}
