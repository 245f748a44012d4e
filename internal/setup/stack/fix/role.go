package fix

import (
	"slices"
	"strings"

	"github.com/kerf-sh/kerf/internal/awsmodel/awssetup"
	"github.com/kerf-sh/kerf/internal/awsmodel/iampolicy"
	"github.com/kerf-sh/kerf/internal/setup/stack/check"
)

// roles fixes trust and attached policies.
func (m *fixer) roles() {
	if i := m.roleIndex(m.c.Found.NodeRole); i >= 0 {
		r := &m.s.Roles[i]
		for _, f := range m.c.Report.Findings {
			switch {
			case f.Area != check.AreaNodeRole || f.Thing != r.Name:
			case f.Action == "sts:AssumeRole":
				r.Trust = m.c.Wanted.NodeRole.Trust
				m.touch(rolePart, i, "trust")
			case f.Severity == check.TooWide:
				if check.Powerful("arn:aws:iam::aws:policy/"+f.Policy) != "" {
					m.detach(i, f.Policy)
				}
			case f.Policy != "":
				r.ManagedPolicyARNs = append(slices.Clone(r.ManagedPolicyARNs), "arn:"+m.s.Partition+":iam::aws:policy/"+f.Policy)
				m.touch(rolePart, i, "managed")
			}
		}
	}
	i := m.roleIndex(m.c.Found.Controller)
	if i < 0 {
		return
	}
	for _, f := range m.c.Report.Findings {
		switch {
		case f.Area != check.AreaPermissions:
		case f.Policy == check.AdministratorPolicy, check.Powerful(f.Thing) != "":
			m.detach(i, f.Policy)
		}
	}
	m.trusted(i)
	if m.reported(check.AreaController, func(f check.Finding) bool {
		return (f.Action == "sts:AssumeRole" || f.Action == "sts:TagSession") && f.Severity == check.Missing
	}) {
		m.s.Roles[i].Trust = withPodActions(m.s.Roles[i].Trust)
		m.touch(rolePart, i, "trust")
	}
}

// trusted takes outsiders out of the trust policy of a role, unless nobody would be left.
func (m *fixer) trusted(i int) {
	r := &m.s.Roles[i]
	found := check.Outsiders(r.Trust, m.s.AccountID, "pods.eks.amazonaws.com")
	if len(found) == 0 || len(found) == len(r.Trust.Statements) {
		return
	}
	d := *r.Trust
	d.Statements = slices.DeleteFunc(slices.Clone(d.Statements), func(st iampolicy.Statement) bool {
		return st.Effect == iampolicy.Allow && check.Outside(st, m.s.AccountID, []string{"pods.eks.amazonaws.com"}) != ""
	})
	r.Trust = &d
	m.touch(rolePart, i, "trust")
}

func (m *fixer) detach(role int, policy string) {
	r := &m.s.Roles[role]
	r.ManagedPolicyARNs = slices.DeleteFunc(slices.Clone(r.ManagedPolicyARNs), func(arn string) bool { return strings.HasSuffix(arn, ":policy/"+policy) })
	m.touch(rolePart, role, "managed")
}

// withPodActions lets EKS Pod Identity do both things that it does with a role.
func withPodActions(d *iampolicy.Document) *iampolicy.Document {
	out := *d
	out.Statements = slices.Clone(d.Statements)
	for i := range out.Statements {
		s := &out.Statements[i]
		if s.Effect == iampolicy.Allow && s.Principal != nil && slices.Contains(s.Principal.Service, "pods.eks.amazonaws.com") {
			s.Actions = []string{"sts:AssumeRole", "sts:TagSession"}
		}
	}
	return &out
}

const podIdentityID = "KarpenterPodIdentityAssociation"

// mapping fixes what ties the roles to the cluster.
func (m *fixer) mapping() {
	if r := m.c.Found.NodeRole; r != nil && m.reported(check.AreaNodeRole, func(f check.Finding) bool { return strings.Contains(f.What, "access entry") }) {
		kind := m.c.Stack.AccessEntryType
		if kind == "" {
			kind = "EC2_LINUX"
		}
		i := slices.IndexFunc(m.s.AccessEntries, func(e awssetup.AccessEntry) bool {
			return e.PrincipalARN == r.ARN && (e.Cluster == "" || e.Cluster == m.c.Report.Cluster)
		})
		if i >= 0 {
			m.s.AccessEntries[i].Type, m.s.AccessEntries[i].Groups = kind, nil
			m.touch(accessEntryPart, i, "type")
		} else {
			m.s.AccessEntries = append(m.s.AccessEntries, awssetup.AccessEntry{LogicalID: "KarpenterNodeAccessEntry", Cluster: m.c.Report.Cluster, PrincipalARN: r.ARN, Type: kind})
			m.added(accessEntryPart, len(m.s.AccessEntries)-1)
		}
	}
	if r := m.c.Found.Controller; r != nil && m.c.Stack.PodIdentity && !m.c.Associated() {
		a := awssetup.PodIdentity{
			LogicalID: podIdentityID, Namespace: m.c.Stack.Options.Namespace, ServiceAccount: m.c.Stack.Options.ServiceAccount, RoleARN: r.ARN,
		}
		// A service account has one association at most.
		i := slices.IndexFunc(m.s.PodIdentities, func(x awssetup.PodIdentity) bool {
			return x.LogicalID == podIdentityID || x.Namespace == a.Namespace && x.ServiceAccount == a.ServiceAccount
		})
		if i >= 0 {
			a.LogicalID = m.s.PodIdentities[i].LogicalID
			m.s.PodIdentities = slices.Clone(m.s.PodIdentities)
			m.s.PodIdentities[i] = a
			m.touch(podIdentityPart, i, "role")
			return
		}
		m.s.PodIdentities = append(m.s.PodIdentities, a)
		m.added(podIdentityPart, len(m.s.PodIdentities)-1)
	}
}
