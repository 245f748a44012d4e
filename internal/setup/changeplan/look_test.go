package changeplan

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	awsv1 "github.com/kerf-sh/kerf/api/aws/v1"
	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/internal/controller/apply"
	"github.com/kerf-sh/kerf/internal/engine/catalog"
	"github.com/kerf-sh/kerf/internal/engine/cluster"
	"github.com/kerf-sh/kerf/internal/engine/pack"
	"github.com/kerf-sh/kerf/internal/engine/requirement"
	"github.com/kerf-sh/kerf/internal/engine/res"
	"github.com/kerf-sh/kerf/internal/state/cloud"
	"github.com/kerf-sh/kerf/internal/state/intake"
)

var monday = time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)

// shop sells three sizes in a zone, and resolves a class to the image that its first term names.
type shop struct{ fails error }

func (s *shop) Resolve(_ context.Context, class *awsv1.EC2NodeClass) (*cloud.Resolution, error) {
	r := &cloud.Resolution{
		Subnets: []awsv1.Subnet{{ID: "subnet-1", Zone: "a"}}, SecurityGroups: []awsv1.SecurityGroup{{ID: "sg-1"}},
		AMIs: []awsv1.AMI{{ID: class.Spec.AMISelectorTerms[0].ID, Name: "image"}}, InstanceProfile: "p",
	}
	for _, condition := range []string{awsv1.ConditionTypeSubnetsReady, awsv1.ConditionTypeSecurityGroupsReady, awsv1.ConditionTypeAMIsReady, awsv1.ConditionTypeInstanceProfileReady, awsv1.ConditionTypeValidationSucceeded} {
		r.Findings = append(r.Findings, cloud.Finding{Condition: condition, OK: true})
	}
	if strings.HasSuffix(class.Spec.AMISelectorTerms[0].ID, "nowhere") {
		r.AMIs = nil
		r.Findings[2] = cloud.Finding{Condition: awsv1.ConditionTypeAMIsReady, Reason: "AMINotFound", Message: "there is no such image"}
	}
	return r, nil
}

func (s *shop) Types(context.Context, *awsv1.EC2NodeClass) ([]*catalog.Type, error) {
	var out []*catalog.Type
	for i := 1; i <= 4; i *= 2 {
		name := fmt.Sprint("t", i)
		out = append(out, &catalog.Type{
			Name: name,
			Requirements: []requirement.Term{
				{Key: requirement.InstanceType, Operator: requirement.In, Values: []string{name}}, {Key: requirement.Arch, Operator: requirement.In, Values: []string{"amd64"}},
				{Key: requirement.Zone, Operator: requirement.In, Values: []string{"a"}}, {Key: requirement.CapacityType, Operator: requirement.In, Values: []string{"on-demand"}},
			},
			Capacity:  res.List{"cpu": int64(i) * 1000, "memory": int64(i) << 32, "pods": 110},
			Offerings: []catalog.Offering{{Zone: "a", CapacityType: "on-demand", Price: catalog.MicroUSD(i) * 1000, Available: true}},
		})
	}
	return out, nil
}

func (s *shop) List(context.Context, time.Duration) ([]*cloud.Instance, error) { return nil, s.fails }

func (s *shop) Subnets(*awsv1.EC2NodeClass) []cluster.Subnet { return nil }

// place is a cluster of a pool "web" with three nodes of type t4, each with a pod of three processors.
type place struct {
	objects []client.Object
	pool    *karpv1.NodePool
	class   *awsv1.EC2NodeClass
	claims  []*karpv1.NodeClaim
	pods    []*corev1.Pod
}

func newPlace() *place {
	p := &place{}
	p.class = &awsv1.EC2NodeClass{ObjectMeta: metav1.ObjectMeta{Name: "web", UID: "class", Generation: 1}}
	p.class.Spec.AMISelectorTerms = []awsv1.AMISelectorTerm{{ID: "ami-1"}}
	p.class.Spec.AMIFamily = new(awsv1.AMIFamilyAL2023)
	p.class.Spec.Role = "nodes"
	p.class.Spec.SubnetSelectorTerms = []awsv1.SubnetSelectorTerm{{ID: "subnet-1"}}
	p.class.Spec.SecurityGroupSelectorTerms = []awsv1.SecurityGroupSelectorTerm{{ID: "sg-1"}}
	p.class.Annotations = map[string]string{awsv1.AnnotationEC2NodeClassHash: p.class.Hash("its authority"), awsv1.AnnotationEC2NodeClassHashVersion: awsv1.EC2NodeClassHashVersion}
	p.class.Status.AMIs = []awsv1.AMI{{ID: "ami-1", Name: "image"}}
	p.class.Status.Subnets, p.class.Status.SecurityGroups = []awsv1.Subnet{{ID: "subnet-1", Zone: "a"}}, []awsv1.SecurityGroup{{ID: "sg-1"}}
	p.pool = &karpv1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: "web", UID: "pool", Generation: 1}}
	p.pool.Spec.Template.Spec.NodeClassRef = &karpv1.NodeClassReference{Group: awsv1.Group, Kind: KindClass, Name: "web"}
	p.pool.Spec.Template.Spec.Requirements = []karpv1.NodeSelectorRequirementWithMinValues{{Key: corev1.LabelArchStable, Operator: corev1.NodeSelectorOpIn, Values: []string{"amd64"}}}
	p.pool.Spec.Template.Spec.ExpireAfter = karpv1.MustParseNillableDuration("720h")
	p.pool.Spec.Disruption.Budgets = []karpv1.Budget{{Nodes: "1"}}
	p.pool.Annotations = map[string]string{karpv1.NodePoolHashAnnotationKey: p.pool.Hash(), karpv1.NodePoolHashVersionAnnotationKey: karpv1.NodePoolHashVersion}
	for i := range 3 {
		p.add(i)
	}
	p.objects = append(p.objects, p.class, p.pool)
	return p
}

func (p *place) add(i int) {
	name := fmt.Sprint("n", i)
	labels := map[string]string{
		karpv1.NodePoolLabelKey: "web", awsv1.LabelNodeClass: "web", corev1.LabelInstanceTypeStable: "t4", corev1.LabelTopologyZone: "a",
		karpv1.CapacityTypeLabelKey: "on-demand", corev1.LabelArchStable: "amd64", corev1.LabelHostname: name, awsv1.LabelInstanceFamily: "t",
	}
	claim := &karpv1.NodeClaim{ObjectMeta: metav1.ObjectMeta{
		Name: "web-" + name, UID: types.UID("claim-" + name), Labels: labels, CreationTimestamp: metav1.NewTime(monday.Add(-24 * time.Hour)),
		Annotations: map[string]string{
			karpv1.NodePoolHashAnnotationKey: p.pool.Hash(), karpv1.NodePoolHashVersionAnnotationKey: karpv1.NodePoolHashVersion,
			awsv1.AnnotationEC2NodeClassHash: p.class.Annotations[awsv1.AnnotationEC2NodeClassHash], awsv1.AnnotationEC2NodeClassHashVersion: awsv1.EC2NodeClassHashVersion,
		},
	}}
	claim.Spec.NodeClassRef = p.pool.Spec.Template.Spec.NodeClassRef
	claim.Status.ProviderID, claim.Status.NodeName, claim.Status.ImageID = "aws:///a/"+name, name, "ami-1"
	for _, condition := range []string{karpv1.ConditionTypeLaunched, karpv1.ConditionTypeRegistered, karpv1.ConditionTypeInitialized} {
		claim.StatusConditions().WithClock(func() time.Time { return monday.Add(-24*time.Hour + 50*time.Second) }).SetTrue(condition)
	}
	room := corev1.ResourceList{"cpu": resource.MustParse("4"), "memory": resource.MustParse("16Gi"), "pods": resource.MustParse("110")}
	labels = client.Object(claim).DeepCopyObject().(*karpv1.NodeClaim).Labels
	labels[karpv1.NodeRegisteredLabelKey], labels[karpv1.NodeInitializedLabelKey] = "true", "true"
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID("node-" + name), Labels: labels, CreationTimestamp: claim.CreationTimestamp}}
	node.Spec.ProviderID = claim.Status.ProviderID
	node.Status.Capacity, node.Status.Allocatable = room, room
	node.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "p" + name, UID: types.UID("pod-" + name), Labels: map[string]string{"app": "web"}}}
	pod.Spec.NodeName, pod.Spec.TerminationGracePeriodSeconds = name, new(int64(10))
	pod.Spec.Containers = []corev1.Container{{Name: "c", Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{"cpu": resource.MustParse("3")}}}}
	pod.Status.Phase, pod.Status.Conditions = corev1.PodRunning, []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
	p.claims, p.pods = append(p.claims, claim), append(p.pods, pod)
	p.objects = append(p.objects, claim, node, pod)
}

// look plans for the documents; kinds that are refused can't be listed.
func (p *place) look(t *testing.T, o Options, refused ...string) (*Report, error) {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), karpv1.AddToScheme(scheme), awsv1.AddToScheme(scheme)); err != nil {
		t.Fatal(err)
	}
	api := fake.NewClientBuilder().WithScheme(scheme).WithObjects(p.objects...).WithStatusSubresource(&karpv1.NodeClaim{}).WithInterceptorFuncs(interceptor.Funcs{
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
			kind := strings.TrimSuffix(fmt.Sprintf("%T", list), "List")
			if slices.ContainsFunc(refused, func(r string) bool { return strings.HasSuffix(kind, "."+r) }) {
				return apierrors.NewForbidden(schema.GroupResource{Resource: strings.ToLower(kind)}, "", errors.New("no"))
			}
			return c.List(ctx, list, opts...)
		},
	}).Build()
	for _, c := range p.claims { // the fake client leaves the status out of what it is given
		stored := &karpv1.NodeClaim{}
		if err := api.Get(t.Context(), client.ObjectKeyFromObject(c), stored); err != nil {
			t.Fatal(err)
		}
		stored.Status = c.Status
		if err := api.Status().Update(t.Context(), stored); err != nil {
			t.Fatal(err)
		}
	}
	o.Kubernetes, o.Now, o.Cache.Now = api, monday, func() time.Time { return monday }
	if o.Cloud == nil {
		o.Cloud = &shop{}
	}
	o.Pack = pack.Options{WellKnown: apply.WellKnownLabels()}
	return Look(t.Context(), o)
}

func (p *place) mustLook(t *testing.T, o Options, refused ...string) *Report {
	t.Helper()
	r, err := p.look(t, o, refused...)
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	if err := r.Write(&text, true); err != nil {
		t.Fatal(err)
	}
	t.Log(text.String())
	return r
}

func TestAnImageRollsNodesInTurnAndNothingElseDoes(t *testing.T) {
	p := newPlace()
	if r := p.mustLook(t, Options{}); r.Rolling() != 0 || len(r.Nodes) != 3 || r.Bill != (Bill{Now: 12_000, After: 12_000}) || r.Trouble() {
		t.Fatalf("nothing is changed: %+v", r)
	}
	r := p.mustLook(t, Options{Images: []string{"ami-2"}})
	if r.Rolling() != 3 || r.Trouble() || r.Pools[0].Takes != 270 || r.Pools[0].Launch != 50 || r.Pools[0].Drain != 10 {
		t.Fatalf("%d roll, pools %+v", r.Rolling(), r.Pools)
	}
	for i, n := range r.Nodes {
		if len(n.Causes) != 1 || n.Causes[0].Reason != awsv1.ReasonAMIDrift || n.Turn == nil || n.Turn.Start != int64(i)*90 || n.Turn.End != int64(i+1)*90 || len(n.New) != 1 || n.New[0].InstanceType != "t4" {
			t.Errorf("node %+v", n)
		}
	}
	// 4,000 micro-USD per hour for three minutes; an instance that EC2 is ending costs nothing any more.
	if r.Bill.Now != r.Bill.After || r.Bill.Surge != 4_000 || r.Bill.Extra < 198 || r.Bill.Extra > 200 {
		t.Errorf("bill %+v", r.Bill)
	}
}

func TestWhatStandsInTheWay(t *testing.T) {
	window := karpv1.Budget{Nodes: "0", Schedule: new("0 9 * * *"), Duration: new(karpv1.NewDuration(8 * time.Hour))}
	for sentence, tt := range map[string]struct {
		change  func(*place)
		blocked string // of n1
		start   int64  // of the first that goes
		trouble bool
	}{
		"nothing": {func(*place) {}, "", 0, false},
		"a pod that asks not to be disrupted": {func(p *place) { p.pods[1].Annotations = map[string]string{karpv1.DoNotDisruptAnnotationKey: "true"} },
			"pod ns/pn1 asks not to be disrupted", 0, true},
		"the same on a node with a grace period": {func(p *place) {
			p.pods[1].Annotations = map[string]string{karpv1.DoNotDisruptAnnotationKey: "true"}
			p.claims[1].Spec.TerminationGracePeriod = new(karpv1.NewDuration(time.Minute))
		}, "", 0, false},
		"a node that asks not to be disrupted": {func(p *place) { p.claims[1].Annotations[karpv1.DoNotDisruptAnnotationKey] = "true" },
			"its annotation asks not to disrupt it", 0, true},
		"a PodDisruptionBudget that allows none": {func(p *place) {
			p.pods[1].Labels["app"] = "guarded"
			b := &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "b"}}
			b.Spec.Selector, b.Spec.MinAvailable = &metav1.LabelSelector{MatchLabels: map[string]string{"app": "guarded"}}, new(intstr.FromInt32(1))
			b.Status.CurrentHealthy, b.Status.DesiredHealthy, b.Status.ExpectedPods = 1, 1, 1
			p.objects = append(p.objects, b)
		}, "b: 1 of 1 pods are healthy and 1 are wanted", 0, true},
		"limits without room": {func(p *place) { p.pool.Spec.Limits = karpv1.Limits{"cpu": resource.MustParse("12")} },
			"its limit of cpu is used up", 0, true},
		"a window in which nothing may go": {func(p *place) { p.pool.Spec.Disruption.Budgets = append(p.pool.Spec.Disruption.Budgets, window) },
			"", 5 * 3600, false},
		"a budget for drift of nothing": {func(p *place) {
			p.pool.Spec.Disruption.Budgets = []karpv1.Budget{{Nodes: "0", Reasons: []karpv1.DisruptionReason{karpv1.DisruptionReasonDrifted}}}
		}, "give it no turn within 30 days", 0, true},
	} {
		t.Run(sentence, func(t *testing.T) {
			p := newPlace()
			tt.change(p)
			r := p.mustLook(t, Options{Images: []string{"ami-2"}})
			if r.Rolling() != 3 || r.Trouble() != tt.trouble {
				t.Errorf("%d roll, trouble %v", r.Rolling(), r.Trouble())
			}
			i := slices.IndexFunc(r.Nodes, func(n Node) bool { return n.Name == "n1" })
			if text := strings.Join(r.Nodes[i].Blocks, "; "); (text == "") != (tt.blocked == "") || !strings.Contains(text, tt.blocked) {
				t.Errorf("n1 is blocked by %q, want %q", text, tt.blocked)
			}
			if first := r.Nodes[0]; first.Turn != nil && first.Turn.Start != tt.start {
				t.Errorf("the first goes after %d s, want %d", first.Turn.Start, tt.start)
			}
		})
	}
}

func TestTheTimeThatARollTakes(t *testing.T) {
	node := func(p *place, i int) *corev1.Node { return p.objects[3*i+1].(*corev1.Node) }
	for sentence, tt := range map[string]struct {
		change       func(*place)
		starts, ends int64 // of the first turn
		takes        int64
	}{
		"an instance, a drain, and EC2": {func(*place) {}, 0, 90, 270},
		"a drain that its pods may hold for longer than any plan": {func(p *place) {
			for _, pod := range p.pods {
				pod.Spec.TerminationGracePeriodSeconds = new(int64(math.MaxInt64))
			}
		}, 0, 30*24*3600 + 80, 30*24*3600 + 80},
		"an instance that comes at once waits for the scheduler": {func(p *place) {
			for _, c := range p.claims {
				c.CreationTimestamp = metav1.NewTime(monday.Add(-24*time.Hour + 47*time.Second))
			}
		}, 0, 45, 135},
		"nothing is launched for a node without pods": {func(p *place) {
			p.objects = slices.DeleteFunc(p.objects, func(o client.Object) bool { return o == client.Object(p.pods[1]) })
		}, 0, 35, 215},
		"one that is being removed is waited for": {func(p *place) {
			p.claims[1].DeletionTimestamp, p.claims[1].Finalizers = new(metav1.NewTime(monday)), []string{karpv1.TerminationFinalizer}
		}, 40, 130, 220},
		"and one whose replacement is on its way": {func(p *place) {
			node(p, 1).Annotations = map[string]string{intake.DisruptingAnnotation: "Drifted"}
		}, 90, 180, 270},
		"and one that is not ready": {func(p *place) { node(p, 1).Status.Conditions[0].Status = corev1.ConditionFalse }, 50, 140, 320},
		"one that is not initialized yet takes no part": {func(p *place) {
			delete(node(p, 1).Labels, karpv1.NodeInitializedLabelKey)
			p.claims[1].StatusConditions().SetUnknown(karpv1.ConditionTypeInitialized)
		}, 0, 90, 180},
	} {
		t.Run(sentence, func(t *testing.T) {
			p := newPlace()
			tt.change(p)
			r := p.mustLook(t, Options{Images: []string{"ami-2"}})
			var first *Turn
			for i := range r.Nodes {
				if turn := r.Nodes[i].Turn; turn != nil && (first == nil || turn.Start < first.Start) {
					first = turn
				}
			}
			if first == nil || *first != (Turn{tt.starts, tt.ends}) || r.Pools[0].Takes != tt.takes {
				t.Errorf("first %+v, all %d s; want %d to %d, %d", first, r.Pools[0].Takes, tt.starts, tt.ends, tt.takes)
			}
		})
	}
}

func TestWhatAChangedPoolRolls(t *testing.T) {
	for sentence, tt := range map[string]struct {
		change func(*karpv1.NodePool)
		rolls  int
		reason string
	}{
		"a budget":                    {func(p *karpv1.NodePool) { p.Spec.Disruption.Budgets[0].Nodes = "50%" }, 0, ""},
		"the age of nodes":            {func(p *karpv1.NodePool) { p.Spec.Template.Spec.ExpireAfter = karpv1.NeverDuration() }, 3, karpv1.ReasonNodePoolDrifted},
		"requirements that still fit": {func(p *karpv1.NodePool) { p.Spec.Template.Spec.Requirements[0].Values = []string{"amd64", "arm64"} }, 0, ""},
		"requirements that do not":    {func(p *karpv1.NodePool) { p.Spec.Template.Spec.Requirements[0].Values = []string{"arm64"} }, 3, karpv1.ReasonRequirementsDrifted},
	} {
		t.Run(sentence, func(t *testing.T) {
			p := newPlace()
			changed := p.pool.DeepCopy()
			tt.change(changed)
			d := &Document{File: "f.yaml", Kind: KindPool, Name: "web", Tree: map[string]any{"spec": tree(changed)["spec"]}}
			documents, _, err := Parse(File{Name: "f.yaml", Data: []byte("apiVersion: karpenter.sh/v1\nkind: NodePool\nmetadata: {name: web}\n")})
			if err != nil {
				t.Fatal(err)
			}
			d.root = documents[0].root
			r := p.mustLook(t, Options{Documents: []*Document{d}})
			if r.Rolling() != tt.rolls || len(r.Changes) != 1 {
				t.Errorf("%d roll, changes %+v", r.Rolling(), r.Changes)
			}
			if tt.rolls > 0 && r.Nodes[0].Causes[0].Reason != tt.reason {
				t.Errorf("causes %+v", r.Nodes[0].Causes)
			}
		})
	}
}

func TestNodesOfAFixedNumberAreReplacedOneForOne(t *testing.T) {
	p := newPlace()
	p.pool.Spec.Replicas = new(int64(3))
	r := p.mustLook(t, Options{Images: []string{"ami-2"}})
	if r.Rolling() != 3 || r.Trouble() || r.Bill.Now != 12_000 || r.Bill.After != 12_000 || r.Bill.Surge != 4_000 || r.Bill.Unknown != 0 || r.Pools[0].Takes != 270 {
		t.Errorf("%d roll, bill %+v, pools %+v", r.Rolling(), r.Bill, r.Pools)
	}
}

// What goes anyway saves nothing by the change; what its pods will need is not known.
func TestANodeThatIsBeingDeletedIsOnNeitherBill(t *testing.T) {
	p := newPlace()
	p.claims[1].DeletionTimestamp, p.claims[1].Finalizers = new(metav1.NewTime(monday)), []string{karpv1.TerminationFinalizer}
	r := p.mustLook(t, Options{Images: []string{"ami-2"}})
	if r.Rolling() != 2 || r.Bill.Now != 8_000 || r.Bill.After != 8_000 || r.Bill.Going != 1 {
		t.Errorf("%d roll, bill %+v, nodes %+v", r.Rolling(), r.Bill, r.Nodes)
	}
	var text strings.Builder
	if err := r.Write(&text, false); err != nil || !strings.Contains(text.String(), "Bill: $0.0080/h -> $0.0080/h") || !strings.Contains(text.String(), "without 1 node going anyway") {
		t.Error(err, text.String())
	}
}

func TestAnInstanceWhoseNodeAloneIsDeletedGoesAnyway(t *testing.T) {
	p := newPlace()
	for _, o := range p.objects {
		if o.GetName() == "n1" {
			o.SetDeletionTimestamp(new(metav1.NewTime(monday)))
			o.SetFinalizers([]string{karpv1.TerminationFinalizer})
		}
	}
	r := p.mustLook(t, Options{Images: []string{"ami-2"}})
	if r.Rolling() != 2 || r.Bill.Going != 1 || r.Trouble() {
		t.Errorf("%d roll, bill %+v, nodes %+v", r.Rolling(), r.Bill, r.Nodes)
	}
}

func TestHashesOfAnotherControllerRollNothing(t *testing.T) {
	p := newPlace()
	for _, c := range p.claims {
		c.Annotations[karpv1.NodePoolHashAnnotationKey], c.Annotations[karpv1.NodePoolHashVersionAnnotationKey] = "1", "v0"
		c.Annotations[awsv1.AnnotationEC2NodeClassHash], c.Annotations[awsv1.AnnotationEC2NodeClassHashVersion] = "1", "v4"
	}
	if r := p.mustLook(t, Options{}); r.Rolling() != 0 {
		t.Errorf("%d roll", r.Rolling())
	}
}

func TestAClassThatCouldNotBeUsedIsSaid(t *testing.T) {
	r := newPlace().mustLook(t, Options{Images: []string{"ami-nowhere"}, Classes: []string{"web"}})
	if !r.Trouble() || len(r.Changes) != 1 || len(r.Changes[0].Problems) == 0 || !strings.Contains(r.Pools[0].NotReady, "there is no such image") {
		t.Errorf("changes %+v, pools %+v", r.Changes, r.Pools)
	}
	if _, err := newPlace().look(t, Options{Images: []string{"ami-2"}, Classes: []string{"nobody"}}); !errors.Is(err, ErrRefused) {
		t.Errorf("a class that there is not: %v", err)
	}
}

func TestWhatMayNotBeReadIsNamed(t *testing.T) {
	p := newPlace()
	r := p.mustLook(t, Options{Images: []string{"ami-2"}, Cloud: &shop{fails: errors.New("ec2:DescribeInstances is missing")}, Gaps: []string{"overlays are left out"}}, "PodDisruptionBudget", "DaemonSet")
	text := strings.Join(r.Gaps, "\n")
	for _, want := range []string{"may not list poddisruptionbudgets (Forbidden): what they block is not known", "may not list daemonsets", "ec2:DescribeInstances is missing", "overlays are left out"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in %s", want, text)
		}
	}
	if r.Rolling() != 3 {
		t.Errorf("%d roll", r.Rolling())
	}
	for _, kind := range []string{"Pod", "Node", "NodeClaim", "NodePool", "EC2NodeClass"} {
		if _, err := p.look(t, Options{}, kind); err == nil || !strings.Contains(err.Error(), "listing "+strings.ToLower(kind)) {
			t.Errorf("without %s: %v", kind, err)
		}
	}
}
