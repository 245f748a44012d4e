package disrupt

import (
	"log/slog"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"github.com/kerf-sh/kerf/internal/controller/index"
	"github.com/kerf-sh/kerf/internal/engine/cluster"
	"github.com/kerf-sh/kerf/internal/engine/disrupt"
	"github.com/kerf-sh/kerf/internal/engine/plan"
	"github.com/kerf-sh/kerf/internal/state/intake"
)

// New nodes ask to be avoided until it is their turn: after pods for nodes that were there, and after new nodes of lower numbers.
func TestNewNodesTakePodsInTurn(t *testing.T) {
	type step struct {
		leaves string   // pod that is evicted first
		await  []string // nodes that ask to be avoided afterwards
	}
	all := []string{"node-n0", "node-n1"}
	for name, tc := range map[string]struct {
		off   bool
		age   time.Duration
		lost  bool // it is not known for which nodes pods are
		steps []step
	}{
		"one after the other":       {steps: []step{{"", all}, {"for-kept", []string{"node-n1"}}, {"for-n0", nil}}},
		"whichever leaves first":    {steps: []step{{"for-n0", all}, {"for-kept", nil}}},
		"turned off":                {off: true, steps: []step{{"", nil}}},
		"a budget holds pods up":    {age: turnsFor, steps: []step{{"", nil}}},
		"a leader that knows none":  {lost: true, steps: []step{{"", nil}}},
		"pods for the last of them": {steps: []step{{"for-n1", all}, {"for-kept", []string{"node-n1"}}, {"for-n0", nil}}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newTestCluster(t)
				defer h.end()
				created := metav1.NewTime(time.Now().Add(-tc.age))
				old := h.instance("old", func(n *corev1.Node) { n.Annotations = map[string]string{intake.DisruptingAnnotation: "Underutilized"} })
				h.instance("kept")
				for i, name := range []string{"n0", "n1"} {
					number := string(rune('0' + i))
					h.instance(name, func(n *corev1.Node) {
						n.CreationTimestamp = created
						n.Spec.Taints = append(n.Spec.Taints, intake.TurnTaint(number))
					})
					claim := h.cache.Claim(name).DeepCopy()
					claim.CreationTimestamp, claim.Annotations = created, map[string]string{index.CommandAnnotation: "x", intake.TurnKey: number}
					if err := h.api.Update(t.Context(), claim); err != nil {
						t.Fatal(err)
					}
					h.cache.SetClaim(claim)
				}
				pods := map[string]cluster.PodRef{}
				for _, to := range []string{"kept", "n0", "n1"} {
					ref := h.bind("for-"+to, old.Node)
					pods["for-"+to] = ref
					for _, n := range h.cache.Snapshot().Nodes {
						if n.Name == "node-"+to && !tc.lost {
							h.cache.Reserve(n, []cluster.PodRef{ref}, time.Now().Add(time.Hour))
						}
					}
				}
				c := &Candidates{Queue: h.Queue, State: h.cache, Off: tc.off, Metrics: h.Metrics, Log: slog.New(slog.DiscardHandler), Clock: clock.RealClock{},
					Moves: func() *disrupt.Decision { return nil }}
				for i, s := range tc.steps {
					if s.leaves != "" {
						pod := &corev1.Pod{}
						if err := h.api.Get(t.Context(), types.NamespacedName{Namespace: "ns", Name: s.leaves}, pod); err != nil {
							t.Fatal(err)
						}
						h.cache.RemovePod(pod)
					}
					if err := c.round(t.Context()); err != nil {
						t.Fatal(err)
					}
					var await []string
					for _, name := range all {
						if intake.AwaitsTurn(h.node(name)) {
							await = append(await, name)
						}
					}
					if !slices.Equal(await, s.await) {
						t.Errorf("step %d: %v ask to be avoided, want %v", i, await, s.await)
					}
				}
			})
		})
	}
}

// A single new node for all pods is where they go anyhow.
func TestWhichNewNodesHaveATurn(t *testing.T) {
	for name, tc := range map[string]struct {
		nodes      int
		placements bool
		off        bool
		want       []string // of the annotations, in any order
	}{
		"one that takes all":                  {nodes: 1, want: []string{""}},
		"one, and pods for nodes that are":    {nodes: 1, placements: true, want: []string{"0"}},
		"two":                                 {nodes: 2, want: []string{"0", "1"}},
		"two, and the soft taints turned off": {nodes: 2, off: true, want: []string{"", ""}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newTestCluster(t)
				defer h.end()
				h.InTurn = !tc.off
				g, kept := h.instance("c1"), h.instance("kept")
				command := h.replace(g, h.bind("p0", g.Node))
				for i := 1; i < tc.nodes; i++ {
					command.NewNodes = append(command.NewNodes, h.replace(g, h.bind("p1", g.Node)).NewNodes...)
				}
				if tc.placements {
					command.Placements = []plan.Placement{{Node: kept.Node, Pods: []cluster.PodRef{h.bind("p2", g.Node)}}}
				}
				if err := h.Start(t.Context(), command); err != nil {
					t.Fatal(err)
				}
				var got []string
				for _, claim := range h.replacements() {
					got = append(got, claim.Annotations[intake.TurnKey])
				}
				if slices.Sort(got); !slices.Equal(got, tc.want) {
					t.Errorf("turns %q, want %q", got, tc.want)
				}
			})
		})
	}
}
