package workload

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
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

// JobDuration is how long pods of Jobs run whose manifests do not say it by RunsForAnnotation.
const JobDuration = 10 * time.Minute

// RunsForAnnotation says on a pod template of a Job how long its pods run, as in 90s or 2h.
const RunsForAnnotation = "simulate.kerf.sh/runs-for"

// FromManifests makes a workload of files with Deployments, StatefulSets, ReplicaSets, DaemonSets, Jobs, Pods, PodDisruptionBudgets
// and PriorityClasses. All are there from the start. Objects of other kinds are left out, and noted.
//
// Errors: *Error.
func FromManifests(source string, files map[string][]byte) (*Workload, error) {
	m := &maker{w: &Workload{Source: source, Templates: map[string]*corev1.PodTemplateSpec{}}}
	all, err := m.read(files)
	if err != nil {
		return nil, err
	}
	for _, d := range all.Deployments {
		m.set(d, replicas(d.Spec.Replicas), &d.Spec.Template)
	}
	for _, s := range all.StatefulSets {
		m.set(s, replicas(s.Spec.Replicas), &s.Spec.Template)
	}
	for _, s := range all.ReplicaSets {
		m.set(s, replicas(s.Spec.Replicas), &s.Spec.Template)
	}
	for _, j := range all.Jobs {
		if err := m.job(j); err != nil {
			return nil, &Error{File: source, Text: err.Error()}
		}
	}
	for _, p := range all.Pods {
		m.pod(p)
	}
	m.others(all)
	if len(m.w.Steps) == 0 {
		return nil, &Error{File: source, Text: "there is nothing that has pods: want Deployments, StatefulSets, ReplicaSets, Jobs or Pods"}
	}
	return m.w, nil
}

func replicas(n *int32) int {
	if n == nil {
		return 1
	}
	return int(*n)
}

// FromSnapshot makes a workload of the pods that a cluster has, with the requests and constraints that they have: other than those of
// their Deployment where an autoscaler, a LimitRange or a webhook changed them. It does not change over time.
//
// Errors: there are no pods.
func FromSnapshot(source string, s *snapshot.Snapshot) (*Workload, error) {
	m := &maker{w: &Workload{Source: source, Templates: map[string]*corev1.PodTemplateSpec{}}}
	parents := map[string]*metav1.OwnerReference{}
	for _, rs := range s.ReplicaSets {
		parents["ReplicaSet/"+rs.Namespace+"/"+rs.Name] = metav1.GetControllerOf(rs)
	}
	owned := map[string][]*alike{}
	for _, p := range s.Pods {
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
	names := map[string]bool{}
	for _, key := range slices.Sorted(keys(owned)) {
		kind, name, _ := strings.Cut(key, "/")
		if names[name] { // a Deployment and a StatefulSet may have one name
			name += "-" + strings.ToLower(kind)
		}
		m.putAlike(name, owned[key], names)
	}
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
func (m *maker) putAlike(name string, groups []*alike, names map[string]bool) {
	slices.SortStableFunc(groups, func(a, b *alike) int { return b.count - a.count })
	of := name
	for i, g := range groups {
		for k := 2; names[name]; k++ {
			name = fmt.Sprintf("%s-%d", of, k)
		}
		names[name] = true
		if i > 0 {
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

type maker struct{ w *Workload }

// read reads the objects of files.
//
// Errors: *Error.
func (m *maker) read(files map[string][]byte) (*snapshot.Objects, error) {
	all := &snapshot.Objects{}
	for _, name := range slices.Sorted(keys(files)) {
		objects, err := split(name, files[name])
		if err != nil {
			return nil, err
		}
		for _, o := range objects {
			if err := m.sort(all, o); err != nil {
				return nil, &Error{File: name, Text: err.Error()}
			}
		}
	}
	return all, nil
}

// sort puts an object among those of its kind.
func (m *maker) sort(all *snapshot.Objects, o *object) error {
	var err error
	switch o.Kind {
	case "Deployment":
		all.Deployments, err = add(all.Deployments, o)
	case "StatefulSet":
		all.StatefulSets, err = add(all.StatefulSets, o)
	case "ReplicaSet":
		all.ReplicaSets, err = add(all.ReplicaSets, o)
	case "DaemonSet":
		all.DaemonSets, err = add(all.DaemonSets, o)
	case "Job":
		all.Jobs, err = add(all.Jobs, o)
	case "Pod":
		all.Pods, err = add(all.Pods, o)
	case "PodDisruptionBudget":
		all.Budgets, err = add(all.Budgets, o)
	case "PriorityClass":
		all.PriorityClasses, err = add(all.PriorityClasses, o)
	case "CronJob":
		m.w.note("CronJobs are left out: give their pods as a trace (--workload)", o.Metadata.Name, 1)
	default:
		m.w.note("objects of kinds that have no pods and steer none are left out", o.Kind+" "+o.Metadata.Name, 1)
	}
	return err
}

func add[T any](list []*T, o *object) ([]*T, error) {
	v := new(T)
	if err := o.decode(v); err != nil {
		return nil, err
	}
	return append(list, v), nil
}

// set adds the pods of an owner.
func (m *maker) set(o metav1.Object, n int, t *corev1.PodTemplateSpec) {
	if s, ok := o.(*appsv1.StatefulSet); ok && len(s.Spec.VolumeClaimTemplates) > 0 {
		m.w.note("volumes are left out, and the zones that they would keep pods in", s.Name, 1)
	}
	m.put(cmp.Or(o.GetNamespace(), "default")+"/"+o.GetName(), n, t)
}

func (m *maker) put(name string, n int, t *corev1.PodTemplateSpec) {
	m.w.Templates[name] = m.clean(t, name)
	m.w.Steps = append(m.w.Steps, Step{Workload: name, Template: name, Replicas: n})
}

// job adds the pods of a Job: as many as run at once, until all are done.
func (m *maker) job(j *batchv1.Job) error {
	name := cmp.Or(j.Namespace, "default") + "/" + j.Name
	runs := JobDuration
	if text := j.Spec.Template.Annotations[RunsForAnnotation]; text != "" {
		d, err := time.ParseDuration(text)
		if err != nil || d <= 0 {
			return fmt.Errorf("Job %q: annotation %s is %q; want a duration, as in 90s or 2h", j.Name, RunsForAnnotation, text)
		}
		runs = d
	} else {
		m.w.note(fmt.Sprintf("pods of Jobs run for %s each (annotation %s of the pod template says otherwise)", JobDuration, RunsForAnnotation), name, 1)
	}
	parallel, total := replicas(j.Spec.Parallelism), replicas(j.Spec.Completions)
	if j.Spec.Completions == nil {
		total = parallel
	}
	m.w.Templates[name] = m.clean(&j.Spec.Template, name)
	for begun, at := 0, time.Duration(0); begun < total && parallel > 0; at += runs {
		n := min(parallel, total-begun)
		m.w.Steps = append(m.w.Steps, Step{At: at, Workload: name, Template: name, Replicas: n, Duration: runs})
		begun += n
	}
	m.w.Sort()
	return nil
}

// pod adds a pod that belongs to nobody.
func (m *maker) pod(p *corev1.Pod) {
	key := "pod/" + cmp.Or(p.Namespace, "default") + "/" + p.Name
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
