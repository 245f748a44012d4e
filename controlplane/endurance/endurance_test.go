package endurance

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/kerf-sh/kerf/controlplane/harness"
	"github.com/kerf-sh/kerf/internal/endurance/trial"
)

// ground starts one for a test, with a controller built from this tree.
func ground(t *testing.T) *Ground {
	t.Helper()
	controlPlane, err := harness.Binary(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	binary := filepath.Join(dir, "kerf")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", binary, "./cmd/kerf")
	build.Dir, build.Env = filepath.Join("..", ".."), append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build kerf: %v\n%s", err, out)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	g, err := New(ctx, dir, controlPlane, binary, t.Logf)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			if path := os.Getenv("ENDURANCE_LOG"); path != "" {
				text, _ := os.ReadFile(g.Log)
				_ = os.WriteFile(path, text, 0o600)
			}
		}
		if err := g.Close(); err != nil {
			t.Error(err)
		}
	})
	return g
}

func TestStory(t *testing.T) {
	g := ground(t)
	r, err := trial.Play(t.Context(), g, trial.Story(), trial.Hurried)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%s: %d calls counted, %+v, bill %d, floor %d", r.Took, len(r.Calls), r.Figures, r.Bill, r.Floor)
	kinds := map[string]int{}
	for _, c := range r.Calls {
		kinds[c.API+" "+c.Verb+" "+c.Resource]++
	}
	t.Log(fmt.Sprint(kinds))
	for _, v := range r.Violations {
		t.Error(v)
	}
}
