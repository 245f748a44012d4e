package eks

import (
	"context"

	"github.com/kerf-sh/kerf/internal/sim/awssim/wire"
	"github.com/kerf-sh/kerf/internal/sim/awssim/world"
)

func showAssociation(p world.PodIdentity) map[string]any {
	a := map[string]any{
		"clusterName": p.Cluster, "namespace": p.Namespace, "serviceAccount": p.ServiceAccount, "roleArn": p.RoleARN,
		"associationArn": p.ARN, "associationId": p.ID, "tags": orEmpty(p.Tags), "createdAt": seconds(p.Created),
		"modifiedAt": seconds(p.Modified), "disableSessionTags": p.DisableSessionTags,
	}
	if p.TargetRoleARN != "" {
		a["targetRoleArn"] = p.TargetRoleARN
	}
	return map[string]any{"association": a}
}

type associationInput struct {
	Namespace          string            `json:"namespace"`
	ServiceAccount     string            `json:"serviceAccount"`
	RoleARN            string            `json:"roleArn"`
	TargetRoleARN      string            `json:"targetRoleArn"`
	DisableSessionTags bool              `json:"disableSessionTags"`
	Tags               map[string]string `json:"tags"`
	Token              string            `json:"clientRequestToken"`
}

func (s *service) createAssociation(_ context.Context, r *wire.Request) (any, error) {
	var in associationInput
	if err := r.Decode(&in); err != nil {
		return nil, err
	}
	r.Detail = in.Namespace + "/" + in.ServiceAccount
	p, err := s.world.CreatePodIdentity(world.PodIdentity{
		Cluster: r.Path["name"], Namespace: in.Namespace, ServiceAccount: in.ServiceAccount, RoleARN: in.RoleARN,
		TargetRoleARN: in.TargetRoleARN, DisableSessionTags: in.DisableSessionTags, Tags: in.Tags,
	})
	if err != nil {
		return nil, err
	}
	return showAssociation(p), nil
}

func (s *service) listAssociations(_ context.Context, r *wire.Request) (any, error) {
	all, err := s.world.PodIdentities(r.Path["name"])
	if err != nil {
		return nil, err
	}
	namespace, account := r.Query.Get("namespace"), r.Query.Get("serviceAccount")
	out := []map[string]any{}
	for _, p := range all {
		if (namespace == "" || p.Namespace == namespace) && (account == "" || p.ServiceAccount == account) {
			out = append(out, map[string]any{
				"clusterName": p.Cluster, "namespace": p.Namespace, "serviceAccount": p.ServiceAccount, "associationArn": p.ARN, "associationId": p.ID,
			})
		}
	}
	return map[string]any{"associations": out}, nil
}

func (s *service) describeAssociation(_ context.Context, r *wire.Request) (any, error) {
	p, err := s.world.PodIdentity(r.Path["name"], r.Path["id"])
	if err != nil {
		return nil, err
	}
	return showAssociation(p), nil
}

func (s *service) updateAssociation(_ context.Context, r *wire.Request) (any, error) {
	var in associationInput
	if err := r.Decode(&in); err != nil {
		return nil, err
	}
	p, err := s.world.UpdatePodIdentity(r.Path["name"], r.Path["id"], in.RoleARN, in.TargetRoleARN, in.DisableSessionTags)
	if err != nil {
		return nil, err
	}
	return showAssociation(p), nil
}

func (s *service) deleteAssociation(_ context.Context, r *wire.Request) (any, error) {
	p, err := s.world.DeletePodIdentity(r.Path["name"], r.Path["id"])
	if err != nil {
		return nil, err
	}
	return showAssociation(p), nil
}
