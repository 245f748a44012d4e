package workload

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/kerf-sh/kerf/internal/setup/snapshot"
	"github.com/kerf-sh/kerf/internal/state/intake"
)

// FromSnapshot makes a workload of the pods that a cluster has, with the requests and constraints that they have: other than those of
// their Deployment where an autoscaler, a LimitRange or a webhook changed them. It does not change over time.
//
// Errors: there are no pods.
func FromSnapshot(source string, s *snapshot.Snapshot) (*Workload, error) {
	m := newMaker(source)
	parents := map[string]*metav1.OwnerReference{}
	for _, rs := range s.ReplicaSets {
		parents["ReplicaSet/"+rs.Namespace+"/"+rs.Name] = metav1.GetControllerOf(rs)
	}
	m.pods(s.Pods, parents)
	if len(m.w.Steps) == 0 {
		return nil, fmt.Errorf("%s has no pods beside those of DaemonSets and nodes", source)
	}
	m.others(&s.Objects)
	foreign := 0
	for _, n := range s.Nodes {
		if n.Labels["karpenter.sh/nodepool"] == "" {
			foreign++
		}
	}
	m.w.note("the cluster begins without nodes: the bill is of those that Kerf launches for its pods, near the plan of kerf audit, and not of those that run now; pods that wait for a node count too", source, 1)
	if foreign > 0 {
		m.w.note("nodes that no NodePool has are not there: their pods are placed on nodes of NodePools too", fmt.Sprintf("%d nodes", foreign), 1)
	}
	return m.w, nil
}

// pods adds pods as they are, those of one owner as a workload. parents are the controllers of ReplicaSets.
func (m *maker) pods(list []*corev1.Pod, parents map[string]*metav1.OwnerReference) {
	owned := map[string][]*alike{}
	for _, p := range list {
		if p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed || p.DeletionTimestamp != nil {
			continue
		}
		o := metav1.GetControllerOf(p)
		switch {
		case (o == nil || o.Kind != "DaemonSet") && intake.OptsOut(p):
			m.w.note("pods that ask to stay off the nodes of NodePools, as a controller's own do, are left out", p.Namespace+"/"+p.Name, 1)
			continue
		case o == nil:
			m.pod(p)
			continue
		case o.Kind == "DaemonSet":
			continue
		case o.Kind == "Node":
			m.w.note("static pods of nodes are left out", p.Namespace+"/"+p.Name, 1)
			continue
		case o.Kind == "Job":
			m.w.note("pods of Jobs run to the end of the simulation: when they end is not known", p.Namespace+"/"+p.Name, 1)
		}
		key := o.Kind + "/" + p.Namespace + "/" + o.Name
		if up := parents[key]; up != nil {
			key = up.Kind + "/" + p.Namespace + "/" + up.Name
		}
		owned[key] = join(owned[key], p)
	}
	for _, key := range slices.Sorted(keys(owned)) {
		kind, name, _ := strings.Cut(key, "/")
		m.putAlike(m.free(kind, name), owned[key])
	}
}

// alike are pods of one owner that ask for the same.
type alike struct {
	asks  string // as JSON
	count int
	first *corev1.Pod
}

// join adds a pod to those that ask for the same.
func join(groups []*alike, p *corev1.Pod) []*alike {
	text, err := json.Marshal(TemplateOf(&p.ObjectMeta, &p.Spec, false))
	if err != nil { // nothing that was read from JSON fails to become JSON
		text = nil
	}
	for _, g := range groups {
		if g.asks == string(text) {
			g.count++
			return groups
		}
	}
	return append(groups, &alike{asks: string(text), count: 1, first: p})
}

// putAlike adds the pods of an owner. Pods that ask for something else than most of them are a workload of their own.
func (m *maker) putAlike(name string, groups []*alike) {
	slices.SortStableFunc(groups, func(a, b *alike) int { return b.count - a.count })
	of := name
	for i, g := range groups {
		if i > 0 {
			name = m.numbered(of)
			m.w.note("pods that ask for something else than most pods of their owner are a workload of their own", name, g.count)
		}
		t := m.clean(ofPod(g.first), name)
		played := TemplateOf(&t.ObjectMeta, &t.Spec, false)
		played.Labels = sharedLabels(t.Labels) // affinity may select by labels that controllers generate
		m.put(name, g.count, played)
	}
}

// sharedLabels are without those that each pod has for itself.
func sharedLabels(of map[string]string) map[string]string {
	out := maps.Clone(of)
	for _, k := range []string{"statefulset.kubernetes.io/pod-name", "apps.kubernetes.io/pod-index", "batch.kubernetes.io/job-completion-index"} {
		delete(out, k)
	}
	return out
}

// maker makes a workload of objects.
type maker struct {
	w     *Workload
	names map[string]bool // of workloads that there are
}

func newMaker(source string) *maker {
	return &maker{w: &Workload{Source: source, Templates: map[string]*corev1.PodTemplateSpec{}}, names: map[string]bool{}}
}

// free is a name that no workload has yet: a Deployment and a StatefulSet may have one name.
func (m *maker) free(kind, name string) string {
	if m.names[name] {
		name += "-" + strings.ToLower(kind)
	}
	return m.numbered(name)
}

// numbered is a name that no workload has yet.
func (m *maker) numbered(of string) string {
	name := of
	for k := 2; m.names[name]; k++ {
		name = fmt.Sprintf("%s-%d", of, k)
	}
	m.names[name] = true
	return name
}

func (m *maker) put(name string, n int, t *corev1.PodTemplateSpec) {
	m.w.Templates[name] = m.clean(t, name)
	m.w.Steps = append(m.w.Steps, Step{Workload: name, Template: name, Replicas: n})
}

// pod adds a pod that belongs to nobody.
func (m *maker) pod(p *corev1.Pod) {
	key := m.numbered("pod/" + cmp.Or(p.Namespace, "default") + "/" + nameOf(p))
	m.w.Templates[key] = m.clean(ofPod(p), key)
	m.w.Steps = append(m.w.Steps, Step{Template: key, Replicas: 1})
}

// clean takes out of a template what the simulated cluster does not have.
func (m *maker) clean(t *corev1.PodTemplateSpec, name string) *corev1.PodTemplateSpec {
	t = t.DeepCopy()
	t.ObjectMeta = metav1.ObjectMeta{Labels: t.Labels, Annotations: t.Annotations}
	s := &t.Spec
	s.NodeName = ""
	before := len(s.Volumes)
	s.Volumes = slices.DeleteFunc(s.Volumes, func(v corev1.Volume) bool { return v.PersistentVolumeClaim != nil || v.Ephemeral != nil })
	if len(s.Volumes) < before {
		m.w.note("volumes are left out, and the zones that they would keep pods in", name, 1)
	}
	s.Volumes = nil // the others keep no pod from a node
	for _, list := range [][]corev1.Container{s.Containers, s.InitContainers} {
		for i := range list {
			c := &list[i]
			list[i] = corev1.Container{Name: c.Name, Image: c.Image, Resources: c.Resources, Ports: c.Ports, RestartPolicy: c.RestartPolicy}
		}
	}
	if s.SchedulerName != "" && s.SchedulerName != corev1.DefaultSchedulerName {
		s.SchedulerName = ""
		m.w.note("pods of other schedulers are placed by the default scheduler", name, 1)
	}
	if len(s.ResourceClaims) > 0 {
		s.ResourceClaims = nil
		m.w.note("resource claims (DRA) are left out", name, 1)
	}
	return t
}

// others adds what is no pod of the workload: daemons, budgets, priorities.
func (m *maker) others(all *snapshot.Objects) {
	for _, d := range all.DaemonSets {
		d = &appsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{Namespace: cmp.Or(d.Namespace, "default"), Name: d.Name, Labels: d.Labels}, Spec: *d.Spec.DeepCopy()}
		d.Spec.Template = *m.clean(&d.Spec.Template, "DaemonSet "+d.Name)
		m.w.Daemons = append(m.w.Daemons, d)
	}
	for _, b := range all.Budgets {
		m.w.AddObject(&policyv1.PodDisruptionBudget{
			TypeMeta: metav1.TypeMeta{APIVersion: "policy/v1", Kind: "PodDisruptionBudget"}, ObjectMeta: metav1.ObjectMeta{Namespace: cmp.Or(b.Namespace, "default"), Name: b.Name}, Spec: b.Spec,
		})
	}
	for _, c := range all.PriorityClasses {
		m.w.AddObject(&schedulingv1.PriorityClass{
			TypeMeta: metav1.TypeMeta{APIVersion: "scheduling.k8s.io/v1", Kind: "PriorityClass"}, ObjectMeta: metav1.ObjectMeta{Name: c.Name}, Value: c.Value, GlobalDefault: c.GlobalDefault, PreemptionPolicy: c.PreemptionPolicy,
		})
		m.w.note("nobody is preempted: priorities decide only who is placed first", c.Name, 1)
	}
	m.prioritize(all.PriorityClasses)
}

// prioritize gives templates the priority of their class, as admission does with pods.
func (m *maker) prioritize(classes []*schedulingv1.PriorityClass) {
	// Source: Kubernetes, the PriorityClasses that every cluster has.
	values := map[string]int32{"system-cluster-critical": 2_000_000_000, "system-node-critical": 2_000_001_000}
	for _, c := range classes {
		values[c.Name] = c.Value
	}
	give := func(s *corev1.PodSpec) {
		if v, ok := values[s.PriorityClassName]; ok && s.Priority == nil {
			s.Priority = &v
		}
	}
	for _, t := range m.w.Templates {
		give(&t.Spec)
	}
	for _, d := range m.w.Daemons {
		give(&d.Spec.Template.Spec)
	}
}

// AddObject adds an object of a built-in kind that is there from the start.
func (w *Workload) AddObject(o runtime.Object) {
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(o)
	if err != nil {
		return // only what is no struct can't be converted
	}
	delete(content, "status")
	u := &unstructured.Unstructured{Object: content}
	if kinds, _, err := scheme.Scheme.ObjectKinds(o); err == nil {
		u.SetGroupVersionKind(kinds[0])
	}
	u.SetResourceVersion("")
	u.SetUID("")
	w.Objects = append(w.Objects, u)
}
