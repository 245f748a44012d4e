package world

import (
	"slices"
	"strings"

	"github.com/kerf-sh/kerf/internal/awsmodel/ec2facts"
)

// checkLocked judges a preference as EC2 does before it looks for room. subnetID and zone come from the override or the call.
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
	if err := checkCPUOptions(l); err != nil {
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
	l.image = w.ec2.images[l.data.ImageID]
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
	return checkUserData(l.data.UserData)
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
	l.subnet = w.ec2.net.subnets[subnetID]
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
	if err := checkInterfaces(l); err != nil {
		return err
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
		g := w.ec2.net.groups[id]
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
	for _, g := range w.ec2.net.groups {
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
		own := l.image.sizeOf(m.DeviceName)
		switch size := m.Ebs.VolumeSize; {
		case size == nil && m.Ebs.SnapshotID == "" && own == 0:
			return Errorf("MissingParameter", "The request must contain the parameter size or snapshotId")
		case size != nil && *size < own:
			return Errorf("InvalidBlockDeviceMapping", "Volume of size %dGB is smaller than snapshot of image %s, expect size>= %dGB",
				*size, l.image.ID, own)
		case size != nil && *size < 1:
			return Errorf("InvalidParameterValue", "Volume of %dGiB is too small; the smallest is 1GiB.", *size)
		}
	}
	return nil
}

// checkCPUOptions refuses what the processor can't do.
func checkCPUOptions(l *launch) *Error {
	if e := l.data.EnclaveOptions; e != nil && e.Enabled != nil && *e.Enabled && l.facts.NitroEnclaves != ec2facts.Supported {
		return Errorf("InvalidParameterCombination", "The instance type %s does not support Nitro Enclaves.", l.facts.Name)
	}
	o := l.data.CPUOptions
	if o == nil || o.NestedVirtualization != "enabled" || slices.Contains(l.facts.CPUFeatures, "nested-virtualization") {
		return nil
	}
	return Errorf("InvalidParameterCombination", "The instance type %s does not support nested virtualization.", l.facts.Name)
}
