package e2e

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/kerf-sh/kerf/controlplane/harness"
	"github.com/kerf-sh/kerf/internal/demo/images"
	"github.com/kerf-sh/kerf/internal/local"
)

// TestDemoImages is make demo-images.
func TestDemoImages(t *testing.T) {
	t.Parallel()
	controlPlane, err := harness.Binary(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	binary, err := kerf()
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	err = images.Run(t.Context(), images.Options{
		Out: &out, Wait: 150 * time.Second,
		Local: local.Options{
			ClusterName: "demo", StateDir: filepath.Join(t.TempDir(), "state"), Binary: binary, ControlPlane: controlPlane, BootTime: time.Second, AWSLatency: -1, Seed: 1,
		},
	})
	t.Log(out.String())
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(out.String(), "is refused: LaunchTemplateUserDataInvalid") {
		t.Error("the guide's launch template as given was not refused")
	}
}
