package drift

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	awsv1 "github.com/kerf-sh/kerf/api/aws/v1"
	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/internal/engine/catalog"
	"github.com/kerf-sh/kerf/internal/engine/requirement"
)

// ofPoolPair is a launched claim and its pool, alike until edit makes them differ.
func ofPoolPair(edit func(*karpv1.NodeClaim, *karpv1.NodePool)) (*karpv1.NodeClaim, *karpv1.NodePool) {
	claim := &karpv1.NodeClaim{ObjectMeta: metav1.ObjectMeta{
		Name: "n", Generation: 1,
		Labels: map[string]string{"kubernetes.io/arch": "amd64", requirement.Zone: "a", requirement.CapacityType: catalog.Spot,
			requirement.InstanceType: "m5.large", "team": "web", "karpenter.k8s.aws/instance-cpu": "2"},
		Annotations: map[string]string{karpv1.NodePoolHashAnnotationKey: "1", karpv1.NodePoolHashVersionAnnotationKey: "v3"},
	}}
	claim.Spec.NodeClassRef = &karpv1.NodeClassReference{Group: awsv1.Group, Kind: "EC2NodeClass", Name: "c"}
	claim.StatusConditions().SetTrue(karpv1.ConditionTypeLaunched)
	pool := &karpv1.NodePool{ObjectMeta: metav1.ObjectMeta{
		Name: "p", Annotations: map[string]string{karpv1.NodePoolHashAnnotationKey: "1", karpv1.NodePoolHashVersionAnnotationKey: "v3"},
	}}
	edit(claim, pool)
	return claim, pool
}

func TestInstancesDriftFromTheirPoolWhenItsHashIsAnotherOfTheSameVersion(t *testing.T) {
	for name, tc := range map[string]struct {
		edit func(*karpv1.NodeClaim, *karpv1.NodePool)
		want Verdict
	}{
		"the same hash": {func(*karpv1.NodeClaim, *karpv1.NodePool) {}, Same},
		"another hash":  {func(_ *karpv1.NodeClaim, p *karpv1.NodePool) { p.Annotations[karpv1.NodePoolHashAnnotationKey] = "2" }, Differs},
		"another hash of another version": {func(n *karpv1.NodeClaim, _ *karpv1.NodePool) {
			n.Annotations[karpv1.NodePoolHashAnnotationKey], n.Annotations[karpv1.NodePoolHashVersionAnnotationKey] = "0", "v2"
		}, Unknown},
		"a pool that is not stamped": {func(_ *karpv1.NodeClaim, p *karpv1.NodePool) { p.Annotations = nil }, Unknown},
		"a claim without a hash":     {func(n *karpv1.NodeClaim, _ *karpv1.NodePool) { n.Annotations = nil }, Unknown},
		"without versions": {func(n *karpv1.NodeClaim, p *karpv1.NodePool) {
			delete(n.Annotations, karpv1.NodePoolHashVersionAnnotationKey)
			p.Annotations = map[string]string{karpv1.NodePoolHashAnnotationKey: "2"}
		}, Unknown},
		"not launched": {func(n *karpv1.NodeClaim, p *karpv1.NodePool) {
			n.Status.Conditions, p.Annotations[karpv1.NodePoolHashAnnotationKey] = nil, "2"
		}, Unknown},
	} {
		message, got := NodePool(ofPoolPair(tc.edit))
		if got != tc.want || (got == Differs) != (message != "") {
			t.Errorf("%s: got %d %q, want %d", name, got, message, tc.want)
		}
	}
}

func TestInstancesDriftFromWhatTheirPoolRequires(t *testing.T) {
	typ := &catalog.Type{Name: "m5.large", Requirements: []requirement.Term{
		in("karpenter.k8s.aws/instance-memory", "8192"), in("topology.k8s.aws/zone-id", "z1", "z2"),
		{Key: "karpenter.k8s.aws/instance-gpu-count", Operator: requirement.DoesNotExist},
	}}
	for name, tc := range map[string]struct {
		key      string
		operator corev1.NodeSelectorOperator
		values   []string
		typ      *catalog.Type
		want     Verdict
	}{
		"nothing but what it is":                               {"kubernetes.io/arch", "In", []string{"amd64", "arm64"}, nil, Same},
		"another value":                                        {"kubernetes.io/arch", "In", []string{"arm64"}, nil, Differs},
		"an older name of the label":                           {"beta.kubernetes.io/arch", "In", []string{"arm64"}, nil, Differs},
		"a value that is excluded":                             {"team", "NotIn", []string{"web"}, nil, Differs},
		"a label that it must not have":                        {"team", "DoesNotExist", nil, nil, Differs},
		"a number that is too small":                           {"karpenter.k8s.aws/instance-cpu", "Gt", []string{"2"}, nil, Differs},
		"a number that is large enough":                        {"karpenter.k8s.aws/instance-cpu", "Gte", []string{"2"}, nil, Same},
		"a label that it lacks":                                {"rack", "In", []string{"r1"}, nil, Differs},
		"a label that has to be there":                         {"rack", "Exists", nil, nil, Differs},
		"a value that it can't have for lack of the label":     {"rack", "NotIn", []string{"r1"}, nil, Same},
		"a label that it must not have and lacks":              {"rack", "DoesNotExist", nil, nil, Same},
		"a label of its type that it lacks":                    {"karpenter.k8s.aws/instance-memory", "Lt", []string{"9000"}, typ, Same},
		"a label of its type that it lacks, and is another":    {"karpenter.k8s.aws/instance-memory", "Lt", []string{"8000"}, typ, Differs},
		"a label that its type does not have":                  {"karpenter.k8s.aws/instance-gpu-count", "Gt", []string{"0"}, typ, Differs},
		"a label that may be one or another":                   {"topology.k8s.aws/zone-id", "In", []string{"z1"}, typ, Unknown},
		"a label of a type that is not known":                  {"karpenter.k8s.aws/instance-memory", "Lt", []string{"8000"}, nil, Unknown},
		"a requirement that can't be read":                     {"team", "Near", []string{"web"}, nil, Unknown},
		"a custom label that it lacks, whatever its type says": {"rack", "Exists", nil, typ, Differs},
	} {
		claim, pool := ofPoolPair(func(_ *karpv1.NodeClaim, p *karpv1.NodePool) {
			p.Spec.Template.Spec.Requirements = []karpv1.NodeSelectorRequirementWithMinValues{{Key: tc.key, Operator: tc.operator, Values: tc.values}}
		})
		message, got := Requirements(claim, pool, tc.typ)
		if got != tc.want || (got == Differs) != (message != "") {
			t.Errorf("%s: got %d %q, want %d", name, got, message, tc.want)
		}
	}
}

func in(key string, values ...string) requirement.Term {
	return requirement.Term{Key: key, Operator: requirement.In, Values: values}
}

func TestATypeIsGoneOnceNoListHasHadItForLongEnough(t *testing.T) {
	now := time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)
	sells := func(zone, as string) []*catalog.Type {
		return []*catalog.Type{{Name: "m5.large", Offerings: []catalog.Offering{{Zone: zone, CapacityType: as}}}, {Name: "m6.large"}}
	}
	for name, tc := range map[string]struct {
		types []*catalog.Type
		for_  time.Duration
		age   time.Duration
		as    string
		want  Verdict
	}{
		"sold as it was launched, though not to be had now": {sells("a", catalog.Spot), time.Hour, 2 * time.Hour, catalog.Spot, Same},
		"not on the list":                        {sells("a", catalog.Spot)[1:], goneFor, 2 * time.Hour, catalog.Spot, Differs},
		"not on the list for a moment":           {sells("a", catalog.Spot)[1:], goneFor - 1, 2 * time.Hour, catalog.Spot, Unknown},
		"not sold in its zone":                   {sells("b", catalog.Spot), goneFor, 2 * time.Hour, catalog.Spot, Differs},
		"not sold as spot":                       {sells("a", catalog.OnDemand), goneFor, 2 * time.Hour, catalog.Spot, Differs},
		"an instance that was launched just now": {sells("b", catalog.Spot), goneFor, time.Minute, catalog.Spot, Unknown},
		"nothing was listed at all":              {nil, goneFor, 2 * time.Hour, catalog.Spot, Unknown},
		"a reserved instance, sold on demand":    {sells("a", catalog.OnDemand), goneFor, 2 * time.Hour, catalog.Reserved, Same},
		"a reserved instance, sold as spot only": {sells("a", catalog.Spot), goneFor, 2 * time.Hour, catalog.Reserved, Differs},
	} {
		claim, _ := ofPoolPair(func(n *karpv1.NodeClaim, _ *karpv1.NodePool) {
			n.Labels[requirement.CapacityType] = tc.as
			n.CreationTimestamp = metav1.NewTime(now.Add(-tc.age))
		})
		o := &offers{}
		o.list("c", tc.types)
		o.review([]karpv1.NodeClaim{*claim}, now.Add(-tc.for_))
		message, got := o.verdict(claim, now)
		if got != tc.want || (got == Differs) != (message != "") {
			t.Errorf("%s: got %d %q, want %d", name, got, message, tc.want)
		}
	}
}

func TestClaimsAreComparedAgainWhenTheirTypeIsGoneOrBack(t *testing.T) {
	now := time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)
	claim, _ := ofPoolPair(func(*karpv1.NodeClaim, *karpv1.NodePool) {})
	there := []*catalog.Type{{Name: "m5.large", Offerings: []catalog.Offering{{Zone: "a", CapacityType: catalog.Spot}}}}
	gone := []*catalog.Type{{Name: "m6.large"}}
	o := &offers{}
	for i, step := range []struct {
		after  time.Duration
		types  []*catalog.Type
		marked bool
		again  int
	}{
		{0, there, false, 0},
		{time.Minute, gone, false, 0},
		{5 * time.Minute, gone, false, 0},
		{2 * time.Minute, there, false, 1}, // it was missing for a moment
		{time.Minute, gone, false, 0},
		{goneFor, gone, false, 1},
		{time.Minute, gone, true, 0},
		{time.Minute, there, true, 1},
	} {
		now = now.Add(step.after)
		own := claim.DeepCopy()
		if step.marked {
			own.StatusConditions().SetTrueWithReason(karpv1.ConditionTypeDrifted, karpv1.ReasonInstanceTypeNotFound, "gone")
		}
		o.list("c", step.types)
		if got := len(o.review([]karpv1.NodeClaim{*own}, now)); got != step.again {
			t.Errorf("step %d: %d claims are compared again, want %d", i, got, step.again)
		}
	}
}

func TestOneListSaysNothingOfHowLongATypeHasBeenGone(t *testing.T) {
	now := time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)
	claim, _ := ofPoolPair(func(n *karpv1.NodeClaim, _ *karpv1.NodePool) {
		n.CreationTimestamp = metav1.NewTime(now.Add(-2 * time.Hour))
	})
	claims, gone := []karpv1.NodeClaim{*claim}, []*catalog.Type{{Name: "m6.large"}}
	o := &offers{}
	o.list("c", gone)
	o.review(claims, now)
	o.unlisted("c") // and so on, for as long as it takes
	now = now.Add(goneFor)
	if again := o.review(claims, now); len(again) > 0 {
		t.Error("the claim is compared again though nothing new is known")
	}
	if message, v := o.verdict(claim, now); v != Unknown {
		t.Errorf("%d %q from a list of %s ago", v, message, goneFor)
	}
	o.list("c", gone)
	o.review(claims, now)
	if _, v := o.verdict(claim, now); v != Unknown {
		t.Error("it was missing from two lists with a gap between them")
	}
}
