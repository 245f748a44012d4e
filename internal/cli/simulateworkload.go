package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"

	"github.com/kerf-sh/kerf/internal/setup/snapshot"
	"github.com/kerf-sh/kerf/internal/simulate"
	"github.com/kerf-sh/kerf/internal/simulate/history"
	"github.com/kerf-sh/kerf/internal/simulate/workload"
)

// workloadFlags say what pods are to run.
type workloadFlags struct {
	trace, templates, snapshot string
	manifests, history         []string
	out                        string // for the workload
	shape                      string
	pods                       int
	start                      time.Duration
	speed                      float64

	given *cobra.Command
	read  *workload.Workload // what was read; shapes are made for each seed
	taken *snapshot.Snapshot
	// poolsUsed is that a configuration has the NodePools of the snapshot.
	poolsUsed bool
}

func (f *workloadFlags) register(c *cobra.Command) {
	f.given = c
	p := c.Flags()
	shapes := choiceFlag(&f.shape, workload.Day, workload.Shapes...)
	p.Var(shapes, "shape", "built-in workload: "+oneOf(workload.Shapes))
	mustComplete(c, "shape", shapes.words())
	p.IntVar(&f.pods, "pods", 100, "pods of the shape at its peak")
	p.StringVar(&f.trace, "workload", "", "trace of arrivals and ends, .csv or .csv.gz (docs/simulate.md has the columns)")
	p.StringVar(&f.templates, "templates", "", "file with the pod templates that the trace names")
	p.Var(spanFlag(&f.start, 0), "trace-start", "where in the trace to begin; --start says which time of the week that is")
	p.Float64Var(&f.speed, "trace-speed", 1, "how many times as fast the trace is played")
	p.StringVar(&f.snapshot, "snapshot", "", "snapshot of a cluster (kerf audit --snapshot, or kubectl get -o json)")
	p.StringArrayVar(&f.history, "from-history", nil, "file or folder with what a cluster has of its past: events, dumps of pods, series, audit logs (repeatable; docs/backtest.md)")
	p.StringVar(&f.out, "workload-out", "", "write the workload to this file as a trace, compressed if its name ends in .gz, and beside it the templates that its rows name and DaemonSets, PodDisruptionBudgets and PriorityClasses, if any; nothing is simulated")
	p.StringArrayVar(&f.manifests, "manifests", nil, "file or folder with Deployments, StatefulSets, DaemonSets, Jobs, PodDisruptionBudgets (repeatable); beside --workload: what a trace can't say, which is PodDisruptionBudgets, PriorityClasses and DaemonSets")
}

// make makes the workload for a seed from a time of the week on, and how long it is played.
func (f *workloadFlags) make(seed uint64, start, horizon time.Duration) (*workload.Workload, time.Duration, error) {
	if err := f.check(); err != nil {
		return nil, 0, &usageError{err}
	}
	if f.trace == "" && f.snapshot == "" && len(f.manifests)+len(f.history) == 0 {
		if horizon == 0 {
			horizon = workload.DefaultHorizon(f.shape)
		}
		w, err := workload.Shape(f.shape, f.pods, start, horizon, seed)
		if err != nil {
			return nil, 0, &usageError{err}
		}
		return w, horizon, nil
	}
	if f.read == nil {
		w, err := f.load()
		if err != nil {
			return nil, 0, &usageError{err}
		}
		f.read = w
	}
	if horizon == 0 {
		if horizon = workload.DefaultHorizon(workload.Day); f.trace != "" || len(f.history) > 0 {
			horizon = max(f.read.End(), time.Minute)
		}
	}
	if rest := f.read.End(); f.trace != "" && (f.start > 0 || horizon < rest) {
		f.read.Partial = fmt.Sprintf("this is a part of the trace: %s of it, from %s on; --trace-start and --horizon say which part",
			spanText(time.Duration(float64(min(horizon, rest))*f.speed)), spanText(f.start))
		if f.start > 0 && !f.given.Flags().Changed("start") {
			f.read.Partial += ", and --start which time of the week it is: it is played as Monday 00:00"
		}
	}
	return f.read, horizon, nil
}

// check refuses what excludes each other.
func (f *workloadFlags) check() error {
	changed := func(name string) bool { return f.given.Flags().Changed(name) }
	var sources []string
	for _, name := range []string{"workload", "snapshot", "manifests", "from-history", "shape"} {
		if changed(name) && (name != "manifests" || f.trace == "") { // beside a trace they are no source of pods
			sources = append(sources, "--"+name)
		}
	}
	switch {
	case len(sources) > 1:
		return fmt.Errorf("%s exclude each other: a workload comes from one of them", strings.Join(sources, " and "))
	case changed("pods") && len(sources) > 0 && sources[0] != "--shape":
		return fmt.Errorf("--pods is for --shape; %s says itself how many there are", sources[0])
	case f.trace == "" && (changed("trace-start") || changed("trace-speed") || changed("templates")):
		return errors.New("--trace-start, --trace-speed and --templates are for --workload, and there is none")
	case f.speed <= 0:
		return fmt.Errorf("--trace-speed %g: want more than 0", f.speed)
	case f.start < 0:
		return fmt.Errorf("--trace-start %s: want 0 or more", f.start)
	}
	return nil
}

func (f *workloadFlags) load() (*workload.Workload, error) {
	switch {
	case f.trace != "":
		return f.loadTrace()
	case f.snapshot != "":
		s, err := f.snapshotOf()
		if err != nil {
			return nil, err
		}
		return workload.FromSnapshot(filepath.Base(f.snapshot), s)
	}
	if len(f.history) > 0 {
		w, account, err := history.Read(f.history)
		if err != nil {
			return nil, err
		}
		return w, account.Text(notices(f.given))
	}
	files, err := f.manifestFiles()
	if err != nil {
		return nil, err
	}
	return workload.FromManifests(strings.Join(f.manifests, ", "), files)
}

// manifestFiles are the files that --manifests names.
func (f *workloadFlags) manifestFiles() (map[string][]byte, error) {
	inputs, err := readInputs(f.manifests, strings.NewReader(""))
	if err != nil {
		return nil, err
	}
	files := map[string][]byte{}
	for _, x := range inputs {
		files[x.Name] = x.Data
	}
	return files, nil
}

func (f *workloadFlags) loadTrace() (*workload.Workload, error) {
	var templates map[string]*corev1.PodTemplateSpec
	if f.templates != "" {
		in, err := os.Open(f.templates)
		if p, ok := errors.AsType[*fs.PathError](err); ok {
			return nil, fmt.Errorf("reading %s: %w", p.Path, p.Err)
		}
		defer in.Close()
		if templates, err = workload.ReadTemplates(f.templates, in); err != nil {
			return nil, err
		}
	}
	w, err := workload.ReadFile(f.trace, templates)
	if p, ok := errors.AsType[*fs.PathError](err); ok {
		return nil, fmt.Errorf("reading %s: %w", p.Path, p.Err)
	}
	if err != nil {
		return nil, err
	}
	if len(f.manifests) > 0 { // before a part is cut out of it: a budget may be of pods that are in another part
		files, err := f.manifestFiles()
		if err != nil {
			return nil, err
		}
		if err := w.AddManifests(strings.Join(f.manifests, ", "), files); err != nil {
			return nil, err
		}
	}
	if end := w.End(); f.start > 0 && f.start >= end {
		return nil, fmt.Errorf("--trace-start %s: the trace %s ends before, after %s", f.start, f.trace, end)
	}
	if f.start > 0 || f.speed != 1 {
		w = w.Window(f.start, 0, f.speed)
	}
	return w, nil
}

func (f *workloadFlags) snapshotOf() (*snapshot.Snapshot, error) {
	if f.taken == nil {
		s, err := snapshot.ReadFile(f.snapshot)
		if err != nil {
			return nil, err
		}
		f.taken = s
	}
	return f.taken, nil
}

// pools are the NodePools and EC2NodeClasses that the snapshot has.
func (f *workloadFlags) pools() ([]simulate.File, error) {
	if f.snapshot == "" {
		return nil, nil
	}
	s, err := f.snapshotOf()
	if err != nil {
		return nil, &usageError{err}
	}
	file, err := simulate.PoolsOf(f.snapshot, s)
	if err != nil {
		return nil, &usageError{err}
	}
	if file == nil {
		return nil, nil
	}
	f.poolsUsed = true
	return []simulate.File{*file}, nil
}

// region is where the snapshot or the history is from; empty if that is not known.
func (f *workloadFlags) region() string {
	if f.read != nil && f.read.Region != "" {
		return f.read.Region
	}
	if f.taken == nil {
		return ""
	}
	if f.taken.Region != "" {
		return f.taken.Region
	}
	for _, n := range f.taken.Nodes {
		if r := n.Labels[corev1.LabelTopologyRegion]; r != "" {
			return r
		}
	}
	return ""
}
