package cli

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kerf-sh/kerf/internal/simulate"
)

// reportOf puts results together.
func reportOf(configurations []*simulate.Configuration, seeds []uint64, results []*simulate.Result, assertions []simulate.Assertion) (*simulate.Report, error) {
	out := &simulate.Report{}
	early, missing := 0, 0
	by := make([][]*simulate.Result, len(configurations))
	for i, r := range results {
		by[i%len(configurations)] = append(by[i%len(configurations)], r)
		switch {
		case r == nil:
			missing++
		case r.Interrupted:
			early++
		}
	}
	if early == 1 && len(results) == 1 {
		out.Interrupted = "it was ended early; figures are of what was simulated"
	} else if early+missing > 0 {
		out.Interrupted = fmt.Sprintf("of %d runs, %d ended early and %d did not begin; figures are of what was simulated", len(results), early, missing)
	}
	if len(configurations) > 1 {
		names := make([]string, len(configurations))
		for i, c := range configurations {
			names[i] = c.Name
		}
		comparison, err := simulate.Compare(names, by)
		if err != nil && out.Interrupted != "" && results[0] != nil {
			out.Runs, out.Interrupted = results[:1], out.Interrupted+"; "+err.Error()
			return out, nil
		}
		if err != nil {
			return nil, err
		}
		comparison.Tell(configurations)
		out.Comparison = comparison
		for _, c := range comparison.Configurations {
			out.Verdicts = append(out.Verdicts, simulate.Judge(assertions, c.Name, c.Results)...)
		}
		return out, nil
	}
	for _, r := range by[0] {
		if r != nil {
			out.Runs = append(out.Runs, r)
		}
	}
	if len(out.Runs) == 0 {
		return nil, errors.New("it was ended before anything was simulated")
	}
	out.Verdicts = simulate.Judge(assertions, configurations[0].Name, out.Runs)
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
	if err == nil && f.output.file != "-" {
		wrote(f.output.file)
	}
	return err
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
