package world

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kerf-sh/kerf/internal/awsmodel/iampolicy"
)

// Policy is a managed policy, of the account or of AWS.
type Policy struct {
	Name, ID, Path, ARN string
	Description         string
	AWS                 bool   // AWS's own
	DefaultVersion      string // v1
	Document            string // of the default version
	Attachments         int    // to roles
	BoundaryOf          int    // roles
	Created, Updated    time.Time
	Tags                map[string]string
}

// PolicyVersion is one text of a managed policy.
type PolicyVersion struct {
	ID       string // v1
	Document string
	Default  bool
	Created  time.Time
}

// PolicySpec says what policy to make. Path is "" for the root.
type PolicySpec struct {
	Name, Path, Description, Document string
	Tags                              map[string]string
}

// policyState is a managed policy with its versions, oldest first.
type policyState struct {
	Policy
	versions []policyVersion
	next     int // number of the next version
}

type policyVersion struct {
	PolicyVersion
	document *iampolicy.Document
}

func (p *policyState) inForce() *policyVersion {
	n := slices.IndexFunc(p.versions, func(v policyVersion) bool { return v.Default })
	return &p.versions[n] // there always is one
}

const maxPolicyVersions = 5

// identityPolicy reads a policy that is to be attached to a role.
func identityPolicy(text string) (*iampolicy.Document, error) {
	d, err := iampolicy.Parse([]byte(text))
	if err != nil {
		return nil, malformedPolicy(err)
	}
	if err := d.CheckIdentity(); err != nil {
		return nil, malformedPolicy(err)
	}
	return d, nil
}

func managedDocument(text string) (*iampolicy.Document, error) {
	d, err := identityPolicy(text)
	if err != nil {
		return nil, err
	}
	if iampolicy.Size([]byte(text)) > iampolicy.ManagedPolicyLimit {
		return nil, iamConflict("LimitExceeded", "Cannot exceed quota for PolicySize: %d", iampolicy.ManagedPolicyLimit)
	}
	return d, nil
}

// managedLocked finds a managed policy of the account or of AWS; nil if there is none.
func (w *World) managedLocked(arn string) *policyState {
	if p := w.iam.policies[arn]; p != nil {
		return p
	}
	return w.iam.aws[arn]
}

func noPolicy(arn string) *Error { return noSuchEntity("Policy %s was not found.", arn) }

// ownPolicyLocked finds a policy that the account may change.
func (w *World) ownPolicyLocked(arn string) (*policyState, error) {
	if p := w.iam.policies[arn]; p != nil {
		return p, nil
	}
	if w.iam.aws[arn] != nil {
		e := Errorf("AccessDenied", "The policy %s is AWS's own and cannot be changed.", arn)
		e.Status = 403
		return nil, e
	}
	return nil, noPolicy(arn)
}

// shownLocked is a policy with its attachments counted.
func (w *World) shownLocked(p *policyState) Policy {
	out := p.Policy
	out.Tags = maps.Clone(p.Tags)
	v := p.inForce()
	out.DefaultVersion, out.Document = v.ID, v.Document
	for _, r := range w.iam.roles {
		if slices.Contains(r.attached, p.ARN) {
			out.Attachments++
		}
		if r.Boundary == p.ARN {
			out.BoundaryOf++
		}
	}
	return out
}

// CreatePolicy makes a managed policy.
func (w *World) CreatePolicy(spec PolicySpec) (Policy, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	spec.Path = orRoot(spec.Path)
	if err := checkIAMName("policyName", spec.Name, spec.Path); err != nil {
		return Policy{}, err
	}
	if err := checkIAMTags(spec.Tags); err != nil {
		return Policy{}, err
	}
	d, err := managedDocument(spec.Document)
	if err != nil {
		return Policy{}, err
	}
	for _, p := range w.iam.policies {
		if strings.EqualFold(p.Name, spec.Name) {
			return Policy{}, iamConflict("EntityAlreadyExists", "A policy called %s already exists. Duplicate names are not allowed.", spec.Name)
		}
	}
	now := w.clock.Now()
	p := &policyState{next: 2, Policy: Policy{
		Name: spec.Name, ID: w.iamIDLocked("ANPA"), Path: spec.Path, ARN: w.iamARN("policy", spec.Path, spec.Name),
		Description: spec.Description, Created: now, Updated: now, Tags: maps.Clone(spec.Tags),
	}}
	p.versions = []policyVersion{{PolicyVersion{ID: "v1", Document: spec.Document, Default: true, Created: now}, d}}
	w.iam.policies[p.ARN] = p
	w.iamChangedLocked()
	return w.shownLocked(p), nil
}

// Policy returns a managed policy by ARN.
func (w *World) Policy(arn string) (Policy, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	p := w.managedLocked(arn)
	if p == nil {
		return Policy{}, noPolicy(arn)
	}
	return w.shownLocked(p), nil
}

// ManagedPolicies returns all managed policies, those of the account first, each by ARN.
func (w *World) ManagedPolicies() []Policy {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Concat(sorted(w.iam.policies, w.shownLocked), sorted(w.iam.aws, w.shownLocked))
}

// PolicyVersions returns the versions of a managed policy, newest first.
func (w *World) PolicyVersions(arn string) ([]PolicyVersion, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	p := w.managedLocked(arn)
	if p == nil {
		return nil, noPolicy(arn)
	}
	var out []PolicyVersion
	for _, v := range slices.Backward(p.versions) {
		out = append(out, v.PolicyVersion)
	}
	return out, nil
}

func (p *policyState) version(id string) int {
	return slices.IndexFunc(p.versions, func(v policyVersion) bool { return v.ID == id })
}

func noVersion(arn, id string) *Error {
	return noSuchEntity("Policy %s version %s does not exist or is not attachable.", arn, id)
}

// PolicyVersion returns one version of a managed policy.
func (w *World) PolicyVersion(arn, id string) (PolicyVersion, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	p := w.managedLocked(arn)
	if p == nil {
		return PolicyVersion{}, noPolicy(arn)
	}
	n := p.version(id)
	if n < 0 {
		return PolicyVersion{}, noVersion(arn, id)
	}
	return p.versions[n].PolicyVersion, nil
}

// CreatePolicyVersion adds a version to a policy, which has at most five, and may put it in force.
func (w *World) CreatePolicyVersion(arn, document string, inForce bool) (PolicyVersion, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	p, err := w.ownPolicyLocked(arn)
	if err != nil {
		return PolicyVersion{}, err
	}
	d, err := managedDocument(document)
	if err != nil {
		return PolicyVersion{}, err
	}
	if len(p.versions) == maxPolicyVersions {
		return PolicyVersion{}, iamConflict("LimitExceeded",
			"A managed policy can have up to %d versions. Before you create a new version, you must delete an existing version.", maxPolicyVersions)
	}
	v := policyVersion{PolicyVersion{ID: "v" + strconv.Itoa(p.next), Document: document, Created: w.clock.Now()}, d}
	p.next++
	p.versions = append(p.versions, v)
	p.Updated = v.Created
	if inForce {
		w.putInForceLocked(p, len(p.versions)-1)
	}
	return p.versions[len(p.versions)-1].PolicyVersion, nil
}

func (w *World) putInForceLocked(p *policyState, n int) {
	for i := range p.versions {
		p.versions[i].Default = i == n
	}
	w.iamChangedLocked()
}

// SetDefaultPolicyVersion puts a version in force.
func (w *World) SetDefaultPolicyVersion(arn, id string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	p, err := w.ownPolicyLocked(arn)
	if err != nil {
		return err
	}
	n := p.version(id)
	if n < 0 {
		return noVersion(arn, id)
	}
	w.putInForceLocked(p, n)
	return nil
}

// DeletePolicyVersion removes a version that is not in force.
func (w *World) DeletePolicyVersion(arn, id string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	p, err := w.ownPolicyLocked(arn)
	if err != nil {
		return err
	}
	n := p.version(id)
	switch {
	case n < 0:
		return noVersion(arn, id)
	case p.versions[n].Default:
		return iamConflict("DeleteConflict", "Cannot delete the default version of a policy.")
	}
	p.versions = slices.Delete(p.versions, n, n+1)
	return nil
}

// DeletePolicy removes a managed policy that nothing uses and that has one version only.
func (w *World) DeletePolicy(arn string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	p, err := w.ownPolicyLocked(arn)
	if err != nil {
		return err
	}
	used := w.shownLocked(p)
	switch {
	case used.Attachments > 0 || used.BoundaryOf > 0:
		return iamConflict("DeleteConflict", "Cannot delete a policy attached to entities.")
	case len(p.versions) > 1:
		return iamConflict("DeleteConflict", "This policy has more than one version. Before you delete a policy, you must delete the policy's versions. The default version is deleted with the policy.")
	}
	delete(w.iam.policies, arn)
	return nil
}

// TagPolicy adds or changes tags of a managed policy.
func (w *World) TagPolicy(arn string, tags map[string]string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	p, err := w.ownPolicyLocked(arn)
	if err != nil {
		return err
	}
	return retagIAM(&p.Tags, tags, nil)
}

// UntagPolicy removes tags of a managed policy.
func (w *World) UntagPolicy(arn string, keys []string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	p, err := w.ownPolicyLocked(arn)
	if err != nil {
		return err
	}
	return retagIAM(&p.Tags, nil, keys)
}

// RolesWithPolicy returns the roles that a managed policy is attached to, and those that it bounds.
func (w *World) RolesWithPolicy(arn string) (attached, bounded []Role, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.managedLocked(arn) == nil {
		return nil, nil, noPolicy(arn)
	}
	for _, name := range slices.Sorted(maps.Keys(w.iam.roles)) {
		r := w.iam.roles[name]
		if slices.Contains(r.attached, arn) {
			attached = append(attached, r.clone())
		}
		if r.Boundary == arn {
			bounded = append(bounded, r.clone())
		}
	}
	return attached, bounded, nil
}
