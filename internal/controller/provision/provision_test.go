package provision

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/record"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	awsv1 "github.com/kerf-sh/kerf/api/aws/v1"
	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/internal/controller/apply"
	"github.com/kerf-sh/kerf/internal/engine/catalog"
	"github.com/kerf-sh/kerf/internal/engine/cluster"
	"github.com/kerf-sh/kerf/internal/engine/pack"
	"github.com/kerf-sh/kerf/internal/engine/plan"
	decision "github.com/kerf-sh/kerf/internal/engine/record"
	"github.com/kerf-sh/kerf/internal/engine/requirement"
	"github.com/kerf-sh/kerf/internal/engine/res"
	"github.com/kerf-sh/kerf/internal/state/cache"
)

// shop is a TypeSource of a few types; per class it may fail, hang or panic.
type shop struct {
	mu    sync.Mutex
	fails map[string]error
	hangs map[string]chan struct{}
	panic map[string]bool
	types []*catalog.Type
}

func newShop() *shop {
	s := &shop{fails: map[string]error{}, hangs: map[string]chan struct{}{}, panic: map[string]bool{}}
	for i := 1; i <= 16; i *= 2 {
		s.types = append(s.types, &catalog.Type{
			Name: fmt.Sprint("t", i),
			Requirements: []requirement.Term{
				{Key: requirement.InstanceType, Operator: requirement.In, Values: []string{fmt.Sprint("t", i)}},
				{Key: requirement.Arch, Operator: requirement.In, Values: []string{"amd64"}},
				{Key: requirement.Zone, Operator: requirement.In, Values: []string{"a", "b"}},
				{Key: requirement.CapacityType, Operator: requirement.In, Values: []string{"on-demand"}},
			},
			Capacity: res.List{"cpu": int64(i) * 1000, "memory": int64(i) << 32, "pods": 110},
			Overhead: res.List{"cpu": 50},
			Offerings: []catalog.Offering{
				{Zone: "a", CapacityType: "on-demand", Price: catalog.MicroUSD(i) * 1000, Available: true},
				{Zone: "b", CapacityType: "on-demand", Price: catalog.MicroUSD(i) * 1000, Available: true}},
		})
	}
	return s
}

func (s *shop) Types(_ context.Context, class *awsv1.EC2NodeClass) ([]*catalog.Type, error) {
	s.mu.Lock()
	hang, err, p := s.hangs[class.Name], s.fails[class.Name], s.panic[class.Name]
	s.mu.Unlock()
	if hang != nil {
		<-hang
	}
	if p {
		panic("no such family")
	}
	return s.types, err
}

// count is a Meter that counts.
type count struct {
	mu       sync.Mutex
	solved   []int
	violated int
	refused  map[apply.RefusalCode]int
	unplaced map[plan.Code]int
}

func (c *count) Begin(pods int) func() {
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.solved = append(c.solved, pods)
	}
}
func (c *count) Decided(_, _ []cluster.PodRef) {}
func (c *count) Solved(time.Duration)          {}
func (c *count) Unplaced(m map[plan.Code]int)  { c.mu.Lock(); c.unplaced = m; c.mu.Unlock() }
func (c *count) Created(string, bool)          {}
func (c *count) Refused(r apply.RefusalCode)   { c.mu.Lock(); c.refused[r]++; c.mu.Unlock() }
func (c *count) Violated()                     { c.mu.Lock(); c.violated++; c.mu.Unlock() }

func (c *count) passes() []int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]int(nil), c.solved...)
}

type testCluster struct {
	*Controller
	t      *testing.T
	cache  *cache.Cache
	client client.Client
	shop   *shop
	count  *count
	events *record.FakeRecorder
	rv     int
}

func newTestCluster(t *testing.T, edit ...func(*Options)) *testCluster {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := errors.Join(karpv1.AddToScheme(scheme), corev1.AddToScheme(scheme)); err != nil {
		t.Fatal(err)
	}
	h := &testCluster{t: t, cache: cache.New(cache.Options{}), shop: newShop(), count: &count{refused: map[apply.RefusalCode]int{}}, events: record.NewFakeRecorder(1000)}
	h.client = fake.NewClientBuilder().WithScheme(scheme).Build()
	o := Options{
		State: h.cache, Types: h.shop, Meter: h.count, BatchIdle: time.Second, BatchMax: 10 * time.Second,
		Applier: apply.New(apply.Options{Client: h.client, State: h.cache, Recorder: h.events}),
	}
	for _, e := range edit {
		e(&o)
	}
	h.Controller = New(o)
	return h
}

func (h *testCluster) version() string { h.rv++; return fmt.Sprint(h.rv) }

func (h *testCluster) pool(name string, edit ...func(*karpv1.NodePool)) {
	h.cache.SetNodeClass(&awsv1.EC2NodeClass{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID("class-" + name), ResourceVersion: h.version()}})
	p := &karpv1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID("pool-" + name), ResourceVersion: h.version()}}
	p.Spec.Template.Spec.NodeClassRef = &karpv1.NodeClassReference{Group: awsv1.Group, Kind: "EC2NodeClass", Name: name}
	for _, e := range edit {
		e(p)
	}
	p.StatusConditions().SetTrue(karpv1.ConditionTypeValidationSucceeded)
	p.StatusConditions().SetTrue(karpv1.ConditionTypeNodeClassReady)
	h.cache.SetPool(p)
}

func (h *testCluster) pod(name, cpu string, edit ...func(*corev1.Pod)) {
	p := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, UID: types.UID("uid-" + name), ResourceVersion: h.version(), CreationTimestamp: metav1.Unix(1, 0)},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{"cpu": resource.MustParse(cpu)}}}}},
		Status:     corev1.PodStatus{Conditions: []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable}}},
	}
	for _, e := range edit {
		e(p)
	}
	h.cache.SetPod(p)
}

func (h *testCluster) claims() []karpv1.NodeClaim {
	h.t.Helper()
	var list karpv1.NodeClaimList
	if err := h.client.List(h.t.Context(), &list); err != nil {
		h.t.Fatal(err)
	}
	return list.Items
}

// run starts the loop in the test's bubble and gives it time to settle.
func (h *testCluster) run(ctx context.Context) {
	go func() { _ = h.Start(ctx) }()
	synctest.Wait()
}

func TestALonePodIsServedAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		h := newTestCluster(t)
		h.pool("default")
		h.run(ctx)
		time.Sleep(3 * time.Second)
		h.pod("p", "500m")
		time.Sleep(50 * time.Millisecond)
		synctest.Wait()
		claims := h.claims()
		if len(claims) != 1 {
			t.Fatalf("%d claims after 50 ms, want 1", len(claims))
		}
		if q := claims[0].Spec.Resources.Requests["cpu"]; q.String() != "500m" {
			t.Errorf("requests %v", claims[0].Spec.Resources.Requests)
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		if n := len(h.claims()); n != 1 {
			t.Errorf("launched for twice: %d claims", n)
		}
	})
}

func TestABurstIsSolvedTogether(t *testing.T) {
	for name, tt := range map[string]struct {
		every      time.Duration
		most       time.Duration
		wantPasses int
	}{
		"all at once":              {0, 10 * time.Second, 1},
		"200 a second":             {5 * time.Millisecond, 10 * time.Second, 1},
		"50 a second, within 20s":  {20 * time.Millisecond, 25 * time.Second, 1},
		"the longest wait is kept": {20 * time.Millisecond, 10 * time.Second, 2},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				h := newTestCluster(t, func(o *Options) { o.BatchMax = tt.most })
				h.pool("default")
				h.run(ctx)
				for i := range 1000 {
					h.pod(fmt.Sprint("p", i), "100m")
					time.Sleep(tt.every)
				}
				time.Sleep(2 * time.Second)
				synctest.Wait()
				total := 0
				for _, n := range h.count.passes() {
					total += n
				}
				if passes := h.count.passes(); len(passes) != tt.wantPasses || total != 1000 {
					t.Errorf("passes over %v pods, want %d passes over 1000", passes, tt.wantPasses)
				}
			})
		})
	}
}

func TestOneBrokenClassLeavesTheOthers(t *testing.T) {
	for name, tt := range map[string]struct {
		spoil func(*shop)
		want  string
	}{
		"types that can't be read":  {func(s *shop) { s.fails["broken"] = errors.New("AccessDenied: ec2:DescribeInstanceTypes") }, "AccessDenied"},
		"a reading that panics":     {func(s *shop) { s.panic["broken"] = true }, "panic"},
		"a reading that never ends": {func(s *shop) { s.hangs["broken"] = make(chan struct{}) }, "no answer after 3s"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newTestCluster(t)
				h.pool("good")
				h.pool("broken", func(p *karpv1.NodePool) { p.Spec.Weight = new(int32(50)) })
				tt.spoil(h.shop)
				defer func() {
					if c := h.shop.hangs["broken"]; c != nil {
						close(c)
					}
				}()
				h.pod("p", "500m")
				h.pod("other", "500m", func(p *corev1.Pod) { p.Spec.NodeSelector = map[string]string{karpv1.NodePoolLabelKey: "broken"} })
				out, err := h.Decide(t.Context())
				if err != nil || len(out.Created) != 1 || out.Created[0].Pool != "good" {
					t.Fatalf("outcome %+v, %v", out, err)
				}
				problem := h.Problem(t.Context(), h.cache.Snapshot())
				for _, p := range problem.Pools {
					if p.Name == "broken" && !strings.Contains(p.NotReady, tt.want) {
						t.Errorf("pool %s: %q, want %q", p.Name, p.NotReady, tt.want)
					}
				}
			})
		})
	}
}

func TestALateAnswerBringsThePoolBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		h := newTestCluster(t)
		h.pool("slow")
		answer := make(chan struct{})
		h.shop.hangs["slow"] = answer
		h.run(ctx)
		h.pod("p", "500m")
		time.Sleep(4 * time.Second)
		synctest.Wait()
		if n := len(h.claims()); n != 0 {
			t.Fatalf("%d claims without types", n)
		}
		close(answer)
		time.Sleep(100 * time.Millisecond)
		synctest.Wait()
		if n := len(h.claims()); n != 1 {
			t.Errorf("%d claims after the answer came", n)
		}
	})
}

func TestWhatMakesTheLoopLookAgain(t *testing.T) {
	for name, change := range map[string]func(*testCluster){
		"a pool comes": func(h *testCluster) { h.pool("default") },
		"an offering can be launched again": func(h *testCluster) {
			h.pool("default")
			h.Trigger()
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				h := newTestCluster(t)
				h.run(ctx)
				h.pod("p", "500m")
				time.Sleep(time.Second)
				synctest.Wait()
				if len(h.claims()) != 0 {
					t.Fatal("launched without a pool")
				}
				change(h)
				time.Sleep(100 * time.Millisecond)
				synctest.Wait()
				if n := len(h.claims()); n != 1 {
					t.Errorf("%d claims, want 1", n)
				}
			})
		})
	}
}

func TestAFailedLaunchIsAnsweredWithAnotherInstance(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		h := newTestCluster(t)
		h.pool("default")
		h.run(ctx)
		h.pod("p", "500m")
		time.Sleep(time.Second)
		synctest.Wait()
		first := h.claims()[0]
		h.cache.RemoveClaim(&first) // no capacity: the claim was deleted
		time.Sleep(100 * time.Millisecond)
		synctest.Wait()
		if n := len(h.claims()); n != 2 {
			t.Errorf("%d claims were made in all, want a second one at once", n)
		}
	})
}

func TestPodsThatFitInFlightInstancesAreNotLaunchedFor(t *testing.T) {
	h := newTestCluster(t)
	h.pool("default")
	h.pod("a", "3")
	if out, err := h.Decide(t.Context()); err != nil || len(out.Created) != 1 {
		t.Fatalf("outcome %+v, %v", out, err)
	}
	h.pod("b", "500m") // the instance in flight has four processors
	out, err := h.Decide(t.Context())
	if err != nil || len(out.Created) != 0 {
		t.Fatalf("outcome %+v, %v", out, err)
	}
	if s := h.cache.Snapshot(); len(s.Pending) != 0 || len(s.Nodes) != 1 || len(s.Nodes[0].Pods) != 2 {
		t.Errorf("%d pending, nodes %v", len(s.Pending), s.Nodes)
	}
}

func TestAnInstanceThatNeverGetsReadyIsNotWaitedForForEver(t *testing.T) {
	h := newTestCluster(t)
	h.pool("default")
	h.pod("a", "3")
	if out, err := h.Decide(t.Context()); err != nil || len(out.Created) != 1 {
		t.Fatalf("outcome %+v, %v", out, err)
	}
	stuck := h.claims()[0].DeepCopy()
	stuck.ResourceVersion = "1000"
	stuck.CreationTimestamp = metav1.NewTime(time.Now().Add(-time.Hour))
	h.cache.SetClaim(stuck)
	h.pod("b", "500m") // would fit
	if out, err := h.Decide(t.Context()); err != nil || len(out.Created) != 1 {
		t.Fatalf("outcome %+v, %v", out, err)
	}
}

func TestPodsOnLeavingNodesAreLaunchedForOnce(t *testing.T) {
	h := newTestCluster(t)
	h.pool("default")
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n", UID: "n", ResourceVersion: h.version(), DeletionTimestamp: new(metav1.Now())}}
	node.Status.Allocatable = corev1.ResourceList{"cpu": resource.MustParse("8"), "pods": resource.MustParse("10")}
	h.cache.SetNode(node)
	h.pod("a", "3", func(p *corev1.Pod) { p.Spec.NodeName = "n"; p.Status.Conditions = nil })
	if out, err := h.Decide(t.Context()); err != nil || len(out.Created) != 1 {
		t.Fatalf("outcome %+v, %v", out, err)
	}
	if out, err := h.Decide(t.Context()); err != nil || len(out.Created) != 0 {
		t.Fatalf("launched for twice: %+v, %v", out, err)
	}
}

func TestAPlanThatFailsItsCheckIsCutDown(t *testing.T) {
	h := newTestCluster(t, func(o *Options) {
		o.Solve = func(p *pack.Problem) *plan.Plan {
			out := pack.Solve(p)
			if len(out.NewNodes) > 0 {
				out.NewNodes[0].Types = []plan.TypeChoice{{Name: "t1", Price: 1000, Zone: "a", CapacityType: "on-demand"}} // too small
			}
			return out
		}
	})
	h.pool("default")
	h.pod("a", "15")
	h.pod("b", "14")
	out, err := h.Decide(t.Context())
	if err != nil || len(out.Created) != 1 || h.count.violated == 0 {
		t.Errorf("outcome %+v, %v, %d violations", out, err, h.count.violated)
	}
	if n := len(h.cache.Snapshot().Pending); n != 1 {
		t.Errorf("%d pods pending, want the one whose node was dropped", n)
	}
	if n := h.count.unplaced[plan.CheckFailed]; n != 1 || len(h.count.unplaced) != 1 || h.more() {
		t.Errorf("without a place: %v, want 1 for %s; nothing decided on it: %v", h.count.unplaced, plan.CheckFailed, h.more())
	}
}

func TestWhatWasDecidedIsRecordedAsItWasSolved(t *testing.T) {
	var got []*decision.Decision
	h := newTestCluster(t, func(o *Options) {
		o.Record = func(d *decision.Decision) { got = append(got, d) }
		// The check refuses the first instance; the record must hold it all the same.
		o.Check = func(_ *pack.Problem, p *plan.Plan) []Violation {
			if len(p.NewNodes) < 2 {
				return nil
			}
			return []Violation{{NewNode: 0, Text: "resources: new node 1: too much"}}
		}
	})
	h.pool("default")
	h.pod("big", "9")
	h.pod("bigger", "10")
	if _, err := h.Decide(t.Context()); err != nil {
		t.Fatal(err)
	}
	if len(got) != 1 || len(got[0].Plan.NewNodes) != 2 {
		t.Fatalf("recorded %d decisions", len(got))
	}
	d := got[0]
	if len(d.Dropped) != 1 || len(d.Claims) != 1 || d.Claims[0].NewNode != 1 || d.Claims[0].Name != h.claims()[0].Name {
		t.Errorf("dropped %q, claims %+v", d.Dropped, d.Claims)
	}
	if why, left := d.WhyLeft(d.Plan.NewNodes[0].Pods[0]); !left || len(d.Left) != 1 || why[0].Code != plan.CheckFailed || len(d.Plan.Unplaced) != 0 {
		t.Errorf("left: %+v, in the plan: %+v", d.Left, d.Plan.Unplaced)
	}
	if again, err := decision.Replay(d); err != nil || !decision.SamePlan(again, d.Plan) {
		t.Errorf("replayed to another plan: %v", err)
	}
}

func TestAPoolWithNothingToSellIsTold(t *testing.T) {
	h := newTestCluster(t)
	h.pool("default", func(p *karpv1.NodePool) {
		p.Spec.Template.Spec.Requirements = []karpv1.NodeSelectorRequirementWithMinValues{{Key: requirement.Zone, Operator: "In", Values: []string{"mars-1a"}}}
	})
	h.pod("p", "1")
	if _, err := h.Decide(t.Context()); err != nil {
		t.Fatal(err)
	}
	found := false
	for len(h.events.Events) > 0 {
		e := <-h.events.Events
		found = found || strings.HasPrefix(e, "Warning NoCompatibleInstanceTypes") && strings.Contains(e, "mars-1a")
	}
	if !found {
		t.Error("no event names the zone that does not exist")
	}
}

func TestAPoolWhoseMinValuesCannotBeMetIsTold(t *testing.T) {
	demand := func(n int) func(*karpv1.NodePool) {
		return func(p *karpv1.NodePool) {
			p.Spec.Template.Spec.Requirements = []karpv1.NodeSelectorRequirementWithMinValues{{Key: requirement.InstanceType, Operator: "Exists", MinValues: &n}}
		}
	}
	for name, tt := range map[string]struct {
		bestEffort bool
		pools      map[string]func(*karpv1.NodePool)
		pod        string
		want       string // of the event; empty for none
	}{
		"more values than there are":                        {false, map[string]func(*karpv1.NodePool){"strict": demand(40)}, "1", "minValues of node.kubernetes.io/instance-type is 40"},
		"also while another pool serves the pods":           {false, map[string]func(*karpv1.NodePool){"strict": demand(40), "other": func(*karpv1.NodePool) {}}, "1", "minValues of node.kubernetes.io/instance-type is 40"},
		"more values than there are for the pods that wait": {false, map[string]func(*karpv1.NodePool){"strict": demand(2)}, "15", "minValues can't be met for 1 pod"},
		"values enough":                {false, map[string]func(*karpv1.NodePool){"strict": demand(2)}, "1", ""},
		"a demand that is only wanted": {true, map[string]func(*karpv1.NodePool){"strict": demand(40)}, "1", ""},
	} {
		t.Run(name, func(t *testing.T) {
			h := newTestCluster(t, func(o *Options) { o.Pack.MinValuesBestEffort = tt.bestEffort })
			for pool, edit := range tt.pools {
				h.pool(pool, edit)
			}
			h.pod("p", tt.pod)
			if _, err := h.Decide(t.Context()); err != nil {
				t.Fatal(err)
			}
			var said []string
			for len(h.events.Events) > 0 {
				if e := <-h.events.Events; strings.HasPrefix(e, "Warning NoCompatibleInstanceTypes") {
					said = append(said, e)
				}
			}
			if tt.want == "" && len(said) != 0 || tt.want != "" && (len(said) != 1 || !strings.Contains(said[0], tt.want)) {
				t.Errorf("said %q, want one event with %q", said, tt.want)
			}
		})
	}
}

func TestAPanicDoesNotEndTheLoop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		failing := true
		h := newTestCluster(t, func(o *Options) {
			o.Solve = func(p *pack.Problem) *plan.Plan {
				if failing {
					failing = false
					panic("broken invariant")
				}
				return pack.Solve(p)
			}
		})
		h.pool("default")
		h.run(ctx)
		h.pod("p", "1")
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if n := len(h.claims()); n != 1 {
			t.Errorf("%d claims, want 1 on the second try", n)
		}
	})
}

// TestAReplicaThatIsNotElectedGathersNoPods: it may wait for weeks.
func TestAReplicaThatIsNotElectedGathersNoPods(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newTestCluster(t)
		h.pool("default")
		for i := range 100 {
			h.pod(fmt.Sprint("p", i), "1")
		}
		if n := len(h.batch.pods); n != 0 {
			t.Errorf("%d pods are noted before the election", n)
		}
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		h.run(ctx)
		time.Sleep(3 * time.Second)
		synctest.Wait()
		if len(h.claims()) == 0 {
			t.Error("nothing is launched for pods that came before the election")
		}
	})
}

func TestAnOwnerThatDoesNotAnswerHoldsUpNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		asked := 0
		h := newTestCluster(t, func(o *Options) {
			o.Missing = func(ctx context.Context, _ cache.Owner) (int, bool) {
				asked++
				<-ctx.Done()
				return 0, false
			}
		})
		h.pool("default")
		h.run(ctx)
		time.Sleep(3 * time.Second)
		h.pod("p", "1", func(p *corev1.Pod) {
			p.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "web", UID: "web", Controller: new(true)}}
		})
		time.Sleep(3 * time.Second)
		synctest.Wait()
		if n := len(h.claims()); n != 1 || asked == 0 {
			t.Errorf("%d claims after 3 s, and the owner was asked for %d times", n, asked)
		}
	})
}
