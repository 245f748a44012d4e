package disrupt

import (
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kerf-sh/kerf/internal/cluster"
)

func ownedBy(owner string) *corev1.Pod {
	p := &corev1.Pod{}
	p.OwnerReferences = []metav1.OwnerReference{{Kind: "ReplicaSet", Name: owner, UID: types.UID(owner), Controller: new(true)}}
	return p
}

func always(n int) func(types.UID) int { return func(types.UID) int { return n } }

func TestPodsRestWhereAMoveHasBroughtThem(t *testing.T) {
	begun := time.Unix(100_000, 0)
	for sentence, tt := range map[string]struct {
		owner string
		born  time.Duration // after the move
		now   time.Duration
		rests bool
	}{
		"a pod that came by the move":           {"web", time.Second, time.Minute, true},
		"a pod that was there before":           {"web", -time.Second, time.Minute, false},
		"a pod of something that was moved not": {"db", time.Second, time.Minute, false},
		"a pod that has rested":                 {"web", time.Second, restFor + time.Second, false},
	} {
		t.Run(sentence, func(t *testing.T) {
			g := NewGovernor()
			g.Moving([]*corev1.Pod{ownedBy("web")}, always(1), begun)
			n := &cluster.Node{Pods: []*cluster.Pod{{CreatedAt: begun.Add(tt.born)}}}
			r, until := g.blocks(n, func(cluster.PodRef) *corev1.Pod { return ownedBy(tt.owner) }, begun.Add(tt.now))
			if (r.Code != "") != tt.rests || tt.rests && !until.Equal(begun.Add(tt.born+restFor)) {
				t.Errorf("got %q until %v", r.Text(), until)
			}
		})
	}
}

func TestTheBreakerOpensWhenPodsDoNotFitWhereTheyWereSaidTo(t *testing.T) {
	now := time.Unix(100_000, 0)
	g := NewGovernor()
	wrong := func(n, count int) (opened bool) {
		for i := range n {
			owner := fmt.Sprint("app", i)
			g.Moving([]*corev1.Pod{ownedBy(owner)}, always(3), now)
			opened = g.Bought([]*corev1.Pod{ownedBy(owner)}, always(count), now.Add(time.Minute)) != "" || opened
		}
		return opened
	}
	if wrong(5, 4) {
		t.Error("it opened because applications grew")
	}
	g = NewGovernor()
	if wrong(tripAt-1, 3) {
		t.Error("it opened too soon")
	}
	if !wrong(tripAt, 3) {
		t.Fatal("it did not open")
	}
	until, why, open := g.Open(now.Add(2 * time.Minute))
	if !open || why == "" || until.Sub(now.Add(time.Minute)) != openFor {
		t.Errorf("open: %v until %v: %s", open, until, why)
	}
	now = until
	if _, _, open := g.Open(now); open {
		t.Error("it does not close again")
	}
	if !wrong(tripAt, 3) {
		t.Fatal("it did not open again")
	}
	if again, _, _ := g.Open(now.Add(2 * time.Minute)); again.Sub(now.Add(time.Minute)) != 2*openFor {
		t.Errorf("the second time it opens for %v, want twice as long", again.Sub(now.Add(time.Minute)))
	}
}

func TestABuyLongAfterAMoveSaysNothing(t *testing.T) {
	now := time.Unix(100_000, 0)
	g := NewGovernor()
	for i := range 2 * tripAt {
		owner := fmt.Sprint("app", i)
		g.Moving([]*corev1.Pod{ownedBy(owner)}, always(3), now)
		if g.Bought([]*corev1.Pod{ownedBy(owner)}, always(3), now.Add(judgeFor)) != "" {
			t.Error("it opened")
		}
	}
}
