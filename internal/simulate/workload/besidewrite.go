package workload

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"

	appsv1 "k8s.io/api/apps/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
)

// Beside are the objects that a trace has no columns for: DaemonSets, PodDisruptionBudgets and PriorityClasses. Idle are the names of
// PodDisruptionBudgets that are left out: AddManifests would refuse them, for they are invalid or select no pod that the workload ever
// has, so that they hold nothing.
func (w *Workload) Beside() (objects []*unstructured.Unstructured, idle []string) {
	var pods []podLabels
	daemons := &Workload{} // their objects, in the form of the others
	for _, d := range w.Daemons {
		if len(d.Spec.Template.Spec.Containers) == 0 {
			continue // as a history has it that knows no more than its name
		}
		pods = append(pods, podLabels{namespace: cmp.Or(d.Namespace, metav1.NamespaceDefault), set: labels.Set(d.Spec.Template.Labels)})
		d = d.DeepCopy()
		d.TypeMeta = metav1.TypeMeta{APIVersion: appsv1.SchemeGroupVersion.String(), Kind: "DaemonSet"}
		daemons.AddObject(d)
	}
	objects, pods = daemons.Objects, w.podLabels(pods)
	for _, o := range w.Objects {
		if kind := o.GroupVersionKind(); kind.Kind == "PodDisruptionBudget" && kind.Group == policyv1.GroupName {
			b := &policyv1.PodDisruptionBudget{}
			if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, b); err != nil || invalid(b) != "" || unmatched(b, pods, "", "") != "" {
				idle = append(idle, cmp.Or(o.GetNamespace(), metav1.NamespaceDefault)+"/"+o.GetName())
				continue
			}
		}
		objects = append(objects, o)
	}
	return objects, idle
}

// WriteManifests writes objects as a List, which AddManifests reads.
func WriteManifests(out io.Writer, objects []*unstructured.Unstructured) error {
	items := make([]map[string]any, len(objects))
	for i, o := range objects {
		items[i] = o.Object
	}
	text, err := json.MarshalIndent(map[string]any{"apiVersion": "v1", "kind": "List", "items": items}, "", "  ")
	if err != nil {
		return fmt.Errorf("write manifests: %w", err)
	}
	_, err = out.Write(append(text, '\n'))
	return err
}
