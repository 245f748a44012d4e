package convert

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	awsv1 "github.com/kerf-sh/kerf/api/aws/v1"
	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
)

// templateDevices translates the block devices.
func (f *fields) templateDevices(spec *awsv1.EC2NodeClassSpec) {
	list := f.list("BlockDeviceMappings")
	for i, v := range list {
		at := fmt.Sprintf("BlockDeviceMappings[%d]", i)
		if d, ok := f.below(v, at); ok {
			d.templateDevice(spec)
		}
	}
	if len(spec.BlockDeviceMappings) == 0 && spec.AMIFamily != nil && *spec.AMIFamily != awsv1.AMIFamilyCustom {
		f.decide("BlockDeviceMappings (not set)", "the disks of the family "+string(*spec.AMIFamily), "the disks were those of the image; a class without any gets those of its family, 20Gi of gp3 for AL2 and AL2023",
			"write the image's disks under spec.blockDeviceMappings: aws ec2 describe-images --image-ids ID --query 'Images[].BlockDeviceMappings'")
	}
}

func (f *fields) templateDevice(spec *awsv1.EC2NodeClassSpec) {
	at := strings.TrimSuffix(f.prefix, ".")
	var out awsv1.BlockDeviceMapping
	if text, ok := f.text("DeviceName"); ok {
		out.DeviceName = &text
	}
	mapped := false
	if v, ok := f.take("VirtualName"); ok && !blank(v) {
		mapped = true
		f.lost(at+".VirtualName", "instance store disks ("+describe(v)+") are not mapped by name", "use spec.instanceStorePolicy: RAID0, or set up the disks in spec.userData")
	}
	if v, ok := f.take("NoDevice"); ok && !blank(v) {
		mapped = true
		f.lost(at+".NoDevice", "a device of the image can't be left out", "make an image without it")
	}
	if f.has("Ebs") {
		e := &awsv1.BlockDevice{}
		out.EBS = e
		truth := func(to **bool, name string) {
			if v, ok := f.truth("Ebs", name); ok {
				*to = &v
			}
		}
		text := func(to **string, name string) {
			if v, ok := f.text("Ebs", name); ok {
				*to = &v
			}
		}
		number := func(to **int64, name string) {
			if v, ok := f.number("Ebs", name); ok {
				*to = &v
			}
		}
		truth(&e.DeleteOnTermination, "DeleteOnTermination")
		truth(&e.Encrypted, "Encrypted")
		number(&e.IOPS, "Iops")
		number(&e.Throughput, "Throughput")
		text(&e.KMSKeyID, "KmsKeyId")
		text(&e.SnapshotID, "SnapshotId")
		text(&e.VolumeType, "VolumeType")
		if n, ok := f.number("Ebs", "VolumeInitializationRate"); ok {
			e.VolumeInitializationRate = new(int32(min(max(n, 0), 1<<30)))
		}
		if n, ok := f.count("Ebs", "VolumeSize"); ok && n > 0 {
			e.VolumeSize = gibibytes(n)
		}
	}
	f.leftovers()
	if out.EBS == nil && mapped {
		return
	}
	if out.EBS == nil || out.EBS.VolumeSize == nil && out.EBS.SnapshotID == nil {
		f.lost(at, "a device needs a size or a snapshot now; without, the size was that of the image's own snapshot", "write the device under spec.blockDeviceMappings with its size: "+describeDevice(&out))
		return
	}
	spec.BlockDeviceMappings = append(spec.BlockDeviceMappings, out)
	size := "size of the snapshot"
	if out.EBS.VolumeSize != nil {
		size = out.EBS.VolumeSize.String()
	}
	do := ""
	if out.EBS.KMSKeyID != nil {
		do = volumeKey(*out.EBS.KMSKeyID)
	}
	f.decide(at, "spec.blockDeviceMappings: "+describeDevice(&out)+", "+size, "", do)
}

// templateInterfaces translates network interfaces, which a template for this purpose should not have had.
func (f *fields) templateInterfaces(spec *awsv1.EC2NodeClassSpec) {
	list := f.list("NetworkInterfaces")
	var interfaces []awsv1.NetworkInterface
	special := len(list) > 1
	for i, v := range list {
		n, ok := f.below(v, fmt.Sprintf("NetworkInterfaces[%d]", i))
		if !ok {
			continue
		}
		one := n.templateInterface(spec, i == 0)
		special = special || one.InterfaceType != awsv1.InterfaceTypeInterface
		interfaces = append(interfaces, one)
	}
	if special {
		spec.NetworkInterfaces = interfaces
		f.translated("NetworkInterfaces", "spec.networkInterfaces", "card, place and kind of each")
	}
}

func (f *fields) templateInterface(spec *awsv1.EC2NodeClassSpec, first bool) awsv1.NetworkInterface {
	out := awsv1.NetworkInterface{InterfaceType: awsv1.InterfaceTypeInterface}
	if n, ok := f.count("DeviceIndex"); ok {
		out.DeviceIndex = int32(min(n, 1<<30))
	}
	if n, ok := f.count("NetworkCardIndex"); ok {
		out.NetworkCardIndex = int32(min(n, 1<<30))
	}
	switch kind, _ := f.text("InterfaceType"); kind {
	case "", "interface":
	case string(awsv1.InterfaceTypeEFAOnly):
		out.InterfaceType = awsv1.InterfaceTypeEFAOnly
	default:
		f.lost(f.at("InterfaceType"), "interfaces of the kind "+kind+" are made where pods ask for them", "have the pods ask for "+awsv1.ResourceEFA)
	}
	if on, ok := f.truth("AssociatePublicIpAddress"); ok && first {
		spec.AssociatePublicIPAddress = &on
		f.kept(f.at("AssociatePublicIpAddress"), "spec.associatePublicIPAddress")
	}
	f.groupIDs(&spec.SecurityGroupSelectorTerms, f.at("Groups"), f.groupList("Groups"))
	if id, ok := f.text("SubnetId"); ok && strings.HasPrefix(id, "subnet-") {
		if first {
			spec.SubnetSelectorTerms = []awsv1.SubnetSelectorTerm{{ID: id}}
		}
		f.translated(f.at("SubnetId"), "spec.subnetSelectorTerms: id "+id, "unless the old object selects subnets itself")
	}
	for _, name := range []string{"Ipv4PrefixCount", "Ipv6PrefixCount"} {
		if n, ok := f.count(name); ok && n > 0 {
			spec.IPPrefixCount = new(int32(min(n, 1<<30)))
			f.kept(f.at(name), "spec.ipPrefixCount")
		}
	}
	f.connectionTracking(spec)
	for _, name := range []string{"DeleteOnTermination", "Description"} {
		if _, ok := f.take(name); ok {
			f.translated(f.at(name), "", "the controller sets it itself")
		}
	}
	for _, name := range []string{
		"NetworkInterfaceId", "PrivateIpAddress", "PrivateIpAddresses", "SecondaryPrivateIpAddressCount", "Ipv6AddressCount", "Ipv6Addresses",
		"Ipv4Prefixes", "Ipv6Prefixes", "AssociateCarrierIpAddress", "PrimaryIpv6", "EnaSrdSpecification", "EnaQueueCount",
	} {
		if v, ok := f.take(name); ok && !off(v) {
			f.lost(f.at(name), "interfaces and their addresses are the network plug-in's", "see that nothing relies on it")
		}
	}
	f.leftovers()
	return out
}

func (f *fields) connectionTracking(spec *awsv1.EC2NodeClassSpec) {
	const at = "ConnectionTrackingSpecification"
	var t awsv1.ConnectionTracking
	found := false
	for _, m := range []struct {
		name string
		to   **int32
	}{{"TcpEstablishedTimeout", &t.TCPEstablishedTimeout}, {"UdpStreamTimeout", &t.UDPStreamTimeout}, {"UdpTimeout", &t.UDPTimeout}} {
		if n, ok := f.count(at, m.name); ok {
			*m.to = new(int32(min(n, 1<<30)))
			found = true
		}
	}
	if found {
		spec.ConnectionTracking = &t
		f.kept(f.at(at), "spec.connectionTracking")
	}
}

// gone are the fields of a launch template that have no place, with what may be done instead.
var gone = map[string]string{
	"KeyName":                           "log in through SSM Session Manager, or write the key to authorized_keys in spec.userData",
	"HibernationOptions":                "do without: nodes are replaced, not put to sleep",
	"ElasticGpuSpecifications":          "choose instance types with GPUs",
	"ElasticInferenceAccelerators":      "choose instance types with accelerators",
	"CreditSpecification":               "set the account's default for burstable types (aws ec2 modify-default-credit-specification)",
	"LicenseSpecifications":             "attach the licence configuration to the image instead",
	"KernelId":                          "let the image decide",
	"RamDiskId":                         "let the image decide",
	"InstanceInitiatedShutdownBehavior": "see that nothing shuts instances down to stop and start them: the controller ends instances that stop",
	"MaintenanceOptions":                "do without automatic recovery: a node that fails is replaced",
	"PrivateDnsNameOptions":             "set the subnet's options for DNS names",
	"DisableApiStop":                    "do without: the controller must be able to end instances",
	"DisableApiTermination":             "do without: the controller must be able to end instances",
	"NetworkPerformanceOptions":         "do without: the bandwidth is that of the instance type",
	"SecondaryInterfaces":               "leave instances with such networks to what launches them now",
}

// templateRest translates what is left.
func (f *fields) templateRest(spec *awsv1.EC2NodeClassSpec) {
	if text, ok := f.text("CpuOptions", "NestedVirtualization"); ok {
		spec.CPUOptions = &awsv1.CPUOptions{NestedVirtualization: &text}
		f.kept("CpuOptions.NestedVirtualization", "spec.cpuOptions.nestedVirtualization")
	}
	switch v, ok := f.take("EnclaveOptions", "Enabled"); {
	case ok && v == true:
		spec.EnclaveOptions = &awsv1.EnclaveOptions{Enabled: true}
		f.kept("EnclaveOptions.Enabled", "spec.enclaveOptions.enabled")
	case ok:
		f.lost("EnclaveOptions", "no field; it was off", "")
	}
	for _, name := range []string{"CoreCount", "ThreadsPerCore", "AmdSevSnp"} {
		if v, ok := f.take("CpuOptions", name); ok {
			f.lost("CpuOptions."+name, "instances have all cores and threads of their type; "+describe(v)+" was asked for", "choose smaller types, or switch threads off in spec.userData")
		}
	}
	if v, ok := f.take("InstanceType"); ok {
		f.lost("InstanceType", "it was not to be set, for the type was always chosen by what pods need", "if the pool is to launch "+describe(v)+" only, set its requirement "+corev1.LabelInstanceTypeStable)
	}
	if _, ok := f.take("InstanceRequirements"); ok {
		f.lost("InstanceRequirements", "the type was always chosen by what pods need", "write what is still wanted as requirements of the pool")
	}
	if v, ok := f.take("InstanceMarketOptions"); ok {
		f.lost("InstanceMarketOptions", "how an instance is launched is the pool's", "set the pool's requirement "+karpv1.CapacityTypeLabelKey+"; the template says "+strings.TrimSpace(fmt.Sprint(market(v))))
	}
	if v, ok := f.take("EbsOptimized"); ok {
		f.lost("EbsOptimized", describe(v)+": current types are optimized for EBS without it", "")
	}
	f.take("Operator")
	for _, name := range slices.Sorted(maps.Keys(gone)) {
		v, ok := f.take(name)
		if !ok {
			continue
		}
		if off(v) {
			f.lost(name, "no field; it was off", "")
			continue
		}
		f.lost(name, "no field: "+brief(v), gone[name])
	}
}

func market(v any) string {
	m, _ := v.(map[string]any)
	if s, ok := scalar(m["MarketType"]); ok {
		return s
	}
	return "nothing of the kind"
}

// off tells that an option is switched off.
func off(v any) bool {
	switch v := v.(type) {
	case map[string]any:
		for _, item := range v {
			if !off(item) {
				return false
			}
		}
		return true
	case string:
		return v == "" || v == "none" || v == "default"
	}
	return blank(v) || v == false
}

func brief(v any) string {
	if s, ok := scalar(v); ok {
		return s
	}
	return describe(v)
}
