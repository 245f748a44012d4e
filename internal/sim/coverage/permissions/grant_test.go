package permissions_test

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/kerf-sh/kerf/internal/awsmodel/iampolicy"
	"github.com/kerf-sh/kerf/internal/setup/stack"
)

// grant is an action of a statement, on all of its resources or on those of some kinds.
type grant struct {
	sid, action string
	kinds       string // separated by commas; empty: all
}

func (g grant) String() string {
	if g.kinds == "" {
		return g.sid + " " + g.action
	}
	return g.sid + " " + g.action + " on " + g.kinds
}

// covers tells whether an ARN is of the grant's kinds.
func (g grant) covers(resource string) bool {
	return g.kinds == "" || slices.ContainsFunc(strings.Split(g.kinds, ","), func(k string) bool { return strings.Contains(resource, ":"+k+"/") })
}

// takeFrom takes the grant's action out of a document, if it has it. rest is a statement that has the action on those of
// the resources that the grant does not cover.
func (g grant) takeFrom(d *iampolicy.Document) (rest []iampolicy.Statement, found bool) {
	i := slices.IndexFunc(d.Statements, func(st iampolicy.Statement) bool { return st.Sid == g.sid && slices.Contains(st.Actions, g.action) })
	if i < 0 {
		return nil, false
	}
	st := &d.Statements[i]
	if left := slices.DeleteFunc(slices.Clone(st.Resources), g.covers); len(left) > 0 {
		s := *st
		s.Sid += "Rest" + strings.ReplaceAll(g.action, ":", "")
		s.Actions, s.Resources = []string{g.action}, left
		rest = append(rest, s)
	}
	if st.Actions = slices.DeleteFunc(st.Actions, func(a string) bool { return a == g.action }); len(st.Actions) == 0 {
		d.Statements = slices.Delete(d.Statements, i, i+1)
	}
	return rest, true
}

// granted are all actions of the deployed statements.
func (a *account) granted() []grant {
	seen := map[grant]bool{}
	for _, d := range a.documents() {
		for _, st := range d.Statements {
			for _, action := range st.Actions {
				seen[grant{sid: st.Sid, action: action}] = true
			}
		}
	}
	return sortedGrants(seen)
}

// parts are those grants of the table of needs that are less than an action on all resources of its statement, where
// there are several such of an action.
func (a *account) parts() []grant {
	seen, of := map[grant]bool{}, map[grant]int{}
	for _, n := range a.stack.Needs() {
		sid, _ := n.Statement(&a.stack.Options)
		g := grant{sid, n.Action, strings.Join(n.Kinds, ",")}
		for _, d := range a.documents() {
			for _, st := range d.Statements {
				if st.Sid != sid || !slices.Contains(st.Actions, n.Action) {
					continue
				}
				if rest := slices.DeleteFunc(slices.Clone(st.Resources), g.covers); len(rest) > 0 && len(rest) < len(st.Resources) {
					if !seen[g] {
						of[grant{sid: sid, action: n.Action}]++
					}
					seen[g] = true
				}
			}
		}
	}
	maps.DeleteFunc(seen, func(g grant, _ bool) bool { return of[grant{sid: g.sid, action: g.action}] == 1 })
	return sortedGrants(seen)
}

// needs are the entries of the table that a grant serves, wholly or in part.
func (a *account) needs(g grant) []stack.Need {
	return slices.DeleteFunc(a.stack.Needs(), func(n stack.Need) bool {
		sid, _ := n.Statement(&a.stack.Options)
		return sid != g.sid || n.Action != g.action || g.kinds != "" && g.kinds != strings.Join(n.Kinds, ",")
	})
}

func sortedGrants(set map[grant]bool) []grant {
	return slices.SortedFunc(maps.Keys(set), func(x, y grant) int {
		return cmp.Or(cmp.Compare(x.sid, y.sid), cmp.Compare(x.action, y.action), cmp.Compare(x.kinds, y.kinds))
	})
}
