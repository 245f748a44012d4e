package workload

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func newLines(text []byte) *bufio.Reader { return bufio.NewReader(bytes.NewReader(text)) }

// appendObjects adds an object, or those of a List.
func appendObjects(out []*object, raw []byte) ([]*object, error) {
	o := &object{raw: raw}
	if err := json.Unmarshal(raw, o); err != nil {
		return nil, fmt.Errorf("it is no Kubernetes object: %w", err)
	}
	if o.Kind == "" || o.APIVersion == "" {
		return nil, fmt.Errorf("it is no Kubernetes object: apiVersion or kind is missing")
	}
	if !strings.HasSuffix(o.Kind, "List") || o.Kind == "List" && o.APIVersion != "v1" {
		return append(out, o), nil
	}
	var list struct {
		Items []json.RawMessage `json:"items"`
	}
	if err := json.Unmarshal(raw, &list); err != nil {
		return nil, fmt.Errorf("%s: %w", o.Kind, err)
	}
	for i, item := range list.Items {
		var err error
		if out, err = appendObjects(out, item); err != nil {
			return nil, fmt.Errorf("item %d of the %s: %w", i+1, o.Kind, err)
		}
	}
	return out, nil
}

// podTemplate is the template of an object that has one; nil of others.
func (o *object) podTemplate() (*corev1.PodTemplateSpec, error) {
	var v struct {
		Metadata json.RawMessage        `json:"metadata"`
		Template corev1.PodTemplateSpec `json:"template"`
		Spec     struct {
			Template *corev1.PodTemplateSpec `json:"template"`
		} `json:"spec"`
	}
	switch o.Kind {
	case "Pod":
		var p corev1.Pod
		if err := o.decode(&p); err != nil {
			return nil, err
		}
		return ofPod(&p), nil
	case "PodTemplate":
		var p corev1.PodTemplate
		if err := o.decode(&p); err != nil {
			return nil, err
		}
		return &p.Template, nil
	case "Deployment", "StatefulSet", "DaemonSet", "Job", "ReplicaSet":
		if err := json.Unmarshal(o.raw, &v); err != nil {
			return nil, fmt.Errorf("%s %q: %w", o.Kind, o.Metadata.Name, err)
		}
		if v.Spec.Template == nil {
			return nil, fmt.Errorf("%s %q: spec.template is missing", o.Kind, o.Metadata.Name)
		}
		return v.Spec.Template, nil
	}
	return nil, nil
}

// ofPod is a template by which a pod like this can be made again: what the cluster has put in is taken out.
func ofPod(p *corev1.Pod) *corev1.PodTemplateSpec {
	t := &corev1.PodTemplateSpec{}
	t.Labels, t.Annotations, t.Spec = p.Labels, p.Annotations, *p.Spec.DeepCopy()
	t.Spec.NodeName = ""
	return t
}

// id names the object.
func (o *object) id() id {
	return id{o.Kind, cmp.Or(o.Metadata.Namespace, metav1.NamespaceDefault), o.Metadata.Name}
}
