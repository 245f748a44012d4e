package v1

import "k8s.io/apimachinery/pkg/api/resource"

// BlockDeviceMapping is one disk of the nodes.
type BlockDeviceMapping struct {
	// Device name, for example /dev/xvda. A class without it is reported as wrong.
	// +optional
	DeviceName *string `json:"deviceName,omitempty"`
	// Volume behind the device. Stored objects may lack it; such a class is reported as wrong.
	// +kubebuilder:validation:XValidation:rule="has(self.snapshotID) || has(self.volumeSize)",message="ebs needs 'snapshotID' or 'volumeSize'"
	// +kubebuilder:validation:XValidation:rule="!has(self.volumeInitializationRate) || has(self.snapshotID)",message="volumeInitializationRate needs 'snapshotID'"
	// +optional
	EBS *BlockDevice `json:"ebs,omitempty"`
	// Whether this is the disk of the pods' ephemeral storage. Without any, it is that on the family's device, and the
	// last one for Custom.
	// +optional
	RootVolume bool `json:"rootVolume,omitempty"`
}

// BlockDevice is an EBS volume.
type BlockDevice struct {
	// Whether the volume goes when the instance goes. Unset leaves that to EC2.
	// +optional
	DeleteOnTermination *bool `json:"deleteOnTermination,omitempty"`
	// Whether the volume is encrypted. Unset leaves that to the snapshot and the account's default.
	// +optional
	Encrypted *bool `json:"encrypted,omitempty"`
	// Input and output operations per second, for io1, io2 and gp3. Unset leaves that to EC2.
	// +optional
	IOPS *int64 `json:"iops,omitempty"`
	// KMS key, by ID, alias or ARN, that encrypts the volume. Unset: the account's default key. The controller needs
	// permissions for another (kerf stack --volume-key).
	// +optional
	KMSKeyID *string `json:"kmsKeyID,omitempty"`
	// Snapshot that the volume is made from.
	// +optional
	SnapshotID *string `json:"snapshotID,omitempty"`
	// Throughput in MiB per second, for gp3. Unset leaves that to EC2.
	// +optional
	Throughput *int64 `json:"throughput,omitempty"`
	// Rate, in MiB per second, at which the snapshot is fetched. Unset: as it is read.
	// +kubebuilder:validation:Minimum=100
	// +kubebuilder:validation:Maximum=300
	// +optional
	VolumeInitializationRate *int32 `json:"volumeInitializationRate,omitempty"`
	// Size of the volume in Gi, G, Ti or T, up to 64T. Rounded up to whole GiB. Unset: the snapshot's.
	// +kubebuilder:validation:Pattern=`^(([1-9][0-9]{0,3}|[1-4][0-9]{4}|5[0-8][0-9]{3}|59000)Gi|([1-9][0-9]{0,3}|[1-5][0-9]{4}|6[0-3][0-9]{3}|64000)G|([1-9]|[1-4][0-9]|5[0-8])Ti|([1-9]|[1-5][0-9]|6[0-4])T)$`
	// +kubebuilder:validation:Type=string
	// +optional
	VolumeSize *resource.Quantity `json:"volumeSize,omitempty"`
	// Type of the volume. Unset leaves that to EC2.
	// +kubebuilder:validation:Enum=standard;io1;io2;gp2;sc1;st1;gp3
	// +optional
	VolumeType *string `json:"volumeType,omitempty"`
}

// InstanceStorePolicy names what becomes of instance store disks.
//
// +kubebuilder:validation:Enum=RAID0
type InstanceStorePolicy string

// InstanceStorePolicyRAID0 joins the instance store disks and puts ephemeral storage on them.
const InstanceStorePolicyRAID0 InstanceStorePolicy = "RAID0"

// InterfaceType names a kind of network interface.
//
// +kubebuilder:validation:Enum=interface;efa-only
type InterfaceType string

// Kinds of network interfaces.
const (
	InterfaceTypeInterface InterfaceType = "interface"
	InterfaceTypeEFAOnly   InterfaceType = "efa-only"
)

// NetworkInterface is one network interface of the nodes.
type NetworkInterface struct {
	// Network card that the interface sits on.
	// +kubebuilder:validation:Minimum=0
	// +required
	NetworkCardIndex int32 `json:"networkCardIndex"`
	// Place of the interface on its card.
	// +kubebuilder:validation:Minimum=0
	// +required
	DeviceIndex int32 `json:"deviceIndex"`
	// Kind of the interface.
	// +required
	InterfaceType InterfaceType `json:"interfaceType"`
}

// MetadataOptions says how the instance metadata service may be used.
type MetadataOptions struct {
	// Whether the service answers at all.
	// +kubebuilder:default=enabled
	// +kubebuilder:validation:Enum=enabled;disabled
	// +optional
	HTTPEndpoint *string `json:"httpEndpoint,omitempty"`
	// Whether the service answers over IPv6.
	// +kubebuilder:default=disabled
	// +kubebuilder:validation:Enum=enabled;disabled
	// +optional
	HTTPProtocolIPv6 *string `json:"httpProtocolIPv6,omitempty"`
	// Number of hops that an answer may take; 1 keeps it from pods with a network of their own.
	// +kubebuilder:default=1
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=64
	// +optional
	HTTPPutResponseHopLimit *int64 `json:"httpPutResponseHopLimit,omitempty"`
	// Whether callers need a session token.
	// +kubebuilder:default=required
	// +kubebuilder:validation:Enum=required;optional
	// +optional
	HTTPTokens *string `json:"httpTokens,omitempty"`
}

// ConnectionTracking says how long idle connections are tracked, in seconds.
type ConnectionTracking struct {
	// Seconds after which an idle established TCP connection is forgotten.
	// +kubebuilder:validation:Minimum=60
	// +kubebuilder:validation:Maximum=432000
	// +optional
	TCPEstablishedTimeout *int32 `json:"tcpEstablishedTimeout,omitempty"`
	// Seconds after which an idle UDP flow with several requests and answers is forgotten.
	// +kubebuilder:validation:Minimum=60
	// +kubebuilder:validation:Maximum=180
	// +optional
	UDPStreamTimeout *int32 `json:"udpStreamTimeout,omitempty"`
	// Seconds after which an idle UDP flow of one direction or one exchange is forgotten.
	// +kubebuilder:validation:Minimum=30
	// +kubebuilder:validation:Maximum=60
	// +optional
	UDPTimeout *int32 `json:"udpTimeout,omitempty"`
}

// EnclaveOptions holds what instances may run beside their operating system.
type EnclaveOptions struct {
	// Whether AWS Nitro Enclaves are enabled. Types that do not support them are left out when they are. What an enclave needs on
	// the node, its allocator and device plugin, is the image's or the user data's.
	// +required
	Enabled bool `json:"enabled"`
}

// CPUOptions holds features of the CPU.
type CPUOptions struct {
	// Whether instances may run virtual machines. Types whose processor can't are left out when it is enabled.
	// +kubebuilder:validation:Enum=enabled;disabled
	// +optional
	NestedVirtualization *string `json:"nestedVirtualization,omitempty"`
}
