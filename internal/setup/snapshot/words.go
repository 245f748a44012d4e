package snapshot

import (
	"regexp"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/intstr"

	awsv1 "github.com/kerf-sh/kerf/api/aws/v1"
)

// form is the form of texts that name nothing of the user's. Whatever else stands in such a place is hashed or left out.
func form(alternatives string) *regexp.Regexp {
	return regexp.MustCompile(`^(?:` + alternatives + `)$`)
}

const (
	number = `\d{1,8}(?:\.\d{1,4})?`
	family = `[a-z]{1,4}\d{1,2}[a-z]{0,4}(?:-[a-z0-9]{1,8})?|u-\d{1,2}tb1|mac-m\d[a-z]{0,5}`
	size   = `nano|micro|small|medium|large|\d{0,3}xlarge|metal(?:-\d{1,3}xl)?`
	// Source: EC2 User Guide, Regions and Zones; AWS Regions and Availability Zones (zone IDs).
	region = `(?:af|ap|ca|cn|eu|eusc-de|il|me|mx|sa|us|us-gov|us-iso[a-z]?|eu-iso[a-z]?)-(?:north|south|east|west|central|northeast|northwest|southeast|southwest)-\d`
	zone   = region + `(?:[a-z]|-[a-z]{3}-\d[a-z]|-wl\d-[a-z]{3}\d?-wlz-\d)`
	zoneID = `[a-z]{3,6}\d-(?:[a-z]{3}\d-)?az\d{1,2}|[a-z]{3,6}\d-wl\d-[a-z]{3}\d?-wlz\d`
	arch   = `amd64|arm64|386|arm`
	system = `linux|windows`
	life   = `(?i:spot|ec2spot|normal|on-?demand|od|scheduled)`
	marked = `|present|exists|` + number // beside true and false
	gpus   = `radeon-pro-v520|gaudi-hl-\d{3}|rtx-?pro-?(?:server-)?\d{4}|[a-z]{1,2}\d{1,3}[a-z]{0,2}`
)

// publicKeys are keys of labels and taints that have a meaning, with the form of the values that are kept.
var publicKeys = map[string]*regexp.Regexp{
	"topology.kubernetes.io/zone": form(zone), "failure-domain.beta.kubernetes.io/zone": form(zone), awsv1.LabelEBSZone: form(zone), awsv1.LabelTopologyZoneID: form(zoneID),
	"topology.kubernetes.io/region": form(region), "failure-domain.beta.kubernetes.io/region": form(region),
	"node.kubernetes.io/instance-type": instanceTypes, "beta.kubernetes.io/instance-type": instanceTypes,
	"kubernetes.io/arch": form(arch), "beta.kubernetes.io/arch": form(arch), "kubernetes.io/os": form(system), "beta.kubernetes.io/os": form(system),
	"node.kubernetes.io/windows-build": form(`10\.0\.\d{5}`),
	"karpenter.sh/capacity-type":       form(`on-demand|spot|reserved`),
	"eks.amazonaws.com/capacityType":   form(`(?i:on_demand|spot|capacity_block)`), "eks.amazonaws.com/compute-type": form(`ec2|fargate|auto|hybrid`),
	"node.kubernetes.io/lifecycle": form(life), "lifecycle": form(life),
	"karpenter.sh/registered": form(marked), "karpenter.sh/initialized": form(marked), "karpenter.sh/do-not-sync-taints": form(marked), "karpenter.sh/disrupted": form(marked),
	"karpenter.sh/unregistered": form(marked), "nvidia.com/gpu": form(marked), "CriticalAddonsOnly": form(marked),
	awsv1.LabelInstanceHypervisor: form(`nitro|xen`), awsv1.LabelInstanceCategory: form(`[a-z]{1,2}|hpc|inf|mac|trn`), awsv1.LabelInstanceFamily: form(family), awsv1.LabelInstanceSize: form(size),
	awsv1.LabelInstanceCPUManufacturer: form(`amd|apple|aws|intel`), awsv1.LabelInstanceGPUManufacturer: form(`amd|habana|nvidia`), awsv1.LabelInstanceAcceleratorManufacturer: form(`aws|habana|qualcomm|xilinx`),
	awsv1.LabelInstanceGPUName: form(gpus), awsv1.LabelInstanceAcceleratorName: form(`inferentia2?|trainium[23]?|qualcomm-ai\d{3}|u30|` + gpus), awsv1.LabelInstanceTenancy: form(`default|dedicated|host`),
	awsv1.LabelCapacityReservationType: form(`default|capacity-block`),
	awsv1.LabelInstanceGeneration:      form(number), awsv1.LabelInstanceLocalNVME: form(number), awsv1.LabelInstanceCPU: form(number), awsv1.LabelInstanceCPUSustainedClockSpeedMHz: form(number),
	awsv1.LabelInstanceMemory: form(number), awsv1.LabelInstanceEBSBandwidth: form(number), awsv1.LabelInstanceNetworkBandwidth: form(number), awsv1.LabelInstanceGPUCount: form(number),
	awsv1.LabelInstanceGPUMemory: form(number), awsv1.LabelInstanceAcceleratorCount: form(number), awsv1.LabelPlacementGroupPartition: form(number),
}

// lifecycleKeys are keys of others whose values mean spot where the word is in them, whatever else is.
var lifecycleKeys = []string{"node.kubernetes.io/lifecycle", "lifecycle"}

// keptKeys are keys that have a meaning, with values that name something.
var keptKeys = []string{
	"metadata.name", "kubernetes.io/hostname", "kubernetes.io/metadata.name", "karpenter.sh/nodepool", awsv1.LabelNodeClass, "eks.amazonaws.com/nodegroup", "alpha.eksctl.io/nodegroup-name",
	"kops.k8s.io/instancegroup", "eks.amazonaws.com/fargate-profile", "app.kubernetes.io/name",
	awsv1.LabelInstanceEncryptionInTransitSupported, awsv1.LabelInstanceCapabilityFlex, awsv1.LabelCapacityReservationID, awsv1.LabelCapacityReservationInterruptible, awsv1.LabelPlacementGroupID,
	// Source: Kubernetes reference, Well-Known Labels, Annotations and Taints.
	"node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable", "node.kubernetes.io/unschedulable", "node.kubernetes.io/memory-pressure", "node.kubernetes.io/disk-pressure",
	"node.kubernetes.io/pid-pressure", "node.kubernetes.io/network-unavailable", "node.kubernetes.io/out-of-service", "node.kubernetes.io/exclude-from-external-load-balancers",
	"node.cloudprovider.kubernetes.io/uninitialized", "node.cloudprovider.kubernetes.io/shutdown",
	"pod-template-hash", "controller-revision-hash", "statefulset.kubernetes.io/pod-name", "apps.kubernetes.io/pod-index", "job-name", "batch.kubernetes.io/job-name",
}

// publicNames are names that every cluster has, or that have a meaning.
var publicNames = []string{
	"default", "kube-system", "kube-public", "kube-node-lease", "system-cluster-critical", "system-node-critical", "default-scheduler", "kubernetes.io/no-provisioner",
	"cluster-autoscaler", "aws-cluster-autoscaler", // by which an audit finds what launches nodes
}

// Forms of other texts.
var (
	instanceTypes = form(`(?:` + family + `)\.(?:` + size + `)`)
	regions       = form(region)
	zones         = form(zone)
	zoneIDs       = form(zoneID)
	numbers       = form(`[+-]?\d{0,9}(?:\.\d{1,9})?%?`)
	architectures = form(arch)
	systems       = form(system)
	versions      = regexp.MustCompile(`^v\d{1,2}\.\d{1,3}\.\d{1,3}(?:-eks-[0-9a-f]{7}\b)?`) // of Kubernetes; what a distribution adds is left out
	schedules     = form(`@(?:yearly|annually|monthly|weekly|daily|midnight|hourly)|(?i:[0-9*/,? -]|sun|mon|tue|wed|thu|fri|sat|jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)+`)
	schemes       = form(`aws|azure|gce|kind|k3s|openstack|vsphere`)
	mediums       = form(`Memory|HugePages(?:-\d{1,4}[KMG]i)?`)
	devices       = form(`/dev/[a-z]{2,4}\d{0,2}`)
	volumeTypes   = form(`gp[23]|io[12]|st1|sc1|standard`)
	families      = form(`AL2|AL2023|Bottlerocket|Custom|Windows20\d\d`)
	aliases       = form(`(?:al2|al2023|bottlerocket|windows20\d\d)@(?:latest|v?[0-9.]{1,20})`)
	switches      = form(`enabled|disabled`)
	thresholds    = form(`cpu|memory|ephemeral-storage|pid|memory\.available|nodefs\.available|nodefs\.inodesFree|imagefs\.available|imagefs\.inodesFree|pid\.available`)
	drivers       = form(`(?:ebs|efs|fsx|fsx\.openzfs|s3)\.csi\.aws\.com|ebs\.csi\.eks\.amazonaws\.com|kubernetes\.io/(?:aws-ebs|no-provisioner)`)
	resources     = form(`cpu|memory|pods|nodes|storage|ephemeral-storage|hugepages-\d{1,4}[KMG]i|attachable-volumes-(?:aws-ebs|csi-ebs\.csi\.aws\.com)` +
		`|nvidia\.com/(?:gpu|mig-\d{1,2}g\.\d{1,3}gb)(?:\.shared)?|amd\.com/gpu|habana\.ai/gaudi|aws\.amazon\.com/neuron(?:core|device)?|vpc\.amazonaws\.com/(?:pod-eni|PrivateIPv4Address|efa)`)

	states         = form(`True|False|Unknown`)
	nodeConditions = form(`Ready|MemoryPressure|DiskPressure|PIDPressure|NetworkUnavailable` +
		`|KernelReady|NetworkingReady|StorageReady|AcceleratedHardwareReady|ContainerRuntimeReady` + // of the node monitoring agent of EKS
		`|KernelDeadlock|ReadonlyFilesystem|FrequentKubeletRestart|FrequentContainerdRestart|FrequentDockerRestart|FrequentUnregisterNetDevice`) // of Node Problem Detector
	podConditions    = form(`PodScheduled|Initialized|ContainersReady|Ready|DisruptionTarget|PodReadyToStartContainers|PodResizePending|PodResizeInProgress`)
	objectConditions = form(`Ready|ValidationSucceeded|NodeClassReady|NodeRegistrationHealthy|BudgetsValid|Launched|Registered|Initialized|Drifted|Consolidatable|DisruptionReason|Drained|VolumesDetached` +
		`|InstanceTerminating|ConsistentStateFound|SubnetsReady|SecurityGroupsReady|AMIsReady|InstanceProfileReady|PlacementGroupReady|CapacityReservationsReady|LaunchTemplateReady|InterruptionQueueReady` +
		`|InstanceStatusReady|ReadyForProvisioning|Provisioning|LimitedByQuotas`)
)

// only is a text that has a form; empty: it has another.
func only[T ~string](f *regexp.Regexp, text T) T {
	if f.MatchString(string(text)) {
		return text
	}
	return ""
}

// onlyPointer is only for what may be absent.
func onlyPointer[T ~string](f *regexp.Regexp, text *T) *T {
	if text == nil || !f.MatchString(string(*text)) {
		return nil
	}
	return text
}

// share is a number or a percentage; nil: it is neither, which the API server admits nowhere.
func share(v *intstr.IntOrString) *intstr.IntOrString {
	if v == nil || v.Type == intstr.String && !numbers.MatchString(v.StrVal) {
		return nil
	}
	return v
}

// formed is a text that has a form, or its hash.
func (a *anonymizer) formed(f *regexp.Regexp, text string) string {
	if text == "" || f.MatchString(text) {
		return text
	}
	return a.hash(text)
}

// amountsOf are texts of a kubelet's configuration by what they bound.
func amountsOf(texts map[string]string) map[string]string {
	if texts == nil {
		return nil
	}
	out := map[string]string{}
	for key, v := range texts {
		if thresholds.MatchString(key) && isAmount(v) {
			out[key] = v
		}
	}
	return out
}

// isAmount reports whether a text is a quantity, a share or a duration: such a one has no room for a name.
func isAmount(text string) bool {
	if _, err := resource.ParseQuantity(strings.TrimSuffix(text, "%")); err == nil {
		return true
	}
	_, err := time.ParseDuration(text)
	return err == nil
}

// publicOwners are the API groups whose kinds say nothing about the user, and ownerKinds those kinds.
var (
	publicOwners = []string{"v1", "apps/v1", "batch/v1", "karpenter.sh/v1"}
	ownerKinds   = []string{"Node", "Pod", "ReplicationController", "Deployment", "ReplicaSet", "StatefulSet", "DaemonSet", "Job", "CronJob", "NodePool", "NodeClaim"}
)

func isKey(key string) bool { return publicKeys[key] != nil || slices.Contains(keptKeys, key) }
