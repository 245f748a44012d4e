package world

// The types in this file hold what a launch template or a direct launch says about instances. Their tags name the
// parameter in requests (query) and the element in replies (xml), so that package ec2 can read and write them without a
// second set of types. Optional values are pointers; nil means "not given".

// LaunchData is the content of a launch template version, or the same things given in RunInstances.
type LaunchData struct {
	ImageID                           string                   `query:"ImageId" xml:"imageId,omitempty"`
	InstanceType                      string                   `query:"InstanceType" xml:"instanceType,omitempty"`
	KeyName                           string                   `query:"KeyName" xml:"keyName,omitempty"`
	UserData                          string                   `query:"UserData" xml:"userData,omitempty"` // base64
	EbsOptimized                      *bool                    `query:"EbsOptimized" xml:"ebsOptimized,omitempty"`
	DisableAPIStop                    *bool                    `query:"DisableApiStop" xml:"disableApiStop,omitempty"`
	DisableAPITermination             *bool                    `query:"DisableApiTermination" xml:"disableApiTermination,omitempty"`
	InstanceInitiatedShutdownBehavior string                   `query:"InstanceInitiatedShutdownBehavior" xml:"instanceInitiatedShutdownBehavior,omitempty"`
	IamInstanceProfile                *ProfileRef              `query:"IamInstanceProfile" xml:"iamInstanceProfile,omitempty"`
	Monitoring                        *Toggle                  `query:"Monitoring" xml:"monitoring,omitempty"`
	BlockDeviceMappings               []BlockDeviceMapping     `query:"BlockDeviceMapping" xml:"blockDeviceMappingSet>item"`
	NetworkInterfaces                 []NetworkInterfaceSpec   `query:"NetworkInterface" xml:"networkInterfaceSet>item"`
	SecurityGroupIDs                  []string                 `query:"SecurityGroupId" xml:"securityGroupIdSet>item"`
	SecurityGroups                    []string                 `query:"SecurityGroup" xml:"securityGroupSet>item"`
	MetadataOptions                   *MetadataOptions         `query:"MetadataOptions" xml:"metadataOptions,omitempty"`
	Placement                         *Placement               `query:"Placement" xml:"placement,omitempty"`
	CPUOptions                        *CPUOptions              `query:"CpuOptions" xml:"cpuOptions,omitempty"`
	CreditSpecification               *CreditSpecification     `query:"CreditSpecification" xml:"creditSpecification,omitempty"`
	CapacityReservation               *CapacityReservationSpec `query:"CapacityReservationSpecification" xml:"capacityReservationSpecification,omitempty"`
	MarketOptions                     *MarketOptions           `query:"InstanceMarketOptions" xml:"instanceMarketOptions,omitempty"`
	EnclaveOptions                    *Toggle                  `query:"EnclaveOptions" xml:"enclaveOptions,omitempty"`
	MaintenanceOptions                *MaintenanceOptions      `query:"MaintenanceOptions" xml:"maintenanceOptions,omitempty"`
	NetworkPerformance                *NetworkPerformance      `query:"NetworkPerformanceOptions" xml:"networkPerformanceOptions,omitempty"`
	PrivateDNSNameOptions             *PrivateDNSNameOptions   `query:"PrivateDnsNameOptions" xml:"privateDnsNameOptions,omitempty"`
	TagSpecifications                 []TagSpecification       `query:"TagSpecification" xml:"tagSpecificationSet>item"`
}

// Toggle is a setting that is on or off.
type Toggle struct {
	Enabled *bool `query:"Enabled" xml:"enabled,omitempty"`
}

// ProfileRef names an instance profile.
type ProfileRef struct {
	ARN  string `query:"Arn" xml:"arn,omitempty"`
	Name string `query:"Name" xml:"name,omitempty"`
}

// BlockDeviceMapping is one disk.
type BlockDeviceMapping struct {
	DeviceName  string     `query:"DeviceName" xml:"deviceName,omitempty"`
	VirtualName string     `query:"VirtualName" xml:"virtualName,omitempty"`
	NoDevice    *string    `query:"NoDevice" xml:"noDevice,omitempty"`
	Ebs         *EbsDevice `query:"Ebs" xml:"ebs,omitempty"`
}

// EbsDevice is a volume to make. VolumeSize is in GiB, Throughput in MiB/s, VolumeInitializationRate in MiB/s.
type EbsDevice struct {
	DeleteOnTermination      *bool  `query:"DeleteOnTermination" xml:"deleteOnTermination,omitempty"`
	Encrypted                *bool  `query:"Encrypted" xml:"encrypted,omitempty"`
	Iops                     *int32 `query:"Iops" xml:"iops,omitempty"`
	KmsKeyID                 string `query:"KmsKeyId" xml:"kmsKeyId,omitempty"`
	SnapshotID               string `query:"SnapshotId" xml:"snapshotId,omitempty"`
	Throughput               *int32 `query:"Throughput" xml:"throughput,omitempty"`
	VolumeInitializationRate *int32 `query:"VolumeInitializationRate" xml:"volumeInitializationRate,omitempty"`
	VolumeSize               *int32 `query:"VolumeSize" xml:"volumeSize,omitempty"`
	VolumeType               string `query:"VolumeType" xml:"volumeType,omitempty"`
}

// NetworkInterfaceSpec is one network interface to make.
type NetworkInterfaceSpec struct {
	AssociatePublicIPAddress       *bool               `query:"AssociatePublicIpAddress" xml:"associatePublicIpAddress,omitempty"`
	DeleteOnTermination            *bool               `query:"DeleteOnTermination" xml:"deleteOnTermination,omitempty"`
	Description                    string              `query:"Description" xml:"description,omitempty"`
	DeviceIndex                    *int32              `query:"DeviceIndex" xml:"deviceIndex,omitempty"`
	NetworkCardIndex               *int32              `query:"NetworkCardIndex" xml:"networkCardIndex,omitempty"`
	InterfaceType                  string              `query:"InterfaceType" xml:"interfaceType,omitempty"`
	SecurityGroupIDs               []string            `query:"SecurityGroupId" xml:"groupSet>groupId"`
	SubnetID                       string              `query:"SubnetId" xml:"subnetId,omitempty"`
	Ipv4PrefixCount                *int32              `query:"Ipv4PrefixCount" xml:"ipv4PrefixCount,omitempty"`
	Ipv6PrefixCount                *int32              `query:"Ipv6PrefixCount" xml:"ipv6PrefixCount,omitempty"`
	Ipv6AddressCount               *int32              `query:"Ipv6AddressCount" xml:"ipv6AddressCount,omitempty"`
	PrimaryIpv6                    *bool               `query:"PrimaryIpv6" xml:"primaryIpv6,omitempty"`
	SecondaryPrivateIPAddressCount *int32              `query:"SecondaryPrivateIpAddressCount" xml:"secondaryPrivateIpAddressCount,omitempty"`
	ConnectionTracking             *ConnectionTracking `query:"ConnectionTrackingSpecification" xml:"connectionTrackingSpecification,omitempty"`
}

// ConnectionTracking holds idle timeouts in seconds.
type ConnectionTracking struct {
	TCPEstablishedTimeout *int32 `query:"TcpEstablishedTimeout" xml:"tcpEstablishedTimeout,omitempty"`
	UDPStreamTimeout      *int32 `query:"UdpStreamTimeout" xml:"udpStreamTimeout,omitempty"`
	UDPTimeout            *int32 `query:"UdpTimeout" xml:"udpTimeout,omitempty"`
}

// MetadataOptions says how the instance metadata service answers.
type MetadataOptions struct {
	HTTPEndpoint            string `query:"HttpEndpoint" xml:"httpEndpoint,omitempty"`
	HTTPProtocolIpv6        string `query:"HttpProtocolIpv6" xml:"httpProtocolIpv6,omitempty"`
	HTTPPutResponseHopLimit *int32 `query:"HttpPutResponseHopLimit" xml:"httpPutResponseHopLimit,omitempty"`
	HTTPTokens              string `query:"HttpTokens" xml:"httpTokens,omitempty"`
	InstanceMetadataTags    string `query:"InstanceMetadataTags" xml:"instanceMetadataTags,omitempty"`
}

// Placement says where an instance is to run, or runs.
type Placement struct {
	Affinity           string `query:"Affinity" xml:"affinity,omitempty"`
	AvailabilityZone   string `query:"AvailabilityZone" xml:"availabilityZone,omitempty"`
	AvailabilityZoneID string `query:"AvailabilityZoneId" xml:"availabilityZoneId,omitempty"`
	GroupID            string `query:"GroupId" xml:"groupId,omitempty"`
	GroupName          string `query:"GroupName" xml:"groupName,omitempty"`
	HostID             string `query:"HostId" xml:"hostId,omitempty"`
	PartitionNumber    *int32 `query:"PartitionNumber" xml:"partitionNumber,omitempty"`
	Tenancy            string `query:"Tenancy" xml:"tenancy,omitempty"`
}

// CPUOptions narrows the processor.
type CPUOptions struct {
	AmdSevSnp            string `query:"AmdSevSnp" xml:"amdSevSnp,omitempty"`
	CoreCount            *int32 `query:"CoreCount" xml:"coreCount,omitempty"`
	NestedVirtualization string `query:"NestedVirtualization" xml:"nestedVirtualization,omitempty"`
	ThreadsPerCore       *int32 `query:"ThreadsPerCore" xml:"threadsPerCore,omitempty"`
}

// CreditSpecification is standard or unlimited.
type CreditSpecification struct {
	CPUCredits string `query:"CpuCredits" xml:"cpuCredits,omitempty"`
}

// CapacityReservationSpec says which reservations an instance may use.
type CapacityReservationSpec struct {
	Preference string                     `query:"CapacityReservationPreference" xml:"capacityReservationPreference,omitempty"`
	Target     *CapacityReservationTarget `query:"CapacityReservationTarget" xml:"capacityReservationTarget,omitempty"`
}

// CapacityReservationTarget names one reservation.
type CapacityReservationTarget struct {
	ID               string `query:"CapacityReservationId" xml:"capacityReservationId,omitempty"`
	ResourceGroupARN string `query:"CapacityReservationResourceGroupArn" xml:"capacityReservationResourceGroupArn,omitempty"`
}

// MarketOptions says how an instance is launched.
type MarketOptions struct {
	MarketType  string             `query:"MarketType" xml:"marketType,omitempty"`
	SpotOptions *SpotMarketOptions `query:"SpotOptions" xml:"spotOptions,omitempty"`
}

// SpotMarketOptions are the terms of a spot request.
type SpotMarketOptions struct {
	InstanceInterruptionBehavior string `query:"InstanceInterruptionBehavior" xml:"instanceInterruptionBehavior,omitempty"`
	MaxPrice                     string `query:"MaxPrice" xml:"maxPrice,omitempty"`
	SpotInstanceType             string `query:"SpotInstanceType" xml:"spotInstanceType,omitempty"`
	ValidUntil                   string `query:"ValidUntil" xml:"validUntil,omitempty"`
}

// MaintenanceOptions says whether EC2 recovers the instance by itself.
type MaintenanceOptions struct {
	AutoRecovery string `query:"AutoRecovery" xml:"autoRecovery,omitempty"`
}

// NetworkPerformance is the share of bandwidth between network and volumes.
type NetworkPerformance struct {
	BandwidthWeighting string `query:"BandwidthWeighting" xml:"bandwidthWeighting,omitempty"`
}

// PrivateDNSNameOptions says how the instance is named.
type PrivateDNSNameOptions struct {
	HostnameType                    string `query:"HostnameType" xml:"hostnameType,omitempty"`
	EnableResourceNameDNSARecord    *bool  `query:"EnableResourceNameDnsARecord" xml:"enableResourceNameDnsARecord,omitempty"`
	EnableResourceNameDNSAAAARecord *bool  `query:"EnableResourceNameDnsAAAARecord" xml:"enableResourceNameDnsAAAARecord,omitempty"`
}

// TagSpecification gives tags to one kind of resource that a call makes.
type TagSpecification struct {
	ResourceType string `query:"ResourceType" xml:"resourceType,omitempty"`
	Tags         []Tag  `query:"Tag" xml:"tagSet>item"`
}

// Tag is one tag.
type Tag struct {
	Key   string `query:"Key" xml:"key"`
	Value string `query:"Value" xml:"value"`
}
