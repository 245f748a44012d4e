// Command run carries many cases out and ends with one line: cases, planned pods bound, impossible pods checked, how
// many cases depend on the order of binding, disagreements, seconds.
//
//	go run ./fidelity/run -n 2000 -seed 1
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"time"

	"github.com/kerf-sh/kerf/controlplane/fidelity"
)

type settings struct {
	n       int
	seed    uint64
	workers int
	dir     string
	replay  string
	every   bool
	also    string
}

func main() {
	var s settings
	flag.IntVar(&s.n, "n", 2000, "cases to carry out")
	flag.Uint64Var(&s.seed, "seed", 1, "seed of the first case")
	flag.IntVar(&s.workers, "workers", 3, "control planes side by side")
	flag.StringVar(&s.dir, "replays", "fidelity-replays", "folder for replay files of disagreements")
	flag.StringVar(&s.replay, "replay", "", "carry out the case of this replay file and nothing else")
	flag.StringVar(&s.also, "features", "", "make these features frequent in every case, as spread-other,min-values")
	flag.BoolVar(&s.every, "v", false, "tell every case")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	ok, err := run(ctx, s)
	if err != nil {
		fmt.Fprintln(os.Stderr, "fidelity:", err)
	}
	if err != nil || !ok {
		os.Exit(1)
	}
}

func run(ctx context.Context, s settings) (ok bool, err error) {
	if s.replay != "" {
		s.workers = 1
	}
	planes, err := fidelity.NewControlPlanes(ctx, s.workers)
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, planes.Close()) }()
	if s.replay != "" {
		k, err := fidelity.Load(s.replay)
		if err != nil {
			return false, err
		}
		r, err := planes.Case(ctx, k)
		if err != nil {
			return false, err
		}
		fmt.Println(r.Outcome)
		return r.Outcome.Verdict != fidelity.Disagreed, nil
	}
	if s.also != "" {
		planes.Features = strings.Split(s.also, ",")
	}
	var tally fidelity.Tally
	begun := time.Now()
	planes.Seeds(ctx, s.seed, s.n, nil, func(r fidelity.Result) {
		if r.Err != nil {
			tally.Failed++
			fmt.Println(r.Err)
			return
		}
		tally.Add(r.Run.Outcome)
		disagreed := r.Run.Outcome.Verdict == fidelity.Disagreed
		if s.every || disagreed {
			fmt.Printf("%s, %.1f s\n", r.Run.Outcome, r.Took.Seconds())
		}
		if disagreed {
			path, saved := r.Run.Save(s.dir)
			err = errors.Join(err, saved)
			fmt.Println("  replay file:", path)
		}
	})
	fmt.Printf("seeds %d to %d: %s, %.0f s\n", s.seed, s.seed+uint64(tally.Cases+tally.Failed)-1, &tally, time.Since(begun).Seconds())
	return err == nil && tally.Disagreed == 0 && tally.Failed == 0, err
}
