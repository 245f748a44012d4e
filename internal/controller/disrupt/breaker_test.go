package disrupt

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
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
	for i := range n {
		p := ownedBy(owner)
		p.UID = types.UID(fmt.Sprintf("%s-%d-%d", owner, price, i))
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
			g := &Breaker{}
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
	g := &Breaker{}
	for range 20 {
		g.Moving([]*corev1.Pod{ownedBy("web"), ownedBy("api")}, 60, always(9), now)
	}
	if why := g.Launched(launched(1, 60, "web"), always(9), now.Add(time.Second)); why != "" {
		t.Error(why)
	}
}

func TestALaunchThatIsAskedForAgainIsNoOtherMiss(t *testing.T) {
	g, now := &Breaker{}, time.Unix(100_000, 0)
	g.Moving([]*corev1.Pod{ownedBy("web")}, 100, always(3), now)
	for range 5 {
		now = now.Add(time.Second)
		if why := g.Launched(launched(1, 90, "web"), always(3), now); why != "" {
			t.Fatalf("one pod, launched for again and again: %s", why)
		}
	}
}

func TestTheBreakerStaysOpenLongerEachTime(t *testing.T) {
	now := time.Unix(100_000, 0)
	g := &Breaker{}
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

// The leader ends while the breaker is open; the next one finds that on the pools, and for how long it was, and says it on a pool
// that has come since.
func TestTheNextLeaderKnowsThatTheBreakerIsOpen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newTestCluster(t)
		defer h.end()
		pool := h.pool.DeepCopy()
		pool.ResourceVersion = ""
		if err := h.api.Create(t.Context(), pool); err != nil {
			t.Fatal(err)
		}
		l := &Loop{Queue: h.Queue, State: h.cache, Clock: clock.RealClock{}}
		l.Breaker.Moving([]*corev1.Pod{ownedBy("web")}, 100, always(3), time.Now())
		l.Breaker.Launched(launchedFor(tripAt, 90, "web", time.Now()), always(3), time.Now())
		until, why, open := l.Breaker.Open(time.Now())
		if err := l.writeBreaker(t.Context()); err != nil || !open {
			t.Fatalf("open %t: %v", open, err)
		}
		var stored karpv1.NodePool
		if err := h.api.Get(t.Context(), client.ObjectKeyFromObject(pool), &stored); err != nil {
			t.Fatal(err)
		}
		next := &Breaker{}
		next.restore([]*karpv1.NodePool{{}, &stored, {ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{breakerAnnotation: "yes"}}}}, time.Now())
		got, said, open := next.Open(time.Now())
		if !open || !got.Equal(until.Truncate(time.Second)) || said != why || next.last.For.Duration != openFor {
			t.Errorf("the next leader's is open %t until %s (%q), for %s; the former's was until %s (%q)", open, got, said, next.last.For.Duration, until, why)
		}
		time.Sleep(openFor)
		if next.opening(time.Now()) != "" {
			t.Error("a breaker that has closed is written down")
		}
	})
}

// What a leader wrote, or remembers, while its clock was wrong holds consolidation no longer than any opening does.
func TestAnOpeningThatIsTooFarAheadIsNotBelieved(t *testing.T) {
	now := time.Unix(100_000, 0)
	for name, tc := range map[string]struct {
		clock time.Duration // by which the clock was ahead
		open  bool
	}{
		"a clock that was right":        {0, true},
		"another leader's clock":        {skew, true},
		"a clock that was a year ahead": {365 * 24 * time.Hour, false},
	} {
		g := &Breaker{}
		ahead := now.Add(tc.clock)
		for range 6 { // it opens longer each time, mostOpen in the end
			g.Moving([]*corev1.Pod{ownedBy("web")}, 100, always(3), ahead)
			g.Launched(launched(tripAt, 90, "web"), always(3), ahead)
			if until, _, _ := g.Open(ahead); until.Sub(ahead) < mostOpen {
				ahead = until
			}
		}
		written := ahead.Add(-tc.clock)
		pool := &karpv1.NodePool{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{breakerAnnotation: g.opening(ahead)}}}
		next := &Breaker{}
		next.restore([]*karpv1.NodePool{pool}, written)
		for who, b := range map[string]*Breaker{"the leader's": g, "the next leader's": next} {
			if _, _, open := b.Open(written); open != tc.open {
				t.Errorf("%s: %s breaker is open: %v, want %v", name, who, open, tc.open)
			}
			if text := b.opening(written); (text != "") != tc.open {
				t.Errorf("%s: %s breaker writes %q", name, who, text)
			}
		}
	}
}
