package interruption

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/kerf-sh/kerf/internal/aws/queue"
	"github.com/kerf-sh/kerf/internal/awsmodel/awssetup"
	"github.com/kerf-sh/kerf/internal/state/cloud"
)

// malformed is the metric's label for a message that can't be read.
const malformed = "malformed"

// tries is how often a message may fail. A dead-letter queue whose maxReceiveCount is not above it gets the message then;
// without one it is deleted when it comes once more, so that it does not come for as long as the queue keeps it.
const tries = awssetup.Tries

// tellOf is of how many sorts of unknown messages the log tells; whoever may write to the queue must not fill memory.
const tellOf = 100

// handle does what a message asks for, and says of what kind it is.
func (c *Controller) handle(ctx context.Context, m *queue.Delivery) (kind string, err error) {
	event, err := queue.Parse(m.Body)
	if err != nil {
		c.count(m, malformed)
		c.Log.Error("dropped a message of the interruption queue", "message_id", m.ID, "error", err)
		return malformed, nil
	}
	kind = string(event.Kind)
	c.count(m, kind)
	switch event.Kind {
	case queue.Unknown:
		c.unknown(event)
		return kind, nil
	case queue.DoctorProbe:
		c.Log.Info("received a probe of kerf doctor", "probe_id", event.Probe, "sent_at", m.SentAt)
		return kind, nil
	}
	rule, ok := rules[event.Kind]
	if !ok {
		return kind, nil
	}
	if event.Kind == queue.RebalanceRecommended && c.ReplaceOnRebalance {
		rule = replaced(rule)
	}
	if event.Time.IsZero() {
		event.Time = m.SentAt
	}
	var errs []error
	for _, id := range event.InstanceIDs {
		claim, err := c.claimOf(ctx, id)
		switch {
		case err != nil:
			errs = append(errs, err)
		case claim != nil:
			errs = append(errs, c.actTraced(ctx, m, claim.DeepCopy(), news{kind: event.Kind, rule: rule, at: event.Time, maintenance: event.Maintenance}))
		case c.early(m, event.Kind):
			errs = append(errs, errEarly)
		}
	}
	return kind, errors.Join(errs...)
}

// unknown tells once of each sort of message that nobody asked for.
func (c *Controller) unknown(e *queue.Event) {
	if c.toldOf.Load() >= tellOf {
		return
	}
	if _, told := c.told.LoadOrStore(e.Version+"\x00"+e.Source+"\x00"+e.DetailType, true); !told {
		c.toldOf.Add(1)
		c.Log.Warn("the interruption queue holds messages that Kerf does not act on; they are deleted",
			"source", e.Source, "detail_type", e.DetailType, "version", e.Version, "event_id", e.ID)
	}
}

// failed notes that a message could not be handled, and reports whether it is to be deleted all the same. It comes again
// when its visibility time is over; the others must not wait for it.
func (c *Controller) failed(m *queue.Delivery, kind string, err error) (drop bool) {
	if errors.Is(err, errEarly) {
		return false
	}
	log := c.Log.With("message_id", m.ID, "message_type", kind, "receives", m.Receives, "error", err)
	switch {
	case m.Receives < tries:
		log.Error("handling a message of the interruption queue; it is tried again", "in", queue.Visibility)
		return false
	case m.Receives == tries:
		c.Metrics.InterruptionPoison.WithLabelValues(kind, cause(err)).Inc()
		log.Error("gave a message of the interruption queue up; it goes to the dead-letter queue, if there is one")
		return false
	}
	log.Error("deleted a message of the interruption queue that fails again and again; no dead-letter queue took it", queue.Describe(m.Body)...)
	return true
}

// cause puts an error into a closed set, for a metric's label.
func cause(err error) string {
	status, ok := err.(interface{ Unwrap() []error })
	if ok && len(status.Unwrap()) > 0 {
		return cause(status.Unwrap()[0])
	}
	var cloudErr *cloud.Error
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return "timeout"
	case errors.As(err, &cloudErr):
		return "aws_" + strings.ToLower(string(cloudErr.Class))
	case apierrors.ReasonForError(err) != "":
		return "kubernetes_" + strings.ToLower(string(apierrors.ReasonForError(err)))
	case strings.Contains(err.Error(), "panic: "):
		return "panic"
	}
	return "other"
}

// due is when an instance goes of which AWS said so at a time.
func due(said, now time.Time) time.Time {
	if said.IsZero() || said.After(now) {
		said = now
	}
	return said.Add(notice - margin)
}

func when(t time.Time) string { return t.UTC().Format(time.RFC3339) }

func about(text, format string, args ...any) string {
	return text + fmt.Sprintf(format, args...)
}
