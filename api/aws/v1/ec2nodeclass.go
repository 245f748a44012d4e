package v1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// EC2NodeClass says how nodes are made on EC2: network, image, identity, disks and boot.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=ec2nodeclasses,scope=Cluster,categories=karpenter,shortName={ec2nc,ec2ncs}
// +kubebuilder:storageversion
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="Ready",type="string",JSONPath=".status.conditions[?(@.type==\"Ready\")].status",description="Whether the class can be used"
// +kubebuilder:printcolumn:name="Age",type="date",JSONPath=".metadata.creationTimestamp",description="Time since creation"
// +kubebuilder:printcolumn:name="Role",type="string",JSONPath=".spec.role",priority=1,description="IAM role of the nodes"
type EC2NodeClass struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// How nodes are made.
	// +kubebuilder:validation:XValidation:rule="has(self.launchTemplate) || has(self.role) != has(self.instanceProfile)",message="set exactly one of 'role' and 'instanceProfile', or a 'launchTemplate'"
	// +kubebuilder:validation:XValidation:rule="has(self.launchTemplate) || has(self.amiSelectorTerms)",message="select images, or name a 'launchTemplate'",reason=FieldValueRequired,fieldPath=".amiSelectorTerms"
	// +kubebuilder:validation:XValidation:rule="has(self.launchTemplate) || has(self.securityGroupSelectorTerms)",message="select security groups, or name a 'launchTemplate'",reason=FieldValueRequired,fieldPath=".securityGroupSelectorTerms"
	// +kubebuilder:validation:XValidation:rule="has(self.launchTemplate) || !has(self.amiSelectorTerms) || has(self.amiFamily) || self.amiSelectorTerms.exists(x, has(x.alias))",message="set 'amiFamily', or select images by an alias"
	// +kubebuilder:validation:XValidation:rule="!has(self.amiFamily) || !has(self.amiSelectorTerms) || self.amiFamily == 'Custom' || !self.amiSelectorTerms.exists(x, has(x.alias)) || self.amiSelectorTerms.all(x, !has(x.alias) || x.alias.find('^[^@]+') == self.amiFamily.lowerAscii())",message="'amiFamily' must be that of the alias, or Custom"
	// +kubebuilder:validation:XValidation:rule="!has(self.launchTemplate) || !has(self.amiSelectorTerms)",message="'launchTemplate' excludes 'amiSelectorTerms': the template decides"
	// +kubebuilder:validation:XValidation:rule="!has(self.launchTemplate) || !has(self.amiFamily)",message="'launchTemplate' excludes 'amiFamily': the template decides"
	// +kubebuilder:validation:XValidation:rule="!has(self.launchTemplate) || !has(self.userData)",message="'launchTemplate' excludes 'userData': the template decides"
	// +kubebuilder:validation:XValidation:rule="!has(self.launchTemplate) || !has(self.securityGroupSelectorTerms)",message="'launchTemplate' excludes 'securityGroupSelectorTerms': the template decides"
	// +kubebuilder:validation:XValidation:rule="!has(self.launchTemplate) || !has(self.blockDeviceMappings)",message="'launchTemplate' excludes 'blockDeviceMappings': the template decides"
	// +kubebuilder:validation:XValidation:rule="!has(self.launchTemplate) || !has(self.role)",message="'launchTemplate' excludes 'role': the template decides"
	// +kubebuilder:validation:XValidation:rule="!has(self.launchTemplate) || !has(self.instanceProfile)",message="'launchTemplate' excludes 'instanceProfile': the template decides"
	// +kubebuilder:validation:XValidation:rule="!has(self.launchTemplate) || !has(self.associatePublicIPAddress)",message="'launchTemplate' excludes 'associatePublicIPAddress': the template decides"
	// +kubebuilder:validation:XValidation:rule="!has(self.launchTemplate) || !has(self.ipPrefixCount)",message="'launchTemplate' excludes 'ipPrefixCount': the template decides"
	// +kubebuilder:validation:XValidation:rule="!has(self.launchTemplate) || !has(self.networkInterfaces)",message="'launchTemplate' excludes 'networkInterfaces': the template decides"
	// +kubebuilder:validation:XValidation:rule="!has(self.launchTemplate) || !has(self.connectionTracking)",message="'launchTemplate' excludes 'connectionTracking': the template decides"
	// +kubebuilder:validation:XValidation:rule="!has(self.launchTemplate) || !has(self.detailedMonitoring)",message="'launchTemplate' excludes 'detailedMonitoring': the template decides"
	// +kubebuilder:validation:XValidation:rule="!has(self.launchTemplate) || !has(self.cpuOptions)",message="'launchTemplate' excludes 'cpuOptions': the template decides"
	// +kubebuilder:validation:XValidation:rule="!has(self.launchTemplate) || !has(self.enclaveOptions)",message="'launchTemplate' excludes 'enclaveOptions': the template decides"
	// +kubebuilder:validation:XValidation:rule="!has(self.launchTemplate) || !has(self.placementGroupSelector)",message="'launchTemplate' excludes 'placementGroupSelector': the template decides"
	// +kubebuilder:validation:XValidation:rule="!has(self.launchTemplate) || !has(self.capacityReservationSelectorTerms)",message="'launchTemplate' excludes 'capacityReservationSelectorTerms': the template decides"
	// +kubebuilder:validation:XValidation:rule="!has(self.launchTemplate) || !has(self.metadataOptions) || ((!has(self.metadataOptions.httpEndpoint) || self.metadataOptions.httpEndpoint == 'enabled') && (!has(self.metadataOptions.httpProtocolIPv6) || self.metadataOptions.httpProtocolIPv6 == 'disabled') && (!has(self.metadataOptions.httpPutResponseHopLimit) || self.metadataOptions.httpPutResponseHopLimit == 1) && (!has(self.metadataOptions.httpTokens) || self.metadataOptions.httpTokens == 'required'))",message="'launchTemplate' excludes 'metadataOptions' other than its defaults: the template decides"
	// +optional
	Spec EC2NodeClassSpec `json:"spec,omitempty"`
	// What the spec stands for in the account.
	// +optional
	Status EC2NodeClassStatus `json:"status,omitempty"`
}

// EC2NodeClassList is a list of EC2NodeClasses.
//
// +kubebuilder:object:root=true
type EC2NodeClassList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []EC2NodeClass `json:"items"`
}

// EC2NodeClassSpec says how nodes are made.
type EC2NodeClassSpec struct {
	// Subnets to launch in: those that any term selects.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=30
	// +kubebuilder:validation:XValidation:rule="self.all(x, has(x.tags) || has(x.id))",message="every subnet term needs 'tags' or 'id'"
	// +kubebuilder:validation:XValidation:rule="!self.all(x, has(x.id) && has(x.tags))",message="'id' excludes 'tags' in a subnet term"
	// +required
	SubnetSelectorTerms []SubnetSelectorTerm `json:"subnetSelectorTerms"`
	// Security groups of the nodes: those that any term selects. Required without a launch template.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=30
	// +kubebuilder:validation:XValidation:rule="self.all(x, has(x.tags) || has(x.id) || has(x.name))",message="every security group term needs 'tags', 'id' or 'name'"
	// +kubebuilder:validation:XValidation:rule="!self.all(x, has(x.id) && (has(x.tags) || has(x.name)))",message="'id' excludes the other fields of a security group term"
	// +kubebuilder:validation:XValidation:rule="!self.all(x, has(x.name) && (has(x.tags) || has(x.id)))",message="'name' excludes the other fields of a security group term"
	// +optional
	SecurityGroupSelectorTerms []SecurityGroupSelectorTerm `json:"securityGroupSelectorTerms,omitempty"`
	// Launch template of yours that nodes are launched from, in place of all fields by which Kerf would make one. Unset:
	// launch templates are made, and taken away when nothing uses them. The controller needs permissions for it: kerf stack
	// --launch-templates.
	// +kubebuilder:validation:XValidation:rule="has(self.name) != has(self.id)",message="set exactly one of 'name' and 'id' in launchTemplate"
	// +optional
	LaunchTemplate *LaunchTemplateReference `json:"launchTemplate,omitempty"`
	// Capacity reservations that nodes may use: those that any term selects. Unset: none, not even open ones. NodePools
	// use them when they allow the capacity type reserved. The controller needs permissions for it: kerf stack
	// --capacity-reservations.
	// +kubebuilder:validation:MaxItems=30
	// +kubebuilder:validation:XValidation:rule="self.all(x, has(x.tags) || has(x.id) || has(x.instanceMatchCriteria))",message="every capacity reservation term needs 'tags', 'id' or 'instanceMatchCriteria'"
	// +kubebuilder:validation:XValidation:rule="self.size() == 0 || !self.all(x, has(x.id) && (has(x.tags) || has(x.ownerID) || has(x.instanceMatchCriteria)))",message="'id' excludes the other fields of a capacity reservation term"
	// +optional
	CapacityReservationSelectorTerms []CapacityReservationSelectorTerm `json:"capacityReservationSelectorTerms,omitempty"`
	// Placement group to launch in. Types that can't stand in a group of its strategy are not launched; nodes carry the labels
	// karpenter.k8s.aws/placement-group-id and, in partition groups, karpenter.k8s.aws/placement-group-partition.
	// The controller needs permissions for it: kerf stack --placement-groups.
	// +kubebuilder:validation:XValidation:rule="has(self.name) != has(self.id)",message="set exactly one of 'name' and 'id' in placementGroupSelector"
	// +optional
	PlacementGroupSelector *PlacementGroupSelector `json:"placementGroupSelector,omitempty"`
	// Images that nodes may boot: those that any term selects. Required without a launch template.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=30
	// +kubebuilder:validation:XValidation:rule="self.all(x, has(x.tags) || has(x.id) || has(x.name) || has(x.alias) || has(x.ssmParameter))",message="every AMI term needs 'alias', 'id', 'name', 'ssmParameter' or 'tags'"
	// +kubebuilder:validation:XValidation:rule="!self.exists(x, has(x.id) && (has(x.alias) || has(x.tags) || has(x.name) || has(x.owner)))",message="'id' excludes the other fields of an AMI term"
	// +kubebuilder:validation:XValidation:rule="!self.exists(x, has(x.alias) && (has(x.id) || has(x.tags) || has(x.name) || has(x.owner)))",message="'alias' excludes the other fields of an AMI term"
	// +kubebuilder:validation:XValidation:rule="!self.exists(x, has(x.alias)) || self.size() == 1",message="'alias' must be the only AMI term"
	// +optional
	AMISelectorTerms []AMISelectorTerm `json:"amiSelectorTerms,omitempty"`
	// Family of the images: how user data, disks and labels are made. Required unless an alias says it.
	// +optional
	AMIFamily *AMIFamily `json:"amiFamily,omitempty"`
	// Whether instances get a public IPv4 address. Unset leaves that to the subnet.
	// +optional
	AssociatePublicIPAddress *bool `json:"associatePublicIPAddress,omitempty"`
	// Number of IP prefixes for each network interface that carries addresses. Unset: none; the network plug-in gets its
	// own.
	// +kubebuilder:validation:Minimum=0
	// +optional
	IPPrefixCount *int32 `json:"ipPrefixCount,omitempty"`
	// User data to merge with what the family needs for the boot: a script, a document of the family, or MIME of both. It
	// is used as it is, and nothing is added, for the family Custom. With what is added it may have 16384 bytes.
	// +optional
	UserData *string `json:"userData,omitempty"`
	// IAM role of the nodes, by name; an instance profile is kept for it.
	// +kubebuilder:validation:XValidation:rule="self != ''",message="role may not be empty"
	// +optional
	Role string `json:"role,omitempty"`
	// Instance profile of the nodes, made and kept by somebody else.
	// +kubebuilder:validation:XValidation:rule="self != ''",message="instanceProfile may not be empty"
	// +optional
	InstanceProfile *string `json:"instanceProfile,omitempty"`
	// Tags for everything that is launched, beside those that mark it as the cluster's.
	// +kubebuilder:validation:XValidation:rule="self.all(k, k != '')",message="tag keys may not be empty"
	// +kubebuilder:validation:XValidation:rule="self.all(k, k != 'eks:eks-cluster-name')",message="tag 'eks:eks-cluster-name' is restricted: it is always the name of the cluster"
	// +kubebuilder:validation:XValidation:rule="self.all(k, !k.startsWith('kubernetes.io/cluster'))",message="tags that start with 'kubernetes.io/cluster' are restricted: they mark the owning cluster"
	// +kubebuilder:validation:XValidation:rule="self.all(k, k != 'karpenter.sh/nodepool')",message="tag 'karpenter.sh/nodepool' is restricted: it is always the name of the NodePool"
	// +kubebuilder:validation:XValidation:rule="self.all(k, k != 'karpenter.sh/nodeclaim')",message="tag 'karpenter.sh/nodeclaim' is restricted: it is always the name of the NodeClaim"
	// +kubebuilder:validation:XValidation:rule="self.all(k, k != 'karpenter.k8s.aws/ec2nodeclass')",message="tag 'karpenter.k8s.aws/ec2nodeclass' is restricted: it is always the name of the EC2NodeClass"
	// +optional
	Tags map[string]string `json:"tags,omitempty"`
	// Settings of the kubelet. They go into the user data, except for the family Custom and with a launch template of
	// yours: there they only tell what its kubelet does, so that pods are counted right.
	// +kubebuilder:validation:XValidation:rule="!has(self.imageGCHighThresholdPercent) || !has(self.imageGCLowThresholdPercent) || self.imageGCHighThresholdPercent > self.imageGCLowThresholdPercent",message="imageGCHighThresholdPercent must be greater than imageGCLowThresholdPercent"
	// +kubebuilder:validation:XValidation:rule="!has(self.evictionSoft) || (has(self.evictionSoftGracePeriod) && self.evictionSoft.all(k, k in self.evictionSoftGracePeriod))",message="every evictionSoft signal needs an evictionSoftGracePeriod"
	// +kubebuilder:validation:XValidation:rule="!has(self.evictionSoftGracePeriod) || (has(self.evictionSoft) && self.evictionSoftGracePeriod.all(k, k in self.evictionSoft))",message="every evictionSoftGracePeriod signal needs an evictionSoft"
	// Other fields of the kubelet's configuration (kubelet.config.k8s.io/v1beta1) reach nodes of the family AL2023.
	// +kubebuilder:pruning:PreserveUnknownFields
	// +optional
	Kubelet *KubeletConfiguration `json:"kubelet,omitempty"`
	// Disks of the nodes, in place of the family's, which are of gp3, encrypted, and go with the node: /dev/xvda of 20Gi for
	// AL2 and AL2023, /dev/xvda of 4Gi and /dev/xvdb of 20Gi for Bottlerocket, /dev/sda1 of 50Gi for Windows, and those of
	// the image for Custom.
	// +kubebuilder:validation:MaxItems=50
	// +kubebuilder:validation:XValidation:rule="self.filter(x, has(x.rootVolume) && x.rootVolume).size() <= 1",message="at most one block device may have rootVolume"
	// +optional
	BlockDeviceMappings []BlockDeviceMapping `json:"blockDeviceMappings,omitempty"`
	// What becomes of instance store disks. RAID0 joins them and puts ephemeral storage on them, but on Windows, which leaves
	// them alone, and with Custom, where it only says what the image does. Unset: they are left alone.
	// +optional
	InstanceStorePolicy *InstanceStorePolicy `json:"instanceStorePolicy,omitempty"`
	// Network interfaces of the nodes, in place of a single one, or of one with EFA on each card for pods that ask for EFA.
	// +kubebuilder:validation:MaxItems=150
	// +kubebuilder:validation:XValidation:rule="self.size() == 0 || self.exists(x, x.networkCardIndex == 0 && x.deviceIndex == 0 && x.interfaceType == 'interface')",message="networkInterfaces need a primary: networkCardIndex 0, deviceIndex 0, interfaceType 'interface'"
	// +kubebuilder:validation:XValidation:rule="self.all(x, self.exists_one(y, x.networkCardIndex == y.networkCardIndex && x.deviceIndex == y.deviceIndex))",message="each pair of networkCardIndex and deviceIndex may be used once"
	// +kubebuilder:validation:XValidation:rule="self.all(x, x.interfaceType != 'efa-only' || self.exists_one(y, y.networkCardIndex == x.networkCardIndex && y.interfaceType == 'efa-only'))",message="each network card may have one efa-only interface"
	// +optional
	NetworkInterfaces []NetworkInterface `json:"networkInterfaces,omitempty"`
	// Whether instances report metrics every minute. Unset: every five minutes.
	// +optional
	DetailedMonitoring *bool `json:"detailedMonitoring,omitempty"`
	// How the instance metadata service may be used.
	// +kubebuilder:default={"httpEndpoint":"enabled","httpProtocolIPv6":"disabled","httpPutResponseHopLimit":1,"httpTokens":"required"}
	// +optional
	MetadataOptions *MetadataOptions `json:"metadataOptions,omitempty"`
	// How long idle connections are tracked. Unset leaves that to EC2. Types without Nitro can't be had with it.
	// +kubebuilder:validation:XValidation:rule="has(self.tcpEstablishedTimeout) || has(self.udpStreamTimeout) || has(self.udpTimeout)",message="connectionTracking needs at least one timeout"
	// +optional
	ConnectionTracking *ConnectionTracking `json:"connectionTracking,omitempty"`
	// Features of the CPU. Unset leaves them to EC2.
	// +optional
	CPUOptions *CPUOptions `json:"cpuOptions,omitempty"`
	// Nitro Enclaves. Unset: none.
	// +optional
	EnclaveOptions *EnclaveOptions `json:"enclaveOptions,omitempty"`
	// Context of fleet requests, passed on verbatim. Unset: none.
	// +optional
	Context *string `json:"context,omitempty"`
}
