package disrupt

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	awsv1 "github.com/kerf-sh/kerf/api/aws/v1"
	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/internal/engine/cluster"
	"github.com/kerf-sh/kerf/internal/engine/disrupt"
	"github.com/kerf-sh/kerf/internal/engine/pack"
	"github.com/kerf-sh/kerf/internal/engine/plan"
	"github.com/kerf-sh/kerf/internal/engine/verify"
	"github.com/kerf-sh/kerf/internal/sim/scenario"
	"github.com/kerf-sh/kerf/internal/state/intake"
)

// drift makes the loop of the cluster. What it launches can be seen as claims.
func (h *testCluster) drift() *Loop {
	offer := func(pool *karpv1.NodePool) *cluster.Pool {
		p := intake.Pool(pool, &awsv1.EC2NodeClass{}, offered())
		p.NotReady = ""
		return p
	}
	d := &Loop{
		Queue: h.Queue, State: h.cache, Metrics: h.Metrics, Log: slog.New(slog.DiscardHandler), Clock: clock.RealClock{},
		DriftProblem: func(_ context.Context, s *cluster.Snapshot, _ int) *pack.Problem {
			p := &pack.Problem{Now: time.Now(), Nodes: s.Nodes, Pending: s.Pending, Options: pack.Options{WellKnown: scenario.WellKnown()}}
			for _, pool := range h.cache.Pools() {
				if !pool.IsStatic() {
					p.Pools = append(p.Pools, offer(pool))
				}
			}
			return p
		},
		Bare: func(_ context.Context, pool *karpv1.NodePool, n int, s *cluster.Snapshot) ([]plan.NewNode, []plan.Reason, *cluster.Pool, error) {
			p := offer(pool)
			bare, reasons := pack.Bare(p, s.Daemons, time.Now(), pack.Options{WellKnown: scenario.WellKnown()}, n)
			return bare, reasons, p, nil
		},
	}
	d.drift.reporter, h.Finished = newReporter(d.Queue), d.Finished
	return d
}

// mark says of the claim that it drifted, now.
func (h *testCluster) mark(claim string, edit ...func(*karpv1.NodeClaim)) {
	h.t.Helper()
	c := &karpv1.NodeClaim{}
	if err := h.api.Get(h.t.Context(), client.ObjectKey{Name: claim}, c); err != nil {
		h.t.Fatal(err)
	}
	c.StatusConditions().SetTrueWithReason(karpv1.ConditionTypeDrifted, karpv1.ReasonNodePoolDrifted, "changed")
	status := c.Status.DeepCopy()
	for _, e := range edit {
		e(c)
	}
	if err := h.api.Update(h.t.Context(), c); err != nil {
		h.t.Fatal(err)
	}
	c.Status = *status
	if err := h.api.Status().Update(h.t.Context(), c); err != nil {
		h.t.Fatal(err)
	}
	h.cache.SetClaim(c)
}

// follow lets the cache see what the API has, and instances come up that were launched.
func (h *testCluster) follow(up bool) {
	h.t.Helper()
	var claims karpv1.NodeClaimList
	var nodes corev1.NodeList
	if err := h.api.List(h.t.Context(), &claims); err != nil {
		h.t.Fatal(err)
	}
	for i := range claims.Items {
		c := &claims.Items[i]
		if up && c.Annotations["kerf.sh/disruption-command"] != "" && !c.StatusConditions().IsTrue(karpv1.ConditionTypeInitialized) {
			h.initialize(c)
		}
		h.cache.SetClaim(c)
		if c.DeletionTimestamp != nil { // its node goes at once
			node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node-" + c.Name}}
			_ = h.api.Delete(h.t.Context(), node)
			h.cache.RemoveNode(node)
			c.Finalizers = nil
			_ = h.api.Update(h.t.Context(), c)
			h.cache.RemoveClaim(c)
		}
	}
	if err := h.api.List(h.t.Context(), &nodes); err != nil {
		h.t.Fatal(err)
	}
	for i := range nodes.Items {
		h.cache.SetNode(&nodes.Items[i])
	}
}

func (h *testCluster) going(names ...string) (n int) {
	for _, name := range names {
		c, err := h.Queue.claim(h.t.Context(), name)
		if err != nil {
			h.t.Fatal(err)
		}
		if c == nil || c.DeletionTimestamp != nil || c.StatusConditions().Get(karpv1.ConditionTypeDisruptionReason).IsTrue() {
			n++
		}
	}
	return n
}

func (h *testCluster) round(d *Loop) {
	h.t.Helper()
	if err := d.rollOut(h.t.Context(), d.State.Snapshot()); err != nil {
		h.t.Fatal(err)
	}
	synctest.Wait()
}

func withBudget(nodes string) []karpv1.Budget { return []karpv1.Budget{{Nodes: nodes}} }

func TestDriftedNodesAreReplacedWithinTheBudget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newTestCluster(t)
		defer h.end()
		h.pool.Spec.Disruption.Budgets = withBudget("1")
		h.cache.SetPool(h.pool)
		d := h.drift()
		var names []string
		for i := range 3 {
			name := fmt.Sprint("c", i)
			names = append(names, name)
			h.instance(name)
			for p := range 4 { // full, so that each needs an instance of its own
				h.bind(fmt.Sprint(name, "-", p), "node-"+name)
			}
			h.mark(name)
			time.Sleep(time.Second)
		}
		h.round(d)
		h.round(d)
		if n := h.going(names...); n != 1 || h.going("c0") != 1 || len(h.replacements()) != 1 {
			t.Fatalf("%d nodes go, %d were launched; want the one that drifted first, and one", n, len(h.replacements()))
		}
		time.Sleep(time.Minute)
		h.round(d)
		if h.deleting("c0") || h.going(names...) != 1 {
			t.Error("nothing goes before its replacement is there, and nothing else meanwhile")
		}
		for turn := range 3 {
			h.follow(true)
			time.Sleep(2 * Settle)
			h.follow(false)
			d.drift.rest = time.Time{}
			h.round(d)
			if n := h.going(names...); n != min(turn+2, 3) {
				t.Errorf("turn %d: %d nodes go or are gone, want %d", turn, n, min(turn+2, 3))
			}
		}
		if len(h.replacements()) != 3 {
			t.Errorf("%d were launched for three nodes", len(h.replacements()))
		}
	})
}

func TestWhatStandsAgainstDrift(t *testing.T) {
	hold := func(p *corev1.Pod) { p.Annotations = map[string]string{karpv1.DoNotDisruptAnnotationKey: "true"} }
	grace := func(c *karpv1.NodeClaim) {
		c.Spec.TerminationGracePeriod = new(karpv1.NewDuration(time.Hour))
	}
	for name, tc := range map[string]struct {
		node  func(*corev1.Node)
		pod   func(*corev1.Pod)
		pdb   bool
		claim func(*karpv1.NodeClaim)
		pool  func(*karpv1.NodePool)
		drift func(*Loop)
		goes  bool
		told  bool
	}{
		"nothing":                                 {goes: true},
		"a pod that asks not to be disrupted":     {pod: hold, told: true},
		"the same with a terminationGracePeriod":  {pod: hold, claim: grace, goes: true},
		"a budget of pods that is used up":        {pdb: true, told: true},
		"the same with a terminationGracePeriod ": {pdb: true, claim: grace, goes: true},
		"a node that asks not to be disrupted, whatever the grace": {
			node: func(n *corev1.Node) { n.Annotations = map[string]string{karpv1.DoNotDisruptAnnotationKey: "true"} }, claim: grace, told: true},
		"a budget that allows none": {pool: func(p *karpv1.NodePool) { p.Spec.Disruption.Budgets = withBudget("0") }, told: true},
		"a budget that allows none for another reason": {pool: func(p *karpv1.NodePool) {
			p.Spec.Disruption.Budgets = []karpv1.Budget{{Nodes: "0", Reasons: []karpv1.DisruptionReason{karpv1.DisruptionReasonUnderutilized}}}
		}, goes: true},
		"a pool that consolidates empty nodes only, and never": {pool: func(p *karpv1.NodePool) {
			p.Spec.Disruption.ConsolidationPolicy = karpv1.ConsolidationPolicyWhenEmpty
			p.Spec.Disruption.ConsolidateAfter = karpv1.NillableDuration{}
		}, goes: true},
		"a zone without free addresses": {drift: func(d *Loop) { d.DriftProblem = withoutAddresses(d.DriftProblem) }, told: true},
		"a node that is not ready":      {node: func(n *corev1.Node) { n.Status.Conditions[0].Status = corev1.ConditionFalse }, goes: true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newTestCluster(t)
				defer h.end()
				if tc.pool != nil {
					tc.pool(h.pool)
					h.cache.SetPool(h.pool)
				}
				if tc.pdb {
					b := &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "b"}}
					b.Spec.Selector, b.Spec.MinAvailable = &metav1.LabelSelector{}, new(intstr.FromInt32(1))
					b.Status.CurrentHealthy, b.Status.DesiredHealthy = 1, 1
					h.cache.SetBudget(b)
				}
				d := h.drift()
				if tc.drift != nil {
					tc.drift(d)
				}
				var edits []func(*corev1.Node)
				if tc.node != nil {
					edits = append(edits, tc.node)
				}
				g := h.instance("c", edits...)
				ready := func(p *corev1.Pod) {
					p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
				}
				if tc.pod == nil {
					tc.pod = func(*corev1.Pod) {}
				}
				h.bind("p", g.Node, ready, tc.pod)
				if tc.claim != nil {
					h.mark("c", tc.claim)
				} else {
					h.mark("c")
				}
				h.round(d)
				if goes := h.going("c") == 1; goes != tc.goes {
					t.Errorf("it goes: %t, want %t", goes, tc.goes)
				}
				if told := h.told("DisruptionBlocked"); told != tc.told {
					t.Errorf("it was told: %t, want %t", told, tc.told)
				}
				if held := d.HeldUp(g.Node, "default"); (held != "") != tc.told {
					t.Errorf("held up by %q, and told: %t", held, tc.told)
				}
				h.round(d)
				if h.told("DisruptionBlocked") {
					t.Error("the same was told twice")
				}
				if !tc.goes {
					return
				}
				h.follow(true)
				time.Sleep(2 * Settle)
				if !h.deleting("c") {
					t.Error("the command does not end")
				}
			})
		})
	}
}

// A pool whose replacements fail must not keep another from rolling, and its own others have their turn.
func TestAPoolThatIsStuckHoldsUpNoOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newTestCluster(t)
		defer h.end()
		other := h.pool.DeepCopy()
		other.Name, other.UID = "other", "other"
		h.cache.SetPool(other)
		d := h.drift()
		for _, name := range []string{"a", "b"} {
			g := h.instance(name, func(n *corev1.Node) {
				if name == "b" {
					n.Labels[karpv1.NodePoolLabelKey] = "other"
				}
			})
			h.bind("p-"+name, g.Node, func(p *corev1.Pod) {
				p.Spec.NodeSelector = map[string]string{karpv1.NodePoolLabelKey: map[string]string{"a": "default", "b": "other"}[name]}
			})
			h.mark(name, func(c *karpv1.NodeClaim) {
				if name == "b" {
					c.Labels[karpv1.NodePoolLabelKey] = "other"
				}
			})
		}
		h.failBy(func(verb string, o client.Object) error {
			if verb == "create" && o.GetLabels()[karpv1.NodePoolLabelKey] == "default" {
				return fmt.Errorf("no")
			}
			return nil
		})
		if err := d.rollOut(t.Context(), d.State.Snapshot()); err == nil {
			t.Error("the failure is not told of")
		}
		synctest.Wait()
		if h.going("a") != 0 || h.going("b") != 1 {
			t.Errorf("going: a %d, b %d; want b alone", h.going("a"), h.going("b"))
		}
		creates := 0
		h.failBy(func(verb string, _ client.Object) error {
			if verb == "create" {
				creates++
			}
			return nil
		})
		h.round(d)
		if creates != 0 || !h.told("DisruptionBlocked") {
			t.Error("the pool that failed does not wait, or does not say so")
		}
		if a, b := d.HeldUp("node-a", "default"), d.HeldUp("node-b", "other"); !strings.Contains(a, "because the last replacement failed") || b != "" {
			t.Errorf("held up: a by %q, b by %q", a, b)
		}
		time.Sleep(backoffFirst)
		h.round(d)
		if creates != 1 || h.going("a") != 1 {
			t.Error("the pool that failed is not tried again")
		}
	})
}

func TestStaticPoolsAreReplacedOneForOne(t *testing.T) {
	for name, tc := range map[string]struct {
		replicas int64
		limit    string
		budget   string
		launched int
	}{
		"within the budget":                   {replicas: 3, budget: "2", launched: 2},
		"within limits.nodes":                 {replicas: 3, limit: "4", budget: "100%", launched: 1},
		"not without room beside them":        {replicas: 3, limit: "3", budget: "100%"},
		"not while there are more than asked": {replicas: 2, budget: "100%"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newTestCluster(t)
				defer h.end()
				h.pool.Spec.Replicas, h.pool.Spec.Disruption.Budgets = new(tc.replicas), withBudget(tc.budget)
				if tc.limit != "" {
					h.pool.Spec.Limits = karpv1.Limits{"nodes": resource.MustParse(tc.limit)}
				}
				h.cache.SetPool(h.pool)
				d := h.drift()
				names := []string{"a", "b", "c"}
				for _, name := range names {
					g := h.instance(name)
					h.bind("p-"+name, g.Node)
					h.mark(name)
				}
				h.round(d)
				h.round(d)
				if got := len(h.replacements()); got != tc.launched || h.going(names...) != tc.launched {
					t.Fatalf("%d were launched and %d go, want %d", got, h.going(names...), tc.launched)
				}
				h.follow(true)
				time.Sleep(2 * Settle)
				gone := 0
				for _, name := range names {
					if h.deleting(name) {
						gone++
					}
				}
				if gone != tc.launched {
					t.Errorf("%d went, want %d", gone, tc.launched)
				}
			})
		})
	}
}

func TestAPanicAboutDriftHoldsUpNoConsolidation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newTestCluster(t)
		defer h.end()
		full := h.instance("full")
		for i := range 4 {
			h.bind(fmt.Sprint("p", i), full.Node)
		}
		h.mark("full")
		h.instance("unused")
		h.run(func(l *Loop) {
			l.DriftProblem = func(context.Context, *cluster.Snapshot, int) *pack.Problem { panic("no") }
		})
		h.pass(youth + time.Minute)
		if h.going("full") != 0 || !h.deleting("unused") {
			t.Error("the empty node does not go while a decision about the other one panics")
		}
	})
}

func TestADecisionOnDriftThatFailsItsCheckIsCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newTestCluster(t)
		defer h.end()
		d := h.drift()
		d.Metrics = h.Metrics
		p := &disrupt.Problem{Cluster: &pack.Problem{}}
		wrong := &disrupt.Decision{Moves: []disrupt.Move{{Cause: disrupt.Drifted, Nodes: []string{"nobody"}}}}
		if moves := d.sound("drift", wrong, wrong.Moves, verify.Replace(p, disrupt.Drifted, []string{"nobody"}, wrong)); len(moves) > 0 || testutil.ToFloat64(h.Metrics.Disruption.Violations) == 0 {
			t.Errorf("%d moves are carried out, and %v are counted", len(moves), testutil.ToFloat64(h.Metrics.Disruption.Violations))
		}
	})
}

func TestMovesThatACheckBlamesAreNotCarriedOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newTestCluster(t)
		defer h.end()
		d := h.drift()
		d.Metrics = h.Metrics
		of := func(node, pod string) disrupt.Move {
			pods := []cluster.PodRef{{Namespace: "default", Name: pod}}
			return disrupt.Move{Nodes: []string{node}, NewNodes: []plan.NewNode{{Pods: pods}}, Placements: []plan.Placement{{Node: "for-" + node, Pods: pods}}}
		}
		decision := &disrupt.Decision{Moves: []disrupt.Move{of("ip-1", "web-1"), of("ip-10", "web-10")}}
		for _, tt := range []struct {
			name  string
			wrong verify.Violation
			kept  []string
		}{
			{"a node that goes", verify.Violation{Rule: "node", Where: "ip-1", Detail: "is being deleted already"}, []string{"ip-10"}},
			{"what a move says of its price", verify.Violation{Rule: "price", Where: "[ip-10]", Detail: "may cost more"}, []string{"ip-1"}},
			{"a node that takes pods", verify.Violation{Rule: "node", Where: "for-ip-1", Detail: "goes, and takes pods"}, []string{"ip-10"}},
			{"a pod on a new node", verify.Violation{Rule: "taints", Where: "new node 2", Detail: "default/web-10 does not tolerate a taint"}, []string{"ip-1"}},
			{"a new node of nobody's", verify.Violation{Rule: "resources", Where: "new node 2", Detail: "pods ask for 2 cpu, there is room for 1"}, nil},
			{"a pool's budget", verify.Violation{Rule: "budget", Where: "shop", Detail: "2 nodes go, 1 may for Underutilized"}, nil},
			{"a pool's limit", verify.Violation{Rule: "limits", Where: "pool shop", Detail: "20 of cpu, the limit is 10"}, nil},
			{"addresses", verify.Violation{Rule: "addresses", Where: "zone a", Detail: "the instances take 2 addresses more than subnet-1 has"}, nil},
			{"the bill", verify.Violation{Rule: "price", Where: "decision", Detail: "the nodes cost $1"}, nil},
		} {
			var kept []string
			for _, m := range d.sound("drift", decision, decision.Moves, []verify.Violation{tt.wrong}) {
				kept = append(kept, m.Nodes...)
			}
			if !slices.Equal(kept, tt.kept) {
				t.Errorf("%s: the moves of %v are carried out, want %v", tt.name, kept, tt.kept)
			}
		}
	})
}
