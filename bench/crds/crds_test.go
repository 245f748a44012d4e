// Package crds_test shows the same EC2NodeClasses to the peer's CRD and to ours in one real API server: what the peer
// admits we admit, with the same defaults, and what it refuses we refuse.
//
// The peer's CRD is data of its released module; nothing else of that module is used.
package crds_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/yaml"

	"github.com/kerf-sh/kerf/internal/local/kube"
	"github.com/kerf-sh/kerf/internal/sim/coverage/oddclass"
)

const (
	peerModule = "github.com/aws/karpenter-provider-aws@v1.14.1"
	file       = "karpenter.k8s.aws_ec2nodeclasses.yaml"
	// peerGroup is where the peer's kind lives here: two definitions of one name can't be in one API server.
	peerGroup = "peer.test"
	ourGroup  = "karpenter.k8s.aws"
	// seeds is how many classes are shown.
	seeds = 1500
)

var definitions = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}

func TestThePeersClassesAreAdmittedWithTheSameDefaults(t *testing.T) {
	client := apiServer(t)
	install(t, client, read(t, filepath.Join(peerFolder(t), "pkg", "apis", "crds", file)), peerGroup)
	install(t, client, read(t, filepath.Join("..", "..", "api", "crds", file)), ourGroup)
	counts := map[string]int{}
	for seed := range uint64(seeds) {
		spec := oddclass.Spec(seed, "c")
		delete(spec, "enclaveOptions") // the peer of this version does not know it
		text, err := json.Marshal(spec)
		if err != nil {
			t.Fatal(err)
		}
		peer, peerErr := try(t, client, peerGroup, text)
		ours, ourErr := try(t, client, ourGroup, text)
		switch {
		case peerErr == nil && ourErr != nil:
			t.Errorf("seed %d: the peer admits it and we do not: %v\n%s", seed, ourErr, text)
		case peerErr != nil && ourErr == nil && more(spec):
			counts["admitted by us alone"]++
		case peerErr != nil && ourErr == nil:
			t.Errorf("seed %d: the peer refuses it and we do not: %v\n%s", seed, peerErr, text)
		case peerErr == nil && !reflect.DeepEqual(peer, ours):
			t.Errorf("seed %d: stored by the peer %v, by us %v", seed, peer, ours)
		case peerErr == nil:
			counts["admitted"]++
		default:
			counts["refused"]++
		}
	}
	t.Logf("of %d classes both say the same: %v", seeds, counts)
	if counts["admitted"] < seeds/20 || counts["refused"] < seeds/10 {
		t.Errorf("the classes show too little: %v", counts)
	}
}

// more reports whether a spec has what we admit and the peer does not: a list of reservations that is empty, which says
// the same as none.
func more(spec map[string]any) bool {
	terms, ok := spec["capacityReservationSelectorTerms"].([]any)
	return ok && len(terms) == 0
}

// try returns the spec as it would be stored.
func try(t *testing.T, client dynamic.Interface, group string, spec []byte) (any, error) {
	t.Helper()
	object := &unstructured.Unstructured{Object: map[string]any{"apiVersion": group + "/v1", "kind": "EC2NodeClass", "metadata": map[string]any{"name": "case"}}}
	var decoded map[string]any
	if err := yaml.Unmarshal(spec, &decoded); err != nil {
		t.Fatal(err)
	}
	object.Object["spec"] = numbers(decoded)
	got, err := client.Resource(schema.GroupVersionResource{Group: group, Version: "v1", Resource: "ec2nodeclasses"}).
		Create(t.Context(), object, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
	if err != nil {
		if !apierrors.IsInvalid(err) && !apierrors.IsBadRequest(err) {
			t.Fatal(err)
		}
		return nil, err
	}
	return got.Object["spec"], nil
}

// numbers turns whole floats into integers, as unstructured objects have them.
func numbers(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for k := range v {
			v[k] = numbers(v[k])
		}
	case []any:
		for i := range v {
			v[i] = numbers(v[i])
		}
	case float64:
		if v == float64(int64(v)) {
			return int64(v)
		}
	}
	return v
}

func apiServer(t *testing.T) dynamic.Interface {
	t.Helper()
	binary := os.Getenv(kube.BinaryEnv)
	if binary == "" {
		binary = filepath.Join("..", "..", "bin", kube.BinaryName)
	}
	if _, err := os.Stat(binary); err != nil {
		t.Skipf("no control plane: make build, or set %s", kube.BinaryEnv)
	}
	cp, err := kube.Start(t.Context(), kube.Options{Binary: binary, StateDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cp.Close() })
	config, err := clientcmd.BuildConfigFromFlags("", cp.Kubeconfigs[kube.Admin])
	if err != nil {
		t.Fatal(err)
	}
	config.QPS, config.WarningHandler = -1, rest.NoWarnings{}
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// peerFolder is where the released module is, downloaded if it has to be.
func peerFolder(t *testing.T) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "mod", "download", "-json", peerModule)
	cmd.Dir = t.TempDir() // not this module's: nothing is added to it
	out, err := cmd.Output()
	if err != nil {
		t.Skipf("the peer's module can't be had: %v", err)
	}
	var found struct{ Dir string }
	if err := json.Unmarshal(out, &found); err != nil {
		t.Fatal(err)
	}
	return found.Dir
}

func read(t *testing.T, path string) *unstructured.Unstructured {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	crd := &unstructured.Unstructured{}
	if err := yaml.Unmarshal(text, &crd.Object); err != nil {
		t.Fatal(err)
	}
	crd.Object, _ = numbers(crd.Object).(map[string]any)
	return crd
}

// install makes a definition under a group of its own and waits until it is served.
func install(t *testing.T, client dynamic.Interface, crd *unstructured.Unstructured, group string) {
	t.Helper()
	crd.SetName("ec2nodeclasses." + group)
	if err := errors.Join(
		unstructured.SetNestedField(crd.Object, group, "spec", "group"),
		unstructured.SetNestedField(crd.Object, map[string]any{"kind": "EC2NodeClass", "listKind": "EC2NodeClassList", "plural": "ec2nodeclasses", "singular": "ec2nodeclass"}, "spec", "names"),
	); err != nil {
		t.Fatal(err)
	}
	if _, err := client.Resource(definitions).Create(t.Context(), crd, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	at := client.Resource(schema.GroupVersionResource{Group: group, Version: "v1", Resource: "ec2nodeclasses"})
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	for {
		if _, err := at.List(ctx, metav1.ListOptions{}); err == nil {
			return
		} else if ctx.Err() != nil {
			t.Fatalf("%s is not served: %v", group, err)
		}
		time.Sleep(100 * time.Millisecond)
	}
}
