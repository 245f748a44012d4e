package cache

import (
	"maps"
	"reflect"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kerf-sh/kerf/internal/state/intake"
)

// spreadSelectors are the selectors of what pods belong to, for default spread constraints.
type spreadSelectors struct {
	// services and controllers by namespace; a controller's key is its kind and name.
	services    map[string]map[string]map[string]string
	controllers map[string]map[string]*metav1.LabelSelector
	dirty       map[string]bool // namespaces
}

func newSpreadSelectors() spreadSelectors {
	return spreadSelectors{services: map[string]map[string]map[string]string{}, controllers: map[string]map[string]*metav1.LabelSelector{}, dirty: map[string]bool{}}
}

// put sets or, without a value, removes an entry; it reports whether anything changed.
func put[V any](in map[string]map[string]V, namespace, name string, value V, keep bool) bool {
	old, had := in[namespace][name]
	if !keep {
		delete(in[namespace], name)
		return had
	}
	if in[namespace] == nil {
		in[namespace] = map[string]V{}
	}
	in[namespace][name] = value
	return !had || !reflect.DeepEqual(old, value)
}

func (c *Cache) setService(s *corev1.Service, keep bool) {
	c.mu.Lock()
	defer c.unlock()
	// A Service without a selector selects nothing.
	if put(c.spreads.services, s.Namespace, s.Name, maps.Clone(s.Spec.Selector), keep && len(s.Spec.Selector) > 0) {
		c.spreads.dirty[s.Namespace] = true
	}
}

func (c *Cache) setController(kind string, o client.Object, selector *metav1.LabelSelector, keep bool) {
	c.mu.Lock()
	defer c.unlock()
	if put(c.spreads.controllers, o.GetNamespace(), kind+"/"+o.GetName(), selector.DeepCopy(), keep && selector != nil) {
		c.spreads.dirty[o.GetNamespace()] = true
	}
}

// SetService takes in a version of a Service.
func (c *Cache) SetService(s *corev1.Service) { c.setService(s, true) }

// RemoveService takes in a Service's deletion.
func (c *Cache) RemoveService(s *corev1.Service) { c.setService(s, false) }

// SetReplicationController takes in a version of a ReplicationController.
func (c *Cache) SetReplicationController(rc *corev1.ReplicationController) {
	c.setController("ReplicationController", rc, &metav1.LabelSelector{MatchLabels: rc.Spec.Selector}, true)
}

// RemoveReplicationController takes in a ReplicationController's deletion.
func (c *Cache) RemoveReplicationController(rc *corev1.ReplicationController) {
	c.setController("ReplicationController", rc, nil, false)
}

// SetReplicaSet takes in a version of a ReplicaSet.
func (c *Cache) SetReplicaSet(rs *appsv1.ReplicaSet) {
	c.setController("ReplicaSet", rs, rs.Spec.Selector, true)
	c.setWorkload("ReplicaSet", rs, workload(rs.Spec.Replicas, &rs.Spec.Template))
}

// RemoveReplicaSet takes in a ReplicaSet's deletion.
func (c *Cache) RemoveReplicaSet(rs *appsv1.ReplicaSet) {
	c.setController("ReplicaSet", rs, nil, false)
	c.setWorkload("ReplicaSet", rs, nil)
}

// SetStatefulSet takes in a version of a StatefulSet.
func (c *Cache) SetStatefulSet(s *appsv1.StatefulSet) {
	c.setController("StatefulSet", s, s.Spec.Selector, true)
	c.setWorkload("StatefulSet", s, workload(s.Spec.Replicas, &s.Spec.Template))
}

// RemoveStatefulSet takes in a StatefulSet's deletion.
func (c *Cache) RemoveStatefulSet(s *appsv1.StatefulSet) {
	c.setController("StatefulSet", s, nil, false)
	c.setWorkload("StatefulSet", s, nil)
}

// refreshSpreadSelectors makes the classes again of pods that may belong to something else now.
func (c *Cache) refreshSpreadSelectors() {
	if len(c.spreads.dirty) == 0 {
		return
	}
	dirty := c.spreads.dirty
	c.buffers.dirty = true
	c.spreads.dirty = map[string]bool{}
	for key, e := range c.entries {
		if dirty[key.Namespace] && len(e.obj.Spec.TopologySpreadConstraints) == 0 {
			c.recompile(e)
		}
	}
}

// SpreadSelector selects the pods that belong together with the pod.
func (l lookup) SpreadSelector(pod *corev1.Pod) *metav1.LabelSelector {
	b := &l.c.spreads
	var selectors []map[string]string
	for _, name := range slices.Sorted(maps.Keys(b.services[pod.Namespace])) {
		if s := b.services[pod.Namespace][name]; labels.SelectorFromSet(s).Matches(labels.Set(pod.Labels)) {
			selectors = append(selectors, s)
		}
	}
	owner := metav1.GetControllerOfNoCopy(pod)
	if owner == nil {
		return intake.JoinSelectors(selectors, nil)
	}
	var controller *metav1.LabelSelector
	switch owner.APIVersion + "/" + owner.Kind {
	case "v1/ReplicationController":
		if rc := b.controllers[pod.Namespace][owner.Kind+"/"+owner.Name]; rc != nil {
			selectors = append(selectors, rc.MatchLabels)
		}
	case "apps/v1/ReplicaSet", "apps/v1/StatefulSet":
		controller = b.controllers[pod.Namespace][owner.Kind+"/"+owner.Name]
	}
	return intake.JoinSelectors(selectors, controller)
}
