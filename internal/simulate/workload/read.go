package workload

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kerf-sh/kerf/internal/setup/snapshot"
)

// objects are those of files, each there once.
type objects struct {
	snapshot.Objects          // DaemonSets, Pods, PodDisruptionBudgets, PriorityClasses
	owners           []*owner // of pods, DaemonSets left out
	foreign          []*object
	files            map[id]string   // where the objects are that are read, CronJobs among them
	haveOwned        map[id]bool     // what controls some object of the files
	labels           []podLabels     // of all templates and Pods, those of kinds that are not read among them
	operated         map[string]bool // namespaces with objects of kinds of an operator, who may make pods of them
}

// podLabels are the labels of pods.
type podLabels struct {
	namespace, workload string
	set                 labels.Set
}

// ownerKinds are in the order in which they start.
var ownerKinds = []string{"Deployment", "StatefulSet", "ReplicaSet", "ReplicationController", "Job"}

// groups are those of the API that the kinds are of which are read; others have kinds of the same names.
var groups = map[string]string{
	"Deployment": "apps", "StatefulSet": "apps", "ReplicaSet": "apps", "DaemonSet": "apps", "ReplicationController": "", "Pod": "", "Job": "batch", "CronJob": "batch",
	"PodDisruptionBudget": "policy", "PriorityClass": "scheduling.k8s.io",
}

func (o *object) group() string { return schema.FromAPIVersionAndKind(o.APIVersion, o.Kind).Group }

// steering are kinds that change pods or their number in a cluster, and nothing in a simulation.
var steering = map[string]string{
	"CronJob":                 "CronJobs are left out: give their pods as a trace (--workload)",
	"HorizontalPodAutoscaler": "HorizontalPodAutoscalers are left out: the number of pods does not follow their use",
	"LimitRange":              "LimitRanges are left out: pods request what their own manifests say",
	"ResourceQuota":           "ResourceQuotas are left out: they refuse no pod",
}

const otherKinds = "objects of other kinds are left out"

// read reads the objects of files.
//
// Errors: *Error; an object is there twice.
func (m *maker) read(files map[string][]byte) (*objects, error) {
	all := &objects{files: map[id]string{}, haveOwned: map[id]bool{}, operated: map[string]bool{}}
	for _, name := range slices.Sorted(keys(files)) {
		list, err := split(name, files[name])
		if err != nil {
			return nil, err
		}
		for _, o := range list {
			if err := m.sort(all, o, name); err != nil {
				return nil, &Error{File: name, Text: err.Error()}
			}
		}
	}
	slices.SortStableFunc(all.owners, func(a, b *owner) int {
		return slices.Index(ownerKinds, a.kind) - slices.Index(ownerKinds, b.kind)
	})
	return all, nil
}

// sort puts an object among those of its kind.
func (m *maker) sort(all *objects, o *object, file string) error {
	kind := o.Kind
	if groups[kind] != o.group() {
		kind = ""
	}
	switch kind {
	case "Deployment":
		d := &appsv1.Deployment{}
		return all.own(o, file, d, &d.Spec.Replicas, &d.Spec.Template)
	case "StatefulSet":
		s := &appsv1.StatefulSet{}
		return all.own(o, file, s, &s.Spec.Replicas, &s.Spec.Template)
	case "ReplicaSet":
		s := &appsv1.ReplicaSet{}
		return all.own(o, file, s, &s.Spec.Replicas, &s.Spec.Template)
	case "ReplicationController":
		c := &corev1.ReplicationController{}
		c.Spec.Template = &corev1.PodTemplateSpec{}
		return all.own(o, file, c, &c.Spec.Replicas, c.Spec.Template)
	case "Job":
		j := &batchv1.Job{}
		err := all.own(o, file, j, &j.Spec.Parallelism, &j.Spec.Template)
		if err == nil {
			all.owners[len(all.owners)-1].job = j
		}
		return err
	case "Pod":
		p := &corev1.Pod{}
		if err := all.add(o, file, p); err != nil {
			return err
		}
		p.Namespace = cmp.Or(p.Namespace, metav1.NamespaceDefault)
		all.Pods = append(all.Pods, p)
		all.label(p, p.Labels)
		return nil
	case "DaemonSet":
		d := &appsv1.DaemonSet{}
		if err := all.add(o, file, d); err != nil {
			return err
		}
		all.DaemonSets = append(all.DaemonSets, d)
		all.label(d, d.Spec.Template.Labels)
		return checkContainers(idOf(o.Kind, d), &d.Spec.Template.Spec)
	case "PodDisruptionBudget":
		b := &policyv1.PodDisruptionBudget{}
		all.Budgets = append(all.Budgets, b)
		return all.add(o, file, b)
	case "PriorityClass":
		c := &schedulingv1.PriorityClass{}
		all.PriorityClasses = append(all.PriorityClasses, c)
		return all.add(o, file, c)
	}
	m.unread(all, o, file)
	return nil
}

// unread takes in an object of a kind that is not read.
func (m *maker) unread(all *objects, o *object, file string) {
	var spec struct {
		Spec struct {
			Suspend     bool                   `json:"suspend"`
			Template    corev1.PodTemplateSpec `json:"template"`
			JobTemplate struct {
				Spec struct {
					Template corev1.PodTemplateSpec `json:"template"`
				} `json:"spec"`
			} `json:"jobTemplate"`
		} `json:"spec"`
	}
	if err := json.Unmarshal(o.raw, &spec); err != nil {
		spec.Spec.Template.Spec.Containers = nil // its fields of these names are something else
	}
	at := &metav1.ObjectMeta{Namespace: o.Metadata.Namespace, Name: o.Metadata.Name}
	group := o.group()
	if strings.Contains(group, ".") && !strings.HasSuffix(group, "k8s.io") {
		all.operated[cmp.Or(o.Metadata.Namespace, metav1.NamespaceDefault)] = true
	}
	what := steering[o.Kind]
	switch {
	case o.Kind == "CronJob" && group == "batch":
		all.files[o.id()] = file
		all.label(at, spec.Spec.JobTemplate.Spec.Template.Labels)
		if spec.Spec.Suspend {
			what = "CronJobs that are suspended are left out: they start no pods"
		}
		fallthrough
	case what != "":
		m.w.note(what, o.id().path(), 1)
	case group == "kustomize.config.k8s.io":
		m.w.note("files of kustomize are left out, and the objects of their folders count as they are written: "+kustomizeBuild+" writes what is applied", file, 1)
	case len(spec.Spec.Template.Spec.Containers) > 0:
		all.foreign = append(all.foreign, o)
		all.label(at, spec.Spec.Template.Labels)
	default:
		m.w.note(otherKinds, strings.TrimSpace(o.Kind+" "+o.Metadata.Name), 1)
	}
}

// own reads an object that has pods.
func (all *objects) own(o *object, file string, into metav1.Object, n **int32, t *corev1.PodTemplateSpec) error {
	if err := all.add(o, file, into); err != nil {
		return err
	}
	all.owners = append(all.owners, &owner{id: idOf(o.Kind, into), object: into, replicas: *n, template: t})
	all.label(into, t.Labels)
	return nil
}

// add reads an object that is there once.
func (all *objects) add(o *object, file string, into metav1.Object) error {
	if err := o.decode(into); err != nil {
		return err
	}
	key := idOf(o.Kind, into)
	if first := all.files[key]; first != "" && into.GetName() != "" {
		where := "is in " + first + " too"
		if first == file {
			where = "is there twice"
		}
		return fmt.Errorf("%s %s: keep one of them; where they are a base and a patch, give what kustomize writes in place of the folder: %s", key, where, kustomizeBuild)
	}
	all.files[key] = file
	if c := metav1.GetControllerOf(into); c != nil {
		all.haveOwned[id{c.Kind, key.namespace, c.Name}] = true
	}
	return nil
}

func (all *objects) label(o metav1.Object, set map[string]string) {
	p := podLabels{namespace: cmp.Or(o.GetNamespace(), metav1.NamespaceDefault), set: labels.Set{}}
	maps.Copy(p.set, set)
	all.labels = append(all.labels, p)
}

// owned reports whether the pods of an object are those of another: of its controller, where that is in the files, of a DaemonSet or
// of a node.
func (all *objects) owned(o metav1.Object) bool {
	c, in := metav1.GetControllerOf(o), cmp.Or(o.GetNamespace(), metav1.NamespaceDefault)
	switch {
	case c == nil:
		return false
	case c.Kind == "DaemonSet" || c.Kind == "Node" || all.files[id{c.Kind, in, c.Name}] != "":
		return true
	}
	// Without ReplicaSets in the files: Deployments add the hash of the template to their name.
	hash := o.GetLabels()[appsv1.DefaultDeploymentUniqueLabelKey]
	name, ok := strings.CutSuffix(c.Name, "-"+hash)
	return c.Kind == "ReplicaSet" && hash != "" && ok && all.files[id{"Deployment", in, name}] != ""
}
