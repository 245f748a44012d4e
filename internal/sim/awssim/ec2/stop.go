package ec2

import (
	"strconv"

	"github.com/kerf-sh/kerf/internal/sim/awssim/wire"
)

// Force and SkipOsShutdown change nothing here: an instance shuts down in any case.
type stopInstancesInput struct {
	IDs            []string `query:"InstanceId"`
	Force          *bool    `query:"Force"`
	SkipOsShutdown *bool    `query:"SkipOsShutdown"`
}

type stopInstancesOutput struct {
	Instances []stateChange `xml:"instancesSet>item"`
}

func (s *service) stopInstances(r *wire.Request, in *stopInstancesInput) (any, error) {
	if err := s.checkChange(r, in.IDs); err != nil {
		return nil, err
	}
	changes, err := s.world.StopInstances(in.IDs)
	if err != nil {
		return nil, err
	}
	r.Detail = strconv.Itoa(len(changes)) + " instances"
	return stopInstancesOutput{stateChanges(changes)}, nil
}
