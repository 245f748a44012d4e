// Command run carries many cases out and ends with one line: cases, disagreements.
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
	"time"

	"github.com/kerf-sh/kerf/controlplane/fidelity"
	"github.com/kerf-sh/kerf/controlplane/harness"
)

func main() {
	n := flag.Int("n", 2000, "cases to carry out")
	seed := flag.Uint64("seed", 1, "seed of the first case")
	dir := flag.String("replays", "fidelity-replays", "folder for replay files of disagreements")
	again := flag.String("replay", "", "carry out the case of this replay file and nothing else")
	every := flag.Bool("v", false, "tell every case")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	ok, err := run(ctx, *n, *seed, *dir, *again, *every)
	if err != nil {
		fmt.Fprintln(os.Stderr, "fidelity:", err)
	}
	if err != nil || !ok {
		os.Exit(1)
	}
}

func run(ctx context.Context, n int, seed uint64, dir, again string, every bool) (ok bool, err error) {
	cp, err := harness.Launch(ctx, fidelity.Patient)
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, cp.Close()) }()
	c, err := fidelity.NewCluster(ctx, cp)
	if err != nil {
		return false, err
	}
	if again != "" {
		k, err := fidelity.Load(again)
		if err != nil {
			return false, err
		}
		r, err := c.Carry(ctx, k)
		if err != nil {
			return false, err
		}
		fmt.Println(r.Outcome)
		return r.Outcome.Verdict != fidelity.Disagreed, nil
	}
	var tally fidelity.Tally
	begun := time.Now()
	failed := 0
	for s := seed; s < seed+uint64(n) && ctx.Err() == nil; s++ {
		r, err := c.Run(ctx, s)
		if err != nil {
			failed++
			fmt.Println(err)
			continue
		}
		tally.Add(r.Outcome)
		if every || r.Outcome.Verdict == fidelity.Disagreed {
			fmt.Println(r.Outcome)
		}
		if r.Outcome.Verdict == fidelity.Disagreed {
			path, err := r.Save(dir)
			if err != nil {
				return false, err
			}
			fmt.Println("  replay file:", path)
		}
	}
	fmt.Printf("seeds %d to %d: %s, %d not carried out, in %s\n", seed, seed+uint64(tally.Cases+failed)-1, &tally, failed, time.Since(begun).Round(time.Second))
	return tally.Disagreed == 0 && failed == 0, nil
}
