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
	first := l.Reserve(threeSubnets, Need{Nodes: 1, Pods: pods(29)})
	if diff := cmp.Diff(map[string]string{"a": "a1", "b": "b1"}, first.Subnets); diff != "" {
		t.Errorf("first choice:\n%s", diff)
	}
	second := l.Reserve(threeSubnets, Need{Nodes: 1, Pods: pods(29)})
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
	r := l.Reserve(threeSubnets[:1], Need{Nodes: 4, Pods: pods(9)})
	if got := free(t, l, "a1"); got != 60 {
		t.Errorf("4 instances of 9 pods leave %d", got)
	}
	c.pass(time.Second)
	r.Settle(map[string]int{"a1": 3})
	if got := free(t, l, "a1"); got != 70 {
		t.Errorf("3 instances leave %d", got)
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
	if diff := cmp.Diff(map[string]string{"b": "b1"}, l.Reserve(threeSubnets, Need{Nodes: 2, Pods: pods(5)}).Subnets); diff != "" {
		t.Errorf("two instances:\n%s", diff)
	}
	l, c := newLedger(map[string]int{"a1": 50, "a2": 1, "b1": 30})
	l.Exhausted("a1", Demand{})
	if diff := cmp.Diff(map[string]string{"a": "a2", "b": "b1"}, l.Reserve(threeSubnets, Need{Nodes: 1, Pods: pods(5)}).Subnets); diff != "" {
		t.Errorf("after EC2 refused a1:\n%s", diff)
	}
	l.Observe("a1", 50, c.t.Add(time.Minute))
	if diff := cmp.Diff(map[string]string{"a": "a1", "b": "b1"}, l.Reserve(threeSubnets, Need{Nodes: 1, Pods: pods(5)}).Subnets); diff != "" {
		t.Errorf("after a new count:\n%s", diff)
	}
	l, _ = newLedger(map[string]int{"a1": 0, "a2": 0, "b1": 0})
	if diff := cmp.Diff(map[string]string{"a": "a1", "b": "b1"}, l.Reserve(threeSubnets, Need{Nodes: 1, Pods: pods(5)}).Subnets); diff != "" {
		t.Errorf("when all are full EC2 shall decide:\n%s", diff)
	}
}

// Pods may never come; only the instances themselves are certain, so a busy burst must not shut zones.
func TestPodsAloneDoNotShutAZone(t *testing.T) {
	l, _ := newLedger(map[string]int{"a1": 250, "b1": 250})
	two := []awsv1.Subnet{{ID: "a1", Zone: "a"}, {ID: "b1", Zone: "b"}}
	for range 100 {
		if r := l.Reserve(two, Need{Nodes: 1, Pods: pods(29)}); len(r.Subnets) != 2 {
			t.Fatalf("zones left: %v", r.Subnets)
		}
	}
}

func TestZonesWithoutRoomForThePlannedPodsAreLeftOut(t *testing.T) {
	for name, c := range map[string]struct {
		free map[string]int
		need Need
		want map[string]string
	}{
		"room everywhere":                         {map[string]int{"a1": 30, "a2": 9, "b1": 20}, Need{Nodes: 1, Planned: 10, Pods: pods(29)}, map[string]string{"a": "a1", "b": "b1"}},
		"a zone with room for the instance alone": {map[string]int{"a1": 30, "a2": 9, "b1": 10}, Need{Nodes: 1, Planned: 10, Pods: pods(29)}, map[string]string{"a": "a1"}},
		"an address for each instance as well":    {map[string]int{"a1": 11, "a2": 0, "b1": 12}, Need{Nodes: 2, Planned: 10, Pods: pods(5)}, map[string]string{"b": "b1"}},
		"the pods fit nowhere":                    {map[string]int{"a1": 3, "a2": 2, "b1": 0}, Need{Nodes: 1, Planned: 10, Pods: pods(29)}, map[string]string{"a": "a1"}},
		"nothing fits":                            {map[string]int{"a1": 0, "a2": 0, "b1": 0}, Need{Nodes: 1, Planned: 10, Pods: pods(29)}, map[string]string{"a": "a1", "b": "b1"}},
		"addresses from elsewhere":                {map[string]int{"a1": 1, "a2": 0, "b1": 1}, Need{Nodes: 1, Pods: pods(0)}, map[string]string{"a": "a1", "b": "b1"}},
	} {
		l, _ := newLedger(c.free)
		if diff := cmp.Diff(c.want, l.Reserve(threeSubnets, c.need).Subnets); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	l, _ := newLedger(map[string]int{"a1": 30, "b1": 100})
	two := []awsv1.Subnet{{ID: "a1", Zone: "a"}, {ID: "b1", Zone: "b"}}
	first := l.Reserve(two, Need{Nodes: 2, Planned: 20, Pods: pods(29)})
	if diff := cmp.Diff(map[string]string{"b": "b1"}, l.Reserve(two, Need{Nodes: 2, Planned: 20, Pods: pods(29)}).Subnets); diff != "" {
		t.Errorf("with a launch in flight (-want +got):\n%s", diff)
	}
	first.Settle(map[string]int{"a1": 1})
	if diff := cmp.Diff(map[string]string{"b": "b1"}, l.Reserve(two, Need{Nodes: 2, Planned: 20, Pods: pods(29)}).Subnets); diff != "" {
		t.Errorf("with one of two launched (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string]string{"a": "a1", "b": "b1"}, l.Reserve(two, Need{Nodes: 1, Planned: 10, Pods: pods(29)}).Subnets); diff != "" {
		t.Errorf("half of it was given back (-want +got):\n%s", diff)
	}
}

func TestARefusalCountsForThoseThatDemandAsMuch(t *testing.T) {
	for name, c := range map[string]struct {
		refused, asked Demand
		full           bool
	}{
		"the same":                            {Demand{1, 15}, Demand{1, 15}, true},
		"more prefixes":                       {Demand{1, 1}, Demand{1, 15}, true},
		"fewer prefixes":                      {Demand{1, 15}, Demand{1, 1}, false},
		"no prefix, where one was refused":    {Demand{1, 1}, Demand{1, 0}, false},
		"a prefix, where an address was":      {Demand{}, Demand{1, 1}, true},
		"one address, where many were":        {Demand{32, 0}, Demand{}, false},
		"many addresses, where one was":       {Demand{}, Demand{32, 0}, true},
		"fewer addresses, but more prefixes":  {Demand{32, 0}, Demand{1, 15}, false},
		"one address said or not is the same": {Demand{1, 0}, Demand{}, true},
	} {
		l, clock := newLedger(map[string]int{"a1": 1000})
		l.Exhausted("a1", c.refused)
		if got := len(l.Full(threeSubnets[:1], c.asked)) == 1; got != c.full {
			t.Errorf("%s: full is %v, want %v", name, got, c.full)
		}
		l.Observe("a1", 1000, clock.t.Add(time.Second))
		if len(l.Full(threeSubnets[:1], c.asked)) > 0 {
			t.Errorf("%s: full although EC2 counted anew", name)
		}
	}
}

func TestPrefixesAreCounted(t *testing.T) {
	l, _ := newLedger(map[string]int{"a1": 100, "a2": 40})
	large := Demand{1, 3}
	if diff := cmp.Diff([]string{"a2"}, l.Full(threeSubnets[:2], large)); diff != "" {
		t.Errorf("full for 49 addresses (-want +got):\n%s", diff)
	}
	r := l.Reserve(threeSubnets[:2], Need{Nodes: 2, Each: large, Pods: pods(0)})
	if got := free(t, l, "a1"); got != 2 {
		t.Errorf("two instances of 49 addresses leave %d of 100", got)
	}
	r.Settle(map[string]int{"a1": 1})
	if got := free(t, l, "a1"); got != 51 {
		t.Errorf("one instance of 49 addresses leaves %d of 100", got)
	}
}

// A burst goes to one of the zones that it may go to; the others are open to everybody meanwhile.
func TestALaunchInFlightShutsNoZoneThatItMayNotGoTo(t *testing.T) {
	l, _ := newLedger(map[string]int{"a1": 100, "b1": 100})
	two := []awsv1.Subnet{{ID: "a1", Zone: "a"}, {ID: "b1", Zone: "b"}}
	burst := l.Reserve(two, Need{Nodes: 20, Planned: 80, Pods: pods(29)})
	if got := l.Full(two, Demand{}); len(got) > 0 {
		t.Errorf("full while the burst is in flight: %v", got)
	}
	burst.Settle(map[string]int{"a1": 20})
	if diff := cmp.Diff([]string{"a1"}, l.Full(two, Demand{})); diff != "" {
		t.Errorf("full once it went to one zone (-want +got):\n%s", diff)
	}
	l.Reserve(two[1:], Need{Nodes: 20, Planned: 80, Pods: pods(29)})
	if diff := cmp.Diff([]string{"a1", "b1"}, l.Full(two, Demand{})); diff != "" {
		t.Errorf("full while a burst is in flight that can go nowhere else (-want +got):\n%s", diff)
	}
}

func TestAnUnknownSubnetIsUsable(t *testing.T) {
	l, _ := newLedger(nil)
	if r := l.Reserve(threeSubnets, Need{Nodes: 1, Pods: pods(0)}); len(r.Subnets) != 2 {
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
