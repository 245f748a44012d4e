package iam

import (
	"context"
	"time"

	"github.com/kerf-sh/kerf/internal/sim/awssim/wire"
	"github.com/kerf-sh/kerf/internal/sim/awssim/world"
)

type instanceProfile struct {
	Path                string `xml:"Path"`
	InstanceProfileName string `xml:"InstanceProfileName"`
	InstanceProfileID   string `xml:"InstanceProfileId"`
	ARN                 string `xml:"Arn"`
	CreateDate          string `xml:"CreateDate"`
	Roles               []role `xml:"Roles>member"`
	Tags                []tag  `xml:"Tags>member,omitempty"`
}

func (s *service) profiles() map[string]wire.Handler {
	return map[string]wire.Handler{
		"GetInstanceProfile":            s.getInstanceProfile,
		"CreateInstanceProfile":         s.createInstanceProfile,
		"AddRoleToInstanceProfile":      s.addRole,
		"RemoveRoleFromInstanceProfile": s.removeRole,
		"DeleteInstanceProfile":         s.deleteInstanceProfile,
		"ListInstanceProfiles":          s.listInstanceProfiles,
		"ListInstanceProfilesForRole":   s.listInstanceProfilesForRole,
		"TagInstanceProfile":            s.tagInstanceProfile,
		"UntagInstanceProfile":          s.untagInstanceProfile,
		"ListInstanceProfileTags":       s.listInstanceProfileTags,
	}
}

type profileResult struct {
	InstanceProfile instanceProfile `xml:"InstanceProfile"`
}

// profileOut shows a profile with its role. When the role is gone, or another has taken its name, the profile
// shows the id it was attached with, as IAM does.
func (s *service) profileOut(p world.InstanceProfile) instanceProfile {
	out := instanceProfile{
		Path: p.Path, InstanceProfileName: p.Name, InstanceProfileID: p.ID, ARN: p.ARN,
		CreateDate: p.Created.UTC().Format(time.RFC3339), Tags: tagsOut(p.Tags),
	}
	if p.Role == "" {
		return out
	}
	r, err := s.world.Role(p.Role)
	if err != nil || r.ID != p.RoleID {
		r = world.Role{Name: p.Role, ID: p.RoleID, Path: "/", ARN: p.RoleID}
	}
	shown := roleOut(r)
	shown.Tags, shown.MaxSessionDuration = nil, 0
	out.Roles = []role{shown}
	return out
}

func (s *service) getInstanceProfile(_ context.Context, r *wire.Request) (any, error) {
	name, err := required(r.Form, "InstanceProfileName")
	if err != nil {
		return nil, err
	}
	p, err := s.world.InstanceProfile(name)
	if err != nil {
		return nil, err
	}
	return profileResult{s.profileOut(p)}, nil
}

func (s *service) createInstanceProfile(_ context.Context, r *wire.Request) (any, error) {
	name, err := required(r.Form, "InstanceProfileName")
	if err != nil {
		return nil, err
	}
	tags, err := tagsIn(r.Form)
	if err != nil {
		return nil, err
	}
	p, err := s.world.CreateInstanceProfile(name, r.Form.Get("Path"), tags)
	if err != nil {
		return nil, err
	}
	r.Detail = name
	return profileResult{s.profileOut(p)}, nil
}

func (s *service) roleChange(r *wire.Request, change func(profile, role string) error) (any, error) {
	profile, err := required(r.Form, "InstanceProfileName")
	if err != nil {
		return nil, err
	}
	role, err := required(r.Form, "RoleName")
	if err != nil {
		return nil, err
	}
	r.Detail = role + " in " + profile
	return nil, change(profile, role)
}

func (s *service) addRole(_ context.Context, r *wire.Request) (any, error) {
	if err := r.Authorize("iam:PassRole"); err != nil {
		return nil, err
	}
	return s.roleChange(r, s.world.AddRoleToInstanceProfile)
}

func (s *service) removeRole(_ context.Context, r *wire.Request) (any, error) {
	return s.roleChange(r, s.world.RemoveRoleFromInstanceProfile)
}

func (s *service) deleteInstanceProfile(_ context.Context, r *wire.Request) (any, error) {
	name, err := required(r.Form, "InstanceProfileName")
	if err != nil {
		return nil, err
	}
	r.Detail = name
	return nil, s.world.DeleteInstanceProfile(name)
}

func (s *service) tagInstanceProfile(_ context.Context, r *wire.Request) (any, error) {
	name, err := required(r.Form, "InstanceProfileName")
	if err != nil {
		return nil, err
	}
	tags, err := tagsIn(r.Form)
	if err != nil {
		return nil, err
	}
	return nil, s.world.TagInstanceProfile(name, tags)
}

type profileList struct {
	InstanceProfiles []instanceProfile `xml:"InstanceProfiles>member"`
	mark
}

func (s *service) listInstanceProfiles(_ context.Context, r *wire.Request) (any, error) {
	all, next, err := page(r.Form, s.world.InstanceProfiles(r.Form.Get("PathPrefix")), func(p world.InstanceProfile) string { return p.Path + p.Name })
	if err != nil {
		return nil, err
	}
	return s.profileList(all, next), nil
}

func (s *service) listInstanceProfilesForRole(_ context.Context, r *wire.Request) (any, error) {
	name, err := required(r.Form, "RoleName")
	if err != nil {
		return nil, err
	}
	holding, err := s.world.InstanceProfilesOf(name)
	if err != nil {
		return nil, err
	}
	all, next, err := page(r.Form, holding, func(p world.InstanceProfile) string { return p.Name })
	if err != nil {
		return nil, err
	}
	return s.profileList(all, next), nil
}

func (s *service) profileList(all []world.InstanceProfile, next mark) profileList {
	out := profileList{mark: next}
	for _, p := range all {
		listed := s.profileOut(p)
		listed.Tags = nil // lists do not show tags
		out.InstanceProfiles = append(out.InstanceProfiles, listed)
	}
	return out
}

func (s *service) untagInstanceProfile(_ context.Context, r *wire.Request) (any, error) {
	name, err := required(r.Form, "InstanceProfileName")
	if err != nil {
		return nil, err
	}
	return nil, s.world.UntagInstanceProfile(name, wire.List(r.Form, "TagKeys.member"))
}

func (s *service) listInstanceProfileTags(_ context.Context, r *wire.Request) (any, error) {
	name, err := required(r.Form, "InstanceProfileName")
	if err != nil {
		return nil, err
	}
	p, err := s.world.InstanceProfile(name)
	if err != nil {
		return nil, err
	}
	return tagList{Tags: tagsOut(p.Tags)}, nil
}
