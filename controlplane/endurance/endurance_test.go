package endurance

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/kerf-sh/kerf/controlplane/harness"
	"github.com/kerf-sh/kerf/internal/sim/endurance/gate"
	"github.com/kerf-sh/kerf/internal/sim/endurance/trial"
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

// TestCrashPoints plays the story and ends the controller's process at one of its calls, at as many calls as
// ENDURANCE_POINTS says, spread over all.
func TestCrashPoints(t *testing.T) {
	text := os.Getenv("ENDURANCE_POINTS")
	if text == "" {
		t.Skip("a run takes three minutes, and all of a computer: set ENDURANCE_POINTS")
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatal(err)
	}
	g := ground(t)
	// What the story takes here; a point that a run does not reach ends nothing, and says so.
	const calls = 160
	for i := range n {
		at, moment := (2*i+1)*calls/(2*n), []gate.Moment{gate.After, gate.Before}[i%2]
		r, err := trial.Play(t.Context(), g, trial.Story().At(at, moment), trial.Hurried)
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("killed %s call %d of %d (%v): %s, %+v", moment, at, len(r.Calls), r.Killed, r.Took, r.Figures)
		if !r.Killed {
			t.Errorf("call %d was never made", at)
		}
		for _, v := range r.Violations {
			t.Errorf("%s: %s", r.Schedule.Name, v)
		}
	}
}
