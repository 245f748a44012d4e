package disrupt

import (
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/internal/controller/apply"
	"github.com/kerf-sh/kerf/internal/engine/cluster"
)

func TestInstancesStayUntilTheirMoveHasPaidBack(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	until := func(text string) *karpv1.NodeClaim {
		return &karpv1.NodeClaim{ObjectMeta: metav1.ObjectMeta{CreationTimestamp: metav1.NewTime(now), Annotations: map[string]string{apply.EarningAnnotation: text}}}
	}
	used, unused, in := &cluster.Node{Pods: []*cluster.Pod{{}}}, &cluster.Node{}, until(now.Add(time.Hour).Format(time.RFC3339))
	for name, tt := range map[string]struct {
		node  *cluster.Node
		claim *karpv1.NodeClaim
		after time.Duration
		stays bool
		loose bool
	}{
		"at once":                           {used, in, 0, true, false},
		"before it has paid back":           {used, in, time.Hour - 1, true, false},
		"once it has":                       {used, in, time.Hour, false, false},
		"once the load has fallen":          {used, in, 0, false, true},
		"without pods":                      {unused, in, 0, false, false},
		"one that was launched for no move": {used, &karpv1.NodeClaim{}, 0, false, false},
		"one whose claim is not known":      {used, nil, 0, false, false},
		"a move that hardly ever does":      {used, until("2099-01-01T00:00:00Z"), longestEarning - 1, true, false},
		"no longer than that":               {used, until("2099-01-01T00:00:00Z"), longestEarning, false, false},
		"one with a note of another kind":   {used, until("tomorrow"), 0, false, false},
	} {
		r, end := earning(tt.node, tt.claim, tt.loose, now.Add(tt.after))
		if (r.Code != "") != tt.stays || end.IsZero() == tt.stays {
			t.Errorf("%s: %q until %s", name, r.Text(), end)
		}
	}
}

// The note is on the claim, so that it outlives the leader.
func TestAReplacementBearsForHowLongItStaysUnlessItsMoveIsTakenBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newTestCluster(t)
		g := h.instance("c1")
		c := h.replace(g, h.bind("p", g.Node))
		c.Earning = time.Hour
		begun := time.Now()
		if _, err := h.Start(t.Context(), c); err != nil {
			t.Fatal(err)
		}
		launched := h.replacements()
		if got, want := launched[0].Annotations[apply.EarningAnnotation], begun.Add(time.Hour).UTC().Format(time.RFC3339); got != want {
			t.Fatalf("it stays until %q, want %q", got, want)
		}
		h.bind("q", g.Node, func(p *corev1.Pod) {
			p.Annotations = map[string]string{karpv1.DoNotDisruptAnnotationKey: "true"}
		})
		h.initialize(&launched[0])
		h.start() // a new leader
		time.Sleep(2*look + Settle)
		if launched = h.replacements(); len(launched) != 1 || h.marked(g) {
			t.Fatalf("want the move taken back, and its instance there: %d replacements", len(launched))
		}
		if until, noted := launched[0].Annotations[apply.EarningAnnotation]; noted {
			t.Errorf("it stays until %q, for a move that was taken back", until)
		}
		h.end()
	})
}
