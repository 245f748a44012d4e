package boot

import (
	"maps"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kerf-sh/kerf/internal/sim/awssim/world"
)

// kwokNode is the annotation by which kwok takes over a node's heartbeat and runs its pods.
const (
	kwokNode      = "kwok.x-k8s.io/node"
	kwokNodeValue = "fake"
)

// describeNode makes the node object that kubelet and cloud controller manager together would.
func describeNode(i world.Instance, image world.Image, region string, k *Kubelet, m Hardware, now metav1.Time) (*corev1.Node, error) {
	capacity, allocatable, err := m.resources(k)
	if err != nil {
		return nil, err
	}
	arch := "amd64"
	if image.Arch == "arm64" {
		arch = "arm64"
	}
	system, build := systemOf(image)
	labels := maps.Clone(k.Labels)
	maps.Copy(labels, map[string]string{
		corev1.LabelHostname:                i.PrivateDNSName,
		corev1.LabelArchStable:              arch,
		corev1.LabelOSStable:                system,
		"beta.kubernetes.io/arch":           arch,
		"beta.kubernetes.io/os":             system,
		corev1.LabelInstanceTypeStable:      i.Type,
		corev1.LabelInstanceType:            i.Type,
		corev1.LabelTopologyZone:            i.Zone,
		corev1.LabelTopologyRegion:          region,
		corev1.LabelFailureDomainBetaZone:   i.Zone,
		corev1.LabelFailureDomainBetaRegion: region,
		"topology.k8s.aws/zone-id":          i.ZoneID,
	})
	if build != "" {
		labels[corev1.LabelWindowsBuild] = build
	}
	addresses := []corev1.NodeAddress{
		{Type: corev1.NodeInternalIP, Address: i.PrivateIP.String()},
		{Type: corev1.NodeHostName, Address: i.PrivateDNSName},
		{Type: corev1.NodeInternalDNS, Address: i.PrivateDNSName},
	}
	if i.PublicIP.IsValid() {
		addresses = append(addresses, corev1.NodeAddress{Type: corev1.NodeExternalIP, Address: i.PublicIP.String()})
	}
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{
			Name: i.PrivateDNSName, Labels: labels,
			Annotations: map[string]string{kwokNode: kwokNodeValue, "alpha.kubernetes.io/provided-node-ip": i.PrivateIP.String()},
		},
		Spec: corev1.NodeSpec{ProviderID: i.ProviderID(), Taints: k.Taints},
		Status: corev1.NodeStatus{
			Capacity: capacity, Allocatable: allocatable, Addresses: addresses,
			NodeInfo:   nodeInfo(i, image, arch),
			Conditions: conditions(corev1.ConditionTrue, "KubeletReady", "kubelet is posting ready status", now),
		},
	}, nil
}

func nodeInfo(i world.Instance, image world.Image, arch string) corev1.NodeSystemInfo {
	system, _ := systemOf(image)
	info := corev1.NodeSystemInfo{
		Architecture: arch, OperatingSystem: system,
		KubeletVersion:          "v" + image.KubernetesVersion + ".0-eks-kerfsim",
		ContainerRuntimeVersion: "containerd://2.1.5",
		MachineID:               strings.ReplaceAll(i.ID, "i-", "ec2"), SystemUUID: i.ID, BootID: i.ID,
	}
	switch image.Family {
	case world.FamilyAL2:
		info.OSImage, info.KernelVersion = "Amazon Linux 2", "5.10.245-241.976.amzn2."+image.Arch
	case world.FamilyBottlerocket:
		info.OSImage, info.KernelVersion = "Bottlerocket OS "+image.Release+" (aws-k8s-"+image.KubernetesVersion+")", "6.12.53"
	case world.FamilyWindows:
		info.OSImage, info.KernelVersion = "Windows Server "+image.Release+" Datacenter", windowsReleases[image.Release].kernel
	default:
		info.OSImage, info.KernelVersion = "Amazon Linux 2023", "6.12.53-69.119.amzn2023."+image.Arch
	}
	return info
}

func conditions(ready corev1.ConditionStatus, reason, message string, now metav1.Time) []corev1.NodeCondition {
	fine := func(t corev1.NodeConditionType, reason, message string) corev1.NodeCondition {
		return corev1.NodeCondition{Type: t, Status: corev1.ConditionFalse, Reason: reason, Message: message, LastHeartbeatTime: now, LastTransitionTime: now}
	}
	return []corev1.NodeCondition{
		fine(corev1.NodeMemoryPressure, "KubeletHasSufficientMemory", "kubelet has sufficient memory available"),
		fine(corev1.NodeDiskPressure, "KubeletHasNoDiskPressure", "kubelet has no disk pressure"),
		fine(corev1.NodePIDPressure, "KubeletHasSufficientPID", "kubelet has sufficient PID available"),
		{Type: corev1.NodeReady, Status: ready, Reason: reason, Message: message, LastHeartbeatTime: now, LastTransitionTime: now},
	}
}
