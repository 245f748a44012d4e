package world

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Resource is a resource of EC2 that exists, as permission checks see it.
type Resource struct {
	Kind  string // as in its ARN: instance, subnet, launch-template, …
	ID    string
	Owner string // account id, or "amazon"
	Tags  map[string]string

	VPCID, Zone, SubnetID string
	Public                bool
	Name                  string    // of a placement group
	Instance              *Instance // of an instance; must not be changed
}

// Resource finds a resource of EC2 by its id.
func (w *World) Resource(id string) (Resource, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	r := w.touchLocked(id)
	if r == nil {
		return Resource{}, false
	}
	return *r, true
}

func (w *World) touchLocked(id string) *Resource {
	found, ok := w.resourceLocked(id)
	if !ok {
		return nil
	}
	out := &Resource{Kind: found.kind, ID: id, Owner: w.opts.Account, Tags: maps.Clone(*found.tags)}
	switch found.kind {
	case "instance":
		i := found.instance
		out.VPCID, out.Zone, out.SubnetID = i.VPCID, i.Zone, i.SubnetID
		c := i.clone()
		out.Instance = &c
	case "image":
		i := w.ec2.images[id]
		out.Owner, out.Public = cmp.Or(i.OwnerAlias, i.OwnerID), i.Public
	case "subnet":
		s := w.ec2.net.subnets[id]
		out.VPCID, out.Zone, out.SubnetID = s.VPCID, s.Zone, id
	case "security-group":
		out.VPCID = w.ec2.net.groups[id].VPCID
	case "capacity-reservation":
		out.Owner, out.Zone = w.ec2.reservations[id].OwnerID, w.ec2.reservations[id].Zone
	case "placement-group":
		out.Name = w.ec2.groups[id].Name
	}
	return out
}

// Launch is one launch before it happens: what it would use and what it would make. What does not exist is left out;
// launching says so.
type Launch struct {
	CapacityType string             // on-demand or spot
	Place        int                // number of the fleet's place that it is
	Data         LaunchData         // the template's with the call's over it
	Tags         []TagSpecification // of the template and the call, the latter last

	Template    *Resource
	Version     int64 // of the template
	Image       *Resource
	Subnet      *Resource
	Groups      []*Resource
	Group       *Resource // placement group
	Reservation *Resource
	ProfileARN  string
	RoleARN     string // that the profile holds

	// Own, OwnSubnet and OwnDisks tell that the call and not the template names the image, the subnet, the disks.
	Own, OwnSubnet, OwnDisks bool
}

// LaunchKey names a part of a fleet: a place as one capacity type.
func LaunchKey(capacityType string, place int) string {
	return capacityType + "/" + strconv.Itoa(place)
}

// ClientError is the code of what EC2 finds out only when an instance is on its way: above all that its caller may not use
// the key of a volume.
const ClientError = "Client.InternalError"

// toucher finds resources, each once.
type toucher struct {
	w    *World
	seen map[string]*Resource
}

func (t *toucher) find(id string) *Resource {
	if id == "" {
		return nil
	}
	r, ok := t.seen[id]
	if !ok {
		r = t.w.touchLocked(id)
		t.seen[id] = r
	}
	return r
}

// FleetLaunches lists what the places of a fleet would use and make, by capacity type and place. The error is that of a
// request that is not in order.
func (w *World) FleetLaunches(r FleetRequest) ([]Launch, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	plan, err := w.fleetPlanLocked(&r)
	if err != nil {
		return nil, err
	}
	t := &toucher{w, map[string]*Resource{}}
	var out []Launch
	for _, part := range plan.parts {
		for n := range plan.places {
			p := &plan.places[n]
			own := p.override.launchData()
			l := Launch{
				CapacityType: part.capacityType, Place: n, Data: p.version.Data.merge(own), Template: t.find(p.template.ID), Version: p.version.Number,
				Tags: slices.Concat(p.version.Data.TagSpecifications, r.Tags), Own: own.ImageID != "", OwnSubnet: p.override.SubnetID != "",
				OwnDisks: len(own.BlockDeviceMappings) > 0,
			}
			t.fill(&l, p.override.SubnetID)
			out = append(out, l)
		}
	}
	return out, nil
}

// RunLaunch says what a direct launch would use and make.
func (w *World) RunLaunch(r RunRequest) (Launch, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	t := &toucher{w, map[string]*Resource{}}
	l := Launch{CapacityType: OnDemand, Data: r.Data, Own: r.Data.ImageID != "", OwnSubnet: r.SubnetID != "",
		OwnDisks: len(r.Data.BlockDeviceMappings) > 0}
	if r.Template != nil {
		template, err := w.templateLocked(*r.Template)
		if err != nil {
			return Launch{}, err
		}
		version, err := template.Version(r.Template.Version)
		if err != nil {
			return Launch{}, err
		}
		l.Template, l.Version, l.Data = t.find(template.ID), version.Number, version.Data.merge(r.Data)
	}
	if l.Data.market() == Spot {
		l.CapacityType = Spot
	}
	l.Tags = l.Data.TagSpecifications
	t.fill(&l, r.SubnetID)
	return l, nil
}

func (t *toucher) fill(l *Launch, subnetID string) {
	for _, n := range l.Data.NetworkInterfaces {
		subnetID = cmp.Or(subnetID, n.SubnetID)
	}
	l.Image, l.Subnet = t.find(l.Data.ImageID), t.find(subnetID)
	groups := slices.Clone(l.Data.SecurityGroupIDs)
	for _, n := range l.Data.NetworkInterfaces {
		groups = append(groups, n.SecurityGroupIDs...)
	}
	if l.Subnet != nil {
		for _, name := range l.Data.SecurityGroups {
			if g := t.w.groupNamedLocked(l.Subnet.VPCID, name); g != nil {
				groups = append(groups, g.ID)
			}
		}
		if len(groups) == 0 {
			if g := t.w.groupNamedLocked(l.Subnet.VPCID, "default"); g != nil {
				groups = append(groups, g.ID)
			}
		}
	}
	slices.Sort(groups)
	for _, id := range slices.Compact(groups) {
		if g := t.find(id); g != nil {
			l.Groups = append(l.Groups, g)
		}
	}
	if p := l.Data.Placement; p != nil && (p.GroupID != "" || p.GroupName != "") {
		for id, g := range t.w.ec2.groups {
			if id == p.GroupID || p.GroupID == "" && g.Name == p.GroupName {
				l.Group = t.find(id)
			}
		}
	}
	if c := l.Data.CapacityReservation; c != nil && c.Target != nil {
		l.Reservation = t.find(c.Target.ID)
	}
	if p := l.Data.IamInstanceProfile; p != nil {
		l.ProfileARN, l.RoleARN = t.w.passedRoleLocked(cmp.Or(p.Name, p.ARN))
	}
}

// passedRoleLocked finds the profile that a launch names and the role that it thereby hands to EC2.
func (w *World) passedRoleLocked(nameOrARN string) (profile, role string) {
	p := w.iam.profiles[nameOrARN[strings.LastIndex(nameOrARN, "/")+1:]]
	if p == nil {
		return "", ""
	}
	if r := w.iam.roles[p.Role]; r != nil {
		role = r.ARN
	}
	return p.ARN, role
}
