package local_test

import (
	"testing"

	"github.com/kerf-sh/kerf/controlplane/harness"
	"github.com/kerf-sh/kerf/internal/local"
)

// TestRollOut replaces the controller as a rollout does, and then by one that can't start.
func TestRollOut(t *testing.T) {
	controlPlane, err := harness.Binary(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	cluster, err := local.Up(t.Context(), local.Options{
		ClusterName: "demo", StateDir: t.TempDir(), ControlPlane: controlPlane, Binary: kerf(t), Report: func(line string) { t.Log(line) },
		Programs: map[string]string{"registry.example/broken": "/bin/false"},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cluster.Close() })
	d, err := cluster.Deployment(0, 0)
	if err != nil {
		t.Fatal(err)
	}
	first := cluster.Controller
	if err := cluster.RollOut(t.Context(), d); err != nil {
		t.Fatal(err)
	}
	second := cluster.Controller
	if first.PID() != 0 || second.PID() == 0 || second == first {
		t.Errorf("the first controller is process %d, the next %d", first.PID(), second.PID())
	}
	if first.HealthURL == second.HealthURL || first.Log == second.Log {
		t.Error("both have the same port or log, so that they can't run beside each other")
	}
	d.Spec.Template.Spec.Containers[0].Image = "registry.example/broken:1"
	if err := cluster.RollOut(t.Context(), d); err == nil {
		t.Error("a program that ends at once was rolled out")
	}
	if cluster.Controller != second || second.PID() == 0 {
		t.Errorf("the controller that worked is process %d after a rollout that failed", second.PID())
	}
}
