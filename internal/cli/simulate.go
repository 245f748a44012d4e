package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/kerf-sh/kerf/internal/awsmodel/ec2facts"
	"github.com/kerf-sh/kerf/internal/guard"
	"github.com/kerf-sh/kerf/internal/simulate"
)

type simulateFlags struct {
	files    []string
	compare  bool
	workload workloadFlags

	horizon, warmup, boot time.Duration
	start                 string
	seed                  uint64
	seeds                 string
	interruptions         float64
	volatility            float64
	region                string
	types                 []string
	set                   []string
	assert                string
	parallel              int

	output        form
	html, events  string
	configuration []string // with --compare
}

func newSimulateCommand() *cobra.Command {
	f := &simulateFlags{}
	c := &cobra.Command{
		Use:   "simulate [--compare DIR DIR…]",
		Short: "Run the controller in virtual time on a workload: cost, pending time, pods moved, interruptions",
		Long: `Runs the controller that runs in clusters, unmodified, in virtual time, against a simulated AWS with real prices and a simulated
Kubernetes API. A day of 60 pods takes a minute or two of a processor, and hundreds of nodes take hours: begin with
--horizon 10m --warmup 2m. It tells what the instances cost beside the provable floor, how long pods waited, which were moved and
why, what became of interrupted spot instances, and which pods were refused. Nothing is asked of a cluster or of an account.

NodePools and EC2NodeClasses come from files (-f; default: those of the quick start, which allow spot and on-demand, amd64 and arm64,
and the families c, m and r of generation 5 and later; docs/simulate.md links them). What classes select (subnets, images, roles) is
replaced by what the simulated account has: no file has to be edited. The workload is a built-in shape, a trace in CSV, a
snapshot of a cluster (kerf audit --snapshot), or manifests.

--compare runs several configurations, folders with manifests and optional settings.env, on the same workload and seeds, and tells
their differences with 95 % confidence intervals. Runs are played seed by seed, each with all configurations in their order; an
interrupt reports what was finished. --assert makes a test of it, for CI: bounds that do not hold are in the report, and on standard
error where that is no text or goes to a file.

` + simulateFiguresText(),
		Example: `  kerf simulate                                       # a day of 100 pods on the NodePool of the quick start
  kerf simulate -f nodepools/ --shape week --pods 400 --html week.html
  kerf simulate -f nodepools/ --snapshot cluster.json.gz --seeds 1-5
  kerf simulate --workload trace.csv --horizon 6h --spot-interruptions 0.02
  kerf simulate --compare today/ proposal/ --shape day --pods 200 --seeds 1-10 -o html --output-file comparison.html
  kerf simulate -f nodepools/ --assert 'p99_pending<60s,bill<120' -o junit --output-file simulate.xml`,
		Args: func(c *cobra.Command, args []string) error {
			if f.compare || len(args) == 0 {
				return nil
			}
			return &usageError{fmt.Errorf("%s takes arguments with --compare only; %q was given: -f %[2]s reads NodePools from it", c.CommandPath(), args[0])}
		},
		RunE: func(c *cobra.Command, args []string) error {
			f.configuration = args
			return f.run(c.Context(), c)
		},
	}
	p := c.Flags()
	p.StringArrayVarP(&f.files, "filename", "f", nil, "file or folder with NodePools and EC2NodeClasses, - for standard input (repeatable; default: those of the quick start; with --compare it is added to every configuration)")
	p.BoolVar(&f.compare, "compare", false, "compare the configurations in the folders that are named as arguments, with the first one")
	f.workload.register(c)
	p.Var(spanFlag(&f.horizon, 0), "horizon", "how long to simulate (default: a day; a week for --shape week; 6h for steady and burst; to the end of a trace)")
	p.StringVar(&f.start, "start", "", "weekday and time of day in UTC at which the workload starts, as in 09:00, Tue or \"Tue 09:00\" (default: Monday 00:00, or when the history begins)")
	p.Var(spanFlag(&f.warmup, simulate.DefaultWarmup), "warmup", "how long the cluster runs with the first pods before anything is counted")
	p.Uint64Var(&f.seed, "seed", 1, "what prices, interruptions, stock and a built-in workload are drawn from; a trace, a snapshot, manifests and a history are the same for each seed")
	p.StringVar(&f.seeds, "seeds", "", "several seeds, at most 1000, as in 1-10 or 1,4,5; figures get confidence intervals")
	p.Var(&hourly{partFlag(&f.interruptions, simulate.DefaultInterruptions)}, "spot-interruptions", "part of the spot instances that is interrupted in an hour, as in 0.05 or 5%; the default is 5 % of the instances in a month, which is 0.00685% an hour")
	p.Var(partFlag(&f.volatility, simulate.DefaultVolatility), "spot-volatility", "standard deviation of what a spot price changes by in a day, as a part of it; 0: prices stand still")
	p.Var(spanFlag(&f.boot, simulate.DefaultBoot), "boot", "how long an instance takes from its launch until its node is ready, give or take a fifth")
	regionFlag(c, &f.region, "", "(default: that of the zones in NodePools, or of the nodes in the snapshot or the history, else "+simulate.DefaultRegion+"; one for all configurations of --compare)")
	p.StringSliceVar(&f.types, "instance-types", nil, "instance types that exist (default: all of the region)")
	p.StringArrayVar(&f.set, "set", nil, "setting of the controller, as NAME=VALUE (repeatable; docs/reference/settings.md)")
	p.StringVar(&f.assert, "assert", "", "bounds that must hold for each seed, with commas between them; otherwise the exit code is 3")
	p.IntVar(&f.parallel, "parallel", 0, "how many runs at a time, each takes one processor (default: one for each processor)")
	p.StringVar(&f.html, "html", "", "write the page to this file too")
	p.StringVar(&f.events, "events", "", "write what happened to this file, line by line; needs a single run")
	f.output.register(c, simulate.Report{}, textFormat, jsonFormat, yamlFormat, htmlFormat, junitFormat)
	f.output.paint = simulatePaint
	return c
}

// simulateFiguresText lists the figures that can be asserted.
func simulateFiguresText() string {
	var names []string
	for _, m := range simulate.Metrics {
		unit := map[string]string{"$": "dollars", "%": "percent", "s": "seconds, or 90s, 2m"}[m.Unit]
		if unit != "" {
			unit = " (" + unit + ")"
		}
		names = append(names, m.Name+unit)
	}
	return folded("Figures for --assert: "+strings.Join(names, ", ")+".", helpWidth)
}

func (f *simulateFlags) run(ctx context.Context, c *cobra.Command) error {
	seeds, err := f.seedList(c)
	if err != nil {
		return &usageError{err}
	}
	var assertions []simulate.Assertion
	if f.assert != "" || c.Flags().Changed("assert") {
		if assertions, err = simulate.Assertions(f.assert); err != nil {
			return &usageError{err}
		}
	}
	if f.output.format == junitFormat && len(assertions) == 0 {
		return &usageError{errors.New("-o junit writes what became of assertions, and there is no --assert")}
	}
	configurations, err := f.configurations(c.InOrStdin())
	if err != nil {
		return err
	}
	if f.events != "" && len(configurations)*len(seeds) > 1 {
		return &usageError{errors.New("--events is of a single run: leave --compare and --seeds out")}
	}
	var specs []*simulate.Spec
	for _, seed := range seeds { // the outer loop: what has been played at any time can be compared
		for _, one := range configurations {
			s, err := f.spec(one, seed)
			if err != nil {
				return err
			}
			specs = append(specs, s)
		}
	}
	if f.workload.out != "" {
		return f.writeWorkload(specs[0], notices(c))
	}
	bar := newProgress(c, specs)
	abandon, stop := interruptAfter(ctx)
	defer stop()
	r := &simulate.Runner{Command: simulateWorker, Parallel: f.parallel, Told: bar.told, Waits: bar.waits, Abandon: abandon}
	results, err := r.Run(ctx, specs)
	bar.done()
	if _, refused := errors.AsType[*simulate.RefusedError](err); refused {
		return &usageError{err}
	}
	if err != nil {
		return err
	}
	report, err := reportOf(configurations, results, assertions)
	if err != nil {
		sayNothingCounted(notices(c), err)
		return err
	}
	if err := f.write(c, report, results); err != nil {
		return err
	}
	switch {
	case ctx.Err() != nil:
		return ctx.Err() // Main says that it was interrupted
	case report.Failed():
		return &exitError{code: foundWrong}
	}
	return nil
}

// sayNothingCounted says why an interrupted simulation has no report: of other errors that follow from an interrupt nothing is said.
func sayNothingCounted(out io.Writer, err error) {
	if errors.Is(err, simulate.ErrNothingCounted) {
		fmt.Fprintln(out, err)
	}
}

// interruptAfter is closed at the first interrupt that comes after ctx has ended, which is the second one of whoever presses Ctrl-C twice.
func interruptAfter(ctx context.Context) (again <-chan struct{}, stop func()) {
	signals, out, over := make(chan os.Signal, 1), make(chan struct{}), make(chan struct{})
	guard.Go("simulate.interrupt", func() {
		select {
		case <-ctx.Done():
		case <-over:
			return
		}
		signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
		defer signal.Stop(signals)
		select {
		case <-signals:
			close(out)
		case <-over:
		}
	})
	return out, func() { close(over) }
}

// simulateWorker starts this program again, as a worker.
func simulateWorker() *exec.Cmd {
	path, err := os.Executable()
	if err != nil {
		path = os.Args[0]
	}
	return &exec.Cmd{Path: path, Args: []string{os.Args[0], simulateWorkerArgument}}
}

// simulateWorkerArgument makes a process one run of kerf simulate. It is no command: nobody else is to call it.
const simulateWorkerArgument = "simulate-worker"

func runSimulateWorker(in io.Reader, out, stderr io.Writer) int {
	if err := simulate.Work(in, out); err != nil {
		fmt.Fprintln(stderr, err)
		return failed
	}
	return done
}

// mostSeeds is how many seeds --seeds takes, in all its parts.
const mostSeeds = 1000

// seedList is the seeds to play, in their order.
func (f *simulateFlags) seedList(c *cobra.Command) ([]uint64, error) {
	if f.seeds == "" {
		return []uint64{f.seed}, nil
	}
	if c.Flags().Changed("seed") {
		return nil, errors.New("--seed and --seeds exclude each other")
	}
	var out []uint64
	for _, part := range strings.Split(f.seeds, ",") {
		first, last, ok := strings.Cut(part, "-")
		if !ok {
			last = first
		}
		a, err := strconv.ParseUint(strings.TrimSpace(first), 10, 64)
		b, err2 := strconv.ParseUint(strings.TrimSpace(last), 10, 64)
		if err != nil || err2 != nil || b < a || b-a >= uint64(mostSeeds-len(out)) {
			return nil, fmt.Errorf("--seeds %s: want numbers, as in 1-10 or 1,4,5, and at most %d of them", f.seeds, mostSeeds)
		}
		for n := range b - a + 1 { // not up to b: behind the largest number comes 0
			seed := a + n
			if slices.Contains(out, seed) {
				return nil, fmt.Errorf("--seeds %s: seed %d is there twice, and a seed played twice comes to the same and tells nothing more", f.seeds, seed)
			}
			out = append(out, seed)
		}
	}
	return out, nil
}

// spec is one run.
func (f *simulateFlags) spec(c *simulate.Configuration, seed uint64) (*simulate.Spec, error) {
	start := time.Duration(-1)
	if f.start != "" {
		var err error
		if start, err = simulate.ParseStart(f.start); err != nil {
			return nil, &usageError{fmt.Errorf("--start %w", err)}
		}
	}
	w, horizon, err := f.workload.make(seed, max(start, 0), f.horizon)
	if err != nil {
		return nil, err
	}
	if start < 0 {
		start = simulate.StartAt(w.Begun)
	}
	s := &simulate.Spec{
		Configuration: c.Name, Manifests: c.Manifests, Settings: c.Settings, Notes: c.Notes, Warnings: c.Warnings, Workload: w, Start: start, Horizon: horizon, Warmup: f.warmup, Seed: seed,
		Types: f.types, Interruptions: f.interruptions, Volatility: f.volatility, Boot: f.boot, Events: f.events != "",
	}
	facts, err := ec2facts.Load()
	if err != nil {
		return nil, err
	}
	s.Region = cmp.Or(f.region, c.Region)
	if at := f.workload.region(); s.Region == "" && slices.Contains(facts.Regions(), at) { // a cluster elsewhere says so on its nodes as well
		s.Region = at
	}
	if s.Region == "" { // a built-in shape on the built-in NodePool is nowhere
		s.Region, s.RegionUnknown = simulate.DefaultRegion, len(f.files) > 0 || f.compare || f.workload.read != nil || f.workload.region() != ""
	}
	if !slices.Contains(facts.Regions(), s.Region) {
		return nil, &usageError{fmt.Errorf("no region %q is known; there are %s", s.Region, strings.Join(facts.Regions(), ", "))}
	}
	for _, t := range f.types {
		if _, ok := facts.Type(t); !ok {
			return nil, &usageError{fmt.Errorf("--instance-types: no type %q is known (kerf catalog lists them)", t)}
		}
	}
	if err := s.Check(); err != nil {
		return nil, &usageError{err}
	}
	return s, nil
}

// simulatePaint colours a report for people.
var simulatePaint = []stroke{
	strokeOf(`^FAILED.*|^REFUSED|^INTERRUPTED.*`, wrongColor...), strokeOf(`^ok `, rightColor...), strokeOf(`may be chance.*|one seed can't.*|^There is one seed.*|^NOTE: .*|compared: nothing.*`, doubtColor...),
	strokeOf(`^(Bill|Instances|Pods|Moved|Interrupted|Refused) `, headingColor...), strokeOf(`^Other than in your cluster:|^\S.* against .*:$`, headingColor...),
}
