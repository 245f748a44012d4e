package intake

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	autoscalingv1beta1 "github.com/kerf-sh/kerf/api/autoscaling/v1beta1"
	awsv1 "github.com/kerf-sh/kerf/api/aws/v1"
	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/internal/engine/cluster"
	"github.com/kerf-sh/kerf/internal/engine/res"
)

func testClaim(edit ...func(*karpv1.NodeClaim)) *karpv1.NodeClaim {
	c := &karpv1.NodeClaim{
		ObjectMeta: metav1.ObjectMeta{Name: "pool-abcde", UID: "c1", Labels: map[string]string{karpv1.NodePoolLabelKey: "pool", awsv1.LabelNodeClass: "default", "team": "x"}},
		Spec: karpv1.NodeClaimSpec{
			NodeClassRef:  &karpv1.NodeClassReference{Group: awsv1.Group, Kind: "EC2NodeClass", Name: "default"},
			Taints:        []corev1.Taint{{Key: "dedicated", Value: "x", Effect: corev1.TaintEffectNoSchedule}},
			StartupTaints: []corev1.Taint{{Key: "cni", Effect: corev1.TaintEffectNoExecute}},
			Requirements:  []karpv1.NodeSelectorRequirementWithMinValues{{Key: corev1.LabelInstanceTypeStable, Operator: "In", Values: []string{"m5.large", "c5.large"}}},
			Resources:     karpv1.ResourceRequirements{Requests: amounts("cpu", "1500m", "pods", "3")},
		},
	}
	for _, e := range edit {
		e(c)
	}
	return c
}

func launched(c *karpv1.NodeClaim) {
	c.Status.ProviderID = "aws:///a/i-1"
	c.Status.Allocatable = amounts("cpu", "1930m", "pods", "29", "nvidia.com/gpu", "1")
	c.Status.Capacity = amounts("cpu", "2", "pods", "29", "nvidia.com/gpu", "1")
	c.Labels[corev1.LabelInstanceTypeStable] = "m5.large"
	c.Labels[corev1.LabelTopologyZone] = "a"
	c.Labels[karpv1.CapacityTypeLabelKey] = "spot"
}

func testNode(edit ...func(*corev1.Node)) *corev1.Node {
	n := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: "ip-1", Labels: map[string]string{corev1.LabelHostname: "ip-1.internal", awsv1.LabelNodeClass: "default", "from": "node"}},
		Spec: corev1.NodeSpec{ProviderID: "aws:///a/i-1", Taints: []corev1.Taint{
			{Key: karpv1.UnregisteredTaintKey, Effect: corev1.TaintEffectNoExecute}, {Key: "node.kubernetes.io/not-ready", Effect: corev1.TaintEffectNoSchedule}}},
		Status: corev1.NodeStatus{Allocatable: amounts("cpu", "1900m", "pods", "29", "nvidia.com/gpu", "0"), Capacity: amounts("cpu", "2", "pods", "29")},
	}
	for _, e := range edit {
		e(n)
	}
	return n
}

func registered(n *corev1.Node) {
	n.Labels[karpv1.NodeRegisteredLabelKey] = "true"
	n.Spec.Taints = []corev1.Taint{{Key: "cni", Effect: corev1.TaintEffectNoExecute}, {Key: "dedicated", Value: "x", Effect: corev1.TaintEffectNoSchedule}, {Key: "readiness.k8s.io/net", Effect: corev1.TaintEffectNoSchedule}}
}

func initialized(n *corev1.Node) { n.Labels[karpv1.NodeInitializedLabelKey] = "true" }

func taintKeys(n *cluster.Node) string {
	var keys []string
	for _, t := range n.Taints {
		keys = append(keys, t.Key)
	}
	return strings.Join(keys, " ")
}

func TestNode(t *testing.T) {
	type want struct {
		name, taints, label     string
		allocatable             res.List
		launched, reg, init     bool
		deleting, openQuestions bool
	}
	for name, tt := range map[string]struct {
		node     *corev1.Node
		claim    *karpv1.NodeClaim
		expected Expected
		want     want
	}{
		"a claim that nothing is known of carries what was asked of it": {claim: testClaim(),
			want: want{name: "pool-abcde", taints: "dedicated", allocatable: res.List{"cpu": 1500, "pods": 3}, openQuestions: true}},
		"a claim of known types carries the least of them, and never less than was asked": {claim: testClaim(),
			expected: Expected{Allocatable: res.List{"cpu": 1930, "pods": 2, "memory": 7}},
			want:     want{name: "pool-abcde", taints: "dedicated", allocatable: res.List{"cpu": 1930, "pods": 3, "memory": 7}, openQuestions: true}},
		"a launched claim has what the cloud said": {claim: testClaim(launched),
			want: want{name: "pool-abcde", taints: "dedicated", allocatable: res.List{"cpu": 1930, "pods": 29, "nvidia.com/gpu": 1}, launched: true}},
		"a joined node keeps the claim's labels and taints until it is registered, and gets what the kubelet does not report yet": {claim: testClaim(launched), node: testNode(),
			want: want{name: "ip-1", taints: "dedicated", allocatable: res.List{"cpu": 1900, "pods": 29, "nvidia.com/gpu": 1}, launched: true}},
		"a registered node has its own labels; startup and ephemeral taints do not count": {claim: testClaim(launched), node: testNode(registered),
			want: want{name: "ip-1", taints: "dedicated", label: "node", allocatable: res.List{"cpu": 1900, "pods": 29, "nvidia.com/gpu": 1}, launched: true, reg: true}},
		"an initialized node is as it says, all taints included": {claim: testClaim(launched), node: testNode(registered, initialized),
			want: want{name: "ip-1", taints: "cni dedicated readiness.k8s.io/net", label: "node", allocatable: res.List{"cpu": 1900, "pods": 29, "nvidia.com/gpu": 0}, launched: true, reg: true, init: true}},
		"a node of somebody else is as it says": {node: testNode(func(n *corev1.Node) { delete(n.Labels, awsv1.LabelNodeClass); n.Spec.Unschedulable = true }),
			want: want{name: "ip-1", taints: "karpenter.sh/unregistered node.kubernetes.io/not-ready node.kubernetes.io/unschedulable", label: "node",
				allocatable: res.List{"cpu": 1900, "pods": 29, "nvidia.com/gpu": 0}, launched: true, reg: true, init: true}},
		"a claim that is being deleted is going": {claim: testClaim(launched, func(c *karpv1.NodeClaim) { c.DeletionTimestamp = new(metav1.Now()) }), node: testNode(registered, initialized),
			want: want{name: "ip-1", taints: "cni dedicated readiness.k8s.io/net", label: "node", allocatable: res.List{"cpu": 1900, "pods": 29, "nvidia.com/gpu": 0}, launched: true, reg: true, init: true, deleting: true}},
	} {
		t.Run(name, func(t *testing.T) {
			n := Node(tt.node, tt.claim, tt.expected)
			got := want{name: n.Name, taints: taintKeys(n), label: n.Labels["from"], allocatable: n.Allocatable, launched: n.Launched, reg: n.Registered,
				init: n.Initialized, deleting: n.Deleting, openQuestions: len(n.Requirements) > 0}
			if diff := cmp.Diff(tt.want, got, cmp.AllowUnexported(want{})); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestProvisionable(t *testing.T) {
	pending := func(edit func(*corev1.Pod)) *corev1.Pod {
		p := basePod()
		p.Status.Phase = corev1.PodPending
		p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable}}
		edit(p)
		return p
	}
	opt := func(keys ...string) func(*corev1.Pod) {
		return func(p *corev1.Pod) {
			var terms []corev1.NodeSelectorTerm
			for _, k := range keys {
				terms = append(terms, corev1.NodeSelectorTerm{MatchExpressions: []corev1.NodeSelectorRequirement{{Key: k, Operator: corev1.NodeSelectorOpDoesNotExist}}})
			}
			p.Spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{NodeSelectorTerms: terms}}}
		}
	}
	for name, tt := range map[string]struct {
		edit func(*corev1.Pod)
		want bool
	}{
		"a pod that the scheduler could not place": {func(*corev1.Pod) {}, true},
		"one that the scheduler has not looked at": {func(p *corev1.Pod) { p.Status.Conditions = nil }, false},
		"one that is gated":                        {func(p *corev1.Pod) { p.Status.Conditions[0].Reason = corev1.PodReasonSchedulingGated }, false},
		"one that is bound":                        {func(p *corev1.Pod) { p.Spec.NodeName = "n" }, false},
		"one that waits for a preemption":          {func(p *corev1.Pod) { p.Status.NominatedNodeName = "n" }, false},
		"one that is being deleted":                {func(p *corev1.Pod) { p.DeletionTimestamp = new(metav1.Now()) }, false},
		"one of a DaemonSet": {func(p *corev1.Pod) {
			p.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "DaemonSet"}}
		}, false},
		"a static one":                            {func(p *corev1.Pod) { p.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "Node"}} }, false},
		"one for another scheduler":               {func(p *corev1.Pod) { p.Spec.SchedulerName = "mine" }, true},
		"one that wants no NodePool":              {opt(karpv1.NodePoolLabelKey), false},
		"one that wants no registered node":       {opt(karpv1.NodeRegisteredLabelKey), false},
		"one that wants no initialized node":      {opt(karpv1.NodeInitializedLabelKey, karpv1.NodePoolLabelKey), false},
		"one that may do without a NodePool":      {opt(karpv1.NodePoolLabelKey, "other"), true},
		"one that wants nothing of another label": {opt("other"), true},
		"one of a DaemonSet of some other API": {func(p *corev1.Pod) {
			p.OwnerReferences = []metav1.OwnerReference{{APIVersion: "kruise/v1", Kind: "DaemonSet"}}
		}, true},
		"one that failed": {func(p *corev1.Pod) { p.Status.Phase = corev1.PodFailed }, false},
		"one whose condition says it was scheduled":   {func(p *corev1.Pod) { p.Status.Conditions[0].Status = corev1.ConditionTrue }, false},
		"one that the scheduler failed on internally": {func(p *corev1.Pod) { p.Status.Conditions[0].Reason = "SchedulerError" }, false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := Provisionable(pending(tt.edit)); got != tt.want {
				t.Errorf("got %v, want %v", got, tt.want)
			}
		})
	}
}

func TestDaemon(t *testing.T) {
	ds := &appsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: "cni"}}
	ds.Spec.Template.Spec = corev1.PodSpec{
		NodeSelector: map[string]string{karpv1.NodeInitializedLabelKey: "true", "os": "linux"},
		Containers:   []corev1.Container{{Name: "a", Resources: corev1.ResourceRequirements{Limits: amounts("cpu", "100m", "memory", "1Mi"), Requests: amounts("memory", "2Mi")}}},
	}
	compiler := NewCompiler()
	d, ok := Daemon(ds, nil, compiler, NoLookup{})
	if !ok || d.Name != "kube-system/cni" {
		t.Fatalf("got %+v, %v", d, ok)
	}
	if diff := cmp.Diff(res.List{"cpu": 100, "memory": 2 << 20, "pods": 1}, d.Class.Requests); diff != "" {
		t.Errorf("limits without requests count as requests: %s", diff)
	}
	if len(d.Class.Selector) != 1 || d.Class.Selector[0].Key != "os" {
		t.Errorf("selector %v: labels that come with initialization must not count", d.Class.Selector)
	}
	if len(d.Class.Tolerations) != 6 {
		t.Errorf("tolerations %v", d.Class.Tolerations)
	}
	live := basePod()
	live.Spec.NodeName = "n1"
	live.Spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
		MatchFields: []corev1.NodeSelectorRequirement{{Key: "metadata.name", Operator: "In", Values: []string{"n1"}}}}}}}}
	d, ok = Daemon(ds, live, compiler, NoLookup{})
	if !ok || d.Class.Requests["cpu"] != 1000 || d.Class.Unplaceable != "" || len(d.Class.Affinity) != 0 {
		t.Errorf("a live pod shows the requests and not the node: %+v", d.Class)
	}
	ds.DeletionTimestamp = new(metav1.Now())
	if _, ok := Daemon(ds, nil, compiler, NoLookup{}); ok {
		t.Error("a DaemonSet that is being deleted puts nothing on new nodes")
	}
}

// The API server completes pods, and no templates.
func TestPodsOfTemplatesRequestWhatTheirLimitsSay(t *testing.T) {
	container := func(edit ...string) corev1.Container {
		return corev1.Container{Resources: corev1.ResourceRequirements{Requests: amounts(edit...)}}
	}
	for name, tt := range map[string]struct {
		whole      *corev1.ResourceRequirements
		containers []corev1.Container
		want       res.List
	}{
		"limits of the whole pod": {&corev1.ResourceRequirements{Limits: amounts("cpu", "2", "memory", "4Gi")}, []corev1.Container{{}}, res.List{"cpu": 2000, "memory": 4 << 30}},
		"beside a request of it": {&corev1.ResourceRequirements{Limits: amounts("cpu", "2", "memory", "4Gi"), Requests: amounts("cpu", "1")}, []corev1.Container{{}},
			res.List{"cpu": 1000, "memory": 4 << 30}},
		"beside requests of containers": {&corev1.ResourceRequirements{Limits: amounts("cpu", "2", "memory", "4Gi")}, []corev1.Container{container("memory", "1Gi"), container("memory", "1Gi")},
			res.List{"cpu": 2000, "memory": 2 << 30}},
		"beside limits of containers": {&corev1.ResourceRequirements{Limits: amounts("cpu", "2")}, []corev1.Container{{Resources: corev1.ResourceRequirements{Limits: amounts("cpu", "500m")}}}, res.List{"cpu": 500}},
		"huge pages":                  {&corev1.ResourceRequirements{Limits: amounts("hugepages-2Mi", "4Mi", "cpu", "1")}, []corev1.Container{container("hugepages-2Mi", "2Mi")}, res.List{"cpu": 1000, "hugepages-2Mi": 4 << 20}},
		"what only containers have":   {&corev1.ResourceRequirements{Limits: amounts("cpu", "1", "example.com/gpu", "7")}, []corev1.Container{container("example.com/gpu", "2")}, res.List{"cpu": 1000, "example.com/gpu": 2}},
		"requests alone":              {&corev1.ResourceRequirements{Requests: amounts("cpu", "1")}, []corev1.Container{container("cpu", "500m", "memory", "1Gi")}, res.List{"cpu": 1000, "memory": 1 << 30}},
		"nothing":                     {nil, []corev1.Container{container("cpu", "500m")}, res.List{"cpu": 500}},
	} {
		t.Run(name, func(t *testing.T) {
			tt.want[res.Pods] = 1
			ds := &appsv1.DaemonSet{}
			ds.Spec.Template.Spec = corev1.PodSpec{Containers: tt.containers, Resources: tt.whole}
			before := ds.DeepCopy()
			d, _ := Daemon(ds, nil, NewCompiler(), NoLookup{})
			if diff := cmp.Diff(tt.want, d.Class.Requests); diff != "" {
				t.Errorf("a DaemonSet's: %s", diff)
			}
			if diff := cmp.Diff(tt.want, PodRequests(VirtualPod(&autoscalingv1beta1.CapacityBuffer{}, &ds.Spec.Template, 0))); diff != "" {
				t.Errorf("a CapacityBuffer's: %s", diff)
			}
			if diff := cmp.Diff(before, ds); diff != "" {
				t.Errorf("the template is another now: %s", diff)
			}
		})
	}
}

// The kubelet is told of these by user data that nobody but its owner writes.
func TestAPoolHasTheLabelsAndTaintsOfItsClasssLaunchTemplate(t *testing.T) {
	np := &karpv1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: "pool"}}
	np.Spec.Template.Labels = map[string]string{"team": "pool's"}
	np.Spec.Template.Spec.Requirements = []karpv1.NodeSelectorRequirementWithMinValues{{Key: "tier", Operator: "In", Values: []string{"a", "b"}}}
	np.Spec.Template.Spec.Taints = []corev1.Taint{{Key: "own", Effect: corev1.TaintEffectNoSchedule}}
	class := &awsv1.EC2NodeClass{}
	class.Status.LaunchTemplate = &awsv1.LaunchTemplate{
		ID: "lt-1", Version: 1, Labels: map[string]string{"team": "told", "tier": "c", "rack": "7"},
		Taints: []corev1.Taint{{Key: "told", Value: "x", Effect: corev1.TaintEffectNoExecute}},
	}
	for name, tc := range map[string]struct {
		class  *awsv1.EC2NodeClass
		rack   string
		taints int
	}{
		"a class that names the template":         {&awsv1.EC2NodeClass{Spec: awsv1.EC2NodeClassSpec{LaunchTemplate: &awsv1.LaunchTemplateReference{ID: "lt-1"}}, Status: class.Status}, "7", 2},
		"a class that has named one before":       {class, "", 1},
		"a class whose template is not found yet": {&awsv1.EC2NodeClass{Spec: awsv1.EC2NodeClassSpec{LaunchTemplate: &awsv1.LaunchTemplateReference{ID: "lt-1"}}}, "", 1},
	} {
		t.Run(name, func(t *testing.T) {
			p := Pool(np, tc.class, nil)
			if p.Labels["team"] != "pool's" || p.Labels["rack"] != tc.rack || p.Labels["tier"] != "" || len(p.Taints) != tc.taints {
				t.Errorf("labels %v, taints %v", p.Labels, p.Taints)
			}
		})
	}
}

func TestPool(t *testing.T) {
	np := &karpv1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: "pool"}}
	np.Spec.Weight = new(int32(7))
	np.Spec.Limits = karpv1.Limits(amounts("cpu", "10", "nodes", "3"))
	np.Spec.Template.Labels = map[string]string{"team": "x"}
	np.Spec.Template.Spec.NodeClassRef = &karpv1.NodeClassReference{Group: awsv1.Group, Kind: "EC2NodeClass", Name: "default"}
	np.Spec.Template.Spec.Requirements = []karpv1.NodeSelectorRequirementWithMinValues{{Key: "beta.kubernetes.io/arch", Operator: "In", Values: []string{"b", "a"}, MinValues: new(2)}}
	p := Pool(np, nil, nil)
	var reqs []string
	for _, r := range p.Requirements {
		reqs = append(reqs, r.String())
	}
	want := []string{"karpenter.k8s.aws/ec2nodeclass In default", "karpenter.sh/nodepool In pool", "kubernetes.io/arch In [a b] (at least 2)", "team In x"}
	if diff := cmp.Diff(want, reqs); diff != "" {
		t.Error(diff)
	}
	if p.Weight != 7 || p.Limits["cpu"] != 10_000 || p.Limits["nodes"] != 3 || !strings.Contains(p.NotReady, `EC2NodeClass "default"`) {
		t.Errorf("got %+v", p)
	}
	p = Pool(np, &awsv1.EC2NodeClass{}, nil)
	if !strings.Contains(p.NotReady, "ValidationSucceeded is Unknown") {
		t.Errorf("a pool that no controller has looked at is not ready: %q", p.NotReady)
	}
	np.StatusConditions().SetTrue(karpv1.ConditionTypeValidationSucceeded)
	np.StatusConditions().SetTrue(karpv1.ConditionTypeNodeClassReady)
	if p = Pool(np, &awsv1.EC2NodeClass{}, nil); p.NotReady != "" {
		t.Errorf("not ready: %q", p.NotReady)
	}
}
