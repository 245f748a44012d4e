package disrupt

import (
	"context"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"

	awsv1 "github.com/kerf-sh/kerf/api/aws/v1"
	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/internal/controller/apply"
	"github.com/kerf-sh/kerf/internal/controller/obs"
	"github.com/kerf-sh/kerf/internal/engine/catalog"
	"github.com/kerf-sh/kerf/internal/engine/cluster"
	"github.com/kerf-sh/kerf/internal/engine/disrupt"
	"github.com/kerf-sh/kerf/internal/engine/disrupt/confirmation"
	"github.com/kerf-sh/kerf/internal/engine/pack"
	"github.com/kerf-sh/kerf/internal/engine/requirement"
	"github.com/kerf-sh/kerf/internal/engine/res"
	"github.com/kerf-sh/kerf/internal/state/intake"
)

// run adds the loop to a cluster whose instances cost more than they need to: small has half of what large has, for half the
// price.
func (h *testCluster) run(edit ...func(*Loop)) *Loop {
	h.t.Helper()
	offers := func(name string, cpu int64) *catalog.Type {
		return &catalog.Type{
			Name: name, Capacity: res.List{"cpu": cpu, "pods": 29},
			Requirements: []requirement.Term{
				{Key: requirement.InstanceType, Operator: requirement.In, Values: []string{name}}, {Key: requirement.Zone, Operator: requirement.In, Values: []string{"a"}},
				{Key: requirement.CapacityType, Operator: requirement.In, Values: []string{catalog.OnDemand}},
			},
			Offerings: []catalog.Offering{{Zone: "a", CapacityType: catalog.OnDemand, Price: catalog.MicroUSD(cpu * 25), Available: true}},
		}
	}
	pool := intake.Pool(h.pool, &awsv1.EC2NodeClass{}, []*catalog.Type{offers("tiny", 2000), offers("small", 4000)})
	var prices cluster.Pricer
	h.Recorder = obs.NewRecorder(h.events, 2*time.Minute, time.Now)
	l := &Loop{
		Queue: h.Queue, State: h.cache, Metrics: h.Metrics, Log: h.Log, Clock: clock.RealClock{},
		Problem: func(_ context.Context, s *cluster.Snapshot, _ int) *pack.Problem {
			pools := []*cluster.Pool{pool}
			return &pack.Problem{Now: time.Now(), Generation: s.Generation, Nodes: prices.Apply(s.Nodes, pools), Pending: s.Pending, Pools: pools, Options: pack.Options{WellKnown: apply.WellKnownLabels()}}
		},
	}
	for _, e := range edit {
		e(l)
	}
	go func() { _ = l.Start(h.t.Context()) }()
	return l
}

// refresh feeds the cache with what the API has, as watches would.
func (h *testCluster) refresh() {
	h.t.Helper()
	var claims karpv1.NodeClaimList
	var nodes corev1.NodeList
	if err := h.api.List(h.t.Context(), &claims); err != nil {
		h.t.Fatal(err)
	}
	if err := h.api.List(h.t.Context(), &nodes); err != nil {
		h.t.Fatal(err)
	}
	for i := range claims.Items {
		h.cache.SetClaim(&claims.Items[i])
	}
	for i := range nodes.Items {
		h.cache.SetNode(&nodes.Items[i])
	}
}

// pass lets time pass, second by second.
func (h *testCluster) pass(d time.Duration) {
	for range int(d / time.Second) {
		time.Sleep(time.Second)
		h.refresh()
	}
}

func (h *testCluster) eventsOf(reason string) []string {
	var out []string
	for len(h.events.Events) > 0 {
		if e := <-h.events.Events; strings.Contains(e, " "+reason+" ") {
			out = append(out, e)
		}
	}
	return out
}

func (h *testCluster) budgets(nodes string) {
	h.pool = h.pool.DeepCopy()
	h.pool.ResourceVersion = "2"
	h.pool.Spec.Disruption.Budgets = []karpv1.Budget{{Nodes: nodes}}
	h.cache.SetPool(h.pool)
}

func TestAnEmptyNodeGoesByItself(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newTestCluster(t)
		h.instance("c1")
		h.run()
		h.pass(youth - 2*time.Second)
		if h.deleting("c1") {
			t.Error("it went before pods had a chance to reach it")
		}
		h.pass(2*time.Second + confirmation.Moment + Settle + 4*time.Second)
		if !h.deleting("c1") {
			t.Error("it is still there")
		}
		h.end()
	})
}

func TestANodeGoesWhosePodsFitElsewhere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newTestCluster(t)
		g1, g2 := h.instance("c1"), h.instance("c2")
		for _, p := range []string{"a", "b", "c"} {
			h.bind(p, g1.Node)
		}
		h.bind("d", g2.Node)
		h.run()
		h.pass(youth + confirmation.Moment + Settle + 5*time.Second)
		if h.deleting("c1") || !h.deleting("c2") || len(h.replacements()) > 0 {
			t.Errorf("want c2 to go and nothing launched; c1 goes: %v, c2 goes: %v, launched: %d", h.deleting("c1"), h.deleting("c2"), len(h.replacements()))
		}
		h.end()
	})
}

func TestANodeIsReplacedByACheaperOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newTestCluster(t)
		g := h.instance("c1")
		h.bind("a", g.Node)
		h.run()
		h.pass(youth + confirmation.Moment + 5*time.Second)
		launched := h.replacements()
		if len(launched) != 1 || h.deleting("c1") || !h.marked(g) {
			t.Fatalf("%d replacements, old node going: %v", len(launched), h.deleting("c1"))
		}
		h.initialize(&launched[0])
		h.pass(Settle)
		if !h.deleting("c1") {
			t.Error("the old node is still there")
		}
		h.end()
	})
}

func TestWhatKeepsANode(t *testing.T) {
	guard := func(h *testCluster) {
		b := &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "b", ResourceVersion: "1"}}
		b.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": "a"}}
		h.cache.SetBudget(b)
	}
	app := func(p *corev1.Pod) { p.Labels = map[string]string{"app": "a"} }
	for sentence, tt := range map[string]struct {
		testCluster func(*testCluster)
		pod         func(*corev1.Pod)
		node        func(*corev1.Node)
		loop        func(*Loop)
		event       string // on node or claim
		says        string
	}{
		"a budget of its pod that is used up": {testCluster: guard, pod: app, event: "DisruptionBlocked", says: "ns/a"},
		"its pod's annotation": {pod: func(p *corev1.Pod) {
			p.Annotations = map[string]string{karpv1.DoNotDisruptAnnotationKey: "true"}
		}, event: "DisruptionBlocked", says: "ns/a"},
		"its own annotation": {node: func(n *corev1.Node) {
			n.Annotations = map[string]string{karpv1.DoNotDisruptAnnotationKey: "true"}
		}, event: "DisruptionBlocked", says: "annotation"},
		"a zone that traffic is shifted away from": {loop: func(l *Loop) { l.LeftAlone = func(string) bool { return true } }, event: "DisruptionBlocked", says: "traffic"},
		"its pool's budget":                        {testCluster: func(h *testCluster) { h.budgets("0") }, event: "DisruptionBlocked", says: "budgets"},
		"consolidateAfter Never": {testCluster: func(h *testCluster) {
			h.pool = h.pool.DeepCopy()
			h.pool.ResourceVersion = "2"
			h.pool.Spec.Disruption.ConsolidateAfter.Duration = nil
			h.cache.SetPool(h.pool)
		}, event: "Unconsolidatable", says: "Never"},
		"the policy WhenEmpty": {testCluster: func(h *testCluster) {
			h.pool = h.pool.DeepCopy()
			h.pool.ResourceVersion = "2"
			h.pool.Spec.Disruption.ConsolidationPolicy = karpv1.ConsolidationPolicyWhenEmpty
			h.cache.SetPool(h.pool)
		}, event: "Unconsolidatable", says: "empty"},
		"moving that is not paid back": {loop: func(l *Loop) { l.Options.PodPrice = 10_000_000_000 }, event: "Unconsolidatable", says: "assumed to cost"},
	} {
		t.Run(sentence, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newTestCluster(t)
				if tt.testCluster != nil {
					tt.testCluster(h)
				}
				g := h.instance("c1", slices.DeleteFunc([]func(*corev1.Node){tt.node}, func(f func(*corev1.Node)) bool { return f == nil })...)
				h.bind("a", g.Node, slices.DeleteFunc([]func(*corev1.Pod){tt.pod}, func(f func(*corev1.Pod)) bool { return f == nil })...)
				l := h.run(slices.DeleteFunc([]func(*Loop){tt.loop}, func(f func(*Loop)) bool { return f == nil })...)
				h.pass(2 * time.Minute)
				if h.deleting("c1") || h.marked(g) || len(h.replacements()) > 0 {
					t.Error("it goes all the same")
				}
				if said := h.eventsOf(tt.event); len(said) == 0 || !strings.Contains(said[0], tt.says) || len(said) > 4 {
					t.Errorf("events %q", said)
				}
				if d := l.Found(); d == nil || len(d.Kept) != 1 || len(d.Kept[0].Reasons) == 0 {
					t.Errorf("the decision does not say why: %+v", d)
				}
				h.end()
			})
		})
	}
}

func TestABudgetBoundsHowManyGoAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newTestCluster(t)
		h.budgets("2")
		for _, name := range []string{"c1", "c2", "c3", "c4", "c5"} {
			h.instance(name)
		}
		h.run()
		h.pass(youth + 2*time.Minute)
		gone := 0
		for _, name := range []string{"c1", "c2", "c3", "c4", "c5"} {
			if h.deleting(name) {
				gone++
			}
		}
		if gone != 2 {
			t.Errorf("%d nodes go, want 2: none of them is gone yet", gone)
		}
		h.end()
	})
}

// While a command waits for its replacement, which takes minutes, an unchanged cluster is not decided on anew.
func TestADecisionIsRepeatedWhileACommandIsUnderWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newTestCluster(t)
		defer h.end()
		g, other := h.instance("c1"), h.instance("c2")
		h.bind("q", other.Node)
		l := h.run()
		if err := h.Start(t.Context(), h.replace(g, h.bind("p", g.Node))); err != nil {
			t.Fatal(err)
		}
		time.Sleep(youth + 2*safety)
		if d := l.Found(); d == nil || !d.Repeated {
			t.Errorf("the decision is made again though nothing has changed: %v", d)
		}
	})
}

func TestStartsOfSetsHaveTheirTurn(t *testing.T) {
	now := time.Now()
	for name, c := range map[string]struct {
		start, next int
		before      bool // all had their turn
		first       bool // there is no decision before
		repeated    bool
		want        int
		atOnce      bool
	}{
		"some have not had their turn":       {start: 0, next: 7, want: 7, atOnce: true},
		"nor after the next":                 {start: 7, next: 15, want: 15, atOnce: true},
		"all have":                           {start: 15, next: 0, want: 15},
		"all have, and nothing has changed":  {start: 15, next: 0, before: true, repeated: true, want: 15},
		"all have, and a budget has begun":   {start: 15, next: 0, before: true, want: 0, atOnce: true},
		"a set was found, and is confirmed":  {start: 7, next: 7, want: 7},
		"a set was found from the beginning": {start: 0, next: 0, want: 0},
		"there was no decision before":       {start: 3, next: 0, first: true, want: 3},
	} {
		later := now.Add(safety)
		l := &Loop{Options: disrupt.Options{Start: c.start}, due: later}
		switch {
		case c.before:
			l.found.Store(&disrupt.Decision{})
		case !c.first:
			l.found.Store(&disrupt.Decision{Next: c.start})
		}
		l.goOn(&disrupt.Decision{Next: c.next, Repeated: c.repeated}, now)
		if l.Options.Start != c.want || l.due.Equal(now) != c.atOnce {
			t.Errorf("%s: goes on from %d, at once %v", name, l.Options.Start, l.due.Equal(now))
		}
	}
}

// Once all starts had their turn, a cluster that has changed is decided on from the first, once.
func TestAChangedClusterIsLookedAtFromTheFirstStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newTestCluster(t)
		defer h.end()
		g := h.instance("c1")
		h.bind("p", g.Node)
		l := h.run(func(l *Loop) { l.Options.Start = 15 })
		time.Sleep(tick)
		synctest.Wait()
		l.found.Store(&disrupt.Decision{})
		l.Options.Start = 15
		h.bind("q", g.Node)
		l.rest = time.Time{}
		if err := l.consolidate(t.Context(), h.cache.Snapshot()); err != nil {
			t.Fatal(err)
		}
		if l.Options.Start != 0 || !l.due.After(time.Now()) {
			t.Errorf("goes on from %d, due %s; want no second decision", l.Options.Start, l.due)
		}
	})
}
