package statemetrics

import (
	corev1 "k8s.io/api/core/v1"
	resourcehelper "k8s.io/component-helpers/resource"

	"github.com/kerf-sh/kerf/internal/engine/cluster"
	"github.com/kerf-sh/kerf/internal/engine/res"
)

// podSums is what pods request of nodes and are limited to. Resources are numbers, so that summing up a hundred thousand pods is
// adding to slices.
type podSums struct {
	names       []string
	indexes     map[string]int
	nodes       map[string]*nodeSums
	allocatable []float64
}

// nodeSums are by the number of a resource; shorter than names where the rest is zero.
type nodeSums struct{ requests, limits, daemonRequests, daemonLimits []float64 }

type amount struct {
	resource int
	value    float64
}

// template is what tells apart pods whose limits may differ: pods of one owner share their containers.
type template struct{ containers, inits *corev1.Container }

func (s *podSums) index(name string) int {
	i, ok := s.indexes[name]
	if !ok {
		i = len(s.names)
		s.indexes[name] = i
		s.names, s.allocatable = append(s.names, name), append(s.allocatable, 0)
	}
	return i
}

// sumPods looks once at every pod on a node. What a pod requests is worked out once for each class, its limits once for each
// template.
func (p *pass) sumPods() *podSums {
	s := &podSums{indexes: map[string]int{}, nodes: make(map[string]*nodeSums, len(p.view.Nodes))}
	for _, name := range []string{res.CPU, res.Memory, res.EphemeralStorage, res.Pods} {
		s.index(name)
	}
	requests, limits := map[*cluster.Class][]amount{}, map[template][]amount{}
	for i := range p.view.Pods {
		v := &p.view.Pods[i]
		name := v.Object.Spec.NodeName
		if name == "" {
			continue
		}
		on := s.nodes[name]
		if on == nil {
			on = &nodeSums{}
			s.nodes[name] = on
		}
		requested, ok := requests[v.Pod.Class]
		if !ok {
			requested = s.amounts(v.Pod.Class.Requests)
			requests[v.Pod.Class] = requested
		}
		limited := s.limits(v.Object, limits)
		on.requests, on.limits = sum(on.requests, requested), sum(on.limits, limited)
		if v.Pod.Daemon {
			on.daemonRequests, on.daemonLimits = sum(on.daemonRequests, requested), sum(on.daemonLimits, limited)
		}
	}
	return s
}

func sum(to []float64, amounts []amount) []float64 {
	for _, a := range amounts {
		for a.resource >= len(to) {
			to = append(to, 0)
		}
		to[a.resource] += a.value
	}
	return to
}

// amounts are in the units of Kubernetes: cores, not millicores.
func (s *podSums) amounts(list res.List) []amount {
	out := make([]amount, 0, len(list))
	for name, n := range list {
		value := float64(n)
		if name == res.CPU {
			value /= 1000
		}
		out = append(out, amount{s.index(name), value})
	}
	return out
}

func (s *podSums) limits(pod *corev1.Pod, known map[template][]amount) []amount {
	var key template
	if pod.Spec.Resources == nil && len(pod.Spec.Overhead) == 0 && len(pod.Spec.Containers) > 0 {
		key.containers = &pod.Spec.Containers[0]
		if len(pod.Spec.InitContainers) > 0 {
			key.inits = &pod.Spec.InitContainers[0]
		}
		if out, ok := known[key]; ok {
			return out
		}
	}
	var out []amount
	for name, q := range resourcehelper.PodLimits(pod, resourcehelper.PodResourcesOptions{}) {
		out = append(out, amount{s.index(string(name)), q.AsApproximateFloat64()})
	}
	if key.containers != nil {
		known[key] = out
	}
	return out
}
