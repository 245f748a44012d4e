package world

import (
	"maps"
	"slices"
	"strings"
	"time"
)

// InstanceProfile is an IAM instance profile; it holds at most one role.
type InstanceProfile struct {
	Name, ID, Path, ARN string
	Role                string // name, empty when none is attached
	RoleID              string // of the role as it was when attached; a role made anew under that name has another
	Created             time.Time
	UsableAt            time.Time // EC2 knows the profile from then on
	Tags                map[string]string
}

func (p *InstanceProfile) clone() InstanceProfile {
	c := *p
	c.Tags = maps.Clone(p.Tags)
	return c
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
	return retagIAM(&p.Tags, tags, nil)
}

// UntagInstanceProfile removes tags of a profile.
func (w *World) UntagInstanceProfile(name string, keys []string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	p, err := w.profileLocked(name)
	if err != nil {
		return err
	}
	return retagIAM(&p.Tags, nil, keys)
}

// InstanceProfilesOf returns the instance profiles that hold a role.
func (w *World) InstanceProfilesOf(role string) ([]InstanceProfile, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	r, err := w.roleLocked(role)
	if err != nil {
		return nil, err
	}
	all := sorted(w.iam.profiles, (*InstanceProfile).clone)
	return slices.DeleteFunc(all, func(p InstanceProfile) bool { return p.RoleID != r.ID }), nil
}

// launchProfileLocked finds the instance profile that a launch names, by name or ARN, and says whether EC2 can use it
// already.
func (w *World) launchProfileLocked(nameOrARN string) (arn string, ok bool) {
	name := nameOrARN
	if strings.HasPrefix(name, "arn:") {
		name = name[strings.LastIndex(name, "/")+1:]
	}
	p := w.iam.profiles[name]
	if p == nil || w.clock.Now().Before(p.UsableAt.Add(w.profileLateLocked(name))) {
		return "", false
	}
	return p.ARN, true
}
