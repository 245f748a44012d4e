// Package local_test tests what "kerf local" sets up, with a real control plane.
package local_test

import (
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"github.com/kerf-sh/kerf/controlplane/harness"
	"github.com/kerf-sh/kerf/internal/local"
)

// TestUpWithoutController starts everything but the controller, whose own behaviour other tests tell.
func TestUpWithoutController(t *testing.T) {
	binary, err := harness.Binary(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	manifest := filepath.Join(t.TempDir(), "namespace.yaml")
	if err := os.WriteFile(manifest, []byte("# a comment\n---\napiVersion: v1\nkind: Namespace\nmetadata:\n  name: shop\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	o := local.Options{
		ClusterName: "demo", StateDir: t.TempDir(), ControlPlane: binary, NoController: true, Examples: true,
		Manifests: []string{manifest}, Report: func(line string) { t.Log(line) },
	}
	cluster, err := local.Up(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cluster.Close() })

	cfg, err := cluster.Config()
	if err != nil {
		t.Fatal(err)
	}
	client, err := dynamic.NewForConfig(cfg)
	if err != nil {
		t.Fatal(err)
	}
	for _, object := range []struct {
		resource schema.GroupVersionResource
		name     string
	}{
		{schema.GroupVersionResource{Group: "karpenter.sh", Version: "v1", Resource: "nodepools"}, "default"},
		{schema.GroupVersionResource{Group: "karpenter.k8s.aws", Version: "v1", Resource: "ec2nodeclasses"}, "default"},
		{schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}, "shop"},
	} {
		if _, err := client.Resource(object.resource).Get(t.Context(), object.name, metav1.GetOptions{}); err != nil {
			t.Errorf("%s %s: %v", object.resource.Resource, object.name, err)
		}
	}
	class, err := client.Resource(schema.GroupVersionResource{Group: "karpenter.k8s.aws", Version: "v1", Resource: "ec2nodeclasses"}).
		Get(t.Context(), "default", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if text, err := class.MarshalJSON(); err != nil || !strings.Contains(string(text), `"role":"KarpenterNodeRole-demo"`) {
		t.Errorf("the example does not name the role of the cluster: %s %v", text, err)
	}
	if err := cluster.Apply(t.Context(), []byte("apiVersion: v1\nkind: Gadget\nmetadata:\n  name: x\n")); err == nil || !strings.Contains(err.Error(), `Gadget "x"`) {
		t.Errorf("an unknown kind: got %v, want an error that names the object", err)
	}
	if resp, err := http.Get(cluster.AWS); err != nil {
		t.Errorf("the simulated AWS does not answer: %v", err)
	} else {
		resp.Body.Close()
	}

	status, err := local.ReadStatus(t.Context(), o.StateDir)
	if err != nil {
		t.Fatal(err)
	}
	if status.PID != os.Getpid() || status.AWS != cluster.AWS || status.Kubeconfig != cluster.Kubeconfig || status.Controller != "none" {
		t.Errorf("the status is %+v", status)
	}
	var text strings.Builder
	if err := status.Write(&text); err != nil || !strings.Contains(text.String(), cluster.AWS) {
		t.Errorf("the status reads %q, %v", text.String(), err)
	}
	if _, err := local.Up(t.Context(), o); !errors.Is(err, local.ErrRunning) {
		t.Errorf("a second cluster in the same folder: got %v, want ErrRunning", err)
	}

	if err := cluster.Close(); err != nil {
		t.Error(err)
	}
	if _, err := local.ReadStatus(t.Context(), o.StateDir); !errors.Is(err, local.ErrNotRunning) {
		t.Errorf("after Close: got %v, want ErrNotRunning", err)
	}
	if err := cluster.Close(); err != nil {
		t.Errorf("second Close: %v", err)
	}
}
