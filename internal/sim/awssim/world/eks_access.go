package world

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"
)

// AccessEntry maps a principal of the account to the users and groups of a cluster.
type AccessEntry struct {
	Cluster, PrincipalARN, ARN string
	Type                       string // STANDARD, EC2_LINUX, EC2_WINDOWS, …
	Username                   string
	Groups                     []string
	Policies                   []AccessPolicy // by ARN
	Created, Modified          time.Time
	Tags                       map[string]string
}

// AccessPolicy is one of EKS's own sets of Kubernetes permissions, given to an access entry.
type AccessPolicy struct {
	ARN               string
	Scope             string // cluster or namespace
	Namespaces        []string
	Created, Modified time.Time
}

// PodIdentity gives a role to the pods of a service account.
type PodIdentity struct {
	Cluster, ID, ARN          string
	Namespace, ServiceAccount string
	RoleARN, TargetRoleARN    string
	DisableSessionTags        bool
	Created, Modified         time.Time
	Tags                      map[string]string
}

func (e *AccessEntry) clone() AccessEntry {
	c := *e
	c.Groups, c.Policies, c.Tags = slices.Clone(e.Groups), slices.Clone(e.Policies), maps.Clone(e.Tags)
	return c
}

func (p *PodIdentity) clone() PodIdentity {
	c := *p
	c.Tags = maps.Clone(p.Tags)
	return c
}

const (
	accessStandard = "STANDARD"
	accessLinux    = "EC2_LINUX"
	accessWindows  = "EC2_WINDOWS"
)

// accessGroups are the groups that EKS gives to the instances of each type of entry; entries of these types take no groups
// and no name from the user.
//
// Source: Amazon EKS User Guide, "Create access entries", checked 2026-11.
var accessGroups = map[string][]string{
	accessLinux:     {"system:nodes"},
	accessWindows:   {"eks:kube-proxy-windows", "system:nodes"},
	"FARGATE_LINUX": {"system:node-proxier", "system:nodes"},
	"EC2":           {"system:nodes"},
	"HYBRID_LINUX":  {"system:nodes"},
}

var principalARN = regexp.MustCompile(`^arn:[a-z-]+:iam::\d{12}:(root|(role|user)/.+)$`)

func eksNotFound(format string, args ...any) *Error {
	e := Errorf("ResourceNotFoundException", format, args...)
	e.Status = statusNotFound
	return e
}

func eksInUse(format string, args ...any) *Error {
	e := Errorf("ResourceInUseException", format, args...)
	e.Status = statusConflict
	return e
}

func eksInvalid(format string, args ...any) *Error {
	return Errorf("InvalidParameterException", format, args...)
}

// Clusters returns the names of all clusters.
func (w *World) Clusters() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Sorted(maps.Keys(w.eks.clusters))
}

func (w *World) clusterLocked(name string) error {
	if w.eks.clusters[name] == nil {
		return eksNotFound("No cluster found for name: %s.", name)
	}
	return nil
}

func accessKey(cluster, principal string) string { return cluster + "|" + principal }

// roleOfARN finds a role of the account by its whole ARN.
func (w *World) roleOfARNLocked(arn string) bool {
	r := w.iam.roles[arn[strings.LastIndex(arn, "/")+1:]]
	return r != nil && r.ARN == arn
}

// CreateAccessEntry lets a principal into a cluster.
func (w *World) CreateAccessEntry(e AccessEntry) (AccessEntry, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.clusterLocked(e.Cluster); err != nil {
		return AccessEntry{}, err
	}
	if e.Type == "" {
		e.Type = accessStandard
	}
	if err := w.checkEntryLocked(&e); err != nil {
		return AccessEntry{}, err
	}
	key := accessKey(e.Cluster, e.PrincipalARN)
	if w.eks.entries[key] != nil {
		return AccessEntry{}, eksInUse("The specified access entry resource is already in use on this cluster.")
	}
	kind, name, _ := strings.Cut(e.PrincipalARN[strings.LastIndex(e.PrincipalARN, ":")+1:], "/")
	e.ARN = "arn:" + w.Partition() + ":eks:" + w.opts.Region + ":" + w.opts.Account + ":access-entry/" + e.Cluster + "/" + kind + "/" +
		w.opts.Account + "/" + name + "/" + w.uuidLocked()
	e.Created, e.Modified, e.Policies = w.clock.Now(), w.clock.Now(), nil
	c := e.clone()
	w.eks.entries[key] = &c
	return c.clone(), nil
}

// checkEntryLocked refuses what EKS refuses and fills in what EKS gives.
func (w *World) checkEntryLocked(e *AccessEntry) error {
	if !principalARN.MatchString(e.PrincipalARN) {
		return eksInvalid("The specified principalArn is invalid: invalid principal format.")
	}
	isRole := strings.Contains(e.PrincipalARN, ":role/")
	if isRole && strings.Contains(e.PrincipalARN, ":"+w.opts.Account+":") && !w.roleOfARNLocked(e.PrincipalARN) {
		return eksInvalid("The specified principalArn is invalid: invalid principal.")
	}
	groups, instance := accessGroups[e.Type]
	switch {
	case e.Type != accessStandard && !instance:
		return eksInvalid("The specified type %s is not one of STANDARD, EC2_LINUX, EC2_WINDOWS, FARGATE_LINUX, EC2, HYBRID_LINUX.", e.Type)
	case instance && !isRole:
		return eksInvalid("Access entries of type %s are for roles.", e.Type)
	case instance && (len(e.Groups) > 0 || e.Username != ""):
		return eksInvalid("Can not specify kubernetesGroups or username for access entries of type %s.", e.Type)
	case instance:
		e.Groups, e.Username = groups, "system:node:{{EC2PrivateDNSName}}"
		return nil
	}
	for _, g := range e.Groups {
		if strings.HasPrefix(g, "system:") || strings.HasPrefix(g, "eks:") || strings.HasPrefix(g, "aws:") || strings.HasPrefix(g, "amazon:") || strings.HasPrefix(g, "iam:") {
			return eksInvalid("The kubernetes group name %s is invalid, it cannot start with system:, eks:, aws:, amazon: or iam:.", g)
		}
	}
	if e.Username == "" {
		e.Username = e.PrincipalARN
		if isRole {
			name := e.PrincipalARN[strings.LastIndex(e.PrincipalARN, "/")+1:]
			e.Username = "arn:" + w.Partition() + ":sts::" + w.opts.Account + ":assumed-role/" + name + "/{{SessionName}}"
		}
	}
	return nil
}

func (w *World) entryLocked(cluster, principal string) (*AccessEntry, error) {
	if err := w.clusterLocked(cluster); err != nil {
		return nil, err
	}
	if e := w.eks.entries[accessKey(cluster, principal)]; e != nil {
		return e, nil
	}
	return nil, eksNotFound("The specified principalArn could not be found. You can view your available access entries with 'list-access-entries'.")
}

// AccessEntry returns the entry of a principal.
func (w *World) AccessEntry(cluster, principal string) (AccessEntry, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	e, err := w.entryLocked(cluster, principal)
	if err != nil {
		return AccessEntry{}, err
	}
	return e.clone(), nil
}

// AccessEntries returns the entries of a cluster by principal.
func (w *World) AccessEntries(cluster string) ([]AccessEntry, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.clusterLocked(cluster); err != nil {
		return nil, err
	}
	all := sorted(w.eks.entries, (*AccessEntry).clone)
	return slices.DeleteFunc(all, func(e AccessEntry) bool { return e.Cluster != cluster }), nil
}

// UpdateAccessEntry changes groups, if not nil, and user name, if not empty, of an entry.
func (w *World) UpdateAccessEntry(cluster, principal string, groups []string, username string) (AccessEntry, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	e, err := w.entryLocked(cluster, principal)
	if err != nil {
		return AccessEntry{}, err
	}
	c := e.clone()
	if _, instance := accessGroups[c.Type]; instance {
		c.Groups, c.Username = groups, username
	} else {
		if groups != nil {
			c.Groups = groups
		}
		if username != "" {
			c.Username = username
		}
	}
	if err := w.checkEntryLocked(&c); err != nil {
		return AccessEntry{}, err
	}
	c.Modified = w.clock.Now()
	*e = c
	return e.clone(), nil
}

// DeleteAccessEntry shuts a principal out of a cluster.
func (w *World) DeleteAccessEntry(cluster, principal string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if _, err := w.entryLocked(cluster, principal); err != nil {
		return err
	}
	delete(w.eks.entries, accessKey(cluster, principal))
	return nil
}

// AssociateAccessPolicy gives one of EKS's policies to an entry, or changes its scope.
func (w *World) AssociateAccessPolicy(cluster, principal string, p AccessPolicy) (AccessPolicy, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	e, err := w.entryLocked(cluster, principal)
	if err != nil {
		return AccessPolicy{}, err
	}
	if !strings.Contains(p.ARN, ":eks::aws:cluster-access-policy/") {
		return AccessPolicy{}, eksInvalid("The policyArn %s is not that of an access policy.", p.ARN)
	}
	if p.Scope != "cluster" && p.Scope != "namespace" || (p.Scope == "namespace") != (len(p.Namespaces) > 0) {
		return AccessPolicy{}, eksInvalid("The accessScope must be cluster, or namespace with namespaces.")
	}
	p.Created, p.Modified = w.clock.Now(), w.clock.Now()
	e.Policies = slices.DeleteFunc(slices.Clone(e.Policies), func(old AccessPolicy) bool { return old.ARN == p.ARN })
	e.Policies = append(e.Policies, p)
	slices.SortFunc(e.Policies, func(a, b AccessPolicy) int { return strings.Compare(a.ARN, b.ARN) })
	return p, nil
}

// DisassociateAccessPolicy takes a policy from an entry.
func (w *World) DisassociateAccessPolicy(cluster, principal, policy string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	e, err := w.entryLocked(cluster, principal)
	if err != nil {
		return err
	}
	before := len(e.Policies)
	e.Policies = slices.DeleteFunc(slices.Clone(e.Policies), func(old AccessPolicy) bool { return old.ARN == policy })
	if len(e.Policies) == before {
		return eksNotFound("The policy %s is not associated with the access entry.", policy)
	}
	return nil
}

// CreatePodIdentity gives a role to a service account that has none.
func (w *World) CreatePodIdentity(p PodIdentity) (PodIdentity, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.clusterLocked(p.Cluster); err != nil {
		return PodIdentity{}, err
	}
	if p.Namespace == "" || p.ServiceAccount == "" {
		return PodIdentity{}, eksInvalid("An association needs a namespace and a service account.")
	}
	if !w.roleOfARNLocked(p.RoleARN) {
		return PodIdentity{}, eksInvalid("The role %s of the association does not exist.", p.RoleARN)
	}
	for _, other := range w.eks.podIdentities {
		if other.Cluster == p.Cluster && other.Namespace == p.Namespace && other.ServiceAccount == p.ServiceAccount {
			return PodIdentity{}, eksInUse("Association already exists: %s", other.ID)
		}
	}
	p.ID = "a-" + strings.ReplaceAll(w.uuidLocked(), "-", "")[:17]
	p.ARN = "arn:" + w.Partition() + ":eks:" + w.opts.Region + ":" + w.opts.Account + ":podidentityassociation/" + p.Cluster + "/" + p.ID
	p.Created, p.Modified = w.clock.Now(), w.clock.Now()
	c := p.clone()
	w.eks.podIdentities[p.ID] = &c
	return c.clone(), nil
}

func (w *World) podIdentityLocked(cluster, id string) (*PodIdentity, error) {
	if err := w.clusterLocked(cluster); err != nil {
		return nil, err
	}
	if p := w.eks.podIdentities[id]; p != nil && p.Cluster == cluster {
		return p, nil
	}
	return nil, eksNotFound("The association ID %s does not exist.", id)
}

// PodIdentity returns an association.
func (w *World) PodIdentity(cluster, id string) (PodIdentity, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	p, err := w.podIdentityLocked(cluster, id)
	if err != nil {
		return PodIdentity{}, err
	}
	return p.clone(), nil
}

// PodIdentities returns the associations of a cluster by id.
func (w *World) PodIdentities(cluster string) ([]PodIdentity, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.clusterLocked(cluster); err != nil {
		return nil, err
	}
	all := sorted(w.eks.podIdentities, (*PodIdentity).clone)
	return slices.DeleteFunc(all, func(p PodIdentity) bool { return p.Cluster != cluster }), nil
}

// UpdatePodIdentity changes the role of an association.
func (w *World) UpdatePodIdentity(cluster, id, roleARN, targetRoleARN string, disableSessionTags bool) (PodIdentity, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	p, err := w.podIdentityLocked(cluster, id)
	if err != nil {
		return PodIdentity{}, err
	}
	if roleARN != "" {
		if !w.roleOfARNLocked(roleARN) {
			return PodIdentity{}, eksInvalid("The role %s of the association does not exist.", roleARN)
		}
		p.RoleARN = roleARN
	}
	p.TargetRoleARN, p.DisableSessionTags, p.Modified = targetRoleARN, disableSessionTags, w.clock.Now()
	return p.clone(), nil
}

// DeletePodIdentity removes an association.
func (w *World) DeletePodIdentity(cluster, id string) (PodIdentity, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	p, err := w.podIdentityLocked(cluster, id)
	if err != nil {
		return PodIdentity{}, err
	}
	delete(w.eks.podIdentities, id)
	return p.clone(), nil
}

// EKSTags returns the tags of a cluster, access entry or association.
func (w *World) EKSTags(arn string) (map[string]string, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	tags, err := w.eksTagsLocked(arn)
	if err != nil {
		return nil, err
	}
	return maps.Clone(*tags), nil
}

// TagEKS adds, changes and removes tags.
func (w *World) TagEKS(arn string, set map[string]string, unset []string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	tags, err := w.eksTagsLocked(arn)
	if err != nil {
		return err
	}
	*tags = retag(*tags, set, unset)
	return nil
}

func (w *World) eksTagsLocked(arn string) (*map[string]string, error) {
	for _, c := range w.eks.clusters {
		if c.ARN == arn {
			return &c.Tags, nil
		}
	}
	for _, e := range w.eks.entries {
		if e.ARN == arn {
			return &e.Tags, nil
		}
	}
	for _, p := range w.eks.podIdentities {
		if p.ARN == arn {
			return &p.Tags, nil
		}
	}
	return nil, eksNotFound("The resource %s does not exist.", arn)
}
