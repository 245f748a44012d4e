package cli

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/kerf-sh/kerf/internal/simulate/workload"
)

// write writes the workload as a trace, compressed if its name ends in .gz, and beside it the templates that the trace names, if it names
// any.
func (f *workloadFlags) write(w *workload.Workload, progress io.Writer) error {
	var trace, templates bytes.Buffer
	if err := errors.Join(writeTrace(&trace, f.out, w), w.WriteTemplates(&templates)); err != nil {
		return fmt.Errorf("writing the workload: %w", err)
	}
	if err := writeWhole(f.out, trace.Bytes()); err != nil {
		return err
	}
	beside := "" // a trace has none of their budgets
	for _, path := range f.manifests {
		beside += " --manifests " + path
	}
	named := len(w.Named())
	if named == 0 {
		fmt.Fprintf(progress, "wrote %s: %s, whose columns say all of their pods, so there is no file of templates; play it with kerf simulate --workload %[1]s%[3]s\n", f.out, counted(len(w.Steps), "row"), beside)
		return nil
	}
	base := strings.TrimSuffix(f.out, ".gz")
	templatesFile := strings.TrimSuffix(base, filepath.Ext(base)) + ".templates.json"
	if err := writeWhole(templatesFile, templates.Bytes()); err != nil {
		return err
	}
	fmt.Fprintf(progress, "wrote %s: %s, and %s: %s; play them with kerf simulate --workload %[1]s --templates %[3]s%[5]s\n", f.out, counted(len(w.Steps), "row"), templatesFile, counted(named, "template"), beside)
	return nil
}

// writeTrace writes a workload as the file of a name has it.
func writeTrace(out io.Writer, name string, w *workload.Workload) error {
	if !strings.HasSuffix(name, ".gz") {
		return w.Write(out)
	}
	z := gzip.NewWriter(out)
	return errors.Join(w.Write(z), z.Close())
}
