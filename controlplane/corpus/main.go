// Command corpus solves a fixed set of problems and compares the digests of the decisions with those that are recorded in
// testdata/digests.txt. A change that only rearranges code changes none; one that is to change decisions records them anew
// with -write, alone in its commit, and says what the decisions that differ cost before and after.
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
	"maps"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/kerf-sh/kerf/internal/controller/decisions"
	"github.com/kerf-sh/kerf/internal/engine/catalog"
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

func run(ctx context.Context, file, only, records string, anew bool) error {
	got, err := decide(ctx, only)
	if err != nil {
		return err
	}
	if anew {
		if only != "" {
			return errors.New("-write records all digests: leave -only out")
		}
		return write(file, got)
	}
	recorded, err := read(file, only)
	if err != nil {
		return err
	}
	differing, before, after := compare(recorded, got)
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
	if before > 0 {
		fmt.Printf("those that differ cost $%.4f an hour before, $%.4f now (%+.3f %%)\n", dollars(before), dollars(after), 100*(float64(after)/float64(before)-1))
	}
	if len(differing) > 0 {
		return fmt.Errorf("%d decisions differ from %s", len(differing), file)
	}
	return nil
}

// decide solves the problems whose name begins with only.
func decide(ctx context.Context, only string) (map[string]decided, error) {
	var wanted []problem
	for _, p := range problems() {
		if strings.HasPrefix(p.name, only) {
			wanted = append(wanted, p)
		}
	}
	made, errs := make([]decided, len(wanted)), make([]error, len(wanted))
	next := make(chan int)
	var workers sync.WaitGroup
	for range runtime.NumCPU() {
		workers.Go(func() {
			for i := range next {
				made[i], errs[i] = wanted[i].decide()
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
	out := map[string]decided{}
	for i, p := range wanted {
		out[p.name] = made[i]
	}
	return out, errors.Join(append(errs, ctx.Err())...)
}

// write records decisions: a line of name, digest and price, by name.
func write(file string, made map[string]decided) error {
	var text strings.Builder
	for _, name := range slices.Sorted(maps.Keys(made)) {
		fmt.Fprintf(&text, "%s %s %d\n", name, made[name].digest, made[name].price)
	}
	return os.WriteFile(file, []byte(text.String()), 0o644)
}

// read are the recorded decisions whose name begins with only.
func read(file, only string) (map[string]decided, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("reading the recorded digests (record them with -write): %w", err)
	}
	out := map[string]decided{}
	for line := range strings.Lines(string(text)) {
		var name string
		var d decided
		if _, err := fmt.Sscan(line, &name, &d.digest, &d.price); err != nil {
			return nil, fmt.Errorf("reading %q of %s: %w", strings.TrimSpace(line), file, err)
		}
		if strings.HasPrefix(name, only) {
			out[name] = d
		}
	}
	return out, nil
}

// compare says which decisions are not as recorded, those that are missing on either side among them, and what the
// others cost an hour before and now.
func compare(recorded, got map[string]decided) (differing []string, before, after catalog.MicroUSD) {
	for name, d := range got {
		was, known := recorded[name]
		switch {
		case !known:
			differing = append(differing, name+" (new)")
		case was.digest != d.digest:
			differing = append(differing, fmt.Sprintf("%s: $%.4f an hour before, $%.4f now", name, dollars(was.price), dollars(d.price)))
			before += was.price
			after += d.price
		}
	}
	for name := range recorded {
		if _, still := got[name]; !still {
			differing = append(differing, name+" (recorded, and no problem any more)")
		}
	}
	slices.Sort(differing)
	return differing, before, after
}

func dollars(x catalog.MicroUSD) float64 { return float64(x) / 1e6 }

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
