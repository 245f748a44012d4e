package world

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func newQueueWorld(t *testing.T, attributes map[string]string) (*World, *ManualClock) {
	t.Helper()
	clock := NewManualClock(time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC))
	w, err := NewDefault(Options{Clock: clock, Types: []string{"m5.large"}, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.Close)
	if _, err := w.CreateQueue("dead", nil); err != nil { // first: a queue may name it for its dead letters
		t.Fatal(err)
	}
	if _, err := w.CreateQueue("q", attributes); err != nil {
		t.Fatal(err)
	}
	return w, clock
}

func bodies(t *testing.T, w *World, queue string, visibility time.Duration) []string {
	t.Helper()
	got, err := w.ReceiveMessages(t.Context(), queue, Receive{Max: 10, Visibility: visibility})
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, m := range got {
		out = append(out, m.Body)
	}
	return out
}

func put(t *testing.T, w *World, body string, delay time.Duration) {
	t.Helper()
	if _, err := w.SendMessage("q", "me", body, nil, delay); err != nil {
		t.Fatal(err)
	}
}

func TestMessageThatIsNeverDeletedGoesToTheDeadLetterQueue(t *testing.T) {
	w, clock := newQueueWorld(t, map[string]string{"RedrivePolicy": `{"deadLetterTargetArn":"arn:aws:sqs:us-east-1:123456789012:dead","maxReceiveCount":"2"}`})
	put(t, w, "poison", 0)
	for range 2 {
		if diff := cmp.Diff([]string{"poison"}, bodies(t, w, "q", time.Second)); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		clock.Advance(2 * time.Second)
	}
	if got := bodies(t, w, "q", time.Second); got != nil {
		t.Errorf("received a third time: %v", got)
	}
	if diff := cmp.Diff([]string{"poison"}, bodies(t, w, "dead", time.Second)); diff != "" {
		t.Errorf("dead letters (-want +got):\n%s", diff)
	}
}

func TestFaultDeliversAMessageTwice(t *testing.T) {
	w, _ := newQueueWorld(t, nil)
	w.AddFault(Fault{Kind: FaultDuplicateMessage, Resource: "q", Count: 1})
	put(t, w, "again", 0)
	for n, want := range [][]string{{"again"}, {"again"}, nil} {
		if diff := cmp.Diff(want, bodies(t, w, "q", time.Minute)); diff != "" {
			t.Errorf("receive %d (-want +got):\n%s", n+1, diff)
		}
	}
}

func TestDelayedMessageWakesALongPollWhenItIsDue(t *testing.T) {
	w, clock := newQueueWorld(t, nil)
	put(t, w, "later", 5*time.Second)
	before := clock.Waiting()
	got := make(chan []Message, 1)
	go func() {
		m, err := w.ReceiveMessages(t.Context(), "q", Receive{Max: 1, Wait: 20 * time.Second, Visibility: -1})
		if err != nil {
			t.Error(err)
		}
		got <- m
	}()
	for clock.Waiting() == before {
		time.Sleep(time.Millisecond)
	}
	clock.Advance(5 * time.Second)
	if m := <-got; len(m) != 1 || m[0].ReceiveCount != 1 || !m[0].FirstReceived.Equal(clock.Now()) {
		t.Errorf("received %+v", m)
	}
}

func TestQueueRefusesWhatSQSRefuses(t *testing.T) {
	w, _ := newQueueWorld(t, map[string]string{"VisibilityTimeout": "30"})
	long := make([]byte, maxMessageSize+1)
	_, sizeErr := w.SendMessage("q", "me", string(long), nil, 0)
	_, emptyErr := w.SendMessage("q", "me", "", nil, 0)
	_, missingErr := w.SendMessage("none", "me", "x", nil, 0)
	_, maxErr := w.ReceiveMessages(t.Context(), "q", Receive{Max: 11})
	_, waitErr := w.ReceiveMessages(t.Context(), "q", Receive{Max: 1, Wait: 21 * time.Second})
	_, fifoErr := w.CreateQueue("q.fifo", nil)
	_, nameErr := w.CreateQueue("no spaces", nil)
	_, otherErr := w.CreateQueue("q", map[string]string{"VisibilityTimeout": "31"})
	_, sameErr := w.CreateQueue("q", map[string]string{"VisibilityTimeout": "30"})
	_, valueErr := w.CreateQueue("r", map[string]string{"DelaySeconds": "901"})
	_, attributeErr := w.CreateQueue("r", map[string]string{"Delay": "1"})
	_, ownerErr := w.QueueNameOf("https://sqs.us-east-1.amazonaws.com/999999999999/q")
	for what, c := range map[string]struct {
		err  error
		want string
	}{
		"too long": {sizeErr, "InvalidParameterValue"}, "empty": {emptyErr, "MissingParameter"}, "no queue": {missingErr, "QueueDoesNotExist"},
		"eleven at once": {maxErr, "InvalidParameterValue"}, "a long wait": {waitErr, "InvalidParameterValue"},
		"FIFO": {fifoErr, "UnsupportedOperation"}, "a name with a blank": {nameErr, "InvalidParameterValue"},
		"other attributes": {otherErr, "QueueNameExists"}, "the same attributes": {sameErr, ""},
		"a value out of bounds": {valueErr, "InvalidAttributeValue"}, "an unknown attribute": {attributeErr, "InvalidAttributeName"},
		"somebody else's queue": {ownerErr, "QueueDoesNotExist"},
	} {
		got := ""
		if e, ok := errors.AsType[*Error](c.err); ok {
			got = e.Code
		}
		if got != c.want {
			t.Errorf("%s: got %v, want %q", what, c.err, c.want)
		}
	}
}

func TestProfileRemembersTheRoleThatIsGone(t *testing.T) {
	w, clock := newQueueWorld(t, nil)
	w.SetInstanceProfileDelay(10 * time.Second)
	if _, err := w.CreateInstanceProfile("p", "", nil); err != nil {
		t.Fatal(err)
	}
	first, err := w.CreateRole("r", "", "", nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.AddRoleToInstanceProfile("p", "r"); err != nil {
		t.Fatal(err)
	}
	if err := w.DeleteRole("r"); err != nil {
		t.Fatal(err)
	}
	second, err := w.CreateRole("r", "", "", nil)
	if err != nil {
		t.Fatal(err)
	}
	p, err := w.InstanceProfile("p")
	if err != nil || p.RoleID != first.ID || first.ID == second.ID {
		t.Errorf("profile %+v, first role %s, second %s, %v", p, first.ID, second.ID, err)
	}
	usable := func() bool {
		w.mu.Lock()
		defer w.mu.Unlock()
		_, ok := w.launchProfileLocked(p.ARN)
		return ok
	}
	if usable() {
		t.Error("EC2 knows a profile at once that it should know after ten seconds")
	}
	clock.Advance(10 * time.Second)
	if !usable() {
		t.Error("EC2 does not know the profile after ten seconds")
	}
}

func TestMessagesInFlightAreLimited(t *testing.T) {
	w, clock := newQueueWorld(t, nil)
	w.mu.Lock()
	q := w.sqs.queues["q"]
	for range maxInFlight {
		q.messages = append(q.messages, &message{receipts: 1, visibleAt: clock.Now().Add(time.Minute), expires: clock.Now().Add(time.Hour)})
	}
	w.mu.Unlock()
	_, err := w.ReceiveMessages(t.Context(), "q", Receive{Max: 1, Visibility: time.Minute})
	if e, ok := errors.AsType[*Error](err); !ok || e.Code != "OverLimit" {
		t.Errorf("got %v, want OverLimit", err)
	}
	clock.Advance(2 * time.Minute)
	if got, err := w.ReceiveMessages(t.Context(), "q", Receive{Max: 1, Visibility: time.Minute}); err != nil || len(got) != 1 {
		t.Errorf("when they are visible again: %d, %v", len(got), err)
	}
}

func TestAKeyIsUsedThroughTheQueuesHostInChina(t *testing.T) {
	w, err := NewDefault(Options{Region: "cn-north-1", Types: []string{"m5.large"}})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	k, err := w.Key(ManagedAlias("sqs"))
	if err != nil || !strings.Contains(k.PolicyText, `"kms:ViaService":"sqs.cn-north-1.amazonaws.com.cn"`) {
		t.Errorf("%v %s", err, k.PolicyText)
	}
}
