package ec2

import (
	"fmt"
	"strings"

	"github.com/kerf-sh/kerf/internal/sim/awssim/wire"
	"github.com/kerf-sh/kerf/internal/sim/awssim/world"
)

type createFleetInput struct {
	world.FleetRequest
	// These may be said, but an instant fleet has no use for them.
	ExcessCapacityTerminationPolicy  string `query:"ExcessCapacityTerminationPolicy"`
	TerminateInstancesWithExpiration *bool  `query:"TerminateInstancesWithExpiration"`
	ReplaceUnhealthyInstances        *bool  `query:"ReplaceUnhealthyInstances"`
}

type createFleetOutput struct {
	FleetID   string           `xml:"fleetId"`
	Errors    []fleetError     `xml:"errorSet>item"`
	Instances []fleetInstances `xml:"fleetInstanceSet>item"`
}

type templateAndOverrides struct {
	Template  world.TemplateRef   `xml:"launchTemplateSpecification"`
	Overrides world.FleetOverride `xml:"overrides"`
}

type fleetError struct {
	Place     templateAndOverrides `xml:"launchTemplateAndOverrides"`
	Lifecycle string               `xml:"lifecycle"`
	Code      string               `xml:"errorCode"`
	Message   string               `xml:"errorMessage"`
}

type fleetInstances struct {
	Place        templateAndOverrides `xml:"launchTemplateAndOverrides"`
	Lifecycle    string               `xml:"lifecycle"`
	InstanceIDs  []string             `xml:"instanceIds>item"`
	InstanceType string               `xml:"instanceType"`
}

func (s *service) createFleet(r *wire.Request, in *createFleetInput) (any, error) {
	if r.DryRun() {
		if err := s.world.CheckFleet(in.FleetRequest); err != nil {
			return nil, err
		}
		return nil, wire.DryRunOperation()
	}
	for key, e := range r.Refused {
		if in.Refused == nil {
			in.Refused = map[string]*world.Error{}
		}
		in.Refused[key] = &world.Error{Code: e.Code, Message: e.Message, Status: e.Status}
	}
	f, err := s.world.CreateFleet(in.FleetRequest)
	if err != nil {
		return nil, err
	}
	r.Detail = strings.TrimSuffix(fmt.Sprintf("%s: %d instances, %d errors; %s", f.ID, f.Count(), len(f.Errors), r.Detail), "; ")
	out := createFleetOutput{FleetID: f.ID}
	for _, e := range f.Errors {
		out.Errors = append(out.Errors, fleetError{templateAndOverrides{e.Template, e.Override}, e.Lifecycle, e.Code, e.Message})
	}
	for _, i := range f.Instances {
		out.Instances = append(out.Instances, fleetInstances{templateAndOverrides{i.Template, i.Override}, i.Lifecycle, i.IDs, i.Type})
	}
	return out, nil
}
