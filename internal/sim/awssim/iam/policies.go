package iam

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/kerf-sh/kerf/internal/sim/awssim/wire"
	"github.com/kerf-sh/kerf/internal/sim/awssim/world"
)

func (s *service) policies() map[string]wire.Handler {
	return map[string]wire.Handler{
		"CreatePolicy":            s.createPolicy,
		"GetPolicy":               s.getPolicy,
		"ListPolicies":            s.listPolicies,
		"DeletePolicy":            s.deletePolicy,
		"CreatePolicyVersion":     s.createPolicyVersion,
		"GetPolicyVersion":        s.getPolicyVersion,
		"ListPolicyVersions":      s.listPolicyVersions,
		"SetDefaultPolicyVersion": s.setDefaultPolicyVersion,
		"DeletePolicyVersion":     s.deletePolicyVersion,
		"ListEntitiesForPolicy":   s.listEntitiesForPolicy,
		"TagPolicy":               s.tagPolicy,
		"UntagPolicy":             s.untagPolicy,
		"ListPolicyTags":          s.listPolicyTags,
		"SimulatePrincipalPolicy": s.simulatePrincipalPolicy,
		"SimulateCustomPolicy":    s.simulateCustomPolicy,
	}
}

type policy struct {
	PolicyName                    string `xml:"PolicyName"`
	PolicyID                      string `xml:"PolicyId"`
	ARN                           string `xml:"Arn"`
	Path                          string `xml:"Path"`
	DefaultVersionID              string `xml:"DefaultVersionId"`
	AttachmentCount               int    `xml:"AttachmentCount"`
	PermissionsBoundaryUsageCount int    `xml:"PermissionsBoundaryUsageCount"`
	IsAttachable                  bool   `xml:"IsAttachable"`
	Description                   string `xml:"Description,omitempty"`
	CreateDate                    string `xml:"CreateDate"`
	UpdateDate                    string `xml:"UpdateDate"`
	Tags                          []tag  `xml:"Tags>member,omitempty"`
}

type policyResult struct {
	Policy policy `xml:"Policy"`
}

type policyVersion struct {
	Document         string `xml:"Document,omitempty"`
	VersionID        string `xml:"VersionId"`
	IsDefaultVersion bool   `xml:"IsDefaultVersion"`
	CreateDate       string `xml:"CreateDate"`
}

type versionResult struct {
	PolicyVersion policyVersion `xml:"PolicyVersion"`
}

func policyOut(p world.Policy) policy {
	return policy{
		PolicyName: p.Name, PolicyID: p.ID, ARN: p.ARN, Path: p.Path, DefaultVersionID: p.DefaultVersion, AttachmentCount: p.Attachments,
		PermissionsBoundaryUsageCount: p.BoundaryOf, IsAttachable: true, Description: p.Description,
		CreateDate: timestamp(p.Created), UpdateDate: timestamp(p.Updated), Tags: tagsOut(p.Tags),
	}
}

// versionOut shows a version; only GetPolicyVersion tells its text.
func versionOut(v world.PolicyVersion) policyVersion {
	return policyVersion{VersionID: v.ID, IsDefaultVersion: v.Default, CreateDate: timestamp(v.Created)}
}

func (s *service) createPolicy(_ context.Context, r *wire.Request) (any, error) {
	name, err := required(r.Form, "PolicyName")
	if err != nil {
		return nil, err
	}
	document, err := required(r.Form, "PolicyDocument")
	if err != nil {
		return nil, err
	}
	tags, err := tagsIn(r.Form)
	if err != nil {
		return nil, err
	}
	made, err := s.world.CreatePolicy(world.PolicySpec{
		Name: name, Path: r.Form.Get("Path"), Description: r.Form.Get("Description"), Document: document, Tags: tags,
	})
	if err != nil {
		return nil, err
	}
	r.Detail = made.ARN
	out := policyOut(made)
	out.Description = "" // which this answer does not have
	return policyResult{out}, nil
}

// onPolicy does something to the managed policy that a request names.
func (s *service) onPolicy(do func(r *wire.Request, arn string) (any, error), r *wire.Request) (any, error) {
	arn, err := required(r.Form, "PolicyArn")
	if err != nil {
		return nil, err
	}
	if !strings.HasPrefix(arn, "arn:") {
		return nil, wire.Errorf("InvalidInput", "ARN %s is not valid.", arn)
	}
	r.Detail = arn
	return do(r, arn)
}

func (s *service) getPolicy(_ context.Context, r *wire.Request) (any, error) {
	return s.onPolicy(func(_ *wire.Request, arn string) (any, error) {
		p, err := s.world.Policy(arn)
		if err != nil {
			return nil, err
		}
		return policyResult{policyOut(p)}, nil
	}, r)
}

func (s *service) listPolicies(_ context.Context, r *wire.Request) (any, error) {
	scope, prefix := r.Form.Get("Scope"), r.Form.Get("PathPrefix")
	usage := r.Form.Get("PolicyUsageFilter")
	all := slices.DeleteFunc(s.world.ManagedPolicies(), func(p world.Policy) bool {
		switch {
		case scope == "AWS" && !p.AWS, scope == "Local" && p.AWS, !strings.HasPrefix(p.Path, prefix),
			usage == "PermissionsBoundary" && p.BoundaryOf == 0:
			return true
		}
		return r.Form.Get("OnlyAttached") == "true" && p.Attachments == 0 && p.BoundaryOf == 0
	})
	all, next, err := page(r.Form, all, func(p world.Policy) string { return p.ARN })
	if err != nil {
		return nil, err
	}
	out := struct {
		Policies []policy `xml:"Policies>member"`
		mark
	}{mark: next}
	for _, p := range all {
		listed := policyOut(p)
		listed.Description, listed.Tags = "", nil // lists do not show them
		out.Policies = append(out.Policies, listed)
	}
	return out, nil
}

func (s *service) deletePolicy(_ context.Context, r *wire.Request) (any, error) {
	return s.onPolicy(func(_ *wire.Request, arn string) (any, error) { return nil, s.world.DeletePolicy(arn) }, r)
}

func (s *service) createPolicyVersion(_ context.Context, r *wire.Request) (any, error) {
	return s.onPolicy(func(r *wire.Request, arn string) (any, error) {
		document, err := required(r.Form, "PolicyDocument")
		if err != nil {
			return nil, err
		}
		v, err := s.world.CreatePolicyVersion(arn, document, r.Form.Get("SetAsDefault") == "true")
		if err != nil {
			return nil, err
		}
		return versionResult{versionOut(v)}, nil
	}, r)
}

// onVersion does something to the version that a request names.
func (s *service) onVersion(do func(arn, id string) (any, error), r *wire.Request) (any, error) {
	return s.onPolicy(func(r *wire.Request, arn string) (any, error) {
		id, err := required(r.Form, "VersionId")
		if err != nil {
			return nil, err
		}
		return do(arn, id)
	}, r)
}

func (s *service) getPolicyVersion(_ context.Context, r *wire.Request) (any, error) {
	return s.onVersion(func(arn, id string) (any, error) {
		v, err := s.world.PolicyVersion(arn, id)
		if err != nil {
			return nil, err
		}
		out := versionOut(v)
		out.Document = encoded(v.Document)
		return versionResult{out}, nil
	}, r)
}

func (s *service) listPolicyVersions(_ context.Context, r *wire.Request) (any, error) {
	return s.onPolicy(func(r *wire.Request, arn string) (any, error) {
		versions, err := s.world.PolicyVersions(arn)
		if err != nil {
			return nil, err
		}
		newestFirst := func(v world.PolicyVersion) string {
			n, _ := strconv.Atoi(strings.TrimPrefix(v.ID, "v"))
			return fmt.Sprintf("%09d", 1_000_000_000-n)
		}
		all, next, err := page(r.Form, versions, newestFirst)
		if err != nil {
			return nil, err
		}
		out := struct {
			Versions []policyVersion `xml:"Versions>member"`
			mark
		}{mark: next}
		for _, v := range all {
			out.Versions = append(out.Versions, versionOut(v))
		}
		return out, nil
	}, r)
}

func (s *service) setDefaultPolicyVersion(_ context.Context, r *wire.Request) (any, error) {
	return s.onVersion(func(arn, id string) (any, error) { return nil, s.world.SetDefaultPolicyVersion(arn, id) }, r)
}

func (s *service) deletePolicyVersion(_ context.Context, r *wire.Request) (any, error) {
	return s.onVersion(func(arn, id string) (any, error) { return nil, s.world.DeletePolicyVersion(arn, id) }, r)
}

type policyRole struct {
	RoleName string `xml:"RoleName"`
	RoleID   string `xml:"RoleId"`
}

func (s *service) listEntitiesForPolicy(_ context.Context, r *wire.Request) (any, error) {
	return s.onPolicy(func(r *wire.Request, arn string) (any, error) {
		holders, bounded, err := s.world.RolesWithPolicy(arn)
		if err != nil {
			return nil, err
		}
		if r.Form.Get("PolicyUsageFilter") == "PermissionsBoundary" {
			holders = bounded
		}
		if filter := r.Form.Get("EntityFilter"); filter != "" && filter != "Role" {
			holders = nil // there are no users and groups
		}
		prefix := r.Form.Get("PathPrefix")
		holders = slices.DeleteFunc(holders, func(h world.Role) bool { return !strings.HasPrefix(h.Path, prefix) })
		all, next, err := page(r.Form, holders, func(h world.Role) string { return h.Name })
		if err != nil {
			return nil, err
		}
		out := struct {
			PolicyRoles []policyRole `xml:"PolicyRoles>member"`
			mark
		}{mark: next}
		for _, h := range all {
			out.PolicyRoles = append(out.PolicyRoles, policyRole{h.Name, h.ID})
		}
		return out, nil
	}, r)
}

func (s *service) tagPolicy(_ context.Context, r *wire.Request) (any, error) {
	return s.onPolicy(func(r *wire.Request, arn string) (any, error) {
		tags, err := tagsIn(r.Form)
		if err != nil {
			return nil, err
		}
		return nil, s.world.TagPolicy(arn, tags)
	}, r)
}

func (s *service) untagPolicy(_ context.Context, r *wire.Request) (any, error) {
	return s.onPolicy(func(r *wire.Request, arn string) (any, error) {
		return nil, s.world.UntagPolicy(arn, wire.List(r.Form, "TagKeys.member"))
	}, r)
}

func (s *service) listPolicyTags(_ context.Context, r *wire.Request) (any, error) {
	return s.onPolicy(func(_ *wire.Request, arn string) (any, error) {
		p, err := s.world.Policy(arn)
		if err != nil {
			return nil, err
		}
		return tagList{Tags: tagsOut(p.Tags)}, nil
	}, r)
}
