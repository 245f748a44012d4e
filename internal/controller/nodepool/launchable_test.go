package nodepool

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clocktesting "k8s.io/utils/clock/testing"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	awsv1 "github.com/kerf-sh/kerf/api/aws/v1"
	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/internal/controller/obs"
	"github.com/kerf-sh/kerf/internal/engine/catalog"
	"github.com/kerf-sh/kerf/internal/engine/requirement"
	"github.com/kerf-sh/kerf/internal/state/cache"
)

// shop is what a class can launch, or the error that reading it gives.
type shop struct {
	types []*catalog.Type
	err   error
	asked int
}

func (s *shop) Types(context.Context, *awsv1.EC2NodeClass) ([]*catalog.Type, error) {
	s.asked++
	return s.types, s.err
}

// region sells four types in two zones with subnets and one without; nothing of it can be had at the moment.
func region() []*catalog.Type {
	sold := func(name, arch string, memory int, zones ...string) *catalog.Type {
		t := &catalog.Type{Name: name, Requirements: []requirement.Term{
			{Key: requirement.InstanceType, Operator: requirement.In, Values: []string{name}},
			{Key: requirement.Arch, Operator: requirement.In, Values: []string{arch}},
			{Key: awsv1.LabelInstanceMemory, Operator: requirement.In, Values: []string{fmt.Sprint(memory)}},
			{Key: awsv1.LabelInstanceGPUName, Operator: requirement.DoesNotExist},
		}}
		for _, z := range zones {
			why := "insufficient capacity"
			if z == "us-east-1c" {
				why = catalog.WithoutSubnet
			}
			t.Offerings = append(t.Offerings, catalog.Offering{Zone: z, CapacityType: catalog.OnDemand, Unavailable: why}, catalog.Offering{Zone: z, CapacityType: catalog.Spot, Unavailable: why})
		}
		return t
	}
	return []*catalog.Type{
		sold("m5.large", "amd64", 8192, "us-east-1a", "us-east-1b", "us-east-1c"), sold("m5.xlarge", "amd64", 16384, "us-east-1a", "us-east-1b"),
		sold("m7g.large", "arm64", 8192, "us-east-1b"), sold("u-24tb1.metal", "amd64", 25165824, "us-east-1c"),
	}
}

func TestAPoolForWhichNothingCanBeLaunchedSaysSo(t *testing.T) {
	term := func(key, operator string, values ...string) karpv1.NodeSelectorRequirementWithMinValues {
		return karpv1.NodeSelectorRequirementWithMinValues{Key: key, Operator: corev1.NodeSelectorOperator(operator), Values: values}
	}
	for name, tc := range map[string]struct {
		asked []karpv1.NodeSelectorRequirementWithMinValues
		want  string // empty: nothing is said
	}{
		"nothing asked":              {nil, ""},
		"short everywhere":           {[]karpv1.NodeSelectorRequirementWithMinValues{term(requirement.InstanceType, "In", "m5.large")}, ""},
		"one of two exists":          {[]karpv1.NodeSelectorRequirementWithMinValues{term(requirement.InstanceType, "In", "m5.lrge", "m5.large")}, ""},
		"a label of the user":        {[]karpv1.NodeSelectorRequirementWithMinValues{term("example.com/team", "In", "a", "b")}, ""},
		"only what is reserved":      {[]karpv1.NodeSelectorRequirementWithMinValues{term(requirement.CapacityType, "In", "reserved")}, ""},
		"a reservation that is gone": {[]karpv1.NodeSelectorRequirementWithMinValues{term(requirement.ReservationID, "In", "cr-1")}, ""},
		"a type that does not exist": {[]karpv1.NodeSelectorRequirementWithMinValues{term(requirement.InstanceType, "In", "m5.lrge")},
			`node.kubernetes.io/instance-type In m5.lrge: none of the 4 instance types of EC2NodeClass "default" meets it; did you mean m5.large?`},
		"two that do not exist": {[]karpv1.NodeSelectorRequirementWithMinValues{term(requirement.InstanceType, "In", "m5.lrge", "m7g.lrge")}, "did you mean m5.large, m7g.large?"},
		"a word like no other": {[]karpv1.NodeSelectorRequirementWithMinValues{term(requirement.Arch, "In", "sparc")},
			`kubernetes.io/arch In sparc: none of the 4 instance types of EC2NodeClass "default" meets it; there are amd64, arm64`},
		"a zone of another region": {[]karpv1.NodeSelectorRequirementWithMinValues{term(requirement.Zone, "In", "eu-central-1a")},
			`topology.kubernetes.io/zone In eu-central-1a: the subnets of EC2NodeClass "default" are in us-east-1a, us-east-1b: name one of these zones`},
		"a zone without a subnet": {[]karpv1.NodeSelectorRequirementWithMinValues{term(requirement.Zone, "In", "us-east-1c")}, "are in us-east-1a, us-east-1b: "},
		"a type of that zone":     {[]karpv1.NodeSelectorRequirementWithMinValues{term(requirement.InstanceType, "In", "u-24tb1.metal")}, "node.kubernetes.io/instance-type In u-24tb1.metal"},
		"memory above all that is": {[]karpv1.NodeSelectorRequirementWithMinValues{term(awsv1.LabelInstanceMemory, "Gt", "30000000")},
			"karpenter.k8s.aws/instance-memory Gte 30000001: none of the 4 instance types of EC2NodeClass \"default\" meets it; the smallest is 8192, the largest 25165824"},
		"a pair": {[]karpv1.NodeSelectorRequirementWithMinValues{term(requirement.Arch, "In", "arm64"), term(requirement.Zone, "In", "us-east-1a")},
			"no instance type meets both kubernetes.io/arch In arm64 (1 of 4 do) and topology.kubernetes.io/zone In us-east-1a (2 do): change one of the two"},
		"a contradiction": {[]karpv1.NodeSelectorRequirementWithMinValues{term(requirement.Arch, "In", "arm64"), term(requirement.Arch, "In", "amd64")},
			"the requirements on kubernetes.io/arch exclude each other"},
		"three together": {[]karpv1.NodeSelectorRequirementWithMinValues{term(awsv1.LabelInstanceMemory, "In", "8192"), term(requirement.Arch, "In", "amd64"),
			term(requirement.InstanceType, "NotIn", "m5.large")}, "meets all requirements together"},
	} {
		t.Run(name, func(t *testing.T) {
			pool := &karpv1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: "p"}}
			pool.Spec.Template.Spec.Requirements = tc.asked
			class := &awsv1.EC2NodeClass{ObjectMeta: metav1.ObjectMeta{Name: "default"}}
			got, _ := unlaunchable(pool, class, region(), "")
			if tc.want == "" && got != "" || !strings.Contains(got, tc.want) {
				t.Errorf("it says %q, want %q", got, tc.want)
			}
		})
	}
}

// The verdict stands in the condition that Ready depends on. It is given when the types are known, kept while they can't be
// read, and withdrawn when the pool is put right.
func TestWhatCanNotBeLaunchedStandsInACondition(t *testing.T) {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{karpv1.AddToScheme, awsv1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	class := &awsv1.EC2NodeClass{ObjectMeta: metav1.ObjectMeta{Name: "default", UID: "first", Generation: 1}}
	set := class.StatusConditions(true)
	for _, kind := range set.Dependents() {
		set.SetTrue(kind)
	}
	pool := &karpv1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: "p", UID: "u", Generation: 1}}
	pool.Spec.Template.Spec.NodeClassRef = &karpv1.NodeClassReference{Group: awsv1.Group, Kind: "EC2NodeClass", Name: "default"}
	pool.Spec.Template.Spec.Requirements = []karpv1.NodeSelectorRequirementWithMinValues{{Key: requirement.InstanceType, Operator: "In", Values: []string{"m5.lrge"}}}
	pool.Spec.Disruption.Budgets = []karpv1.Budget{{Nodes: "1", Schedule: new("61 * * * *"), Duration: new(karpv1.NewDuration(time.Hour))}}
	api := fake.NewClientBuilder().WithScheme(scheme).WithObjects(pool, class).WithStatusSubresource(pool, class).Build()
	types, now := &shop{err: errors.New("EC2 does not answer")}, clocktesting.NewFakeClock(time.Unix(1e9, 0))
	c := &Controller{
		Client: api, State: cache.New(cache.Options{}), Metrics: obs.NewMetrics(prometheus.NewRegistry()), Log: slog.New(slog.DiscardHandler), Clock: now,
		Health: NewHealth(), Types: types,
	}
	pass := func(ready, valid metav1.ConditionStatus, reason, says string) {
		t.Helper()
		result, err := c.Reconcile(t.Context(), ctrl.Request{NamespacedName: client.ObjectKeyFromObject(pool)})
		if err != nil || result.RequeueAfter != judgeAgain {
			t.Fatal(result, err)
		}
		if err := api.Get(t.Context(), client.ObjectKeyFromObject(pool), pool); err != nil {
			t.Fatal(err)
		}
		conditions := pool.StatusConditions()
		v := conditions.Get(karpv1.ConditionTypeValidationSucceeded)
		if r := conditions.Root(); r.Status != ready || v.Status != valid || v.Reason != reason || !strings.Contains(v.Message, says) {
			t.Errorf("Ready is %s, ValidationSucceeded %s %s %q, want %s, %s %s %q", r.Status, v.Status, v.Reason, v.Message, ready, valid, reason, says)
		}
	}
	pass(metav1.ConditionTrue, metav1.ConditionTrue, karpv1.ConditionTypeValidationSucceeded, "")
	types.err, types.types = nil, region()
	pass(metav1.ConditionTrue, metav1.ConditionTrue, karpv1.ConditionTypeValidationSucceeded, "")
	if types.asked != 1 {
		t.Errorf("the types were asked for %d times within a moment, want once", types.asked)
	}
	now.Step(judgeAgain)
	pass(metav1.ConditionFalse, metav1.ConditionFalse, karpv1.ReasonNoInstanceTypes, "did you mean m5.large?")
	types.err = errors.New("EC2 does not answer again")
	now.Step(judgeAgain)
	pass(metav1.ConditionFalse, metav1.ConditionFalse, karpv1.ReasonNoInstanceTypes, "did you mean m5.large?")
	c.verdicts = nil // a new leader
	pass(metav1.ConditionFalse, metav1.ConditionFalse, karpv1.ReasonNoInstanceTypes, "did you mean m5.large?")
	change := func(class *awsv1.EC2NodeClass, fn func()) {
		t.Helper()
		fn()
		if err := api.Update(t.Context(), class); err != nil {
			t.Fatal(err)
		}
		if err := api.Status().Update(t.Context(), class); err != nil {
			t.Fatal(err)
		}
	}
	change(class, func() { set.SetFalse(set.Dependents()[0], "Gone", "no subnet is found") })
	pass(metav1.ConditionFalse, metav1.ConditionFalse, karpv1.ReasonNoInstanceTypes, "did you mean m5.large?")
	change(class, func() { set.SetTrue(set.Dependents()[0]) })
	b := pool.StatusConditions().Get(karpv1.ConditionTypeBudgetsValid)
	if want := `spec.disruption.budgets[0]: schedule "61 * * * *": `; !b.IsFalse() || !strings.HasPrefix(b.Message, want) {
		t.Errorf("%s is %v, want it to say %q", karpv1.ConditionTypeBudgetsValid, b, want)
	}

	change(class, func() { class.Generation = 2 }) // what was found of its types is not known of its new spec
	pass(metav1.ConditionTrue, metav1.ConditionTrue, karpv1.ConditionTypeValidationSucceeded, "")
	types.err = nil
	now.Step(judgeAgain)
	pass(metav1.ConditionFalse, metav1.ConditionFalse, karpv1.ReasonNoInstanceTypes, "did you mean m5.large?")

	types.err = errors.New("EC2 does not answer")
	change(class, func() { class.UID = "second" }) // deleted, and made anew under its name
	pass(metav1.ConditionTrue, metav1.ConditionTrue, karpv1.ConditionTypeValidationSucceeded, "")
	types.err = nil
	now.Step(judgeAgain)
	pass(metav1.ConditionFalse, metav1.ConditionFalse, karpv1.ReasonNoInstanceTypes, "did you mean m5.large?")

	pool.Generation = 2
	pool.Spec.Template.Spec.Requirements[0].Values[0] = "m5.large"
	pool.Spec.Disruption.Budgets[0].Schedule = new("@daily")
	if err := api.Update(t.Context(), pool); err != nil {
		t.Fatal(err)
	}
	pass(metav1.ConditionTrue, metav1.ConditionTrue, karpv1.ConditionTypeValidationSucceeded, "")
	if b := pool.StatusConditions().Get(karpv1.ConditionTypeBudgetsValid); !b.IsTrue() {
		t.Errorf("%s is %v after the budget was fixed", karpv1.ConditionTypeBudgetsValid, b)
	}
}
