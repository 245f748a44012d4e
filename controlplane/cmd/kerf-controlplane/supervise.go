package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"time"
)

// A supervisor starts the components and reports the first that ends.
type supervisor struct {
	layout   layout
	exited   chan error // the first component that ended, with the reason
	lifeline *os.File   // end of the pipe that the children read
	holder   *os.File   // our end; held open, never written

	mu       sync.Mutex
	children []*child
	stopping bool
}

type child struct {
	name string
	cmd  *exec.Cmd
	done chan struct{}
}

func newSupervisor(l layout) (*supervisor, error) {
	lifeline, holder, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("make the lifeline: %w", err)
	}
	return &supervisor{layout: l, exited: make(chan error, 1), lifeline: lifeline, holder: holder}, nil
}

// start starts a component, its output going to its log file.
func (s *supervisor) start(c component) error {
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find the own binary: %w", err)
	}
	log, err := os.Create(s.layout.logFile(c.name))
	if err != nil {
		return fmt.Errorf("start %s: %w", c.name, err)
	}
	defer log.Close()
	cmd := exec.Command(self, append([]string{c.name}, c.args...)...)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.ExtraFiles = []*os.File{s.lifeline} // becomes descriptor 3
	cmd.Env = append(os.Environ(), lifelineEnv+"=3")
	cmd.Env = append(cmd.Env, c.env...)
	// A Ctrl-C in a terminal goes to the whole process group; only the
	// supervisor acts on it.
	cmd.SysProcAttr = ownGroup()
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start %s: %w", c.name, err)
	}
	ch := &child{name: c.name, cmd: cmd, done: make(chan struct{})}
	s.mu.Lock()
	s.children = append(s.children, ch)
	s.mu.Unlock()
	go s.reap(ch)
	return nil
}

func (s *supervisor) reap(c *child) {
	err := c.cmd.Wait()
	close(c.done)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopping {
		return
	}
	state := c.cmd.ProcessState.String()
	if c.cmd.ProcessState == nil {
		state = err.Error()
	}
	path := s.layout.logFile(c.name)
	select {
	case s.exited <- fmt.Errorf("%s ended (%s); the end of %s:\n%s", c.name, state, path, tail(path, 15)):
	default: // an earlier one is the cause
	}
}

// stop kills every component and waits until all are gone. Nothing is worth a
// graceful end: what they hold is thrown away, and an apiserver that loses its
// etcd or its watchers takes a minute to end by itself.
func (s *supervisor) stop() {
	s.mu.Lock()
	s.stopping = true
	children := s.children
	s.mu.Unlock()
	for _, c := range children {
		c.cmd.Process.Kill() // an error means that it is gone already
	}
	for _, c := range children {
		<-c.done
	}
	s.holder.Close()
	s.lifeline.Close()
}

// pids returns the process id of each component.
func (s *supervisor) pids() map[string]int {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := make(map[string]int, len(s.children))
	for _, c := range s.children {
		out[c.name] = c.cmd.Process.Pid
	}
	return out
}

// await asks ready until it says yes, a component ends, the deadline comes or
// ctx ends. It returns the last answer that was not yes in the error.
func (s *supervisor) await(ctx context.Context, what string, deadline time.Time, ready func() error) error {
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		err := ready()
		if err == nil {
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("wait for %s: %w; logs are in %s", what, err, s.layout.logDir())
		}
		select {
		case err := <-s.exited:
			return err
		case <-orphaned:
			return errOrphaned
		case <-ctx.Done():
			return fmt.Errorf("wait for %s: %w", what, context.Cause(ctx))
		case <-tick.C:
		}
	}
}

// tail returns the last lines of a file.
func tail(path string, lines int) []byte {
	content, err := os.ReadFile(path)
	if err != nil {
		return []byte(err.Error())
	}
	all := bytes.Split(bytes.TrimRight(content, "\n"), []byte("\n"))
	if len(all) > lines {
		all = all[len(all)-lines:]
	}
	return bytes.Join(all, []byte("\n"))
}
