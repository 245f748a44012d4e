package transitions

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"golang.org/x/time/rate"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/record"
	clocktesting "k8s.io/utils/clock/testing"

	awsv1 "github.com/kerf-sh/kerf/api/aws/v1"
	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/api/status"
	"github.com/kerf-sh/kerf/internal/guard"
)

func claim(conditions ...status.Condition) *karpv1.NodeClaim {
	c := &karpv1.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: "a"}}
	c.SetConditions(conditions)
	return c
}

func condition(kind string, s metav1.ConditionStatus) status.Condition {
	return status.Condition{Type: kind, Status: s, Reason: "Why"}
}

func TestWhatIsATransition(t *testing.T) {
	for name, tc := range map[string]struct {
		before, after *karpv1.NodeClaim
		follows       bool
		want          string
	}{
		"another status":              {before: claim(condition("Ready", "True")), after: claim(condition("Ready", "False")), want: "Normal Ready Status condition transitioned, Type: Ready, Status: True -> False, Reason: Why"},
		"the same status":             {before: claim(condition("Ready", "True")), after: claim(status.Condition{Type: "Ready", Status: "True", Reason: "Other"})},
		"the first word on launching": {before: claim(), after: claim(condition("Launched", "True")), want: "Normal Launched Status condition transitioned, Type: Launched, Status: Unknown -> True, Reason: Why"},
		"the first word is Unknown":   {before: claim(), after: claim(condition("Launched", "Unknown"))},
		// It comes and goes with every pod.
		"a condition that is not always there": {before: claim(), after: claim(condition("Consolidatable", "True"))},
		"one that is, and changes":             {before: claim(condition("Drained", "Unknown")), after: claim(status.Condition{Type: "Drained", Status: "True", Reason: "Drained", Message: "m"}), want: "Normal Drained Status condition transitioned, Type: Drained, Status: Unknown -> True, Reason: Drained, Message: m"},
		"not the leader":                       {before: claim(condition("Ready", "True")), after: claim(condition("Ready", "False")), follows: true},
	} {
		t.Run(name, func(t *testing.T) {
			elected := make(chan struct{})
			if !tc.follows {
				close(elected)
			}
			events := record.NewFakeRecorder(10)
			p := &Publisher{Recorder: events, Elected: elected, Clock: clocktesting.NewFakeClock(time.Unix(0, 0)), limit: rate.NewLimiter(perSecond, burst)}
			p.changed(tc.before, tc.after)
			close(events.Events)
			if got := <-events.Events; got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}

// A class that is made with a role that does not exist is never anything but Unknown.
func TestAClassThatIsStuckFromTheBeginningHasAnEvent(t *testing.T) {
	class := func(reason, message string) *awsv1.EC2NodeClass {
		c := &awsv1.EC2NodeClass{}
		c.SetConditions([]status.Condition{{Type: awsv1.ConditionTypeInstanceProfileReady, Status: metav1.ConditionUnknown, Reason: reason, Message: message}})
		return c
	}
	wrong := class("Unauthorized", "role nope")
	for name, tc := range map[string]struct {
		before, after *awsv1.EC2NodeClass
		want          string
	}{
		"from nothing":   {&awsv1.EC2NodeClass{}, wrong, "Warning InstanceProfileReady Status condition transitioned, Type: InstanceProfileReady, Status: Unknown -> Unknown, Reason: Unauthorized, Message: role nope"},
		"after waiting":  {class(status.ReasonAwaitingReconciliation, "m"), wrong, "Warning InstanceProfileReady Status condition transitioned, Type: InstanceProfileReady, Status: Unknown -> Unknown, Reason: Unauthorized, Message: role nope"},
		"the same again": {wrong, class("Unauthorized", "role nope, request 2"), ""},
		"it waits":       {&awsv1.EC2NodeClass{}, class(awsv1.ReasonDependenciesNotReady, "waiting"), ""},
	} {
		elected := make(chan struct{})
		close(elected)
		events := record.NewFakeRecorder(10)
		p := &Publisher{Recorder: events, Elected: elected, Clock: clocktesting.NewFakeClock(time.Unix(0, 0)), limit: rate.NewLimiter(perSecond, burst)}
		p.changed(tc.before, tc.after)
		close(events.Events)
		if got := <-events.Events; got != tc.want {
			t.Errorf("%s: got %q, want %q", name, got, tc.want)
		}
	}
}

// A thousand classes, pools or claims that flap together do not fill the API.
func TestTransitionsAreBounded(t *testing.T) {
	elected := make(chan struct{})
	close(elected)
	events := record.NewFakeRecorder(3 * burst)
	clock := clocktesting.NewFakeClock(time.Unix(0, 0))
	p := &Publisher{Recorder: events, Elected: elected, Clock: clock, limit: rate.NewLimiter(perSecond, burst)}
	for range 2 * burst {
		p.changed(claim(condition("Ready", "True")), claim(condition("Ready", "False")))
	}
	if n := len(events.Events); n != burst {
		t.Errorf("%d events at once, want %d", n, burst)
	}
	clock.Step(time.Second)
	for range burst {
		p.changed(claim(condition("Ready", "True")), claim(condition("Ready", "False")))
	}
	if n := len(events.Events); n != burst+perSecond {
		t.Errorf("%d events a second later, want %d", n, burst+perSecond)
	}
}

func TestWhatReadyFollowsFromIsToldFirst(t *testing.T) {
	elected := make(chan struct{})
	close(elected)
	events := record.NewFakeRecorder(10)
	p := &Publisher{Recorder: events, Elected: elected, Clock: clocktesting.NewFakeClock(time.Unix(0, 0)), limit: rate.NewLimiter(perSecond, burst)}
	p.changed(claim(), claim(condition("Ready", "True"), condition("Launched", "True")))
	for _, want := range []string{"Type: Launched,", "Type: Ready,"} {
		if got := <-events.Events; !strings.Contains(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// A panic of an informer's handler would end the process.
func TestAPanicIsToldAndEndsNothing(t *testing.T) {
	var told *guard.Panic
	defer guard.Listen(func(p *guard.Panic) { told = p })()
	elected := make(chan struct{})
	close(elected)
	p := &Publisher{Elected: elected, Clock: clocktesting.NewFakeClock(time.Unix(0, 0)), limit: rate.NewLimiter(perSecond, burst)} // no recorder
	p.hear(claim(), claim(condition("Launched", "True")))
	if told == nil || told.Where != "transitions" {
		t.Errorf("told of %v", told)
	}
}

func TestATextIsCutBetweenLetters(t *testing.T) {
	c := condition("Launched", "True")
	c.Message = strings.Repeat("ü", longest)
	if text := Text(&c, "Unknown"); len(text) > longest || !utf8.ValidString(text) {
		t.Errorf("%d bytes, valid %v", len(text), utf8.ValidString(text))
	}
}
