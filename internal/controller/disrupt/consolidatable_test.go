package disrupt

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"k8s.io/utils/clock"

	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
)

func TestWhatIsWrittenAboutConsolidation(t *testing.T) {
	begun := time.Unix(10_000, 0)
	for sentence, tt := range map[string]struct {
		after         *time.Duration
		event, stored time.Duration // after begun; -1: none
		told          bool
		now           time.Duration
		want          string // "" nothing, else what the claim says then
	}{
		"never":                                     {nil, 0, -1, false, time.Hour, "event"},
		"never, and it once was":                    {nil, -1, -1, true, time.Hour, "gone"},
		"too soon after a pod":                      {new(time.Hour), time.Second, -1, false, time.Minute, "event"},
		"long enough after a pod":                   {new(time.Minute), time.Second, time.Second, false, 2 * time.Minute, "true"},
		"it is told already":                        {new(time.Minute), time.Second, time.Second, true, 2 * time.Minute, ""},
		"a pod came, and it was told":               {new(time.Minute), 2 * time.Minute, time.Second, true, 2*time.Minute + 30*time.Second, "gone, event"},
		"no pod has come yet and it is young":       {new(time.Duration(0)), -1, -1, false, youth - 1, ""},
		"no pod has come and it is old enough":      {new(time.Duration(0)), -1, -1, false, youth, "true"},
		"a pod a moment ago, and it may at once":    {new(time.Duration(0)), time.Minute, -1, false, time.Minute + quiet, "true, event"},
		"a pod came a moment ago, as it often does": {new(time.Duration(0)), time.Minute + 5*time.Second, time.Minute, true, time.Minute + 5*time.Second, ""},
		"a pod came a moment ago, after long":       {new(time.Duration(0)), 2 * time.Minute, time.Minute, true, 2 * time.Minute, "true, event"},
		"an event soon after one that is written":   {new(time.Duration(0)), time.Minute + 5*time.Second, time.Minute, true, 2 * time.Minute, ""},
		"a new leader trusts what is written":       {new(time.Hour), -1, time.Minute, false, 30 * time.Minute, ""},
	} {
		t.Run(sentence, func(t *testing.T) {
			pool, claim := &karpv1.NodePool{}, &karpv1.NodeClaim{}
			pool.Spec.Disruption.ConsolidateAfter.Duration = tt.after
			conditions := claim.StatusConditions().WithClock(func() time.Time { return begun })
			conditions.SetTrue(karpv1.ConditionTypeInitialized)
			if tt.told {
				conditions.SetTrue(karpv1.ConditionTypeConsolidatable)
			}
			if tt.stored >= 0 {
				claim.Status.LastPodEventTime = metav1.NewTime(begun.Add(tt.stored))
			}
			event := time.Time{}
			if tt.event >= 0 {
				event = begun.Add(tt.event)
			}
			got := ""
			if next, _ := observed(claim, pool, event, begun.Add(tt.now)); next != nil {
				is := next.StatusConditions().Get(karpv1.ConditionTypeConsolidatable).IsTrue()
				switch {
				case is:
					got = "true"
				case tt.told:
					got = "gone"
				}
				if !next.Status.LastPodEventTime.Equal(&claim.Status.LastPodEventTime) {
					if got != "" {
						got += ", "
					}
					got += "event"
				}
			}
			if got != tt.want {
				t.Errorf("writes %q, want %q", got, tt.want)
			}
		})
	}
}

func TestEveryClaimIsWrittenToInItsTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newTestCluster(t)
		for i := range writesAtOnce + 20 {
			h.instance(fmt.Sprintf("c%03d", i))
		}
		c := &Consolidatable{Client: h.api, State: h.cache, Metrics: h.Metrics, Log: h.Log, Clock: clock.RealClock{}}
		time.Sleep(time.Minute)
		// The cache is not told of what is written, so that the first ones ask to be written to again.
		for range 2 {
			if err := c.round(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		for i := range writesAtOnce + 20 {
			claim, err := h.Queue.claim(t.Context(), fmt.Sprintf("c%03d", i))
			if err != nil || !claim.StatusConditions().Get(karpv1.ConditionTypeConsolidatable).IsTrue() {
				t.Errorf("%s was not written to: %v", claim.Name, err)
			}
		}
		h.end()
	})
}

// looked counts how often claims are looked at.
type looked struct {
	ClaimState
	claims int
}

func (l *looked) Claim(name string) *karpv1.NodeClaim {
	l.claims++
	return l.ClaimState.Claim(name)
}

// A round in which nothing has changed looks at no claim, until one may be consolidated.
func TestClaimsAreLookedAtWhenSomethingChanges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newTestCluster(t)
		defer h.end()
		h.instance("a")
		state := &looked{ClaimState: h.cache}
		c := &Consolidatable{Client: h.api, State: state, Metrics: h.Metrics, Log: h.Log, Clock: clock.RealClock{}}
		round := func() int {
			t.Helper()
			state.claims = 0
			if err := c.round(t.Context()); err != nil {
				t.Fatal(err)
			}
			return state.claims
		}
		if n := round(); n != 1 {
			t.Errorf("at first %d claims are looked at", n)
		}
		time.Sleep(time.Second)
		if n := round(); n != 0 {
			t.Errorf("a second later %d claims are looked at", n)
		}
		h.instance("b")
		if n := round(); n != 2 {
			t.Errorf("when there is another node %d claims are looked at", n)
		}
		time.Sleep(safety)
		if n := round(); n != 2 {
			t.Errorf("a while later %d claims are looked at", n)
		}
	})
}

// Every claim is looked at often; where nothing is to be written that leaves no garbage.
func TestWhatIsWrittenAlreadyIsLookedAtWithoutGarbage(t *testing.T) {
	begun := time.Unix(10_000, 0)
	pool, claim := &karpv1.NodePool{}, &karpv1.NodeClaim{}
	pool.Spec.Disruption.ConsolidateAfter.Duration = new(time.Minute)
	conditions := claim.StatusConditions().WithClock(func() time.Time { return begun })
	conditions.SetTrue(karpv1.ConditionTypeInitialized)
	conditions.SetTrue(karpv1.ConditionTypeConsolidatable)
	claim.Status.LastPodEventTime = metav1.NewTime(begun)
	if n := testing.AllocsPerRun(100, func() {
		if next, _ := observed(claim, pool, begun, begun.Add(time.Hour)); next != nil {
			t.Fatal("something is written")
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
