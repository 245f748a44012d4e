// Package world is the state that all simulated AWS services share: one account in one region, with its network,
// images, launch templates, fleets, instances, spot pools, quotas, identities, parameters, queues and cluster records.
//
// Each service has a family of files here, named for it (ec2_fleet.go, sqs_messages.go), and a part of the state; the files
// without a service in their names serve all: clock, calls, faults, tokens, and the default account.
//
// The services are thin: they decode a request, call one method here and encode the answer. All state is behind one
// mutex; exported methods take it, methods ending in Locked expect it to be held. Values that leave the package are
// copies. Time comes from an injected clock and chance from a seed, so that one seed and one order of calls give one
// history.
package world

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/kerf-sh/kerf/internal/awsmodel/partition"
)

// ErrClosed is returned by calls that were waiting when the world was closed.
var ErrClosed = errors.New("the simulated world is closed")

// Error is a refusal with the code that the real service would use. Status is the HTTP status, 400 when zero.
type Error struct {
	Code    string
	Message string
	Status  int
}

func (e *Error) Error() string { return e.Code + ": " + e.Message }

// Errorf makes a refusal with status 400.
func Errorf(code, format string, args ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...), Status: 400}
}

// World is one AWS account in one region.
type World struct {
	opts   Options
	clock  Clock
	closed chan struct{}

	started time.Time

	mu     sync.Mutex
	shut   bool
	rand   *rand.Rand
	timers map[*pending]struct{}
	nextID uint64
	tokens map[string]*tokenUse
	// tokenOrder holds the keys of tokens, oldest first.
	tokenOrder []string
	hooks      []Lifecycle
	watchers   []StateWatcher
	events     []func() // hook calls that wait for the mutex to be released
	telling    bool     // somebody is making hook calls

	log    callLog
	faults faultList

	// The state of each service. A family of files (ec2_….go, sqs_….go) writes its own; family_test.go says who may read whose.
	ec2        ec2State
	iam        iamState
	ssm        ssmState
	sqs        sqsState
	eks        eksState
	bus        eventState
	kms        kmsState
	cloudwatch cloudwatchState
}

type pending struct{ timer Timer }

// newWorld makes an empty world; NewDefault furnishes it.
func newWorld(o Options) *World {
	w := &World{
		opts:   o,
		clock:  o.Clock,
		closed: make(chan struct{}),
		rand:   rand.New(rand.NewPCG(o.Seed, 0x6b657266)),
		timers: map[*pending]struct{}{},
		tokens: map[string]*tokenUse{},

		started: o.Clock.Now(),
	}
	w.log.init()
	w.ec2.init(newFacts(o.Facts, o.Region, o.Types))
	w.iam.init()
	w.ssm.init()
	w.sqs.init()
	w.eks.init()
	w.bus.init()
	w.kms.init()
	w.cloudwatch.init()
	return w
}

// Close stops every timer and wakes every waiting call. The state can still be read.
func (w *World) Close() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.shut {
		return
	}
	w.shut = true
	for p := range w.timers {
		p.timer.Stop()
	}
	clear(w.timers)
	close(w.closed)
}

// Now returns the world's time.
func (w *World) Now() time.Time { return w.clock.Now() }

// Clock returns the clock that the world lives by.
func (w *World) Clock() Clock { return w.clock }

// Closed is closed together with the world.
func (w *World) Closed() <-chan struct{} { return w.closed }

// Options returns what the world was made from, with defaults filled in.
func (w *World) Options() Options { return w.opts }

// Account returns the twelve digits of the account.
func (w *World) Account() string { return w.opts.Account }

// Region returns the region's name.
func (w *World) Region() string { return w.opts.Region }

// Partition returns aws, aws-cn or aws-us-gov, as the region has it.
func (w *World) Partition() string { return partition.Of(w.opts.Region).Name }

// ClusterName returns the name of the cluster that the default account was built for.
func (w *World) ClusterName() string { return w.opts.ClusterName }

// after calls f with the mutex held once d has passed, unless the world is closed by then. The mutex must be held.
// Hook calls that f queues are made after the mutex is released.
func (w *World) afterLocked(d time.Duration, f func()) {
	if w.shut {
		return
	}
	p := &pending{}
	w.timers[p] = struct{}{}
	p.timer = w.clock.AfterFunc(d, func() {
		w.mu.Lock()
		if _, live := w.timers[p]; !live {
			w.mu.Unlock()
			return
		}
		delete(w.timers, p)
		f()
		w.unlock()
	})
}

// unlock releases the mutex and then makes the hook calls that were queued under it, one after the other in the order in
// which they were queued, whoever queued them. If another goroutine (or a caller further up) is at it already, that one
// makes them.
func (w *World) unlock() {
	if w.telling {
		w.mu.Unlock()
		return
	}
	w.telling = true
	for len(w.events) > 0 {
		call := w.events[0]
		w.events = w.events[1:]
		w.mu.Unlock()
		call()
		w.mu.Lock()
	}
	w.telling = false
	w.mu.Unlock()
}

// newIDLocked makes an identifier such as i-0b3f…: the prefix and 17 hexadecimal digits, unlike any before it.
func (w *World) newIDLocked(prefix string) string {
	w.nextID++
	return fmt.Sprintf("%s-0%04x%012x", prefix, w.nextID&0xffff, w.rand.Uint64()&0xffffffffffff)
}
