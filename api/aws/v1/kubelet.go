package v1

// KubeletConfiguration holds settings of the kubelet. Quantities, percentages and durations stay
// text, as the schema does not vouch for them; whoever reads them must expect nonsense.
type KubeletConfiguration struct {
	// DNS servers of pods, in place of the one that was found out.
	// +optional
	ClusterDNS []string `json:"clusterDNS,omitempty"`
	// Number of pods that a node may run, in place of the computed one.
	// +kubebuilder:validation:Minimum=0
	// +optional
	MaxPods *int32 `json:"maxPods,omitempty"`
	// Number of pods that a node may run for each of its cores; lowers maxPods.
	// +kubebuilder:validation:Minimum=0
	// +optional
	PodsPerCore *int32 `json:"podsPerCore,omitempty"`
	// Resources kept back for the operating system.
	// +kubebuilder:validation:XValidation:rule="self.all(x, x in ['cpu', 'memory', 'ephemeral-storage', 'pid'])",message="systemReserved may hold cpu, memory, ephemeral-storage and pid"
	// +kubebuilder:validation:XValidation:rule="self.all(x, !self[x].startsWith('-'))",message="systemReserved values may not be negative"
	// +optional
	SystemReserved map[string]string `json:"systemReserved,omitempty"`
	// Resources kept back for the kubelet and the container runtime.
	// +kubebuilder:validation:XValidation:rule="self.all(x, x in ['cpu', 'memory', 'ephemeral-storage', 'pid'])",message="kubeReserved may hold cpu, memory, ephemeral-storage and pid"
	// +kubebuilder:validation:XValidation:rule="self.all(x, !self[x].startsWith('-'))",message="kubeReserved values may not be negative"
	// +optional
	KubeReserved map[string]string `json:"kubeReserved,omitempty"`
	// Thresholds, as quantity or percentage, below which pods are evicted at once.
	// +kubebuilder:validation:XValidation:rule="self.all(x, x in ['memory.available', 'nodefs.available', 'nodefs.inodesFree', 'imagefs.available', 'imagefs.inodesFree', 'pid.available'])",message="evictionHard may hold memory.available, nodefs.available, nodefs.inodesFree, imagefs.available, imagefs.inodesFree and pid.available"
	// +optional
	EvictionHard map[string]string `json:"evictionHard,omitempty"`
	// Thresholds, as quantity or percentage, below which pods are evicted after a grace period.
	// +kubebuilder:validation:XValidation:rule="self.all(x, x in ['memory.available', 'nodefs.available', 'nodefs.inodesFree', 'imagefs.available', 'imagefs.inodesFree', 'pid.available'])",message="evictionSoft may hold memory.available, nodefs.available, nodefs.inodesFree, imagefs.available, imagefs.inodesFree and pid.available"
	// +optional
	EvictionSoft map[string]string `json:"evictionSoft,omitempty"`
	// Grace periods of the evictionSoft thresholds.
	// +kubebuilder:validation:XValidation:rule="self.all(x, x in ['memory.available', 'nodefs.available', 'nodefs.inodesFree', 'imagefs.available', 'imagefs.inodesFree', 'pid.available'])",message="evictionSoftGracePeriod may hold memory.available, nodefs.available, nodefs.inodesFree, imagefs.available, imagefs.inodesFree and pid.available"
	// +optional
	EvictionSoftGracePeriod map[string]string `json:"evictionSoftGracePeriod,omitempty"`
	// Longest grace period, in seconds, that a pod gets when a soft threshold evicts it.
	// +kubebuilder:validation:Minimum=0
	// +optional
	EvictionMaxPodGracePeriod *int32 `json:"evictionMaxPodGracePeriod,omitempty"`
	// Disk usage, in percent, above which images are always collected.
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=100
	// +optional
	ImageGCHighThresholdPercent *int32 `json:"imageGCHighThresholdPercent,omitempty"`
	// Disk usage, in percent, below which images are never collected.
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=100
	// +optional
	ImageGCLowThresholdPercent *int32 `json:"imageGCLowThresholdPercent,omitempty"`
	// Whether CPU limits of containers are enforced by quota.
	// +optional
	CPUCFSQuota *bool `json:"cpuCFSQuota,omitempty"`
}
