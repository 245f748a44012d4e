package fidelity_test

import (
	"flag"
	"path/filepath"
	"testing"
	"time"

	"github.com/kerf-sh/kerf/controlplane/fidelity"
	"github.com/kerf-sh/kerf/controlplane/harness"
)

var (
	cases   = flag.Int("cases", 100, "cases to carry out")
	checked = flag.Int("checked", 300, "cases that are solved and checked without a control plane")
	seed    = flag.Uint64("seed", 1, "seed of the first case")
	bounded = flag.Duration("within", 150*time.Second, "no further case is begun after this time; 0: no bound")
	replays = flag.String("replays", "", "folder for replay files of disagreements")
)

func TestTheSchedulerAgrees(t *testing.T) {
	cp := harness.Start(t, fidelity.Patient)
	c, err := fidelity.NewCluster(t.Context(), cp)
	if err != nil {
		t.Fatal(err)
	}
	dir := *replays
	if dir == "" {
		dir = filepath.Join(t.TempDir(), "replays")
	}
	var tally fidelity.Tally
	begun := time.Now()
	for s := *seed; s < *seed+uint64(*cases); s++ {
		if *bounded > 0 && time.Since(begun) > *bounded {
			break
		}
		r, err := c.Run(t.Context(), s)
		if err != nil {
			t.Fatal(err)
		}
		tally.Add(r.Outcome)
		if r.Outcome.Verdict == fidelity.Disagreed {
			path, err := r.Save(dir)
			if err != nil {
				t.Error(err)
			}
			t.Errorf("%s\nreplay file: %s", r.Outcome, path)
		}
	}
	t.Logf("seeds %d to %d: %s in %s", *seed, *seed+uint64(tally.Cases)-1, &tally, time.Since(begun).Round(time.Second))
	if tally.Cases == 0 || tally.Pods == 0 || tally.Impossible == 0 {
		t.Errorf("the cases show nothing: %s", &tally)
	}
}
