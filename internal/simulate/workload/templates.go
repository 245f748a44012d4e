package workload

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/yaml"
	kjson "sigs.k8s.io/json"
	kyaml "sigs.k8s.io/yaml"

	"github.com/kerf-sh/kerf/internal/setup/changeplan"
)

// ReadTemplates reads templates of pods by their objects' names from YAML or JSON: Pods, PodTemplates, and whatever has
// spec.template (Deployments, StatefulSets, DaemonSets, Jobs, ReplicaSets), by themselves or in Lists.
//
// Errors: *Error.
func ReadTemplates(name string, in io.Reader) (map[string]*corev1.PodTemplateSpec, error) {
	text, err := io.ReadAll(in)
	if err != nil {
		return nil, &Error{File: name, Text: err.Error()}
	}
	out := map[string]*corev1.PodTemplateSpec{}
	objects, err := split(name, text)
	if err != nil {
		return nil, err
	}
	for _, o := range objects {
		t, err := o.podTemplate()
		if err != nil {
			return nil, &Error{File: name, Text: err.Error()}
		}
		if t == nil {
			return nil, &Error{File: name, Text: fmt.Sprintf("%s %q has no pod template; want Pods, PodTemplates, Deployments, StatefulSets, DaemonSets, Jobs or ReplicaSets", o.Kind, o.Metadata.Name)}
		}
		if out[o.Metadata.Name] != nil {
			return nil, &Error{File: name, Text: fmt.Sprintf("there are two templates %q", o.Metadata.Name)}
		}
		out[o.Metadata.Name] = t
	}
	return out, nil
}

// object is an object of a file, as far as it is looked at before its kind is known.
type object struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Metadata   struct {
		Name      string `json:"name"`
		Namespace string `json:"namespace"`
	} `json:"metadata"`

	raw []byte // JSON
}

// decode reads the object into a value of its kind.
func (o *object) decode(into any) error {
	unknown, err := kjson.UnmarshalStrict(o.raw, into) // as the API server does: names in another case are other names
	if err = errors.Join(append(unknown, err)...); err != nil {
		return fmt.Errorf("%s %q: %w", o.Kind, o.Metadata.Name, err)
	}
	return nil
}

// split reads the objects of a file, those of Lists one by one.
func split(name string, text []byte) ([]*object, error) {
	var out []*object
	wrong := func(format string, args ...any) ([]*object, error) {
		return nil, &Error{File: name, Text: fmt.Sprintf(format, args...) + changeplan.Unbuilt(changeplan.File{Name: name, Data: text})}
	}
	decoder := yaml.NewYAMLReader(newLines(text))
	for n := 1; ; n++ {
		document, err := decoder.Read()
		if errors.Is(err, io.EOF) {
			return out, nil
		}
		if err != nil {
			return wrong("document %d: %v", n, err)
		}
		if len(bytes.TrimSpace(document)) == 0 {
			continue
		}
		raw, err := kyaml.YAMLToJSON(document)
		if err != nil {
			return wrong("document %d is no YAML: %v", n, err)
		}
		if bytes.Equal(raw, []byte("null")) {
			continue
		}
		if out, err = appendObjects(out, raw); err != nil {
			return wrong("document %d: %v", n, err)
		}
	}
}
