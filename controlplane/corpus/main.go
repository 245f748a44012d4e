// Command corpus solves a fixed set of problems and compares the digests of the decisions with those that are recorded in
// testdata/digests.txt. A change that only rearranges code changes none; one that is to change decisions records them anew
// with -write, alone in its commit.
//
//	go run -C controlplane ./corpus            # some minutes; names every decision that differs
//	go run -C controlplane ./corpus -write     # records the digests anew
//	go run -C controlplane ./corpus -records DIR   # also replays recorded decisions (*.kerf), which carry their own plans
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/kerf-sh/kerf/internal/controller/decisions"
	"github.com/kerf-sh/kerf/internal/engine/record"
)

func main() {
	write := flag.Bool("write", false, "record the digests anew")
	only := flag.String("only", "", "problems whose name begins with this")
	records := flag.String("records", "", "folder of recorded decisions to replay as well")
	file := flag.String("file", "corpus/testdata/digests.txt", "file of the digests")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, *file, *only, *records, *write); err != nil {
		fmt.Fprintln(os.Stderr, "corpus:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, file, only, records string, write bool) error {
	got, err := digests(ctx, only)
	if err != nil {
		return err
	}
	if write {
		if only != "" {
			return errors.New("-write records all digests: leave -only out")
		}
		return os.WriteFile(file, []byte(strings.Join(got, "\n")+"\n"), 0o644)
	}
	differing, err := compare(file, only, got)
	if err != nil {
		return err
	}
	replayed := 0
	if records != "" {
		var differ []string
		if replayed, differ, err = replay(records); err != nil {
			return err
		}
		differing = append(differing, differ...)
	}
	for _, name := range differing {
		fmt.Println("differs:", name)
	}
	fmt.Printf("%d decisions, %d records replayed, %d differ\n", len(got), replayed, len(differing))
	if len(differing) > 0 {
		return fmt.Errorf("%d decisions differ from %s", len(differing), file)
	}
	return nil
}

// digests are lines of a problem's name and the digest of its decision, in the order of the problems.
func digests(ctx context.Context, only string) ([]string, error) {
	var wanted []problem
	for _, p := range problems() {
		if strings.HasPrefix(p.name, only) {
			wanted = append(wanted, p)
		}
	}
	lines, errs := make([]string, len(wanted)), make([]error, len(wanted))
	next := make(chan int)
	var workers sync.WaitGroup
	for range runtime.NumCPU() {
		workers.Go(func() {
			for i := range next {
				digest, err := wanted[i].digest()
				lines[i], errs[i] = wanted[i].name+" "+digest, err
			}
		})
	}
	for i := range wanted {
		if ctx.Err() != nil {
			break
		}
		next <- i
	}
	close(next)
	workers.Wait()
	return lines, errors.Join(append(errs, ctx.Err())...)
}

// compare names the decisions that are not as recorded, those that are missing on either side among them.
func compare(file, only string, got []string) ([]string, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("reading the recorded digests (record them with -write): %w", err)
	}
	recorded := map[string]bool{}
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, only) {
			recorded[strings.TrimSpace(line)] = true
		}
	}
	var out []string
	for _, line := range got {
		if !recorded[line] {
			out = append(out, strings.Fields(line)[0])
		}
		delete(recorded, line)
	}
	for line := range recorded {
		if name := strings.Fields(line)[0]; !slices.Contains(out, name) {
			out = append(out, name+" (recorded, and no problem any more)")
		}
	}
	slices.Sort(out)
	return out, nil
}

// replay makes every recorded decision of a folder again and names those that come out otherwise.
func replay(folder string) (n int, differ []string, err error) {
	files, err := filepath.Glob(filepath.Join(folder, "*.kerf"))
	if err != nil || len(files) == 0 {
		return 0, nil, errors.Join(fmt.Errorf("no *.kerf in %s", folder), err)
	}
	for _, file := range files {
		d, err := decisions.ReadFile(file)
		if err != nil {
			return 0, nil, err
		}
		var same bool
		if d.Asked != nil {
			out, err := record.ReplayDisruption(d)
			if err != nil {
				return 0, nil, fmt.Errorf("%s: %w", file, err)
			}
			same = record.SameDisruption(out, d.Consolidation())
		} else {
			p, err := record.Replay(d)
			if err != nil {
				return 0, nil, fmt.Errorf("%s: %w", file, err)
			}
			same = record.SamePlan(p, d.Plan)
		}
		if !same {
			differ = append(differ, file)
		}
	}
	return len(files), differ, nil
}
