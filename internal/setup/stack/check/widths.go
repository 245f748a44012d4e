package check

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/kerf-sh/kerf/internal/awsmodel/iampolicy"
	"github.com/kerf-sh/kerf/internal/setup/stack/setupfile"
)

// widths finds what the controller may do and should not. It takes every call that the controller makes, changes one
// thing about it (a tag, the region, whose resource it is), and sees which of the changed calls the wanted stack refuses
// and the found one allows. What it finds names the statement that lets it through and the condition that would not.
type widths struct {
	c       *Comparison
	found   []width
	actions []asked // worked out once
}

// width is one way in which a statement is too wide, with the actions that it is so for.
type width struct {
	policy, sid string
	key         string // condition key, or "resource"
	what        string // of the call that gets through
	resources   []string
	actions     []string
	call        iampolicy.Call       // the first that gets through
	st          *iampolicy.Statement // of what a statement names
}

func (w *widths) probe() {
	for _, n := range w.c.Needs() {
		for _, call := range n.calls {
			// What is refused as it is says nothing when it is changed.
			if !w.c.decide(w.c.Wanted, call).OK() {
				continue
			}
			w.keys(call)
			w.resources(call)
		}
	}
}

// try notes a changed call that gets through and should not.
func (w *widths) try(call iampolicy.Call, key, what string) {
	if w.c.decide(w.c.Wanted, call).OK() {
		return
	}
	if d := w.c.decide(w.c.Found, call); d.OK() {
		w.note(d, call, key, what)
	}
}

func (w *widths) note(d iampolicy.Decision, call iampolicy.Call, key, what string) {
	for i := range w.found {
		f := &w.found[i]
		if f.policy == d.Policy && f.sid == d.Sid && f.key == key {
			f.actions = appendNew(f.actions, call.Action)
			f.resources = appendNew(f.resources, generic(call.Resource))
			return
		}
	}
	w.found = append(w.found, width{policy: d.Policy, sid: d.Sid, key: key, what: what, resources: []string{generic(call.Resource)}, actions: []string{call.Action}, call: call})
}

// keys tries the call without each of its condition keys, and with another value.
func (w *widths) keys(call iampolicy.Call) {
	keys := map[string]string{} // lower case → as the policy writes it
	for k := range call.Context {
		keys[k] = k
	}
	for _, p := range w.c.Wanted.ControllerPolicies {
		for _, s := range p.Document.Statements {
			if !slices.ContainsFunc(s.Actions, func(a string) bool { return strings.EqualFold(a, call.Action) }) {
				continue
			}
			for _, cond := range s.Conditions {
				keys[strings.ToLower(cond.Key)] = cond.Key
			}
		}
	}
	delete(keys, "aws:securetransport") // that is for the queue's policy to say
	for _, k := range slices.Sorted(maps.Keys(keys)) {
		name := keys[k]
		without := withContext(call)
		delete(without.Context, k)
		w.try(without, name, "without "+name)
		other := withContext(call)
		other.Context[k] = append(slices.Clone(otherValues(k, call.Context[k])), extra(k, call.Context[k])...)
		w.try(other, name, fmt.Sprintf("with %s = %s", name, List(other.Context[k])))
	}
}

func withContext(call iampolicy.Call) iampolicy.Call {
	call.Context = maps.Clone(call.Context)
	if call.Context == nil {
		call.Context = iampolicy.Context{}
	}
	return call
}

// otherValues are values that a key could have and should not.
func otherValues(key string, have []string) []string {
	switch {
	case key == "aws:requestedregion":
		if slices.Contains(have, "eu-south-2") {
			return []string{"us-west-2"}
		}
		return []string{"eu-south-2"}
	case key == "iam:passedtoservice":
		return []string{"lambda.amazonaws.com"}
	case key == "ec2:createaction":
		return []string{"CreateVolume"}
	case key == "aws:tagkeys":
		return []string{"somebody-elses-tag"}
	case strings.HasSuffix(key, "resourceidentifier"):
		return []string{"arn:aws:eks:us-east-1:" + setupfile.AssumedAccount + ":cluster/another"}
	}
	return []string{"another"}
}

// extra keeps the values of a key that has several, so that one wrong among them is tried.
func extra(key string, have []string) []string {
	if key == "aws:tagkeys" {
		return have
	}
	return nil
}

// resources tries the call on resources that are not the cluster's.
func (w *widths) resources(call iampolicy.Call) {
	parts := strings.SplitN(call.Resource, ":", 6)
	if len(parts) != 6 || parts[0] != "arn" {
		return
	}
	change := func(i int, value, what string) {
		if parts[i] == "" || parts[i] == value {
			return
		}
		other := slices.Clone(parts)
		other[i] = value
		changed := withContext(call)
		changed.Resource = strings.Join(other, ":")
		w.try(changed, "resource", what+" "+changed.Resource)
	}
	// What lies nearest is told: of several, the first that gets through.
	change(5, otherName(parts[5]), "on another one,")
	change(4, "999988887777", "on one of another account,")
	change(3, "eu-south-2", "on one of another region,")
	if parts[2] == "ssm" {
		changed := withContext(call)
		changed.Resource = strings.Join([]string{"arn", parts[1], "ssm", parts[3], w.c.Found.AccountID, "parameter/prod/database/password"}, ":")
		w.try(changed, "resource", "on another one, "+changed.Resource)
	}
}

// otherName is the name of another resource of the same kind.
func otherName(s string) string {
	if i := strings.LastIndex(s, "/"); i >= 0 {
		return s[:i+1] + "another"
	}
	return "another"
}

// mustNot tries the calls that a well-scoped policy refuses.
func (w *widths) mustNot() {
	for _, n := range w.c.mustNot() {
		for _, call := range n.calls {
			if w.c.decide(w.c.Wanted, call).OK() {
				continue // of this edition, or with these options, it is meant
			}
			d := w.c.decide(w.c.Found, call)
			if !d.OK() {
				continue
			}
			known := slices.ContainsFunc(w.found, func(f width) bool {
				return f.policy == d.Policy && f.sid == d.Sid && slices.Contains(f.actions, call.Action)
			})
			if !known {
				w.note(d, call, "must not: "+n.what, "for "+n.what)
			}
		}
	}
}

// report turns what was found into findings.
func (w *widths) report() {
	for _, f := range w.found {
		out := Finding{
			Severity: TooWide, Area: AreaPermissions, Thing: f.policy, Policy: f.policy, Sid: f.sid, Action: f.actions[0], Resource: f.resources[0],
			What: "it allows " + List(f.actions) + on(f) + " " + f.what, Why: harm(f),
		}
		if f.sid != "" {
			out.Thing += " / " + f.sid
		}
		if !strings.HasPrefix(f.key, "must not") && f.key != "resource" && f.key != keyNamed {
			out.Key = f.key
		}
		out.Fix = w.remedy(f)
		w.c.add(out)
	}
}

// on names the resources, if there is something to name.
func on(f width) string {
	if f.key == "resource" || f.key == keyNamed || f.resources[0] == "*" {
		return ""
	}
	return " on " + List(f.resources)
}

// harm says what can be done with what gets through.
func harm(f width) string {
	switch action := f.actions[0]; {
	case strings.HasPrefix(f.key, "must not"):
		return ""
	case action == "ec2:TerminateInstances", action == "ec2:DeleteLaunchTemplate":
		return "instances and templates that are not this cluster's can be ended"
	case action == "ec2:RunInstances", action == "ec2:CreateFleet", action == "ec2:CreateLaunchTemplate":
		return "instances can be started that nobody counts as this cluster's"
	case action == "ec2:CreateTags":
		return "what is not this cluster's can be tagged as its own, and then ended"
	case action == "iam:PassRole":
		return "instances can be started with a role of more rights than nodes have"
	case action == "iam:GetInstanceProfile" || action == "iam:ListInstanceProfiles":
		return "instance profiles that are not this cluster's can be read"
	case strings.HasPrefix(action, "iam:"):
		return "instance profiles that are not this cluster's can be changed"
	case strings.HasPrefix(action, "sqs:"):
		return "messages of other queues can be taken"
	case strings.HasPrefix(action, "ssm:"):
		return "parameters can be read that may hold secrets"
	case strings.HasPrefix(action, "kms:"):
		return "what other keys protect can be read"
	case strings.Contains(action, ":Describe"), strings.Contains(action, ":Get"):
		return "it can be read what is not this cluster's"
	}
	return ""
}

// remedy names the condition or resources that the wanted stack has for the actions.
func (w *widths) remedy(f width) string {
	if f.key == keyNamed && strings.Contains(f.resources[0], ":parameter/aws/service/") {
		return "narrow it to the paths of --public-parameter, or give the check those that you use"
	}
	flag := namedActions[f.actions[0]]
	if f.key == keyNamed && flag == "" {
		return w.takeOut(f)
	}
	if f.key == keyNamed && f.actions[0] == "iam:PassRole" && w.c.Found.NodeRole == nil && !strings.ContainsAny(f.resources[0], "*?") {
		return "take it out of the statement; if it is the role of the nodes, give the check --node-role " + f.resources[0] +
			"; if it is another of yours, --pass-role " + f.resources[0]
	}
	if f.key == keyNamed && strings.ContainsAny(f.resources[0], "*?") {
		return "take it out of the statement; what of it is yours to use, name one by one with " + flag
	}
	if f.key == keyNamed {
		return "take it out of the statement; if it is yours to use, give the check " + flag + " " + f.resources[0] + ", as kerf stack is given it"
	}
	candidates := w.candidates(f)
	for _, s := range candidates {
		for _, c := range s.Conditions {
			if strings.EqualFold(c.Key, f.key) {
				return fmt.Sprintf("add the condition %s: %s = %s, as statement %s has", c.Operator, c.Key, List(c.Values), s.Sid)
			}
		}
	}
	if len(candidates) == 0 {
		return "take it out; the controller never calls it"
	}
	if f.key == "resource" {
		return fmt.Sprintf("limit it to %s, as statement %s does", List(candidates[0].Resources), candidates[0].Sid)
	}
	return "write it as statement " + candidates[0].Sid + ": " + statementText(candidates[0])
}

// takeOut is the remedy for what a statement names and no option could ask for.
func (w *widths) takeOut(f width) string {
	if strings.HasPrefix(f.actions[0], "sqs:") && w.c.Found.Queue == nil && !w.c.queueElsewhere() {
		return "take it out of the statement; if it is the queue of this cluster, give the check --queue-arn " + f.resources[0]
	}
	if c := w.candidates(f); len(c) > 0 && f.sid == c[0].Sid {
		return "write it as statement " + c[0].Sid + " is wanted: " + statementText(c[0])
	}
	return "take it out of the statement; what of it is this cluster's is allowed by others, or is added to them"
}

// candidates are the statements of the wanted stack that allow the action, or the one among them of the same name.
func (w *widths) candidates(f width) []iampolicy.Statement {
	var candidates []iampolicy.Statement
	for _, p := range w.c.Wanted.ControllerPolicies {
		for _, s := range p.Document.Statements {
			if slices.Contains(s.Actions, f.actions[0]) {
				candidates = append(candidates, s)
			}
		}
	}
	for _, s := range candidates {
		if s.Sid == f.sid {
			return []iampolicy.Statement{s}
		}
	}
	return candidates
}
