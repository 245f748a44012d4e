package world

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"
)

// iamState holds the identities of the account.
type iamState struct {
	roles        map[string]*Role            // by name
	profiles     map[string]*InstanceProfile // by name
	keys         map[string]*AccessKey       // by key id
	profileDelay time.Duration               // until EC2 knows a new profile
}

func (s *iamState) init() {
	s.roles = map[string]*Role{}
	s.profiles = map[string]*InstanceProfile{}
	s.keys = map[string]*AccessKey{}
}

// Role is an IAM role.
type Role struct {
	Name, ID, Path, ARN string
	TrustPolicy         string // JSON document
	Created             time.Time
	Tags                map[string]string
}

// InstanceProfile is an IAM instance profile; it holds at most one role.
type InstanceProfile struct {
	Name, ID, Path, ARN string
	Role                string // name, empty when none is attached
	RoleID              string // of the role as it was when attached; a role made anew under that name has another
	Created             time.Time
	UsableAt            time.Time // EC2 knows the profile from then on
	Tags                map[string]string
}

func (r *Role) clone() Role {
	c := *r
	c.Tags = maps.Clone(r.Tags)
	return c
}

func (p *InstanceProfile) clone() InstanceProfile {
	c := *p
	c.Tags = maps.Clone(p.Tags)
	return c
}

const (
	statusNotFound = 404
	statusConflict = 409
	maxIAMTags     = 50
)

var (
	iamName = regexp.MustCompile(`^[\w+=,.@-]{1,128}$`)
	iamPath = regexp.MustCompile(`^(/|/[\x21-\x7e]{1,510}/)$`)
)

func noSuchEntity(format string, args ...any) *Error {
	e := Errorf("NoSuchEntity", format, args...)
	e.Status = statusNotFound
	return e
}

func iamConflict(code, format string, args ...any) *Error {
	e := Errorf(code, format, args...)
	e.Status = statusConflict
	return e
}

func checkIAMName(kind, name, path string) *Error {
	if !iamName.MatchString(name) {
		return Errorf("ValidationError", "The specified value for %s is invalid. It must contain only alphanumeric characters and/or the following: +=,.@_-", kind)
	}
	if !iamPath.MatchString(path) {
		return Errorf("ValidationError", "The specified value for path is invalid. It must begin and end with / and contain only alphanumeric characters and/or / characters.")
	}
	return nil
}

func checkIAMTags(tags map[string]string) *Error {
	if len(tags) > maxIAMTags {
		return iamConflict("LimitExceeded", "The number of tags has reached the maximum limit of %d.", maxIAMTags)
	}
	for k := range tags {
		if k == "" || len(k) > 128 || strings.HasPrefix(strings.ToLower(k), "aws:") {
			return Errorf("InvalidInput", "The tag key %q is empty, too long or begins with the reserved prefix aws:.", k)
		}
	}
	return nil
}

func orRoot(path string) string {
	if path == "" {
		return "/"
	}
	return path
}

// iamID makes an identifier such as AROA… with 17 characters behind its kind.
func (w *World) iamIDLocked(kind string) string {
	const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"
	b := []byte(kind)
	for range 17 {
		b = append(b, letters[w.rand.IntN(len(letters))])
	}
	return string(b)
}

func (w *World) iamARN(kind, path, name string) string {
	return "arn:" + w.Partition() + ":iam::" + w.opts.Account + ":" + kind + path + name
}

// CreateRole makes a role. path is "" for the root.
func (w *World) CreateRole(name, path, trustPolicy string, tags map[string]string) (Role, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	path = orRoot(path)
	if err := checkIAMName("roleName", name, path); err != nil {
		return Role{}, err
	}
	if w.iam.roles[name] != nil {
		return Role{}, iamConflict("EntityAlreadyExists", "Role with name %s already exists.", name)
	}
	r := &Role{
		Name: name, ID: w.iamIDLocked("AROA"), Path: path, ARN: w.iamARN("role", path, name),
		TrustPolicy: trustPolicy, Created: w.clock.Now(), Tags: maps.Clone(tags),
	}
	w.iam.roles[name] = r
	return r.clone(), nil
}

// DeleteRole removes a role, also one that a profile still holds: the profile keeps naming what is gone.
func (w *World) DeleteRole(name string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.iam.roles[name] == nil {
		return noSuchEntity("The role with name %s cannot be found.", name)
	}
	delete(w.iam.roles, name)
	return nil
}

// Role returns a role by name.
func (w *World) Role(name string) (Role, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if r := w.iam.roles[name]; r != nil {
		return r.clone(), nil
	}
	return Role{}, noSuchEntity("The role with name %s cannot be found.", name)
}

// Roles returns all roles by name.
func (w *World) Roles() []Role {
	w.mu.Lock()
	defer w.mu.Unlock()
	return sorted(w.iam.roles, (*Role).clone)
}

// SetInstanceProfileDelay sets how long EC2 goes on not knowing a new or changed instance profile.
func (w *World) SetInstanceProfileDelay(d time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.iam.profileDelay = d
}

// CreateInstanceProfile makes an empty instance profile.
func (w *World) CreateInstanceProfile(name, path string, tags map[string]string) (InstanceProfile, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	path = orRoot(path)
	if err := checkIAMName("instanceProfileName", name, path); err != nil {
		return InstanceProfile{}, err
	}
	if err := checkIAMTags(tags); err != nil {
		return InstanceProfile{}, err
	}
	if w.iam.profiles[name] != nil {
		return InstanceProfile{}, iamConflict("EntityAlreadyExists", "Instance Profile %s already exists.", name)
	}
	now := w.clock.Now()
	p := &InstanceProfile{
		Name: name, ID: w.iamIDLocked("AIPA"), Path: path, ARN: w.iamARN("instance-profile", path, name),
		Created: now, UsableAt: now.Add(w.iam.profileDelay), Tags: maps.Clone(tags),
	}
	w.iam.profiles[name] = p
	return p.clone(), nil
}

func (w *World) profileLocked(name string) (*InstanceProfile, error) {
	if p := w.iam.profiles[name]; p != nil {
		return p, nil
	}
	return nil, noSuchEntity("Instance Profile %s cannot be found.", name)
}

// InstanceProfile returns an instance profile by name.
func (w *World) InstanceProfile(name string) (InstanceProfile, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	p, err := w.profileLocked(name)
	if err != nil {
		return InstanceProfile{}, err
	}
	return p.clone(), nil
}

// InstanceProfiles returns the instance profiles whose path begins with prefix ("" for all), by path and name.
func (w *World) InstanceProfiles(prefix string) []InstanceProfile {
	w.mu.Lock()
	defer w.mu.Unlock()
	all := sorted(w.iam.profiles, (*InstanceProfile).clone)
	all = slices.DeleteFunc(all, func(p InstanceProfile) bool { return !strings.HasPrefix(p.Path, prefix) })
	slices.SortStableFunc(all, func(a, b InstanceProfile) int { return strings.Compare(a.Path+a.Name, b.Path+b.Name) })
	return all
}

// AddRoleToInstanceProfile attaches a role to a profile that has none.
func (w *World) AddRoleToInstanceProfile(profile, role string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	p, err := w.profileLocked(profile)
	if err != nil {
		return err
	}
	r := w.iam.roles[role]
	if r == nil {
		return noSuchEntity("The role with name %s cannot be found.", role)
	}
	if p.Role != "" {
		return iamConflict("LimitExceeded", "Cannot exceed quota for InstanceSessionsPerInstanceProfile: 1")
	}
	p.Role, p.RoleID, p.UsableAt = r.Name, r.ID, w.clock.Now().Add(w.iam.profileDelay)
	return nil
}

// RemoveRoleFromInstanceProfile detaches a role.
func (w *World) RemoveRoleFromInstanceProfile(profile, role string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	p, err := w.profileLocked(profile)
	if err != nil {
		return err
	}
	if p.Role == "" || p.Role != role {
		return noSuchEntity("The role with name %s cannot be found.", role)
	}
	p.Role, p.RoleID = "", ""
	return nil
}

// DeleteInstanceProfile removes a profile that holds no role.
func (w *World) DeleteInstanceProfile(name string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	p, err := w.profileLocked(name)
	if err != nil {
		return err
	}
	if p.Role != "" {
		return iamConflict("DeleteConflict", "Cannot delete entity, must remove roles from instance profile first.")
	}
	delete(w.iam.profiles, name)
	return nil
}

// TagInstanceProfile adds or changes tags of a profile.
func (w *World) TagInstanceProfile(name string, tags map[string]string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	p, err := w.profileLocked(name)
	if err != nil {
		return err
	}
	all := maps.Clone(p.Tags)
	if all == nil {
		all = map[string]string{}
	}
	maps.Copy(all, tags)
	if err := checkIAMTags(all); err != nil {
		return err
	}
	p.Tags = all
	return nil
}

// launchProfileLocked finds the instance profile that a launch names, by name or ARN, and says whether EC2 can use it
// already.
func (w *World) launchProfileLocked(nameOrARN string) (arn string, ok bool) {
	name := nameOrARN
	if strings.HasPrefix(name, "arn:") {
		name = name[strings.LastIndex(name, "/")+1:]
	}
	p := w.iam.profiles[name]
	if p == nil || w.clock.Now().Before(p.UsableAt) {
		return "", false
	}
	return p.ARN, true
}
