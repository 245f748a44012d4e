package workload

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// JobDuration is how long pods of Jobs run whose manifests do not say it by RunsForAnnotation.
const JobDuration = 10 * time.Minute

// RunsForAnnotation says on a pod template of a Job how long its pods run, as in 90s or 2h.
const RunsForAnnotation = "simulate.kerf.sh/runs-for"

// FromManifests makes a workload of files with Deployments, StatefulSets, ReplicaSets, ReplicationControllers, DaemonSets, Jobs, Pods,
// PodDisruptionBudgets and PriorityClasses. All are there from the start. What another object of the files owns is left out, and so are
// pods and Jobs that have ended, Jobs that are suspended, and objects of other kinds. All of it is noted.
//
// Errors: *Error; a PodDisruptionBudget that is invalid, or selects no pod of the files.
func FromManifests(source string, files map[string][]byte) (*Workload, error) {
	m := newMaker(source)
	all, err := m.read(files)
	if err != nil {
		return nil, err
	}
	for _, o := range all.owners {
		switch {
		case all.owned(o.object) || o.ended():
			m.leave(o.id)
			continue
		case o.job != nil && o.job.Spec.Suspend != nil && *o.job.Spec.Suspend:
			m.w.note("Jobs that are suspended are left out: they have no pods until somebody resumes them", o.path(), 1)
			continue
		}
		if err := errors.Join(checkContainers(o.id, &o.template.Spec), m.set(o)); err != nil {
			return nil, &Error{File: all.files[o.id], Text: err.Error()}
		}
	}
	m.w.Sort()
	var alone []*corev1.Pod
	for _, p := range all.Pods {
		pod := idOf("Pod", p)
		if all.owned(p) || p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed {
			m.leave(pod)
			continue
		}
		if err := checkContainers(pod, &p.Spec); err != nil {
			return nil, &Error{File: all.files[pod], Text: err.Error()}
		}
		alone = append(alone, p)
	}
	m.pods(alone, nil)
	for _, o := range all.foreign {
		if !all.haveOwned[o.id()] {
			m.w.note(fmt.Sprintf("objects of kind %s (%s) are left out: their pods are missing in every figure", o.Kind, o.APIVersion), o.id().path(), 1)
		}
	}
	if len(m.w.Steps) == 0 {
		text := "there is nothing that has pods: want Deployments, StatefulSets, ReplicaSets, ReplicationControllers, Jobs or Pods"
		for _, n := range m.w.Notes {
			text += "; " + n.What + " (" + n.Example + ")"
		}
		return nil, &Error{File: source, Text: text}
	}
	if err := m.w.checkBudgets(source, all, "of their template", "give templates these labels"); err != nil {
		return nil, err
	}
	m.others(&all.Objects)
	return m.w, nil
}

func replicas(n *int32) int {
	if n == nil {
		return 1
	}
	return int(*n)
}

// leave notes an object whose pods another object stands for, or that has none any more.
func (m *maker) leave(o id) {
	m.w.note("objects that an object of the files, a DaemonSet or a node owns, and pods and Jobs that have ended, are left out: --snapshot plays the pods of a cluster as they run", o.String(), 1)
}

// checkContainers refuses a pod without containers.
func checkContainers(of id, s *corev1.PodSpec) error {
	if len(s.Containers) > 0 {
		return nil
	}
	return fmt.Errorf("%s has no containers; if it is a patch, give what kustomize writes in place of the folder: %s", of, kustomizeBuild)
}

const kustomizeBuild = "kustomize build overlays/prod > all.yaml"

// set adds the pods of an owner.
func (m *maker) set(o *owner) error {
	name := m.free(o.kind, o.path())
	if o.job != nil {
		return m.job(name, o)
	}
	n := replicas(o.replicas)
	if n < 0 {
		return fmt.Errorf("%s: spec.replicas is %d; want 0 or more", o.id, n)
	}
	if s, ok := o.object.(*appsv1.StatefulSet); ok && len(s.Spec.VolumeClaimTemplates) > 0 {
		m.w.note("volumes are left out, and the zones that they would keep pods in", s.Name, 1)
	}
	m.put(name, n, o.template)
	return nil
}

// job adds the pods of a Job: as many as run at once, until all are done.
func (m *maker) job(name string, o *owner) error {
	j, runs := o.job, JobDuration
	parallel, total := replicas(j.Spec.Parallelism), replicas(j.Spec.Completions)
	if j.Spec.Completions == nil {
		total = parallel
	}
	if parallel < 0 || total < 0 {
		return fmt.Errorf("%s: spec.parallelism is %d, and spec.completions %d; want 0 or more", o.id, parallel, total)
	}
	if text := o.template.Annotations[RunsForAnnotation]; text != "" {
		d, err := time.ParseDuration(text)
		if err != nil || d <= 0 {
			return fmt.Errorf("%s: annotation %s is %q; want a duration, as in 90s or 2h", o.id, RunsForAnnotation, text)
		}
		runs = d
	} else {
		m.w.note(fmt.Sprintf("pods of Jobs run for %s each (annotation %s of the pod template says otherwise)", JobDuration, RunsForAnnotation), name, 1)
	}
	m.w.Templates[name] = m.clean(o.template, name)
	for begun, at := 0, time.Duration(0); begun < total && parallel > 0; at += runs {
		n := min(parallel, total-begun)
		m.w.Steps = append(m.w.Steps, Step{At: at, Workload: name, Template: name, Replicas: n, Duration: runs})
		begun += n
	}
	return nil
}

// owner is an object that has pods.
type owner struct {
	id
	object   metav1.Object
	replicas *int32
	template *corev1.PodTemplateSpec
	job      *batchv1.Job // nil but of Jobs
}

// ended reports whether a Job has no more pods to start.
func (o *owner) ended() bool {
	return o.job != nil && slices.ContainsFunc(o.job.Status.Conditions, func(c batchv1.JobCondition) bool {
		return (c.Type == batchv1.JobComplete || c.Type == batchv1.JobFailed) && c.Status == corev1.ConditionTrue
	})
}

// id names an object of the files.
type id struct{ kind, namespace, name string }

func idOf(kind string, o metav1.Object) id {
	return id{kind, cmp.Or(o.GetNamespace(), metav1.NamespaceDefault), nameOf(o)}
}

// nameOf is the name of an object, or what the API server begins its name with.
func nameOf(o metav1.Object) string {
	return cmp.Or(o.GetName(), strings.TrimRight(o.GetGenerateName(), "-."))
}

func (o id) path() string   { return o.namespace + "/" + o.name }
func (o id) String() string { return fmt.Sprintf("%s %q", o.kind, o.path()) }
