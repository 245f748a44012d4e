package check

import (
	"slices"
	"strings"

	"github.com/kerf-sh/kerf/internal/awsmodel/iampolicy"
	"github.com/kerf-sh/kerf/internal/setup/stack"
)

// unaskedStatements advises on statements that are there for a feature which was not asked for, so that a fixed set-up has
// all of a feature or nothing.
func (c *Comparison) unaskedStatements() {
	wanted := StatementsBySID(c.Wanted.ControllerPolicies)
	whose := map[string][]feature{}
	for _, f := range features {
		if f.on(&c.Stack.Options) {
			continue
		}
		o := c.Stack.Options
		f.set(&o, []string{f.madeUpAt(c.Where())})
		s, err := stack.New(o)
		if err != nil {
			continue
		}
		for _, p := range s.Policies {
			for _, st := range p.Document.Statements {
				if _, there := wanted[st.Sid]; !there && st.Sid != "" {
					whose[st.Sid] = append(whose[st.Sid], f)
				}
			}
		}
	}
	for _, p := range c.Found.ControllerPolicies {
		for _, st := range p.Document.Statements {
			of := whose[st.Sid]
			if st.Effect != iampolicy.Allow || len(of) == 0 || c.reportedStatement(p.Name, st.Sid) {
				continue
			}
			var what, flags []string
			for _, f := range of {
				what, flags = append(what, f.what), append(flags, f.flag)
			}
			c.add(Finding{
				Severity: Advice, Area: AreaPermissions, Thing: StatementName(p.Name, st), Policy: p.Name, Sid: st.Sid, Action: firstOf(st.Actions),
				What: "it is there for " + strings.Join(what, ", or ") + ", which was not asked for",
				Fix:  "take it out; if you use it, give the check " + strings.Join(flags, " or ") + ", too, as kerf stack was given when it wrote it",
			})
		}
	}
}

func (c *Comparison) reportedStatement(policy, sid string) bool {
	return slices.ContainsFunc(c.Report.Findings, func(f Finding) bool { return f.Policy == policy && f.Sid == sid })
}

func firstOf(list []string) string {
	if len(list) == 0 {
		return ""
	}
	return list[0]
}

// lost notes what the controller may do by what was found, could use, and could not do with the wanted stack in its place:
// what somebody loses who swaps one for the other without the flag.
func (c *Comparison) lost() {
	away := map[string][]string{}
	var flags []string
	for _, n := range stack.Needs() {
		if _, kept := n.Statement(&c.Stack.Options); kept || n.Option == "" {
			continue
		}
		calls := n.Calls(c.Stack.Where(c.Found.AccountID, c.Found.Region))
		all := len(calls) > 0
		for _, call := range calls {
			call.Caller = iampolicy.Caller{}
			all = all && c.decide(c.Found, call).OK() && !c.decide(c.Wanted, call).OK()
		}
		if all {
			flags = appendNew(flags, n.Option)
			away[n.Option] = appendNew(away[n.Option], n.Action)
		}
	}
	for _, f := range flags {
		c.Report.Notes = append(c.Report.Notes, "a swap for the stack compared with takes away "+List(away[f])+": give "+f+" if you use it")
	}
}
