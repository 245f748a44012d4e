package world

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/kerf-sh/kerf/internal/awsmodel/iampolicy"
)

// Role is an IAM role.
type Role struct {
	Name, ID, Path, ARN string
	Description         string
	TrustPolicy         string        // JSON document
	MaxSession          time.Duration // longest that a session may be asked for
	Boundary            string        // ARN of the permissions boundary, if there is one
	Created             time.Time
	Tags                map[string]string
}

// RoleSpec says what role to make. Path is "" for the root, MaxSession 0 for an hour; a role without a trust policy can
// be assumed by nobody.
type RoleSpec struct {
	Name, Path, Description, TrustPolicy string
	MaxSession                           time.Duration
	Boundary                             string // ARN of a managed policy
	Tags                                 map[string]string
}

// roleState is a role with its policies.
type roleState struct {
	Role
	trust    *iampolicy.Document
	attached []string                // ARNs of managed policies in the order of attachment
	inline   map[string]inlinePolicy // by name
	service  string                  // that the role is linked to; such roles are changed by the service only

	effective iampolicy.Policies // as worked out after so many changes
	asOf      uint64
}

type inlinePolicy struct {
	text     string
	document *iampolicy.Document
}

func (r *roleState) clone() Role {
	c := r.Role
	c.Tags = maps.Clone(r.Tags)
	return c
}

// Limits of roles.
//
// Source: IAM User Guide, "IAM and AWS STS quotas", checked 2026-11.
const (
	maxAttached       = 10
	defaultMaxSession = time.Hour
	leastMaxSession   = time.Hour
	mostMaxSession    = 12 * time.Hour
)

func (w *World) roleLocked(name string) (*roleState, error) {
	if r := w.iam.roles[name]; r != nil {
		return r, nil
	}
	return nil, noSuchEntity("The role with name %s cannot be found.", name)
}

// ownRoleLocked finds a role that the account itself may change.
func (w *World) ownRoleLocked(name string) (*roleState, error) {
	r, err := w.roleLocked(name)
	if err == nil && r.service != "" {
		return nil, Errorf("UnmodifiableEntity", "Cannot perform the operation on the protected role '%s' - this role is only modifiable by AWS", name)
	}
	return r, err
}

// CreateRole makes a role. path is "" for the root; without a trust policy nobody can assume it.
func (w *World) CreateRole(name, path, trustPolicy string, tags map[string]string) (Role, error) {
	return w.CreateRoleAs(RoleSpec{Name: name, Path: path, TrustPolicy: trustPolicy, Tags: tags})
}

// CreateRoleAs makes a role.
func (w *World) CreateRoleAs(spec RoleSpec) (Role, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	spec.Path = orRoot(spec.Path)
	if err := checkIAMName("roleName", spec.Name, spec.Path); err != nil {
		return Role{}, err
	}
	if strings.HasPrefix(spec.Path, serviceRolePath) {
		return Role{}, Errorf("ValidationError", "The path %s is for roles that are linked to services.", serviceRolePath)
	}
	if err := checkIAMTags(spec.Tags); err != nil {
		return Role{}, err
	}
	if spec.MaxSession == 0 {
		spec.MaxSession = defaultMaxSession
	}
	if err := checkMaxSession(spec.MaxSession); err != nil {
		return Role{}, err
	}
	trust, err := w.trustLocked(spec.TrustPolicy)
	if err != nil {
		return Role{}, err
	}
	if spec.Boundary != "" && w.managedLocked(spec.Boundary) == nil {
		return Role{}, noSuchEntity("Scope ARN: %s does not exist or is not attachable.", spec.Boundary)
	}
	// Roles share one space of names, in which case does not count.
	for name := range w.iam.roles {
		if strings.EqualFold(name, spec.Name) {
			return Role{}, iamConflict("EntityAlreadyExists", "Role with name %s already exists.", spec.Name)
		}
	}
	r := &roleState{trust: trust, inline: map[string]inlinePolicy{}, Role: Role{
		Name: spec.Name, ID: w.iamIDLocked("AROA"), Path: spec.Path, ARN: w.iamARN("role", spec.Path, spec.Name),
		Description: spec.Description, TrustPolicy: spec.TrustPolicy, MaxSession: spec.MaxSession, Boundary: spec.Boundary,
		Created: w.clock.Now(), Tags: maps.Clone(spec.Tags),
	}}
	w.iam.roles[spec.Name] = r
	w.iamChangedLocked()
	return r.clone(), nil
}

func checkMaxSession(d time.Duration) *Error {
	if d < leastMaxSession || d > mostMaxSession {
		return Errorf("ValidationError", "1 validation error detected: Value '%d' at 'maxSessionDuration' failed to satisfy constraint: Member must have value between %d and %d",
			int(d/time.Second), int(leastMaxSession/time.Second), int(mostMaxSession/time.Second))
	}
	return nil
}

func malformedPolicy(err error) *Error {
	return Errorf("MalformedPolicyDocument", "%v", err)
}

// trustLocked reads a trust policy. The roles of the account that it names must exist.
func (w *World) trustLocked(text string) (*iampolicy.Document, error) {
	if text == "" {
		return nil, nil
	}
	if n := iampolicy.Size([]byte(text)); n > iampolicy.TrustPolicyLimit {
		return nil, iamConflict("LimitExceeded", "Cannot exceed quota for ACLSizePerRole: %d", iampolicy.TrustPolicyLimit)
	}
	d, err := iampolicy.Parse([]byte(text))
	if err != nil {
		return nil, malformedPolicy(err)
	}
	if err := d.CheckTrust(); err != nil {
		return nil, malformedPolicy(err)
	}
	own := w.iamARN("role", "/", "")
	for _, s := range d.Statements {
		if s.Principal == nil {
			continue
		}
		for _, p := range s.Principal.AWS {
			if !strings.HasPrefix(p, own) {
				continue
			}
			if r := w.iam.roles[p[strings.LastIndex(p, "/")+1:]]; r == nil || r.ARN != p {
				return nil, malformedPolicy(fmt.Errorf(`Invalid principal in policy: "AWS":"%s"`, p))
			}
		}
	}
	return d, nil
}

// DeleteRole removes a role with all that belongs to it, also one that a profile still holds: the profile keeps naming
// what is gone.
func (w *World) DeleteRole(name string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if _, err := w.roleLocked(name); err != nil {
		return err
	}
	delete(w.iam.roles, name)
	w.iamChangedLocked()
	return nil
}

// DeleteUnusedRole removes a role as IAM lets its users do it: neither policies nor instance profiles may hold it.
func (w *World) DeleteUnusedRole(name string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	r, err := w.ownRoleLocked(name)
	if err != nil {
		return err
	}
	for _, p := range w.iam.profiles {
		if p.RoleID == r.ID {
			return iamConflict("DeleteConflict", "Cannot delete entity, must remove roles from instance profile first.")
		}
	}
	switch {
	case len(r.attached) > 0:
		return iamConflict("DeleteConflict", "Cannot delete entity, must detach all policies first.")
	case len(r.inline) > 0:
		return iamConflict("DeleteConflict", "Cannot delete entity, must delete policies first.")
	}
	delete(w.iam.roles, name)
	w.iamChangedLocked()
	return nil
}

// Role returns a role by name.
func (w *World) Role(name string) (Role, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	r, err := w.roleLocked(name)
	if err != nil {
		return Role{}, err
	}
	return r.clone(), nil
}

// Roles returns all roles by name.
func (w *World) Roles() []Role {
	w.mu.Lock()
	defer w.mu.Unlock()
	return sorted(w.iam.roles, (*roleState).clone)
}

// UpdateRole changes the description and the longest session of a role; nil leaves as is. Of a
// role that is linked to a service only the description may change.
func (w *World) UpdateRole(name string, description *string, maxSession *time.Duration) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	r, err := w.roleLocked(name)
	if err != nil {
		return err
	}
	if maxSession != nil {
		if _, err := w.ownRoleLocked(name); err != nil {
			return err
		}
		if err := checkMaxSession(*maxSession); err != nil {
			return err
		}
		r.MaxSession = *maxSession
	}
	if description != nil {
		r.Description = *description
	}
	return nil
}

// SetTrustPolicy changes who may assume a role.
func (w *World) SetTrustPolicy(name, document string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	r, err := w.ownRoleLocked(name)
	if err != nil {
		return err
	}
	trust, err := w.trustLocked(document)
	if err != nil {
		return err
	}
	r.TrustPolicy, r.trust = document, trust
	return nil
}

// SetRoleBoundary puts a permissions boundary on a role; an empty ARN takes it away.
func (w *World) SetRoleBoundary(name, policyARN string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	r, err := w.ownRoleLocked(name)
	if err != nil {
		return err
	}
	if policyARN == "" && r.Boundary == "" {
		return noSuchEntity("The role with name %s has no permissions boundary.", name)
	}
	if policyARN != "" && w.managedLocked(policyARN) == nil {
		return noSuchEntity("Scope ARN: %s does not exist or is not attachable.", policyARN)
	}
	r.Boundary = policyARN
	w.iamChangedLocked()
	return nil
}

// TagRole adds or changes tags of a role.
func (w *World) TagRole(name string, tags map[string]string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	r, err := w.ownRoleLocked(name)
	if err != nil {
		return err
	}
	return retagIAM(&r.Tags, tags, nil)
}

// UntagRole removes tags of a role.
func (w *World) UntagRole(name string, keys []string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	r, err := w.ownRoleLocked(name)
	if err != nil {
		return err
	}
	return retagIAM(&r.Tags, nil, keys)
}

// AttachedPolicy is a managed policy as a role has it.
type AttachedPolicy struct{ Name, ARN string }

// AttachRolePolicy attaches a managed policy; one that is attached already stays so.
func (w *World) AttachRolePolicy(role, policyARN string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	r, err := w.ownRoleLocked(role)
	if err != nil {
		return err
	}
	if w.managedLocked(policyARN) == nil {
		return noSuchEntity("Policy %s does not exist or is not attachable.", policyARN)
	}
	if slices.Contains(r.attached, policyARN) {
		return nil
	}
	if len(r.attached) == maxAttached {
		return iamConflict("LimitExceeded", "Cannot exceed quota for PoliciesPerRole: %d", maxAttached)
	}
	r.attached = append(r.attached, policyARN)
	w.iamChangedLocked()
	return nil
}

// DetachRolePolicy detaches a managed policy.
func (w *World) DetachRolePolicy(role, policyARN string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	r, err := w.ownRoleLocked(role)
	if err != nil {
		return err
	}
	n := slices.Index(r.attached, policyARN)
	if n < 0 {
		return noSuchEntity("Policy %s was not found.", policyARN)
	}
	r.attached = slices.Delete(r.attached, n, n+1)
	w.iamChangedLocked()
	return nil
}

// AttachedRolePolicies returns the managed policies of a role in the order of their attachment.
func (w *World) AttachedRolePolicies(role string) ([]AttachedPolicy, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	r, err := w.roleLocked(role)
	if err != nil {
		return nil, err
	}
	var out []AttachedPolicy
	for _, arn := range r.attached {
		out = append(out, AttachedPolicy{Name: lastSegment(arn), ARN: arn})
	}
	return out, nil
}

func lastSegment(arn string) string { return arn[strings.LastIndex(arn, "/")+1:] }

// PutRolePolicy writes an inline policy of a role.
func (w *World) PutRolePolicy(role, name, document string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	r, err := w.ownRoleLocked(role)
	if err != nil {
		return err
	}
	if err := checkIAMName("policyName", name, "/"); err != nil {
		return err
	}
	d, err := identityPolicy(document)
	if err != nil {
		return err
	}
	size := iampolicy.Size([]byte(document))
	for other, p := range r.inline {
		if other != name {
			size += iampolicy.Size([]byte(p.text))
		}
	}
	if size > iampolicy.RoleInlineLimit {
		return iamConflict("LimitExceeded", "Maximum policy size of %d bytes exceeded for role %s", iampolicy.RoleInlineLimit, role)
	}
	r.inline[name] = inlinePolicy{document, d}
	w.iamChangedLocked()
	return nil
}

// RolePolicy returns an inline policy of a role.
func (w *World) RolePolicy(role, name string) (document string, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	r, err := w.roleLocked(role)
	if err != nil {
		return "", err
	}
	p, ok := r.inline[name]
	if !ok {
		return "", noSuchEntity("The role policy with name %s cannot be found.", name)
	}
	return p.text, nil
}

// RolePolicyNames returns the names of the inline policies of a role, sorted.
func (w *World) RolePolicyNames(role string) ([]string, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	r, err := w.roleLocked(role)
	if err != nil {
		return nil, err
	}
	return slices.Sorted(maps.Keys(r.inline)), nil
}

// DeleteRolePolicy removes an inline policy of a role.
func (w *World) DeleteRolePolicy(role, name string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	r, err := w.ownRoleLocked(role)
	if err != nil {
		return err
	}
	if _, ok := r.inline[name]; !ok {
		return noSuchEntity("The role policy with name %s cannot be found.", name)
	}
	delete(r.inline, name)
	w.iamChangedLocked()
	return nil
}
