package disrupt

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/internal/controller/apply"
	"github.com/kerf-sh/kerf/internal/engine/cluster"
	"github.com/kerf-sh/kerf/internal/engine/plan"
)

func TestAHeldNodeIsLeftAlone(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	claim := func(until, why string) *karpv1.NodeClaim {
		return &karpv1.NodeClaim{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{apply.HoldUntilAnnotation: until, apply.HoldReasonAnnotation: why}}}
	}
	hour := now.Add(time.Hour).Format(time.RFC3339)
	used, unused := &cluster.Node{Pods: []*cluster.Pod{{}}}, &cluster.Node{}
	moved, undone := claim(hour, "it was filled"+apply.ByCommand+"1234"), claim(hour, "it was undone")
	for name, tt := range map[string]struct {
		node  *cluster.Node
		claim *karpv1.NodeClaim
		after time.Duration
		held  bool
		loose bool
	}{
		"at once":                         {used, moved, 0, true, false},
		"until its time":                  {used, moved, time.Hour - 1, true, false},
		"no longer":                       {used, moved, time.Hour, false, false},
		"once the load has fallen":        {used, moved, 0, false, true},
		"without pods":                    {unused, moved, 0, false, false},
		"one that could not go":           {used, undone, 0, true, true},
		"an empty one that could not go":  {unused, undone, 0, true, false},
		"one that no move has touched":    {used, &karpv1.NodeClaim{}, 0, false, false},
		"one whose claim is not known":    {used, nil, 0, false, false},
		"one with a note of another kind": {used, claim("tomorrow", ""), 0, false, false},
		"for as long as any is":           {used, claim(now.Add(longestHold+skew).Format(time.RFC3339), "it was filled"), 0, true, false},
		"not for longer than any is":      {used, claim(now.Add(longestHold+2*skew).Format(time.RFC3339), "it was filled"), 0, false, false},
	} {
		r, end := (&subject{node: tt.node, claim: tt.claim, loose: tt.loose, now: now.Add(tt.after)}).held()
		if (r.Code != "") != tt.held || end.IsZero() == tt.held || strings.Contains(r.Text(), "1234") {
			t.Errorf("%s: %q until %s", name, r.Text(), end)
		}
	}
}

// hold is what a claim says of how long its node is held.
func (h *testCluster) hold(claim string) (until time.Time, why string) {
	h.t.Helper()
	var c karpv1.NodeClaim
	if err := h.api.Get(h.t.Context(), client.ObjectKey{Name: claim}, &c); err != nil {
		h.t.Fatal(err)
	}
	until, _ = time.Parse(time.RFC3339, c.Annotations[apply.HoldUntilAnnotation])
	return until, c.Annotations[apply.HoldReasonAnnotation]
}

// What was written while a clock was wrong is replaced by what is right.
func TestAHoldReplacesOneThatIsTooFarAhead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newTestCluster(t)
		for name, tc := range map[string]struct{ has, want time.Duration }{
			h.instance("c1").Claim: {0, filledHold},
			h.instance("c2").Claim: {time.Hour, time.Hour},
			h.instance("c3").Claim: {1000 * time.Hour, filledHold},
		} {
			for _, d := range []time.Duration{tc.has, filledHold} {
				if d > 0 {
					if err := h.Queue.hold(t.Context(), name, time.Now().Add(d), "it was filled"); err != nil {
						t.Fatal(err)
					}
				}
			}
			if until, _ := h.hold(name); !until.Equal(time.Now().Add(tc.want)) {
				t.Errorf("%s is held until %s, want %s", name, until, time.Now().Add(tc.want))
			}
		}
	})
}

// The leader ends in the middle of a move. The next one finds on the claims that the nodes are held that the move fills and
// launches; where it takes the move back, that the nodes of it are, and no others.
func TestTheNextLeaderKnowsWhatIsHeld(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newTestCluster(t)
		goes, stays := h.instance("c1"), h.instance("c2")
		pods := h.bind("p", goes.Node)
		c := h.replace(goes, pods)
		c.Hold, c.Filled, c.Placements = time.Hour, []string{stays.Claim}, []plan.Placement{{Node: stays.Node}}
		begun := time.Now()
		if err := h.Start(t.Context(), c); err != nil {
			t.Fatal(err)
		}
		h.start() // a new leader
		launched := h.replacements()
		for name, want := range map[string]time.Duration{launched[0].Name: time.Hour, stays.Claim: filledHold} {
			if until, why := h.hold(name); !until.Equal(begun.Add(want)) || !strings.Contains(why, apply.ByCommand) {
				t.Errorf("%s is held until %s (%q), want %s after the begin", name, until, why, want)
			}
		}
		h.bind("q", goes.Node, func(p *corev1.Pod) {
			p.Annotations = map[string]string{karpv1.DoNotDisruptAnnotationKey: "true"}
		})
		h.initialize(&launched[0])
		time.Sleep(2*look + Settle)
		if launched = h.replacements(); len(launched) != 1 || h.marked(goes) {
			t.Fatalf("want the move taken back, and its instance there: %d replacements", len(launched))
		}
		for _, name := range []string{launched[0].Name, stays.Claim} {
			if until, why := h.hold(name); !until.IsZero() || why != "" {
				t.Errorf("%s is held until %s (%q), for a move that was taken back", name, until, why)
			}
		}
		if until, why := h.hold(goes.Claim); until.Before(time.Now().Add(undoneHold-time.Minute)) || !strings.Contains(why, "do-not-disrupt") && !strings.Contains(why, "not to be disrupted") {
			t.Errorf("the node of the move that was taken back is held until %s (%q)", until, why)
		}
		h.end()
	})
}

// behind is a client that reads from a cache which may be behind.
func (h *testCluster) behind() client.Client {
	return interceptor.NewClient(h.api, interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
			switch o := o.(type) {
			case *corev1.Node:
				if h.stale[key.Name] != nil {
					h.stale[key.Name].DeepCopyInto(o)
					return nil
				}
			case *karpv1.NodeClaim:
				if last := h.last.Load(); last != nil && last.Name == key.Name {
					last.DeepCopyInto(o)
					return nil
				}
			}
			return c.Get(ctx, key, o, opts...)
		},
		List: func(ctx context.Context, c client.WithWatch, l client.ObjectList, opts ...client.ListOption) error {
			err := c.List(ctx, l, opts...)
			if claims, ok := l.(*karpv1.NodeClaimList); ok {
				for i := range claims.Items {
					if last := h.last.Load(); last != nil && last.Name == claims.Items[i].Name {
						last.DeepCopyInto(&claims.Items[i])
					}
				}
			}
			return err
		},
	})
}

// The hold of a node ends with its command though the cache has not seen the hold yet.
func TestAHoldEndsThoughTheCacheIsBehind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newTestCluster(t)
		defer h.end()
		goes, stays := h.instance("c1"), h.instance("c2")
		before, err := h.claim(t.Context(), stays.Claim)
		if err != nil {
			t.Fatal(err)
		}
		h.last.Store(before)
		c := h.replace(goes, h.bind("p", goes.Node))
		c.NewNodes[0].Pool, c.Filled = "gone", []string{stays.Claim}
		if err := h.Start(t.Context(), c); err == nil {
			t.Fatal("want a refusal")
		}
		if until, why := h.hold(stays.Claim); !until.IsZero() {
			t.Errorf("held until %s (%q), for a command that was taken back", until, why)
		}
	})
}

// A replacement is given back though the cache has not seen yet that its hold was ended.
func TestAReplacementIsGivenBackThoughTheCacheIsBehind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newTestCluster(t)
		defer h.end()
		g := h.instance("c1")
		c := h.replace(g, h.bind("p", g.Node))
		c.Hold, c.NewNodes = time.Hour, append(c.NewNodes, c.NewNodes[0])
		if err := h.Start(t.Context(), c); err != nil {
			t.Fatal(err)
		}
		launched := h.replacements()
		h.last.Store(launched[1].DeepCopy())
		launched[0].Finalizers = nil
		if err := errors.Join(h.api.Update(t.Context(), &launched[0]), h.api.Delete(t.Context(), &launched[0])); err != nil {
			t.Fatal(err)
		}
		time.Sleep(3 * look)
		if left := h.replacements(); len(left) > 0 && left[0].DeletionTimestamp.IsZero() || h.marked(g) {
			t.Errorf("replacements that are left: %d; its node is marked: %v", len(left), h.marked(g))
		}
	})
}
