// Package dependency knows which AWS services answer. It looks at the calls that are made anyway and makes none itself.
package dependency

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"
)

const (
	// failuresToTell is how many attempts in a row must fail before a service counts as gone: the SDK makes three of a call.
	// Where each is an error of the service, they must be of two operations or go on for as long as patience.
	failuresToTell = 3
	// patience is how long an attempt may wait for its answer before the service counts as gone, when nothing else was
	// answered meanwhile. longPoll is added where waiting is what was asked for.
	patience = 15 * time.Second
	longPoll = 20 * time.Second
	// watchEvery is how often it is looked whether something has changed.
	watchEvery = 2 * time.Second
)

// State is what is known of a service.
type State struct {
	// Service is its name in small letters, as in ec2.
	Service string
	// Answers is false once attempts fail in a row or wait in vain. A refusal is an answer; a throttle, an error of the
	// service, refused credentials and silence are none.
	Answers bool
	// Since is when the first attempt failed or began to wait; zero while the service answers.
	Since time.Time
	// Operation and Error are of the last attempt that failed, of launches where one did; Error says so when there was only silence.
	Operation, Error string
}

// String says what is wrong in one line.
func (s State) String() string {
	if s.Answers {
		return s.Service + " answers"
	}
	return fmt.Sprintf("%s does not answer since %s: %s: %s", s.Service, s.Since.UTC().Format(time.RFC3339), s.Operation, s.Error)
}

// Health collects the outcome of attempts.
//
// Concurrency: safe.
type Health struct {
	now func() time.Time

	mu       sync.Mutex
	services map[string]*service
}

type service struct {
	waiting  map[*attempt]bool
	answered time.Time // last
	run      run       // of failures, since the last answer
	since    time.Time
	last     attempt
	err      string
}

// run are attempts that failed in a row.
type run struct {
	count      int
	operations map[string]bool
	from, to   time.Time // when the first began and the last failed
	waited     bool      // one of them was given time enough
	other      bool      // one of them was no error of the service
}

// over reports whether the service counts as gone after them. Errors that it answers one operation with are not the service:
// it may not know the operation.
func (r *run) over() bool {
	return r.waited || r.count >= failuresToTell && (r.other || len(r.operations) > 1 || r.to.Sub(r.from) >= patience)
}

// launch is the operation by which instances are launched.
const launch = "CreateFleet"

type attempt struct {
	operation string
	began     time.Time
	patience  time.Duration
}

// New makes a Health that has seen nothing; now is the clock, nil for time.Now.
func New(now func() time.Time) *Health {
	if now == nil {
		now = time.Now
	}
	return &Health{now: now, services: map[string]*service{}}
}

// begin notes that an attempt waits for its answer, and returns what notes its end.
func (h *Health) begin(name, operation string) (end func(outcome, string)) {
	name = strings.ToLower(strings.ReplaceAll(name, " ", "-"))
	h.mu.Lock()
	defer h.mu.Unlock()
	s := h.services[name]
	if s == nil {
		s = &service{waiting: map[*attempt]bool{}}
		h.services[name] = s
	}
	a := &attempt{operation: operation, began: h.now(), patience: patience}
	if operation == receive {
		a.patience += longPoll
	}
	s.waiting[a] = true
	return func(o outcome, why string) {
		h.mu.Lock()
		defer h.mu.Unlock()
		delete(s.waiting, a)
		switch o {
		case answered:
			s.answered, s.run, s.since = h.now(), run{}, time.Time{}
		case failed, erred:
			if s.since.IsZero() {
				s.since, s.run = a.began, run{operations: map[string]bool{}, from: a.began}
			}
			s.run.count, s.run.to, s.run.operations[operation] = s.run.count+1, h.now(), true
			s.run.other = s.run.other || o == failed
			s.run.waited = s.run.waited || h.now().Sub(a.began) >= a.patience
			if operation == launch || !s.run.operations[launch] { // pods wait for launches, whatever else fails
				s.last, s.err = *a, why
			}
		case cancelled:
		}
	}
}

// outcome is how an attempt ended.
type outcome int

const (
	answered outcome = iota
	failed
	erred     // with an error of the service
	cancelled // by the caller, which says nothing
)

// States are all services that were called, by name.
func (h *Health) States() []State {
	h.mu.Lock()
	defer h.mu.Unlock()
	out := make([]State, 0, len(h.services))
	for _, name := range slices.Sorted(maps.Keys(h.services)) {
		out = append(out, h.services[name].state(name, h.now()))
	}
	return out
}

func (s *service) state(name string, now time.Time) State {
	out := State{Service: name, Answers: true}
	if s.run.over() {
		out.Answers, out.Since, out.Operation, out.Error = false, s.since, s.last.operation, s.err
	}
	for a := range s.waiting {
		if now.Sub(a.began) < a.patience || s.answered.After(a.began) {
			continue
		}
		if out.Answers {
			out.Answers, out.Since, out.Operation, out.Error = false, a.began, a.operation, "no answer yet"
		}
		if a.began.Before(out.Since) {
			out.Since = a.began
		}
	}
	if !s.since.IsZero() && !out.Answers && s.since.Before(out.Since) {
		out.Since = s.since
	}
	return out
}

// Err names the services that do not answer, nil when there is none.
func (h *Health) Err() error {
	var gone []string
	for _, s := range h.States() {
		if !s.Answers {
			gone = append(gone, s.String())
		}
	}
	if len(gone) == 0 {
		return nil
	}
	return fmt.Errorf("%s", strings.Join(gone, "; "))
}

// Watch tells of every service when it is called for the first time and whenever its state has changed, until ctx ends.
func (h *Health) Watch(ctx context.Context, tell func(State)) {
	t := time.NewTicker(watchEvery)
	defer t.Stop()
	known := map[string]bool{}
	for {
		for _, s := range h.States() {
			if was, ok := known[s.Service]; !ok || was != s.Answers {
				known[s.Service] = s.Answers
				tell(s)
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-t.C:
		}
	}
}
