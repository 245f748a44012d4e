package fix

import (
	"fmt"
	"slices"
	"strings"

	"github.com/kerf-sh/kerf/internal/awsmodel/awssetup"
	"github.com/kerf-sh/kerf/internal/awsmodel/iampolicy"
	"github.com/kerf-sh/kerf/internal/setup/stack/check"
	"github.com/kerf-sh/kerf/internal/setup/stack/setupfile"
)

// holder is a place that holds a policy of the controller.
type holder struct {
	policy, role, inline int // index of a managed policy, or of a role and its inline policy
	name                 string
	doc                  *iampolicy.Document
	changed              bool
	fixed                bool // it may not be changed
}

func (m *fixer) holders() []*holder {
	var out []*holder
	has := func(name string, d *iampolicy.Document) bool {
		return slices.ContainsFunc(m.c.Found.ControllerPolicies, func(n iampolicy.Named) bool { return n.Name == name && n.Document == d })
	}
	for i, p := range m.s.Policies {
		if p.Document != nil && has(p.Name, p.Document) {
			out = append(out, &holder{policy: i, role: -1, name: p.Name, doc: p.Document, fixed: m.ofOthers(&m.s.Policies[i])})
		}
	}
	for r := range m.s.Roles {
		for i, n := range m.s.Roles[r].Inline {
			if has(n.Name, n.Document) {
				out = append(out, &holder{policy: -1, role: r, inline: i, name: n.Name, doc: n.Document})
			}
		}
	}
	return out
}

// ofOthers tells whether a policy of an account is not this cluster's alone to change: AWS's own, and one that more have than
// the roles that were read.
func (m *fixer) ofOthers(p *awssetup.Policy) bool {
	return m.kind == setupfile.KindLive && (strings.Contains(p.ARN, ":iam::aws:policy/") || p.OfOthers())
}

// ownPolicy says of findings about policies of others what there is to do.
func (m *fixer) ownPolicy(left []check.Finding) {
	for i := range left {
		k := slices.IndexFunc(m.s.Policies, func(p awssetup.Policy) bool { return left[i].Policy != "" && p.Name == left[i].Policy })
		if k >= 0 && left[i].Area == check.AreaPermissions && m.ofOthers(&m.s.Policies[k]) {
			left[i].Fix = "the policy is also attached to others: give this role a policy of its own in its place"
			if strings.Contains(m.s.Policies[k].ARN, ":iam::aws:policy/") {
				left[i].Fix = "the policy is AWS's: give this role a policy of its own in its place"
			}
		}
	}
}

// policies fixes the controller's permissions: statements that are reported are replaced by those of the same name that
// are wanted, or dropped where nothing has their name, and what is then still refused is added. The rest stays as it is.
func (m *fixer) policies() {
	all := m.holders()
	wanted := check.StatementsBySID(m.c.Wanted.ControllerPolicies)
	placed := map[string]bool{}
	for _, h := range all {
		m.replaceReported(h, wanted, placed)
	}
	for _, p := range m.c.Wanted.ControllerPolicies {
		for _, st := range p.Document.Statements {
			if !placed[st.Sid] && m.lacking(st.Sid, all) {
				m.place(&all, p.Name, st)
			}
		}
	}
	m.shrink(&all)
	// From the last to the first, for inline policies that go away leave no gap behind.
	for _, h := range slices.Backward(all) {
		switch {
		case h.changed && len(h.doc.Statements) == 0:
			m.drop(h)
		case h.changed:
			m.store(h)
		}
	}
}

// drop takes away a policy of which nothing is left: IAM refuses documents without statements.
func (m *fixer) drop(h *holder) {
	if h.policy < 0 {
		r := &m.s.Roles[h.role]
		r.Inline = slices.Delete(slices.Clone(r.Inline), h.inline, h.inline+1)
		m.touch(rolePart, h.role, "drop inline "+h.name)
		return
	}
	p := &m.s.Policies[h.policy]
	roles := slices.Clone(p.AttachedTo)
	for i := range m.s.Roles {
		r := &m.s.Roles[i]
		if slices.Contains(r.ManagedPolicyARNs, p.ARN) {
			roles = appendNew(roles, r.Name)
			r.ManagedPolicyARNs = slices.DeleteFunc(slices.Clone(r.ManagedPolicyARNs), func(arn string) bool { return arn == p.ARN })
		}
	}
	m.dropped[p.ARN] = roles
	p.Document, p.Characters, p.AttachedTo = nil, 0, nil
	m.touch(policyPart, h.policy, "drop")
}

// needless are the policies that were taken away, for what can only be written without them.
func (m *fixer) needless() []check.Finding {
	var out []check.Finding
	add := func(name string) {
		out = append(out, check.Finding{
			Severity: check.TooWide, Area: check.AreaPermissions, Thing: name, Policy: name, What: "nothing in it is needed, and IAM takes no policy without statements", Fix: "take it off its roles and delete it",
		})
	}
	for _, c := range m.changes {
		if c.part == policyPart && c.has("drop") {
			add(m.s.Policies[c.index].Name)
		}
		for _, a := range c.attrs {
			if name, ok := strings.CutPrefix(a, "drop inline "); ok {
				add(name)
			}
		}
	}
	return out
}

func (m *fixer) replaceReported(h *holder, wanted map[string]check.SIDStatement, placed map[string]bool) {
	var out []iampolicy.Statement
	for _, st := range h.doc.Statements {
		w, known := wanted[st.Sid]
		switch {
		case h.fixed:
			out = append(out, st)
		case st.Effect != iampolicy.Allow || !m.faulty(h.name, st):
			out = append(out, st)
			placed[st.Sid] = placed[st.Sid] || known && st.Effect == iampolicy.Allow
		case known && !placed[st.Sid]:
			out = append(out, w.Statement)
			placed[st.Sid], h.changed = true, true
		default:
			h.changed = true
		}
	}
	h.doc = &iampolicy.Document{Version: "2012-10-17", ID: h.doc.ID, Statements: out}
}

// faulty tells whether a statement is reported.
func (m *fixer) faulty(policy string, st iampolicy.Statement) bool {
	return slices.ContainsFunc(m.c.Report.Findings, func(f check.Finding) bool {
		switch {
		case f.Area != check.AreaPermissions:
			return false
		case f.Severity == check.Missing:
			return st.Sid != "" && f.Sid == st.Sid
		case f.Policy != policy:
			return false
		case st.Sid != "":
			return f.Sid == st.Sid
		}
		return f.Sid == "" && (f.Thing == check.StatementName(policy, st) || slices.Contains(st.Actions, f.Action) || slices.Contains(st.Actions, "*"))
	})
}

// lacking tells whether something that the wanted statement grants is refused, or that it is not there is reported.
func (m *fixer) lacking(sid string, all []*holder) bool {
	for _, f := range m.c.Report.Findings {
		if f.Area == check.AreaPermissions && f.Severity == check.Advice && f.Sid == sid {
			return true
		}
	}
	var documents []iampolicy.Named
	for _, h := range all {
		documents = append(documents, iampolicy.Named{Name: h.name, Document: h.doc})
	}
	before := m.c.Found.ControllerPolicies
	m.c.Found.ControllerPolicies = documents
	defer func() { m.c.Found.ControllerPolicies = before }()
	for _, n := range m.c.Needs() {
		if n.SID != sid {
			continue
		}
		if m.c.Lacks(n) {
			return true
		}
	}
	return false
}

// place adds a statement: to the policy that it belongs to if that is there, else to the one that holds most of the
// others as long as it fits, else to a new one.
func (m *fixer) place(all *[]*holder, name string, st iampolicy.Statement) {
	fits := func(h *holder) bool {
		d := iampolicy.Document{Version: "2012-10-17", Statements: append(slices.Clone(h.doc.Statements), st)}
		return iampolicy.Size(d.JSON()) <= iampolicy.ManagedPolicyLimit
	}
	var into *holder
	for _, h := range *all {
		if h.name == name && !h.fixed && fits(h) {
			into = h
		}
	}
	if into == nil {
		for _, h := range *all {
			if h.policy >= 0 && !h.fixed && fits(h) && (into == nil || len(h.doc.Statements) > len(into.doc.Statements)) && !m.belongsElsewhere(h) {
				into = h
			}
		}
	}
	if into == nil {
		into = m.newPolicy(name)
		*all = append(*all, into)
	}
	into.doc = &iampolicy.Document{Version: "2012-10-17", ID: into.doc.ID, Statements: append(slices.Clone(into.doc.Statements), st)}
	into.changed = true
}

// belongsElsewhere tells policies of the wanted stack's own names from policies of others, which take any statement.
func (m *fixer) belongsElsewhere(h *holder) bool {
	return slices.ContainsFunc(m.c.Wanted.ControllerPolicies, func(n iampolicy.Named) bool { return n.Name == h.name })
}

func (m *fixer) newPolicy(name string) *holder {
	taken := func(name string) bool {
		return slices.ContainsFunc(m.s.Policies, func(p awssetup.Policy) bool { return p.Name == name })
	}
	unique := name
	for i := 2; taken(unique); i++ {
		unique = fmt.Sprintf("%s-%d", name, i)
	}
	p := awssetup.Policy{Name: unique, LogicalID: m.logicalID(m.policyID(name)), ARN: m.c.Where().Global("iam", "policy/"+unique)}
	if r := m.c.Found.Controller; r != nil {
		p.AttachedTo = []string{r.Name}
	}
	m.s.Policies = append(m.s.Policies, p)
	m.added(policyPart, len(m.s.Policies)-1)
	return &holder{policy: len(m.s.Policies) - 1, role: -1, name: unique, doc: &iampolicy.Document{Version: "2012-10-17"}, changed: true}
}

// policyID is the logical ID that the wanted stack has for a policy.
func (m *fixer) policyID(name string) string {
	for _, p := range m.c.Wanted.Policies {
		if p.Name == name {
			return p.LogicalID
		}
	}
	return "KarpenterControllerPolicy"
}

// shrink moves statements off policies that IAM does not take for their size.
func (m *fixer) shrink(all *[]*holder) {
	for _, h := range slices.Clone(*all) {
		if h.policy < 0 || h.fixed {
			continue
		}
		for iampolicy.Size(h.doc.JSON()) > iampolicy.ManagedPolicyLimit && len(h.doc.Statements) > 1 {
			last := h.doc.Statements[len(h.doc.Statements)-1]
			h.doc = &iampolicy.Document{Version: h.doc.Version, ID: h.doc.ID, Statements: slices.Clone(h.doc.Statements[:len(h.doc.Statements)-1])}
			h.changed = true
			m.place(all, m.home(last.Sid, h.name), last)
		}
	}
}

// home is the policy of the wanted stack that a statement belongs to.
func (m *fixer) home(sid, otherwise string) string {
	for _, p := range m.c.Wanted.ControllerPolicies {
		for _, st := range p.Document.Statements {
			if st.Sid == sid && p.Name != otherwise {
				return p.Name
			}
		}
	}
	return otherwise
}

// store writes a changed document back.
func (m *fixer) store(h *holder) {
	if h.policy >= 0 {
		p := &m.s.Policies[h.policy]
		p.Document, p.Characters = h.doc, iampolicy.Size(h.doc.JSON())
		m.touch(policyPart, h.policy, "document")
		return
	}
	r := &m.s.Roles[h.role]
	r.Inline = slices.Clone(r.Inline)
	r.Inline[h.inline].Document = h.doc
	m.touch(rolePart, h.role, "inline "+h.name)
}

// logicalID is an ID that no other resource has.
func (m *fixer) logicalID(wanted string) string {
	taken := map[string]bool{}
	for _, id := range m.ids() {
		taken[id] = true
	}
	id := wanted
	for i := 2; taken[id]; i++ {
		id = fmt.Sprintf("%s%d", wanted, i)
	}
	return id
}

func (m *fixer) ids() []string {
	var out []string
	for _, x := range m.s.Roles {
		out = append(out, x.LogicalID)
	}
	for _, x := range m.s.Policies {
		out = append(out, x.LogicalID)
	}
	for _, x := range m.s.Queues {
		out = append(out, x.LogicalID)
	}
	for _, x := range m.s.Keys {
		out = append(out, x.LogicalID)
	}
	for _, x := range m.s.Rules {
		out = append(out, x.LogicalID)
	}
	for _, x := range m.s.Alarms {
		out = append(out, x.LogicalID)
	}
	return out
}
