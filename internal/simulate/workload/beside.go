package workload

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// AddManifests adds what a trace can't say: the PodDisruptionBudgets, PriorityClasses and DaemonSets of files. Whatever has pods of its own
// is left out, and noted: the trace says which pods there are. Source is what errors call the files.
//
// Errors: *Error; a PodDisruptionBudget selects no pod that the workload ever has.
func (w *Workload) AddManifests(source string, files map[string][]byte) error {
	m := &maker{w: w}
	all, err := m.read(files)
	if err != nil {
		return err
	}
	if n := len(all.Deployments) + len(all.StatefulSets) + len(all.ReplicaSets) + len(all.Jobs) + len(all.Pods); n > 0 {
		w.note("Deployments, StatefulSets, ReplicaSets, Jobs and Pods beside a trace are left out: the trace says which pods run (--templates takes theirs)", source, n)
	}
	var wrong []string
	for _, b := range all.Budgets {
		if why := w.unmatched(b); why != "" {
			wrong = append(wrong, fmt.Sprintf("PodDisruptionBudget %q selects no pod of %s: %s", b.Name, w.Source, why))
		}
	}
	if len(wrong) > 0 {
		return &Error{File: source, Text: strings.Join(wrong, "; ")}
	}
	m.others(all)
	w.Source += ", with " + source
	return nil
}

// unmatched says why a budget selects no pod of the workload, and what to do; empty: it selects some.
func (w *Workload) unmatched(b *policyv1.PodDisruptionBudget) string {
	selector, err := metav1.LabelSelectorAsSelector(b.Spec.Selector)
	if err != nil {
		return "its selector can't be read: " + err.Error()
	}
	namespace := cmp.Or(b.Namespace, metav1.NamespaceDefault)
	seen, names := map[string]bool{}, map[string]bool{}
	for i := range w.Steps {
		s := &w.Steps[i]
		in, name := Split(s.Workload)
		seen[in] = true
		if in != namespace || s.Replicas == 0 {
			continue
		}
		if name != "" {
			names[name] = true
		}
		if selector.Matches(labels.Set(w.PodLabels(s.Template, name))) {
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
	return fmt.Sprintf("none in the namespace %s has labels that match %q; pods have the labels of the template that their row names, and %s=%s: select that, name templates with these labels (--templates), or take it out",
		namespace, metav1.FormatLabelSelector(b.Spec.Selector), NameLabel, example)
}
