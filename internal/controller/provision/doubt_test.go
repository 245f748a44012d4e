package provision

import (
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kerf-sh/kerf/internal/engine/cluster"
)

// TestPodsThatTheSchedulerDoesNotPutWhereTheyArePlanned: twice they are planned together, then one at a time, with growing pauses.
func TestPodsThatTheSchedulerDoesNotPutWhereTheyArePlanned(t *testing.T) {
	web, db := &cluster.Class{ID: "web"}, &cluster.Class{ID: "db"}
	a := &cluster.Pod{PodRef: cluster.PodRef{Name: "a", UID: "a"}, Class: web}
	pods := []*cluster.Pod{a, {PodRef: cluster.PodRef{Name: "b", UID: "b"}, Class: web}, {PodRef: cluster.PodRef{Name: "c", UID: "cr"}, Class: db},
		{PodRef: cluster.PodRef{Name: "r", UID: "r"}, Class: web, Node: "that-goes"}}
	now := time.Date(2026, 11, 27, 12, 0, 0, 0, time.UTC)
	reserved := map[types.UID]bool{}
	d := doubts{reserved: func(uid types.UID) bool { return reserved[uid] }}
	in := func() string {
		var out strings.Builder
		for _, p := range d.split(pods, now).in {
			out.WriteString(p.Name)
		}
		return out.String()
	}
	miss := func() {
		d.miss("web", "no node tolerates it", now)
		d.miss("web", "no node tolerates it", now.Add(time.Second)) // another one that was planned with it
	}
	for _, step := range []struct {
		what  string
		after time.Duration
		do    func()
		want  string
	}{
		{"at first", 0, func() {}, "abcr"},
		{"one miss", 0, miss, "abcr"},
		{"two misses", time.Minute, miss, "cr"},
		{"before the pause is over", firstDoubt - time.Second, func() {}, "cr"},
		{"after it", time.Second, func() {}, "acr"},
		{"again in the same trial", time.Second, func() {}, "acr"},
		{"a third miss", 30 * time.Second, miss, "cr"},
		{"after as long as the first time", firstDoubt, func() {}, "cr"},
		{"after twice as long", firstDoubt, func() {}, "acr"},
		{"its node boots, so that it is not pending", 30 * time.Second, func() { pods, reserved["a"] = pods[1:], true }, "cr"},
		{"the node takes longer than the pause", 2 * firstDoubt, func() {}, "cr"},
		{"the node is gone", time.Second, func() { pods, reserved = append([]*cluster.Pod{a}, pods...), nil }, "acr"},
		{"the tried pod is gone", 2 * firstDoubt, func() { pods = pods[1:] }, "bcr"},
		{"it is back under another name", time.Second, func() { pods = append([]*cluster.Pod{a}, pods...) }, "bcr"},
		{"one is bound", time.Second, func() { d.dispel("web") }, "abcr"},
		{"two misses again", time.Minute, func() { miss(); now = now.Add(oneRound); miss() }, "cr"},
		{"other pools", time.Second, d.dispelAll, "abcr"},
		{"and again", time.Minute, func() { miss(); now = now.Add(oneRound); miss() }, "cr"},
		{"long ago", forgetDoubt, func() {}, "abcr"},
	} {
		now = now.Add(step.after)
		step.do()
		if got := in(); got != step.want {
			t.Errorf("%s: %q take part, want %q", step.what, got, step.want)
		}
	}
	miss()
	now = now.Add(oneRound)
	miss()
	u := d.unplaced(d.split(pods, now).out)
	if len(u) != 1 || len(u[0].Pods) != 2 || !strings.Contains(u[0].Reasons[0].Detail, "2 times in a row") || !strings.Contains(u[0].Reasons[0].Detail, "which has room (no node tolerates it); one") {
		t.Errorf("told is %+v", u)
	}
}
