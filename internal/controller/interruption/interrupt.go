// Package interruption moves pods to safety before AWS takes an instance back, stops it or works on it. It learns of that from
// the interruption queue and from EC2's instance status.
//
// A message is deleted from the queue only when what it asks for is done, or when it can never be done. A message that
// can't be understood is counted, told of, and deleted: it must not block the queue. All that outlasts a moment is on
// the NodeClaims, so that any leader can go on where another one stopped.
package interruption

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/client-go/tools/record"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kerf-sh/kerf/internal/aws/instancestatus"
	"github.com/kerf-sh/kerf/internal/aws/queue"
	"github.com/kerf-sh/kerf/internal/controller/obs"
	"github.com/kerf-sh/kerf/internal/guard"
	"github.com/kerf-sh/kerf/internal/state/cloud"
	"github.com/kerf-sh/kerf/internal/trace"
)

const (
	// parallel is how many messages of one delivery are worked on at a time.
	parallel = 10
	// retryFirst and retryMost bound the pause after a queue could not be read.
	retryFirst = time.Second
	retryMost  = 30 * time.Second
	// patience bounds the work on one message; after that it comes again anyway.
	patience = queue.Visibility - 2*time.Second
)

// Queue delivers messages.
type Queue interface {
	// Name is how users call the queue.
	Name() string
	// Receive waits for messages, at most wait.
	Receive(ctx context.Context, wait time.Duration) ([]queue.Delivery, error)
	// Delete removes messages from the queue and returns how many are gone.
	Delete(ctx context.Context, deliveries []queue.Delivery) (int, error)
}

// Statuses reads the health of instances.
type Statuses interface {
	Read(ctx context.Context, instanceIDs []string) ([]instancestatus.Status, error)
}

// Options are the settings of the loop.
type Options struct {
	// Receivers is how many receive at once; 0 means 1.
	Receivers int
	// ReplaceOnRebalance drains an instance for which AWS recommends it; else an event tells of it.
	ReplaceOnRebalance bool
	// MaintenanceLead is how long before scheduled work the drain begins.
	MaintenanceLead time.Duration
	// Silence is how long instances may come and go without a message before that is told; 0: for ever.
	Silence time.Duration
	// LeftAlone tells of instances that have to stay where they are for now, by provider ID; nil: there are none.
	LeftAlone func(providerID string) bool
	// ReservedCapacity is the feature gate, which the conditions of classes depend on.
	ReservedCapacity bool
}

// Controller is the loop.
type Controller struct {
	Options
	Client client.Client
	// APIReader reads what the cache of Client may not show yet.
	APIReader client.Reader
	Cloud     cloud.Provider
	Queue     Queue    // nil: none is set
	Statuses  Statuses // nil: not read
	Instances *Instances
	Recorder  record.EventRecorder
	Metrics   *obs.Metrics
	Log       *slog.Logger
	Clock     clock.Clock
	// Trace may be nil.
	Trace *trace.Tracer

	ledger ledger
	report report
	told   sync.Map // sorts of unknown messages that were logged
	toldOf atomic.Int32
	status statusMemory
	crowd  chan struct{} // calls receivers that sleep
}

// NeedLeaderElection makes the manager start the loop on the leader only.
func (c *Controller) NeedLeaderElection() bool { return true }

// Start runs the loops until ctx ends.
func (c *Controller) Start(ctx context.Context) error {
	if !c.Instances.wait(ctx, c.Clock) {
		return nil
	}
	c.begin()
	var g guard.Group
	loop := func(name string, every time.Duration, f func(context.Context) error) {
		g.Go(name, func() error { c.loop(ctx, name, every, f); return nil })
	}
	if c.Queue != nil {
		more := max(0, c.Receivers-1)
		c.crowd = make(chan struct{}, more)
		g.Go("interruption", func() error { c.receive(ctx, c.round); return nil })
		for range more {
			g.Go("interruption", func() error { c.receive(ctx, c.help); return nil })
		}
	}
	if c.Statuses != nil {
		loop("interruption.status", statusEvery, c.Poll)
	}
	loop("interruption.maintenance", windowEvery, c.Windows)
	loop(reportLoop, reportEvery, c.Report)
	return g.Wait()
}

// loop calls f now and then every so often.
func (c *Controller) loop(ctx context.Context, name string, every time.Duration, f func(context.Context) error) {
	for ctx.Err() == nil {
		err := c.Metrics.Recover(c.Log, name, func() error { return f(ctx) })
		if err != nil && ctx.Err() == nil {
			c.Log.Error("interruption handling failed; it is tried again", "loop", name, "error", err, "retry_in", every)
		}
		select {
		case <-ctx.Done():
		case <-c.Clock.After(every):
		case <-c.report.changed(name):
		}
	}
}

// receive is one receiver.
func (c *Controller) receive(ctx context.Context, round func(context.Context) (int, error)) {
	pause := retryFirst
	for ctx.Err() == nil {
		err := c.Metrics.Recover(c.Log, "interruption", func() error { _, err := round(ctx); return err })
		if err == nil {
			pause = retryFirst
			continue
		}
		select {
		case <-ctx.Done():
		case <-c.Clock.After(pause):
		}
		pause = min(2*pause, retryMost)
	}
}

// Round receives once and handles what came. Its error is that of receiving; a failed deletion is only told of.
func (c *Controller) Round(ctx context.Context) error {
	_, err := c.round(ctx)
	return err
}

// round is Round; it tells how many messages came.
func (c *Controller) round(ctx context.Context) (int, error) {
	messages, err := c.Queue.Receive(ctx, c.report.poll())
	if ctx.Err() != nil {
		return 0, nil //nolint:nilerr // being told to stop is no failure
	}
	c.received(err, len(messages))
	if err != nil {
		return 0, err
	}
	if len(messages) > 1 {
		c.callHelp()
	}
	finished := c.handleAll(ctx, messages)
	if len(finished) == 0 {
		return len(messages), nil
	}
	n, err := c.Queue.Delete(ctx, finished)
	c.Metrics.InterruptionDeleted.Add(float64(n))
	if ctx.Err() != nil {
		return len(messages), nil //nolint:nilerr // they come again, and ask for nothing new then
	}
	if c.removed(err); err != nil {
		// What was handled comes again and asks for nothing new. That is no reason to read later.
		c.Log.Warn("deleting handled messages of the interruption queue", "queue", c.Queue.Name(), "messages", len(finished), "deleted", n, "error", err)
	}
	return len(messages), nil
}

// handleAll handles messages and returns those to delete: at once what is about instances of others, without parsing it,
// and the rest several at a time.
func (c *Controller) handleAll(ctx context.Context, messages []queue.Delivery) []queue.Delivery {
	done := make([]bool, len(messages))
	g := guard.Group{Limit: parallel}
	for i := range messages {
		m := &messages[i]
		if kind, foreign := queue.Foreign(m.Body, c.Instances.Has); foreign && !c.early(m, kind) {
			c.count(m, string(kind))
			c.Metrics.InterruptionForeign.Inc()
			done[i] = true
			continue
		}
		g.Go("interruption", func() error {
			ctx, cancel := context.WithTimeout(ctx, patience)
			defer cancel()
			kind := malformed
			err := c.Metrics.Recover(c.Log, "interruption", func() (err error) {
				kind, err = c.handle(ctx, m)
				return err
			})
			done[i] = err == nil || c.failed(m, kind, err)
			return nil
		})
	}
	_ = g.Wait()
	var finished []queue.Delivery
	for i, m := range messages {
		if done[i] {
			finished = append(finished, m)
		}
	}
	return finished
}

// errEarly is a message about an instance that is not known yet.
var errEarly = errors.New("the instance may be one whose launch is not written down yet; the message is left for later")

// youth is how long a message about an unknown instance is left on the queue while instances are being launched: it may be
// about one of these.
const youth = 30 * time.Second

func (c *Controller) early(m *queue.Delivery, kind queue.Kind) bool {
	r, ok := rules[kind]
	return ok && r.how != ifGone && !m.SentAt.IsZero() && c.Clock.Since(m.SentAt) < youth && c.Instances.Expecting()
}

func (c *Controller) count(m *queue.Delivery, kind string) {
	c.Metrics.InterruptionReceived.WithLabelValues(kind).Inc()
	if !m.SentAt.IsZero() {
		c.Metrics.InterruptionLatency.Observe(max(0, c.Clock.Since(m.SentAt).Seconds()))
	}
}
