package disrupt

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/record"
	"k8s.io/utils/clock"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/internal/controller/apply"
	"github.com/kerf-sh/kerf/internal/controller/obs"
	"github.com/kerf-sh/kerf/internal/engine/cluster"
	"github.com/kerf-sh/kerf/internal/engine/disrupt"
	"github.com/kerf-sh/kerf/internal/engine/pack"
	"github.com/kerf-sh/kerf/internal/state/cache"
)

func TestOnlyMovesThatBeginAreHeldAgainstTheNext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newTestCluster(t)
		g := h.instance("c1")
		h.bind("a", g.Node, func(p *corev1.Pod) {
			p.OwnerReferences = []metav1.OwnerReference{{Kind: "ReplicaSet", Name: "a", UID: "owner", Controller: new(true)}}
		})
		l := &Loop{Queue: h.Queue, State: h.cache, Metrics: h.Metrics, Log: h.Log, Clock: clock.RealClock{}}
		l.reporter = newReporter(l.Queue)
		v := newView(h.cache, h.Queue, h.cache.Snapshot(), h.Clock.Now())
		v.problem = &disrupt.Problem{Cluster: &pack.Problem{}}
		move := disrupt.Move{Cause: disrupt.Underutilized, Nodes: []string{g.Node}, Saving: 5}
		if err := h.api.Delete(t.Context(), h.node(g.Node)); err != nil {
			t.Fatal(err)
		}
		if err := l.start(t.Context(), v, []disrupt.Move{move}, l.commands(v, "", nil, nil, []disrupt.Move{move})); err != nil || len(l.Breaker.moves) != 0 {
			t.Errorf("a move of a node that has gone is no failure, and not noted: %v, %v", l.Breaker.moves, err)
		}
		there := h.instance("c2")
		move.Nodes = []string{there.Node}
		v.nodes[there.Node] = &cluster.Node{Name: there.Node, Claim: there.Claim, Pool: there.Pool, Pods: v.nodes[g.Node].Pods}
		if err := l.start(t.Context(), v, []disrupt.Move{move}, l.commands(v, "", nil, nil, []disrupt.Move{move})); err != nil || len(l.Breaker.moves) != 1 {
			t.Errorf("a move that began is not noted: %v, %v", l.Breaker.moves, err)
		}
		h.end()
	})
}

// Where many commands begin in one round, the pods of the first leave before the last has begun.
func TestAMoveIsNotedWhenItBegins(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newTestCluster(t)
		begun := time.Now()
		l := &Loop{Queue: h.Queue, State: h.cache, Metrics: h.Metrics, Log: h.Log, Clock: clock.RealClock{}}
		l.reporter = newReporter(l.Queue)
		owned := func(p *corev1.Pod) {
			p.OwnerReferences = []metav1.OwnerReference{{Kind: "ReplicaSet", Name: "a", UID: types.UID(p.Name), Controller: new(true)}}
		}
		quick, slow := h.instance("c1"), h.instance("c2")
		h.bind("a", quick.Node, owned)
		pods := h.bind("b", slow.Node, owned)
		v := newView(h.cache, h.Queue, h.cache.Snapshot(), h.Clock.Now())
		v.problem = &disrupt.Problem{Cluster: &pack.Problem{Pools: h.replace(slow).Pools}, Options: disrupt.Options{NodePrice: 10}}
		h.failBy(func(verb string, _ client.Object) error {
			if verb == "create" { // a launch that takes its time
				time.Sleep(beginWithin / 2)
			}
			return nil
		})
		ended := make(chan error)
		go func() {
			moves := []disrupt.Move{
				{Cause: disrupt.Underutilized, Nodes: []string{quick.Node}, Saving: 5},
				{Cause: disrupt.Underutilized, Nodes: []string{slow.Node}, Saving: 5, NewNodes: h.replace(slow, pods).NewNodes},
			}
			ended <- l.start(t.Context(), v, moves, l.commands(v, "", nil, nil, moves))
		}()
		time.Sleep(time.Second)
		l.Breaker.mu.Lock()
		if len(l.Breaker.moves) != 1 {
			t.Errorf("while another begins: %v", l.Breaker.moves)
		}
		l.Breaker.mu.Unlock()
		if err := <-ended; err != nil || len(l.Breaker.moves) != 2 {
			t.Errorf("when both have begun: %v, %v", l.Breaker.moves, err)
		}
		// It is held to cost 10 and saves 5 an hour.
		if launched := h.replacements(); len(launched) != 1 || launched[0].Annotations[apply.HoldUntilAnnotation] != begun.Add(4*time.Hour).UTC().Format(time.RFC3339) {
			t.Errorf("the instance stays for twice as long as it takes to pay back: %v", launched)
		}
		h.end()
	})
}

func TestWhatIsSaidOverAndOverTakesNoOthersTurn(t *testing.T) {
	now := clocktesting.NewFakeClock(time.Unix(1000, 0))
	events := record.NewFakeRecorder(10_000)
	pool := &karpv1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: "default", UID: "pool"}}
	v := &view{pools: map[string]*karpv1.NodePool{"default": pool}, standing: &cache.DisruptionConstraints{}, spending: map[string]*Spending{"default": {}}, nodes: map[string]*cluster.Node{"n": {Name: "n", Pool: "default"}}}
	for i := range 60 {
		v.standing.Invalid = append(v.standing.Invalid, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("p", i), UID: types.UID(fmt.Sprint(i)), Annotations: map[string]string{karpv1.DoNotDisruptAnnotationKey: "maybe"}}})
	}
	scheme := runtime.NewScheme()
	if err := corev1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	nodes := fake.NewClientBuilder().WithScheme(scheme).WithObjects(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"}}).Build()
	talk := newReporter(&Queue{Client: nodes, State: cache.New(cache.Options{}), Recorder: events, Clock: now})
	for i := range 600 {
		v.spending["default"].Used, v.spending["default"].Nodes = i, 1000 // the figures change all the time
		talk.about(v, &disrupt.Decision{Kept: []disrupt.Kept{{Node: "n", Reasons: []disrupt.Reason{{Code: disrupt.BudgetUsed}, {Code: []disrupt.Code{disrupt.NotCheaper, disrupt.NotPaidBack}[i%2]}}}}})
		talk.candidates(v, []disrupt.Move{{Cause: disrupt.Underutilized, Nodes: []string{"n"}, Why: fmt.Sprint(i)}})
		now.Step(time.Second)
	}
	said := map[string]int{}
	for len(events.Events) > 0 {
		said[strings.Fields(<-events.Events)[1]]++
	}
	if said["InvalidDoNotDisruptAnnotation"] != 60 || said["DisruptionBlocked"] != 1 || said["Unconsolidatable"] != 2 || said["ConsolidationCandidate"] != 1 {
		t.Errorf("in ten minutes: %v", said)
	}
	if !talk.limit.AllowN(now.Now(), 50) || !talk.stays.AllowN(now.Now(), 50) {
		t.Error("what was said already took the turn of others")
	}
	now.Step(sayAgain)
	if talk.forget(); len(talk.said) != 0 {
		t.Errorf("%d are remembered for no reason", len(talk.said))
	}
}

// TestEachOfManyNodesIsTold: more nodes are kept than have an event within the time after which the first may have theirs again, and
// none of them takes the turn of one that is to go.
func TestEachOfManyNodesIsTold(t *testing.T) {
	const many = 3000
	now := clocktesting.NewFakeClock(time.Unix(1000, 0))
	events := record.NewFakeRecorder(100)
	scheme := runtime.NewScheme()
	if err := corev1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	pool := &karpv1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: "default", UID: "pool"}}
	pool.Spec.Disruption.ConsolidationPolicy = karpv1.ConsolidationPolicyBalanced
	v := &view{pools: map[string]*karpv1.NodePool{"default": pool}, problem: &disrupt.Problem{Cluster: &pack.Problem{}}, standing: &cache.DisruptionConstraints{}, nodes: map[string]*cluster.Node{}}
	d := &disrupt.Decision{}
	nodes := fake.NewClientBuilder().WithScheme(scheme)
	for i := range many {
		name := fmt.Sprintf("n%04d", i)
		v.nodes[name] = &cluster.Node{Name: name, Pool: "default"}
		nodes.WithObjects(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}})
		d.Kept = append(d.Kept, disrupt.Kept{Node: name, Reasons: []disrupt.Reason{{Code: disrupt.Other, Detail: name}}})
	}
	talk := newReporter(&Queue{Client: nodes.Build(), State: cache.New(cache.Options{}), Recorder: events, Metrics: obs.NewMetrics(prometheus.NewRegistry()), Clock: now})
	told := map[string]bool{}
	said := func() (out int) {
		for len(events.Events) > 0 {
			e := <-events.Events
			told[e[strings.LastIndex(e, "n"):]] = true
			out++
		}
		return out
	}
	for range 25 * 60 {
		talk.about(v, d)
		if n := said(); n > 50 {
			t.Fatalf("%d events at once", n)
		}
		now.Step(time.Second)
	}
	if len(told) != many {
		t.Errorf("%d of %d nodes were told within 25 minutes", len(told), many)
	}
	talk.about(v, d)
	said()
	for what, tell := range map[string]func(){
		"a node that is to go":          func() { talk.candidates(v, []disrupt.Move{{Cause: disrupt.Underutilized, Nodes: []string{"n2999"}}}) },
		"a node that is not any more":   func() { talk.dropped(v, d, []string{"n2999"}) },
		"a command that can't be begun": func() { talk.rejected(v, "n2999", "single", "no") },
		"a command that has begun":      func() { talk.approved(v, &disrupt.Move{Cause: disrupt.Underutilized, Nodes: []string{"n2999"}}) },
		"a pod whose annotation is read": func() {
			talk.other(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{UID: "p"}}, "Normal", "DoNotDisruptUntil", "", "")
		},
	} {
		if tell(); said() == 0 {
			t.Errorf("%s is not told, because many stay", what)
		}
	}
}
