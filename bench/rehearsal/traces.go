package rehearsal

import (
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	awsv1 "github.com/kerf-sh/kerf/api/aws/v1"
	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
)

// sayTraces tells which labels, annotations and taints of Kerf's own are left on objects. They mean nothing to upstream.
func (r *rehearsal) sayTraces(ctx context.Context) error {
	left := map[string]int{}
	for _, list := range []client.ObjectList{&karpv1.NodeClaimList{}, &karpv1.NodePoolList{}, &awsv1.EC2NodeClassList{}, &corev1.NodeList{}, &corev1.PodList{}, &corev1.ConfigMapList{}} {
		if err := r.client.List(ctx, list); err != nil {
			return fmt.Errorf("look what is left: %w", err)
		}
		for _, o := range objects(list) {
			for _, key := range marks(o) {
				left[fmt.Sprintf("%s of %s", key, strings.TrimPrefix(fmt.Sprintf("%T", o), "*v1."))]++
			}
		}
	}
	if len(left) == 0 {
		r.Say("  Nothing of Kerf's own is left on nodes, pods and Karpenter's objects.")
		return nil
	}
	var all []string
	for what, n := range left {
		all = append(all, fmt.Sprintf("%d times %s", n, what))
	}
	slices.Sort(all)
	r.Say("  Left of Kerf's own, without a meaning to upstream: %s.", strings.Join(all, ", "))
	return nil
}

// marks are the keys of Kerf's own on an object.
func marks(o client.Object) []string {
	var out []string
	add := func(key string) {
		if domain, _, _ := strings.Cut(key, "/"); domain == "kerf.sh" || strings.HasSuffix(domain, ".kerf.sh") && domain != "local.kerf.sh" {
			out = append(out, key)
		}
	}
	for key := range o.GetLabels() {
		add(key)
	}
	for key := range o.GetAnnotations() {
		add(key)
	}
	if n, ok := o.(*corev1.Node); ok {
		for _, t := range n.Spec.Taints {
			add(t.Key)
		}
	}
	if c, ok := o.(*corev1.ConfigMap); ok && strings.Contains(c.Name, "kerf") {
		out = append(out, "name "+c.Name)
	}
	return out
}

// objects are the items of a list.
func objects(list client.ObjectList) []client.Object {
	var out []client.Object
	_ = meta.EachListItem(list, func(o runtime.Object) error { // fails for what is no list
		if o, ok := o.(client.Object); ok {
			out = append(out, o)
		}
		return nil
	})
	return out
}
