package beside

import (
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"time"
)

// Story is something that happens in the cluster, and what is measured meanwhile.
type Story struct {
	Name, What string
	run        func(ctx context.Context, h *testCluster) (*Figures, error)
}

// Figures are what a story took with one controller.
type Figures struct {
	Controller string
	// Measured is how long was measured.
	Measured  time.Duration
	Instances int
	Pods      int
	// CPU of the controller while it was measured; RSS at its end and Peak since the controller's start, bytes.
	CPU       time.Duration
	RSS, Peak int64
	// Calls that reached AWS, page by page, by operation; Writes are those to the Kubernetes API, leases left out.
	Calls  map[string]int
	Writes int
	// Before and After are the bill in micro-USD per hour when the measurement began and ended.
	Before, After int64
	// Near is when the bill was, for good, within five percent of where it ended; Steady when it had not moved for a
	// minute. Both are 0 when that did not happen in time.
	Near, Steady time.Duration
	// Served is when all pods of a burst ran, since it began; 0 for other stories.
	Served time.Duration
	// Placed is where the scheduler put pods that a decision had given a place, by the decision: provisioning or disruption.
	// Upstream does not say.
	Placed map[string]Placed
	// Curve is the bill over time.
	Curve []Point
}

// Point of a Curve.
type Point struct {
	At        time.Duration
	Instances int
	MicroUSD  int64
}

// Stories that can be told.
//
// Still is how long the bill must not have moved for a scale-down to be over.
func Stories(still time.Duration) []Story {
	out := []Story{
		{"calls", "ten classes and pools with an instance each, and ten minutes in which nothing happens", quiet(10, 10, 10*time.Minute)},
	}
	for _, n := range []int{100, 500, 1000} {
		out = append(out, Story{fmt.Sprintf("rest-%d", n), fmt.Sprintf("%d nodes with 15 pods each, and five minutes in which nothing happens", n), rest(n, 15, 5*time.Minute)})
	}
	for _, b := range bursts() {
		out = append(out, Story{"burst-" + b.name, b.what + ", until all run", begin(b, 0)},
			Story{"burst-" + b.name + "-busy", b.what + ", until all run, beside a busy loop on each core", begin(b, 1)},
			Story{"burst-" + b.name + "-loaded", b.what + ", until all run, beside ten busy loops on each core", begin(b, 10)})
	}
	for _, s := range shrinkings() {
		out = append(out, Story{s.name, s.what(still), shrink(s, still, 12*time.Minute+still)})
	}
	return out
}

// Tell runs a story with a controller. Its logs are kept when it fails, and if that is wanted.
//
// Errors: what does not start or does not come to pass.
func Tell(ctx context.Context, s Story, c Controller, binary string, keep bool, say func(format string, args ...any)) (f *Figures, err error) {
	folder, err := os.MkdirTemp("", "kerf-beside-")
	if err != nil {
		return nil, fmt.Errorf("%s with %s: %w", s.Name, c.Name, err)
	}
	h, err := open(ctx, c, binary, folder, say)
	if err != nil {
		return nil, fmt.Errorf("%s with %s: %w; logs in %s", s.Name, c.Name, err, folder)
	}
	f, err = s.run(ctx, h)
	if closing := h.close(); err == nil {
		err = closing
	}
	if err != nil {
		return nil, fmt.Errorf("%s with %s: %w; logs in %s", s.Name, c.Name, err, folder)
	}
	f.Controller = c.Name
	if keep {
		say("logs in %s", folder)
		return f, nil
	}
	return f, os.RemoveAll(folder)
}

// measure counts what the controller takes while fn runs.
func (h *testCluster) measure(ctx context.Context, fn func(*Figures) error) (*Figures, error) {
	f := &Figures{}
	_, offset, err := h.writes(0)
	if err != nil {
		return nil, err
	}
	if _, f.Before, err = h.bill(ctx); err != nil {
		return nil, err
	}
	pid := h.cluster.Controller.PID()
	before, err := read(pid)
	if err != nil {
		return nil, err
	}
	if err := h.aws.ForgetCalls(ctx); err != nil {
		return nil, err
	}
	placed, err := h.placed(ctx)
	if err != nil {
		return nil, err
	}
	began := time.Now()
	if err := fn(f); err != nil {
		return nil, err
	}
	f.Measured = time.Since(began)
	if f.Placed, err = h.placed(ctx); err != nil {
		return nil, err
	}
	for decision, p := range placed {
		f.Placed[decision] = f.Placed[decision].minus(p)
	}
	after, err := read(pid)
	if err != nil {
		return nil, fmt.Errorf("the controller ended meanwhile: %w", err)
	}
	f.CPU, f.RSS, f.Peak = after.cpu-before.cpu, after.rss, after.peak
	if f.Calls, err = h.aws.CallCounts(ctx); err != nil {
		return nil, err
	}
	if f.Writes, _, err = h.writes(offset); err != nil {
		return nil, err
	}
	if f.Instances, f.After, err = h.bill(ctx); err != nil {
		return nil, err
	}
	_, f.Pods, err = h.pods(ctx)
	return f, err
}

// asleep is a measurement in which nothing happens.
func (h *testCluster) asleep(ctx context.Context, d time.Duration) (*Figures, error) {
	return h.measure(ctx, func(*Figures) error {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(d):
			return nil
		}
	})
}

// CallsPerMinute are those of all operations, the most frequent first in the text.
func (f *Figures) CallsPerMinute() (total float64, text string) {
	ops := slices.SortedFunc(maps.Keys(f.Calls), func(a, b string) int {
		if f.Calls[a] != f.Calls[b] {
			return f.Calls[b] - f.Calls[a]
		}
		return strings.Compare(a, b)
	})
	var parts []string
	for _, op := range ops {
		n := float64(f.Calls[op]) / f.Measured.Minutes()
		total += n
		parts = append(parts, fmt.Sprintf("%s %.1f", op, n))
	}
	return total, strings.Join(parts, ", ")
}
