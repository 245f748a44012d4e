package network

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	awsv1 "github.com/kerf-sh/kerf/api/aws/v1"
	"github.com/kerf-sh/kerf/internal/engine/cluster"
)

func TestWhatWasLaunchedIsTakenOffAndWhatIsInFlightIsNot(t *testing.T) {
	l, c := newLedger(map[string]int{"a1": 20, "b1": 9, "b2": 5})
	l.Reserve([]awsv1.Subnet{{ID: "a1", Zone: "a"}}, Need{Nodes: 3, Planned: 3, Pods: pods(0)})
	r := l.Reserve([]awsv1.Subnet{{ID: "b1", Zone: "b"}}, Need{Nodes: 2, Each: Demand{Addresses: 2}, Planned: 2, Pods: pods(9)})
	r.Settle(map[string]int{"b1": 1})
	all := []awsv1.Subnet{{ID: "b2", Zone: "b"}, {ID: "b1", Zone: "b"}, {ID: "a1", Zone: "a"}}
	want := []cluster.Subnet{{ID: "a1", Zone: "a", Free: 20}, {ID: "b1", Zone: "b", Free: 6}, {ID: "b2", Zone: "b", Free: 5}}
	if diff := cmp.Diff(want, l.Left(all)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	l.Exhausted("b2", Demand{})
	l.Observe("b1", 2, c.t.Add(time.Minute)) // the count holds the launch
	want[1].Free, want[2].Free = 2, 0
	if diff := cmp.Diff(want, l.Left(all)); diff != "" {
		t.Errorf("a minute later (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(want[:1], l.Left(append(all, awsv1.Subnet{ID: "b3", Zone: "b"}))); diff != "" {
		t.Errorf("with a subnet that was never counted (-want +got):\n%s", diff)
	}
}
