package intake

import (
	"cmp"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/kerf-sh/kerf/internal/engine/cluster"
)

// hostPorts lists the ports that the pod takes on its node for as long as it runs: those of containers and of init
// containers that go on running as sidecars.
//
// Source: kube-scheduler's node ports plug-in, v1.36.
func hostPorts(pod *corev1.Pod) []cluster.HostPort {
	var out []cluster.HostPort
	add := func(ports []corev1.ContainerPort) {
		for _, p := range ports {
			if p.HostPort <= 0 {
				continue
			}
			out = append(out, cluster.HostPort{IP: p.HostIP, Port: p.HostPort, Protocol: string(cmp.Or(p.Protocol, corev1.ProtocolTCP))})
		}
	}
	for i := range pod.Spec.InitContainers {
		if isSidecar(&pod.Spec.InitContainers[i]) {
			add(pod.Spec.InitContainers[i].Ports)
		}
	}
	for i := range pod.Spec.Containers {
		add(pod.Spec.Containers[i].Ports)
	}
	slices.SortFunc(out, func(a, b cluster.HostPort) int {
		return cmp.Or(cmp.Compare(a.Port, b.Port), cmp.Compare(a.Protocol, b.Protocol), cmp.Compare(a.IP, b.IP))
	})
	return slices.Compact(out)
}

func isSidecar(c *corev1.Container) bool {
	return c.RestartPolicy != nil && *c.RestartPolicy == corev1.ContainerRestartPolicyAlways
}

func tolerations(in []corev1.Toleration) []cluster.Toleration {
	var out []cluster.Toleration
	for _, t := range in {
		if t.Operator == corev1.TolerationOpLt || t.Operator == corev1.TolerationOpGt {
			continue // behind a gate that is off; to bear less is the safe reading
		}
		out = append(out, cluster.Toleration{
			Key:    t.Key,
			Exists: t.Operator == corev1.TolerationOpExists,
			Value:  t.Value,
			Effect: cluster.Effect(t.Effect),
		})
	}
	slices.SortFunc(out, func(a, b cluster.Toleration) int {
		return cmp.Or(cmp.Compare(a.Key, b.Key), cmp.Compare(a.Value, b.Value), cmp.Compare(a.Effect, b.Effect), boolCompare(a.Exists, b.Exists))
	})
	return slices.Compact(out)
}

func boolCompare(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	default:
		return 1
	}
}

// Taints converts taints, sorted.
func Taints(in []corev1.Taint) []cluster.Taint {
	var out []cluster.Taint
	for _, t := range in {
		out = append(out, cluster.Taint{Key: t.Key, Value: t.Value, Effect: cluster.Effect(t.Effect)})
	}
	slices.SortFunc(out, func(a, b cluster.Taint) int {
		return cmp.Or(cmp.Compare(a.Key, b.Key), cmp.Compare(a.Effect, b.Effect), cmp.Compare(a.Value, b.Value))
	})
	return slices.Compact(out)
}
