package history

import (
	"encoding/json"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// object notes what an object of a kind says at a time; a time of zero is not known yet. It returns the pod if it is one,
// and false for a kind that says nothing of pods.
//
// Errors: the object is not of the form of its kind.
func (l *ledger) object(kind string, raw []byte, at time.Time, exact bool) (*pod, bool, error) {
	switch kind {
	case "Pod":
		p, err := l.podObject(raw, at)
		return p, true, err
	case "Deployment", "ReplicaSet", "StatefulSet", "ReplicationController":
		return nil, true, l.scaled(kind, raw, at, exact)
	case "Job":
		var o lightScaled
		if err := json.Unmarshal(raw, &o); err != nil {
			return nil, true, err
		}
		_, err := l.owned(kind, raw, &o.Metadata)
		return nil, true, err
	case "DaemonSet":
		var o appsv1.DaemonSet
		if err := json.Unmarshal(raw, &o); err != nil {
			return nil, true, err
		}
		if o.Name == "" {
			return nil, true, errNoName
		}
		l.daemon(o.Namespace, o.Name, l.intern(o.Spec.Template.ObjectMeta, &o.Spec.Template.Spec, true))
		return nil, true, nil
	case "Node": // it says where, and nothing of pods
		var o struct {
			Metadata struct{ Labels map[string]string }
		}
		if err := json.Unmarshal(raw, &o); err != nil {
			return nil, false, err
		}
		if region := o.Metadata.Labels[corev1.LabelTopologyRegion]; region != "" {
			l.regions[strings.Clone(region)]++
		}
		return nil, false, nil
	case "PodDisruptionBudget":
		return nil, true, keep(l, raw, kind, &policyv1.PodDisruptionBudget{})
	case "PriorityClass":
		return nil, true, keep(l, raw, kind, &schedulingv1.PriorityClass{})
	}
	return nil, false, nil
}

// keep takes over an object that pods are run by, without what the API server has set.
func keep(l *ledger, raw []byte, kind string, o client.Object) error {
	if err := json.Unmarshal(raw, o); err != nil {
		return err
	}
	if o.GetName() == "" {
		return errNoName
	}
	clean := metav1.ObjectMeta{Name: o.GetName(), Namespace: o.GetNamespace(), Labels: o.GetLabels()}
	switch o := o.(type) {
	case *policyv1.PodDisruptionBudget:
		o.ObjectMeta, o.Status = clean, policyv1.PodDisruptionBudgetStatus{}
		o.TypeMeta = metav1.TypeMeta{APIVersion: "policy/v1", Kind: kind}
	case *schedulingv1.PriorityClass:
		o.ObjectMeta = clean
		o.TypeMeta = metav1.TypeMeta{APIVersion: "scheduling.k8s.io/v1", Kind: kind}
	}
	l.objects[ref{kind, o.GetNamespace(), o.GetName()}] = o
	return nil
}

// owned notes an owner of pods. Its template is read once; that of a Deployment never, as its ReplicaSets have it.
func (l *ledger) owned(kind string, raw []byte, m *lightMeta) (*owner, error) {
	if m.Name == "" {
		return nil, errNoName
	}
	w := l.owner(ref{kind, m.Namespace, m.Name})
	w.created = m.CreationTimestamp
	if c := m.controller(); c != (ref{}) {
		w.parent = c
	}
	if w.template != nil || kind == "Deployment" {
		return w, nil
	}
	var o struct {
		Spec struct{ Template *corev1.PodTemplateSpec }
	}
	if err := json.Unmarshal(raw, &o); err != nil {
		return nil, err
	}
	if t := o.Spec.Template; t != nil && len(t.Spec.Containers) > 0 {
		w.template = l.intern(t.ObjectMeta, &t.Spec, false)
	}
	return w, nil
}

// scaled notes an owner that wants a number of pods.
func (l *ledger) scaled(kind string, raw []byte, at time.Time, exact bool) error {
	var o lightScaled
	if err := json.Unmarshal(raw, &o); err != nil {
		return err
	}
	w, err := l.owned(kind, raw, &o.Metadata)
	if err != nil {
		return err
	}
	c := change{at: at, n: 1, before: -1, had: -1, exact: exact} // one is the default of all of them
	if o.Spec.Replicas != nil {
		c.n = *o.Spec.Replicas
	}
	if exact {
		c.had = o.Status.Replicas
	}
	if !o.Metadata.DeletionTimestamp.IsZero() {
		c.n = 0
	}
	if at.IsZero() {
		l.undated = append(l.undated, func(at time.Time) { c.at = at; w.wants(c) })
		return nil
	}
	w.wants(c)
	return nil
}

// daemon notes a DaemonSet.
func (l *ledger) daemon(namespace, name string, t *template) {
	r := ref{"DaemonSet", namespace, name}
	l.daemons[r] = daemonSet(r, t)
}

func daemonSet(r ref, t *template) *appsv1.DaemonSet {
	d := &appsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{Namespace: r.namespace, Name: r.name}}
	t.spec.DeepCopyInto(&d.Spec.Template)
	// Its pods are told from others by a label that no other pod has.
	put(&d.Spec.Template.Labels, daemonLabel, r.name)
	d.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{daemonLabel: r.name}}
	return d
}

const daemonLabel = "history.kerf.sh/daemonset"

// podObject notes what a pod's object says at a time, which may not be known.
//
// Errors: it is no pod.
func (l *ledger) podObject(raw []byte, at time.Time) (*pod, error) {
	var o lightPod
	if err := json.Unmarshal(raw, &o); err != nil {
		return nil, err
	}
	m := &o.Metadata
	if m.Name == "" {
		return nil, errNoName
	}
	p := l.pod(m.UID, m.Namespace, m.Name)
	if p.template == nil {
		if err := l.podSpec(p, raw); err != nil {
			return nil, err
		}
	}
	if !at.IsZero() {
		p.there(at)
	}
	if !m.CreationTimestamp.IsZero() { // the API's word, against what was only heard
		p.created = m.CreationTimestamp
		p.there(m.CreationTimestamp)
	}
	l.podStatus(p, &o.Status)
	p.ends(m.goes(), deleted)
	return p, nil
}

// podSpec notes what does not change of a pod.
func (l *ledger) podSpec(p *pod, raw []byte) error {
	var o corev1.Pod
	if err := json.Unmarshal(raw, &o); err != nil {
		return err
	}
	daemon := false
	if c := metav1.GetControllerOf(&o); c != nil {
		p.owner = ref{c.Kind, p.namespace, strings.Clone(c.Name)}
		daemon = c.Kind == "DaemonSet"
		p.mirror = p.mirror || c.Kind == "Node"
	}
	if _, ok := o.Annotations[corev1.MirrorPodAnnotationKey]; ok {
		p.mirror = true
	}
	// Source: EKS user guide, "AWS Fargate profile"; pods on Fargate take no room on EC2 instances.
	p.fargate = p.fargate || o.Spec.SchedulerName == "fargate-scheduler" || o.Labels["eks.amazonaws.com/fargate-profile"] != ""
	if len(o.Spec.Containers) > 0 {
		p.template = l.intern(o.ObjectMeta, &o.Spec, daemon)
	}
	return nil
}

// podStatus notes when a pod ran, that it has finished and that it was moved.
func (l *ledger) podStatus(p *pod, s *lightStatus) {
	moved := false
	switch s.Reason {
	// Source: reasons of the kubelet, the scheduler and the pod collector.
	case "Evicted", "Preempting", "NodeLost", "NodeShutdown", "Terminated", "Shutdown", "NodeAffinity", "UnexpectedAdmissionError":
		moved = true
	}
	for i := range s.Conditions {
		// Source: Kubernetes documentation, "Pod disruption conditions".
		if c := &s.Conditions[i]; c.Type == string(corev1.DisruptionTarget) && c.Status == "True" {
			moved = true
		}
	}
	p.moved = p.moved || moved
	var from, to time.Time
	for i := range s.ContainerStatuses {
		state := s.ContainerStatuses[i].State
		if r := state.Running; r != nil && (from.IsZero() || r.StartedAt.Before(from)) {
			from = r.StartedAt
		}
		if t := state.Terminated; t != nil {
			if from.IsZero() || t.StartedAt.Before(from) {
				from = t.StartedAt
			}
			if t.FinishedAt.After(to) {
				to = t.FinishedAt
			}
		}
	}
	if !from.IsZero() && (p.started.IsZero() || from.Before(p.started)) {
		p.started = from
	}
	if s.Phase != "Succeeded" && s.Phase != "Failed" {
		return
	}
	for i := range s.Conditions {
		if c := &s.Conditions[i]; to.IsZero() && c.Type == "Ready" && c.Status == "False" {
			to = c.LastTransitionTime
		}
	}
	if h := finished; moved {
		p.ends(to, evicted)
	} else {
		p.ends(to, h)
	}
}

// newest is the latest moment that an object speaks of as past.
func newest(raw []byte) time.Time {
	var o struct {
		Metadata struct {
			CreationTimestamp, DeletionTimestamp time.Time
			DeletionGracePeriodSeconds           int64
			ManagedFields                        []struct{ Time time.Time }
		}
		Status struct {
			StartTime         time.Time
			Conditions        []struct{ LastTransitionTime, LastUpdateTime time.Time }
			ContainerStatuses []struct {
				State, LastState struct {
					Running    struct{ StartedAt time.Time }
					Terminated struct{ FinishedAt time.Time }
				}
			}
		}
	}
	if json.Unmarshal(raw, &o) != nil {
		return time.Time{}
	}
	var s span
	s.add(o.Metadata.CreationTimestamp)
	if t := o.Metadata.DeletionTimestamp; !t.IsZero() {
		s.add(t.Add(-time.Duration(o.Metadata.DeletionGracePeriodSeconds) * time.Second))
	}
	for _, f := range o.Metadata.ManagedFields {
		s.add(f.Time)
	}
	s.add(o.Status.StartTime)
	for _, c := range o.Status.Conditions {
		s.add(c.LastTransitionTime)
		s.add(c.LastUpdateTime)
	}
	for _, c := range o.Status.ContainerStatuses {
		s.add(c.State.Running.StartedAt)
		s.add(c.State.Terminated.FinishedAt)
		s.add(c.LastState.Terminated.FinishedAt)
	}
	return s.to
}
