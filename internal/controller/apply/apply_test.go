package apply

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/record"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	awsv1 "github.com/kerf-sh/kerf/api/aws/v1"
	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/internal/engine/catalog"
	"github.com/kerf-sh/kerf/internal/engine/cluster"
	"github.com/kerf-sh/kerf/internal/engine/plan"
	"github.com/kerf-sh/kerf/internal/engine/requirement"
	"github.com/kerf-sh/kerf/internal/engine/res"
	"github.com/kerf-sh/kerf/internal/state/cache"
	"github.com/kerf-sh/kerf/internal/state/intake"
)

func testPool(edit ...func(*karpv1.NodePool)) *karpv1.NodePool {
	p := &karpv1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: "default", UID: "pool-uid", ResourceVersion: "1"}}
	p.Spec.Template.Labels = map[string]string{"team": "x"}
	p.Spec.Template.Annotations = map[string]string{"note": "y"}
	p.Spec.Template.Spec = karpv1.NodeClaimTemplateSpec{
		NodeClassRef:           &karpv1.NodeClassReference{Group: awsv1.Group, Kind: "EC2NodeClass", Name: "default"},
		Taints:                 []corev1.Taint{{Key: "t", Effect: corev1.TaintEffectNoSchedule}},
		StartupTaints:          []corev1.Taint{{Key: "s", Effect: corev1.TaintEffectNoExecute}},
		ExpireAfter:            karpv1.MustParseNillableDuration("60m"),
		TerminationGracePeriod: new(karpv1.NewDuration(time.Hour)),
	}
	for _, e := range edit {
		e(p)
	}
	p.StatusConditions().SetTrue(karpv1.ConditionTypeValidationSucceeded)
	p.StatusConditions().SetTrue(karpv1.ConditionTypeNodeClassReady)
	return p
}

func testTypes() []*catalog.Type {
	offer := func(price int64) []catalog.Offering {
		return []catalog.Offering{
			{Zone: "a", CapacityType: "on-demand", Price: catalog.MicroUSD(price), Available: true},
			{Zone: "b", CapacityType: "spot", Price: catalog.MicroUSD(price / 2), Available: true},
			{Zone: "c", CapacityType: "spot", Price: catalog.MicroUSD(price / 2), Unavailable: "insufficient capacity"},
		}
	}
	return []*catalog.Type{
		{Name: "big", Capacity: res.List{"cpu": 8000, "pods": 58}, Overhead: res.List{"cpu": 100}, Offerings: offer(400)},
		{Name: "small", Capacity: res.List{"cpu": 4000, "pods": 29}, Overhead: res.List{"cpu": 100}, Offerings: offer(200)},
	}
}

func testNode(pods ...cluster.PodRef) plan.NewNode {
	return plan.NewNode{
		Pool:     "default",
		Types:    []plan.TypeChoice{{Name: "small", Price: 100, Zone: "b", CapacityType: "spot"}, {Name: "big", Price: 200, Zone: "b", CapacityType: "spot"}},
		Requests: res.List{"cpu": 1500, "memory": 1 << 30, "pods": 2},
		Pods:     pods, Price: 100,
		Requirements: []requirement.Term{
			{Key: "example.com/rack", Operator: requirement.Gte, Values: []string{"7"}},
			{Key: "example.com/tier", Operator: requirement.In, Values: []string{"gold", "iron"}},
			{Key: "karpenter.k8s.aws/no-such-label", Operator: requirement.DoesNotExist},
			{Key: "karpenter.sh/nodepool", Operator: requirement.In, Values: []string{"default"}},
			{Key: "karpenter.sh/provisioner-name", Operator: requirement.DoesNotExist},
			{Key: "kubernetes.io/hostname", Operator: requirement.In, Values: []string{"placeholder"}},
			{Key: "topology.kubernetes.io/zone", Operator: requirement.NotIn, Values: []string{"z"}},
		},
	}
}

func TestNodeClaim(t *testing.T) {
	pool := testPool()
	node := testNode()
	claim := NodeClaim(&node, pool, intake.Pool(pool, &awsv1.EC2NodeClass{}, testTypes()))
	var reqs []string
	for _, r := range claim.Spec.Requirements {
		reqs = append(reqs, fmt.Sprint(r.Key, " ", r.Operator, " ", r.Values))
	}
	wantReqs := []string{
		"example.com/rack Gt [6]", "example.com/tier In [gold iron]", "karpenter.sh/capacity-type In [on-demand spot]", "karpenter.sh/nodepool In [default]",
		"node.kubernetes.io/instance-type In [small big]", "topology.kubernetes.io/zone In [a b]",
	}
	if diff := cmp.Diff(wantReqs, reqs); diff != "" {
		t.Errorf("requirements: types keep their order, zones are those that can be launched, no host name, no label that the API refuses\n%s", diff)
	}
	wantLabels := map[string]string{"team": "x", "karpenter.sh/nodepool": "default", "karpenter.k8s.aws/ec2nodeclass": "default", "example.com/rack": "7", "example.com/tier": "gold"}
	if diff := cmp.Diff(wantLabels, claim.Labels); diff != "" {
		t.Errorf("labels\n%s", diff)
	}
	wantAnnotations := map[string]string{"note": "y", "kerf.sh/planned-price": "0.0001", "karpenter.sh/nodepool-hash": pool.Hash(), "karpenter.sh/nodepool-hash-version": "v3", "karpenter.sh/nodeclaim-min-values-relaxed": "false"}
	if diff := cmp.Diff(wantAnnotations, claim.Annotations); diff != "" {
		t.Errorf("annotations\n%s", diff)
	}
	owner := metav1.OwnerReference{APIVersion: "karpenter.sh/v1", Kind: "NodePool", Name: "default", UID: "pool-uid", BlockOwnerDeletion: new(true)}
	if diff := cmp.Diff([]metav1.OwnerReference{owner}, claim.OwnerReferences); diff != "" {
		t.Errorf("owner\n%s", diff)
	}
	if claim.GenerateName != "default-" || len(claim.Finalizers) != 1 || claim.Finalizers[0] != "karpenter.sh/termination" {
		t.Errorf("generateName %q, finalizers %v", claim.GenerateName, claim.Finalizers)
	}
	if claim.Spec.ExpireAfter.String() != "60m" || claim.Spec.TerminationGracePeriod.Duration != time.Hour || len(claim.Spec.Taints) != 1 || len(claim.Spec.StartupTaints) != 1 {
		t.Errorf("spec %+v", claim.Spec)
	}
	if q := claim.Spec.Resources.Requests; q.Cpu().String() != "1500m" || q.Memory().String() != "1Gi" || q.Pods().Value() != 2 {
		t.Errorf("requests %v", q)
	}
}

// TestANodeThatIsDearForAShortageSaysWhatIsUsual; a difference of some percent comes of how pods share nodes.
func TestANodeThatIsDearForAShortageSaysWhatIsUsual(t *testing.T) {
	pool := testPool()
	for usual, want := range map[catalog.MicroUSD]string{0: "", 50: "0.00005", 90: "0.00009", 91: "", 100: "", 200: ""} {
		node := testNode()
		node.Usual = usual
		if got := NodeClaim(&node, pool, intake.Pool(pool, &awsv1.EC2NodeClass{}, testTypes())).Annotations[UsualPriceAnnotation]; got != want {
			t.Errorf("of a node for $0.0001/h, usually %d: %q, want %q", usual, got, want)
		}
	}
}

func TestConcreteLabels(t *testing.T) {
	in := func(v ...string) requirement.Term { return requirement.Term{Operator: requirement.In, Values: v} }
	op := func(o requirement.Operator, v ...string) requirement.Term {
		return requirement.Term{Operator: o, Values: v}
	}
	for name, tt := range map[string]struct {
		terms []requirement.Term
		want  string
	}{
		"the first of several values":            {[]requirement.Term{in("b", "a")}, "a"},
		"a value that is not excluded":           {[]requirement.Term{in("b", "a"), op(requirement.NotIn, "a")}, "b"},
		"any number for Exists":                  {[]requirement.Term{op(requirement.Exists)}, "0"},
		"the least number within bounds":         {[]requirement.Term{op(requirement.Gt, "4"), op(requirement.Lt, "9")}, "5"},
		"a number that is not excluded":          {[]requirement.Term{op(requirement.Gte, "4"), op(requirement.NotIn, "4", "5")}, "6"},
		"nothing when there must be no label":    {[]requirement.Term{op(requirement.DoesNotExist)}, ""},
		"nothing when the bounds leave nothing":  {[]requirement.Term{op(requirement.Gt, "4"), op(requirement.Lt, "5")}, ""},
		"nothing when every value is ruled out":  {[]requirement.Term{in("a"), op(requirement.NotIn, "a")}, ""},
		"a number of its own for an open NotIn":  {[]requirement.Term{op(requirement.NotIn, "0", "1")}, "2"},
		"a value, whatever the bound's operator": {[]requirement.Term{op(requirement.Lte, "3")}, "0"},
	} {
		t.Run(name, func(t *testing.T) {
			if got, _ := concrete(tt.terms); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

func TestLongPoolNamesLeaveRoomForTheSuffix(t *testing.T) {
	if got := generateName(strings.Repeat("x", 63)); len(got)+5 > 63 {
		t.Errorf("%q and five more characters are no label value", got)
	}
}

// bench is an applier over the real cache, a fake API server and a clock that stands still.
type bench struct {
	*Applier
	cache  *cache.Cache
	client client.Client
	events *record.FakeRecorder
	pods   []cluster.PodRef
	offers []*cluster.Pool
	clock  time.Time
}

func newBench(t *testing.T, funcs interceptor.Funcs, pods int, edit ...func(*karpv1.NodePool)) *bench {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := errors.Join(karpv1.AddToScheme(scheme), corev1.AddToScheme(scheme)); err != nil {
		t.Fatal(err)
	}
	b := &bench{clock: time.Unix(1000, 0), events: record.NewFakeRecorder(1000)}
	now := func() time.Time { return b.clock }
	b.cache = cache.New(cache.Options{Now: now})
	b.client = fake.NewClientBuilder().WithScheme(scheme).WithInterceptorFuncs(funcs).Build()
	pool := testPool(edit...)
	b.cache.SetPool(pool)
	b.offers = []*cluster.Pool{intake.Pool(pool, &awsv1.EC2NodeClass{}, testTypes())}
	for i := range pods {
		p := &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: fmt.Sprintf("p%03d", i), UID: types.UID(fmt.Sprint("u", i)), ResourceVersion: fmt.Sprint(i + 1)},
			Spec:       corev1.PodSpec{Containers: []corev1.Container{{Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{"cpu": resource.MustParse("1")}}}}},
			Status:     corev1.PodStatus{Conditions: []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable}}},
		}
		b.cache.SetPod(p)
		b.pods = append(b.pods, intake.PodRef(p))
	}
	b.Applier = New(Options{Client: b.client, State: b.cache, Recorder: b.events, Now: now})
	return b
}

func (b *bench) claims(t *testing.T) []karpv1.NodeClaim {
	t.Helper()
	var list karpv1.NodeClaimList
	if err := b.client.List(t.Context(), &list); err != nil {
		t.Fatal(err)
	}
	return list.Items
}

func TestApplyLaunchesAndPromises(t *testing.T) {
	b := newBench(t, interceptor.Funcs{}, 3)
	out := b.Apply(t.Context(), &plan.Plan{NewNodes: []plan.NewNode{testNode(b.pods[:2]...), testNode(b.pods[2])}}, b.offers)
	if len(out.Created) != 2 || len(out.Refused) != 0 {
		t.Fatalf("outcome %+v", out)
	}
	if n := len(b.claims(t)); n != 2 {
		t.Errorf("%d claims in the API", n)
	}
	s := b.cache.Snapshot()
	if len(s.Pending) != 0 || len(s.Nodes) != 2 || len(s.Nodes[0].Pods)+len(s.Nodes[1].Pods) != 3 {
		t.Errorf("the state does not know: %d pending, nodes %v", len(s.Pending), s.Nodes)
	}
	if got := s.Nodes[0].Allocatable["cpu"]; got != 3900 {
		t.Errorf("in flight allocatable cpu %d, want that of the least type", got)
	}
	// The same plan once more finds nobody waiting.
	again := b.Apply(t.Context(), &plan.Plan{NewNodes: []plan.NewNode{testNode(b.pods[:2]...)}}, b.offers)
	if len(again.Created) != 0 || len(again.Refused) != 1 || again.Refused[0].Code != PodsGone {
		t.Errorf("outcome %+v", again)
	}
}

func TestRefusals(t *testing.T) {
	for name, tt := range map[string]struct {
		edit   func(*karpv1.NodePool)
		before func(*bench)
		nodes  int
		want   RefusalCode
	}{
		"the pool is being deleted":    {edit: func(p *karpv1.NodePool) { p.DeletionTimestamp = new(metav1.Now()) }, nodes: 1, want: PoolGone},
		"the pool is gone":             {before: func(b *bench) { b.cache.RemovePool(testPool()) }, nodes: 1, want: PoolGone},
		"the limit on nodes":           {edit: func(p *karpv1.NodePool) { p.Spec.Limits = karpv1.Limits{"nodes": resource.MustParse("1")} }, nodes: 2, want: LimitReached},
		"the limit on processors":      {edit: func(p *karpv1.NodePool) { p.Spec.Limits = karpv1.Limits{"cpu": resource.MustParse("7")} }, nodes: 2, want: LimitReached},
		"a pool that is not ready now": {before: func(b *bench) { b.unready() }, nodes: 1, want: PoolNotReady},
	} {
		t.Run(name, func(t *testing.T) {
			var edits []func(*karpv1.NodePool)
			if tt.edit != nil {
				edits = append(edits, tt.edit)
			}
			b := newBench(t, interceptor.Funcs{}, tt.nodes, edits...)
			if tt.before != nil {
				tt.before(b)
			}
			p := &plan.Plan{}
			for _, ref := range b.pods {
				p.NewNodes = append(p.NewNodes, testNode(ref))
			}
			out := b.Apply(t.Context(), p, b.offers)
			if len(out.Refused) != 1 || out.Refused[0].Code != tt.want || len(out.Created) != tt.nodes-1 {
				t.Errorf("outcome %+v", out)
			}
		})
	}
}

// TestAPoolThatIsChangedWhileAPlanIsMade: what was planned for the old template is neither launched with what is left of the new one, nor
// refused where the change is none for a node.
func TestAPoolThatIsChangedWhileAPlanIsMade(t *testing.T) {
	for name, tt := range map[string]struct {
		edit func(*karpv1.NodePool)
		same bool
	}{
		"a taint goes":        {edit: func(p *karpv1.NodePool) { p.Spec.Template.Spec.Taints = nil }},
		"a requirement comes": {edit: func(p *karpv1.NodePool) { p.Spec.Template.Spec.Requirements = terms("b") }},
		"a label comes":       {edit: func(p *karpv1.NodePool) { p.Spec.Template.Labels = map[string]string{"a": "b"} }},
		"another class":       {edit: func(p *karpv1.NodePool) { p.Spec.Template.Spec.NodeClassRef.Name = "other" }},
		"made anew":           {edit: func(p *karpv1.NodePool) { p.UID = "another" }},
		"its status":          {edit: func(p *karpv1.NodePool) { p.Status.Nodes = new(int64(7)) }, same: true},
		"a limit":             {edit: func(p *karpv1.NodePool) { p.Spec.Limits = karpv1.Limits{"cpu": resource.MustParse("100")} }, same: true},
		"its weight":          {edit: func(p *karpv1.NodePool) { p.Spec.Weight = new(int32(7)) }, same: true},
		"a budget": {edit: func(p *karpv1.NodePool) {
			p.Spec.Disruption.Budgets = []karpv1.Budget{{Nodes: "1"}}
		}, same: true},
	} {
		t.Run(name, func(t *testing.T) {
			carriedOut := map[string]func(*bench) (claims int, code RefusalCode){
				"for pods": func(b *bench) (int, RefusalCode) {
					return codeOf(b.Apply(t.Context(), &plan.Plan{NewNodes: []plan.NewNode{testNode(b.pods[0])}}, b.offers))
				},
				"of a static pool": func(b *bench) (int, RefusalCode) {
					return codeOf(b.Stock(t.Context(), []plan.NewNode{testNode()}, b.offers))
				},
				"in place of others": func(b *bench) (int, RefusalCode) {
					out, err := b.Replace(t.Context(), Order{Command: "c", NewNodes: []plan.NewNode{testNode()}, Pools: b.offers})
					refused, _ := errors.AsType[*RefusedError](err)
					if refused == nil {
						return len(out), ""
					}
					return len(out), refused.Code
				},
			}
			for how, launch := range carriedOut {
				b := newBench(t, interceptor.Funcs{}, 1)
				b.cache.SetPool(testPool(tt.edit, func(p *karpv1.NodePool) { p.ResourceVersion = "9" }))
				claims, code := launch(b)
				if tt.same && (claims != 1 || code != "") || !tt.same && (claims != 0 || code != PoolChanged) {
					t.Errorf("%s: %d claims, refused for %q", how, claims, code)
				}
				b.offers[0].Version = "" // as in a problem that was written by hand
				if claims, code := launch(b); !tt.same && (claims != 1 || code != "") {
					t.Errorf("%s, of a pool of which it is not known: %d claims, refused for %q", how, claims, code)
				}
			}
		})
	}
}

func terms(zone string) []karpv1.NodeSelectorRequirementWithMinValues {
	return []karpv1.NodeSelectorRequirementWithMinValues{{Key: corev1.LabelTopologyZone, Operator: corev1.NodeSelectorOpIn, Values: []string{zone}}}
}

// codeOf is how many claims were created, and why the first that was not.
func codeOf(out Outcome) (claims int, code RefusalCode) {
	if len(out.Refused) > 0 {
		code = out.Refused[0].Code
	}
	return len(out.Created), code
}

// node adds a node that has so many processors, and returns its name.
func (b *bench) node(t *testing.T, cpu string, edit ...func(*corev1.Node)) string {
	t.Helper()
	n := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: "n", UID: "n", ResourceVersion: "1", Labels: map[string]string{karpv1.NodeInitializedLabelKey: "true"}},
		Status: corev1.NodeStatus{
			Allocatable: corev1.ResourceList{"cpu": resource.MustParse(cpu), "pods": resource.MustParse("10")},
			Conditions:  []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}},
		},
	}
	for _, e := range edit {
		e(n)
	}
	b.cache.SetNode(n)
	return n.Name
}

// TestRoomIsGivenAwayOnce though two decisions were made on one snapshot, or one decision counts on room that has gone meanwhile.
func TestRoomIsGivenAwayOnce(t *testing.T) {
	place := func(pods ...cluster.PodRef) []plan.Placement { return []plan.Placement{{Node: "n", Pods: pods}} }
	t.Run("an order after a plan", func(t *testing.T) {
		b := newBench(t, interceptor.Funcs{}, 3)
		b.node(t, "2")
		if out := b.Apply(t.Context(), &plan.Plan{Placements: place(b.pods[:2]...)}, b.offers); len(out.Refused) != 0 {
			t.Fatalf("refused: %+v", out.Refused)
		}
		_, err := b.Replace(t.Context(), Order{Command: "c", Placements: place(b.pods[2]), Pools: b.offers})
		if refused, ok := errors.AsType[*RefusedError](err); !ok || refused.Code != RoomTaken {
			t.Errorf("an order for room that is given away: %v", err)
		}
	})
	t.Run("a plan after an order", func(t *testing.T) {
		b := newBench(t, interceptor.Funcs{}, 3)
		b.node(t, "2")
		if _, err := b.Replace(t.Context(), Order{Command: "c", Placements: place(b.pods[:2]...), Pools: b.offers}); err != nil {
			t.Fatal(err)
		}
		out := b.Apply(t.Context(), &plan.Plan{Placements: place(b.pods[2])}, b.offers)
		if len(out.Refused) != 1 || out.Refused[0].Code != RoomTaken || len(b.cache.Snapshot().Pending) != 1 {
			t.Errorf("a plan for room that is given away: %+v", out)
		}
	})
	t.Run("twice in one plan", func(t *testing.T) {
		b := newBench(t, interceptor.Funcs{}, 3)
		b.node(t, "2")
		out := b.Apply(t.Context(), &plan.Plan{Placements: slices.Concat(place(b.pods[:2]...), place(b.pods[2]))}, b.offers)
		if len(out.Refused) != 1 || out.Refused[0].Code != RoomTaken {
			t.Errorf("outcome %+v", out)
		}
	})
	t.Run("the first that is refused is named, and how many more are", func(t *testing.T) {
		for pods, want := range map[int]string{
			2: "",
			3: "other pods have got its room: pod ns/p002 asks for 1 of cpu, and 0 of 2 are free",
			4: "other pods have got its room: pod ns/p002 asks for 1 of cpu, and 0 of 2 are free; and 1 pod more",
			5: "other pods have got its room: pod ns/p002 asks for 1 of cpu, and 0 of 2 are free; and 2 pods more",
		} {
			b := newBench(t, interceptor.Funcs{}, pods)
			b.node(t, "2")
			got := ""
			for _, r := range b.Apply(t.Context(), &plan.Plan{Placements: place(b.pods...)}, b.offers).Refused {
				got += r.Detail
			}
			if got != want {
				t.Errorf("%d pods: %q, want %q", pods, got, want)
			}
		}
	})
	t.Run("a node that a command has marked", func(t *testing.T) {
		b := newBench(t, interceptor.Funcs{}, 1)
		b.node(t, "2", func(n *corev1.Node) { n.Annotations = map[string]string{intake.DisruptingAnnotation: "Empty"} })
		out := b.Apply(t.Context(), &plan.Plan{Placements: place(b.pods[0])}, b.offers)
		if len(out.Refused) != 1 || out.Refused[0].Code != NodeGone || len(b.cache.Snapshot().Pending) != 1 {
			t.Errorf("outcome %+v", out)
		}
	})
}

// TestALimitThatIsLoweredWhileAPlanIsMadeHolds for the instances and for the types that EC2 may choose among.
func TestALimitThatIsLoweredWhileAPlanIsMadeHolds(t *testing.T) {
	limit := func(cpu string) func(*karpv1.NodePool) {
		return func(p *karpv1.NodePool) {
			p.ResourceVersion = "9"
			if cpu != "" {
				p.Spec.Limits = karpv1.Limits{"cpu": resource.MustParse(cpu)}
			}
		}
	}
	for name, tt := range map[string]struct {
		planned, now string
		claims       int
		types        string // of the first
	}{
		"no limit":                  {planned: "", now: "", claims: 2, types: "[small big]"},
		"a new limit":               {planned: "", now: "4", claims: 1, types: "[small]"},
		"a lower limit":             {planned: "16", now: "8", claims: 2, types: "[small]"},
		"a higher limit":            {planned: "8", now: "16", claims: 2, types: "[small]"},
		"a limit that is gone":      {planned: "8", now: "", claims: 2, types: "[small]"},
		"a limit that stays":        {planned: "4", now: "4", claims: 1, types: "[small]"},
		"a limit that forbids both": {planned: "16", now: "3", claims: 0},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, interceptor.Funcs{}, 2, limit(tt.planned))
			newest := testPool(limit(tt.now))
			newest.ResourceVersion = "10"
			b.cache.SetPool(newest)
			before := b.offers[0].Limits.Clone()
			out := b.Apply(t.Context(), &plan.Plan{NewNodes: []plan.NewNode{testNode(b.pods[0]), testNode(b.pods[1])}}, b.offers)
			if len(out.Created) != tt.claims || len(out.Refused) != 2-tt.claims {
				t.Fatalf("outcome %+v, want %d claims", out, tt.claims)
			}
			for _, r := range out.Refused {
				if r.Code != LimitReached {
					t.Errorf("refused for %s", r.Code)
				}
			}
			for _, claim := range b.claims(t)[:min(1, tt.claims)] {
				for _, r := range claim.Spec.Requirements {
					if r.Key == corev1.LabelInstanceTypeStable && fmt.Sprint(r.Values) != tt.types {
						t.Errorf("types %v, want %s", r.Values, tt.types)
					}
				}
			}
			if diff := cmp.Diff(before, b.offers[0].Limits); diff != "" {
				t.Errorf("the plan's pool was changed:\n%s", diff)
			}
		})
	}
}

func (b *bench) unready() {
	p := testPool()
	p.ResourceVersion = "9"
	p.StatusConditions().SetFalse(karpv1.ConditionTypeNodeClassReady, "X", "")
	b.cache.SetPool(p)
}

func TestALostReplyLaunchesOnce(t *testing.T) {
	calls := 0
	b := newBench(t, interceptor.Funcs{Create: func(ctx context.Context, c client.WithWatch, obj client.Object, opts ...client.CreateOption) error {
		calls++
		if err := c.Create(ctx, obj, opts...); err != nil {
			return err
		}
		if calls == 1 {
			return errors.New("connection reset")
		}
		return nil
	}}, 1)
	out := b.Apply(t.Context(), &plan.Plan{NewNodes: []plan.NewNode{testNode(b.pods...)}}, b.offers)
	if len(out.Created) != 1 || len(b.claims(t)) != 1 {
		t.Errorf("outcome %+v, %d claims after %d calls", out, len(b.claims(t)), calls)
	}
	if s := b.cache.Snapshot(); len(s.Pending) != 0 || len(s.Nodes) != 1 {
		t.Errorf("%d pending, %d nodes", len(s.Pending), len(s.Nodes))
	}
}

func TestAWriteThatIsRefusedLeavesTheOthers(t *testing.T) {
	calls := 0
	b := newBench(t, interceptor.Funcs{Create: func(ctx context.Context, c client.WithWatch, obj client.Object, opts ...client.CreateOption) error {
		if calls++; calls == 1 {
			return apierrors.NewForbidden(schema.GroupResource{Group: "karpenter.sh", Resource: "nodeclaims"}, "x", errors.New("no right"))
		}
		return c.Create(ctx, obj, opts...)
	}}, 2)
	b.o.Parallel = 1
	out := b.Apply(t.Context(), &plan.Plan{NewNodes: []plan.NewNode{testNode(b.pods[0]), testNode(b.pods[1])}}, b.offers)
	if len(out.Created) != 1 || len(out.Refused) != 1 || out.Refused[0].Code != WriteFailed || !strings.Contains(out.Refused[0].Detail, "no right") {
		t.Errorf("outcome %+v", out)
	}
	if n := len(b.cache.Snapshot().Pending); n != 1 {
		t.Errorf("%d pods pending, want the one without a claim", n)
	}
}

// TestHowLongRoomIsKeptOnANodeThatIsNotInitialized: until it counts as stuck; pods that wait get another node then.
func TestHowLongRoomIsKeptOnANodeThatIsNotInitialized(t *testing.T) {
	for name, tt := range map[string]struct {
		age, kept time.Duration
		no        bool // its age is not known
	}{
		"a young one":           {age: time.Minute, kept: 20 * time.Minute},
		"one that is old":       {age: StuckAfter - 5*time.Minute, kept: 5 * time.Minute},
		"one about to be stuck": {age: StuckAfter - time.Second, kept: 20 * time.Second},
		"one that is stuck, but whose pool has others": {age: StuckAfter + time.Minute, kept: 20 * time.Second},
		"one of unknown age":                           {no: true, kept: 20 * time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, interceptor.Funcs{}, 1)
			claim := &karpv1.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: "c", UID: "c", ResourceVersion: "1"}}
			if !tt.no {
				claim.CreationTimestamp = metav1.NewTime(b.clock.Add(-tt.age))
			}
			claim.Spec.NodeClassRef = testPool().Spec.Template.Spec.NodeClassRef
			claim.Status.Allocatable = corev1.ResourceList{"cpu": resource.MustParse("4"), "pods": resource.MustParse("10")}
			claim.Status.ProviderID = "aws:///a/i-1"
			claim.StatusConditions().SetTrue(karpv1.ConditionTypeLaunched)
			b.cache.SetClaim(claim)
			node := b.cache.Snapshot().Nodes[0].Name
			out := b.Apply(t.Context(), &plan.Plan{Placements: []plan.Placement{{Node: node, Pods: b.pods}}}, b.offers)
			if len(out.Refused) > 0 {
				t.Fatalf("outcome %+v", out)
			}
			b.clock = b.clock.Add(tt.kept - time.Millisecond)
			if n := len(b.cache.Snapshot().Pending); n != 0 {
				t.Errorf("%d pods pending before %s have passed, want none", n, tt.kept)
			}
			b.clock = b.clock.Add(time.Millisecond)
			if n := len(b.cache.Snapshot().Pending); n != 1 {
				t.Errorf("%d pods pending after %s, want 1", n, tt.kept)
			}
		})
	}
}

func TestEventsStayWithinTheirBudget(t *testing.T) {
	b := newBench(t, interceptor.Funcs{}, 500)
	b.Apply(t.Context(), &plan.Plan{NewNodes: []plan.NewNode{testNode(b.pods...)}}, b.offers)
	if n := len(b.events.Events); n != 10 {
		t.Errorf("%d events for 500 pods, want a burst of 10", n)
	}
	if e := <-b.events.Events; !strings.HasPrefix(e, "Normal Nominated Pod should schedule on: NodeClaim default-") {
		t.Errorf("event %q", e)
	}
}

func TestUnplacedPodsAreToldOnce(t *testing.T) {
	b := newBench(t, interceptor.Funcs{}, 20)
	p := &plan.Plan{Unplaced: []plan.Unplaced{{ClassID: "c", Pods: b.pods, Reasons: []plan.Reason{{Code: plan.PoolNotReady, Pool: "default", Detail: "why"}}}}}
	b.Apply(t.Context(), p, b.offers)
	if n := len(b.events.Events); n != perClass {
		t.Fatalf("%d events, want %d of a class", n, perClass)
	}
	if e := <-b.events.Events; !strings.HasPrefix(e, "Warning FailedScheduling pool default: is not ready: why") {
		t.Errorf("event %q", e)
	}
	b.clock = b.clock.Add(time.Minute)
	b.Apply(t.Context(), p, b.offers)
	if n := len(b.events.Events); n != perClass-1 {
		t.Errorf("the same was said again within five minutes: %d events", n)
	}
	b.clock = b.clock.Add(failedEvery)
	b.Apply(t.Context(), p, b.offers)
	if n := len(b.events.Events); n != 2*perClass-1 {
		t.Errorf("nothing was said again after five minutes: %d events", n)
	}
}
