package eks

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/kerf-sh/kerf/internal/sim/awssim/wire"
	"github.com/kerf-sh/kerf/internal/sim/awssim/world"
)

type service struct{ world *world.World }

// registerAccess adds the operations on access entries and pod identities, and those on tags.
func registerAccess(s *wire.Server, w *world.World) {
	svc := &service{w}
	const (
		entries      = "/clusters/{name}/access-entries"
		policies     = entries + "/{principal}/access-policies"
		associations = "/clusters/{name}/pod-identity-associations"
	)
	for _, o := range []struct {
		operation, pattern string
		handler            wire.Handler
		query              []string
	}{
		{"ListClusters", "GET /clusters", svc.listClusters, nil},
		{"CreateAccessEntry", "POST " + entries, svc.createEntry, nil},
		{"ListAccessEntries", "GET " + entries, svc.listEntries, []string{"associatedPolicyArn"}},
		{"DescribeAccessEntry", "GET " + entries + "/{principal}", svc.describeEntry, nil},
		{"UpdateAccessEntry", "POST " + entries + "/{principal}", svc.updateEntry, nil},
		{"DeleteAccessEntry", "DELETE " + entries + "/{principal}", svc.deleteEntry, nil},
		{"AssociateAccessPolicy", "POST " + policies, svc.associatePolicy, nil},
		{"ListAssociatedAccessPolicies", "GET " + policies, svc.listPolicies, nil},
		{"DisassociateAccessPolicy", "DELETE " + policies + "/{policy}", svc.disassociatePolicy, nil},
		{"CreatePodIdentityAssociation", "POST " + associations, svc.createAssociation, nil},
		{"ListPodIdentityAssociations", "GET " + associations, svc.listAssociations, []string{"namespace", "serviceAccount"}},
		{"DescribePodIdentityAssociation", "GET " + associations + "/{id}", svc.describeAssociation, nil},
		{"UpdatePodIdentityAssociation", "POST " + associations + "/{id}", svc.updateAssociation, nil},
		{"DeletePodIdentityAssociation", "DELETE " + associations + "/{id}", svc.deleteAssociation, nil},
		{"TagResource", "POST /tags/{arn}", svc.tag, nil},
		{"UntagResource", "DELETE /tags/{arn}", svc.untag, []string{"tagKeys"}},
		{"ListTagsForResource", "GET /tags/{arn}", svc.listTags, nil},
	} {
		s.HandleREST(wire.EKS, o.operation, o.pattern, o.handler, o.query...)
	}
}

// seconds is a time as EKS writes it.
func seconds(t time.Time) json.Number {
	b, _ := json.Marshal(float64(t.UnixMilli()) / 1000) // a number can be encoded
	return json.Number(b)
}

func orEmpty[K comparable, V any](m map[K]V) map[K]V {
	if m == nil {
		return map[K]V{}
	}
	return m
}

func (s *service) listClusters(context.Context, *wire.Request) (any, error) {
	return map[string]any{"clusters": append([]string{}, s.world.Clusters()...)}, nil
}

func showEntry(e world.AccessEntry) map[string]any {
	return map[string]any{"accessEntry": map[string]any{
		"clusterName": e.Cluster, "principalArn": e.PrincipalARN, "kubernetesGroups": append([]string{}, e.Groups...),
		"accessEntryArn": e.ARN, "createdAt": seconds(e.Created), "modifiedAt": seconds(e.Modified), "tags": orEmpty(e.Tags),
		"username": e.Username, "type": e.Type,
	}}
}

func (s *service) createEntry(_ context.Context, r *wire.Request) (any, error) {
	var in struct {
		PrincipalARN string            `json:"principalArn"`
		Groups       []string          `json:"kubernetesGroups"`
		Tags         map[string]string `json:"tags"`
		Username     string            `json:"username"`
		Type         string            `json:"type"`
		Token        string            `json:"clientRequestToken"` // what is made has a name of its own: it is made once anyway
	}
	if err := r.Decode(&in); err != nil {
		return nil, err
	}
	r.Detail = in.PrincipalARN
	e, err := s.world.CreateAccessEntry(world.AccessEntry{
		Cluster: r.Path["name"], PrincipalARN: in.PrincipalARN, Groups: in.Groups, Tags: in.Tags, Username: in.Username, Type: in.Type,
	})
	if err != nil {
		return nil, err
	}
	return showEntry(e), nil
}

func (s *service) listEntries(_ context.Context, r *wire.Request) (any, error) {
	all, err := s.world.AccessEntries(r.Path["name"])
	if err != nil {
		return nil, err
	}
	policy := r.Query.Get("associatedPolicyArn")
	out := []string{}
	for _, e := range all {
		if policy == "" || slices.ContainsFunc(e.Policies, func(p world.AccessPolicy) bool { return p.ARN == policy }) {
			out = append(out, e.PrincipalARN)
		}
	}
	return map[string]any{"accessEntries": out}, nil
}

func (s *service) describeEntry(_ context.Context, r *wire.Request) (any, error) {
	e, err := s.world.AccessEntry(r.Path["name"], r.Path["principal"])
	if err != nil {
		return nil, err
	}
	return showEntry(e), nil
}

func (s *service) updateEntry(_ context.Context, r *wire.Request) (any, error) {
	var in struct {
		Groups   []string `json:"kubernetesGroups"`
		Username string   `json:"username"`
		Token    string   `json:"clientRequestToken"`
	}
	if err := r.Decode(&in); err != nil {
		return nil, err
	}
	e, err := s.world.UpdateAccessEntry(r.Path["name"], r.Path["principal"], in.Groups, in.Username)
	if err != nil {
		return nil, err
	}
	return showEntry(e), nil
}

func (s *service) deleteEntry(_ context.Context, r *wire.Request) (any, error) {
	return nil, s.world.DeleteAccessEntry(r.Path["name"], r.Path["principal"])
}

func showPolicy(p world.AccessPolicy) map[string]any {
	return map[string]any{
		"policyArn": p.ARN, "accessScope": map[string]any{"type": p.Scope, "namespaces": append([]string{}, p.Namespaces...)},
		"associatedAt": seconds(p.Created), "modifiedAt": seconds(p.Modified),
	}
}

func (s *service) associatePolicy(_ context.Context, r *wire.Request) (any, error) {
	var in struct {
		PolicyARN string `json:"policyArn"`
		Scope     struct {
			Type       string   `json:"type"`
			Namespaces []string `json:"namespaces"`
		} `json:"accessScope"`
	}
	if err := r.Decode(&in); err != nil {
		return nil, err
	}
	cluster, principal := r.Path["name"], r.Path["principal"]
	p, err := s.world.AssociateAccessPolicy(cluster, principal, world.AccessPolicy{ARN: in.PolicyARN, Scope: in.Scope.Type, Namespaces: in.Scope.Namespaces})
	if err != nil {
		return nil, err
	}
	return map[string]any{"clusterName": cluster, "principalArn": principal, "associatedAccessPolicy": showPolicy(p)}, nil
}

func (s *service) listPolicies(_ context.Context, r *wire.Request) (any, error) {
	e, err := s.world.AccessEntry(r.Path["name"], r.Path["principal"])
	if err != nil {
		return nil, err
	}
	out := []map[string]any{}
	for _, p := range e.Policies {
		out = append(out, showPolicy(p))
	}
	return map[string]any{"clusterName": e.Cluster, "principalArn": e.PrincipalARN, "associatedAccessPolicies": out}, nil
}

func (s *service) disassociatePolicy(_ context.Context, r *wire.Request) (any, error) {
	return nil, s.world.DisassociateAccessPolicy(r.Path["name"], r.Path["principal"], r.Path["policy"])
}

func (s *service) tag(_ context.Context, r *wire.Request) (any, error) {
	var in struct {
		Tags map[string]string `json:"tags"`
	}
	if err := r.Decode(&in); err != nil {
		return nil, err
	}
	return nil, s.world.TagEKS(r.Path["arn"], in.Tags, nil)
}

func (s *service) untag(_ context.Context, r *wire.Request) (any, error) {
	return nil, s.world.TagEKS(r.Path["arn"], nil, r.Query["tagKeys"])
}

func (s *service) listTags(_ context.Context, r *wire.Request) (any, error) {
	tags, err := s.world.EKSTags(r.Path["arn"])
	if err != nil {
		return nil, err
	}
	return map[string]any{"tags": orEmpty(tags)}, nil
}
