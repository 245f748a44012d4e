package workload

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// AddManifests adds what a trace can't say: the PodDisruptionBudgets, PriorityClasses and DaemonSets of files. Whatever has pods of its own
// is left out, and noted: the trace says which pods there are. Source is what errors call the files.
//
// Errors: *Error; a PodDisruptionBudget is invalid, or selects no pod that the workload ever has.
func (w *Workload) AddManifests(source string, files map[string][]byte) error {
	m := &maker{w: w}
	all, err := m.read(files)
	if err != nil {
		return err
	}
	if n := len(all.owners) + len(all.Pods); n > 0 {
		w.note("Deployments, StatefulSets, ReplicaSets, Jobs and Pods beside a trace are left out: the trace says which pods run (--templates takes theirs)", source, n)
	}
	for _, o := range all.foreign {
		w.note(otherKinds, o.Kind+" "+o.Metadata.Name, 1)
	}
	all.labels = nil // the trace says which pods run, but for those of DaemonSets
	for _, d := range all.DaemonSets {
		all.label(d, d.Spec.Template.Labels)
	}
	if err := w.checkBudgets(source, all, "of the template that their row names", "name templates with these labels (--templates)"); err != nil {
		return err
	}
	m.others(&all.Objects)
	w.Source += ", with " + source
	return nil
}

// checkBudgets refuses PodDisruptionBudgets that are invalid, or select neither pods of the workload nor any that the files have
// besides. Where an operator may make pods of other objects of the namespace it is noted only. from says in words where pods have their labels from, and fix how they get others.
func (w *Workload) checkBudgets(source string, all *objects, from, fix string) error {
	pods := w.podLabels(all.labels)
	var wrong []string
	for _, b := range all.Budgets {
		if why := invalid(b); why != "" {
			wrong = append(wrong, fmt.Sprintf("PodDisruptionBudget %q is invalid: %s", b.Name, why))
		} else if why := unmatched(b, pods, from, fix); why != "" && all.operated[cmp.Or(b.Namespace, metav1.NamespaceDefault)] {
			w.note("PodDisruptionBudgets that select none of the pods that are played hold nothing: an operator may make their pods", b.Name, 1)
		} else if why != "" {
			wrong = append(wrong, fmt.Sprintf("PodDisruptionBudget %q selects no pod of %s: %s", b.Name, w.Source, why))
		}
	}
	if len(wrong) > 0 {
		return &Error{File: source, Text: strings.Join(wrong, "; ")}
	}
	return nil
}

// podLabels adds the labels of the workload's pods to those of others.
func (w *Workload) podLabels(pods []podLabels) []podLabels {
	for i := range w.Steps {
		s := &w.Steps[i]
		in, name := Split(s.Workload)
		p := podLabels{namespace: in, workload: name}
		if s.Replicas > 0 {
			p.set = w.PodLabels(s.Template, name)
		}
		pods = append(pods, p)
	}
	return pods
}

// invalid says why the API server would refuse a budget; empty: it would not.
//
// Source: Kubernetes, ValidatePodDisruptionBudgetSpec.
func invalid(b *policyv1.PodDisruptionBudget) string {
	if b.Spec.MinAvailable != nil && b.Spec.MaxUnavailable != nil {
		return "minAvailable and maxUnavailable exclude each other: keep one of them"
	}
	for field, v := range map[string]*intstr.IntOrString{"minAvailable": b.Spec.MinAvailable, "maxUnavailable": b.Spec.MaxUnavailable} {
		if v == nil {
			continue
		}
		n, err := intstr.GetScaledValueFromIntOrPercent(v, 100, true)
		if err != nil || n < 0 || v.Type == intstr.String && n > 100 {
			return fmt.Sprintf("%s is %s; want a number from 0 on, or 0%% to 100%%", field, v)
		}
	}
	return ""
}

// unmatched says why a budget selects none of some pods, and what to do; empty: it selects some.
func unmatched(b *policyv1.PodDisruptionBudget, pods []podLabels, from, fix string) string {
	selector, err := metav1.LabelSelectorAsSelector(b.Spec.Selector)
	if err != nil {
		return "its selector can't be read: " + err.Error()
	}
	namespace := cmp.Or(b.Namespace, metav1.NamespaceDefault)
	seen, names := map[string]bool{}, map[string]bool{}
	for _, p := range pods {
		seen[p.namespace] = true
		if p.namespace != namespace || p.set == nil {
			continue
		}
		if p.workload != "" {
			names[p.workload] = true
		}
		if selector.Matches(p.set) {
			return ""
		}
	}
	if !seen[namespace] {
		return fmt.Sprintf("none is in the namespace %s (there are %s); give it the namespace of its workload, or take it out", namespace, strings.Join(slices.Sorted(maps.Keys(seen)), ", "))
	}
	example := "NAME"
	if len(names) > 0 {
		example = slices.Sorted(maps.Keys(names))[0]
	}
	return fmt.Sprintf("none in the namespace %s has labels that match %q; pods have the labels %s, and %s=%s: select that, %s, or take it out",
		namespace, metav1.FormatLabelSelector(b.Spec.Selector), from, NameLabel, example, fix)
}
