package simcluster

import (
	"bytes"
	_ "embed"
	"errors"
	"io"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"
)

// Defaults are a NodePool and an EC2NodeClass named default: whatever is sold of the usual families, consolidated half a
// minute after the last change, as many nodes at a time as it takes.
//
//go:embed defaults.yaml
var Defaults string

// Apply creates the objects of a manifest, or puts them in the place of those that are there.
func (h *Cluster) Apply(manifest string) {
	h.T.Helper()
	decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewReader([]byte(manifest)), 4096)
	for {
		o := &unstructured.Unstructured{}
		err := decoder.Decode(&o.Object)
		if errors.Is(err, io.EOF) {
			return
		}
		if err == nil && len(o.Object) > 0 {
			err = h.applyOne(o)
		}
		if err != nil {
			h.T.Fatalf("apply %s %s: %v", o.GetKind(), o.GetName(), err)
		}
	}
}

func (h *Cluster) applyOne(o *unstructured.Unstructured) error {
	namespaced, err := h.Client.IsObjectNamespaced(o)
	if err != nil {
		return err
	}
	if namespaced && o.GetNamespace() == "" {
		o.SetNamespace("default")
	}
	err = h.Client.Create(h.T.Context(), o)
	for apierrors.IsAlreadyExists(err) || apierrors.IsConflict(err) {
		old := &unstructured.Unstructured{}
		old.SetGroupVersionKind(o.GroupVersionKind())
		if err = h.Client.Get(h.T.Context(), keyOf(o), old); err != nil {
			return err
		}
		o.SetResourceVersion(old.GetResourceVersion())
		err = h.Client.Update(h.T.Context(), o)
	}
	return err
}
