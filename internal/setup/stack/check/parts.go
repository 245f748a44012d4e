package check

import (
	"slices"
	"strings"

	"github.com/kerf-sh/kerf/internal/awsmodel/awssetup"
	"github.com/kerf-sh/kerf/internal/awsmodel/iampolicy"
)

// Parts are the pieces of a set-up by the role they play.
type Parts struct {
	*awssetup.Setup
	Queue              *awssetup.Queue
	NodeRole           *awssetup.Role
	Controller         *awssetup.Role // nil if the set-up does not say which it is
	ControllerPolicies []iampolicy.Named
	boundary           *iampolicy.Document
	// boundaryUnread is set where the controller's role has a permissions boundary that the set-up does not have.
	boundaryUnread bool
	// foreign are managed policies of the controller's role whose text the set-up does not have.
	foreign []string
}

// Hints name what cannot be told from the set-up alone.
type Hints struct {
	Queue          string // name, ARN or URL
	NodeRole       string // name or ARN
	ControllerRole string // name or ARN
	Namespace      string
	ServiceAccount string
}

func findParts(s *awssetup.Setup, h Hints) *Parts {
	p := &Parts{Setup: s}
	p.Queue = findQueue(s, h.Queue)
	p.NodeRole = findNodeRole(s, h.NodeRole)
	p.Controller = p.findController(h)
	p.collectPolicies()
	return p
}

// findQueue is the queue that was named, else the one that rules send events of instances to, else the one with the name
// or tag of the cluster, else the only one.
func findQueue(s *awssetup.Setup, named string) *awssetup.Queue {
	for i := range s.Queues {
		if q := &s.Queues[i]; named != "" && (q.Name == named || q.ARN == named || q.URL == named) {
			return q
		}
	}
	if named != "" {
		return nil
	}
	dead := map[string]bool{}
	for _, q := range s.Queues {
		dead[q.DeadLetter] = true
	}
	count := map[string]int{}
	for _, r := range s.Rules {
		for _, t := range r.Targets {
			dead[t.DeadLetter] = true
			if catchesAny(r.Pattern, s.Region, s.AccountID) {
				count[t.ARN]++
			}
		}
	}
	var best *awssetup.Queue
	for i := range s.Queues {
		if q := &s.Queues[i]; count[q.ARN] > 0 && (best == nil || count[q.ARN] > count[best.ARN]) {
			best = q
		}
	}
	if best != nil {
		return best
	}
	var alive []*awssetup.Queue
	for i := range s.Queues {
		q := &s.Queues[i]
		if dead[q.ARN] {
			continue
		}
		if s.ClusterName != "" && (q.Name == s.ClusterName || q.Tags["karpenter.sh/discovery"] == s.ClusterName) {
			return q
		}
		alive = append(alive, q)
	}
	if len(alive) == 1 {
		return alive[0]
	}
	return nil
}

func findNodeRole(s *awssetup.Setup, named string) *awssetup.Role {
	if named != "" {
		return s.RoleBy(named)
	}
	var forEC2 []*awssetup.Role
	for i := range s.Roles {
		r := &s.Roles[i]
		if trusts(r.Trust, "ec2.") || strings.HasPrefix(r.Name, "KarpenterNodeRole-") {
			forEC2 = append(forEC2, r)
		}
	}
	// Other instances may have roles, too; the controller's policy says which one it hands over.
	for _, r := range forEC2 {
		if r.Name == "KarpenterNodeRole-"+s.ClusterName {
			return r
		}
	}
	for _, d := range s.Documents() {
		for _, st := range d.Document.Statements {
			for _, r := range forEC2 {
				if slices.Contains(st.Actions, "iam:PassRole") && slices.Contains(st.Resources, r.ARN) {
					return r
				}
			}
		}
	}
	if len(forEC2) > 0 {
		return forEC2[0]
	}
	return nil
}

// trusts tells whether a trust policy names a service whose name begins so.
func trusts(d *iampolicy.Document, service string) bool {
	if d == nil {
		return false
	}
	for _, st := range d.Statements {
		if st.Principal == nil || st.Effect != iampolicy.Allow {
			continue
		}
		if slices.ContainsFunc(st.Principal.Service, func(p string) bool { return strings.HasPrefix(p, service) }) {
			return true
		}
	}
	return false
}

func (p *Parts) findController(h Hints) *awssetup.Role {
	if h.ControllerRole != "" {
		return p.Setup.RoleBy(h.ControllerRole)
	}
	for _, a := range p.PodIdentities {
		if a.ServiceAccount == h.ServiceAccount && (h.Namespace == "" || a.Namespace == h.Namespace) {
			if r := p.Setup.RoleBy(a.RoleARN); r != nil {
				return r
			}
		}
	}
	for i := range p.Roles {
		r := &p.Roles[i]
		if r != p.NodeRole && trustsServiceAccount(r.Trust, h.ServiceAccount) {
			return r
		}
	}
	for i := range p.Roles {
		r := &p.Roles[i]
		if r != p.NodeRole && (trusts(r.Trust, "pods.eks.") || len(identityProviders(r.Trust)) > 0) && strings.Contains(strings.ToLower(r.Name), "karpenter") {
			return r
		}
	}
	return nil
}

// identityProviders are those of clusters that a trust policy lets in.
func identityProviders(d *iampolicy.Document) []string {
	var out []string
	if d == nil {
		return nil
	}
	for _, st := range d.Statements {
		if st.Principal == nil || st.Effect != iampolicy.Allow {
			continue
		}
		for _, p := range st.Principal.Federated {
			if strings.Contains(p, ":oidc-provider/") {
				out = appendNew(out, p)
			}
		}
	}
	return out
}

func trustsServiceAccount(d *iampolicy.Document, account string) bool {
	return subjectOf(d, account) != ""
}

// subjectOf is the token's subject that a trust policy names first for a service account, in whatever namespace; empty for none.
func subjectOf(d *iampolicy.Document, account string) string {
	if d == nil {
		return ""
	}
	for _, st := range d.Statements {
		for _, c := range st.Conditions {
			if !strings.HasSuffix(c.Key, ":sub") {
				continue
			}
			for _, v := range c.Values {
				if strings.HasPrefix(v, "system:serviceaccount:") && strings.HasSuffix(v, ":"+account) {
					return v
				}
			}
		}
	}
	return ""
}

// collectPolicies gathers the policies of the controller: those of its role if that is known, else all that are not of
// nodes.
func (p *Parts) collectPolicies() {
	if p.Controller != nil {
		p.ControllerPolicies = append(p.ControllerPolicies, p.Controller.Inline...)
		for _, m := range p.Policies {
			if m.Document != nil && (slices.Contains(p.Controller.ManagedPolicyARNs, m.ARN) || slices.Contains(m.AttachedTo, p.Controller.Name)) {
				p.ControllerPolicies = append(p.ControllerPolicies, iampolicy.Named{Name: m.Name, Document: m.Document})
			}
		}
		for _, arn := range p.Controller.ManagedPolicyARNs {
			if !slices.ContainsFunc(p.Policies, func(m awssetup.Policy) bool { return m.ARN == arn }) {
				p.foreign = append(p.foreign, arn)
			}
		}
		if p.Controller.Boundary != "" {
			for _, m := range p.Policies {
				if m.ARN == p.Controller.Boundary {
					p.boundary = m.Document
				}
			}
			p.boundaryUnread = p.boundary == nil
		}
		if len(p.ControllerPolicies) > 0 {
			return
		}
	}
	for _, m := range p.Policies {
		if m.Document != nil && !p.onlyOfNodes(m) {
			p.ControllerPolicies = append(p.ControllerPolicies, iampolicy.Named{Name: m.Name, Document: m.Document})
		}
	}
	for i := range p.Roles {
		if r := &p.Roles[i]; r != p.NodeRole && (r.Trust == nil || !trusts(r.Trust, "ec2.")) {
			p.ControllerPolicies = append(p.ControllerPolicies, r.Inline...)
		}
	}
}

func (p *Parts) onlyOfNodes(m awssetup.Policy) bool {
	if p.NodeRole == nil {
		return false
	}
	attached := slices.Contains(m.AttachedTo, p.NodeRole.Name) || slices.Contains(p.NodeRole.ManagedPolicyARNs, m.ARN)
	others := slices.ContainsFunc(m.AttachedTo, func(name string) bool { return name != p.NodeRole.Name })
	return attached && !others
}

// unread finds why something could not be read, if it could not. All words must be in what the gap is about.
func (p *Parts) unread(words ...string) (awssetup.Gap, bool) {
	for _, g := range p.Gaps {
		text := strings.ToLower(g.What)
		if strings.HasSuffix(text, "(its tags)") || strings.HasSuffix(text, "(its aliases)") {
			continue // nothing hangs on these
		}
		if !slices.ContainsFunc(words, func(w string) bool { return !containsName(text, strings.ToLower(w)) }) {
			return g, true
		}
	}
	return awssetup.Gap{}, false
}

// unreadPermissions finds why policies of identities could not be read.
func (p *Parts) unreadPermissions() (awssetup.Gap, bool) {
	for _, g := range p.Gaps {
		for _, prefix := range []string{"role", "policy", "document of policy", "inline policy"} {
			if strings.HasPrefix(g.What, prefix) {
				return g, true
			}
		}
	}
	if len(p.foreign) > 0 {
		return awssetup.Gap{What: "the text of policy " + p.foreign[0], Why: "it is not here"}, true
	}
	return awssetup.Gap{}, false
}

// containsName tells whether a text has a name in it, not as part of a longer one.
func containsName(text, name string) bool {
	for rest := text; ; {
		_, after, ok := strings.Cut(rest, name)
		if !ok {
			return false
		}
		if after == "" || !strings.ContainsAny(after[:1], "abcdefghijklmnopqrstuvwxyz0123456789_-") || after[0] == 's' {
			return true
		}
		rest = after
	}
}
