package network

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	awsv1 "github.com/kerf-sh/kerf/api/aws/v1"
)

type clock struct{ t time.Time }

func (c *clock) now() time.Time       { return c.t }
func (c *clock) pass(d time.Duration) { c.t = c.t.Add(d) }

func newLedger(free map[string]int) (*Ledger, *clock) {
	c := &clock{time.Date(2026, 8, 1, 12, 0, 0, 0, time.UTC)}
	l := NewLedger(c.now)
	for id, n := range free {
		l.Observe(id, n, c.t)
	}
	return l, c
}

var threeSubnets = []awsv1.Subnet{{ID: "a1", Zone: "a"}, {ID: "a2", Zone: "a"}, {ID: "b1", Zone: "b"}}

func pods(n int) func(string) int { return func(string) int { return n } }

func free(t *testing.T, l *Ledger, id string) int {
	t.Helper()
	n, ok := l.Free(id)
	if !ok {
		t.Fatalf("subnet %s was never observed", id)
	}
	return n
}

func TestLaunchesInFlightMoveTheChoice(t *testing.T) {
	l, _ := newLedger(map[string]int{"a1": 100, "a2": 90, "b1": 50})
	first := l.Reserve(threeSubnets, 1, pods(29))
	if diff := cmp.Diff(map[string]string{"a": "a1", "b": "b1"}, first.Subnets); diff != "" {
		t.Errorf("first choice:\n%s", diff)
	}
	second := l.Reserve(threeSubnets, 1, pods(29))
	if diff := cmp.Diff(map[string]string{"a": "a2", "b": "b1"}, second.Subnets); diff != "" {
		t.Errorf("second choice:\n%s", diff)
	}
	if got := free(t, l, "b1"); got != 50-2*30 {
		t.Errorf("b1 is predicted to have %d", got)
	}
	first.Settle(map[string]int{"a1": 1})
	second.Settle(nil)
	second.Settle(map[string]int{"a2": 1}) // settling twice does nothing
	if got := [3]int{free(t, l, "a1"), free(t, l, "a2"), free(t, l, "b1")}; got != [3]int{70, 90, 50} {
		t.Errorf("after settling the prediction is %v", got)
	}
}

func TestACountReplacesLaunchesThatItCanHold(t *testing.T) {
	l, c := newLedger(map[string]int{"a1": 100})
	r := l.Reserve(threeSubnets[:1], 4, pods(9))
	if got := free(t, l, "a1"); got != 60 {
		t.Errorf("4 machines of 9 pods leave %d", got)
	}
	c.pass(time.Second)
	r.Settle(map[string]int{"a1": 3})
	if got := free(t, l, "a1"); got != 70 {
		t.Errorf("3 machines leave %d", got)
	}
	l.Observe("a1", 97, c.t.Add(time.Second))
	if got := free(t, l, "a1"); got != 67 {
		t.Errorf("a count just after the launch may not hold it, but the prediction is %d", got)
	}
	l.Observe("a1", 80, c.t.Add(settleTime))
	if got := free(t, l, "a1"); got != 80 {
		t.Errorf("a later count holds the launch, but the prediction is %d", got)
	}
	l.Observe("a1", 5, c.t)
	if got := free(t, l, "a1"); got != 80 {
		t.Errorf("an old answer that came late made it %d", got)
	}
}

func TestFullSubnetsAreAvoidedWhileThereAreOthers(t *testing.T) {
	l, _ := newLedger(map[string]int{"a1": 0, "a2": 1, "b1": 30})
	if diff := cmp.Diff(map[string]string{"b": "b1"}, l.Reserve(threeSubnets, 2, pods(5)).Subnets); diff != "" {
		t.Errorf("two machines:\n%s", diff)
	}
	l, c := newLedger(map[string]int{"a1": 50, "a2": 1, "b1": 30})
	l.Exhausted("a1")
	if diff := cmp.Diff(map[string]string{"a": "a2", "b": "b1"}, l.Reserve(threeSubnets, 1, pods(5)).Subnets); diff != "" {
		t.Errorf("after EC2 refused a1:\n%s", diff)
	}
	l.Observe("a1", 50, c.t.Add(time.Minute))
	if diff := cmp.Diff(map[string]string{"a": "a1", "b": "b1"}, l.Reserve(threeSubnets, 1, pods(5)).Subnets); diff != "" {
		t.Errorf("after a new count:\n%s", diff)
	}
	l, _ = newLedger(map[string]int{"a1": 0, "a2": 0, "b1": 0})
	if diff := cmp.Diff(map[string]string{"a": "a1", "b": "b1"}, l.Reserve(threeSubnets, 1, pods(5)).Subnets); diff != "" {
		t.Errorf("when all are full EC2 shall decide:\n%s", diff)
	}
}

// Pods may never come; only the machines themselves are certain, so a busy burst must not shut zones.
func TestPodsAloneDoNotShutAZone(t *testing.T) {
	l, _ := newLedger(map[string]int{"a1": 250, "b1": 250})
	two := []awsv1.Subnet{{ID: "a1", Zone: "a"}, {ID: "b1", Zone: "b"}}
	for range 100 {
		if r := l.Reserve(two, 1, pods(29)); len(r.Subnets) != 2 {
			t.Fatalf("zones left: %v", r.Subnets)
		}
	}
}

func TestAnUnknownSubnetIsUsable(t *testing.T) {
	l, _ := newLedger(nil)
	if r := l.Reserve(threeSubnets, 1, pods(0)); len(r.Subnets) != 2 {
		t.Errorf("chosen: %v", r.Subnets)
	}
	if _, ok := l.Free("a1"); ok {
		t.Error("a subnet that was never observed has a prediction")
	}
}

func TestQueries(t *testing.T) {
	queries, note := queriesOf("securityGroupSelectorTerms", []term{
		{id: "sg-2"}, {id: "sg-1", tags: map[string]string{"a": "b"}}, {name: "n", tags: map[string]string{"a": "b"}}, {tags: map[string]string{"k": "*", "j": "v"}}, {}, {id: "sg-2"},
	})
	want := []query{{tags: map[string]string{"k": "*", "j": "v"}}, {names: []string{"n"}}, {ids: []string{"sg-1", "sg-2"}}}
	if diff := cmp.Diff(want, queries, cmp.AllowUnexported(query{})); diff != "" {
		t.Errorf("queries (-want +got):\n%s", diff)
	}
	const notes = "spec.securityGroupSelectorTerms[1] has an id, so its other fields are ignored; spec.securityGroupSelectorTerms[2] has a name, so its tags are ignored; spec.securityGroupSelectorTerms[4] is empty and selects nothing"
	if note != notes {
		t.Errorf("note: %s", note)
	}
	if a, b := (&query{tags: map[string]string{"a": "b"}}).key(), (&query{tags: map[string]string{"a": "c"}}).key(); a == b {
		t.Error("different queries have one key")
	}
}
