package overview

import (
	"slices"
	"testing"
	"time"

	"github.com/kerf-sh/kerf/internal/engine/cluster"
	"github.com/kerf-sh/kerf/internal/engine/disrupt"
	"github.com/kerf-sh/kerf/internal/engine/plan"
)

// TestUntilItDecidesItHasJustStarted: pods that wait are neither well nor a problem before the first decision after a start, as long as a
// start may take.
func TestUntilItDecidesItHasJustStarted(t *testing.T) {
	began := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	now, class := began, &cluster.Class{ID: "c", Namespace: "shop"}
	var d *disrupt.Decision
	s := &cluster.Snapshot{Pending: []*cluster.Pod{{PodRef: cluster.PodRef{Namespace: "shop", Name: "a", UID: "a"}, Class: class, CreatedAt: began.Add(-time.Minute)}}}
	o := New(Sources{Snapshot: func() *cluster.Snapshot { return s }, Decision: func() *disrupt.Decision { return d }, Now: func() time.Time { return now }})
	says := func(after time.Duration, want ...string) {
		t.Helper()
		now = began.Add(after)
		var got []string
		for _, p := range o.Document(t.Context(), "").Problems {
			got = append(got, p.Code)
		}
		if !slices.Equal(got, want) {
			t.Errorf("after %s it says %q, want %q", after, got, want)
		}
	}
	says(2*time.Second, JustStarted)
	says(20*time.Second, JustStarted)
	d = &disrupt.Decision{}
	says(22*time.Second, JustStarted) // it leads, and the pods come next
	says(31*time.Second, NoNodeComing)
	o.Planned(&plan.Plan{})
	says(33 * time.Second)
	says(49*time.Second, NoNodeComing) // nothing was said of the pods for waitsWithin
	s = &cluster.Snapshot{}
	says(51 * time.Second)
}

// TestInstancesThatHaveNotJoined are told of once they take twice as long as is usual.
func TestInstancesThatHaveNotJoined(t *testing.T) {
	began := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	now := began
	s := &cluster.Snapshot{Nodes: []*cluster.Node{
		{Name: "a", Claim: "a", Launched: true, CreatedAt: began}, {Name: "b", Claim: "b", Launched: true, CreatedAt: began.Add(30 * time.Second)},
	}}
	o := New(Sources{Snapshot: func() *cluster.Snapshot { return s }, Joins: func(*cluster.Snapshot) time.Duration { return 13 * time.Second }, Now: func() time.Time { return now }})
	for _, step := range []struct {
		at   time.Duration
		want string
	}{
		{25 * time.Second, ""}, {27 * time.Second, "1 instance has not joined for 27s; 13s is usual here"}, {80 * time.Second, "2 instances have not joined for 1m20s; 13s is usual here"},
	} {
		now = began.Add(step.at)
		got := ""
		if j := o.Document(t.Context(), "").Joining; j != nil {
			got = j.Text(now)
		}
		if got != step.want {
			t.Errorf("after %s it says %q, want %q", step.at, got, step.want)
		}
	}
}

// TestRoomOnSeveralNodesIsCounted: the line of pods that are alike names one node, and says how many there are.
func TestRoomOnSeveralNodesIsCounted(t *testing.T) {
	now, class := time.Now(), &cluster.Class{ID: "c", Namespace: "shop"}
	node := func(name string, pods ...string) *cluster.Node {
		n := &cluster.Node{Name: name, Claim: name}
		for _, p := range pods {
			n.Pods = append(n.Pods, &cluster.Pod{PodRef: cluster.PodRef{Namespace: "shop", Name: p, UID: p}, Class: class, CreatedAt: now})
		}
		return n
	}
	s := &cluster.Snapshot{Nodes: []*cluster.Node{node("n1", "a", "b"), node("n2", "c")}}
	d := New(Sources{Snapshot: func() *cluster.Snapshot { return s }, Now: func() time.Time { return now }}).Document(t.Context(), "")
	if len(d.Waiting) != 1 || d.Waiting[0].Count != 3 || d.Waiting[0].Where() != "n1 and 1 more" {
		t.Errorf("%+v", d.Waiting)
	}
}
