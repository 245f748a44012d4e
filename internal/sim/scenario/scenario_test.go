package scenario_test

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kerf-sh/kerf/internal/sim/scenario"
)

var rewrite = flag.Bool("rewrite", false, "write what the scenarios print into their files")

// TestScenarios runs every story and compares what it prints. With -rewrite the files are written anew: read the
// difference before you commit it.
func TestScenarios(t *testing.T) {
	files, err := filepath.Glob("../../../testdata/scenarios/*.txt")
	if err != nil || len(files) < 25 {
		t.Fatalf("found %d scenario files: %v", len(files), err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			t.Parallel()
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			steps, err := scenario.Parse(string(text))
			if err != nil {
				t.Fatal(err)
			}
			got := scenario.Format(scenario.New().RunAll(steps))
			if strings.Contains(got, "\nVIOLATION ") {
				t.Errorf("a plan is not feasible:\n%s", got)
			}
			if *rewrite {
				if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if diff := cmp.Diff(string(text), got); diff != "" {
				t.Errorf("%s prints something else (-file +now):\n%s", file, diff)
			}
		})
	}
}
