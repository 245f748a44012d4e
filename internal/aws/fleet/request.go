package fleet

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	awsv1 "github.com/kerf-sh/kerf/api/aws/v1"
	"github.com/kerf-sh/kerf/internal/aws/launchtemplate"
	"github.com/kerf-sh/kerf/internal/aws/network"
	"github.com/kerf-sh/kerf/internal/engine/catalog"
)

// Request is what a fleet is asked for, whoever it is for. Claims with equal Requests share fleets.
type Request struct {
	// CapacityType is on-demand, spot or reserved.
	CapacityType string
	// Reservation is the kind of reservation that reserved capacity is launched out of.
	Reservation ReservationKind
	// Group is the placement group that the templates put instances into, empty for none, and Partition its partition, 0 in
	// groups without partitions.
	Group     string `json:",omitempty"`
	Partition int32  `json:",omitempty"`
	// Templates with what may be launched from each.
	Templates []Template
	// Subnets to choose from, one in each zone, when the fleet is asked for.
	Subnets []awsv1.Subnet
	// Tags of instances, volumes and the fleet.
	Tags map[string]string
	// Context is passed on verbatim if not empty.
	Context string
	// ByPriority lets EC2 follow the overrides' prices instead of its own, for prices that an overlay changed.
	ByPriority bool
}

// Template is a launch template and the pools to use it for.
type Template struct {
	Name string
	// ID and Version name a version of a template that is not ours, in place of Name.
	ID      string `json:",omitempty"`
	Version int64  `json:",omitempty"`
	// Demand is what an instance launched from it takes of its subnet by itself.
	Demand network.Demand `json:",omitzero"`
	// Overrides are the pools.
	Overrides []Override
}

// Override is one pool.
type Override struct {
	InstanceType string
	Zone         string
	ImageID      string
	// Addresses is how many addresses of its subnet the pods of an instance of the type may take.
	Addresses int
	// Price per hour; decides between pools if ByPriority.
	Price catalog.MicroUSD
	// ReservationID is what the pool's instances are launched out of; empty where the capacity is not reserved.
	ReservationID string `json:",omitempty"`
}

// key is equal for equal requests.
func (r *Request) key() string {
	content, err := json.Marshal(r) // maps are written sorted
	if err != nil {
		panic("fleet: a request of plain values can always be written: " + err.Error())
	}
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:])
}

// demand is the most that one instance may take of its subnet by itself.
func (r *Request) demand() network.Demand {
	var out network.Demand
	for i := range r.Templates {
		d := r.Templates[i].Demand
		out.Addresses, out.Prefixes = max(out.Addresses, d.Addresses), max(out.Prefixes, d.Prefixes)
	}
	return out
}

// demandOf is what an instance of a pool takes of its subnet by itself.
func (r *Request) demandOf(instanceType, zone string) network.Demand {
	for i := range r.Templates {
		for _, o := range r.Templates[i].Overrides {
			if o.InstanceType == instanceType && o.Zone == zone {
				return r.Templates[i].Demand
			}
		}
	}
	return network.Demand{}
}

// minAddresses is the least number of addresses that the pods of an instance in a zone may take.
func (r *Request) minAddresses(zone string) int {
	least := -1
	for _, t := range r.Templates {
		for _, o := range t.Overrides {
			if o.Zone == zone && (least < 0 || o.Addresses < least) {
				least = o.Addresses
			}
		}
	}
	return max(least, 0)
}

// input makes the request for n instances; subnets has the one to use in each zone, zones without one are left out.
func (r *Request) input(subnets map[string]string, instanceTags map[string]string, token string, n int) *ec2.CreateFleetInput {
	in := &ec2.CreateFleetInput{
		Type:        types.FleetTypeInstant,
		ClientToken: &token,
		TargetCapacitySpecification: &types.TargetCapacitySpecificationRequest{
			TotalTargetCapacity:       new(int32(n)),
			DefaultTargetCapacityType: r.target(),
		},
		TagSpecifications: []types.TagSpecification{
			{ResourceType: types.ResourceTypeInstance, Tags: launchtemplate.EC2Tags(instanceTags)},
			{ResourceType: types.ResourceTypeVolume, Tags: launchtemplate.EC2Tags(r.Tags)},
			{ResourceType: types.ResourceTypeFleet, Tags: launchtemplate.EC2Tags(r.Tags)},
		},
	}
	if r.Context != "" {
		in.Context = &r.Context
	}
	r.strategy(in)
	r.reserve(in)
	for _, t := range r.Templates {
		pools := overrides(t.Overrides, subnets)
		if len(pools) == 0 {
			continue
		}
		in.LaunchTemplateConfigs = append(in.LaunchTemplateConfigs, types.FleetLaunchTemplateConfigRequest{
			LaunchTemplateSpecification: t.specification(),
			Overrides:                   pools,
		})
	}
	return in
}

func (t *Template) specification() *types.FleetLaunchTemplateSpecificationRequest {
	if t.ID != "" {
		return &types.FleetLaunchTemplateSpecificationRequest{LaunchTemplateId: new(t.ID), Version: new(strconv.FormatInt(t.Version, 10))}
	}
	return &types.FleetLaunchTemplateSpecificationRequest{LaunchTemplateName: new(t.Name), Version: new("$Latest")}
}

func (r *Request) strategy(in *ec2.CreateFleetInput) {
	if r.CapacityType == catalog.Spot {
		in.SpotOptions = &types.SpotOptionsRequest{AllocationStrategy: types.SpotAllocationStrategyPriceCapacityOptimized}
		if r.ByPriority {
			in.SpotOptions.AllocationStrategy = types.SpotAllocationStrategyCapacityOptimizedPrioritized
		}
		return
	}
	if r.Reservation.Type == awsv1.CapacityReservationTypeCapacityBlock {
		return // it has one pool only
	}
	in.OnDemandOptions = &types.OnDemandOptionsRequest{AllocationStrategy: types.FleetOnDemandAllocationStrategyLowestPrice}
	if r.ByPriority {
		in.OnDemandOptions.AllocationStrategy = types.FleetOnDemandAllocationStrategyPrioritized
	}
}

func overrides(in []Override, subnets map[string]string) []types.FleetLaunchTemplateOverridesRequest {
	out := make([]types.FleetLaunchTemplateOverridesRequest, 0, len(in))
	for _, o := range in {
		subnet, ok := subnets[o.Zone]
		if !ok {
			continue
		}
		pool := types.FleetLaunchTemplateOverridesRequest{
			InstanceType: types.InstanceType(o.InstanceType),
			SubnetId:     new(subnet),
			// Named again so that EC2's errors say it.
			AvailabilityZone: new(o.Zone),
			Priority:         new(float64(o.Price) / 1e6),
		}
		if o.ImageID != "" {
			pool.ImageId = new(o.ImageID)
		}
		out = append(out, pool)
	}
	return out
}
