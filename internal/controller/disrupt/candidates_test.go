package disrupt

import (
	"log/slog"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/clock"

	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/internal/engine/disrupt"
)

// What a node is decides whether pods should rather not go to it, and the nodes say so.
func TestNodesThatAreDueToGoAskToBeAvoided(t *testing.T) {
	own := corev1.Taint{Key: "own", Value: "x", Effect: corev1.TaintEffectPreferNoSchedule}
	held := func(n *corev1.Node) { n.Annotations = map[string]string{karpv1.DoNotDisruptAnnotationKey: "true"} }
	for name, tc := range map[string]struct {
		drifted bool
		moving  time.Duration // for how long it is part of moves
		node    func(*corev1.Node)
		off     bool
		after   time.Duration
		want    bool
	}{
		"neither":                          {after: time.Minute},
		"drifted":                          {drifted: true, after: 2 * time.Second, want: true},
		"drifted, and not to be disrupted": {drifted: true, node: held, after: time.Minute},
		"drifted, and turned off":          {drifted: true, off: true, after: time.Minute},
		"found to go a moment ago":         {moving: time.Minute, after: candidateAfter - time.Second},
		"found to go for some seconds":     {moving: time.Minute, after: candidateAfter + 2*time.Second, want: true},
		"found to stay for a moment":       {moving: 10 * time.Second, after: 10*time.Second + candidateFor/2, want: true},
		"found to stay for some time":      {moving: 10 * time.Second, after: 10*time.Second + 2*candidateFor},
		"that goes already":                {drifted: true, node: func(n *corev1.Node) { n.Annotations = map[string]string{"kerf.sh/disrupting": "Drifted"} }, after: time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newTestCluster(t)
				defer h.end()
				h.instance("c", func(n *corev1.Node) {
					n.Spec.Taints = append(n.Spec.Taints, own)
					if tc.node != nil {
						tc.node(n)
					}
				})
				if tc.drifted {
					h.mark("c")
				}
				begun := time.Now()
				c := &Candidates{Queue: h.Queue, State: h.cache, Off: tc.off, Metrics: h.Metrics, Log: slog.New(slog.DiscardHandler), Clock: clock.RealClock{},
					Moves: func() *disrupt.Decision {
						if time.Since(begun) < tc.moving {
							return &disrupt.Decision{Moves: []disrupt.Move{{Nodes: []string{"node-c"}, Stood: time.Since(begun)}}}
						}
						return &disrupt.Decision{}
					}}
				ctx := t.Context()
				go func() { _ = c.Start(ctx) }()
				time.Sleep(tc.after)
				synctest.Wait()
				taints := h.node("node-c").Spec.Taints
				if got := slices.ContainsFunc(taints, func(t corev1.Taint) bool { return t.Key == CandidateTaint }); got != tc.want || !slices.Contains(taints, own) {
					t.Errorf("its taints are %v, want the one of candidates: %v", taints, tc.want)
				}
			})
		})
	}
}

// Turned off, the taint is taken off where a controller before had put it.
func TestTheTaintOfCandidatesIsTakenOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newTestCluster(t)
		defer h.end()
		for i := range 3 * candidateWrites {
			h.instance(string(rune('a'+i%26))+string(rune('a'+i/26)), func(n *corev1.Node) {
				n.Spec.Taints = append(n.Spec.Taints, corev1.Taint{Key: CandidateTaint, Effect: corev1.TaintEffectPreferNoSchedule})
			})
		}
		c := &Candidates{Queue: h.Queue, State: h.cache, Off: true, Metrics: h.Metrics, Log: slog.New(slog.DiscardHandler), Clock: clock.RealClock{},
			Moves: func() *disrupt.Decision { return nil }}
		for want := 3 * candidateWrites; want > 0; want -= candidateWrites {
			left := 0
			for _, n := range h.cache.Snapshot().Nodes {
				if bears(n, CandidateTaint) {
					left++
				}
			}
			if left != want {
				t.Fatalf("%d nodes bear the taint, want %d", left, want)
			}
			if err := c.round(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
	})
}
