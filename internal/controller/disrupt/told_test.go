package disrupt

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/internal/engine/disrupt"
	"github.com/kerf-sh/kerf/internal/engine/disrupt/confirmation"
)

func TestWhatIsToldOfAConsolidationThatGoesThrough(t *testing.T) {
	for policy, want := range map[karpv1.ConsolidationPolicy]map[string]int{
		karpv1.ConsolidationPolicyWhenEmptyOrUnderutilized: {"ConsolidationCandidate": 2},
		// On the pool, the node and its claim.
		karpv1.ConsolidationPolicyBalanced: {"ConsolidationCandidate": 2, "ConsolidationApproved": 3},
	} {
		t.Run(string(policy), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newTestCluster(t)
				h.pool = h.pool.DeepCopy()
				h.pool.ResourceVersion = "2"
				h.pool.Spec.Disruption.ConsolidationPolicy = policy
				h.cache.SetPool(h.pool)
				g := h.instance("c1")
				h.bind("a", g.Node)
				h.run()
				h.pass(youth + confirmation.Moment + 5*time.Second)
				if len(h.replacements()) != 1 {
					t.Fatal("the node is not replaced")
				}
				for _, reason := range []string{"ConsolidationCandidate", "ConsolidationApproved"} {
					var rest []string
					n := 0
					for len(h.events.Events) > 0 {
						e := <-h.events.Events
						rest = append(rest, e)
						if slices.Contains(strings.Fields(e), reason) {
							n++
						}
					}
					for _, e := range rest {
						h.events.Events <- e
					}
					if n != want[reason] {
						t.Errorf("%s is told %d times, want %d", reason, n, want[reason])
					}
				}
				h.end()
			})
		})
	}
}

func TestAPodThatHoldsItsNodeForATimeIsToldUntilWhen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newTestCluster(t)
		g := h.instance("c1")
		started := time.Now()
		h.bind("a", g.Node, func(p *corev1.Pod) {
			p.Annotations = map[string]string{karpv1.DoNotDisruptAnnotationKey: "10m"}
			p.Status.StartTime = new(metav1.NewTime(started))
		})
		h.run()
		h.pass(9 * time.Minute)
		if said := h.eventsOf("DoNotDisruptUntil"); len(said) != 1 || !slices.ContainsFunc(strings.Fields(said[0]), func(w string) bool { return w == started.Add(10*time.Minute).UTC().Format(time.RFC3339) }) {
			t.Errorf("events %q", said)
		}
		h.pass(2 * time.Minute)
		if said := h.eventsOf("DoNotDisruptGracePeriodElapsed"); len(said) != 1 {
			t.Errorf("the time has passed; events %q", said)
		}
		h.end()
	})
}

// What is recorded is decided again when it is replayed, and then nothing has stood.
func TestWhoAsksIsToldForHowLongAMoveHasStood(t *testing.T) {
	now := time.Unix(1000, 0)
	l, d := &Loop{}, &disrupt.Decision{Moves: []disrupt.Move{{Cause: disrupt.Underutilized, Nodes: []string{"a", "b"}, Wait: 10 * time.Minute}}}
	l.confirmation.Observe([]disrupt.Move{{Cause: disrupt.Underutilized, Nodes: []string{"a"}, Wait: 10 * time.Minute}}, now)
	l.confirmation.Observe(d.Moves, now.Add(time.Minute))
	l.confirmation.Observe(d.Moves, now.Add(3*time.Minute))
	if told := l.stood(d, time.Unix(100, 0)); !told.At.Equal(time.Unix(100, 0)) || told.Moves[0].Stood != 2*time.Minute || d.Moves[0].Stood != 0 {
		t.Errorf("told %s, want that of the node that came last; in the decision itself: %s", told.Moves[0].Stood, d.Moves[0].Stood)
	}
}

// TestANodeOnItsWayIsNotCalledUnconsolidatable: only consolidateAfter: Never is told as Never.
func TestANodeOnItsWayIsNotCalledUnconsolidatable(t *testing.T) {
	for after, want := range map[string]int{"15s": 0, "Never": 2} { // on the node and its claim
		t.Run(after, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newTestCluster(t)
				h.pool = h.pool.DeepCopy()
				h.pool.ResourceVersion = "2"
				h.pool.Spec.Disruption.ConsolidateAfter = karpv1.MustParseNillableDuration(after)
				h.cache.SetPool(h.pool)
				h.instance("c1", func(n *corev1.Node) { delete(n.Labels, karpv1.NodeInitializedLabelKey) })
				claim := h.cache.Claim("c1").DeepCopy()
				claim.ResourceVersion += "1"
				if after != "Never" {
					claim.StatusConditions().SetUnknown(karpv1.ConditionTypeInitialized)
				}
				h.cache.SetClaim(claim)
				h.run()
				h.pass(10 * time.Second)
				if said := h.eventsOf("Unconsolidatable"); len(said) != want {
					t.Errorf("events %q, want %d", said, want)
				}
				h.end()
			})
		})
	}
}
