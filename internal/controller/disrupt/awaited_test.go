package disrupt

import (
	"encoding/json"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/internal/controller/index"
	"github.com/kerf-sh/kerf/internal/state/cache"
	"github.com/kerf-sh/kerf/internal/state/intake"
)

// The first of two replacements is up when the leader ends. Its successor knows of no pods that were given room on it, and may
// not have seen anything at first.
func TestANewLeaderKeepsTheReplacementThatCameFirst(t *testing.T) {
	t.Run("which has seen all", func(t *testing.T) { keepsTheFirst(t, true) })
	t.Run("which has seen nothing yet", func(t *testing.T) { keepsTheFirst(t, false) })
}

func keepsTheFirst(t *testing.T, seen bool) {
	synctest.Test(t, func(t *testing.T) {
		h := newTestCluster(t)
		text, err := json.Marshal(order{Begun: time.Now(), Replacements: 2})
		if err != nil {
			t.Fatal(err)
		}
		going := h.instance("c1", func(n *corev1.Node) {
			n.Spec.Taints = []corev1.Taint{karpv1.DisruptedNoScheduleTaint()}
			n.Annotations = map[string]string{intake.DisruptingAnnotation: "Underutilized", index.CommandAnnotation: "x", orderAnnotation: string(text)}
		})
		pod := &corev1.Pod{}
		h.bind("p", going.Node, func(p *corev1.Pod) { pod = p })
		h.instance("first")
		second := &karpv1.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: "second", UID: types.UID("second"), Annotations: map[string]string{index.CommandAnnotation: "x"}}}
		second.Spec.NodeClassRef = h.pool.Spec.Template.Spec.NodeClassRef
		first, err := h.Queue.claim(t.Context(), "first")
		if err != nil {
			t.Fatal(err)
		}
		first.Annotations = map[string]string{index.CommandAnnotation: "x"}
		if err := errors.Join(h.api.Update(t.Context(), first), h.api.Create(t.Context(), second)); err != nil {
			t.Fatal(err)
		}
		if !seen {
			h.cache = cache.New(cache.Options{})
		}
		h.start()
		for _, n := range h.cache.Snapshot().Nodes {
			if n.Claim == "first" && len(n.Pods) != 1 {
				t.Error("the room for the pod that leaves is not kept")
			}
		}
		if !seen {
			h.cache.SetPool(h.pool)
			h.refresh()
			h.cache.SetPod(pod)
		}
		h.run()
		h.pass(youth + Settle + 10*time.Second)
		if h.deleting("first") || !h.Awaited("first") {
			t.Error("the replacement went for being empty before its command was over")
		}
		h.initialize(second)
		h.pass(Settle)
		if !h.deleting("c1") || h.Awaited("first") {
			t.Errorf("the command is not over: the old node goes: %v", h.deleting("c1"))
		}
		kept := 0
		for _, n := range h.cache.Snapshot().Nodes {
			if n.Claim == "first" || n.Claim == "second" {
				kept += len(n.Pods)
			}
		}
		if kept != 1 {
			t.Errorf("room for %d pods is kept when the node goes, want 1", kept)
		}
		// The drain of the old node takes its time, and its pod is to find the instance that was launched for it.
		h.pass(youth + Settle + 10*time.Second)
		if h.deleting("first") {
			t.Error("the replacement went for being empty while the pods were on their way")
		}
		h.end()
	})
}
