package iampolicy

import (
	"maps"
	"slices"
)

// MissingKeys returns the condition keys, sorted, that statements for the action and resource of a call look at and that
// the call does not have.
func MissingKeys(c Call, p Policies) []string {
	missing := map[string]bool{}
	look := func(d *Document, resourcePolicy bool) {
		if d == nil {
			return
		}
		for i := range d.Statements {
			s := &d.Statements[i]
			if !s.forAction(c.Action) || !s.forResource(&c, d.Version, resourcePolicy) {
				continue
			}
			for _, condition := range s.Conditions {
				if len(c.Context.get(condition.Key)) == 0 {
					missing[condition.Key] = true
				}
			}
		}
	}
	for _, n := range p.Identity {
		look(n.Document, false)
	}
	look(p.Boundary, false)
	look(p.Resource, true)
	return slices.Sorted(maps.Keys(missing))
}
