// Package profile keeps the instance profiles through which nodes get the role of their node class.
//
// A profile's name is a function of the class's UID and the role, so that a restart finds what was made before and a
// change of role gives another profile: instances of the old one keep it until they are gone, then it is collected.
package profile

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/iam/types"
	"golang.org/x/sync/singleflight"

	awsv1 "github.com/kerf-sh/kerf/api/aws/v1"
	"github.com/kerf-sh/kerf/internal/aws/awserr"
	"github.com/kerf-sh/kerf/internal/state/cloud"
)

const (
	// trustFor is how long a profile that was seen to be right is not looked at again.
	trustFor = 30 * time.Minute
	// forgetMissingRole is how long a role that does not exist is not tried again.
	forgetMissingRole = time.Minute
	// protectFor keeps a profile that was just asked for from being collected before any object names it.
	protectFor = time.Hour
)

// ReasonRoleNotFound is why a class with a role that does not exist has no profile.
const ReasonRoleNotFound = "RoleNotFound"

// API is what Manager calls.
type API interface {
	GetInstanceProfile(context.Context, *iam.GetInstanceProfileInput, ...func(*iam.Options)) (*iam.GetInstanceProfileOutput, error)
	CreateInstanceProfile(context.Context, *iam.CreateInstanceProfileInput, ...func(*iam.Options)) (*iam.CreateInstanceProfileOutput, error)
	AddRoleToInstanceProfile(context.Context, *iam.AddRoleToInstanceProfileInput, ...func(*iam.Options)) (*iam.AddRoleToInstanceProfileOutput, error)
	RemoveRoleFromInstanceProfile(context.Context, *iam.RemoveRoleFromInstanceProfileInput, ...func(*iam.Options)) (*iam.RemoveRoleFromInstanceProfileOutput, error)
	DeleteInstanceProfile(context.Context, *iam.DeleteInstanceProfileInput, ...func(*iam.Options)) (*iam.DeleteInstanceProfileOutput, error)
	ListInstanceProfiles(context.Context, *iam.ListInstanceProfilesInput, ...func(*iam.Options)) (*iam.ListInstanceProfilesOutput, error)
}

// Manager makes, finds and deletes profiles.
//
// Concurrency: safe; calls for one class and role are joined.
type Manager struct {
	api             API
	region, cluster string
	now             func() time.Time
	flights         singleflight.Group

	mu    sync.Mutex
	known map[string]state // by profile name
}

type state struct {
	rightUntil time.Time
	err        error // of the last try, while it is not worth trying again
	errUntil   time.Time
	asked      time.Time
}

// NewManager makes a Manager that knows of no profile yet.
func NewManager(api API, region, cluster string, now func() time.Time) *Manager {
	return &Manager{api: api, region: region, cluster: cluster, now: now, known: map[string]state{}}
}

// Name is the name of the profile for a class and its role.
func (m *Manager) Name(class *awsv1.EC2NodeClass) string {
	sum := sha256.Sum256([]byte(m.region + "\x00" + string(class.UID) + "\x00" + lastSegment(class.Spec.Role)))
	return fmt.Sprintf("%s_%d", m.cluster, binary.BigEndian.Uint64(sum[:8]))
}

// Ensure returns the name of the class's instance profile. A given one is taken at its word; for a role, one that Karpenter made for the
// class stays in use, and otherwise the profile is made and given the role when it is not so already.
//
// Errors: *cloud.Error; a role that does not exist has class Invalid and ReasonRoleNotFound.
func (m *Manager) Ensure(ctx context.Context, class *awsv1.EC2NodeClass) (string, error) {
	if p := class.Spec.InstanceProfile; p != nil && *p != "" {
		return *p, nil
	}
	if class.Spec.Role == "" {
		return "", &cloud.Error{Op: fmt.Sprintf("finding the instance profile of EC2NodeClass %q", class.Name), Class: cloud.Invalid,
			Reason: awsv1.ReasonSpecInvalid, Err: errors.New("set spec.role or spec.instanceProfile")}
	}
	name := m.Name(class)
	if was := class.Status.InstanceProfile; was != "" && was != name {
		if inherits, err := m.inherits(ctx, class, was); inherits || err != nil {
			return was, err
		}
	}
	if done, err := m.remembered(name); done {
		return name, err
	}
	_, err, _ := m.flights.Do(name, func() (any, error) {
		if done, err := m.remembered(name); done {
			return nil, err
		}
		err := m.build(context.WithoutCancel(ctx), class, name)
		m.remember(name, err)
		return nil, err
	})
	return name, err
}

// inherits reports whether a profile was made for the class and its role by another controller, whose names can't be known. One
// that may not be read is not taken over.
func (m *Manager) inherits(ctx context.Context, class *awsv1.EC2NodeClass, name string) (bool, error) {
	role := lastSegment(class.Spec.Role)
	key := name + "\x00" + role
	if done, err := m.remembered(key); done && err == nil {
		return true, nil
	}
	got, err := m.api.GetInstanceProfile(ctx, &iam.GetInstanceProfileInput{InstanceProfileName: &name})
	switch err = awserr.Wrap(fmt.Sprintf("reading instance profile %s of EC2NodeClass %q", name, class.Name), err); {
	case cloud.IsNotFound(err), awserr.LacksPermission(err):
		return false, nil
	case err != nil:
		return false, err
	case !hasRole(got.InstanceProfile, role) || !m.madeFor(got.InstanceProfile, class):
		return false, nil
	}
	m.remember(key, nil)
	return true, nil
}

// madeFor reports whether a profile has the tags of one that was made for the class, and is no user's.
func (m *Manager) madeFor(p *types.InstanceProfile, class *awsv1.EC2NodeClass) bool {
	tagged := func(key, value string) bool {
		return slices.ContainsFunc(p.Tags, func(t types.Tag) bool { return t.Key != nil && *t.Key == key && t.Value != nil && *t.Value == value })
	}
	return tagged(awsv1.TagClusterPrefix+m.cluster, awsv1.TagClusterOwned) && tagged(awsv1.TagNodeClass, class.Name)
}

func (m *Manager) remembered(name string) (bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	now, s := m.now(), m.known[name]
	s.asked = now
	m.known[name] = s
	if now.Before(s.errUntil) {
		return true, s.err
	}
	return now.Before(s.rightUntil), nil
}

func (m *Manager) remember(name string, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	s := state{asked: m.now()}
	switch e, _ := errors.AsType[*cloud.Error](err); {
	case err == nil:
		s.rightUntil = m.now().Add(trustFor)
	case e != nil && e.Reason == ReasonRoleNotFound:
		s.err, s.errUntil = err, m.now().Add(forgetMissingRole)
	}
	m.known[name] = s
}

func (m *Manager) build(ctx context.Context, class *awsv1.EC2NodeClass, name string) error {
	op := fmt.Sprintf("instance profile %s of EC2NodeClass %q", name, class.Name)
	role := lastSegment(class.Spec.Role)
	got, err := m.api.GetInstanceProfile(ctx, &iam.GetInstanceProfileInput{InstanceProfileName: &name})
	switch err = awserr.Wrap("reading "+op, err); {
	case cloud.IsNotFound(err):
		if err := m.create(ctx, class, name); err != nil {
			return awserr.Wrap("creating "+op, err)
		}
	case err != nil:
		return err
	case hasRole(got.InstanceProfile, role):
		return nil
	default:
		if err := m.empty(ctx, got.InstanceProfile); err != nil {
			return awserr.Wrap("taking another role from "+op, err)
		}
	}
	_, err = m.api.AddRoleToInstanceProfile(ctx, &iam.AddRoleToInstanceProfileInput{InstanceProfileName: &name, RoleName: &role})
	if awserr.Code(err) == "LimitExceeded" {
		return nil // somebody else gave it the role in between; the next look will tell if it is another one
	}
	wrapped := awserr.Wrap("adding the role to "+op, err)
	if cloud.IsNotFound(wrapped) {
		return &cloud.Error{Op: "adding the role to " + op, Class: cloud.Invalid, Reason: ReasonRoleNotFound,
			Err: fmt.Errorf("role %q does not exist in this account: create it, or change spec.role: %w", role, err)}
	}
	return wrapped
}

func (m *Manager) create(ctx context.Context, class *awsv1.EC2NodeClass, name string) error {
	path := m.classPath(string(class.UID))
	_, err := m.api.CreateInstanceProfile(ctx, &iam.CreateInstanceProfileInput{
		InstanceProfileName: &name,
		Path:                &path,
		Tags:                m.tags(class),
	})
	if cloud.ClassOf(awserr.Wrap("", err)) == cloud.Conflict {
		return nil
	}
	return err
}

func (m *Manager) tags(class *awsv1.EC2NodeClass) []types.Tag {
	tags := maps.Clone(class.Spec.Tags)
	if tags == nil {
		tags = map[string]string{}
	}
	tags[awsv1.TagClusterPrefix+m.cluster] = awsv1.TagClusterOwned
	tags[awsv1.TagEKSCluster] = m.cluster
	tags[awsv1.TagNodeClass] = class.Name
	tags[awsv1.TagRegion] = m.region
	out := make([]types.Tag, 0, len(tags))
	for _, k := range slices.Sorted(maps.Keys(tags)) {
		out = append(out, types.Tag{Key: new(k), Value: new(tags[k])})
	}
	return out
}

// Collect deletes the cluster's profiles that inUse does not know and that nobody asked for lately, and returns their
// names.
func (m *Manager) Collect(ctx context.Context, inUse func(name string) bool) ([]string, error) {
	all, err := m.list(ctx, m.clusterPath())
	if err != nil {
		return nil, err
	}
	var gone []string
	var errs []error
	for i := range all {
		name := *all[i].InstanceProfileName
		if inUse(name) || m.protected(name) {
			continue
		}
		if err := m.delete(ctx, &all[i]); err != nil {
			errs = append(errs, err)
			continue
		}
		gone = append(gone, name)
	}
	return gone, errors.Join(errs...)
}

// Release deletes all profiles that were made for a class. Policies of older editions do not let profiles be listed:
// then the one that the class has now is deleted, those of roles that it had before stay, and unlisted is the refusal.
func (m *Manager) Release(ctx context.Context, class *awsv1.EC2NodeClass) (unlisted, err error) {
	if class.UID == "" {
		return nil, nil
	}
	all, err := m.list(ctx, m.classPath(string(class.UID)))
	if awserr.LacksPermission(err) {
		unlisted = err
		all, err = m.present(ctx, class)
	}
	if err != nil {
		return nil, errors.Join(unlisted, err)
	}
	if class.Spec.InstanceProfile == nil {
		all = append(all, m.elsewhere(ctx, class, all)...)
	}
	var errs []error
	for i := range all {
		errs = append(errs, m.delete(ctx, &all[i]))
	}
	return unlisted, errors.Join(errs...)
}

// elsewhere is the profile that the class names, where it was made for it and is none of those: before Karpenter 1.7 they had no path.
func (m *Manager) elsewhere(ctx context.Context, class *awsv1.EC2NodeClass, but []types.InstanceProfile) []types.InstanceProfile {
	name := class.Status.InstanceProfile
	if name == "" || slices.ContainsFunc(but, func(p types.InstanceProfile) bool { return *p.InstanceProfileName == name }) {
		return nil
	}
	got, err := m.api.GetInstanceProfile(ctx, &iam.GetInstanceProfileInput{InstanceProfileName: &name})
	if err != nil || got.InstanceProfile == nil || !m.madeFor(got.InstanceProfile, class) {
		return nil
	}
	return []types.InstanceProfile{*got.InstanceProfile}
}

func (m *Manager) list(ctx context.Context, path string) ([]types.InstanceProfile, error) {
	var out []types.InstanceProfile
	pages := iam.NewListInstanceProfilesPaginator(m.api, &iam.ListInstanceProfilesInput{PathPrefix: &path})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, awserr.Wrap("listing the instance profiles under "+path, err)
		}
		for _, p := range page.InstanceProfiles {
			if p.InstanceProfileName != nil {
				out = append(out, p)
			}
		}
	}
	return out, nil
}

// present is the profile of the class's role as it is now, if there is one.
func (m *Manager) present(ctx context.Context, class *awsv1.EC2NodeClass) ([]types.InstanceProfile, error) {
	if class.Spec.Role == "" {
		return nil, nil
	}
	name := m.Name(class)
	got, err := m.api.GetInstanceProfile(ctx, &iam.GetInstanceProfileInput{InstanceProfileName: &name})
	if err = awserr.Wrap("reading instance profile "+name, err); err != nil {
		if cloud.IsNotFound(err) {
			return nil, nil
		}
		return nil, err
	}
	if got.InstanceProfile == nil || got.InstanceProfile.InstanceProfileName == nil {
		return nil, nil
	}
	return []types.InstanceProfile{*got.InstanceProfile}, nil
}

func (m *Manager) delete(ctx context.Context, p *types.InstanceProfile) error {
	name := *p.InstanceProfileName
	m.mu.Lock()
	delete(m.known, name)
	m.mu.Unlock()
	if err := m.empty(ctx, p); err != nil {
		return awserr.Wrap("taking the role from instance profile "+name, err)
	}
	_, err := m.api.DeleteInstanceProfile(ctx, &iam.DeleteInstanceProfileInput{InstanceProfileName: &name})
	if err = awserr.Wrap("deleting instance profile "+name, err); cloud.IsNotFound(err) {
		return nil
	}
	return err
}

// empty takes all roles from a profile.
func (m *Manager) empty(ctx context.Context, p *types.InstanceProfile) error {
	for _, r := range p.Roles {
		_, err := m.api.RemoveRoleFromInstanceProfile(ctx, &iam.RemoveRoleFromInstanceProfileInput{
			InstanceProfileName: p.InstanceProfileName, RoleName: r.RoleName,
		})
		if err != nil && !cloud.IsNotFound(awserr.Wrap("", err)) {
			return err
		}
	}
	return nil
}

func (m *Manager) protected(name string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	s, ok := m.known[name]
	return ok && m.now().Sub(s.asked) < protectFor
}

func (m *Manager) clusterPath() string { return fmt.Sprintf("/karpenter/%s/%s/", m.region, m.cluster) }

func (m *Manager) classPath(uid string) string { return m.clusterPath() + uid + "/" }

func hasRole(p *types.InstanceProfile, role string) bool {
	return p != nil && len(p.Roles) == 1 && p.Roles[0].RoleName != nil && lastSegment(*p.Roles[0].RoleName) == role
}

// lastSegment is a role's name without the path that some write in front of it.
func lastSegment(role string) string { return role[strings.LastIndexByte(role, '/')+1:] }
