package interruption

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	awsv1 "github.com/kerf-sh/kerf/api/aws/v1"
	"github.com/kerf-sh/kerf/internal/aws/queue"
	"github.com/kerf-sh/kerf/internal/controller/events"
	"github.com/kerf-sh/kerf/internal/state/cloud"
)

const (
	// reportEvery is how often the conditions of the classes are compared with what is known.
	reportEvery = 15 * time.Second
	// failures is how many calls in a row must go unanswered before the queue counts as unreachable.
	failures = 3
	// firstPoll is how long the queue is waited on while it is not known to work, so that it soon is.
	firstPoll = time.Second
	// reportLoop is the loop that a change wakes.
	reportLoop = "interruption.conditions"

	reasonNoMessages = "NoMessages"
)

// trouble is why something does not work; the zero value: it does.
type trouble struct{ reason, message string }

// answers is how the calls of one operation fare.
type answers struct {
	trouble
	unheard int // calls in a row without an answer
}

// report is what is known of queue and instance status, for conditions, metric and log.
type report struct {
	mu       sync.Mutex
	known    bool // the queue answered once, or is known not to
	receive  answers
	remove   answers
	silent   trouble
	status   trouble // of reading instance status
	said     trouble // what the log said last of the queue
	saidAny  bool
	wakeOnce sync.Once
	wake     chan struct{}
}

func (r *report) waker() chan struct{} {
	r.wakeOnce.Do(func() { r.wake = make(chan struct{}, 1) })
	return r.wake
}

// changed is readable when the conditions have to be written anew; nil for the other loops.
func (r *report) changed(loop string) <-chan struct{} {
	if loop != reportLoop {
		return nil
	}
	return r.waker()
}

// poll is how long to wait for messages.
func (r *report) poll() time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.known || r.receive.reason != "" {
		return firstPoll
	}
	return queue.LongPoll
}

// queue is the worst that is known of the queue.
func (r *report) queue() (t trouble, known bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.queueLocked(), r.known
}

func (r *report) queueLocked() trouble {
	for _, t := range []trouble{r.receive.trouble, r.remove.trouble} {
		if t.reason != "" {
			return t
		}
	}
	return r.silent
}

func troubleOf(err error) trouble {
	return trouble{queue.ReasonOf(err), cloud.Lasting(err.Error())}
}

// begin forgets what an earlier start left.
func (c *Controller) begin() {
	if c.Queue == nil {
		return
	}
	c.Metrics.QueueReady.WithLabelValues(c.Queue.Name()).Set(0)
}

// received notes how a call of ReceiveMessage ended.
func (c *Controller) received(err error, messages int) {
	if messages > 0 {
		c.Instances.silence.message(c.Clock.Now())
	}
	c.note(func(r *report) {
		before := r.receive.reason
		if r.answer(&r.receive, err); before != "" && r.receive.reason == "" {
			// What was not heard while there was no queue to hear it on says nothing about the rules.
			c.Instances.silence.excuse()
			r.silent = trouble{}
		}
	})
}

// removed notes how a call of DeleteMessageBatch ended.
func (c *Controller) removed(err error) {
	c.note(func(r *report) { r.answer(&r.remove, err) })
}

// answer notes the outcome of a call. One call without an answer is no news yet.
func (r *report) answer(of *answers, err error) {
	if err == nil {
		r.known, *of = true, answers{}
		return
	}
	t := troubleOf(err)
	if t.reason == queue.ReasonUnreachable {
		if of.unheard++; of.unheard < failures {
			return
		}
	} else {
		of.unheard = 0
	}
	r.known, of.trouble = true, t
}

// note changes the report, and tells the log, the metric and the conditions of it if it says something else now.
func (c *Controller) note(change func(*report)) {
	r := &c.report
	r.mu.Lock()
	change(r)
	now, known := r.queueLocked(), r.known
	fresh := known && (!r.saidAny || r.said != now)
	again := r.saidAny && r.said.reason == now.reason
	if fresh {
		r.said, r.saidAny = now, true
	}
	r.mu.Unlock()
	if !fresh || c.Queue == nil {
		return
	}
	ready := 0.0
	if now.reason == "" {
		ready = 1
	}
	c.Metrics.QueueReady.WithLabelValues(c.Queue.Name()).Set(ready)
	switch {
	case now.reason == "":
		c.Log.Info("the interruption queue is ready", "queue", c.Queue.Name())
	case !again:
		c.Log.Error("the interruption queue does not work; instances that AWS takes back are noticed only when they are gone", "queue", c.Queue.Name(), "reason", now.reason, "error", now.message)
	}
	select {
	case c.report.waker() <- struct{}{}:
	default:
	}
}

// Report looks whether messages come at all, and brings the conditions of all classes up to date.
func (c *Controller) Report(ctx context.Context) error {
	if c.Queue != nil {
		t := c.silent(c.Clock.Now())
		c.note(func(r *report) { r.silent = t })
	}
	var classes awsv1.EC2NodeClassList
	if err := c.Client.List(ctx, &classes); err != nil {
		return fmt.Errorf("listing ec2nodeclasses: %w", err)
	}
	var errs []error
	for i := range classes.Items {
		errs = append(errs, c.condition(ctx, classes.Items[i].DeepCopy()))
	}
	return errors.Join(errs...)
}

// silent says so when instances came and went and no message did.
func (c *Controller) silent(now time.Time) trouble {
	since := c.Instances.silence.since()
	if c.Silence == 0 || since.IsZero() || now.Sub(since) < c.Silence {
		return trouble{}
	}
	return trouble{reasonNoMessages, fmt.Sprintf("instances were launched or ended at %s or later, but since then no message came: EventBridge rules, queue policy or the queue's key may be wrong; "+
		"run \"kerf doctor --prove-delivery\"", when(since))}
}

// condition writes the conditions of one class, if they differ.
func (c *Controller) condition(ctx context.Context, class *awsv1.EC2NodeClass) error {
	if !class.DeletionTimestamp.IsZero() {
		return nil
	}
	stored := class.DeepCopy()
	conditions := class.StatusConditions(c.ReservedCapacity).WithClock(c.Clock.Now)
	t, known := c.report.queue()
	changed := false
	switch {
	case c.Queue == nil:
		changed = conditions.Clear(awsv1.ConditionTypeInterruptionQueueReady)
	case !known:
	case t.reason == "":
		changed = conditions.SetTrue(awsv1.ConditionTypeInterruptionQueueReady)
	default:
		changed = conditions.SetFalse(awsv1.ConditionTypeInterruptionQueueReady, t.reason, t.message)
	}
	c.report.mu.Lock()
	status := c.report.status
	c.report.mu.Unlock()
	if status.reason != "" {
		changed = conditions.SetFalse(awsv1.ConditionTypeInstanceStatusReady, status.reason, status.message) || changed
	} else {
		changed = conditions.Clear(awsv1.ConditionTypeInstanceStatusReady) || changed
	}
	if !changed {
		return nil
	}
	err := c.Client.Status().Patch(ctx, class, client.MergeFromWithOptions(stored, client.MergeFromWithOptimisticLock{}))
	switch {
	case err == nil:
		if was := stored.StatusConditions(c.ReservedCapacity).Get(awsv1.ConditionTypeInterruptionQueueReady); t.reason != "" && (was == nil || was.Reason != t.reason) {
			c.Recorder.Event(class, warning, events.InterruptionQueueNotReady, t.reason+": "+t.message)
		}
		return nil
	case apierrors.IsConflict(err) || apierrors.IsNotFound(err):
		return nil // the next look finds it as it is then
	}
	return fmt.Errorf("writing the status of ec2nodeclass %q: %w", class.Name, err)
}
