package check

import (
	"slices"
	"strings"

	"github.com/kerf-sh/kerf/internal/awsmodel/iampolicy"
	"github.com/kerf-sh/kerf/internal/setup/stack"
)

// unaskedStatements advises on statements that are there for a feature which was not asked for, so that a fixed set-up has
// all of a feature or nothing.
func (c *checker) unaskedStatements() {
	wanted := statementsBySid(c.wanted.policies)
	whose := map[string][]feature{}
	for _, f := range features {
		if f.on(&c.stack.Options) {
			continue
		}
		o := c.stack.Options
		f.set(&o, []string{f.madeUpAt(c.where())})
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
	for _, p := range c.found.policies {
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
				Severity: Advice, Area: AreaPermissions, Thing: statementName(p.Name, st), Policy: p.Name, Sid: st.Sid, Action: firstOf(st.Actions),
				What: "it is there for " + strings.Join(what, ", or ") + ", which was not asked for",
				Fix:  "take it out; if you use it, give the check " + strings.Join(flags, " or ") + ", too, as kerf stack was given when it wrote it",
			})
		}
	}
}

func (c *checker) reportedStatement(policy, sid string) bool {
	return slices.ContainsFunc(c.report.Findings, func(f Finding) bool { return f.Policy == policy && f.Sid == sid })
}

func firstOf(list []string) string {
	if len(list) == 0 {
		return ""
	}
	return list[0]
}

// lost notes what the controller may do by what was found, could use, and could not do with the wanted stack in its place:
// what somebody loses who swaps one for the other without the flag.
func (c *checker) lost() {
	away := map[string][]string{}
	var flags []string
	for _, n := range stack.Needs() {
		if _, kept := n.Statement(&c.stack.Options); kept || n.Option == "" {
			continue
		}
		calls := n.Calls(c.stack.Where(c.found.AccountID, c.found.Region))
		all := len(calls) > 0
		for _, call := range calls {
			call.Caller = iampolicy.Caller{}
			all = all && c.decide(c.found, call).OK() && !c.decide(c.wanted, call).OK()
		}
		if all {
			flags = appendNew(flags, n.Option)
			away[n.Option] = appendNew(away[n.Option], n.Action)
		}
	}
	for _, f := range flags {
		c.report.Notes = append(c.report.Notes, "a swap for the stack compared with takes away "+list(away[f])+": give "+f+" if you use it")
	}
}
