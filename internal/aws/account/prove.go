package account

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/eventbridge"

	"github.com/kerf-sh/kerf/internal/aws/session"
)

const (
	// ProbeRulePrefix begins the names of the rules that a proof makes. A queue policy that takes events from named rules
	// only should also name rule/kerf-proof-*.
	ProbeRulePrefix = "kerf-proof-"
	// ProbeSource is the source of the probes. Sources that begin with aws. can't be used: only AWS may send such events.
	ProbeSource = "kerf.sh/doctor"

	probeDetailType = "Kerf Delivery Probe"
)

const (
	// proveTimeout is long since the figures of CloudWatch, by which a probe that the controller took shows, may take
	// minutes to come.
	proveTimeout = 5 * time.Minute
	// A rule works some time after it is made, so that a probe is sent again and again.
	probeEvery   = 5 * time.Second
	figuresEvery = 10 * time.Second
	lookEvery    = 500 * time.Millisecond
	// cleanTimeout bounds the removal of the rule; it runs even when the proof was broken off.
	cleanTimeout = 30 * time.Second
)

// ProveOptions say how to prove that events reach the queue.
type ProveOptions struct {
	ClusterName, QueueARN, QueueURL string
	// Through is the name of a rule that is to carry the probe, for queues whose policy takes events from named rules
	// only: its pattern is widened for the time of the proof. When empty, a rule is made.
	Through string
	Timeout time.Duration // 5 min when zero
	// Idle is set when it is certain that no controller reads the queue. Messages that are not the probe are then held back
	// until the end, so that each is received once; otherwise they are put back at once, and the controller delayed by
	// nothing.
	Idle bool
	// Seen, if set, tells how many probes the controller has counted so far.
	Seen func(context.Context) (int, error)
	// Tell, if set, gets a line for each step.
	Tell func(string)
}

// Witness is who saw a probe arrive.
type Witness string

// The witnesses. EventBridge's own figures come last: they say that SQS took the message, not that anybody read it.
const (
	SeenInQueue      Witness = "read from the queue"
	SeenByController Witness = "counted by the controller"
	SeenInFigures    Witness = "written to the queue by EventBridge, as its metrics say"
)

// Proof is how the round trip went.
type Proof struct {
	ID, Rule  string
	Delivered bool
	Witness   Witness
	Took      time.Duration
	Sent      int
	// Failed are the deliveries that EventBridge tried and that the queue, its policy or its key refused.
	Failed float64
	// Notes are what went wrong on the way without ending the proof.
	Notes []string
	// Left is what could not be undone, each as a command that does it.
	Left []string
}

// Prove sends an event through EventBridge to the queue and watches for it: it makes a rule for events of a source of its
// own with the queue as target, sends such events, and sees whether one is received, whether the controller counts one, or
// whether EventBridge's metrics say that one was written. Then it takes the rule away, whatever happened.
//
// The rule is new, but the queue, its policy and its key, which is where delivery fails, are those of every other rule.
//
// Errors: a step that could not be done, with the action that was not allowed; ctx's cause when it was broken off. The
// Proof is returned with an error too, for what it has in Left.
func Prove(ctx context.Context, s *session.Session, o ProveOptions) (*Proof, error) {
	p := &prover{o: o, proof: &Proof{ID: newID()}, events: s.EventBridge(), queue: s.SQS, metrics: s.CloudWatch()}
	return p.proof, p.run(ctx)
}

// ProofAPI is what a proof asks of EventBridge.
type ProofAPI interface {
	EventAPI
	DescribeRule(context.Context, *eventbridge.DescribeRuleInput, ...func(*eventbridge.Options)) (*eventbridge.DescribeRuleOutput, error)
	PutRule(context.Context, *eventbridge.PutRuleInput, ...func(*eventbridge.Options)) (*eventbridge.PutRuleOutput, error)
	PutTargets(context.Context, *eventbridge.PutTargetsInput, ...func(*eventbridge.Options)) (*eventbridge.PutTargetsOutput, error)
	PutEvents(context.Context, *eventbridge.PutEventsInput, ...func(*eventbridge.Options)) (*eventbridge.PutEventsOutput, error)
	RemoveTargets(context.Context, *eventbridge.RemoveTargetsInput, ...func(*eventbridge.Options)) (*eventbridge.RemoveTargetsOutput, error)
	DeleteRule(context.Context, *eventbridge.DeleteRuleInput, ...func(*eventbridge.Options)) (*eventbridge.DeleteRuleOutput, error)
}

type prover struct {
	o     ProveOptions
	proof *Proof

	events  ProofAPI
	queue   ProbeQueueAPI
	metrics MetricsAPI

	deaf      bool        // the queue may not be read
	held      []string    // receipt handles of messages that are not ours
	before    int         // probes that the controller had counted
	baseline  RuleMetrics // of a rule that was there before
	undo      []func(ctx context.Context) error
	undoTexts []string
}

func newID() string {
	var b [6]byte
	_, _ = rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}

func (p *prover) tell(format string, args ...any) {
	if p.o.Tell != nil {
		p.o.Tell(fmt.Sprintf(format, args...))
	}
}

func (p *prover) note(format string, args ...any) {
	n := fmt.Sprintf(format, args...)
	p.proof.Notes = append(p.proof.Notes, n)
	p.tell("%s", n)
}

func (p *prover) run(ctx context.Context) (err error) {
	defer func() {
		clean, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanTimeout)
		defer cancel()
		p.clean(clean)
	}()
	timeout := cmp.Or(p.o.Timeout, proveTimeout)
	if p.o.Seen != nil {
		if p.before, err = p.o.Seen(ctx); err != nil {
			p.note("what the controller counts can't be read: %v", err)
			p.o.Seen = nil
		}
	}
	if err := p.openRule(ctx); err != nil {
		return err
	}
	errTimeout := errors.New("time is over")
	watch, cancel := context.WithTimeoutCause(ctx, timeout, errTimeout)
	defer cancel()
	start := time.Now()
	err = p.watch(watch, start, start.Add(timeout))
	p.proof.Took = time.Since(start)
	if err != nil && errors.Is(context.Cause(watch), errTimeout) {
		return nil // not delivered, which the proof says
	}
	return err
}

// watch sends probes until one is seen.
func (p *prover) watch(ctx context.Context, start, end time.Time) error {
	var sent, figures time.Time
	for {
		if time.Since(sent) >= probeEvery {
			if err := p.send(ctx); err != nil {
				return err
			}
			sent = time.Now()
		}
		if seen, err := p.receive(ctx, end); err != nil || seen {
			return p.seen(ctx, SeenInQueue, seen, err)
		}
		if n, ok := p.counted(ctx); ok && n > p.before {
			return p.seen(ctx, SeenByController, true, nil)
		}
		// The first look at figures is early: some endpoints have them at once.
		if time.Since(figures) >= figuresEvery && time.Since(start) > lookEvery {
			figures = time.Now()
			if p.figures(ctx) {
				return p.seen(ctx, SeenInFigures, true, nil)
			}
			if p.proof.Failed > 0 && p.o.Through == "" {
				return nil // EventBridge gave up on a probe; others would fare no better
			}
		}
		t := time.NewTimer(lookEvery)
		select {
		case <-ctx.Done():
			t.Stop()
			return context.Cause(ctx)
		case <-t.C:
		}
	}
}

func (p *prover) seen(ctx context.Context, w Witness, ok bool, err error) error {
	if err != nil {
		return err
	}
	if p.proof.Delivered, p.proof.Witness = ok, w; ok && w == SeenInQueue {
		p.drain(ctx)
	}
	return nil
}

func (p *prover) counted(ctx context.Context) (int, bool) {
	if p.o.Seen == nil {
		return 0, false
	}
	n, err := p.o.Seen(ctx)
	if err != nil && ctx.Err() == nil {
		p.note("what the controller counts can't be read any more: %v", err)
		p.o.Seen = nil
	}
	return n, err == nil
}

// figures reads what EventBridge says of the rule.
func (p *prover) figures(ctx context.Context) bool {
	m, err := p.ruleFigures(ctx)
	if err != nil {
		return false
	}
	p.proof.Failed = m.Lost() - p.baseline.Lost()
	// Of a rule that carries other events as well, an invocation may be for one of those.
	return p.o.Through == "" && m.Invocations > m.Lost()
}

func (p *prover) ruleFigures(ctx context.Context) (RuleMetrics, error) {
	now := time.Now()
	m, err := ReadMetrics(ctx, p.metrics, []string{p.proof.Rule}, nil, time.Hour, now.Add(metricPeriod))
	if err != nil {
		return RuleMetrics{}, err
	}
	return m.Rules[p.proof.Rule], nil
}
