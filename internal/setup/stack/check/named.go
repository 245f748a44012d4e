package check

import (
	"slices"
	"strings"

	"github.com/kerf-sh/kerf/internal/awsmodel/iampolicy"
)

// namedActions are those whose resources users may add to by an option, so that each that a policy names is somebody's
// preference, and not what a probe could guess.
var namedActions = map[string]string{"iam:PassRole": "--pass-role", "ssm:GetParameter": "--ssm-parameter"}

const keyNamed = "named"

// named tries those actions on each resource that the policies found name for them.
func (w *widths) named() {
	tried := map[string]bool{}
	for _, n := range w.c.Needs() {
		if namedActions[n.action] == "" || tried[n.action] || len(n.calls) == 0 {
			continue
		}
		tried[n.action] = true
		for _, p := range w.c.Found.ControllerPolicies {
			for _, st := range p.Document.Statements {
				if st.Effect != iampolicy.Allow || !slices.ContainsFunc(st.Actions, func(a string) bool { return strings.EqualFold(a, n.action) }) {
					continue
				}
				for _, r := range st.Resources {
					w.nameOne(n.calls[0], r)
				}
			}
		}
	}
}

// standIn makes one resource of a pattern.
var standIn = strings.NewReplacer("*", "x", "?", "x")

func (w *widths) nameOne(like iampolicy.Call, resource string) {
	if strings.Contains(resource, "$") {
		return // what a variable stands for is the caller's
	}
	call := withContext(like)
	call.Resource = standIn.Replace(resource)
	d := w.c.decide(w.c.Found, call)
	if !d.OK() || w.c.decide(w.c.Wanted, call).OK() {
		return
	}
	known := slices.ContainsFunc(w.found, func(f width) bool {
		return f.policy == d.Policy && f.sid == d.Sid && slices.Contains(f.actions, call.Action) && (f.key == "resource" || f.resources[0] == resource)
	})
	if !known {
		w.found = append(w.found, width{
			policy: d.Policy, sid: d.Sid, key: keyNamed, what: "on " + resource + ", which is neither the stack's nor given by an option",
			resources: []string{resource}, actions: []string{call.Action},
		})
	}
}
