package simulate

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/kerf-sh/kerf/internal/guard"
)

// Runner runs Specs, each in a process of its own.
type Runner struct {
	// Command starts a worker: a program that calls Work with its standard input and output. Args[0] is its name, Path where it is.
	Command func() *exec.Cmd
	// Parallel is how many run at a time; one for each processor if it is 0.
	Parallel int
	// Told, if set, hears how far each run is. It is called by one goroutine at a time.
	Told func(run int, p Progress)
}

// patience is how long a worker that was told to end may take to write what it has.
const patience = time.Minute

// Run runs all and returns their results in the same order. When ctx ends, those that run are ended and return what they have;
// results of those that had not begun are nil.
//
// Errors: the first run that failed; the others are ended then.
func (r *Runner) Run(ctx context.Context, specs []*Spec) ([]*Result, error) {
	for _, s := range specs {
		if err := s.Check(); err != nil {
			return nil, err
		}
	}
	n := r.Parallel
	if n <= 0 {
		n = runtime.NumCPU()
	}
	within, cancel := context.WithCancel(ctx)
	defer cancel()
	results := make([]*Result, len(specs))
	var mu sync.Mutex
	var failed error
	next := make(chan int)
	work := &guard.Group{}
	for range min(n, len(specs)) {
		work.Go("simulate.runs", func() error {
			for i := range next {
				out, err := r.one(within, specs[i], func(p Progress) {
					mu.Lock()
					defer mu.Unlock()
					if r.Told != nil {
						r.Told(i, p)
					}
				})
				mu.Lock()
				results[i] = out
				if err != nil && failed == nil {
					failed = named(specs[i], err)
					cancel()
				}
				mu.Unlock()
			}
			return nil
		})
	}
	for i := range specs {
		select {
		case next <- i:
			continue
		case <-within.Done():
		}
		break
	}
	close(next)
	if err := work.Wait(); failed == nil {
		failed = err // a panic
	}
	return results, failed
}

// named is the error of a run, with which it is; what is refused names its file.
func named(s *Spec, err error) error {
	if _, refused := errors.AsType[*RefusedError](err); !refused {
		return fmt.Errorf("%s, seed %d: %w", cmp.Or(s.Configuration, "simulation"), s.Seed, err)
	}
	if s.Configuration == "" {
		return err
	}
	return fmt.Errorf("%s: %w", s.Configuration, err)
}

// one runs one Spec.
func (r *Runner) one(ctx context.Context, s *Spec, told func(Progress)) (*Result, error) {
	input, err := json.Marshal(s)
	if err != nil {
		return nil, err
	}
	c := r.Command()
	var stderr bytes.Buffer
	c.Stdin, c.Stderr = bytes.NewReader(input), &stderr
	// A run is one goroutine after the other as far as can be: with one processor it is, and others have theirs. It makes much that is
	// soon of no use, so it collects that seldom as long as it is small, and as often as it must from the limit on.
	c.Env = append(append(c.Environ(), "GOMAXPROCS=1", "GOGC=400", "GOMEMLIMIT=1GiB", "GODEBUG=randautoseed=0,asyncpreemptoff=1"), c.Env...)
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // Ctrl-C is for the caller, who tells it
	out, err := c.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := c.Start(); err != nil {
		return nil, fmt.Errorf("start a process of its own: %w", err)
	}
	over := make(chan struct{})
	defer close(over)
	guard.Go("simulate.end", func() {
		select {
		case <-over:
			return
		case <-ctx.Done():
		}
		_ = c.Process.Signal(os.Interrupt)
		select {
		case <-over:
		case <-time.After(patience):
			_ = c.Process.Kill()
		}
	})
	var last message
	lines := bufio.NewReader(out)
	for {
		line, err := lines.ReadBytes('\n')
		if len(line) > 0 {
			var m message
			if jerr := json.Unmarshal(line, &m); jerr != nil {
				break // it ended in the middle; its exit says why
			}
			if m.Progress != nil {
				told(*m.Progress)
			} else {
				last = m
			}
		}
		if err != nil {
			break
		}
	}
	err = c.Wait()
	switch {
	case last.Refused:
		return nil, &RefusedError{last.Error}
	case last.Error != "":
		return nil, errors.New(last.Error)
	case last.Result != nil:
		last.Result.Events = last.Events
		return last.Result, nil
	case ctx.Err() != nil:
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("its process ended with %w: %s", err, crash(stderr.String()))
	}
	return nil, errors.New("its process ended without a result")
}

// crash is what a process said last that ended badly: its panic, or its last lines. All of it is kept in a file, for a report.
func crash(stderr string) string {
	text := lastWords(stderr)
	if f, err := os.CreateTemp("", "kerf-simulate-*.log"); err == nil {
		defer f.Close()
		if _, err := f.WriteString(stderr); err == nil {
			text += " (all of it: " + f.Name() + ")"
		}
	}
	return text
}

func lastWords(stderr string) string {
	for line := range strings.Lines(stderr) {
		if strings.HasPrefix(line, "panic:") || strings.HasPrefix(line, "fatal error:") {
			return strings.TrimSpace(line)
		}
	}
	lines := strings.Split(strings.TrimSpace(stderr), "\n")
	return strings.Join(lines[max(0, len(lines)-3):], "; ")
}
