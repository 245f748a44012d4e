package cli

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/kerf-sh/kerf/internal/simulate"
)

// Where the report does not say it to whoever looks, standard error says which bounds do not hold, in the log of a CI too.
func TestABoundThatDoesNotHoldIsSaidBesideTheReport(t *testing.T) {
	all, err := simulate.Assertions("bill<4,moved==0")
	if err != nil {
		t.Fatal(err)
	}
	run := &simulate.Result{Seed: 7, SimulatedSeconds: 60, HorizonSeconds: 60}
	run.Totals.Bill = 4.24
	report := &simulate.Report{Runs: []*simulate.Result{run}, Verdicts: simulate.Judge(all, "", []*simulate.Result{run})}
	const want = "FAILED bill<4: $4.24 (seed 7)\n"
	file := filepath.Join(t.TempDir(), "out")
	for _, c := range []struct {
		format, file string
		says         string
	}{
		{textFormat, "-", ""}, {textFormat, file, want}, {junitFormat, "-", want}, {junitFormat, file, want}, {jsonFormat, "-", want}, {htmlFormat, file, want},
	} {
		f, command := &simulateFlags{}, &cobra.Command{}
		var out, stderr bytes.Buffer
		command.SetOut(&out)
		command.SetErr(&stderr)
		f.output.register(command, simulate.Report{}, textFormat, jsonFormat, htmlFormat, junitFormat)
		f.output.format, f.output.file = c.format, c.file
		if err := f.write(command, report, report.Runs); err != nil {
			t.Fatal(err)
		}
		if got := strings.TrimPrefix(stderr.String(), "wrote "+file+"\n"); got != c.says {
			t.Errorf("%s to %s: %q", c.format, c.file, got)
		}
	}
}
