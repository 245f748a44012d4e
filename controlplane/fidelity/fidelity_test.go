package fidelity_test

import (
	"flag"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/kerf-sh/kerf/controlplane/fidelity"
	"github.com/kerf-sh/kerf/internal/local/kube"
)

var (
	cases   = flag.Int("cases", 100, "cases to carry out")
	checked = flag.Int("checked", 300, "cases that are solved and checked without a control plane")
	seed    = flag.Uint64("seed", 1, "seed of the first case")
	workers = flag.Int("workers", 2, "control planes side by side")
	bounded = flag.Duration("within", 120*time.Second, "no further case is begun after this time; 0: no bound")
	replays = flag.String("replays", "", "folder for replay files of disagreements")
)

func TestTheSchedulerAgrees(t *testing.T) {
	state := t.TempDir()
	started := 0
	planes, err := fidelity.NewControlPlanes(t.Context(), *workers, func(o *kube.Options) {
		started++
		o.StateDir = filepath.Join(state, fmt.Sprint(started))
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = planes.Close() })
	dir := *replays
	if dir == "" {
		dir = filepath.Join(t.TempDir(), "replays")
	}
	var tally fidelity.Tally
	begun := time.Now()
	inTime := func() bool { return *bounded == 0 || time.Since(begun) < *bounded }
	planes.Seeds(t.Context(), *seed, *cases, inTime, func(r fidelity.Result) {
		if r.Err != nil {
			t.Error(r.Err)
			return
		}
		tally.Add(r.Run.Outcome)
		if r.Run.Outcome.Verdict == fidelity.Disagreed {
			path, err := r.Run.Save(dir)
			if err != nil {
				t.Error(err)
			}
			t.Errorf("%s\nreplay file: %s", r.Run.Outcome, path)
		}
	})
	files, err := filepath.Glob("testdata/*.json.gz")
	if err != nil || len(files) == 0 {
		t.Fatal("no cases of former disagreements", err)
	}
	for _, path := range files {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".json.gz"), func(t *testing.T) {
			k, err := fidelity.Load(path)
			if err != nil {
				t.Fatal(err)
			}
			r, err := planes.Case(t.Context(), k)
			if err != nil {
				t.Fatal(err)
			}
			if v := r.Outcome.Verdict; v == fidelity.Disagreed || v == fidelity.Ordered {
				t.Error(r.Outcome)
			}
		})
	}
	t.Logf("seeds from %d on: %s in %s", *seed, &tally, time.Since(begun).Round(time.Second))
	if tally.Cases == 0 || tally.Pods == 0 || tally.Impossible == 0 {
		t.Errorf("the cases show nothing: %s", &tally)
	}
}
