package disrupt

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kerf-sh/kerf/internal/engine/catalog"
)

func ownedBy(owner string) *corev1.Pod {
	p := &corev1.Pod{}
	p.OwnerReferences = []metav1.OwnerReference{{Kind: "ReplicaSet", Name: owner, UID: types.UID(owner), Controller: new(true)}}
	return p
}

func always(n int) func(types.UID) int { return func(types.UID) int { return n } }

// launched is instances at a price for a pod each of an owner, which is younger than every move here.
func launched(n int, price catalog.MicroUSD, owner string) []Launch {
	return launchedFor(n, price, owner, time.Unix(1_000_000_000, 0))
}

// boughtFor is launched, for pods that were made at a time.
func launchedFor(n int, price catalog.MicroUSD, owner string, made time.Time) (out []Launch) {
	for range n {
		p := ownedBy(owner)
		p.CreationTimestamp = metav1.NewTime(made)
		out = append(out, Launch{Pods: []*corev1.Pod{p}, Price: price})
	}
	return out
}

func TestTheBreakerOpensWhenPodsDoNotFitWhereTheyWereSaidTo(t *testing.T) {
	begun := time.Unix(100_000, 0)
	for sentence, tt := range map[string]struct {
		launched []Launch
		count    int // pods of the owner, which had three
		after    time.Duration
		opens    bool
	}{
		"as much was launched as was to be saved":              {launched(tripAt, 40, "web"), 3, time.Minute, true},
		"a third of what was to be saved":                      {launched(tripAt, 12, "web"), 3, time.Minute, true},
		"a quarter of what was to be saved":                    {launched(tripAt, 8, "web"), 3, time.Minute, false},
		"two instances":                                        {launched(tripAt-1, 90, "web"), 3, time.Minute, false},
		"an application that grew":                             {launched(tripAt, 90, "web"), 4, time.Minute, false},
		"an application that was not moved":                    {launched(tripAt, 90, "db"), 3, time.Minute, false},
		"pods that waited before the move":                     {launchedFor(tripAt, 90, "web", begun.Add(-time.Second)), 3, time.Minute, false},
		"instances that were launched long after":              {launched(tripAt, 90, "web"), 3, judgeFor, false},
		"instances of which the others' pods take nine tenths": {crowded(tripAt, 90), 3, time.Minute, false},
	} {
		t.Run(sentence, func(t *testing.T) {
			g := NewGovernor()
			g.Moving([]*corev1.Pod{ownedBy("web")}, 100, always(3), begun)
			now := begun.Add(tt.after)
			why := g.Launched(tt.launched, always(tt.count), now)
			until, said, open := g.Open(now)
			if open != tt.opens || why != said || open && until.Sub(now) != openFor {
				t.Errorf("open: %v until %v: %q", open, until, why)
			}
			if _, _, open := g.Open(until); open {
				t.Error("it does not close again")
			}
		})
	}
}

// crowded is instances that were launched for ten pods each, of which one is of web.
func crowded(n int, price catalog.MicroUSD) []Launch {
	out := launched(n, price, "web")
	for i := range out {
		for range 9 {
			out[i].Pods = append(out[i].Pods, ownedBy("other"))
		}
	}
	return out
}

// Many moves of the same owners, as after a scale-down, and a single instance launched: one instance is one miss.
func TestOneInstanceIsOneMissHoweverManyMovesItsOwnerHad(t *testing.T) {
	now := time.Unix(100_000, 0)
	g := NewGovernor()
	for range 20 {
		g.Moving([]*corev1.Pod{ownedBy("web"), ownedBy("api")}, 60, always(9), now)
	}
	if why := g.Launched(launched(1, 60, "web"), always(9), now.Add(time.Second)); why != "" {
		t.Error(why)
	}
}

func TestTheBreakerStaysOpenLongerEachTime(t *testing.T) {
	now := time.Unix(100_000, 0)
	g := NewGovernor()
	for _, want := range []time.Duration{openFor, 2 * openFor, 4 * openFor, 8 * openFor, mostOpen, mostOpen} {
		g.Moving([]*corev1.Pod{ownedBy("web")}, 100, always(3), now)
		g.Launched(launched(tripAt, 90, "web"), always(3), now)
		until, why, open := g.Open(now)
		if !open || until.Sub(now) != want {
			t.Fatalf("it opens for %v, want %v: %s", until.Sub(now), want, why)
		}
		now = until
	}
}
