package interruption_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	awsv1 "github.com/kerf-sh/kerf/api/aws/v1"
	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/api/status"
	"github.com/kerf-sh/kerf/internal/aws/queue"
	"github.com/kerf-sh/kerf/internal/controller/interruption"
	"github.com/kerf-sh/kerf/internal/state/cloud"
)

// class is one that is ready.
func class() *awsv1.EC2NodeClass {
	c := &awsv1.EC2NodeClass{ObjectMeta: metav1.ObjectMeta{Name: "default", UID: "class", Generation: 1}}
	for _, t := range c.StatusConditions(false).Dependents() {
		c.StatusConditions(false).SetTrue(t)
	}
	return c
}

func (h *testCluster) report() {
	h.t.Helper()
	if err := h.Report(h.t.Context()); err != nil {
		h.t.Fatal(err)
	}
}

// condition is one of the class, whose Ready must not care.
func (h *testCluster) condition(name string) *status.Condition {
	h.t.Helper()
	c := &awsv1.EC2NodeClass{}
	if err := h.Client.Get(h.t.Context(), client.ObjectKey{Name: "default"}, c); err != nil {
		h.t.Fatal(err)
	}
	if !c.StatusConditions(false).IsTrue() {
		h.t.Errorf("the class is not ready: %+v", c.Status.Conditions)
	}
	return c.StatusConditions(false).Get(name)
}

func failure(class cloud.ErrorClass, text string) error {
	return &cloud.Error{Op: "receiving from queue \"kerf\"", Class: class, Err: errors.New(text)}
}

func (h *testCluster) tryRound() { _ = h.Round(h.t.Context()) }

func TestAQueueThatDoesNotWorkIsSaidAndRecovers(t *testing.T) {
	for _, tt := range []struct {
		name, reason string
		err          error
		rounds       int // until it is said
	}{
		{"no queue", queue.ReasonNotFound, failure(cloud.NotFound, "no such queue"), 1},
		{"no permission", queue.ReasonDenied, failure(cloud.Denied, "missing permission kms:Decrypt"), 1},
		{"no answer", queue.ReasonUnreachable, failure(cloud.Unavailable, "refused"), 3},
	} {
		t.Run(tt.name, func(t *testing.T) {
			h := newTestCluster(t, interruption.Options{}, class())
			h.report()
			if c := h.condition("InterruptionQueueReady"); c != nil {
				t.Errorf("said before anything is known: %+v", c)
			}
			h.line.err = tt.err
			for range tt.rounds - 1 {
				h.tryRound()
			}
			h.report()
			if c := h.condition("InterruptionQueueReady"); c != nil {
				t.Errorf("said too early: %+v", c)
			}
			h.tryRound()
			h.tryRound()
			h.report()
			c := h.condition("InterruptionQueueReady")
			if !c.IsFalse() || c.Reason != tt.reason || !strings.Contains(c.Message, tt.err.Error()) {
				t.Errorf("condition %+v", c)
			}
			if n := h.metric("kerf_interruption_queue_ready", "kerf"); n != 0 {
				t.Errorf("metric %v", n)
			}
			if n := strings.Count(h.log.String(), "level=ERROR"); n != 1 {
				t.Errorf("%d lines of log: %s", n, h.log)
			}
			if got := h.reasons(); len(got) != 1 || got[0] != "InterruptionQueueNotReady" {
				t.Errorf("events %v", got)
			}
			h.line.err = nil
			h.round()
			h.round()
			h.report()
			if c := h.condition("InterruptionQueueReady"); !c.IsTrue() {
				t.Errorf("condition %+v", c)
			}
			if n := h.metric("kerf_interruption_queue_ready", "kerf"); n != 1 {
				t.Errorf("metric %v", n)
			}
			if n := strings.Count(h.log.String(), "queue is ready"); n != 1 {
				t.Errorf("log: %s", h.log)
			}
			if waits := h.line.waits; waits[0] > time.Second || waits[len(waits)-2] > time.Second || waits[len(waits)-1] != queue.LongPoll {
				t.Errorf("waits %v: short until the queue is known to work", waits)
			}
		})
	}
}

func TestWithoutAPermissionToDeleteTheQueueIsNotReady(t *testing.T) {
	h := newTestCluster(t, interruption.Options{}, class())
	h.line.lock = failure(cloud.Denied, "missing permission sqs:DeleteMessage")
	for range 3 {
		h.line.next = []queue.Delivery{{ID: "m", Body: "x"}}
		h.tryRound()
		h.line.next = nil
		h.round() // an empty answer says nothing of deleting
	}
	h.report()
	if c := h.condition("InterruptionQueueReady"); c == nil || !strings.Contains(c.Message, "sqs:DeleteMessage") {
		t.Errorf("condition %+v", c)
	}
	if n := strings.Count(h.log.String(), "does not work"); n != 1 {
		t.Errorf("said %d times: %s", n, h.log)
	}
	h.line.lock = nil
	h.line.next = []queue.Delivery{{ID: "m", Body: "x"}}
	h.round()
	h.report()
	if c := h.condition("InterruptionQueueReady"); !c.IsTrue() {
		t.Errorf("condition %+v", c)
	}
}

func TestWithoutAQueueThereIsNoCondition(t *testing.T) {
	c := class()
	c.StatusConditions(false).SetFalse(awsv1.ConditionTypeInterruptionQueueReady, "QueueNotFound", "of an earlier start")
	h := newTestCluster(t, interruption.Options{Silence: time.Minute}, c)
	h.Queue = nil
	h.launched("a")
	h.clock.Step(time.Hour)
	h.report()
	if c := h.condition("InterruptionQueueReady"); c != nil {
		t.Errorf("condition %+v", c)
	}
	if h.metric("kerf_interruption_queue_ready") != 0 || strings.Contains(h.log.String(), "ERROR") {
		t.Errorf("log: %s", h.log)
	}
}

// launched lets a claim's instance be launched now.
func (h *testCluster) launched(name string) {
	was, is := nodeClaim(name, ""), nodeClaim(name, "i-0000000000000000a")
	is.StatusConditions().SetTrue(karpv1.ConditionTypeLaunched)
	h.Instances.Set(was, is, h.clock.Now())
}

func TestSilenceIsNoticedAndEndsWithAMessage(t *testing.T) {
	h := newTestCluster(t, interruption.Options{Silence: 10 * time.Minute}, class())
	ready := func(want bool, when string) {
		t.Helper()
		h.report()
		c := h.condition("InterruptionQueueReady")
		if c.IsTrue() != want {
			t.Errorf("%s: %+v", when, c)
		}
		if !want && (c.Reason != "NoMessages" || !strings.Contains(c.Message, "kerf doctor --prove-delivery")) {
			t.Errorf("%s: %+v", when, c)
		}
	}
	h.round()
	h.clock.Step(time.Hour)
	ready(true, "nothing happened for an hour")
	h.launched("a")
	h.clock.Step(10*time.Minute - time.Second)
	ready(true, "an instance was launched a little while ago")
	h.clock.Step(time.Second)
	ready(false, "an instance was launched ten minutes ago")
	h.round()
	ready(false, "an empty answer is no message")
	h.deliver(state(another, "running", h.clock.Now()))
	ready(true, "a message came")
	h.launched("b")
	h.clock.Step(time.Hour)
	ready(true, "the message came right before our own knowledge of the change")
	h.launched("c")
	h.deliver(`{"version":"0","id":"p","source":"kerf.sh/doctor","detail-type":"Kerf Delivery Probe","detail":{"probe":"k3rf"}}`)
	h.clock.Step(time.Hour)
	ready(true, "a probe came")
}

func TestDeletionThatGetsNoAnswerIsSaidThoughReceivingWorks(t *testing.T) {
	h := newTestCluster(t, interruption.Options{}, class())
	h.line.lock = failure(cloud.Unavailable, "refused")
	for range 3 {
		h.deliver(state(another, "running", h.clock.Now()))
		if err := h.Round(t.Context()); err != nil {
			t.Fatalf("a failed deletion must not slow down receiving: %v", err)
		}
	}
	h.report()
	if c := h.condition("InterruptionQueueReady"); !c.IsFalse() || c.Reason != queue.ReasonUnreachable {
		t.Errorf("condition %+v", c)
	}
	if n := strings.Count(h.log.String(), "deleting handled messages"); n != 3 {
		t.Errorf("%d lines tell of it: %s", n, h.log)
	}
}

func TestSilenceIsNoNewsWhileThereIsNoQueue(t *testing.T) {
	h := newTestCluster(t, interruption.Options{Silence: 10 * time.Minute}, class())
	h.line.err = failure(cloud.NotFound, "no such queue")
	h.tryRound()
	h.launched("a")
	h.clock.Step(time.Hour)
	h.report()
	if c := h.condition("InterruptionQueueReady"); c.Reason != queue.ReasonNotFound {
		t.Errorf("without a queue: %+v", c)
	}
	h.line.err = nil
	h.round()
	h.report()
	if c := h.condition("InterruptionQueueReady"); !c.IsTrue() {
		t.Errorf("when the queue is there again: %+v", c)
	}
	h.launched("b")
	h.clock.Step(10 * time.Minute)
	h.report()
	if c := h.condition("InterruptionQueueReady"); c.Reason != "NoMessages" {
		t.Errorf("ten minutes after a launch that no message followed: %+v", c)
	}
}

func TestSilenceCanBeSwitchedOff(t *testing.T) {
	h := newTestCluster(t, interruption.Options{}, class())
	h.round()
	h.launched("a")
	h.clock.Step(24 * time.Hour)
	h.report()
	if c := h.condition("InterruptionQueueReady"); !c.IsTrue() {
		t.Errorf("condition %+v", c)
	}
}

func TestWhichInstancesAreOurs(t *testing.T) {
	m := &interruption.Instances{}
	claim := nodeClaim("a", "")
	m.Set(nil, claim, start)
	if !m.Expecting() || m.Has(ours) {
		t.Error("a claim that is not launched has no instance")
	}
	m.Set(claim, nodeClaim("a", ours), start)
	if m.Expecting() || !m.Has(ours) {
		t.Error("a launched claim has one")
	}
	foreign := nodeClaim("b", another, func(c *karpv1.NodeClaim) { c.Spec.NodeClassRef.Kind = "Other" })
	m.Set(nil, foreign, start)
	if m.Has(another) {
		t.Error("a claim of another controller is not ours")
	}
	m.Set(nil, nodeClaim("c", ours), start) // the same instance under another name
	m.Remove("a")
	if !m.Has(ours) {
		t.Error("the instance has a claim still")
	}
	m.Remove("c")
	m.Remove("c")
	if m.Has(ours) || m.Expecting() {
		t.Error("the instance has no claim any more")
	}
}
