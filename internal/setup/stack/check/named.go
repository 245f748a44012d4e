package check

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/kerf-sh/kerf/internal/awsmodel/iampolicy"
	"github.com/kerf-sh/kerf/internal/awsmodel/partition"
	"github.com/kerf-sh/kerf/internal/setup/stack"
)

// namedActions are those whose resources users may add to by an option, so that each that a policy names is somebody's
// preference, and not what a probe could guess.
var namedActions = map[string]string{"iam:PassRole": "--pass-role", "ssm:GetParameter": "--ssm-parameter"}

const keyNamed = "named"

// asked is an action that the controller calls, with all that its calls have.
type asked struct {
	action    string
	contexts  []iampolicy.Context // without tags, which are for the policies to name
	resources []string
}

// named tries each action that the controller calls on the resources, and with the values of conditions, that the policies
// found name for it: another queue, another cluster's tag. No probe that makes them up would find them.
func (w *widths) named() {
	unasked := sync.OnceValue(w.c.unaskedParts)
	for _, a := range w.asked() {
		for _, p := range w.c.Found.ControllerPolicies {
			for i := range p.Document.Statements {
				st := &p.Document.Statements[i]
				if st.Effect != iampolicy.Allow || !mayBeFor(st, a.action) {
					continue
				}
				alone := &iampolicy.Document{Version: p.Document.Version, Statements: p.Document.Statements[i : i+1]}
				one := named{w: w, policy: p.Name, st: st, unasked: unasked, alone: []iampolicy.Named{{Name: p.Name, Document: alone}}}
				one.try(a)
			}
		}
	}
}

// mayBeFor tells whether a statement names an action, or leaves open which it is for.
func mayBeFor(st *iampolicy.Statement, action string) bool {
	return len(st.NotActions) > 0 || slices.ContainsFunc(st.Actions, func(a string) bool { return strings.ContainsAny(a, "*?") || strings.EqualFold(a, action) })
}

// asked are the actions that the wanted stack allows, in the order of the needs.
func (w *widths) asked() []asked {
	if w.actions != nil {
		return w.actions
	}
	for _, n := range w.c.Needs() {
		i := slices.IndexFunc(w.actions, func(a asked) bool { return a.action == n.action })
		if i < 0 {
			i = len(w.actions)
			w.actions = append(w.actions, asked{action: n.action})
		}
		a := &w.actions[i]
		for _, call := range n.calls {
			a.resources = appendNew(a.resources, call.Resource)
			ctx := maps.Clone(call.Context)
			maps.DeleteFunc(ctx, func(k string, _ []string) bool { return isTagKey(k) })
			if !slices.ContainsFunc(a.contexts, func(c iampolicy.Context) bool { return maps.EqualFunc(c, ctx, slices.Equal) }) {
				a.contexts = append(a.contexts, ctx)
			}
		}
	}
	return w.actions
}

func isTagKey(key string) bool {
	return strings.HasPrefix(key, "aws:resourcetag/") || strings.HasPrefix(key, "aws:requesttag/") || key == "aws:tagkeys"
}

// unaskedParts are the wanted stack, and those of later editions, with each feature that takes no name, or only keys of
// volumes: what is found of those is not of another, and is advised on by the statement's name.
func (c *Comparison) unaskedParts() []*Parts {
	var out []*Parts
	later := stack.Editions()
	for _, edition := range later[max(slices.Index(later, c.Stack.Options.Compat), 0):] {
		o := c.Stack.Options
		o.Compat = edition
		for _, f := range features {
			if f.named == "" || f.flag == "--volume-key" {
				f.ask(&o, c.Found.Setup)
			}
		}
		if s, err := stack.New(o); err == nil {
			out = append(out, findParts(s.Setup(c.Found.AccountID, c.Found.Region), Hints{Queue: c.hints.Queue, ServiceAccount: c.hints.ServiceAccount}))
		}
	}
	return out
}

// named tries one statement.
type named struct {
	w       *widths
	policy  string
	st      *iampolicy.Statement
	alone   []iampolicy.Named
	unasked func() []*Parts
}

func (n *named) try(a asked) {
	contexts := n.contexts(a.contexts)
	got := false
	for _, r := range n.st.Resources {
		if strings.Contains(r, "$") {
			continue // what a variable stands for is the caller's
		}
		if like := n.like(a, r); like != "" {
			name := r
			if strings.HasSuffix(r, "/*") && namedActions[a.action] == "" {
				name = generic(r)
			}
			got = n.each(a.action, name, like, contexts) || got
		}
	}
	for _, r := range a.resources {
		if !got { // else they are among those
			n.each(a.action, generic(r), r, contexts)
		}
	}
}

// standIn makes one resource or value of a pattern.
var standIn = strings.NewReplacer("*", "x", "?", "x")

// like is a resource that a pattern stands for, of a kind that the action is called on; empty for other kinds, which AWS does
// not ask about.
func (n *named) like(a asked, pattern string) string {
	i := slices.IndexFunc(a.resources, func(r string) bool { return kindOf(r) == kindOf(pattern) })
	switch {
	case i >= 0:
		return standIn.Replace(n.here(pattern, a.resources[i]))
	case namedActions[a.action] != "":
		return standIn.Replace(pattern)
	}
	return ""
}

// here puts the place of a resource where a pattern leaves it open: that it is open is for other probes to tell.
func (n *named) here(pattern, resource string) string {
	p, r := strings.SplitN(pattern, ":", 6), strings.SplitN(resource, ":", 6)
	if len(p) != 6 || len(r) != 6 {
		return pattern
	}
	for i := range p[:5] {
		if p[i] == "*" {
			p[i] = r[i]
		}
	}
	return strings.Join(p, ":")
}

// kindOf is the service and the kind of a resource, as ec2:instance; of a service with one kind the service alone.
func kindOf(resource string) string {
	parts := strings.SplitN(resource, ":", 6)
	if len(parts) != 6 {
		return resource
	}
	kind, _, ok := strings.Cut(parts[5], "/")
	if !ok {
		kind = ""
	}
	return parts[2] + ":" + kind
}

// contexts are those of calls that meet the conditions of the statement, each of its values in one at least.
func (n *named) contexts(of []iampolicy.Context) []iampolicy.Context {
	var out []iampolicy.Context
	for _, ctx := range of {
		first := maps.Clone(ctx)
		for _, c := range n.st.Conditions {
			n.meet(first, c, 0)
		}
		out = append(out, first)
		for _, c := range n.st.Conditions {
			if strings.HasPrefix(c.Operator, "For") {
				continue // the first has them all
			}
			for v := 1; v < len(c.Values); v++ {
				other := maps.Clone(first)
				n.meet(other, c, v)
				out = append(out, other)
			}
		}
	}
	return out
}

// meet has a call meet a condition by one of its values. Conditions that forbid are met by what they do not name.
func (n *named) meet(ctx iampolicy.Context, c iampolicy.Condition, value int) {
	key := strings.ToLower(c.Key)
	if strings.Contains(c.Operator, "Not") || len(c.Values) == 0 {
		return
	}
	if c.Operator == "Null" {
		if strings.EqualFold(c.Values[0], "true") {
			delete(ctx, key)
		} else if ctx[key] == nil {
			ctx[key] = []string{"x"}
		}
		return
	}
	values := c.Values
	if !strings.HasPrefix(c.Operator, "For") {
		values = values[value : value+1]
	}
	if key == "iam:passedtoservice" && (values[0] == partition.EC2Service || values[0] == partition.EC2ServiceChina) {
		return // one of them is asked for, and the other is the same in another partition
	}
	meant := make([]string, 0, len(values))
	for _, v := range values {
		if strings.Contains(c.Operator, "Like") || strings.HasPrefix(c.Operator, "Arn") {
			v = standIn.Replace(n.here(v, n.w.c.Where().ARN("x", "x")))
		}
		if c.Operator == "IpAddress" {
			v, _, _ = strings.Cut(v, "/")
		}
		meant = append(meant, v)
	}
	ctx[key] = meant
}

// each tries calls on one resource, which the policy writes as name, and tells whether one gets through.
func (n *named) each(action, name, resource string, contexts []iampolicy.Context) bool {
	c := n.w.c
	for _, ctx := range contexts {
		call := iampolicy.Call{Action: action, Resource: resource, Context: ctx}
		if !n.allows(call) || c.decide(c.Wanted, call).OK() || !c.decide(c.Found, call).OK() {
			continue
		}
		if slices.ContainsFunc(n.unasked(), func(p *Parts) bool { return c.decide(p, call).OK() }) {
			continue
		}
		if !n.known(call, name) {
			n.note(call, name)
		}
		return true
	}
	return false
}

// allows tells whether the statement by itself allows a call.
func (n *named) allows(call iampolicy.Call) bool {
	return iampolicy.Evaluate(call, iampolicy.Policies{Identity: n.alone}).OK()
}

// known tells whether the statement is reported for the action already: by what a probe made up, or with this resource.
func (n *named) known(call iampolicy.Call, name string) bool {
	return slices.ContainsFunc(n.w.found, func(f width) bool {
		if f.policy != n.policy || f.sid != n.st.Sid || !slices.Contains(f.actions, call.Action) {
			return false
		}
		if f.key == keyNamed {
			return f.st == n.st && slices.Contains(f.resources, name)
		}
		made := f.call
		made.Action = call.Action
		return n.allows(made)
	})
}

func (n *named) note(call iampolicy.Call, name string) {
	f := width{policy: n.policy, sid: n.st.Sid, key: keyNamed, resources: []string{name}, actions: []string{call.Action}, st: n.st, call: call}
	if namedActions[call.Action] != "" {
		f.what = "on " + name + ", which is neither the stack's nor given by an option"
		n.w.found = append(n.w.found, f)
		return
	}
	i := slices.IndexFunc(n.w.found, func(o width) bool { return o.key == keyNamed && o.st == n.st && namedActions[o.actions[0]] == "" })
	if i < 0 {
		i = len(n.w.found)
		n.w.found = append(n.w.found, f)
	}
	of := &n.w.found[i]
	of.actions, of.resources = appendNew(of.actions, call.Action), appendNew(of.resources, name)
	of.what = "on " + List(of.resources) + n.with() + ", which is not all this cluster's"
}

// with are the conditions of the statement on tags.
func (n *named) with() string {
	var out []string
	for _, c := range n.st.Conditions {
		if isTagKey(strings.ToLower(c.Key)) || strings.HasPrefix(strings.ToLower(c.Key), "ec2:resourcetag/") {
			out = append(out, fmt.Sprintf("%s = %s", c.Key, strings.Join(c.Values, " or ")))
		}
	}
	if len(out) == 0 {
		return ""
	}
	return " with " + Enumerate(out)
}
