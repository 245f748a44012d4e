// Package crds_test shows the API to a real API server.
package crds_test

import (
	"context"
	"encoding/json"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/kerf-sh/kerf/api/crds"
	"github.com/kerf-sh/kerf/api/crds/crdtest"
	"github.com/kerf-sh/kerf/controlplane/harness"
)

// resources maps a kind to where its objects live.
type resources map[string]struct {
	schema.GroupVersionResource
	namespaced bool
}

// installCRDs applies the definitions and waits until the API server serves them.
func installCRDs(t *testing.T, config *rest.Config) resources {
	t.Helper()
	client, err := apiextensions.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	all, err := crds.All()
	if err != nil {
		t.Fatal(err)
	}
	found := resources{}
	for _, crd := range all {
		if _, err := client.ApiextensionsV1().CustomResourceDefinitions().Create(t.Context(), crd, metav1.CreateOptions{}); err != nil {
			t.Fatalf("install %s: %v", crd.Name, err)
		}
		r := found[crd.Spec.Names.Kind]
		r.GroupVersionResource = schema.GroupVersionResource{Group: crd.Spec.Group, Version: crd.Spec.Versions[0].Name, Resource: crd.Spec.Names.Plural}
		r.namespaced = crd.Spec.Scope == apiextensionsv1.NamespaceScoped
		found[crd.Spec.Names.Kind] = r
	}
	for _, crd := range all {
		err := wait.PollUntilContextTimeout(t.Context(), 50*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
			got, err := client.ApiextensionsV1().CustomResourceDefinitions().Get(ctx, crd.Name, metav1.GetOptions{})
			if err != nil {
				return false, err
			}
			for _, c := range got.Status.Conditions {
				if c.Type == apiextensionsv1.NonStructuralSchema && c.Status == apiextensionsv1.ConditionTrue {
					t.Fatalf("%s: %s", crd.Name, c.Message)
				}
			}
			return slices.ContainsFunc(got.Status.Conditions, func(c apiextensionsv1.CustomResourceDefinitionCondition) bool {
				return c.Type == apiextensionsv1.Established && c.Status == apiextensionsv1.ConditionTrue
			}), nil
		})
		if err != nil {
			t.Fatalf("wait for %s: %v", crd.Name, err)
		}
	}
	return found
}

// TestAPIServerAcceptsAndRefusesWhatTheTableSays sends every object of the table to a real API
// server. Nothing is stored but the bases of updates.
func TestAPIServerAcceptsAndRefusesWhatTheTableSays(t *testing.T) {
	cases, err := crdtest.Load(os.DirFS("../../../api/crds/testdata"))
	if err != nil {
		t.Fatal(err)
	}
	cp := harness.Start(t)
	kinds := installCRDs(t, cp.Config)
	client, err := dynamic.NewForConfig(cp.Config)
	if err != nil {
		t.Fatal(err)
	}
	stored := map[string]*unstructured.Unstructured{}
	for _, c := range cases {
		t.Run(c.File+"/"+c.Name, func(t *testing.T) {
			object := &unstructured.Unstructured{Object: c.Object}
			at := kinds[object.GetKind()]
			var target dynamic.ResourceInterface = client.Resource(at.GroupVersionResource)
			if at.namespaced {
				target = client.Resource(at.GroupVersionResource).Namespace(object.GetNamespace())
			}
			if c.Way != crdtest.Create && stored[c.File] == nil {
				base, err := target.Create(t.Context(), (&unstructured.Unstructured{Object: c.Base}).DeepCopy(), metav1.CreateOptions{})
				if err != nil {
					t.Fatalf("store the base: %v", err)
				}
				stored[c.File] = base
			}
			got, err := send(t.Context(), target, c.Way, object, stored[c.File])
			check(t, c, got, err)
		})
	}
}

func send(ctx context.Context, target dynamic.ResourceInterface, way crdtest.Way, object, base *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	object = object.DeepCopy()
	dry := []string{metav1.DryRunAll}
	switch way {
	case crdtest.Update:
		object.SetResourceVersion(base.GetResourceVersion())
		return target.Update(ctx, object, metav1.UpdateOptions{DryRun: dry})
	case crdtest.Status:
		object.SetResourceVersion(base.GetResourceVersion())
		return target.UpdateStatus(ctx, object, metav1.UpdateOptions{DryRun: dry})
	default:
		object.SetName("case")
		return target.Create(ctx, object, metav1.CreateOptions{DryRun: dry})
	}
}

func check(t *testing.T, c crdtest.Case, got *unstructured.Unstructured, err error) {
	t.Helper()
	switch {
	case c.Refuse == "" && err != nil:
		t.Fatalf("refused: %v", err)
	case c.Refuse != "" && err == nil:
		t.Fatalf("accepted, want a refusal with %q", c.Refuse)
	case c.Refuse != "" && !strings.Contains(err.Error(), c.Refuse):
		t.Fatalf("refused without the words %q: %v", c.Refuse, err)
	case err != nil:
		return
	}
	for path, want := range c.Reads {
		text, err := json.Marshal(crdtest.Read(got.Object, path))
		if err != nil {
			t.Fatal(err)
		}
		var have any
		if err := json.Unmarshal(text, &have); err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(want, have) {
			t.Errorf("%s reads %s, want %v", path, text, want)
		}
	}
}
