package world

import (
	"math"
	"slices"
	"strconv"
)

// candidate is a place that passed its checks, while a fleet fills up.
type candidate struct {
	*launch
	place    *fleetPlace
	order    int // as given
	price    float64
	priority float64
	pool     *pool
	ids      []string
}

// fillLocked launches one part of a fleet: place after place as the strategy has it, one instance at a time, until the
// target is met or no place is left. Each place that fails says why, once.
func (w *World) fillLocked(f *Fleet, plan *fleetPlan, part fleetPart) {
	var live []*candidate
	for n := range plan.places {
		place := &plan.places[n]
		refused := plan.request.Refused[LaunchKey(part.capacityType, n)]
		if refused != nil && refused.Code != ClientError {
			f.Errors = append(f.Errors, placeError(place, part.capacityType, refused))
			continue
		}
		c, err := w.candidateLocked(f, plan.request, place, part.capacityType)
		if err != nil {
			f.Errors = append(f.Errors, placeError(place, part.capacityType, err))
			continue
		}
		c.order, c.fails = n, refused
		live = append(live, c)
	}
	all := slices.Clone(live)
	left := part.count
	limit, partial := left, w.poolFaultLocked(FaultPartialFleet, part.capacityType, "", "", "")
	if partial != nil {
		limit = min(partial.Limit, left)
	}
	silent := w.poolFaultLocked(FaultSilentFleet, part.capacityType, "", "", "")
	if silent != nil {
		limit = min(silent.Limit, limit)
	}
	for left > 0 && len(live) > 0 {
		if silent != nil && part.count-left >= limit {
			break
		}
		c := choose(part.strategy, live)
		var err *Error
		if part.count-left >= limit {
			e := noCapacity(c.launch)
			err = partial.refusal(e.Code, e.Message, e.Status)
		} else {
			var i *Instance
			if i, err = w.placeLocked(c.launch); err == nil {
				c.ids = append(c.ids, i.ID)
				left--
				continue
			}
		}
		f.Errors = append(f.Errors, placeError(c.place, part.capacityType, err))
		live = slices.DeleteFunc(live, func(o *candidate) bool { return o == c })
	}
	for _, c := range all {
		if len(c.ids) > 0 {
			f.Instances = append(f.Instances, FleetInstances{
				IDs: c.ids, Type: c.facts.Name, Lifecycle: part.capacityType, Template: c.place.ref(), Override: c.shown(),
			})
		}
	}
}

func (w *World) candidateLocked(f *Fleet, r *FleetRequest, place *fleetPlace, capacityType string) (*candidate, *Error) {
	o := place.override
	data := place.version.Data.merge(o.launchData())
	zone := o.AvailabilityZone
	if zone == "" && o.AvailabilityZoneID != "" {
		for _, z := range w.ec2.net.zones {
			if z.ID == o.AvailabilityZoneID {
				zone = z.Name
			}
		}
	}
	l, err := w.checkLocked(data, capacityType, o.SubnetID, zone)
	if err != nil {
		return nil, err
	}
	l.template, l.version, l.fleetID, l.tags = place.template, place.version.Number, f.ID, r.Tags
	c := &candidate{launch: l, place: place, priority: math.Inf(1), pool: w.poolLocked(poolKey{capacityType, l.facts.Name, l.subnet.Zone})}
	if o.Priority != nil {
		c.priority = *o.Priority
	}
	price, ok := w.OnDemandPrice(l.facts.Name)
	if capacityType == Spot {
		price, ok = w.spotPriceLocked(l.facts.Name, l.subnet.Zone)
	}
	c.price = float64(price)
	if !ok {
		c.price = math.Inf(1)
	}
	if o.MaxPrice != "" && capacityType == Spot {
		limit, perr := strconv.ParseFloat(o.MaxPrice, 64)
		if perr != nil {
			return nil, Errorf("InvalidParameterValue", "The maximum price '%s' is not a number.", o.MaxPrice)
		}
		if c.price > limit*1e6 {
			return nil, Errorf("SpotMaxPriceTooLow",
				"Your Spot request price of %s is lower than the minimum required Spot request fulfillment price of %.4f.", o.MaxPrice, c.price/1e6)
		}
	}
	return c, nil
}

// launchData is the override as what it lays over its template.
func (o *FleetOverride) launchData() LaunchData {
	return LaunchData{
		InstanceType: o.InstanceType, ImageID: o.ImageID, Placement: o.Placement, BlockDeviceMappings: o.BlockDeviceMappings,
		IamInstanceProfile: o.IamInstanceProfile,
	}
}

// shown is the override as the answer repeats it, with what it left to the template filled in.
func (c *candidate) shown() FleetOverride {
	o := c.place.override
	o.InstanceType, o.ImageID = c.facts.Name, c.image.ID
	o.SubnetID, o.AvailabilityZone = c.subnet.ID, c.subnet.Zone
	return o
}

func placeError(p *fleetPlace, capacityType string, err *Error) FleetError {
	o := p.override
	if o.InstanceType == "" {
		o.InstanceType = p.version.Data.InstanceType
	}
	return FleetError{Code: err.Code, Message: err.Message, Lifecycle: capacityType, Template: p.ref(), Override: o}
}

// choose picks the place for the next instance.
func choose(strategy string, live []*candidate) *candidate {
	most := 0
	for _, c := range live {
		most = max(most, c.room())
	}
	cost := func(c *candidate) float64 {
		switch strategy {
		case "prioritized":
			return c.priority
		case "capacity-optimized":
			return -float64(c.room())
		case "capacity-optimized-prioritized":
			if c.room()*2 < most {
				return math.Inf(1) // capacity first: a place with far less room is the last resort
			}
			return c.priority
		case "price-capacity-optimized":
			return c.price * scarcity(c.room())
		case "diversified":
			return float64(len(c.ids))
		}
		return c.price
	}
	best := live[0]
	for _, c := range live[1:] {
		if a, b := cost(c), cost(best); a < b || a == b && c.before(best) {
			best = c
		}
	}
	return best
}

// before breaks ties: more room first, then the order given.
func (c *candidate) before(o *candidate) bool {
	if c.room() != o.room() {
		return c.room() > o.room()
	}
	return c.order < o.order
}

func (c *candidate) room() int { return c.pool.depth - c.pool.used }

// scarcity is the factor by which a pool with little room looks dearer: with 20 instances free it is 1.5, with 200 1.05.
func scarcity(room int) float64 {
	if room <= 0 {
		return math.Inf(1)
	}
	return 1 + 10/float64(room)
}
