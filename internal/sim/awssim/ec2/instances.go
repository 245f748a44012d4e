package ec2

import (
	"regexp"
	"strconv"
	"strings"

	"github.com/kerf-sh/kerf/internal/sim/awssim/wire"
	"github.com/kerf-sh/kerf/internal/sim/awssim/world"
)

type describeInstancesInput struct {
	paging
	Filters                 []filter `query:"Filter"`
	IDs                     []string `query:"InstanceId"`
	IncludeManagedResources *bool    `query:"IncludeManagedResources"`
}

type describeInstancesOutput struct {
	Reservations []reservation `xml:"reservationSet>item"`
	NextToken    string        `xml:"nextToken,omitempty"`
}

type reservation struct {
	ID        string     `xml:"reservationId"`
	OwnerID   string     `xml:"ownerId"`
	Groups    []group    `xml:"groupSet>item"`
	Instances []instance `xml:"instancesSet>item"`
}

type group struct {
	ID   string `xml:"groupId"`
	Name string `xml:"groupName"`
}

type instance struct {
	ID             string          `xml:"instanceId"`
	ImageID        string          `xml:"imageId"`
	State          state           `xml:"instanceState"`
	PrivateDNSName string          `xml:"privateDnsName"`
	DNSName        string          `xml:"dnsName"`
	Reason         string          `xml:"reason"`
	KeyName        string          `xml:"keyName,omitempty"`
	AmiLaunchIndex int             `xml:"amiLaunchIndex"`
	InstanceType   string          `xml:"instanceType"`
	LaunchTime     string          `xml:"launchTime"`
	Placement      world.Placement `xml:"placement"`
	Monitoring     struct {
		State string `xml:"state"`
	} `xml:"monitoring"`
	SubnetID            string                         `xml:"subnetId,omitempty"`
	VpcID               string                         `xml:"vpcId,omitempty"`
	PrivateIP           string                         `xml:"privateIpAddress,omitempty"`
	PublicIP            string                         `xml:"ipAddress,omitempty"`
	SourceDestCheck     bool                           `xml:"sourceDestCheck"`
	Groups              []group                        `xml:"groupSet>item"`
	StateReason         *stateReason                   `xml:"stateReason"`
	Architecture        string                         `xml:"architecture"`
	RootDeviceType      string                         `xml:"rootDeviceType"`
	RootDeviceName      string                         `xml:"rootDeviceName"`
	Disks               []instanceDisk                 `xml:"blockDeviceMapping>item"`
	VirtualizationType  string                         `xml:"virtualizationType"`
	Lifecycle           string                         `xml:"instanceLifecycle,omitempty"`
	SpotRequestID       string                         `xml:"spotInstanceRequestId,omitempty"`
	ClientToken         string                         `xml:"clientToken,omitempty"`
	Hypervisor          string                         `xml:"hypervisor"`
	Interfaces          []networkInterface             `xml:"networkInterfaceSet>item"`
	Profile             *instanceProfile               `xml:"iamInstanceProfile"`
	EbsOptimized        bool                           `xml:"ebsOptimized"`
	EnaSupport          bool                           `xml:"enaSupport"`
	CapacityReservation string                         `xml:"capacityReservationId,omitempty"`
	ReservationSpec     *world.CapacityReservationSpec `xml:"capacityReservationSpecification"`
	MetadataOptions     *metadataOptions               `xml:"metadataOptions"`
	EnclaveOptions      world.Toggle                   `xml:"enclaveOptions"`
	Tags                []tagItem                      `xml:"tagSet>item"`
}

// metadataOptions are those of an instance, where they hold from its launch on.
type metadataOptions struct {
	State string `xml:"state"`
	world.MetadataOptions
}

// association is the public address of a network interface.
type association struct {
	PublicIP  string `xml:"publicIp"`
	IPOwnerID string `xml:"ipOwnerId"`
}

type state struct {
	Code int32  `xml:"code"`
	Name string `xml:"name"`
}

type stateReason struct {
	Code    string `xml:"code"`
	Message string `xml:"message"`
}

type instanceProfile struct {
	ARN string `xml:"arn"`
	ID  string `xml:"id"`
}

type instanceDisk struct {
	DeviceName string `xml:"deviceName"`
	Ebs        struct {
		VolumeID            string `xml:"volumeId"`
		Status              string `xml:"status"`
		AttachTime          string `xml:"attachTime"`
		DeleteOnTermination bool   `xml:"deleteOnTermination"`
	} `xml:"ebs"`
}

type networkInterface struct {
	ID              string           `xml:"networkInterfaceId"`
	SubnetID        string           `xml:"subnetId"`
	VpcID           string           `xml:"vpcId"`
	Description     string           `xml:"description"`
	OwnerID         string           `xml:"ownerId"`
	Status          string           `xml:"status"`
	MAC             string           `xml:"macAddress"`
	PrivateIP       string           `xml:"privateIpAddress,omitempty"`
	PrivateDNSName  string           `xml:"privateDnsName,omitempty"`
	SourceDestCheck bool             `xml:"sourceDestCheck"`
	InterfaceType   string           `xml:"interfaceType"`
	Groups          []group          `xml:"groupSet>item"`
	IPv4Prefixes    []ipv4Prefix     `xml:"ipv4PrefixSet>item"`
	Addresses       []privateAddress `xml:"privateIpAddressesSet>item"`
	Association     *association     `xml:"association"`
	Attachment      struct {
		ID                  string `xml:"attachmentId"`
		InstanceID          string `xml:"instanceId,omitempty"` // not where the instance itself is shown
		OwnerID             string `xml:"instanceOwnerId,omitempty"`
		DeviceIndex         int32  `xml:"deviceIndex"`
		NetworkCardIndex    int32  `xml:"networkCardIndex"`
		Status              string `xml:"status"`
		AttachTime          string `xml:"attachTime"`
		DeleteOnTermination bool   `xml:"deleteOnTermination"`
	} `xml:"attachment"`
}

type ipv4Prefix struct {
	Prefix string `xml:"ipv4Prefix"`
}

type privateAddress struct {
	Address string `xml:"privateIpAddress"`
	Primary bool   `xml:"primary"`
}

func tenancy(i *world.Instance) string {
	if p := i.Launch.Placement; p != nil && p.Tenancy != "" {
		return p.Tenancy
	}
	return "default"
}

var instanceFilters = filterable[world.Instance]{
	attributes: map[string]func(*world.Instance) []string{
		"architecture":             one(func(i *world.Instance) string { return i.Arch }),
		"availability-zone":        one(func(i *world.Instance) string { return i.Zone }),
		"availability-zone-id":     one(func(i *world.Instance) string { return i.ZoneID }),
		"capacity-reservation-id":  one(func(i *world.Instance) string { return i.CapacityReservationID }),
		"client-token":             one(func(*world.Instance) string { return "" }),
		"dns-name":                 one(func(*world.Instance) string { return "" }),
		"iam-instance-profile.arn": one(func(i *world.Instance) string { return i.ProfileARN }),
		"image-id":                 one(func(i *world.Instance) string { return i.ImageID }),
		"instance-id":              one(func(i *world.Instance) string { return i.ID }),
		"instance-lifecycle":       one((*world.Instance).Lifecycle),
		"instance-state-code":      one(func(i *world.Instance) string { return strconv.Itoa(int(i.State.Code())) }),
		"instance-state-name":      one(func(i *world.Instance) string { return string(i.State) }),
		"instance-type":            one(func(i *world.Instance) string { return i.Type }),
		"instance.group-id":        func(i *world.Instance) []string { return i.SecurityGroupIDs },
		"ip-address":               one(func(i *world.Instance) string { return address(i.PublicIP) }),
		"launch-time":              one(func(i *world.Instance) string { return stamp(i.LaunchTime) }),
		"private-dns-name":         one(func(i *world.Instance) string { return i.PrivateDNSName }),
		"private-ip-address":       one(func(i *world.Instance) string { return address(i.PrivateIP) }),
		"reservation-id":           one(func(i *world.Instance) string { return i.ReservationID }),
		"spot-instance-request-id": one(func(i *world.Instance) string { return i.SpotRequestID }),
		"state-reason-code":        one(func(i *world.Instance) string { return i.StateReasonCode }),
		"subnet-id":                one(func(i *world.Instance) string { return i.SubnetID }),
		"tenancy":                  one(tenancy),
		"vpc-id":                   one(func(i *world.Instance) string { return i.VPCID }),
	},
	tags: func(i *world.Instance) map[string]string { return i.Tags },
}

func address(a interface {
	IsValid() bool
	String() string
}) string {
	if !a.IsValid() {
		return ""
	}
	return a.String()
}

var instanceID = regexp.MustCompile(`^i-[0-9a-f]{8}([0-9a-f]{9})?$`)

func checkIDs(ids []string) error {
	for _, id := range ids {
		if !instanceID.MatchString(id) {
			return wire.Errorf("InvalidInstanceID.Malformed", "Invalid id: \"%s\"", id)
		}
	}
	return nil
}

func byLaunch(i *world.Instance) string { return stamp(i.LaunchTime) + " " + i.ID }

func (s *service) describeInstances(r *wire.Request, in *describeInstancesInput) (any, error) {
	if len(in.IDs) > 0 && (in.MaxResults != nil || in.NextToken != "") {
		return nil, wire.Errorf("InvalidParameterCombination", "The parameter instancesSet cannot be used with the parameter maxResults")
	}
	if err := checkIDs(in.IDs); err != nil {
		return nil, err
	}
	all, err := s.named(in.IDs)
	if err != nil {
		return nil, err
	}
	if all, err = instanceFilters.choose(all, in.Filters); err != nil {
		return nil, err
	}
	all, token, err := page(all, byLaunch, in.paging, describeLimits)
	if err != nil {
		return nil, err
	}
	r.Detail = strconv.Itoa(len(all)) + " instances"
	out := describeInstancesOutput{NextToken: token}
	names := s.groupNames()
	at := map[string]int{}
	for i := range all {
		v := &all[i]
		n, ok := at[v.ReservationID]
		if !ok {
			n = len(out.Reservations)
			at[v.ReservationID] = n
			out.Reservations = append(out.Reservations, reservation{ID: v.ReservationID, OwnerID: s.world.Account()})
		}
		out.Reservations[n].Instances = append(out.Reservations[n].Instances, s.show(v, names))
	}
	return out, nil
}

// named are the instances of the given ids, or all; an id without an instance is an error, and names all such ids.
func (s *service) named(ids []string) ([]world.Instance, error) {
	if len(ids) == 0 {
		return s.world.Instances(), nil
	}
	all := s.world.InstancesOf(ids)
	byID := make(map[string]*world.Instance, len(all))
	for i := range all {
		byID[all[i].ID] = &all[i]
	}
	var out []world.Instance
	var missing []string
	seen := map[string]bool{}
	for _, id := range ids {
		switch i := byID[id]; {
		case i == nil:
			missing = append(missing, id)
		case !seen[id]:
			out = append(out, *i)
		}
		seen[id] = true
	}
	if len(missing) > 0 {
		return nil, world.UnknownInstances(missing)
	}
	return out, nil
}

func (s *service) groupNames() map[string]string {
	out := map[string]string{}
	for _, g := range s.world.SecurityGroups() {
		out[g.ID] = g.Name
	}
	return out
}

func groups(ids []string, names map[string]string) []group {
	out := make([]group, 0, len(ids))
	for _, id := range ids {
		out = append(out, group{id, names[id]})
	}
	return out
}

func (s *service) show(i *world.Instance, names map[string]string) instance {
	o := instance{
		ID: i.ID, ImageID: i.ImageID, State: state{i.State.Code(), string(i.State)}, PrivateDNSName: i.PrivateDNSName,
		Reason: i.StateTransitionReason, KeyName: i.Launch.KeyName, InstanceType: i.Type, LaunchTime: stamp(i.LaunchTime),
		PrivateIP: address(i.PrivateIP), PublicIP: address(i.PublicIP), SourceDestCheck: true, Groups: groups(i.SecurityGroupIDs, names),
		Architecture: i.Arch, RootDeviceType: "ebs", VirtualizationType: "hvm", Lifecycle: i.Lifecycle(), SpotRequestID: i.SpotRequestID,
		Hypervisor: "xen", EnaSupport: true, CapacityReservation: i.CapacityReservationID, Tags: tagItems(i.Tags),
	}
	if m := i.Launch.MetadataOptions; m != nil {
		o.MetadataOptions = &metadataOptions{"applied", *m}
	}
	if i.Launch.Placement != nil {
		o.Placement = *i.Launch.Placement
	}
	o.Placement.GroupID, o.Placement.GroupName, o.Placement.PartitionNumber = i.PlacementGroupID, i.PlacementGroupName, nil
	if i.Partition > 0 {
		o.Placement.PartitionNumber = &i.Partition
	}
	o.Placement.AvailabilityZone, o.Placement.AvailabilityZoneID, o.Placement.Tenancy = i.Zone, i.ZoneID, tenancy(i)
	o.Monitoring.State = "disabled"
	if m := i.Launch.Monitoring; m != nil && m.Enabled != nil && *m.Enabled {
		o.Monitoring.State = "enabled"
	}
	if i.Live() {
		o.SubnetID, o.VpcID = i.SubnetID, i.VPCID
	}
	if i.StateReasonCode != "" {
		o.StateReason = &stateReason{i.StateReasonCode, i.StateReasonMessage}
	}
	if i.ProfileARN != "" {
		o.Profile = &instanceProfile{ARN: i.ProfileARN, ID: "AIPA" + i.ID[2:]}
	}
	if i.Launch.EbsOptimized != nil {
		o.EbsOptimized = *i.Launch.EbsOptimized
	}
	o.EnclaveOptions.Enabled = new(false)
	if e := i.Launch.EnclaveOptions; e != nil && e.Enabled != nil {
		o.EnclaveOptions.Enabled = e.Enabled
	}
	o.ReservationSpec = &world.CapacityReservationSpec{Preference: "open"}
	if c := i.Launch.CapacityReservation; c != nil {
		spec := *c
		o.ReservationSpec = &spec
	}
	s.showAttached(i, &o, names)
	return o
}

func (s *service) showAttached(i *world.Instance, o *instance, names map[string]string) {
	if img, ok := s.world.Image(i.ImageID); ok {
		o.RootDeviceName = img.RootDevice
	}
	for _, v := range i.Volumes {
		d := instanceDisk{DeviceName: v.Device}
		d.Ebs.VolumeID, d.Ebs.Status, d.Ebs.AttachTime, d.Ebs.DeleteOnTermination = v.VolumeID, "attached", stamp(i.LaunchTime), v.DeleteOnTermination
		o.Disks = append(o.Disks, d)
	}
	for n := range i.Interfaces {
		o.Interfaces = append(o.Interfaces, s.showInterface(i, n, names))
	}
}

func (s *service) showInterface(i *world.Instance, at int, names map[string]string) networkInterface {
	n := &i.Interfaces[at]
	x := networkInterface{
		ID: n.ID, SubnetID: n.SubnetID, VpcID: i.VPCID, Description: n.Description, OwnerID: s.world.Account(), Status: "in-use",
		MAC: n.MAC, PrivateIP: address(n.PrivateIP), SourceDestCheck: true, InterfaceType: n.Type, Groups: groups(n.SecurityGroupIDs, names),
	}
	if n.PrivateIP == i.PrivateIP {
		x.PrivateDNSName = i.PrivateDNSName
		if i.PublicIP.IsValid() {
			x.Association = &association{PublicIP: address(i.PublicIP), IPOwnerID: "amazon"}
		}
	}
	if n.PrivateIP.IsValid() {
		x.Addresses = append(x.Addresses, privateAddress{address(n.PrivateIP), true})
	}
	for _, a := range n.Secondary {
		x.Addresses = append(x.Addresses, privateAddress{address(a), false})
	}
	for _, p := range n.Prefixes {
		x.IPv4Prefixes = append(x.IPv4Prefixes, ipv4Prefix{p.String()})
	}
	x.Attachment.ID = "eni-attach-" + strings.TrimPrefix(n.ID, "eni-")
	x.Attachment.DeviceIndex, x.Attachment.NetworkCardIndex = n.DeviceIndex, n.CardIndex
	x.Attachment.Status, x.Attachment.AttachTime, x.Attachment.DeleteOnTermination = "attached", stamp(i.LaunchTime), n.DeleteOnTermination
	return x
}

type terminateInstancesInput struct {
	IDs            []string `query:"InstanceId"`
	Force          *bool    `query:"Force"`
	SkipOsShutdown *bool    `query:"SkipOsShutdown"`
}

type terminateInstancesOutput struct {
	Instances []stateChange `xml:"instancesSet>item"`
}

type stateChange struct {
	ID       string `xml:"instanceId"`
	Current  state  `xml:"currentState"`
	Previous state  `xml:"previousState"`
}

func (s *service) terminateInstances(r *wire.Request, in *terminateInstancesInput) (any, error) {
	if len(in.IDs) > 1000 {
		return nil, wire.Errorf("InvalidParameterValue", "%d instances are named; at most 1000 can be", len(in.IDs))
	}
	if err := s.checkChange(r, in.IDs); err != nil {
		return nil, err
	}
	changes, err := s.world.Terminate(in.IDs)
	if err != nil {
		return nil, err
	}
	r.Detail = strconv.Itoa(len(changes)) + " instances"
	return terminateInstancesOutput{stateChanges(changes)}, nil
}

// checkChange is what is wrong with a request to change the state of instances; a dry run ends here, too.
func (s *service) checkChange(r *wire.Request, ids []string) error {
	if len(ids) == 0 {
		return wire.Errorf("MissingParameter", "The request must contain the parameter InstanceId")
	}
	if err := checkIDs(ids); err != nil {
		return err
	}
	if r.DryRun() {
		if _, err := s.named(ids); err != nil {
			return err
		}
		return wire.DryRunOperation()
	}
	return nil
}

func stateChanges(changes []world.StateChange) []stateChange {
	var out []stateChange
	for _, c := range changes {
		out = append(out, stateChange{c.ID, state{c.Current.Code(), string(c.Current)}, state{c.Previous.Code(), string(c.Previous)}})
	}
	return out
}
