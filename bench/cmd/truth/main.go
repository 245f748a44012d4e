// Command truth plays the same workloads in a simulation and on a real control plane, and prints how far apart they are.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/kerf-sh/kerf/bench"
	"github.com/kerf-sh/kerf/bench/beside"
	"github.com/kerf-sh/kerf/bench/truth"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "truth:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	flags := flag.NewFlagSet("truth", flag.ExitOnError)
	only := flags.String("only", ".", "stories whose name matches this regular expression")
	who := flags.String("who", "simulated,kerf,upstream", "who plays them: simulated, kerf and upstream, the last two on a real control plane")
	seed := flags.Uint64("seed", 1, "what instance prices and times are drawn from")
	parallel := flags.Int("parallel", 2, "how many stories are played on real control planes at a time; a busy computer makes them late")
	curves := flags.Bool("curves", false, "print the bills over time as well")
	markdown := flags.String("markdown", "", "write the table to this file too, as Markdown")
	if err := flags.Parse(os.Args[1:]); err != nil {
		return err
	}
	if flags.NArg() > 0 {
		return fmt.Errorf("unexpected argument %q; -only names stories", flags.Arg(0))
	}
	match, err := regexp.Compile(*only)
	if err != nil {
		return fmt.Errorf("-only: %w", err)
	}
	players := strings.Split(*who, ",")
	for _, p := range players {
		if !slices.Contains([]string{"simulated", "kerf", "upstream"}, p) {
			return fmt.Errorf("-who: %q is none of simulated, kerf and upstream", p)
		}
	}
	stories, err := truth.Stories()
	if err != nil {
		return err
	}
	stories = slices.DeleteFunc(stories, func(s truth.Story) bool { return !match.MatchString(s.Name) })
	folder, err := os.MkdirTemp("", "kerf-truth-bin-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(folder) }() // a folder of the system's for such files
	binaries := map[string]string{}
	for _, c := range beside.Controllers() {
		if !slices.Contains(players, c.Name) && (c.Name != "kerf" || !slices.Contains(players, "simulated")) {
			continue
		}
		bench.Say("building %s", c.Name)
		if binaries[c.Name], err = c.Build(ctx, folder); err != nil {
			return err
		}
	}
	var rows []*truth.Row
	for _, s := range stories {
		rows = append(rows, &truth.Row{Story: s, Seed: *seed})
	}
	err = play(ctx, rows, players, binaries, *parallel)
	if err := errors.Join(err, truth.Table(rows).Text(os.Stdout)); err != nil {
		return err
	}
	for _, r := range rows {
		if *curves && r.Local != nil && r.Simulated != nil {
			if err := truth.Curves(r).Text(os.Stdout); err != nil {
				return err
			}
		}
	}
	return bench.WriteMarkdown(*markdown, truth.Table(rows))
}

// play has everybody play all stories. Simulations do not run beside real clusters: these are late on a busy computer.
func play(ctx context.Context, rows []*truth.Row, players []string, binaries map[string]string, parallel int) error {
	var failed []error
	if slices.Contains(players, "simulated") {
		for _, r := range rows {
			bench.Say("simulating %s", r.Story.Name)
			var err error
			if r.Simulated, err = truth.Simulated(ctx, r.Story, binaries["kerf"], r.Seed); err != nil {
				failed = append(failed, err)
			}
		}
	}
	var mu sync.Mutex
	var all sync.WaitGroup
	free := make(chan struct{}, max(1, parallel))
	for _, c := range beside.Controllers() {
		if !slices.Contains(players, c.Name) {
			continue
		}
		for _, r := range rows {
			free <- struct{}{}
			all.Go(func() {
				defer func() { <-free }()
				bench.Say("playing %s with %s: %s", r.Story.Name, c.Name, 30*time.Second+truth.Warmup+truth.Horizon)
				p, err := truth.Local(ctx, r.Story, c, binaries[c.Name], r.Seed)
				mu.Lock()
				defer mu.Unlock()
				switch {
				case err != nil:
					failed = append(failed, err)
				case c.Admin:
					r.Upstream = p
				default:
					r.Local = p
				}
			})
		}
	}
	all.Wait()
	return errors.Join(failed...)
}
