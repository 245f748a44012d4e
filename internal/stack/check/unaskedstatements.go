package check

import (
	"slices"
	"strings"

	"github.com/kerf-sh/kerf/internal/iampolicy"
	"github.com/kerf-sh/kerf/internal/stack"
)

// unaskedStatements advises on statements that are there for a feature which was not asked for, so that a mended set-up has
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
