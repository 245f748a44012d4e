package check

import (
	"github.com/kerf-sh/kerf/internal/awssetup"
	"github.com/kerf-sh/kerf/internal/stack"
)

// OlderEdition finds the edition, older than the wanted one, that a set-up is in order for; ok is false if there is none.
// Somebody who checks a stack of an older guide is told so, since much of what is found then is what the guide left out.
func OlderEdition(found *awssetup.Setup, kind Kind, o Options) (edition stack.Compat, ok bool) {
	older := []stack.Compat{stack.V10, stack.V032}
	switch o.Stack.Compat {
	case stack.V032:
		return "", false
	case stack.V10:
		older = older[1:]
	}
	for _, c := range older {
		d := stack.Defaults(c)
		o.Stack.Compat, o.Stack.DeadLetter, o.Stack.RuleSources, o.Stack.Alarms, o.Stack.InstanceStatus = c, d.DeadLetter, d.RuleSources, d.Alarms, d.InstanceStatus
		if r, err := Compare(found, kind, o); err == nil && !r.Wrong() && len(r.Unread) == 0 {
			return c, true
		}
	}
	return "", false
}
