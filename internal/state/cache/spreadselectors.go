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
	services    map[string]*services
	controllers map[string]map[string]*metav1.LabelSelector
	dirty       map[string]*belongs // by namespace, of which pods the classes have to be made again
}

// services are the selectors of the Services of a namespace.
type services struct {
	byName map[string]map[string]string
	sorted []service // by name; nil until somebody asks
}

type service struct {
	labels   map[string]string
	selector labels.Selector
}

func newService(of map[string]string) service { return service{of, labels.SelectorFromSet(of)} }

// inOrder are the selectors in the order of the names.
func (s *services) inOrder() []service {
	if s == nil {
		return nil
	}
	if s.sorted == nil {
		for _, name := range slices.Sorted(maps.Keys(s.byName)) {
			s.sorted = append(s.sorted, newService(s.byName[name]))
		}
	}
	return s.sorted
}

// belongs are pods of a namespace: those of some controllers, and those that selectors of Services match.
type belongs struct {
	controllers map[string]bool // by kind and name
	services    []service
}

func (b *belongs) has(pod *corev1.Pod) bool {
	if owner := metav1.GetControllerOfNoCopy(pod); owner != nil && b.controllers[owner.Kind+"/"+owner.Name] {
		return true
	}
	return slices.ContainsFunc(b.services, func(s service) bool { return s.selector.Matches(labels.Set(pod.Labels)) })
}

func newSpreadSelectors() spreadSelectors {
	return spreadSelectors{services: map[string]*services{}, controllers: map[string]map[string]*metav1.LabelSelector{}, dirty: map[string]*belongs{}}
}

func (b *spreadSelectors) touched(namespace string) *belongs {
	d := b.dirty[namespace]
	if d == nil {
		d = &belongs{controllers: map[string]bool{}}
		b.dirty[namespace] = d
	}
	return d
}

func (c *Cache) setService(s *corev1.Service, keep bool) {
	c.mu.Lock()
	defer c.unlock()
	b := &c.spreads
	of := b.services[s.Namespace]
	if of == nil {
		of = &services{byName: map[string]map[string]string{}}
	}
	old, had := of.byName[s.Name]
	keep = keep && len(s.Spec.Selector) > 0 // a Service without a selector selects nothing
	if keep == had && (!keep || maps.Equal(old, s.Spec.Selector)) {
		return
	}
	changed := b.touched(s.Namespace)
	if had {
		changed.services = append(changed.services, newService(old))
		delete(of.byName, s.Name)
	}
	if keep {
		of.byName[s.Name] = maps.Clone(s.Spec.Selector)
		changed.services = append(changed.services, newService(of.byName[s.Name]))
	}
	of.sorted = nil
	if b.services[s.Namespace] = of; len(of.byName) == 0 {
		delete(b.services, s.Namespace)
	}
}

func (c *Cache) setController(kind string, o client.Object, selector *metav1.LabelSelector, keep bool) {
	c.mu.Lock()
	defer c.unlock()
	b, key := &c.spreads, kind+"/"+o.GetName()
	of := b.controllers[o.GetNamespace()]
	old, had := of[key]
	keep = keep && selector != nil
	if keep == had && (!keep || reflect.DeepEqual(old, selector)) {
		return
	}
	b.touched(o.GetNamespace()).controllers[key] = true
	switch {
	case keep && of == nil:
		b.controllers[o.GetNamespace()] = map[string]*metav1.LabelSelector{key: selector.DeepCopy()}
	case keep:
		of[key] = selector.DeepCopy()
	default:
		if delete(of, key); len(of) == 0 {
			delete(b.controllers, o.GetNamespace())
		}
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
	c.spreads.dirty = map[string]*belongs{}
	for key, e := range c.entries {
		if d := dirty[key.Namespace]; d != nil && len(e.obj.Spec.TopologySpreadConstraints) == 0 && d.has(e.obj) {
			c.recompile(e)
		}
	}
}

// SpreadSelector selects the pods that belong together with the pod.
func (l lookup) SpreadSelector(pod *corev1.Pod) *metav1.LabelSelector {
	b := &l.c.spreads
	var selectors []map[string]string
	for _, s := range b.services[pod.Namespace].inOrder() {
		if s.selector.Matches(labels.Set(pod.Labels)) {
			selectors = append(selectors, s.labels)
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
