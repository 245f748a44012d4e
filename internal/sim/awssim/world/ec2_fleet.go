package world

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// FleetRequest is what CreateFleet asks for.
type FleetRequest struct {
	ClientToken string             `query:"ClientToken" json:"-"`
	Context     string             `query:"Context"`
	Type        string             `query:"Type"`
	Configs     []FleetConfig      `query:"LaunchTemplateConfigs"`
	Spot        *FleetOptions      `query:"SpotOptions"`
	OnDemand    *FleetOptions      `query:"OnDemandOptions"`
	Reserved    *ReservedOptions   `query:"ReservedCapacityOptions"`
	Target      TargetCapacity     `query:"TargetCapacitySpecification"`
	Tags        []TagSpecification `query:"TagSpecification"`
	// Refused are the launches, by LaunchKey, that the caller may not make; each becomes an error of its place, or with the
	// code ClientError instances that begin and end.
	Refused map[string]*Error `json:"-"`
}

// FleetConfig is a launch template with the places that it may be used for.
type FleetConfig struct {
	Template  TemplateRef     `query:"LaunchTemplateSpecification"`
	Overrides []FleetOverride `query:"Overrides"`
}

// FleetOverride replaces parts of the launch template; each is one place to launch from. Its xml names are those of the
// fleet's answer.
type FleetOverride struct {
	InstanceType        string               `query:"InstanceType" xml:"instanceType,omitempty"`
	SubnetID            string               `query:"SubnetId" xml:"subnetId,omitempty"`
	AvailabilityZone    string               `query:"AvailabilityZone" xml:"availabilityZone,omitempty"`
	AvailabilityZoneID  string               `query:"AvailabilityZoneId" xml:"availabilityZoneId,omitempty"`
	ImageID             string               `query:"ImageId" xml:"imageId,omitempty"`
	MaxPrice            string               `query:"MaxPrice" xml:"maxPrice,omitempty"`
	Priority            *float64             `query:"Priority" xml:"priority,omitempty"`
	Placement           *Placement           `query:"Placement" xml:"placement,omitempty"`
	BlockDeviceMappings []BlockDeviceMapping `query:"BlockDeviceMapping" xml:"blockDeviceMappingSet>item"`
	IamInstanceProfile  *ProfileRef          `query:"IamInstanceProfile" xml:"-"`
}

// FleetOptions says how to choose among places.
type FleetOptions struct {
	AllocationStrategy           string `query:"AllocationStrategy"`
	InstanceInterruptionBehavior string `query:"InstanceInterruptionBehavior"`
	InstancePoolsToUseCount      *int32 `query:"InstancePoolsToUseCount"`
}

// ReservedOptions names the kinds of reservation that a fleet may use.
type ReservedOptions struct {
	ReservationTypes []string `query:"ReservationType"`
}

// TargetCapacity is how many instances a fleet is to have.
type TargetCapacity struct {
	Total       *int32 `query:"TotalTargetCapacity"`
	OnDemand    *int32 `query:"OnDemandTargetCapacity"`
	Spot        *int32 `query:"SpotTargetCapacity"`
	DefaultType string `query:"DefaultTargetCapacityType"`
}

// Fleet is what came of a request. Values handed out must not be changed.
type Fleet struct {
	ID        string
	Created   time.Time
	Request   FleetRequest
	Tags      map[string]string
	Instances []FleetInstances
	Errors    []FleetError
}

// FleetInstances are the instances launched from one place.
type FleetInstances struct {
	IDs       []string
	Type      string
	Lifecycle string // on-demand or spot
	Template  TemplateRef
	Override  FleetOverride
}

// FleetError is why one place gave fewer instances than it was asked for.
type FleetError struct {
	Code, Message string
	Lifecycle     string
	Template      TemplateRef
	Override      FleetOverride
}

// Count is how many instances the fleet launched.
func (f *Fleet) Count() int {
	n := 0
	for _, i := range f.Instances {
		n += len(i.IDs)
	}
	return n
}

// maxFleet is how many instances one instant fleet may ask for.
const maxFleet = 10_000

// maxFleets is how many fleets are remembered.
const maxFleets = 2_000

// CheckFleet judges a request without launching, as a dry run does: its form, and whether its templates exist.
func (w *World) CheckFleet(r FleetRequest) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	_, err := w.fleetPlanLocked(&r)
	return err
}

// CreateFleet launches an instant fleet. A request that is in order succeeds even if it launches nothing: the reasons are
// then in Errors. The same client token gives the same fleet again.
func (w *World) CreateFleet(r FleetRequest) (Fleet, error) {
	w.mu.Lock()
	defer w.unlock()
	canonical := r
	canonical.Tags = sortTags(r.Tags)
	seen, err := w.tokenLocked("CreateFleet", r.ClientToken, canonical)
	if err != nil {
		return Fleet{}, err
	}
	if f, ok := seen.(*Fleet); ok {
		return *f, nil
	}
	w.loseTemplatesLocked(&r)
	plan, err := w.fleetPlanLocked(&r)
	if err != nil {
		w.dropTokenLocked("CreateFleet", r.ClientToken)
		return Fleet{}, err
	}
	f := &Fleet{ID: w.newFleetIDLocked(), Created: w.clock.Now(), Request: r, Tags: tagsFor(r.Tags, "fleet")}
	w.ec2.fleets[f.ID] = f
	if w.ec2.fleetIDs = append(w.ec2.fleetIDs, f.ID); len(w.ec2.fleetIDs) > maxFleets {
		delete(w.ec2.fleets, w.ec2.fleetIDs[0])
		w.ec2.fleetIDs = w.ec2.fleetIDs[1:]
	}
	w.keepTokenLocked("CreateFleet", r.ClientToken, f)
	for _, part := range plan.parts {
		w.fillLocked(f, plan, part)
	}
	return *f, nil
}

// Fleets returns the fleets made last, by time.
func (w *World) Fleets() []Fleet {
	w.mu.Lock()
	defer w.mu.Unlock()
	out := make([]Fleet, 0, len(w.ec2.fleets))
	for _, f := range w.ec2.fleets {
		out = append(out, *f)
	}
	slices.SortFunc(out, func(a, b Fleet) int { return cmp.Or(a.Created.Compare(b.Created), cmp.Compare(a.ID, b.ID)) })
	return out
}

func (w *World) newFleetIDLocked() string {
	id := w.newIDLocked("fleet")
	hex := strings.TrimPrefix(id, "fleet-0") + "000000000000000"
	return "fleet-" + hex[0:8] + "-" + hex[8:12] + "-" + hex[12:16] + "-" + hex[16:20] + "-" + hex[19:31]
}

// sortTags brings tags into one order, so that requests that differ in it only count as the same.
func sortTags(specs []TagSpecification) []TagSpecification {
	out := slices.Clone(specs)
	for i := range out {
		out[i].Tags = slices.Clone(out[i].Tags)
		slices.SortFunc(out[i].Tags, func(a, b Tag) int { return cmp.Compare(a.Key, b.Key) })
	}
	slices.SortStableFunc(out, func(a, b TagSpecification) int { return cmp.Compare(a.ResourceType, b.ResourceType) })
	return out
}

// fleetPlan is a request understood: how many of which capacity type, from which places.
type fleetPlan struct {
	request *FleetRequest
	parts   []fleetPart
	places  []fleetPlace
}

type fleetPart struct {
	capacityType string
	count        int
	strategy     string
}

// fleetPlace is one override with its template.
type fleetPlace struct {
	template *LaunchTemplate
	version  TemplateVersion
	override FleetOverride
}

func (p *fleetPlace) ref() TemplateRef {
	return TemplateRef{ID: p.template.ID, Version: strconv.FormatInt(p.version.Number, 10)}
}

func (w *World) fleetPlanLocked(r *FleetRequest) (*fleetPlan, error) {
	if r.Type != "instant" {
		return nil, Errorf("InvalidParameterValue", "Fleets of type %q are not simulated; use type instant.", cmp.Or(r.Type, "maintain"))
	}
	total := int(deref(r.Target.Total))
	if r.Target.Total == nil || total < 1 || total > maxFleet {
		return nil, Errorf("InvalidParameterValue", "TotalTargetCapacity must be between 1 and %d, not %d.", maxFleet, total)
	}
	if len(r.Configs) == 0 {
		return nil, Errorf("MissingParameter", "The request must contain the parameter LaunchTemplateConfigs")
	}
	if err := checkFleetTags(r.Tags); err != nil {
		return nil, err
	}
	plan := &fleetPlan{request: r}
	if err := plan.split(total); err != nil {
		return nil, err
	}
	for _, c := range r.Configs {
		t, err := w.templateLocked(c.Template)
		if err != nil {
			return nil, err
		}
		v, err := t.Version(c.Template.Version)
		if err != nil {
			return nil, err
		}
		overrides := c.Overrides
		if len(overrides) == 0 {
			overrides = []FleetOverride{{}}
		}
		for _, o := range overrides {
			plan.places = append(plan.places, fleetPlace{t, v, o})
		}
	}
	return plan, w.checkPoolsLocked(plan.places)
}

// checkPoolsLocked refuses a fleet in which two places are the same pool: one type in one zone, whatever the subnets.
func (w *World) checkPoolsLocked(places []fleetPlace) error {
	seen := map[[2]string]bool{}
	for _, p := range places {
		where := p.override.AvailabilityZone
		if s := w.ec2.net.subnets[p.override.SubnetID]; s != nil {
			where = s.Zone
		}
		key := [2]string{cmp.Or(p.override.InstanceType, p.version.Data.InstanceType), cmp.Or(where, p.override.SubnetID)}
		if seen[key] {
			return Errorf("InvalidFleetConfig", "The fleet configuration contains duplicate instance pools.")
		}
		seen[key] = true
	}
	return nil
}

func checkFleetTags(specs []TagSpecification) error {
	// Network interfaces and spot requests get theirs from the launch template.
	allowed := []string{"fleet", "instance", "volume"}
	for _, s := range specs {
		if !slices.Contains(allowed, s.ResourceType) {
			return Errorf("InvalidParameterValue", "'%s' is not a resource type that an instant fleet tags.", s.ResourceType)
		}
		if err := checkTags(s.Tags); err != nil {
			return err
		}
	}
	return nil
}

// Allocation strategies that EC2 knows.
var (
	onDemandStrategies = []string{"lowest-price", "prioritized"}
	spotStrategies     = []string{
		"lowest-price", "diversified", "capacity-optimized", "capacity-optimized-prioritized", "price-capacity-optimized",
	}
)

// split divides the target between on-demand and spot.
func (p *fleetPlan) split(total int) error {
	t := p.request.Target
	od, spot := int(deref(t.OnDemand)), int(deref(t.Spot))
	if od < 0 || spot < 0 || od+spot > total {
		return Errorf("InvalidParameterValue", "OnDemandTargetCapacity %d and SpotTargetCapacity %d do not fit TotalTargetCapacity %d.", od, spot, total)
	}
	rest := total - od - spot
	switch t.DefaultType {
	case Spot:
		spot += rest
	case OnDemand, "capacity-block", "reserved-capacity", "": // only the total is required
		od += rest
	default:
		return Errorf("InvalidParameterValue", "'%s' is not a target capacity type.", t.DefaultType)
	}
	odStrategy, spotStrategy := "lowest-price", "lowest-price"
	if p.request.OnDemand != nil {
		odStrategy = cmp.Or(p.request.OnDemand.AllocationStrategy, odStrategy)
	}
	if p.request.Spot != nil {
		spotStrategy = cmp.Or(p.request.Spot.AllocationStrategy, spotStrategy)
	}
	if !slices.Contains(onDemandStrategies, odStrategy) {
		return Errorf("InvalidParameterValue", "'%s' is not an on-demand allocation strategy.", odStrategy)
	}
	if !slices.Contains(spotStrategies, spotStrategy) {
		return Errorf("InvalidParameterValue", "'%s' is not a spot allocation strategy.", spotStrategy)
	}
	if od > 0 {
		p.parts = append(p.parts, fleetPart{OnDemand, od, odStrategy})
	}
	if spot > 0 {
		p.parts = append(p.parts, fleetPart{Spot, spot, spotStrategy})
	}
	return nil
}
