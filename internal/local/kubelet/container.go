// Package kubelet does for one container, run as a process of this instance, what a kubelet does for it in a pod: its
// environment and command line, the token of its service account, its probes, and its restarts.
package kubelet

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"
)

// A Container is a process that is started again when it ends by itself and when its liveness probe fails. A caller who
// kills it decides when it comes back. The fields are set before Start.
type Container struct {
	Name    string   // in reports: the controller
	Command []string // program and arguments
	Env     []string // the whole environment, as NAME=VALUE; of a name that is there twice the last counts
	Dir     string   // working directory
	Log     string   // file that gets the output of every run
	Probes  Probes
	Grace   time.Duration // from SIGTERM to SIGKILL; 0: 30 s, as in a pod
	Report  func(string)  // is told of restarts and of probes that fail
	Changed func()        // is called after each change of what State returns; nil: nobody is told

	mu       sync.Mutex
	current  *run // nil while no process runs
	last     *Exit
	next     time.Time // when the next run starts, while none runs
	cancel   func()
	backOff  backOff
	restarts int
	stopped  bool // for good
}

// A run is one life of the process.
type run struct {
	cmd     *exec.Cmd
	begun   time.Time
	done    chan struct{} // closed when the process has ended
	ended   time.Time     // to be read after done
	ready   bool          // guarded by Container.mu
	started bool          // its startup probe has succeeded; guarded by Container.mu
}

// defaultGrace is terminationGracePeriodSeconds where a pod sets none.
const defaultGrace = 30 * time.Second

// Start starts the process unless it runs and waits until it is ready. It asks more often than the readiness probe does,
// so that nobody waits for the next probe.
//
// Errors: the end of the log if the process ends first; the context's if it is not ready in time.
func (c *Container) Start(ctx context.Context) error {
	c.mu.Lock()
	r, err := c.startLocked()
	if err != nil {
		c.mu.Unlock()
		return fmt.Errorf("start %s: %w", c.Name, err)
	}
	life, cancel := context.WithCancel(context.Background())
	c.cancel = cancel
	c.mu.Unlock()
	if err := c.awaitReady(ctx, r); err != nil {
		return fmt.Errorf("start %s: %w", c.Name, err)
	}
	go c.keep(life, r)
	return nil
}

// Begin starts the process unless it runs and does not wait until it is ready.
func (c *Container) Begin() error {
	c.mu.Lock()
	r, err := c.startLocked()
	if err != nil {
		c.mu.Unlock()
		return fmt.Errorf("start %s: %w", c.Name, err)
	}
	life, cancel := context.WithCancel(context.Background())
	c.cancel = cancel
	c.mu.Unlock()
	go c.keep(life, r)
	return nil
}

func (c *Container) startLocked() (*run, error) {
	switch {
	case c.stopped:
		return nil, errors.New("it has been stopped for good")
	case c.current != nil:
		return nil, errors.New("it runs already")
	}
	log, err := os.OpenFile(c.Log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	cmd := exec.Command(c.Command[0], c.Command[1:]...)
	cmd.Env, cmd.Dir, cmd.Stdout, cmd.Stderr = c.Env, c.Dir, log, log
	cmd.SysProcAttr = childAttributes()
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	r := &run{
		cmd: cmd, begun: time.Now(), done: make(chan struct{}),
		ready: c.Probes.Readiness == nil && c.Probes.Startup == nil, started: c.Probes.Startup == nil,
	}
	c.current = r
	probing, stop := context.WithCancel(context.Background())
	go func() {
		_ = cmd.Wait() // how it ended is in its ProcessState
		r.ended = time.Now()
		stop()
		close(r.done)
	}()
	go c.probe(probing, r)
	return r, nil
}

// probe runs the probes until the process ends.
func (c *Container) probe(ctx context.Context, r *run) {
	c.Probes.watch(ctx, func(ready bool, err error) {
		if !ready && c.setReady(r, false) && err != nil {
			c.Report(fmt.Sprintf("%s is not ready: %v", c.Name, err))
		}
		if ready {
			c.setReady(r, true)
		}
	}, func(p *Probe, err error) {
		grace := cmp.Or(p.Grace, c.grace())
		c.Report(fmt.Sprintf("%s: the %s failed %d times, the last time with: %v; ending it", c.Name, p.Name, p.Failures, err))
		_ = c.terminate(r, grace) // an error means that it has just ended
	})
}

// setReady tells whether something changed. Whoever knows that has seen the startup probe succeed.
func (c *Container) setReady(r *run, ready bool) bool {
	c.mu.Lock()
	changed := r.ready != ready
	tell := changed || !r.started
	r.ready, r.started = ready, true
	c.mu.Unlock()
	if tell {
		c.changed()
	}
	return changed
}

func (c *Container) changed() {
	if c.Changed != nil {
		c.Changed()
	}
}

// Ready tells whether the process runs and its readiness probe says so.
func (c *Container) Ready() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.current != nil && c.current.ready
}

// askEvery is how often Start asks.
const askEvery = 20 * time.Millisecond

func (c *Container) awaitReady(ctx context.Context, r *run) error {
	tick := time.NewTicker(askEvery)
	defer tick.Stop()
	for {
		last := c.Probes.ask(ctx)
		if last == nil {
			c.setReady(r, true)
			return nil
		}
		select {
		case <-r.done:
			c.forget(r)
			return c.end(r)
		case <-ctx.Done():
			return fmt.Errorf("it is not ready (%w): %w; see %s", last, context.Cause(ctx), c.Log)
		case <-tick.C:
		}
	}
}

// keep waits for the end of a run and, unless somebody asked for it, starts the next one.
func (c *Container) keep(ctx context.Context, r *run) {
	for {
		<-r.done
		c.mu.Lock()
		if ctx.Err() != nil {
			c.mu.Unlock()
			return
		}
		c.current, c.last = nil, exitOf(r)
		c.restarts++
		delay := c.backOff.after(r.ended)
		c.next = r.ended.Add(delay)
		c.mu.Unlock()
		c.changed()
		when := "now"
		if delay > 0 {
			when = "in " + delay.String()
		}
		c.Report(fmt.Sprintf("%v\nstarting it again %s", c.end(r), when))
		select {
		case <-ctx.Done():
			return
		case <-time.After(delay):
		}
		if r = c.restart(ctx); r == nil {
			return
		}
		c.changed()
	}
}

// restart starts the next run unless a caller has ended the container in the meantime.
func (c *Container) restart(ctx context.Context) *run {
	c.mu.Lock()
	defer c.mu.Unlock()
	if ctx.Err() != nil {
		return nil
	}
	r, err := c.startLocked()
	if err != nil {
		c.Report(fmt.Sprintf("start %s: %v", c.Name, err))
		return nil
	}
	return r
}

// forget makes room for another start after a run that has ended.
func (c *Container) forget(r *run) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.current == r {
		c.current, c.last = nil, exitOf(r)
	}
}

// end describes how a run ended, with the end of the log.
func (c *Container) end(r *run) error {
	return fmt.Errorf("%s ended (%s); the end of %s:\n%s", c.Name, r.cmd.ProcessState, c.Log, tail(c.Log, 15))
}

// Kill ends the process with SIGKILL and returns when it is gone. It is not started again until Start is called.
func (c *Container) Kill() error {
	r := c.unwanted()
	if r == nil {
		return nil
	}
	if err := send(r, syscall.SIGKILL); err != nil {
		return fmt.Errorf("end %s: %w", c.Name, err)
	}
	<-r.done
	c.forget(r)
	return nil
}

// Terminate asks the process to end, as a rollout does, and returns when it is gone. It is killed when its grace is over.
// It is not started again until Start is called.
func (c *Container) Terminate() error { return c.endWithin(c.grace()) }

// TerminateWithin is Terminate with another grace period than the container's.
func (c *Container) TerminateWithin(grace time.Duration) error { return c.endWithin(grace) }

// stopGrace bounds how long the end of a whole cluster waits for one process.
const stopGrace = 10 * time.Second

// Stop ends the process for good. It may be called more than once.
func (c *Container) Stop() error {
	c.mu.Lock()
	c.stopped = true
	c.mu.Unlock()
	return c.endWithin(min(stopGrace, c.grace()))
}

func (c *Container) grace() time.Duration { return cmp.Or(c.Grace, defaultGrace) }

func (c *Container) endWithin(grace time.Duration) error {
	r := c.unwanted()
	if r == nil {
		return nil
	}
	if err := c.terminate(r, grace); err != nil {
		return fmt.Errorf("end %s: %w", c.Name, err)
	}
	c.forget(r)
	return nil
}

// unwanted says that the process is not to be started again, and returns the current run.
func (c *Container) unwanted() *run {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.cancel != nil {
		c.cancel()
	}
	return c.current
}

// terminate ends a run and returns when it has ended.
func (c *Container) terminate(r *run, grace time.Duration) error {
	if err := send(r, syscall.SIGTERM); err != nil {
		return err
	}
	select {
	case <-r.done:
	case <-time.After(grace):
		_ = send(r, syscall.SIGKILL) // an error means that it has just ended
		<-r.done
	}
	return nil
}

func send(r *run, s syscall.Signal) error {
	if err := r.cmd.Process.Signal(s); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	return nil
}

// PID returns the process id of the current run, 0 if there is none.
func (c *Container) PID() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.current == nil {
		return 0
	}
	return c.current.cmd.Process.Pid
}

// Restarts returns how often the process was started again although nobody asked for it.
func (c *Container) Restarts() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.restarts
}

// tail returns the last lines of a file.
func tail(path string, lines int) string {
	content, err := os.ReadFile(path)
	if err != nil {
		return err.Error()
	}
	all := strings.Split(string(bytes.TrimRight(content, "\n")), "\n")
	return strings.Join(all[max(0, len(all)-lines):], "\n")
}
