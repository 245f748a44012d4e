package intake

import (
	"math"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	resourcehelper "k8s.io/component-helpers/resource"

	"github.com/kerf-sh/kerf/internal/engine/res"
)

// maxAmount, a pebibyte of memory, is more than any instance has, and leaves room for sums of thousands of amounts within an
// int64.
const maxAmount = math.MaxInt64 / (1 << 13)

// Amount is q in the units of res.List: millicores for cpu, whole units otherwise, rounded up, and cut off at a size
// that no instance has, so that sums of absurd amounts do not wrap around.
func Amount(name corev1.ResourceName, q resource.Quantity) int64 {
	limit := int64(maxAmount)
	if name == corev1.ResourceCPU {
		limit /= 1000
	}
	switch {
	case q.CmpInt64(limit) > 0:
		return maxAmount
	case q.CmpInt64(-limit) < 0:
		return -maxAmount
	case name == corev1.ResourceCPU:
		return q.MilliValue()
	default:
		return q.Value()
	}
}

// Resources converts a resource list, zero amounts included.
func Resources(in corev1.ResourceList) res.List {
	if len(in) == 0 {
		return nil
	}
	out := make(res.List, len(in)+1)
	for name, q := range in {
		out[string(name)] = Amount(name, q)
	}
	return out
}

// Quantity is the inverse of Amount, in the form in which people write the resource.
func Quantity(name string, amount int64) resource.Quantity {
	switch {
	case name == res.CPU:
		return *resource.NewMilliQuantity(amount, resource.DecimalSI)
	case name == res.Memory || name == res.EphemeralStorage || len(name) > 10 && name[:10] == "hugepages-":
		return *resource.NewQuantity(amount, resource.BinarySI)
	default:
		return *resource.NewQuantity(amount, resource.DecimalSI)
	}
}

// ResourceList is the inverse of Resources; zero amounts are left out.
func ResourceList(in res.List) corev1.ResourceList {
	out := make(corev1.ResourceList, len(in))
	for name, amount := range in {
		if amount != 0 {
			out[corev1.ResourceName(name)] = Quantity(name, amount)
		}
	}
	return out
}

// PodRequests is what the pod takes of a node: containers, init containers and sidecars in their order, pod-level
// resources, overhead, the larger of what is asked and what is allocated during a resize, and one pod. Zero amounts are
// left out.
//
// Source: the kubelet's and scheduler's own computation, k8s.io/component-helpers/resource, v0.36.
func PodRequests(pod *corev1.Pod) res.List {
	list := resourcehelper.PodRequests(pod, resourcehelper.PodResourcesOptions{
		UseStatusResources: true,
		InPlacePodLevelResourcesVerticalScalingEnabled: true,
	})
	out := make(res.List, len(list)+1)
	for name, q := range list {
		if a := Amount(name, q); a != 0 {
			out[string(name)] = a
		}
	}
	out[res.Pods] = 1
	return out
}
