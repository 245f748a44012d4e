package kubelet

import (
	"syscall"
	"time"
)

// A State is what a kubelet tells of a container.
type State struct {
	Running  bool
	Since    time.Time // of the current run
	Started  bool      // the startup probe, if there is one, has succeeded in this run
	Ready    bool
	Restarts int       // that have begun
	Next     time.Time // when the next run is due, while none runs
	Last     *Exit     // of the run before; nil if there was none
}

// An Exit is how a run ended.
type Exit struct {
	Code         int // 128 and the signal's number if a signal ended it
	Begun, Ended time.Time
}

// State returns what is so now.
func (c *Container) State() State {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := State{Restarts: c.restarts, Last: c.last}
	if r := c.current; r != nil {
		s.Running, s.Since, s.Started, s.Ready = true, r.begun, r.started, r.ready
		return s
	}
	s.Next = c.next
	s.Restarts = max(0, s.Restarts-1) // the next one has not begun
	return s
}

// exitOf is to be called after a run has ended.
func exitOf(r *run) *Exit {
	e := &Exit{Code: r.cmd.ProcessState.ExitCode(), Begun: r.begun, Ended: r.ended}
	if status, ok := r.cmd.ProcessState.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		e.Code = 128 + int(status.Signal())
	}
	return e
}
