package v1

// Labels of nodes that this provider adds to the core set.
const (
	LabelInstanceHypervisor                   = Group + "/instance-hypervisor"
	LabelInstanceEncryptionInTransitSupported = Group + "/instance-encryption-in-transit-supported"
	LabelInstanceCategory                     = Group + "/instance-category"
	LabelInstanceFamily                       = Group + "/instance-family"
	LabelInstanceGeneration                   = Group + "/instance-generation"
	LabelInstanceSize                         = Group + "/instance-size"
	LabelInstanceCapabilityFlex               = Group + "/instance-capability-flex"
	LabelInstanceLocalNVME                    = Group + "/instance-local-nvme"
	LabelInstanceCPU                          = Group + "/instance-cpu"
	LabelInstanceCPUManufacturer              = Group + "/instance-cpu-manufacturer"
	LabelInstanceCPUSustainedClockSpeedMHz    = Group + "/instance-cpu-sustained-clock-speed-mhz"
	LabelInstanceMemory                       = Group + "/instance-memory"
	LabelInstanceEBSBandwidth                 = Group + "/instance-ebs-bandwidth"
	LabelInstanceNetworkBandwidth             = Group + "/instance-network-bandwidth"
	LabelInstanceGPUName                      = Group + "/instance-gpu-name"
	LabelInstanceGPUManufacturer              = Group + "/instance-gpu-manufacturer"
	LabelInstanceGPUCount                     = Group + "/instance-gpu-count"
	LabelInstanceGPUMemory                    = Group + "/instance-gpu-memory"
	LabelInstanceAcceleratorName              = Group + "/instance-accelerator-name"
	LabelInstanceAcceleratorManufacturer      = Group + "/instance-accelerator-manufacturer"
	LabelInstanceAcceleratorCount             = Group + "/instance-accelerator-count"
	LabelInstanceTenancy                      = Group + "/instance-tenancy"
	LabelCapacityReservationID                = Group + "/capacity-reservation-id"
	LabelCapacityReservationType              = Group + "/capacity-reservation-type"
	LabelCapacityReservationInterruptible     = Group + "/capacity-reservation-interruptible"
	LabelPlacementGroupID                     = Group + "/placement-group-id"
	LabelPlacementGroupPartition              = Group + "/placement-group-partition"
	// LabelTopologyZoneID holds the zone's ID, which names the same place in every account.
	LabelTopologyZoneID = "topology.k8s.aws/zone-id"
	// LabelEBSZone is the zone label of the EBS volume driver; an alias of the zone label.
	LabelEBSZone = "topology.ebs.csi.aws.com/zone"
	// LabelNodeClass names the EC2NodeClass of a NodeClaim, Node or tagged AWS resource.
	LabelNodeClass = Group + "/ec2nodeclass"
)

// Values of LabelInstanceTenancy.
const (
	TenancyDefault   = "default"
	TenancyDedicated = "dedicated"
)

// Annotations.
const (
	// AnnotationEC2NodeClassHash holds the hash of the EC2NodeClass; see EC2NodeClass.Hash.
	AnnotationEC2NodeClassHash = Group + "/ec2nodeclass-hash"
	// AnnotationEC2NodeClassHashVersion holds the version of the way the hash is computed.
	AnnotationEC2NodeClassHashVersion = Group + "/ec2nodeclass-hash-version"
	// AnnotationInstanceProfile names the instance profile of a NodeClaim's instance.
	AnnotationInstanceProfile = Group + "/instance-profile-name"
	// AnnotationInstanceTagged is "true" on a NodeClaim whose instance has its late tags.
	AnnotationInstanceTagged = Group + "/tagged"
	// AnnotationLaunchTemplate is Kerf's own: the version of a user's launch template that a NodeClaim's instance was
	// launched from; see LaunchTemplate.Ref.
	AnnotationLaunchTemplate = "kerf.sh/launch-template"
	// AnnotationSecurityGroups is Kerf's own: the IDs of the security groups that a NodeClaim's instance was launched with, sorted,
	// with commas in between.
	AnnotationSecurityGroups = "kerf.sh/security-groups"
	// AnnotationClusterNameTaggedCompatibility is "true" on a NodeClaim whose instance bears TagEKSCluster, which older
	// releases of Karpenter did not set.
	AnnotationClusterNameTaggedCompatibility = "compatibility.karpenter.k8s.aws/cluster-name-tagged"
)

// TerminationFinalizer is on every EC2NodeClass in use.
const TerminationFinalizer = Group + "/termination"

// Tags on AWS resources.
const (
	TagNodePool     = "karpenter.sh/nodepool"
	TagNodeClaim    = "karpenter.sh/nodeclaim"
	TagNodeClass    = LabelNodeClass
	TagEKSCluster   = "eks:eks-cluster-name"
	TagName         = "Name"
	TagRegion       = "topology.kubernetes.io/region"
	TagClusterOwned = "owned"
	// TagClusterPrefix is followed by the cluster's name; the tag's value is TagClusterOwned.
	TagClusterPrefix = "kubernetes.io/cluster/"
	// TagManagedBy was the cluster tag of early releases.
	TagManagedBy = "karpenter.sh/managed-by"
	// TagClusterUID holds the UID of the cluster's namespace kube-system: it tells clusters apart that share a name and an
	// account. Kerf sets it on what it launches; instances without it belong to whoever bears the name.
	TagClusterUID = "kerf.sh/cluster-uid"
)

// Extended resources of EC2 instances.
const (
	ResourceNVIDIAGPU          = "nvidia.com/gpu"
	ResourceAMDGPU             = "amd.com/gpu"
	ResourceHabanaGaudi        = "habana.ai/gaudi"
	ResourceAWSNeuron          = "aws.amazon.com/neuron"
	ResourceAWSNeuronCore      = "aws.amazon.com/neuroncore"
	ResourceAWSPodENI          = "vpc.amazonaws.com/pod-eni"
	ResourcePrivateIPv4Address = "vpc.amazonaws.com/PrivateIPv4Address"
	ResourceEFA                = "vpc.amazonaws.com/efa"
)
