package world

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/kerf-sh/kerf/internal/ec2facts"
)

// launch is one checked wish for an instance: all that is left to see is whether there is room.
type launch struct {
	data         LaunchData
	capacityType string
	facts        *ec2facts.Type
	image        *Image
	subnet       *Subnet
	groups       []string
	profileARN   string
	reservation  *Reservation // targeted by id
	template     *LaunchTemplate
	version      int64
	fleetID      string
	tags         []TagSpecification // of the call, over those of the data
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

// market is the way of buying that the data asks for, "" for the ordinary one.
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

// checkLocked judges a wish as EC2 does before it looks for room. subnetID and zone come from the override or the call.
func (w *World) checkLocked(data LaunchData, capacityType, subnetID, zone string) (*launch, *Error) {
	l := &launch{data: data, capacityType: capacityType}
	if err := w.checkTypeAndImageLocked(l); err != nil {
		return nil, err
	}
	if err := w.checkNetworkLocked(l, subnetID, zone); err != nil {
		return nil, err
	}
	if err := w.checkProfileLocked(l); err != nil {
		return nil, err
	}
	if err := checkDisks(l); err != nil {
		return nil, err
	}
	if err := w.checkPlacementLocked(l); err != nil {
		return nil, err
	}
	if err := w.checkReservationLocked(l); err != nil {
		return nil, err
	}
	if !w.Offered(l.facts.Name, l.subnet.Zone) {
		return nil, Errorf("Unsupported", "Your requested instance type (%s) is not supported in your requested Availability Zone (%s).",
			l.facts.Name, l.subnet.Zone)
	}
	return l, nil
}

func (w *World) checkTypeAndImageLocked(l *launch) *Error {
	if l.data.InstanceType == "" {
		l.data.InstanceType = "m1.small" // EC2's own default
	}
	t, ok := w.Type(l.data.InstanceType)
	if !ok {
		return Errorf("InvalidParameterValue", "Invalid value '%s' for InstanceType.", l.data.InstanceType)
	}
	l.facts = t
	usage := l.capacityType
	if l.data.market() == CapacityBlock {
		usage = CapacityBlock
	}
	if !slices.Contains(t.UsageClasses, usage) {
		return Errorf("Unsupported", "The instance type %s is not sold as %s.", t.Name, usage)
	}
	switch {
	case l.data.ImageID == "":
		return Errorf("MissingParameter", "The request must contain the parameter ImageId")
	case !strings.HasPrefix(l.data.ImageID, "ami-"):
		return Errorf("InvalidAMIID.Malformed", "Invalid id: \"%s\" (expecting \"ami-...\")", l.data.ImageID)
	}
	l.image = w.images[l.data.ImageID]
	if l.image == nil {
		return Errorf("InvalidAMIID.NotFound", "The image id '[%s]' does not exist", l.data.ImageID)
	}
	if !l.image.Public && l.image.OwnerID != w.opts.Account && !slices.Contains(l.image.SharedWith, w.opts.Account) {
		return Errorf("AuthFailure", "Not authorized for images: [%s]", l.image.ID)
	}
	if l.image.State != "available" {
		return Errorf("InvalidAMIID.Unavailable", "The image ID '%s' is not available", l.image.ID)
	}
	if !slices.Contains(t.Architectures, l.image.Arch) {
		return Errorf("InvalidParameterValue", "The architecture '%s' of the specified instance type does not match the architecture '%s' "+
			"of the specified AMI.", strings.Join(t.Architectures, ","), l.image.Arch)
	}
	if err := checkUserData(l.data.UserData); err != nil {
		e, _ := err.(*Error)
		return e
	}
	return nil
}

func (w *World) checkNetworkLocked(l *launch, subnetID, zone string) *Error {
	for _, n := range l.data.NetworkInterfaces {
		if n.SubnetID != "" && subnetID == "" {
			subnetID = n.SubnetID
		}
	}
	if subnetID == "" {
		return Errorf("VPCIdNotSpecified", "No default VPC for this user: a subnet must be given.")
	}
	l.subnet = w.net.subnets[subnetID]
	if l.subnet == nil {
		return Errorf("InvalidSubnetID.NotFound", "The subnet ID '%s' does not exist", subnetID)
	}
	if zone != "" && zone != l.subnet.Zone {
		return Errorf("InvalidParameterValue", "The subnet %s is in %s, not in the Availability Zone %s that is asked for.", subnetID, l.subnet.Zone, zone)
	}
	if len(l.data.NetworkInterfaces) > 0 && len(l.data.SecurityGroupIDs) > 0 {
		return Errorf("InvalidParameterCombination",
			"Network interfaces and an instance-level security groups may not be specified on the same request")
	}
	for _, name := range l.data.SecurityGroups {
		g := w.groupNamedLocked(l.subnet.VPCID, name)
		if g == nil {
			return Errorf("InvalidGroup.NotFound", "The security group '%s' does not exist in VPC '%s'", name, l.subnet.VPCID)
		}
		l.groups = append(l.groups, g.ID)
	}
	l.groups = append(l.groups, l.data.SecurityGroupIDs...)
	for n, nic := range l.data.NetworkInterfaces {
		if n == 0 {
			l.groups = append(l.groups, nic.SecurityGroupIDs...)
		}
		if err := w.checkGroupsLocked(nic.SecurityGroupIDs, l.subnet); err != nil {
			return err
		}
	}
	if limit := l.facts.Network.MaxENIs(); len(l.data.NetworkInterfaces) > limit {
		return Errorf("AttachmentLimitExceeded", "Interface count %d exceeds the limit for %s", len(l.data.NetworkInterfaces), l.facts.Name)
	}
	if len(l.groups) == 0 {
		if g := w.groupNamedLocked(l.subnet.VPCID, "default"); g != nil {
			l.groups = []string{g.ID}
		}
	}
	return w.checkGroupsLocked(l.groups, l.subnet)
}

func (w *World) checkGroupsLocked(ids []string, s *Subnet) *Error {
	for _, id := range ids {
		g := w.net.groups[id]
		if g == nil {
			return Errorf("InvalidGroup.NotFound", "The security group '%s' does not exist", id)
		}
		if g.VPCID != s.VPCID {
			return Errorf("InvalidParameter", "Security group %s and subnet %s belong to different networks.", id, s.ID)
		}
	}
	return nil
}

func (w *World) groupNamedLocked(vpc, name string) *SecurityGroup {
	for _, g := range w.net.groups {
		if g.VPCID == vpc && g.Name == name {
			return g
		}
	}
	return nil
}

func (w *World) checkProfileLocked(l *launch) *Error {
	p := l.data.IamInstanceProfile
	if p == nil || p.Name == "" && p.ARN == "" {
		return nil
	}
	kind, value := "name", p.Name
	if value == "" {
		kind, value = "arn", p.ARN
	}
	arn, ok := w.launchProfileLocked(value)
	if !ok {
		return Errorf("InvalidParameterValue", "Value (%s) for parameter iamInstanceProfile.%s is invalid. Invalid IAM Instance Profile %s",
			value, kind, map[string]string{"name": "name", "arn": "ARN"}[kind])
	}
	l.profileARN = arn
	return nil
}

func checkDisks(l *launch) *Error {
	seen := map[string]bool{}
	for _, m := range l.data.BlockDeviceMappings {
		if m.DeviceName == "" {
			return Errorf("MissingParameter", "The request must contain the parameter deviceName")
		}
		if seen[m.DeviceName] {
			return Errorf("InvalidBlockDeviceMapping", "The device '%s' is used in more than one block-device mapping", m.DeviceName)
		}
		seen[m.DeviceName] = true
		if m.Ebs == nil {
			continue
		}
		root := m.DeviceName == l.image.RootDevice
		switch size := m.Ebs.VolumeSize; {
		case size == nil && m.Ebs.SnapshotID == "" && !root:
			return Errorf("MissingParameter", "The request must contain the parameter size or snapshotId")
		case size != nil && root && *size < l.image.RootSizeGiB:
			return Errorf("InvalidBlockDeviceMapping", "Volume of size %dGB is smaller than snapshot of image %s, expect size>= %dGB",
				*size, l.image.ID, l.image.RootSizeGiB)
		case size != nil && *size < 1:
			return Errorf("InvalidParameterValue", "Volume of %dGiB is too small; the smallest is 1GiB.", *size)
		}
	}
	return nil
}

// placeLocked makes the instance of a checked wish, if there is room for it. Nothing is taken when there is not.
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
	w.quotaUsed[quotaKey{l.capacityType, QuotaClass(l.facts.Name)}] += l.facts.VCPUs
	w.instances[i.ID] = i
	w.startLocked(i)
	return i, nil
}

// roomForLocked says why n more instances of a kind cannot be had: the reservation, the pool, the quota or the subnet.
func (w *World) roomForLocked(l *launch, n int) *Error {
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
	if limit := w.quotaLocked(q); w.quotaUsed[q]+n*l.facts.VCPUs > limit {
		return quotaExceeded(l, q.class, limit)
	}
	if l.subnet.Free < n*l.addresses() {
		return noAddresses(l)
	}
	return nil
}

func noAddresses(l *launch) *Error {
	return Errorf("InsufficientFreeAddressesInSubnet", "There are not enough free addresses in subnet '%s' to satisfy the requested number of instances.", l.subnet.ID)
}

func noCapacity(l *launch) *Error {
	if l.capacityType == Spot {
		return Errorf("InsufficientInstanceCapacity", "There is no Spot capacity available that matches your request (%s in %s).", l.facts.Name, l.subnet.Zone)
	}
	return Errorf("InsufficientInstanceCapacity", "We currently do not have sufficient %s capacity in the Availability Zone you requested (%s).",
		l.facts.Name, l.subnet.Zone)
}

func quotaExceeded(l *launch, class string, limit int) *Error {
	if l.capacityType == Spot {
		return Errorf("MaxSpotInstanceCountExceeded", "Max spot instance count exceeded: %s would take the %s families above %d vCPUs.",
			l.facts.Name, class, limit)
	}
	return Errorf("VcpuLimitExceeded", "You have requested more vCPU capacity than your current vCPU limit of %d allows for the instance bucket (%s) of %s.",
		limit, class, l.facts.Name)
}

// prefixAddresses is how many addresses an IPv4 prefix given to an interface takes.
const prefixAddresses = 16

// addresses is how many addresses the subnet must give.
func (l *launch) addresses() int {
	if len(l.data.NetworkInterfaces) == 0 {
		return 1
	}
	n := 0
	for _, nic := range l.data.NetworkInterfaces {
		n += nic.addresses()
	}
	return n
}

func (n *NetworkInterfaceSpec) addresses() int {
	if n.InterfaceType == "efa-only" {
		return 0
	}
	return 1 + int(deref(n.SecondaryPrivateIPAddressCount)) + prefixAddresses*int(deref(n.Ipv4PrefixCount))
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
		r := &SpotRequest{ID: w.newIDLocked("sir"), InstanceID: i.ID, Type: i.Type, Zone: i.Zone, Created: now, Tags: tagsFor(specs, "spot-instances-request")}
		i.SpotRequestID = r.ID
		w.spotRequests[r.ID] = r
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

func (w *World) makeInterfacesLocked(l *launch, i *Instance) {
	specs := l.data.NetworkInterfaces
	if len(specs) == 0 {
		specs = []NetworkInterfaceSpec{{SecurityGroupIDs: l.groups}}
	}
	tags := tagsFor(slices.Concat(l.data.TagSpecifications, l.tags), "network-interface")
	for n, s := range specs {
		nic := Interface{
			ID: w.newIDLocked("eni"), Type: "interface", Description: s.Description, SubnetID: l.subnet.ID,
			DeviceIndex: deref(s.DeviceIndex), CardIndex: deref(s.NetworkCardIndex), SecurityGroupIDs: slices.Clone(s.SecurityGroupIDs),
			DeleteOnTermination: s.DeleteOnTermination == nil || *s.DeleteOnTermination, Tags: maps.Clone(tags),
			Ipv4PrefixCount: deref(s.Ipv4PrefixCount),
		}
		if s.InterfaceType != "" {
			nic.Type = s.InterfaceType
		}
		if len(nic.SecurityGroupIDs) == 0 {
			nic.SecurityGroupIDs = slices.Clone(l.groups)
		}
		mac := w.rand.Uint64()
		nic.MAC = fmt.Sprintf("0e:%02x:%02x:%02x:%02x:%02x", byte(mac), byte(mac>>8), byte(mac>>16), byte(mac>>24), byte(mac>>32))
		for a := range s.addresses() {
			ip, ok := l.subnet.take()
			if !ok {
				break // the caller has counted; a subnet never gives fewer than it has free
			}
			if a == 0 {
				nic.PrivateIP = ip
			} else {
				nic.Secondary = append(nic.Secondary, ip)
			}
		}
		if n == 0 {
			i.PrivateIP, i.PrivateDNSName = nic.PrivateIP, w.privateDNSName(nic.PrivateIP)
			if s.AssociatePublicIPAddress != nil && *s.AssociatePublicIPAddress || s.AssociatePublicIPAddress == nil && l.subnet.Public {
				i.PublicIP = netip.AddrFrom4([4]byte{54, byte(w.rand.IntN(256)), byte(w.rand.IntN(256)), byte(1 + w.rand.IntN(254))})
			}
		}
		i.Interfaces = append(i.Interfaces, nic)
	}
}

func (w *World) makeVolumesLocked(l *launch, i *Instance) {
	tags := tagsFor(slices.Concat(l.data.TagSpecifications, l.tags), "volume")
	root := false
	for _, m := range l.data.BlockDeviceMappings {
		if m.Ebs == nil || m.NoDevice != nil {
			continue
		}
		v := VolumeAttachment{
			VolumeID: w.newIDLocked("vol"), Device: m.DeviceName, SizeGiB: deref(m.Ebs.VolumeSize), Type: m.Ebs.VolumeType,
			DeleteOnTermination: m.Ebs.DeleteOnTermination == nil || *m.Ebs.DeleteOnTermination, Encrypted: deref(m.Ebs.Encrypted), Tags: maps.Clone(tags),
		}
		if m.DeviceName == l.image.RootDevice {
			root = true
			v.SizeGiB = max(v.SizeGiB, l.image.RootSizeGiB)
		}
		i.Volumes = append(i.Volumes, v)
	}
	if !root {
		v := VolumeAttachment{VolumeID: w.newIDLocked("vol"), Device: l.image.RootDevice, SizeGiB: l.image.RootSizeGiB, Type: "gp3", DeleteOnTermination: true, Tags: tags}
		i.Volumes = slices.Insert(i.Volumes, 0, v)
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
