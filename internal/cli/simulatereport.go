package cli

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kerf-sh/kerf/internal/simulate"
)

// reportOf puts results together, which are seed by seed those of all configurations.
func reportOf(configurations []*simulate.Configuration, results []*simulate.Result, assertions []simulate.Assertion) (*simulate.Report, error) {
	if len(configurations) == 1 {
		out, err := simulate.SeedRuns(results)
		if err != nil {
			return nil, err
		}
		out.Verdicts = simulate.Judge(assertions, configurations[0].Name, out.Runs)
		return out, nil
	}
	out, err := simulate.CompareRuns(configurations, results)
	if err != nil {
		return nil, err
	}
	for k, c := range configurations {
		var finished []*simulate.Result
		for i := k; i < len(results); i += len(configurations) {
			if results[i].Whole() {
				finished = append(finished, results[i])
			}
		}
		if len(finished) > 0 {
			out.Verdicts = append(out.Verdicts, simulate.Judge(assertions, c.Name, finished)...)
		}
	}
	return out, nil
}

// write writes the report in its formats.
func (f *simulateFlags) write(c *cobra.Command, report *simulate.Report, results []*simulate.Result) error {
	var page bytes.Buffer
	if f.html != "" || f.output.format == htmlFormat {
		if err := report.WriteHTML(&page); err != nil {
			return fmt.Errorf("writing the page: %w", err)
		}
	}
	wrote := func(file string) { fmt.Fprintf(notices(c), "wrote %s\n", file) }
	if f.html != "" {
		if err := writeWhole(f.html, page.Bytes()); err != nil {
			return err
		}
		wrote(f.html)
	}
	if f.events != "" && len(results) == 1 && results[0] != nil {
		if err := writeWhole(f.events, []byte(strings.Join(results[0].Events, "\n")+"\n")); err != nil {
			return err
		}
		wrote(f.events)
	}
	err := f.answer(c, report, page.Bytes())
	if err != nil {
		return err
	}
	if f.output.file != "-" {
		wrote(f.output.file)
	}
	if f.output.file != "-" || f.output.format != textFormat { // with --quiet, too: nothing else says why the exit code is 3
		for _, line := range report.Failures() {
			fmt.Fprintln(c.ErrOrStderr(), line)
		}
	}
	return nil
}

// answer writes the report in the format that was asked for.
func (f *simulateFlags) answer(c *cobra.Command, report *simulate.Report, page []byte) error {
	switch f.output.format {
	case htmlFormat:
		return f.output.writeText(c.OutOrStdout(), page)
	case junitFormat:
		text, err := f.findings(report).junit()
		if err != nil {
			return err
		}
		return f.output.writeText(c.OutOrStdout(), text)
	}
	return f.output.write(c.OutOrStdout(), report, report.WriteText)
}
