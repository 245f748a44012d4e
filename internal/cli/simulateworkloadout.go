package cli

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"time"

	"github.com/kerf-sh/kerf/internal/simulate"
	"github.com/kerf-sh/kerf/internal/simulate/workload"
)

// workloadNames are the flags that say where the workload comes from, all of which a trace stands in for.
var workloadNames = []string{"shape", "pods", "workload", "templates", "trace-start", "trace-speed", "snapshot", "from-history", "manifests", "workload-out"}

// writeWorkload writes the workload of a run as a trace, compressed if its name ends in .gz, and beside it what the trace names and what
// it can't say: templates and other objects, if there are any. It says by which command the same is played.
func (f *simulateFlags) writeWorkload(s *simulate.Spec, progress io.Writer) error {
	w, name := s.Workload, f.workload.out
	var trace, templates, manifests bytes.Buffer
	objects, idle := w.Beside()
	if err := errors.Join(writeTrace(&trace, name, w), w.WriteTemplates(&templates), workload.WriteManifests(&manifests, objects)); err != nil {
		return fmt.Errorf("writing the workload: %w", err)
	}
	if err := writeWhole(name, trace.Bytes()); err != nil {
		return err
	}
	named, played := len(w.Named()), "it"
	words, told := []string{"--workload " + shellWord(name)}, fmt.Sprintf("wrote %s: %s", name, counted(len(w.Steps), "row"))
	if named == 0 {
		told += ", whose columns say all of their pods, so there is no file of templates"
	}
	base := strings.TrimSuffix(name, ".gz")
	base = strings.TrimSuffix(base, filepath.Ext(base))
	for _, beside := range []struct {
		flag, file, what string
		count            int
		data             []byte
	}{
		{"--templates", base + ".templates.json", "template", named, templates.Bytes()},
		{"--manifests", base + ".manifests.json", "object", len(objects), manifests.Bytes()},
	} {
		if beside.count == 0 {
			continue
		}
		if err := writeWhole(beside.file, beside.data); err != nil {
			return err
		}
		played = "them"
		words = append(words, beside.flag+" "+shellWord(beside.file))
		told += fmt.Sprintf(", and %s: %s", beside.file, counted(beside.count, beside.what))
	}
	words = append(words, f.notInTrace(s)...)
	fmt.Fprintf(progress, "%s; play %s with %s\n", told, played, f.command(workloadNames, words...))
	if len(idle) > 0 {
		fmt.Fprintf(progress, "left out, for they hold none of these pods: %s, such as %s\n", counted(len(idle), "PodDisruptionBudget"), idle[0])
	}
	if f.workload.poolsUsed {
		fmt.Fprintf(progress, "none of these files has the NodePools of %s: give them with -f\n", f.workload.snapshot)
	}
	return nil
}

// notInTrace are the flags by which a trace of a run is played where, when and as long as the run would have been.
func (f *simulateFlags) notInTrace(s *simulate.Spec) (out []string) {
	changed := f.workload.given.Flags().Changed
	if f.workload.read != nil && !s.RegionUnknown && !changed("region") {
		out = append(out, "--region "+s.Region)
	}
	if s.Start != 0 && !changed("start") {
		out = append(out, "--start "+shellWord(simulate.StartText(s.Start)))
	}
	steps := &workload.Workload{Steps: s.Workload.Steps} // a trace has no more of its length
	if s.Horizon != max(steps.End(), time.Minute) && !changed("horizon") {
		out = append(out, "--horizon "+s.Horizon.String())
	}
	return out
}

// writeTrace writes a workload as the file of a name has it.
func writeTrace(out io.Writer, name string, w *workload.Workload) error {
	if !strings.HasSuffix(name, ".gz") {
		return w.Write(out)
	}
	z := gzip.NewWriter(out)
	return errors.Join(w.Write(z), z.Close())
}
