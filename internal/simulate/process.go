package simulate

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/kerf-sh/kerf/internal/guard"
)

// nearly is how much longer a run may take, by its pace until an interrupt, that goes on to its end: a run that is ended early counts in no
// comparison. It gets twice that before it is ended all the same. Whoever pressed Ctrl-C waits that long.
const nearly = 10 * time.Second

// worker is the process of one run, seen from the one that started it.
type worker struct {
	spec  *Spec
	began time.Time
	told  func(Progress)

	mu sync.Mutex
	at Progress
}

// run runs the Spec. When interrupt ends the process is told to end, unless it is nearly finished; when kill ends it is killed.
func (w *worker) run(interrupt, kill context.Context, c *exec.Cmd) (*Result, error) {
	input, err := json.Marshal(w.spec)
	if err != nil {
		return nil, err
	}
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
	guard.Go("simulate.end", func() { w.end(c.Process, interrupt, kill, over) })
	last := w.read(bufio.NewReader(out))
	err = c.Wait()
	switch {
	case last.Refused:
		return nil, &RefusedError{last.Error}
	case last.Error != "":
		return nil, errors.New(last.Error)
	case last.Result != nil:
		last.Result.Events = last.Events
		return last.Result, nil
	case interrupt.Err() != nil, kill.Err() != nil:
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("its process ended with %w: %s", err, crash(stderr.String()))
	}
	return nil, errors.New("its process ended without a result")
}

// read reads what the process writes, and returns the last of it that is no progress.
func (w *worker) read(lines *bufio.Reader) (last message) {
	for {
		line, err := lines.ReadBytes('\n')
		if len(line) > 0 {
			var m message
			if json.Unmarshal(line, &m) != nil {
				return last // it ended in the middle; its exit says why
			}
			if m.Progress == nil {
				last = m
			} else {
				w.mu.Lock()
				w.at = *m.Progress
				w.mu.Unlock()
				w.told(*m.Progress)
			}
		}
		if err != nil {
			return last
		}
	}
}

// end ends the process early, if it has to.
func (w *worker) end(p *os.Process, interrupt, kill context.Context, over <-chan struct{}) {
	var late <-chan time.Time
	asked := interrupt.Done()
	for {
		select {
		case <-over:
			return
		case <-kill.Done():
			_ = p.Kill()
			return
		case <-asked:
			asked = nil
			wait := time.Duration(0)
			if w.left(time.Since(w.began)) <= nearly {
				wait = 2 * nearly
			}
			late = time.After(wait)
		case <-late:
			late = nil
			_ = p.Signal(os.Interrupt)
		}
	}
}

// left is how much longer a run takes that has taken so long, if it keeps its pace.
func (w *worker) left(spent time.Duration) time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	done, all := w.at.At+w.spec.Warmup, w.spec.Horizon+w.spec.Warmup
	if w.at.At <= 0 {
		return time.Hour // not known: it is in its warm-up
	}
	return time.Duration(float64(spent) * (float64(all)/float64(done) - 1))
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
