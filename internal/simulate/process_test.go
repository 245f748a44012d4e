package simulate_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kerf-sh/kerf/internal/simulate"
	"github.com/kerf-sh/kerf/internal/simulate/workload"
)

// asStub makes this test binary a process that only behaves as a worker does, by the seed of its Spec.
const asStub = "KERF_TEST_SIMULATE_STUB"

const (
	finishes = 1 // writes a result
	isBusy   = 2 // writes that it is halfway, and nothing else whatever it is told
	isNearly = 3 // writes that it is nearly finished, and its result once its file 3 is at its end; when it is told to end it has nothing
)

func stub() {
	var s simulate.Spec
	if err := json.NewDecoder(os.Stdin).Decode(&s); err != nil {
		os.Exit(1)
	}
	told := make(chan os.Signal, 1)
	signal.Notify(told, os.Interrupt)
	write := func(what string, v any) {
		text, _ := json.Marshal(v)
		fmt.Printf("{%q:%s}\n", what, text)
	}
	gate := os.NewFile(3, "gate")
	open := make(chan struct{})
	go func() {
		_, _ = io.Copy(io.Discard, gate)
		close(open)
	}()
	switch s.Seed {
	case isBusy:
		write("progress", simulate.Progress{At: s.Horizon / 2, Of: s.Horizon})
		<-make(chan struct{})
	case isNearly:
		write("progress", simulate.Progress{At: s.Horizon - time.Second, Of: s.Horizon})
		select {
		case <-told:
			os.Exit(1)
		case <-open:
		}
	}
	write("result", simulate.Result{Seed: s.Seed, SimulatedSeconds: int64(s.Horizon.Seconds()), HorizonSeconds: int64(s.Horizon.Seconds())})
}

// stubs runs Specs of these seeds by stubs, whose file 3 ends when release is called.
func stubs(t *testing.T, seeds ...uint64) (r *simulate.Runner, specs []*simulate.Spec, release func()) {
	t.Helper()
	w, err := workload.Read("trace.csv", strings.NewReader(trace), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, seed := range seeds {
		specs = append(specs, specOf(t, w, 24*time.Hour, seed))
	}
	read, hold, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { read.Close(); hold.Close() })
	r = &simulate.Runner{Parallel: 2, Command: func() *exec.Cmd {
		c := exec.Command(os.Args[0])
		c.Env, c.ExtraFiles = append(c.Env, asStub+"=1"), []*os.File{read}
		return c
	}}
	return r, specs, func() { hold.Close() }
}

// A busy run is waited for until it is given up, which ends at once and leaves what was finished before.
func TestABusyRunIsGivenUpAtOnce(t *testing.T) {
	r, specs, _ := stubs(t, finishes, isBusy, isBusy, finishes)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	busy, abandon := 0, make(chan struct{})
	r.Abandon = abandon
	var over []int
	r.Told = func(run int, p simulate.Progress) {
		if p.At == p.Of {
			over = append(over, run)
		} else if busy++; busy == 2 {
			cancel()
		}
	}
	var waited [][]int
	r.Waits = func(runs []int) {
		if waited = append(waited, runs); len(waited) == 1 {
			close(abandon)
		}
	}
	out, err := r.Run(ctx, specs)
	if err != nil {
		t.Fatal(err)
	}
	if out[0] == nil || !out[0].Whole() || out[1] != nil || out[2] != nil || out[3] != nil {
		t.Errorf("%+v", out)
	}
	if len(waited) == 0 || !slices.Equal(waited[0], []int{1, 2}) || !slices.Equal(over, []int{0}) {
		t.Errorf("waited for %v, told that %v are over", waited, over)
	}
}

// A run that an interrupt finds at its end goes on to it: ended early it would count in no comparison.
func TestANearlyFinishedRunIsFinished(t *testing.T) {
	r, specs, release := stubs(t, isNearly, finishes, isNearly, finishes)
	r.Parallel = 1
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	r.Told = func(int, simulate.Progress) { cancel() }
	r.Waits = func(runs []int) {
		if !slices.Equal(runs, []int{0}) {
			t.Errorf("waits for %v", runs)
		}
		release()
	}
	out, err := r.Run(ctx, specs)
	if err != nil {
		t.Fatal(err)
	}
	if out[0] == nil || !out[0].Whole() || out[1] != nil || out[2] != nil || out[3] != nil {
		t.Errorf("%+v", out)
	}
}
