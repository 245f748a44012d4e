package local_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/controlplane/harness"
	"github.com/kerf-sh/kerf/internal/local"
)

// kerf builds the program.
func kerf(t *testing.T) string {
	t.Helper()
	binary := filepath.Join(t.TempDir(), "kerf")
	build := exec.Command("go", "build", "-o", binary, "./cmd/kerf")
	build.Dir = "../.."
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return binary
}

// TestExamples applies every manifest of examples/ to a local cluster, as docs/getting-started-local.md does, and waits until
// all their pods are available.
func TestExamples(t *testing.T) {
	controlPlane, err := harness.Binary(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	cluster, err := local.Up(t.Context(), local.Options{
		ClusterName: "demo", StateDir: t.TempDir(), ControlPlane: controlPlane, Binary: kerf(t), Examples: true, Report: func(line string) { t.Log(line) },
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cluster.Close() })
	ready, err := cluster.Client()
	if err != nil {
		t.Fatal(err)
	}
	pool := &karpv1.NodePool{}
	if err := ready.Get(t.Context(), client.ObjectKey{Name: "default"}, pool); err != nil || !pool.StatusConditions().Root().IsTrue() {
		t.Errorf("a cluster that says ready has a NodePool that is not: %v, %+v", err, pool.Status.Conditions)
	}
	files, err := filepath.Glob("../../examples/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no examples: %v", err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		// The pool among them is the one of kerf local, but for the name of the cluster.
		text = []byte(os.Expand(string(text), func(name string) string {
			if name != "CLUSTER_NAME" {
				t.Errorf("%s asks for ${%s}: its page names CLUSTER_NAME only", file, name)
			}
			return "demo"
		}))
		if err := cluster.Apply(t.Context(), text); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	for {
		var list appsv1.DeploymentList
		if err := ready.List(ctx, &list); err != nil {
			t.Fatal(err)
		}
		missing := errors.New("there are no Deployments")
		for _, d := range list.Items {
			if missing = nil; d.Status.AvailableReplicas < *d.Spec.Replicas {
				missing = fmt.Errorf("%d of %d pods of %s are available", d.Status.AvailableReplicas, *d.Spec.Replicas, d.Name)
				break
			}
		}
		if missing == nil {
			return
		}
		select {
		case <-ctx.Done():
			t.Fatal(missing)
		case <-time.After(200 * time.Millisecond):
		}
	}
}
