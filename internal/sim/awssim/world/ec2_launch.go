package world

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/kerf-sh/kerf/internal/awsmodel/ec2facts"
)

// launch is one checked preference for an instance: all that is left to see is whether there is room.
type launch struct {
	data         LaunchData
	capacityType string
	facts        *ec2facts.Type
	image        *Image
	subnet       *Subnet
	groups       []string
	profileARN   string
	reservation  *Reservation // targeted by id
	group        *PlacementGroup
	template     *LaunchTemplate
	version      int64
	fleetID      string
	tags         []TagSpecification // of the call, over those of the data
	fails        *Error             // why instances made of it end at once
}

// merge lays the members that over sets over those of d.
func (d LaunchData) merge(over LaunchData) LaunchData {
	pick(&d.ImageID, over.ImageID)
	pick(&d.InstanceType, over.InstanceType)
	pick(&d.KeyName, over.KeyName)
	pick(&d.UserData, over.UserData)
	pick(&d.EbsOptimized, over.EbsOptimized)
	pick(&d.DisableAPIStop, over.DisableAPIStop)
	pick(&d.DisableAPITermination, over.DisableAPITermination)
	pick(&d.InstanceInitiatedShutdownBehavior, over.InstanceInitiatedShutdownBehavior)
	pick(&d.IamInstanceProfile, over.IamInstanceProfile)
	pick(&d.Monitoring, over.Monitoring)
	pick(&d.MetadataOptions, over.MetadataOptions)
	pick(&d.Placement, over.Placement)
	pick(&d.CPUOptions, over.CPUOptions)
	pick(&d.CreditSpecification, over.CreditSpecification)
	pick(&d.CapacityReservation, over.CapacityReservation)
	pick(&d.MarketOptions, over.MarketOptions)
	pick(&d.EnclaveOptions, over.EnclaveOptions)
	pick(&d.MaintenanceOptions, over.MaintenanceOptions)
	pick(&d.NetworkPerformance, over.NetworkPerformance)
	pick(&d.PrivateDNSNameOptions, over.PrivateDNSNameOptions)
	pickList(&d.BlockDeviceMappings, over.BlockDeviceMappings)
	pickList(&d.NetworkInterfaces, over.NetworkInterfaces)
	pickList(&d.SecurityGroupIDs, over.SecurityGroupIDs)
	pickList(&d.SecurityGroups, over.SecurityGroups)
	d.TagSpecifications = slices.Concat(d.TagSpecifications, over.TagSpecifications)
	return d
}

// market is the way of launching that the data asks for, "" for the ordinary one.
func (d *LaunchData) market() string {
	if d.MarketOptions == nil {
		return ""
	}
	return d.MarketOptions.MarketType
}

func pick[T comparable](to *T, from T) {
	var none T
	if from != none {
		*to = from
	}
}

func pickList[T any](to *[]T, from []T) {
	if len(from) > 0 {
		*to = from
	}
}

// placeLocked makes the instance of a checked preference, if there is room for it. Nothing is taken when there is not.
func (w *World) placeLocked(l *launch) (*Instance, *Error) {
	held := w.heldForLocked(l)
	if held == nil {
		if f := w.poolFaultLocked(FaultNoCapacity, l.capacityType, l.facts.Name, l.subnet.Zone, l.subnet.ID); f != nil {
			e := noCapacity(l)
			return nil, f.refusal(e.Code, e.Message, e.Status)
		}
	}
	if f := w.poolFaultLocked(FaultNoAddresses, l.capacityType, l.facts.Name, l.subnet.Zone, l.subnet.ID); f != nil {
		e := noAddresses(l)
		return nil, f.refusal(e.Code, e.Message, e.Status)
	}
	if err := w.roomForLocked(l, 1); err != nil {
		return nil, err
	}
	i := w.makeLocked(l)
	if held != nil {
		held.used++
		i.CapacityReservationID = held.ID
	} else {
		w.poolFor(i).used++
		i.pooled = true
	}
	w.ec2.quotaUsed[quotaKey{l.capacityType, QuotaClass(l.facts.Name)}] += l.facts.VCPUs
	w.ec2.instances[i.ID] = i
	w.startLocked(i, l.fails)
	return i, nil
}

// roomForLocked says why n more instances of a kind cannot be had: the reservation, the pool, the quota or the subnet.
func (w *World) roomForLocked(l *launch, n int) *Error {
	if err := w.roomInGroupLocked(l, n); err != nil {
		return err
	}
	stock := 0
	if held := w.heldForLocked(l); held != nil {
		stock = held.available(w.clock.Now())
	}
	if l.reservation != nil && stock < n {
		return Errorf("ReservationCapacityExceeded", "The capacity reservation %s has no capacity left.", l.reservation.ID)
	}
	p := w.poolLocked(poolKey{l.capacityType, l.facts.Name, l.subnet.Zone})
	if l.reservation == nil && stock+p.depth-p.used < n {
		return noCapacity(l)
	}
	q := quotaKey{l.capacityType, QuotaClass(l.facts.Name)}
	if limit := w.quotaLocked(q); w.ec2.quotaUsed[q]+n*l.facts.VCPUs > limit {
		return quotaExceeded(l, q.class, limit)
	}
	if l.subnet.Free < n*l.addresses() {
		return noAddresses(l)
	}
	if p := l.prefixes(); p > 0 && !l.subnet.blocks(n*p) {
		return noPrefixes(l)
	}
	return nil
}

func noAddresses(l *launch) *Error {
	return Errorf("InsufficientFreeAddressesInSubnet",
		"There are not enough free addresses in subnet '%s' to satisfy the requested number of instances.", l.subnet.ID)
}

func noCapacity(l *launch) *Error {
	if l.capacityType == Spot {
		return Errorf("InsufficientInstanceCapacity",
			"There is no Spot capacity available that matches your request (%s in %s).", l.facts.Name, l.subnet.Zone)
	}
	return Errorf("InsufficientInstanceCapacity", "We currently do not have sufficient %s capacity in the Availability Zone you requested (%s).",
		l.facts.Name, l.subnet.Zone)
}

func quotaExceeded(l *launch, class string, limit int) *Error {
	if l.capacityType == Spot {
		return Errorf("MaxSpotInstanceCountExceeded", "Max spot instance count exceeded: %s would take the %s families above %d vCPUs.",
			l.facts.Name, class, limit)
	}
	return Errorf("VcpuLimitExceeded",
		"You have requested more vCPU capacity than your current vCPU limit of %d allows for the instance bucket (%s) of %s.",
		limit, class, l.facts.Name)
}

func deref[T any](p *T) T {
	if p == nil {
		var none T
		return none
	}
	return *p
}

// makeLocked builds the instance's record and takes its addresses; the caller has seen that there are enough.
func (w *World) makeLocked(l *launch) *Instance {
	now := w.clock.Now()
	i := &Instance{
		ID: w.newIDLocked("i"), ReservationID: w.newIDLocked("r"), Type: l.facts.Name, Arch: l.image.Arch, ImageID: l.image.ID,
		Zone: l.subnet.Zone, ZoneID: l.subnet.ZoneID, SubnetID: l.subnet.ID, VPCID: l.subnet.VPCID,
		State: StatePending, CapacityType: l.capacityType, LaunchTime: now.Truncate(1e9), ProfileARN: l.profileARN,
		SecurityGroupIDs: l.groups, FleetID: l.fleetID, Launch: l.data, Tags: map[string]string{},
	}
	i.visibleAt = now.Add(w.delayLocked(FaultLateInstances, i.Type, i.Zone))
	w.putInGroupLocked(l, i)
	w.makeInterfacesLocked(l, i)
	w.makeVolumesLocked(l, i)
	w.priceLocked(i)
	if l.template != nil {
		i.LaunchTemplateID, i.LaunchTemplateName, i.LaunchTemplateVersion = l.template.ID, l.template.Name, l.version
	}
	specs := slices.Concat(l.data.TagSpecifications, l.tags)
	tags := w.launchTags(i, specs)
	if d := w.delayLocked(FaultLateTags, i.Type, i.Zone); d > 0 {
		i.late = append(i.late, lateTags{at: now.Add(d), set: tags})
	} else {
		i.Tags = tags
	}
	if i.CapacityType == Spot {
		r := &SpotRequest{
			ID: w.newIDLocked("sir"), InstanceID: i.ID, Type: i.Type, Zone: i.Zone, Created: now,
			Tags: tagsFor(specs, "spot-instances-request"),
		}
		i.SpotRequestID = r.ID
		w.ec2.spotRequests[r.ID] = r
	}
	return i
}

// launchTags are the tags that the call gives and those that EC2 adds of its own accord.
func (w *World) launchTags(i *Instance, specs []TagSpecification) map[string]string {
	tags := tagsFor(specs, "instance")
	if i.FleetID != "" {
		tags["aws:ec2:fleet-id"] = i.FleetID
	}
	if i.LaunchTemplateID != "" {
		tags["aws:ec2launchtemplate:id"] = i.LaunchTemplateID
		tags["aws:ec2launchtemplate:version"] = fmt.Sprint(i.LaunchTemplateVersion)
	}
	return tags
}

func tagsFor(specs []TagSpecification, kind string) map[string]string {
	out := map[string]string{}
	for _, s := range specs {
		if s.ResourceType == kind {
			for _, t := range s.Tags {
				out[t.Key] = t.Value
			}
		}
	}
	return out
}

func (w *World) makeVolumesLocked(l *launch, i *Instance) {
	tags := tagsFor(slices.Concat(l.data.TagSpecifications, l.tags), "volume")
	brought := map[string]bool{l.image.RootDevice: true, l.image.DataDevice: true} // by the image; a mapping takes its place
	delete(brought, "")
	for _, m := range l.data.BlockDeviceMappings {
		if m.DeviceName != l.image.RootDevice || m.Ebs != nil && m.NoDevice == nil {
			delete(brought, m.DeviceName)
		}
		if m.Ebs == nil || m.NoDevice != nil {
			continue
		}
		v := VolumeAttachment{
			VolumeID: w.newIDLocked("vol"), Device: m.DeviceName, SizeGiB: deref(m.Ebs.VolumeSize), Type: m.Ebs.VolumeType,
			DeleteOnTermination: m.Ebs.DeleteOnTermination == nil || *m.Ebs.DeleteOnTermination, Encrypted: deref(m.Ebs.Encrypted), Tags: maps.Clone(tags),
		}
		v.KMSKey, v.SnapshotID = m.Ebs.KmsKeyID, m.Ebs.SnapshotID
		if v.Type == "" && (m.DeviceName == l.image.RootDevice || m.DeviceName == l.image.DataDevice) {
			v.Type = "gp3" // as the image has it
		}
		v.Type = cmp.Or(v.Type, "gp2")
		v.SizeGiB = max(v.SizeGiB, l.image.sizeOf(m.DeviceName))
		v.perform(m.Ebs)
		i.Volumes = append(i.Volumes, v)
	}
	at := 0
	for _, device := range []string{l.image.RootDevice, l.image.DataDevice} {
		if !brought[device] {
			continue
		}
		v := VolumeAttachment{
			VolumeID: w.newIDLocked("vol"), Device: device, SizeGiB: l.image.sizeOf(device), Type: "gp3",
			DeleteOnTermination: true, Tags: maps.Clone(tags),
		}
		v.perform(nil)
		i.Volumes = slices.Insert(i.Volumes, at, v)
		at++
	}
}

func (w *World) priceLocked(i *Instance) {
	if i.CapacityType == Spot {
		i.PriceMicroUSD, _ = w.spotPriceLocked(i.Type, i.Zone)
		return
	}
	i.PriceMicroUSD, _ = w.OnDemandPrice(i.Type)
}

// SpotRequest is the request behind a spot instance.
type SpotRequest struct {
	ID, InstanceID, Type, Zone string
	Created                    time.Time
	Tags                       map[string]string
}
