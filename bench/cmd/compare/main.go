// Command compare runs Kerf's engine and upstream Karpenter's on the same inputs and prints what each took and what its
// plan costs. Interrupted, it prints what it has.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"regexp"
	"runtime"
	"syscall"
	"time"

	"github.com/kerf-sh/kerf/bench"
	"github.com/kerf-sh/kerf/bench/peer"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "compare:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	flags := flag.NewFlagSet("compare", flag.ExitOnError) // flag.CommandLine has flags of imported packages, too
	full := flags.Bool("full", false, "all inputs, those too that take upstream minutes")
	only := flags.String("only", "", "only inputs whose name matches this regular expression, slow ones too")
	list := flags.Bool("list", false, "print the inputs and end")
	markdown := flags.String("markdown", "", "write the tables to this file too, as Markdown")
	procs := flags.Int("procs", 1, "cores that both may use")
	cut := flags.Duration("cut", 10*time.Minute, "end upstream's pass after this time (its controller does after one minute); 0: never")
	enough := flags.Duration("enough", 2*time.Second, "repeat short computations, at most five times, for about so long")
	work := flags.Bool("work", false, "print what plans of Kerf's cost by the work that may be spent on improving them, and nothing of upstream")
	rounds := flags.Int("rounds", 30, "rounds of consolidation at most")
	if err := flags.Parse(os.Args[1:]); err != nil {
		return err
	}
	if flags.NArg() > 0 {
		return fmt.Errorf("unexpected argument %q; -only names inputs", flags.Arg(0))
	}
	match, err := regexp.Compile(*only)
	if err != nil {
		return fmt.Errorf("-only: %w", err)
	}
	measured := revision(ctx) // before the tree changes under a long run
	runtime.GOMAXPROCS(*procs)
	o := bench.Options{Procs: *procs, Cut: *cut, Enough: *enough, Rounds: *rounds}
	var rows []*bench.Row
	var thinned []*bench.Thinned
	var worked []*bench.Worked
	for _, in := range bench.Inputs() {
		if *list {
			fmt.Printf("%-22s %s\n", in.Name, in.What)
			continue
		}
		if ctx.Err() != nil {
			break
		}
		if !match.MatchString(in.Name) || (in.Slow && !*full && *only == "") {
			continue
		}
		start := time.Now()
		if *work {
			if in.Consolidate {
				continue
			}
			r, err := bench.Work(in, o)
			if errors.Is(err, bench.ErrNoTrace) {
				continue
			}
			if err != nil {
				return err
			}
			worked = append(worked, r)
		} else if in.Consolidate {
			r, err := bench.Consolidate(ctx, in, o)
			if ctx.Err() != nil {
				break
			}
			if err != nil {
				return err
			}
			thinned = append(thinned, r)
		} else {
			r, err := bench.Compare(ctx, in, o)
			if ctx.Err() != nil {
				break
			}
			if errors.Is(err, bench.ErrNoTrace) {
				fmt.Fprintf(os.Stderr, "%s: left out: %v\n", in.Name, err)
				continue
			}
			if err != nil {
				return err
			}
			rows = append(rows, r)
			for _, v := range r.Peer.Violations[:min(3, len(r.Peer.Violations))] {
				fmt.Fprintf(os.Stderr, "%s: upstream's plan: %s\n", in.Name, v)
			}
		}
		fmt.Fprintf(os.Stderr, "%s: done in %.0f s\n", in.Name, time.Since(start).Seconds())
	}
	if *list {
		for _, in := range bench.SteadyInputs() {
			fmt.Printf("%-22s %s\n", in.Name, in.What)
		}
		return nil
	}
	if *work {
		return write([]*bench.Table{bench.WorkTable(worked)}, measured, *procs, *markdown)
	}
	steadied, err := steady(ctx, o, func(in bench.SteadyInput) bool {
		return match.MatchString(in.Name) && (!in.Slow || *full || *only != "")
	})
	if err != nil {
		return err
	}
	return write(bench.Tables(rows, thinned, steadied), measured, *procs, *markdown)
}

// steady compares Kerf with itself on the inputs that are wanted.
func steady(ctx context.Context, o bench.Options, wanted func(bench.SteadyInput) bool) ([]*bench.Steadied, error) {
	var out []*bench.Steadied
	for _, in := range bench.SteadyInputs() {
		if ctx.Err() != nil || !wanted(in) {
			continue
		}
		r, err := bench.Steady(in, o)
		if err != nil {
			return out, err
		}
		out = append(out, r)
	}
	return out, nil
}

func write(tables []*bench.Table, revision string, procs int, markdown string) error {
	fmt.Printf("upstream %s, Kerf %s, %s, %d core(s)\n", peer.Version, revision, runtime.Version(), procs)
	for _, t := range tables {
		fmt.Println()
		if err := t.Text(os.Stdout); err != nil {
			return err
		}
	}
	return bench.WriteMarkdown(markdown, tables...)
}
