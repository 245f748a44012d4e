package world

import (
	"maps"
	"slices"
	"strings"

	"github.com/kerf-sh/kerf/internal/awsmodel/iampolicy"
)

// PoliciesOf returns the policies that are attached to a principal, a role or a session of one, with the permissions
// boundary. The root of the account may do everything; whom the account does not know may do nothing. What is returned
// is shared and must not be changed.
//
// Cost: a lookup, unless permissions have changed since the principal's were last asked for.
func (w *World) PoliciesOf(principalARN string) iampolicy.Policies {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.policiesOfLocked(principalARN)
}

func (w *World) policiesOfLocked(principalARN string) iampolicy.Policies {
	if principalARN == w.iamARN("root", "", "") {
		return iampolicy.Policies{Identity: everything}
	}
	if principalARN == w.adminARN() {
		return iampolicy.Policies{Identity: []iampolicy.Named{{Name: "AdministratorAccess", Document: everything[0].Document}}}
	}
	r := w.principalRoleLocked(principalARN)
	if r == nil {
		return iampolicy.Policies{}
	}
	if r.asOf != w.iam.changes {
		r.effective, r.asOf = w.effectiveLocked(r), w.iam.changes
	}
	return r.effective
}

var everything = []iampolicy.Named{{Name: "account root", Document: &iampolicy.Document{
	Version:    iampolicy.Version2012,
	Statements: []iampolicy.Statement{{Effect: iampolicy.Allow, Actions: []string{"*"}, Resources: []string{"*"}}},
}}}

// principalRoleLocked finds the role that a principal is or is a session of.
func (w *World) principalRoleLocked(principalARN string) *roleState {
	if role, _, ok := w.sessionOf(principalARN); ok {
		return w.iam.roles[role]
	}
	if r := w.iam.roles[lastSegment(principalARN)]; r != nil && r.ARN == principalARN {
		return r
	}
	return nil
}

// sessionOf reads the ARN of a session of a role of the account.
func (w *World) sessionOf(principalARN string) (role, session string, ok bool) {
	rest, ok := strings.CutPrefix(principalARN, w.sessionARN("", ""))
	if !ok {
		return "", "", false
	}
	return strings.Cut(rest, "/")
}

// sessionARN is the ARN of a session; without a role, what those of all begin with.
func (w *World) sessionARN(role, session string) string {
	prefix := "arn:" + w.Partition() + ":sts::" + w.opts.Account + ":assumed-role/"
	if role == "" {
		return prefix
	}
	return prefix + role + "/" + session
}

func (w *World) effectiveLocked(r *roleState) iampolicy.Policies {
	var out iampolicy.Policies
	for _, arn := range r.attached {
		if p := w.managedLocked(arn); p != nil {
			out.Identity = append(out.Identity, iampolicy.Named{Name: p.Name, Document: p.inForce().document})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(r.inline)) {
		out.Identity = append(out.Identity, iampolicy.Named{Name: name, Document: r.inline[name].document})
	}
	if r.Boundary != "" {
		out.Boundary = &iampolicy.Document{} // one that is gone allows nothing
		if p := w.managedLocked(r.Boundary); p != nil {
			out.Boundary = p.inForce().document
		}
	}
	return out
}

// RoleOf returns the role that a principal is or is a session of.
func (w *World) RoleOf(principalARN string) (Role, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	r := w.principalRoleLocked(principalARN)
	if r == nil {
		return Role{}, false
	}
	return r.clone(), true
}
