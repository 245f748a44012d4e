package cache

import (
	corev1 "k8s.io/api/core/v1"

	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/internal/engine/cluster"
	"github.com/kerf-sh/kerf/internal/state/intake"
)

// Kubernetes can serve an extended resource, such as nvidia.com/gpu, from a driver for Dynamic Resource Allocation in the place of
// a device plug-in (DRAExtendedResource). The kubelet then never reports the resource; what the scheduler has made of a pod's request
// is in the pod's status.

// HasDevice reports whether a pod that is bound to the node has the resource from such a driver.
func (c *Cache) HasDevice(node string, resource corev1.ResourceName) bool {
	c.mu.Lock()
	defer c.unlock()
	for _, e := range c.podsByNode[node] {
		for _, m := range devices(e.obj) {
			if m.ResourceName == string(resource) {
				return true
			}
		}
	}
	return false
}

// addDevices adds to an initialized node the resources that a driver serves: as much as its NodeClaim says that the instance has. These
// are what the claim was launched for and the kubelet does not even report as zero, as it does for a device plug-in that has
// failed; and what a pod on the node has.
func (c *Cache) addDevices(out *cluster.Node, claim *karpv1.NodeClaim) {
	if claim == nil || !out.Initialized || out.Allocatable == nil {
		return
	}
	amount := func(name corev1.ResourceName) int64 { return intake.Amount(name, claim.Status.Allocatable[name]) }
	for name, want := range claim.Spec.Resources.Requests {
		if _, reported := out.Allocatable[string(name)]; !reported && !want.IsZero() {
			out.Allocatable[string(name)] = amount(name)
		}
	}
	for _, e := range c.podsByNode[out.Name] {
		for _, m := range devices(e.obj) {
			if out.Allocatable[m.ResourceName] == 0 {
				out.Allocatable[m.ResourceName] = amount(corev1.ResourceName(m.ResourceName))
			}
		}
	}
}

// tellDevices tells of the claim whose node such a pod was just bound to.
func (c *Cache) tellDevices(e *entry) {
	if len(devices(e.obj)) == 0 {
		return
	}
	for _, unit := range c.unitsOf(e.pod.Node) {
		if claim, ok := unit.Claim(); ok {
			c.tell(DevicesBound, claim)
		}
	}
}

func devices(pod *corev1.Pod) []corev1.ContainerExtendedResourceRequest {
	if pod.Status.ExtendedResourceClaimStatus == nil {
		return nil
	}
	return pod.Status.ExtendedResourceClaimStatus.RequestMappings
}
