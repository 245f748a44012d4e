package ec2

import (
	"github.com/kerf-sh/kerf/internal/sim/awssim/wire"
	"github.com/kerf-sh/kerf/internal/sim/awssim/world"
)

type runInstancesInput struct {
	world.LaunchData
	ClientToken string             `query:"ClientToken"`
	MinCount    int                `query:"MinCount"`
	MaxCount    int                `query:"MaxCount"`
	SubnetID    string             `query:"SubnetId"`
	Template    *world.TemplateRef `query:"LaunchTemplate"`
}

func (s *service) runInstances(r *wire.Request, in *runInstancesInput) (any, error) {
	if err := checkTemplateTags(&in.LaunchData); err != nil {
		return nil, err
	}
	req := world.RunRequest{
		ClientToken: in.ClientToken, Min: in.MinCount, Max: in.MaxCount, Template: in.Template, Data: in.LaunchData, SubnetID: in.SubnetID,
	}
	if r.DryRun() {
		if err := s.world.CheckRun(req); err != nil {
			return nil, err
		}
		return nil, wire.DryRunOperation()
	}
	made, err := s.world.Run(req)
	if err != nil {
		return nil, err
	}
	out := reservation{OwnerID: s.world.Account()}
	names := s.groupNames()
	for i := range made {
		out.ID = made[i].ReservationID
		out.Instances = append(out.Instances, s.show(&made[i], names))
	}
	return out, nil
}
