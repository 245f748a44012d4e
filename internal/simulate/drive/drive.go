// Package drive plays the steps of a workload against a Kubernetes API: a simulated one in virtual time (kerf simulate), or a real
// one as time goes by (what holds simulations against a real control plane).
package drive

import (
	"context"
	"fmt"
	"maps"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kerf-sh/kerf/internal/sim/simcluster/actors"
	"github.com/kerf-sh/kerf/internal/simulate/workload"
)

const (
	// WorkloadLabel is on the pods of a workload, and says which.
	WorkloadLabel = workload.NameLabel
	// JobKind owns pods that end by themselves, and those that belong to nobody: whoever they are of creates them again.
	JobKind = "Job"
)

// Driver plays the steps of a workload.
//
// Concurrency: one at a time.
type Driver struct {
	w      *workload.Workload
	client client.Client
	zero   time.Time     // when the workload starts
	warmup time.Duration // how much earlier what is there at the start begins
	owner  func(ctx context.Context, namespace, name string) (types.UID, error)
	at     int // the next step
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

// New returns a driver of a workload that starts at a moment, and of which what is there at the start begins so much earlier. owner
// makes the Job that a pod of a job is said to belong to, and returns its UID; where it is nil none is made.
func New(w *workload.Workload, c client.Client, zero time.Time, warmup time.Duration, owner func(ctx context.Context, namespace, name string) (types.UID, error)) *Driver {
	return &Driver{w: w, client: c, zero: zero, warmup: warmup, owner: owner, workloads: map[string]string{}, jobs: map[string]job{}}
}

// Next is when the next step is due.
func (d *Driver) Next() (time.Time, bool) {
	if d.at >= len(d.w.Steps) {
		return time.Time{}, false
	}
	return d.zero.Add(d.w.Steps[d.at].At), true
}

// First plays what is there at the start. It is there during the warm-up already; jobs last for that much longer.
func (d *Driver) First(ctx context.Context) error {
	for d.at < len(d.w.Steps) && d.w.Steps[d.at].At == 0 {
		if err := d.play(ctx, d.at, d.warmup); err != nil {
			return err
		}
		d.at++
	}
	return nil
}

// Due plays the steps that are due.
func (d *Driver) Due(ctx context.Context, now time.Time) error {
	for {
		at, ok := d.Next()
		if !ok || at.After(now) {
			return nil
		}
		if err := d.play(ctx, d.at, 0); err != nil {
			return err
		}
		d.at++
	}
}

func (d *Driver) play(ctx context.Context, n int, longer time.Duration) error {
	s := &d.w.Steps[n]
	if !s.Sets() {
		runs := s.Duration
		if runs > 0 {
			runs += longer
		}
		for i := range s.Replicas {
			if err := d.begin(ctx, job{step: n, base: fmt.Sprintf("job-%06d-%d", n+1, i), runs: runs}); err != nil {
				return err
			}
		}
		return nil
	}
	namespace, name := workload.Split(s.Workload)
	has, there := d.workloads[s.Workload]
	switch {
	case s.Replicas == 0 && !there:
		return nil
	case s.Replicas == 0:
		delete(d.workloads, s.Workload)
		o := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
		return client.IgnoreNotFound(d.client.Delete(ctx, o))
	case !there:
		d.workloads[s.Workload] = s.Template
		return d.create(ctx, namespace, name, s.Template, s.Replicas)
	}
	o := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	if s.Template != "" && s.Template != has {
		d.workloads[s.Workload] = s.Template
		if err := d.client.Get(ctx, client.ObjectKeyFromObject(o), o); err != nil {
			return err
		}
		o.Spec.Replicas, o.Spec.Template = new(int32(s.Replicas)), *d.template(s.Template, name)
		return d.client.Update(ctx, o)
	}
	patch := client.RawPatch(types.MergePatchType, fmt.Appendf(nil, `{"spec":{"replicas":%d}}`, s.Replicas))
	return d.client.Patch(ctx, o, patch)
}

func (d *Driver) create(ctx context.Context, namespace, name, template string, replicas int) error {
	t := d.template(template, name)
	o := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	o.Spec.Replicas, o.Spec.Template = new(int32(replicas)), *t
	o.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{WorkloadLabel: t.Labels[WorkloadLabel]}}
	err := d.client.Create(ctx, o)
	for wait := 0; apierrors.IsAlreadyExists(err) && wait < 60; wait++ { // the one before has not gone yet
		time.Sleep(time.Second)
		o.ResourceVersion = ""
		err = d.client.Create(ctx, o)
	}
	if err != nil {
		return fmt.Errorf("workload %s/%s is refused: %w", namespace, name, err)
	}
	return nil
}

// template is a copy of a template with the name of its workload.
func (d *Driver) template(key, name string) *corev1.PodTemplateSpec {
	t := d.w.Templates[key].DeepCopy()
	t.Labels = d.w.PodLabels(key, name)
	t.Name, t.GenerateName = "", ""
	return t
}

// begin creates a pod of a job.
func (d *Driver) begin(ctx context.Context, j job) error {
	s := &d.w.Steps[j.step]
	namespace, owner := workload.Split(s.Workload)
	if owner == "" {
		namespace, owner = "default", strings.TrimSuffix(j.base, "-0")
	}
	name := j.base
	if j.again > 0 {
		name = fmt.Sprintf("%s-again-%d", j.base, j.again)
	}
	uid := types.UID("job-of-" + j.base)
	if d.owner != nil {
		var err error
		if uid, err = d.owner(ctx, namespace, owner); err != nil {
			return fmt.Errorf("Job %s/%s of the workload: %w", namespace, owner, err)
		}
	}
	t := d.template(s.Template, owner)
	pod := &corev1.Pod{ObjectMeta: t.ObjectMeta, Spec: t.Spec}
	pod.Namespace, pod.Name = namespace, name
	pod.OwnerReferences = []metav1.OwnerReference{{APIVersion: "batch/v1", Kind: JobKind, Name: owner, UID: uid, Controller: new(true)}}
	pod.Spec.RestartPolicy = corev1.RestartPolicyNever
	if j.runs > 0 {
		pod.Annotations = maps.Clone(pod.Annotations)
		if pod.Annotations == nil {
			pod.Annotations = map[string]string{}
		}
		pod.Annotations[actors.RunsFor] = j.runs.String()
	}
	if err := d.client.Create(ctx, pod); err != nil {
		return fmt.Errorf("pod %s/%s of the workload is refused: %w", namespace, name, err)
	}
	d.jobs[namespace+"/"+name] = j
	return nil
}

// Replace takes away those of the ended pods that are of jobs, and begins those anew that are gone and had not ended. Pods are
// named namespace/name.
func (d *Driver) Replace(ctx context.Context, ended, gone []string) error {
	for _, key := range ended {
		if _, ours := d.jobs[key]; !ours {
			continue
		}
		delete(d.jobs, key)
		namespace, name := workload.Split(key)
		if err := client.IgnoreNotFound(d.client.Delete(ctx, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}})); err != nil {
			return err
		}
	}
	for _, key := range gone {
		j, ours := d.jobs[key]
		if !ours {
			continue
		}
		delete(d.jobs, key)
		j.again++
		j.runs = max(j.runs, d.w.Steps[j.step].Duration)
		if err := d.begin(ctx, j); err != nil {
			return err
		}
	}
	return nil
}
