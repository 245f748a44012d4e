package simulate

import (
	"context"
	"fmt"
	"hash/fnv"
	"maps"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kerf-sh/kerf/internal/sim/simcluster"
	"github.com/kerf-sh/kerf/internal/sim/simcluster/actors"
)

const (
	// nameLabel is on the pods of a workload, and says which.
	nameLabel = "simulate.kerf.sh/workload"
	// jobKind owns pods that end by themselves, and those that belong to nobody: whoever they are of creates them again.
	jobKind = "Job"
)

// stepper plays the steps of a workload.
type stepper struct {
	s    *Spec
	h    *simcluster.Cluster
	pods *watcher
	at   int // the next step
	// workloads are those that are there, with the template that they have.
	workloads map[string]string
	jobs      map[string]job // pods of jobs, by namespace/name
}

type job struct {
	step  int
	again int // how often it was begun anew
	base  string
	runs  time.Duration
}

func newStepper(s *Spec, h *simcluster.Cluster, pods *watcher) *stepper {
	return &stepper{s: s, h: h, pods: pods, workloads: map[string]string{}, jobs: map[string]job{}}
}

// split is the namespace and the name of a workload.
func split(workload string) (namespace, name string) {
	namespace, name, ok := strings.Cut(workload, "/")
	if !ok {
		return "default", namespace
	}
	return namespace, name
}

// next is when the next step is due.
func (p *stepper) next() (time.Time, bool) {
	if p.at >= len(p.s.Workload.Steps) {
		return time.Time{}, false
	}
	return origin.Add(p.s.Workload.Steps[p.at].At), true
}

// first plays what is there at the start. It is there during the warm-up already; jobs last for that much longer.
func (p *stepper) first(ctx context.Context) error {
	for p.at < len(p.s.Workload.Steps) && p.s.Workload.Steps[p.at].At == 0 {
		if err := p.play(ctx, p.at, p.s.Warmup); err != nil {
			return err
		}
		p.at++
	}
	return nil
}

// due plays the steps that are due.
func (p *stepper) due(ctx context.Context, now time.Time) error {
	for {
		at, ok := p.next()
		if !ok || at.After(now) {
			return nil
		}
		if err := p.play(ctx, p.at, 0); err != nil {
			return err
		}
		p.at++
	}
}

func (p *stepper) play(ctx context.Context, n int, longer time.Duration) error {
	s := &p.s.Workload.Steps[n]
	if !s.Sets() {
		runs := s.Duration
		if runs > 0 {
			runs += longer
		}
		for i := range s.Replicas {
			if err := p.begin(ctx, job{step: n, base: fmt.Sprintf("job-%06d-%d", n+1, i), runs: runs}); err != nil {
				return err
			}
		}
		return nil
	}
	namespace, name := split(s.Workload)
	has, there := p.workloads[s.Workload]
	switch {
	case s.Replicas == 0 && !there:
		return nil
	case s.Replicas == 0:
		delete(p.workloads, s.Workload)
		d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
		return client.IgnoreNotFound(p.h.Client.Delete(ctx, d))
	case !there:
		p.workloads[s.Workload] = s.Template
		return p.create(ctx, namespace, name, s.Template, s.Replicas)
	}
	d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	if s.Template != "" && s.Template != has {
		p.workloads[s.Workload] = s.Template
		if err := p.h.Client.Get(ctx, client.ObjectKeyFromObject(d), d); err != nil {
			return err
		}
		d.Spec.Replicas, d.Spec.Template = new(int32(s.Replicas)), *p.template(s.Template, name)
		return p.h.Client.Update(ctx, d)
	}
	patch := client.RawPatch(types.MergePatchType, fmt.Appendf(nil, `{"spec":{"replicas":%d}}`, s.Replicas))
	return p.h.Client.Patch(ctx, d, patch)
}

func (p *stepper) create(ctx context.Context, namespace, name, template string, replicas int) error {
	t := p.template(template, name)
	d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	d.Spec.Replicas, d.Spec.Template = new(int32(replicas)), *t
	d.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{nameLabel: t.Labels[nameLabel]}}
	err := p.h.Client.Create(ctx, d)
	for wait := 0; apierrors.IsAlreadyExists(err) && wait < 60; wait++ { // the one before has not gone yet
		time.Sleep(time.Second)
		d.ResourceVersion = ""
		err = p.h.Client.Create(ctx, d)
	}
	if err != nil {
		return fmt.Errorf("workload %s/%s is refused: %w", namespace, name, err)
	}
	return nil
}

// template is a copy of a template with the name of its workload.
func (p *stepper) template(key, name string) *corev1.PodTemplateSpec {
	t := p.s.Workload.Templates[key].DeepCopy()
	t.Labels = maps.Clone(t.Labels)
	if t.Labels == nil {
		t.Labels = map[string]string{}
	}
	t.Labels[nameLabel] = short(name)
	t.Name, t.GenerateName = "", ""
	return t
}

// short makes a name fit for the value of a label.
func short(name string) string {
	if len(name) <= 63 {
		return name
	}
	h := fnv.New32a()
	h.Write([]byte(name))
	return fmt.Sprintf("%s-%08x", strings.TrimRight(name[:54], "-."), h.Sum32())
}

// begin creates a pod of a job.
func (p *stepper) begin(ctx context.Context, j job) error {
	s := &p.s.Workload.Steps[j.step]
	namespace, owner := split(s.Workload)
	if owner == "" {
		namespace, owner = "default", strings.TrimSuffix(j.base, "-0")
	}
	name := j.base
	if j.again > 0 {
		name = fmt.Sprintf("%s-again-%d", j.base, j.again)
	}
	t := p.template(s.Template, owner)
	pod := &corev1.Pod{ObjectMeta: t.ObjectMeta, Spec: t.Spec}
	pod.Namespace, pod.Name = namespace, name
	pod.OwnerReferences = []metav1.OwnerReference{{APIVersion: "batch/v1", Kind: jobKind, Name: owner, UID: types.UID("job-of-" + j.base), Controller: new(true)}}
	pod.Spec.RestartPolicy = corev1.RestartPolicyNever
	if j.runs > 0 {
		pod.Annotations = maps.Clone(pod.Annotations)
		if pod.Annotations == nil {
			pod.Annotations = map[string]string{}
		}
		pod.Annotations[actors.RunsFor] = j.runs.String()
	}
	if err := p.h.Client.Create(ctx, pod); err != nil {
		return fmt.Errorf("pod %s/%s of the workload is refused: %w", namespace, name, err)
	}
	p.jobs[namespace+"/"+name] = j
	return nil
}

// replace takes away pods of jobs that have ended, and begins those anew that have gone before.
func (p *stepper) replace(ctx context.Context) error {
	ended, gone := p.pods.take()
	for _, key := range ended {
		if _, ours := p.jobs[key]; !ours {
			continue
		}
		delete(p.jobs, key)
		namespace, name := split(key)
		if err := client.IgnoreNotFound(p.h.Client.Delete(ctx, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}})); err != nil {
			return err
		}
	}
	for _, key := range gone {
		j, ours := p.jobs[key]
		if !ours {
			continue
		}
		delete(p.jobs, key)
		j.again++
		j.runs = max(j.runs, p.s.Workload.Steps[j.step].Duration)
		if err := p.begin(ctx, j); err != nil {
			return err
		}
	}
	return nil
}
