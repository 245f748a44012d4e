package workload

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// GPU is the resource that GPUs are requested by.
const GPU corev1.ResourceName = "nvidia.com/gpu"

// Requests are what one pod of a row asks for.
type Requests struct {
	MilliCPU  int64
	MemoryMiB int64
	GPU       int64
	DiskGiB   int64
	// Models are the GPUs that it can use, as their instances' label says it; any if empty.
	Models []string
	// Class is a label of the pod, by which nothing is decided.
	Class string
	// Alone keeps other pods of the group away from its node.
	Alone bool
	// Group is the label by which pods of a group know each other.
	Group string
}

// labels that templates made of requests have.
const (
	groupLabel = "workload.kerf.sh/group"
	classLabel = "workload.kerf.sh/class"

	gpuNameLabel = "karpenter.k8s.aws/instance-gpu-name"
)

// name is the key of the template of these requests.
func (r *Requests) name() string {
	parts := []string{fmt.Sprintf("cpu-%dm-memory-%dMi", r.MilliCPU, r.MemoryMiB)}
	if r.GPU > 0 {
		parts = append(parts, fmt.Sprintf("gpu-%d", r.GPU))
	}
	if len(r.Models) > 0 {
		parts = append(parts, strings.Join(r.Models, "-or-"))
	}
	if r.DiskGiB > 0 {
		parts = append(parts, fmt.Sprintf("disk-%dGi", r.DiskGiB))
	}
	if r.Class != "" {
		parts = append(parts, "class-"+r.Class)
	}
	if r.Group != "" {
		parts = append(parts, "group-"+r.Group)
	}
	if r.Alone {
		parts = append(parts, "alone")
	}
	return strings.Join(parts, "-")
}

// Template is a pod that requests this.
func (r *Requests) Template() *corev1.PodTemplateSpec {
	list := corev1.ResourceList{}
	put := func(name corev1.ResourceName, n int64, q resource.Quantity) {
		if n > 0 {
			list[name] = q
		}
	}
	put(corev1.ResourceCPU, r.MilliCPU, *resource.NewMilliQuantity(r.MilliCPU, resource.DecimalSI))
	put(corev1.ResourceMemory, r.MemoryMiB, *resource.NewQuantity(r.MemoryMiB<<20, resource.BinarySI))
	put(corev1.ResourceEphemeralStorage, r.DiskGiB, *resource.NewQuantity(r.DiskGiB<<30, resource.BinarySI))
	needs := corev1.ResourceRequirements{Requests: list}
	if r.GPU > 0 {
		gpus := *resource.NewQuantity(r.GPU, resource.DecimalSI)
		list[GPU] = gpus
		needs.Limits = corev1.ResourceList{GPU: gpus}
	}
	t := &corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "none", Resources: needs}}}}
	if r.GPU > 0 { // nodes with GPUs are tainted by many NodePools
		t.Spec.Tolerations = []corev1.Toleration{{Key: string(GPU), Operator: corev1.TolerationOpExists}}
	}
	label := func(key, value string) {
		if value == "" {
			return
		}
		if t.Labels == nil {
			t.Labels = map[string]string{}
		}
		t.Labels[key] = labelValue(value)
	}
	label(groupLabel, r.Group)
	label(classLabel, r.Class)
	affinity := &corev1.Affinity{}
	if len(r.Models) > 0 {
		affinity.NodeAffinity = &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
			MatchExpressions: []corev1.NodeSelectorRequirement{{Key: gpuNameLabel, Operator: corev1.NodeSelectorOpIn, Values: slices.Clone(r.Models)}},
		}}}}
		t.Spec.Affinity = affinity
	}
	if r.Alone {
		affinity.PodAntiAffinity = &corev1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{
			TopologyKey: corev1.LabelHostname, LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{groupLabel: labelValue(r.Group)}},
		}}}
		t.Spec.Affinity = affinity
	}
	return t
}

// labelValue makes a text fit for the value of a label.
func labelValue(text string) string {
	out := strings.Map(func(r rune) rune {
		switch {
		case 'a' <= r && r <= 'z', 'A' <= r && r <= 'Z', '0' <= r && r <= '9', r == '-', r == '_', r == '.':
			return r
		}
		return '-'
	}, text)
	if len(out) > 63 {
		out = out[:63]
	}
	return strings.Trim(out, "-_.")
}

// gpuModels are the GPUs of EC2 by the names that traces have for them.
//
// Source: EC2 instance types, accelerated computing; the label karpenter.k8s.aws/instance-gpu-name.
var gpuModels = map[string]string{
	"t4": "t4", "t4g": "t4g", "v100": "v100", "v100m16": "v100", "v100m32": "v100", "a10": "a10g", "a10g": "a10g", "a100": "a100", "h100": "h100", "h200": "h200",
	"k80": "k80", "m60": "m60", "l4": "l4", "l40s": "l40s", "b200": "b200",
}

// models are the GPUs of a row as instances' labels name them, and the names that EC2 has none of.
func models(text string) (known, unknown []string) {
	for _, name := range strings.Split(text, "|") {
		name = strings.TrimSpace(name)
		if name == "" {
			continue
		}
		if m := gpuModels[strings.ToLower(name)]; m == "" {
			unknown = append(unknown, name)
		} else if !slices.Contains(known, m) {
			known = append(known, m)
		}
	}
	slices.Sort(known)
	return known, unknown
}
