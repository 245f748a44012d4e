package check

import (
	"slices"

	"github.com/kerf-sh/kerf/internal/awsmodel/awssetup"
	"github.com/kerf-sh/kerf/internal/setup/stack"
	"github.com/kerf-sh/kerf/internal/setup/stack/setupfile"
)

// Ease makes advice of what a set-up in order for an older edition allows beyond the one compared with: its guide meant that.
func (r *Report) Ease() {
	for i := range r.Findings {
		if r.Findings[i].Severity == TooWide && r.Findings[i].Area == AreaPermissions {
			r.Findings[i].Severity = Advice
		}
	}
	r.sort()
}

// OlderEdition finds the edition, older than the wanted one, that a set-up is in order for; ok is false if there is none.
// Somebody who checks a stack of an older guide is told so, since much of what is found then is what the guide left out.
func OlderEdition(found *awssetup.Setup, kind setupfile.Kind, o Options) (edition stack.Compat, ok bool) {
	older := stack.Editions()
	older = older[:max(slices.Index(older, o.Stack.Compat), 0)]
	slices.Reverse(older)
	for _, c := range older {
		d := stack.Defaults(c)
		o.Stack.Compat, o.Stack.DeadLetter, o.Stack.RuleSources, o.Stack.Alarms = c, d.DeadLetter, d.RuleSources, d.Alarms
		o.Stack.InstanceStatus, o.Stack.CapacityReservations, o.Stack.PlacementGroups, o.Stack.ZonalShift = d.InstanceStatus, d.CapacityReservations, d.PlacementGroups, d.ZonalShift
		if r, err := Compare(found, kind, o); err == nil && !r.Wrong() && len(r.Unread) == 0 {
			return c, true
		}
	}
	return "", false
}
