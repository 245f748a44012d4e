package peer

import (
	"context"
	"fmt"
	"reflect"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
)

// reader answers reads from memory, with copies, as a cache of informers does, and with an index of pods by node. It
// refuses everything else, so that nothing is measured that is not there.
type reader struct {
	client.Client // nil: what is not written below must not be called
	objects       map[reflect.Type][]client.Object
	byName        map[reflect.Type]map[client.ObjectKey]client.Object
	podsOf        map[string][]client.Object
}

func newReader() *reader {
	return &reader{objects: map[reflect.Type][]client.Object{}, byName: map[reflect.Type]map[client.ObjectKey]client.Object{}, podsOf: map[string][]client.Object{}}
}

func (r *reader) add(o client.Object) {
	t := reflect.TypeOf(o).Elem()
	r.objects[t] = append(r.objects[t], o)
	if r.byName[t] == nil {
		r.byName[t] = map[client.ObjectKey]client.Object{}
	}
	r.byName[t][client.ObjectKeyFromObject(o)] = o
	if pod, ok := o.(*corev1.Pod); ok && pod.Spec.NodeName != "" {
		r.podsOf[pod.Spec.NodeName] = append(r.podsOf[pod.Spec.NodeName], pod)
	}
}

// Get copies one object.
func (r *reader) Get(_ context.Context, key client.ObjectKey, out client.Object, _ ...client.GetOption) error {
	t := reflect.TypeOf(out).Elem()
	o, ok := r.byName[t][key]
	if !ok {
		return apierrors.NewNotFound(schema.GroupResource{Resource: t.Name()}, key.String())
	}
	reflect.ValueOf(out).Elem().Set(reflect.ValueOf(o.DeepCopyObject()).Elem())
	return nil
}

// List copies what the options select.
func (r *reader) List(_ context.Context, out client.ObjectList, opts ...client.ListOption) error {
	o := client.ListOptions{}
	o.ApplyOptions(opts)
	items, ok := reflect.TypeOf(out).Elem().FieldByName("Items")
	if !ok {
		return fmt.Errorf("list of %T: has no items", out)
	}
	elem := items.Type.Elem()
	from := r.objects[elem]
	if o.FieldSelector != nil && !o.FieldSelector.Empty() {
		var err error
		if from, err = r.indexed(from, &o); err != nil {
			return fmt.Errorf("list of %T: %w", out, err)
		}
	}
	var found []runtime.Object
	for _, x := range from {
		if o.Namespace != "" && x.GetNamespace() != o.Namespace {
			continue
		}
		if o.LabelSelector != nil && !o.LabelSelector.Matches(labelSet(x.GetLabels())) {
			continue
		}
		found = append(found, x.DeepCopyObject())
	}
	return meta.SetList(out, found)
}

// indexed serves the fields that the peer indexes and that the objects here have.
func (r *reader) indexed(from []client.Object, o *client.ListOptions) ([]client.Object, error) {
	for _, want := range o.FieldSelector.Requirements() {
		switch want.Field {
		case "spec.nodeName":
			from = r.podsOf[want.Value]
		case "status.providerID", "spec.providerID":
			var kept []client.Object
			for _, x := range from {
				if providerID(x) == want.Value {
					kept = append(kept, x)
				}
			}
			from = kept
		case "spec.nodeClassRef.group", "spec.nodeClassRef.kind", "spec.nodeClassRef.name",
			"spec.template.spec.nodeClassRef.group", "spec.template.spec.nodeClassRef.kind", "spec.template.spec.nodeClassRef.name":
			// There is one node class.
		default:
			return nil, fmt.Errorf("no index of %s", want.Field)
		}
	}
	return from, nil
}

func providerID(o client.Object) string {
	switch x := o.(type) {
	case *corev1.Node:
		return x.Spec.ProviderID
	case *karpv1.NodeClaim:
		return x.Status.ProviderID
	}
	return ""
}

type labelSet map[string]string

func (l labelSet) Has(k string) bool              { _, ok := l[k]; return ok }
func (l labelSet) Get(k string) string            { return l[k] }
func (l labelSet) Lookup(k string) (string, bool) { v, ok := l[k]; return v, ok }

// Scheme is client-go's, which the peer adds its types to.
func (r *reader) Scheme() *runtime.Scheme { return scheme.Scheme }

// GroupVersionKindFor asks the scheme.
func (r *reader) GroupVersionKindFor(o runtime.Object) (schema.GroupVersionKind, error) {
	return apiutil.GVKForObject(o, scheme.Scheme)
}
