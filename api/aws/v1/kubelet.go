package v1

import "encoding/json"

// KubeletConfiguration holds settings of the kubelet. Quantities, percentages and durations stay
// text, as the schema does not vouch for them; whoever reads them must expect nonsense.
type KubeletConfiguration struct {
	// DNS servers of pods; the first is used. Unset: that of the cluster's service network.
	// +optional
	ClusterDNS []string `json:"clusterDNS,omitempty"`
	// Number of pods that a node may run. Unset: as many as find addresses, and 110 on Windows.
	// +optional
	MaxPods *int32 `json:"maxPods,omitempty"`
	// Number of pods that a node may run for each of its vCPUs; lowers maxPods. Bottlerocket does not have it.
	// +kubebuilder:validation:Minimum=0
	// +optional
	PodsPerCore *int32 `json:"podsPerCore,omitempty"`
	// Resources kept back for the operating system. Unset: none.
	// +kubebuilder:validation:XValidation:rule="self.all(x, x in ['cpu', 'memory', 'ephemeral-storage', 'pid'])",message="systemReserved may hold cpu, memory, ephemeral-storage and pid"
	// +kubebuilder:validation:XValidation:rule="self.all(x, !self[x].startsWith('-'))",message="systemReserved values may not be negative"
	// +optional
	SystemReserved map[string]string `json:"systemReserved,omitempty"`
	// Resources kept back for the kubelet and the container runtime, in place of what the images keep: CPU by the number
	// of vCPUs, memory of 255Mi and 11Mi for each pod, disk of 1Gi.
	// +kubebuilder:validation:XValidation:rule="self.all(x, x in ['cpu', 'memory', 'ephemeral-storage', 'pid'])",message="kubeReserved may hold cpu, memory, ephemeral-storage and pid"
	// +kubebuilder:validation:XValidation:rule="self.all(x, !self[x].startsWith('-'))",message="kubeReserved values may not be negative"
	// +optional
	KubeReserved map[string]string `json:"kubeReserved,omitempty"`
	// Thresholds, as quantity or percentage, below which pods are evicted at once. Unset: the kubelet's, which for memory
	// is 100Mi and on Windows 500Mi, and for disk 10 %.
	// +kubebuilder:validation:XValidation:rule="self.all(x, x in ['memory.available', 'nodefs.available', 'nodefs.inodesFree', 'imagefs.available', 'imagefs.inodesFree', 'pid.available'])",message="evictionHard may hold memory.available, nodefs.available, nodefs.inodesFree, imagefs.available, imagefs.inodesFree and pid.available"
	// +optional
	EvictionHard map[string]string `json:"evictionHard,omitempty"`
	// Thresholds, as quantity or percentage, below which pods are evicted after a grace period. Unset: none. They take
	// nothing from what pods may ask for.
	// +kubebuilder:validation:XValidation:rule="self.all(x, x in ['memory.available', 'nodefs.available', 'nodefs.inodesFree', 'imagefs.available', 'imagefs.inodesFree', 'pid.available'])",message="evictionSoft may hold memory.available, nodefs.available, nodefs.inodesFree, imagefs.available, imagefs.inodesFree and pid.available"
	// +optional
	EvictionSoft map[string]string `json:"evictionSoft,omitempty"`
	// Grace periods of the evictionSoft thresholds, such as 1m30s.
	// +kubebuilder:validation:XValidation:rule="self.all(x, x in ['memory.available', 'nodefs.available', 'nodefs.inodesFree', 'imagefs.available', 'imagefs.inodesFree', 'pid.available'])",message="evictionSoftGracePeriod may hold memory.available, nodefs.available, nodefs.inodesFree, imagefs.available, imagefs.inodesFree and pid.available"
	// +optional
	EvictionSoftGracePeriod map[string]string `json:"evictionSoftGracePeriod,omitempty"`
	// Longest grace period, in seconds, that a pod gets when a soft threshold evicts it. Unset: the kubelet's.
	// +kubebuilder:validation:Minimum=0
	// +optional
	EvictionMaxPodGracePeriod *int32 `json:"evictionMaxPodGracePeriod,omitempty"`
	// Disk usage, in percent, above which images are always collected. Unset: the kubelet's.
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=100
	// +optional
	ImageGCHighThresholdPercent *int32 `json:"imageGCHighThresholdPercent,omitempty"`
	// Disk usage, in percent, below which images are never collected. Unset: the kubelet's.
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=100
	// +optional
	ImageGCLowThresholdPercent *int32 `json:"imageGCLowThresholdPercent,omitempty"`
	// Whether CPU limits of containers are enforced by quota. Unset: the kubelet's, which is true.
	// +optional
	CPUCFSQuota *bool `json:"cpuCFSQuota,omitempty"`
	// Others are further fields of the kubelet's configuration (kubelet.config.k8s.io/v1beta1), and listed ones whose value has
	// another type, each as it is written. They stand beside the listed ones in JSON.
	Others map[string]json.RawMessage `json:"-"`
}
