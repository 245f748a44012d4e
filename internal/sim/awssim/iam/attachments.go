package iam

import (
	"context"

	"github.com/kerf-sh/kerf/internal/sim/awssim/wire"
	"github.com/kerf-sh/kerf/internal/sim/awssim/world"
)

func (s *service) attachments() map[string]wire.Handler {
	return map[string]wire.Handler{
		"AttachRolePolicy":         s.attachRolePolicy,
		"DetachRolePolicy":         s.detachRolePolicy,
		"ListAttachedRolePolicies": s.listAttachedRolePolicies,
		"PutRolePolicy":            s.putRolePolicy,
		"GetRolePolicy":            s.getRolePolicy,
		"DeleteRolePolicy":         s.deleteRolePolicy,
		"ListRolePolicies":         s.listRolePolicies,
	}
}

// attachment does something to a role and a managed policy.
func (s *service) attachment(do func(role, arn string) error, r *wire.Request) (any, error) {
	return s.onRole(func(r *wire.Request, name string) (any, error) {
		arn, err := required(r.Form, "PolicyArn")
		if err != nil {
			return nil, err
		}
		r.Detail = arn + " on " + name
		return nil, do(name, arn)
	}, r)
}

func (s *service) attachRolePolicy(_ context.Context, r *wire.Request) (any, error) {
	return s.attachment(s.world.AttachRolePolicy, r)
}

func (s *service) detachRolePolicy(_ context.Context, r *wire.Request) (any, error) {
	return s.attachment(s.world.DetachRolePolicy, r)
}

type attachedPolicy struct {
	PolicyName string `xml:"PolicyName"`
	PolicyARN  string `xml:"PolicyArn"`
}

func (s *service) listAttachedRolePolicies(_ context.Context, r *wire.Request) (any, error) {
	return s.onRole(func(r *wire.Request, name string) (any, error) {
		attached, err := s.world.AttachedRolePolicies(name)
		if err != nil {
			return nil, err
		}
		all, next, err := page(r.Form, attached, func(a world.AttachedPolicy) string { return a.ARN })
		if err != nil {
			return nil, err
		}
		out := struct {
			AttachedPolicies []attachedPolicy `xml:"AttachedPolicies>member"`
			mark
		}{mark: next}
		for _, a := range all {
			out.AttachedPolicies = append(out.AttachedPolicies, attachedPolicy{a.Name, a.ARN})
		}
		return out, nil
	}, r)
}

// inline does something to an inline policy of a role.
func (s *service) inline(do func(role, policy string) (any, error), r *wire.Request) (any, error) {
	return s.onRole(func(r *wire.Request, name string) (any, error) {
		policy, err := required(r.Form, "PolicyName")
		if err != nil {
			return nil, err
		}
		r.Detail = policy + " of " + name
		return do(name, policy)
	}, r)
}

func (s *service) putRolePolicy(_ context.Context, r *wire.Request) (any, error) {
	return s.inline(func(role, policy string) (any, error) {
		document, err := required(r.Form, "PolicyDocument")
		if err != nil {
			return nil, err
		}
		return nil, s.world.PutRolePolicy(role, policy, document)
	}, r)
}

func (s *service) getRolePolicy(_ context.Context, r *wire.Request) (any, error) {
	return s.inline(func(role, policy string) (any, error) {
		document, err := s.world.RolePolicy(role, policy)
		if err != nil {
			return nil, err
		}
		return struct {
			RoleName       string `xml:"RoleName"`
			PolicyName     string `xml:"PolicyName"`
			PolicyDocument string `xml:"PolicyDocument"`
		}{role, policy, encoded(document)}, nil
	}, r)
}

func (s *service) deleteRolePolicy(_ context.Context, r *wire.Request) (any, error) {
	return s.inline(func(role, policy string) (any, error) { return nil, s.world.DeleteRolePolicy(role, policy) }, r)
}

func (s *service) listRolePolicies(_ context.Context, r *wire.Request) (any, error) {
	return s.onRole(func(r *wire.Request, name string) (any, error) {
		names, err := s.world.RolePolicyNames(name)
		if err != nil {
			return nil, err
		}
		all, next, err := page(r.Form, names, func(n string) string { return n })
		if err != nil {
			return nil, err
		}
		return struct {
			PolicyNames []string `xml:"PolicyNames>member"`
			mark
		}{all, next}, nil
	}, r)
}
