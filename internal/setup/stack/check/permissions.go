package check

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"al.essio.dev/pkg/shellescape"

	"github.com/kerf-sh/kerf/internal/awsmodel/iampolicy"
)

// permissions judges the controller's policies: what it calls must be allowed, and what it must not be able to call must
// be refused.
func (c *Comparison) permissions() {
	if len(c.Found.ControllerPolicies) == 0 && len(c.Found.foreign) == 0 {
		if g, ok := c.Found.unreadPermissions(); ok {
			c.Report.Notes = append(c.Report.Notes, "permissions were not judged: "+g.Why)
			return
		}
		c.add(Finding{
			Severity: Missing, Area: AreaPermissions, Thing: "policies of the controller", What: "there are none",
			Why: "the controller can neither read nor make anything in AWS", Fix: "# add the policies that this writes:\nkerf stack iam --cluster-name " + shellescape.Quote(c.Report.Cluster) + " --region " + shellescape.Quote(c.Found.Region) + " --account-id " + shellescape.Quote(c.Found.AccountID) + " > policies.json",
		})
		return
	}
	if c.administrator() {
		return
	}
	if c.Found.boundaryUnread {
		c.Report.Unread = append(c.Report.Unread, Unread{
			What: "permissions boundary " + c.Found.Controller.Boundary,
			Why:  "it is set on the controller's role and its text is not here: what it keeps the controller from is not judged; check the live account with --live",
		})
	}
	c.missing()
	w := &widths{c: c}
	w.probe()
	w.named()
	w.mustNot()
	w.report()
	c.excess()
	c.unaskedStatements()
	c.lost()
	c.wording()
}

// administrator reports a controller that may do anything; nothing else about its permissions matters then.
func (c *Comparison) administrator() bool {
	for _, arn := range c.Found.foreign {
		if name := Powerful(arn); name != "" {
			c.add(Finding{
				Severity: TooWide, Area: AreaPermissions, Thing: arn, Policy: name,
				What: "the controller's role has " + name,
				Why:  "whoever gets into the controller's pod owns the account",
				Fix:  "detach it, and attach the policies of kerf stack",
			})
			if name == AdministratorPolicy {
				return true
			}
		}
		c.Report.Unread = append(c.Report.Unread, Unread{What: "policy " + arn, Why: "it is attached to the controller's role and its text is not here"})
	}
	call := iampolicy.Call{Action: "iam:CreateUser", Resource: "arn:" + c.Found.Partition + ":iam::" + c.Found.AccountID + ":user/x", Context: iampolicy.Context{}}
	other := iampolicy.Call{Action: "s3:GetObject", Resource: "arn:" + c.Found.Partition + ":s3:::x/y", Context: iampolicy.Context{}}
	d := c.decide(c.Found, call)
	if !d.OK() || !c.decide(c.Found, other).OK() {
		return false
	}
	c.add(Finding{
		Severity: TooWide, Area: AreaPermissions, Thing: statementOf(d), Policy: d.Policy, Sid: d.Sid, What: "it allows everything, such as iam:CreateUser",
		Why: "whoever gets into the controller's pod owns the account", Fix: "replace it by the policies of kerf stack",
	})
	return true
}

// statementOf names the statement that decided.
func statementOf(d iampolicy.Decision) string {
	if d.Sid == "" {
		return d.Policy
	}
	return d.Policy + " / " + d.Sid
}

// missing reports what the controller calls and may not. What one statement of the wanted stack would allow, and nothing
// comes near to, is one finding.
func (c *Comparison) missing() {
	gap, partly := c.Found.unreadPermissions()
	var unsure []string
	groups := map[string]*lack{}
	var order []string
	for _, n := range c.Needs() {
		refused, why := c.Refused(n)
		near := why.Near()
		switch {
		case len(refused) == 0:
		case partly && unsureOf(why):
			unsure = appendNew(unsure, n.action) // what could not be read may allow it
		default:
			key := n.SID
			if why.Outcome == iampolicy.ExplicitDeny || len(near) > 0 {
				key = fmt.Sprint(n.SID, why.Outcome, why.Policy, why.Sid, near)
			}
			if groups[key] == nil {
				groups[key] = &lack{sid: n.SID, why: why, first: refused[0]}
				order = append(order, key)
			}
			groups[key].add(n, refused)
		}
	}
	for _, key := range order {
		c.add(c.missingFinding(groups[key]))
	}
	if len(unsure) > 0 {
		c.Report.Unread = append(c.Report.Unread, Unread{
			What: "whether the controller may call " + List(unsure), Why: "no policy that could be read allows it; " + gap.What + " could not be read",
		})
	}
}

// unsureOf tells whether a policy that could not be read may allow what was refused.
func unsureOf(why iampolicy.Decision) bool {
	return why.Outcome == iampolicy.ImplicitDeny && len(why.Near()) == 0
}

// Lacks tells whether calls of a need are refused, and what could not be read does not allow them either.
func (c *Comparison) Lacks(n Need) bool {
	refused, why := c.Refused(n)
	_, partly := c.Found.unreadPermissions()
	return len(refused) > 0 && !(partly && unsureOf(why))
}

// Refused are the calls of a need that are not allowed, and what the most telling decision says.
func (c *Comparison) Refused(n Need) (refused []iampolicy.Call, why iampolicy.Decision) {
	for _, call := range n.calls {
		d := c.decide(c.Found, call)
		if d.OK() {
			continue
		}
		if len(refused) == 0 || len(d.Near()) > 0 && len(why.Near()) == 0 {
			why = d
		}
		refused = append(refused, call)
	}
	return refused, why
}

// lack is what is not allowed for one reason.
type lack struct {
	sid                string
	why                iampolicy.Decision
	first              iampolicy.Call
	actions, resources []string
	uses, breaks       []string
}

func (l *lack) add(n Need, refused []iampolicy.Call) {
	l.actions = appendNew(l.actions, n.action)
	for _, call := range refused {
		l.resources = appendNew(l.resources, generic(call.Resource))
	}
	l.uses = appendNew(l.uses, n.why)
	l.breaks = appendNew(l.breaks, n.breaks)
}

// consequence says what the calls are for and what is seen without them.
func (l *lack) consequence() string {
	const enough = 3 // of each
	some := func(all []string) string {
		text := strings.Join(all[:min(len(all), enough)], "; ")
		if len(all) > enough {
			text += fmt.Sprintf("; and %d more", len(all)-enough)
		}
		return text
	}
	return "it is for this: " + some(l.uses) + ". Without it: " + some(l.breaks)
}

func (c *Comparison) missingFinding(l *lack) Finding {
	st, policy := c.granting(l.first)
	f := Finding{
		Severity: Missing, Area: AreaPermissions, Thing: l.actions[0], Action: l.actions[0], Sid: l.sid, Resource: l.resources[0],
		What: Enumerate(l.actions), Why: l.consequence(),
	}
	if l.resources[0] != "*" {
		f.What += " on " + Enumerate(l.resources)
	}
	is := " is"
	if len(l.actions) > 1 {
		is = " are"
	}
	if l.why.Outcome == iampolicy.ExplicitDeny {
		f.What += is + " denied by " + statementOf(l.why)
		f.Policy = l.why.Policy
		f.Fix = "take the denial away, or except this call from it"
		return f
	}
	f.What += is + " not allowed"
	if near := l.why.Near(); len(near) > 0 {
		f.What += ": " + strings.Join(near, "; ")
		f.Key = keyIn(near[0])
	}
	if st != nil {
		f.Sid = st.Sid
		f.Fix = fmt.Sprintf("allow it as statement %s of %s does: %s", st.Sid, policy, statementText(*st))
	}
	return f
}

// Enumerate joins all of things for a message.
func Enumerate(things []string) string {
	if len(things) < 2 {
		return strings.Join(things, "")
	}
	return strings.Join(things[:len(things)-1], ", ") + " and " + things[len(things)-1]
}

// keyIn finds which condition key a near miss speaks of.
func keyIn(near string) string {
	_, rest, ok := strings.Cut(near, " wants ")
	if !ok {
		return ""
	}
	key, _, _ := strings.Cut(rest, " ")
	return key
}

// granting is the statement of the wanted stack that allows a call, and the policy that it is in.
func (c *Comparison) granting(call iampolicy.Call) (*iampolicy.Statement, string) {
	for _, p := range c.Wanted.ControllerPolicies {
		for i := range p.Document.Statements {
			one := []iampolicy.Named{{Name: p.Name, Document: &iampolicy.Document{Version: p.Document.Version, Statements: p.Document.Statements[i : i+1]}}}
			if iampolicy.Evaluate(call, iampolicy.Policies{Identity: one, ResourceOwner: c.Found.AccountID}).OK() {
				return &p.Document.Statements[i], p.Name
			}
		}
	}
	return nil, ""
}

func statementText(s iampolicy.Statement) string {
	d := iampolicy.Document{Version: "2012-10-17", Statements: []iampolicy.Statement{s}}
	var v struct{ Statement json.RawMessage }
	if err := json.Unmarshal(d.JSON(), &v); err != nil {
		return ""
	}
	return strings.TrimSuffix(strings.TrimPrefix(string(v.Statement), "["), "]")
}

// generic turns the made-up identifiers of a probe into a pattern that people know: instance/i-0123… to instance/*.
func generic(resource string) string {
	parts := strings.SplitN(resource, ":", 6)
	if len(parts) != 6 {
		return resource
	}
	if parts[2] != "ec2" && !strings.HasPrefix(parts[5], "instance-profile/") {
		return resource
	}
	kind, _, ok := strings.Cut(parts[5], "/")
	if !ok {
		return resource
	}
	return kind + "/*"
}

// excess reports actions that are granted and that nothing calls.
func (c *Comparison) excess() {
	known := c.knownActions()
	for _, p := range c.Found.ControllerPolicies {
		for _, st := range p.Document.Statements {
			if st.Effect != iampolicy.Allow {
				continue
			}
			thing := StatementName(p.Name, st)
			if len(st.NotActions) > 0 {
				c.add(Finding{
					Severity: TooWide, Area: AreaPermissions, Thing: thing, Policy: p.Name, Sid: st.Sid,
					What: "it allows all actions but " + List(st.NotActions),
					Why:  "every action that AWS adds is allowed as well", Fix: "name the actions that are needed",
				})
				continue
			}
			c.excessOf(p.Name, st, known)
		}
	}
}

// StatementName is how a statement of a policy is called in findings.
func StatementName(policy string, st iampolicy.Statement) string {
	if st.Sid != "" {
		return policy + " / " + st.Sid
	}
	if len(st.Actions) > 0 {
		return fmt.Sprintf("%s / the statement on %s", policy, st.Actions[0])
	}
	return policy
}

func (c *Comparison) excessOf(policy string, st iampolicy.Statement, known actions) {
	var unused, reads, elsewhere, wild, flags []string
	for _, a := range st.Actions {
		switch {
		case strings.ContainsAny(a, "*?"):
			if !known.coveredBy(a) {
				wild = append(wild, a)
			}
		case known.wanted[strings.ToLower(a)]:
		case known.other[strings.ToLower(a)].what != "":
			u := known.other[strings.ToLower(a)]
			elsewhere = append(elsewhere, fmt.Sprintf("%s (%s)", a, u.what))
			if u.flag != "" && !slices.Contains(flags, u.flag) {
				flags = append(flags, u.flag)
			}
		case c.reportsOf(policy, a):
		case readsOnly(a):
			reads = append(reads, a)
		default:
			unused = append(unused, a)
		}
	}
	base := Finding{Area: AreaPermissions, Thing: StatementName(policy, st), Policy: policy, Sid: st.Sid}
	report := func(s Severity, actions []string, what, why, fix string) {
		if len(actions) == 0 {
			return
		}
		f := base
		f.Severity, f.Why, f.Fix, f.Action = s, why, fix, actions[0]
		f.What = fmt.Sprintf(what, List(actions))
		c.add(f)
	}
	report(TooWide, wild, "it allows %s by wildcard, most of which nothing here calls", "the controller's pod may do far more than the controller does", "name the actions that are needed")
	report(TooWide, unused, "it allows %s, which the controller never calls", "what is never used can only be misused", "take it out")
	report(Advice, reads, "it allows %s, which the controller never calls; it only reads", "", "take it out")
	fix := "take it out, or leave it for when it is needed"
	if len(flags) > 0 {
		fix = "take it out; if you use it, give the check " + List(flags) + ", too, as kerf stack was given when it wrote it"
	}
	report(Advice, elsewhere, "it allows %s, which is not needed as things are", "", fix)
}

// reportsOf tells whether an action of a policy is reported as too wide already.
func (c *Comparison) reportsOf(policy, action string) bool {
	return slices.ContainsFunc(c.Report.Findings, func(f Finding) bool {
		return f.Severity == TooWide && f.Policy == policy && f.Action == action
	})
}

// readsOnly tells actions that show how things are set up, not what is in them.
func readsOnly(action string) bool {
	_, verb, _ := strings.Cut(action, ":")
	return strings.HasPrefix(verb, "Describe") || strings.HasPrefix(verb, "List") ||
		strings.HasPrefix(verb, "Get") && (strings.HasSuffix(verb, "Attributes") || strings.HasSuffix(verb, "Url") || strings.HasSuffix(verb, "Role"))
}

// wording advises on statements that say something else than those of the same name in the wanted stack, though they
// come to the same for every call that was tried.
func (c *Comparison) wording() {
	if _, partly := c.Found.unreadPermissions(); partly {
		return // the statement may be in what could not be read
	}
	wanted := StatementsBySID(c.Wanted.ControllerPolicies)
	found := StatementsBySID(c.Found.ControllerPolicies)
	shared := 0
	for sid := range wanted {
		if _, ok := found[sid]; ok {
			shared++
		}
	}
	if shared*2 < len(wanted) {
		return // of another hand; its words are its own
	}
	reported := map[string]bool{}
	for _, f := range c.Report.Findings {
		reported[f.Sid] = true
	}
	for _, p := range c.Wanted.ControllerPolicies {
		for _, w := range p.Document.Statements {
			if reported[w.Sid] || w.Sid == "" {
				continue
			}
			f, ok := found[w.Sid]
			if !ok {
				c.add(Finding{
					Severity: Advice, Area: AreaPermissions, Thing: p.Name + " / " + w.Sid, Policy: p.Name, Sid: w.Sid,
					What: fmt.Sprintf("there is no statement of this name (%s); what the controller calls is allowed without it", List(w.Actions)),
					Fix:  "add it, to be in line with the edition " + c.Report.Edition,
				})
				continue
			}
			if d := wordDifference(w, f.Statement); d != "" {
				c.add(Finding{
					Severity: Advice, Area: AreaPermissions, Thing: f.policy + " / " + w.Sid, Policy: f.policy, Sid: w.Sid,
					What: "it reads otherwise than in the edition " + c.Report.Edition + ", though it comes to the same for all that was tried: " + d,
					Fix:  "bring it in line, so that the next difference is easy to see",
				})
			}
		}
	}
}

// SIDStatement is a statement that has a Sid, with the policy that it is of.
type SIDStatement struct {
	iampolicy.Statement
	policy string
}

// StatementsBySID are the statements of policies that have a Sid.
func StatementsBySID(policies []iampolicy.Named) map[string]SIDStatement {
	out := map[string]SIDStatement{}
	for _, p := range policies {
		for _, s := range p.Document.Statements {
			if s.Sid != "" {
				out[s.Sid] = SIDStatement{s, p.Name}
			}
		}
	}
	return out
}

// wordDifference says what one statement has that another has not.
func wordDifference(wanted, found iampolicy.Statement) string {
	var out []string
	differ := func(what string, w, f []string) {
		for _, x := range w {
			if !slices.Contains(f, x) {
				out = append(out, what+" "+x+" is not there")
			}
		}
		for _, x := range f {
			if !slices.Contains(w, x) {
				out = append(out, what+" "+x+" is there besides")
			}
		}
	}
	differ("action", wanted.Actions, found.Actions)
	differ("resource", wanted.Resources, found.Resources)
	differ("condition", conditionTexts(wanted), conditionTexts(found))
	return List(out)
}

func conditionTexts(s iampolicy.Statement) []string {
	var out []string
	for _, c := range s.Conditions {
		values := slices.Sorted(slices.Values(c.Values))
		out = append(out, fmt.Sprintf("%s %s %s", c.Key, c.Operator, strings.Join(values, ",")))
	}
	return out
}
