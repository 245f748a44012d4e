package iam

import (
	"context"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kerf-sh/kerf/internal/sim/awssim/wire"
	"github.com/kerf-sh/kerf/internal/sim/awssim/world"
)

func (s *service) roles() map[string]wire.Handler {
	return map[string]wire.Handler{
		"CreateRole":                         s.createRole,
		"GetRole":                            s.getRole,
		"ListRoles":                          s.listRoles,
		"UpdateRole":                         s.updateRole,
		"UpdateAssumeRolePolicy":             s.updateAssumeRolePolicy,
		"DeleteRole":                         s.deleteRole,
		"TagRole":                            s.tagRole,
		"UntagRole":                          s.untagRole,
		"ListRoleTags":                       s.listRoleTags,
		"PutRolePermissionsBoundary":         s.putBoundary,
		"DeleteRolePermissionsBoundary":      s.deleteBoundary,
		"CreateServiceLinkedRole":            s.createServiceLinkedRole,
		"DeleteServiceLinkedRole":            s.deleteServiceLinkedRole,
		"GetServiceLinkedRoleDeletionStatus": s.serviceLinkedRoleDeletion,
	}
}

type boundary struct {
	Type string `xml:"PermissionsBoundaryType"`
	ARN  string `xml:"PermissionsBoundaryArn"`
}

type role struct {
	Path                     string    `xml:"Path"`
	RoleName                 string    `xml:"RoleName"`
	RoleID                   string    `xml:"RoleId"`
	ARN                      string    `xml:"Arn"`
	CreateDate               string    `xml:"CreateDate"`
	AssumeRolePolicyDocument string    `xml:"AssumeRolePolicyDocument"`
	Description              string    `xml:"Description,omitempty"`
	MaxSessionDuration       int       `xml:"MaxSessionDuration,omitempty"`
	PermissionsBoundary      *boundary `xml:"PermissionsBoundary"`
	Tags                     []tag     `xml:"Tags>member,omitempty"`
}

type roleResult struct {
	Role role `xml:"Role"`
}

func roleOut(r world.Role) role {
	out := role{
		Path: r.Path, RoleName: r.Name, RoleID: r.ID, ARN: r.ARN, CreateDate: timestamp(r.Created), Description: r.Description,
		AssumeRolePolicyDocument: encoded(r.TrustPolicy), MaxSessionDuration: int(r.MaxSession / time.Second), Tags: tagsOut(r.Tags),
	}
	if r.Boundary != "" {
		out.PermissionsBoundary = &boundary{"Policy", r.Boundary}
	}
	return out
}

// sessionLength reads MaxSessionDuration; zero if there is none.
func sessionLength(form url.Values) (time.Duration, error) {
	v := form.Get("MaxSessionDuration")
	if v == "" {
		return 0, nil
	}
	n, err := strconv.Atoi(v)
	if err != nil || n <= 0 {
		return 0, wire.Errorf("ValidationError", "Value '%s' at 'maxSessionDuration' is not a number of seconds", v)
	}
	return time.Duration(n) * time.Second, nil
}

func (s *service) createRole(_ context.Context, r *wire.Request) (any, error) {
	if _, err := required(r.Form, "RoleName"); err != nil {
		return nil, err
	}
	trust, err := required(r.Form, "AssumeRolePolicyDocument")
	if err != nil {
		return nil, err
	}
	tags, err := tagsIn(r.Form)
	if err != nil {
		return nil, err
	}
	session, err := sessionLength(r.Form)
	if err != nil {
		return nil, err
	}
	made, err := s.world.CreateRoleAs(world.RoleSpec{
		Name: r.Form.Get("RoleName"), Path: r.Form.Get("Path"), Description: r.Form.Get("Description"), TrustPolicy: trust,
		MaxSession: session, Boundary: r.Form.Get("PermissionsBoundary"), Tags: tags,
	})
	if err != nil {
		return nil, err
	}
	r.Detail = made.Name
	return roleResult{roleOut(made)}, nil
}

// onRole does something to the role that a request names.
func (s *service) onRole(do func(r *wire.Request, name string) (any, error), r *wire.Request) (any, error) {
	name, err := required(r.Form, "RoleName")
	if err != nil {
		return nil, err
	}
	r.Detail = name
	return do(r, name)
}

func (s *service) getRole(_ context.Context, r *wire.Request) (any, error) {
	return s.onRole(func(_ *wire.Request, name string) (any, error) {
		found, err := s.world.Role(name)
		if err != nil {
			return nil, err
		}
		return roleResult{roleOut(found)}, nil
	}, r)
}

func (s *service) listRoles(_ context.Context, r *wire.Request) (any, error) {
	prefix := r.Form.Get("PathPrefix")
	all := slices.DeleteFunc(s.world.Roles(), func(r world.Role) bool { return !strings.HasPrefix(r.Path, prefix) })
	all, next, err := page(r.Form, all, func(r world.Role) string { return r.Path + r.Name })
	if err != nil {
		return nil, err
	}
	out := struct {
		Roles []role `xml:"Roles>member"`
		mark
	}{mark: next}
	for _, found := range all {
		listed := roleOut(found)
		listed.Tags, listed.PermissionsBoundary = nil, nil // lists do not show them
		out.Roles = append(out.Roles, listed)
	}
	return out, nil
}

func (s *service) updateRole(_ context.Context, r *wire.Request) (any, error) {
	return s.onRole(func(r *wire.Request, name string) (any, error) {
		var description *string
		var session *time.Duration
		if r.Form.Has("Description") {
			description = new(r.Form.Get("Description"))
		}
		d, err := sessionLength(r.Form)
		if err != nil {
			return nil, err
		}
		if d > 0 {
			session = &d
		}
		return nil, s.world.UpdateRole(name, description, session)
	}, r)
}

func (s *service) updateAssumeRolePolicy(_ context.Context, r *wire.Request) (any, error) {
	return s.onRole(func(r *wire.Request, name string) (any, error) {
		document, err := required(r.Form, "PolicyDocument")
		if err != nil {
			return nil, err
		}
		return nil, s.world.SetTrustPolicy(name, document)
	}, r)
}

func (s *service) deleteRole(_ context.Context, r *wire.Request) (any, error) {
	return s.onRole(func(_ *wire.Request, name string) (any, error) { return nil, s.world.DeleteUnusedRole(name) }, r)
}

func (s *service) tagRole(_ context.Context, r *wire.Request) (any, error) {
	return s.onRole(func(r *wire.Request, name string) (any, error) {
		tags, err := tagsIn(r.Form)
		if err != nil {
			return nil, err
		}
		return nil, s.world.TagRole(name, tags)
	}, r)
}

func (s *service) untagRole(_ context.Context, r *wire.Request) (any, error) {
	return s.onRole(func(r *wire.Request, name string) (any, error) {
		return nil, s.world.UntagRole(name, wire.List(r.Form, "TagKeys.member"))
	}, r)
}

func (s *service) listRoleTags(_ context.Context, r *wire.Request) (any, error) {
	return s.onRole(func(_ *wire.Request, name string) (any, error) {
		found, err := s.world.Role(name)
		if err != nil {
			return nil, err
		}
		return tagList{Tags: tagsOut(found.Tags)}, nil
	}, r)
}

func (s *service) putBoundary(_ context.Context, r *wire.Request) (any, error) {
	return s.onRole(func(r *wire.Request, name string) (any, error) {
		arn, err := required(r.Form, "PermissionsBoundary")
		if err != nil {
			return nil, err
		}
		return nil, s.world.SetRoleBoundary(name, arn)
	}, r)
}

func (s *service) deleteBoundary(_ context.Context, r *wire.Request) (any, error) {
	return s.onRole(func(_ *wire.Request, name string) (any, error) { return nil, s.world.SetRoleBoundary(name, "") }, r)
}

func (s *service) createServiceLinkedRole(_ context.Context, r *wire.Request) (any, error) {
	service, err := required(r.Form, "AWSServiceName")
	if err != nil {
		return nil, err
	}
	made, err := s.world.CreateServiceLinkedRole(service, r.Form.Get("CustomSuffix"), r.Form.Get("Description"))
	if err != nil {
		return nil, err
	}
	r.Detail = made.Name
	return roleResult{roleOut(made)}, nil
}

// deleteServiceLinkedRole is a task that is done at once.
func (s *service) deleteServiceLinkedRole(_ context.Context, r *wire.Request) (any, error) {
	return s.onRole(func(_ *wire.Request, name string) (any, error) {
		found, err := s.world.Role(name)
		if err != nil {
			return nil, err
		}
		if err := s.world.DeleteServiceLinkedRole(name); err != nil {
			return nil, err
		}
		return struct {
			DeletionTaskID string `xml:"DeletionTaskId"`
		}{"task" + found.Path + name + "/" + found.ID}, nil
	}, r)
}

func (s *service) serviceLinkedRoleDeletion(_ context.Context, r *wire.Request) (any, error) {
	task, err := required(r.Form, "DeletionTaskId")
	if err != nil {
		return nil, err
	}
	if !strings.HasPrefix(task, "task/aws-service-role/") {
		return nil, wire.Errorf("NoSuchEntity", "The deletion task %s cannot be found.", task).WithStatus(404)
	}
	return struct {
		Status string `xml:"Status"`
	}{"SUCCEEDED"}, nil
}
