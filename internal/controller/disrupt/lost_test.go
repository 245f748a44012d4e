package disrupt

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kerf-sh/kerf/internal/engine/cluster"
	"github.com/kerf-sh/kerf/internal/engine/plan"
)

// TestACommandIsTakenBackWhenItsPlacesAreLost: while its replacement starts, the node that was to take some of its pods goes or dies.
func TestACommandIsTakenBackWhenItsPlacesAreLost(t *testing.T) {
	for name, tt := range map[string]struct {
		happens func(h *testCluster, stays *corev1.Node)
		gone    bool
	}{
		"nothing happens": {func(*testCluster, *corev1.Node) {}, true},
		"it is gone": {func(h *testCluster, stays *corev1.Node) {
			h.cache.RemoveNode(stays)
		}, false},
		"it is not ready": {func(h *testCluster, stays *corev1.Node) {
			stays.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionUnknown}}
			if err := h.api.Status().Update(h.t.Context(), stays); err != nil {
				h.t.Fatal(err)
			}
			h.cache.SetNode(stays)
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newTestCluster(t)
				g, stays := h.instance("c1"), h.instance("c2")
				c := h.replace(g, h.bind("p", g.Node))
				c.Placements = []plan.Placement{{Node: stays.Node, Pods: []cluster.PodRef{h.bind("p2", g.Node)}}}
				if err := h.Start(t.Context(), c); err != nil {
					t.Fatal(err)
				}
				time.Sleep(time.Minute)
				tt.happens(h, h.node(stays.Node))
				for _, launched := range h.replacements() {
					h.initialize(&launched)
				}
				time.Sleep(Settle + 3*look)
				if h.deleting("c1") != tt.gone || !tt.gone && h.marked(g) {
					t.Errorf("deleted: %v, want %v; annotations %v", h.deleting("c1"), tt.gone, h.node(g.Node).Annotations)
				}
				h.end()
			})
		})
	}
}

// TestACommandThatHasRemovedANodeDoesNotSayThatNoneWas: the deletion of another one fails until its replacement is lost.
func TestACommandThatHasRemovedANodeDoesNotSayThatNoneWas(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newTestCluster(t)
		defer h.end()
		g, late := h.instance("c1"), h.instance("c2")
		c := h.replace(g, h.bind("p", g.Node), h.bind("p2", late.Node))
		c.Nodes = append(c.Nodes, late)
		h.failBy(func(verb string, o client.Object) error {
			if verb == "delete" && o.GetName() == "c2" {
				return errors.New("the API is busy")
			}
			return nil
		})
		why := ""
		h.Finished = func(_ Command, failed string) { why = failed }
		if err := h.Start(t.Context(), c); err != nil {
			t.Fatal(err)
		}
		launched := h.replacements()[0]
		h.initialize(&launched)
		time.Sleep(Settle + look)
		if !h.deleting("c1") || h.deleting("c2") {
			t.Fatal("want one of the nodes to go, and the other to be left")
		}
		if err := h.api.Delete(t.Context(), &launched); err != nil {
			t.Fatal(err)
		}
		time.Sleep(mostAgain)
		synctest.Wait()
		if want := "its replacement " + launched.Name + " is being deleted"; why != want || h.marked(late) {
			t.Errorf("%q, want %q; the node that is left is marked: %v", why, want, h.marked(late))
		}
	})
}

// TestWhatAFormerLeaderDecidedLongAgoIsTakenBack: others have filled its replacements since, and budgets may forbid it now.
func TestWhatAFormerLeaderDecidedLongAgoIsTakenBack(t *testing.T) {
	for name, tt := range map[string]struct {
		away time.Duration
		gone bool
	}{
		"a moment ago": {time.Minute, true},
		"an hour ago":  {time.Hour, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newTestCluster(t)
				g := h.instance("c1")
				ctx, cancel := context.WithCancel(t.Context())
				if err := h.Start(ctx, h.replace(g, h.bind("p", g.Node))); err != nil {
					t.Fatal(err)
				}
				h.end()
				cancel()
				for _, launched := range h.replacements() {
					h.initialize(&launched)
				}
				time.Sleep(tt.away)
				h.start()
				time.Sleep(Settle + 3*look)
				if h.deleting("c1") != tt.gone || !tt.gone && h.marked(g) {
					t.Errorf("deleted: %v, want %v; annotations %v", h.deleting("c1"), tt.gone, h.node(g.Node).Annotations)
				}
				if len(h.replacements()) != 1 || h.replacements()[0].DeletionTimestamp != nil {
					t.Error("a replacement that is ready is ended")
				}
				h.end()
			})
		})
	}
}
