// Package iam answers IAM requests about roles and instance profiles from the simulated world.
package iam

import (
	"context"
	"encoding/base64"
	"net/url"
	"strconv"
	"time"

	"github.com/kerf-sh/kerf/internal/awssim/wire"
	"github.com/kerf-sh/kerf/internal/awssim/world"
)

type service struct{ world *world.World }

// Register adds the operations to a server.
func Register(s *wire.Server, w *world.World) {
	svc := &service{world: w}
	for operation, h := range map[string]wire.Handler{
		"GetRole":                       svc.getRole,
		"GetInstanceProfile":            svc.getInstanceProfile,
		"CreateInstanceProfile":         svc.createInstanceProfile,
		"AddRoleToInstanceProfile":      svc.addRole,
		"RemoveRoleFromInstanceProfile": svc.removeRole,
		"DeleteInstanceProfile":         svc.deleteInstanceProfile,
		"ListInstanceProfiles":          svc.listInstanceProfiles,
		"TagInstanceProfile":            svc.tagInstanceProfile,
	} {
		s.Handle(wire.IAM, operation, h)
	}
}

type tag struct {
	Key   string `xml:"Key"`
	Value string `xml:"Value"`
}

type role struct {
	Path                     string `xml:"Path"`
	RoleName                 string `xml:"RoleName"`
	RoleID                   string `xml:"RoleId"`
	ARN                      string `xml:"Arn"`
	CreateDate               string `xml:"CreateDate"`
	AssumeRolePolicyDocument string `xml:"AssumeRolePolicyDocument"`
	MaxSessionDuration       int    `xml:"MaxSessionDuration,omitempty"`
	Tags                     []tag  `xml:"Tags>member,omitempty"`
}

type instanceProfile struct {
	Path                string `xml:"Path"`
	InstanceProfileName string `xml:"InstanceProfileName"`
	InstanceProfileID   string `xml:"InstanceProfileId"`
	ARN                 string `xml:"Arn"`
	CreateDate          string `xml:"CreateDate"`
	Roles               []role `xml:"Roles>member"`
	Tags                []tag  `xml:"Tags>member,omitempty"`
}

type profileResult struct {
	InstanceProfile instanceProfile `xml:"InstanceProfile"`
}

const maxSession = 3600

func required(form url.Values, name string) (string, error) {
	v := form.Get(name)
	if v == "" {
		return "", wire.Errorf("ValidationError", "1 validation error detected: Value null at '%s' failed to satisfy constraint: Member must not be null", name)
	}
	return v, nil
}

func roleOut(r world.Role) role {
	return role{
		Path: r.Path, RoleName: r.Name, RoleID: r.ID, ARN: r.ARN, CreateDate: r.Created.UTC().Format(time.RFC3339),
		AssumeRolePolicyDocument: url.QueryEscape(r.TrustPolicy), MaxSessionDuration: maxSession, Tags: tagsOut(r.Tags),
	}
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

func (s *service) getRole(_ context.Context, r *wire.Request) (any, error) {
	name, err := required(r.Form, "RoleName")
	if err != nil {
		return nil, err
	}
	found, err := s.world.Role(name)
	if err != nil {
		return nil, err
	}
	return struct {
		Role role `xml:"Role"`
	}{roleOut(found)}, nil
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
	IsTruncated      bool              `xml:"IsTruncated"`
	Marker           string            `xml:"Marker,omitempty"`
}

func (s *service) listInstanceProfiles(_ context.Context, r *wire.Request) (any, error) {
	limit := 100
	if v := r.Form.Get("MaxItems"); v != "" {
		n, err := strconv.Atoi(v)
		if err != nil || n < 1 || n > 1000 {
			return nil, wire.Errorf("ValidationError", "Value '%s' at 'maxItems' must be between 1 and 1000", v)
		}
		limit = n
	}
	after, err := base64.RawURLEncoding.DecodeString(r.Form.Get("Marker"))
	if err != nil {
		return nil, wire.Errorf("InvalidInput", "The marker %q is not one that was given out.", r.Form.Get("Marker"))
	}
	var out profileList
	var last string
	for _, p := range s.world.InstanceProfiles(r.Form.Get("PathPrefix")) {
		if p.Path+p.Name <= string(after) {
			continue
		}
		if len(out.InstanceProfiles) == limit {
			out.IsTruncated, out.Marker = true, base64.RawURLEncoding.EncodeToString([]byte(last))
			break
		}
		listed := s.profileOut(p)
		listed.Tags = nil // lists do not show tags
		out.InstanceProfiles = append(out.InstanceProfiles, listed)
		last = p.Path + p.Name
	}
	return out, nil
}
