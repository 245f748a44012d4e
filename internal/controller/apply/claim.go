package apply

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	awsv1 "github.com/kerf-sh/kerf/api/aws/v1"
	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/internal/engine/catalog"
	"github.com/kerf-sh/kerf/internal/engine/cluster"
	"github.com/kerf-sh/kerf/internal/engine/plan"
	"github.com/kerf-sh/kerf/internal/engine/requirement"
	"github.com/kerf-sh/kerf/internal/engine/res"
	"github.com/kerf-sh/kerf/internal/state/intake"
)

// maxNameBase leaves room for the random suffix in a name that must also be a label value.
const maxNameBase = 58

// WhyAnnotation holds, on a NodeClaim, what decided its shape, in one sentence.
const WhyAnnotation = "kerf.sh/why"

// PlannedPriceAnnotation holds, on a NodeClaim, the price on which the plan counted, in USD per hour.
const PlannedPriceAnnotation = "kerf.sh/planned-price"

// UsualPriceAnnotation holds, on a NodeClaim that was made while EC2 was short of cheaper capacity, what nodes for its pods cost
// otherwise, in USD per hour.
const UsualPriceAnnotation = "kerf.sh/usual-price"

// dearFrom is from how many percent of the usual price on a node counts as dear. What is below comes of how pods happen to share nodes.
const dearFrom = 110

// LaunchedAnnotation holds, on a NodeClaim, what was launched for it and its price, in words.
const LaunchedAnnotation = "kerf.sh/launched"

// NodeClaim is the object that asks for a planned node. It has everything but a name.
func NodeClaim(node *plan.NewNode, pool *karpv1.NodePool, offered *cluster.Pool) *karpv1.NodeClaim {
	template := &pool.Spec.Template
	requirements := claimRequirements(node, offered)
	labels := intake.PoolLabels(pool)
	for k, v := range concreteLabels(requirements, labels) {
		labels[k] = v
	}
	annotations := map[string]string{}
	maps.Copy(annotations, template.Annotations)
	annotations[karpv1.NodePoolHashAnnotationKey] = pool.Hash()
	annotations[karpv1.NodePoolHashVersionAnnotationKey] = karpv1.NodePoolHashVersion
	if node.Why != "" {
		annotations[WhyAnnotation] = node.Why
	}
	if node.Price > 0 && node.Price < catalog.NoPrice {
		annotations[PlannedPriceAnnotation] = strconv.FormatFloat(float64(node.Price)/1e6, 'f', -1, 64)
	}
	if node.Usual > 0 && node.Price < catalog.NoPrice && node.Price*100 >= node.Usual*dearFrom {
		annotations[UsualPriceAnnotation] = strconv.FormatFloat(float64(node.Usual)/1e6, 'f', -1, 64)
	}
	annotations[karpv1.NodeClaimMinValuesRelaxedAnnotationKey] = strconv.FormatBool(relaxed(node, offered))
	claim := &karpv1.NodeClaim{
		ObjectMeta: metav1.ObjectMeta{
			GenerateName: generateName(pool.Name),
			Labels:       labels,
			Annotations:  annotations,
			Finalizers:   []string{karpv1.TerminationFinalizer},
			OwnerReferences: []metav1.OwnerReference{{
				APIVersion: karpv1.GroupVersion.String(), Kind: "NodePool", Name: pool.Name, UID: pool.UID, BlockOwnerDeletion: new(true),
			}},
		},
		Spec: karpv1.NodeClaimSpec{
			Taints:                 taints(template.Spec.Taints, offered),
			StartupTaints:          slices.Clone(template.Spec.StartupTaints),
			Requirements:           apiRequirements(requirements),
			Resources:              karpv1.ResourceRequirements{Requests: intake.ResourceList(node.Requests)},
			NodeClassRef:           template.Spec.NodeClassRef.DeepCopy(),
			TerminationGracePeriod: template.Spec.TerminationGracePeriod.DeepCopy(),
			ExpireAfter:            *template.Spec.ExpireAfter.DeepCopy(),
		},
	}
	return claim
}

// taints are those of the template, and those that the node has besides because its user data says so.
func taints(template []corev1.Taint, offered *cluster.Pool) []corev1.Taint {
	out := slices.Clone(template)
	if offered == nil {
		return out
	}
	for _, t := range offered.Taints {
		if !slices.ContainsFunc(out, func(o corev1.Taint) bool { return o.Key == t.Key && string(o.Effect) == string(t.Effect) }) {
			out = append(out, corev1.Taint{Key: t.Key, Value: t.Value, Effect: corev1.TaintEffect(t.Effect)})
		}
	}
	return out
}

func generateName(pool string) string {
	base := pool + "-"
	if len(base) > maxNameBase {
		base = base[:maxNameBase]
	}
	return base
}

// claimRequirements are the plan's, with the chosen types in their order and with the zones and capacity types in which
// one of them can be launched.
func claimRequirements(node *plan.NewNode, pool *cluster.Pool) []requirement.Term {
	var out []requirement.Term
	types := requirement.Term{Key: requirement.InstanceType, Operator: requirement.In}
	for _, t := range node.Types {
		types.Values = append(types.Values, t.Name)
	}
	minValues := map[string]int{}
	for _, t := range node.Requirements {
		minValues[t.Key] = max(minValues[t.Key], t.MinValues)
		if t.Key == requirement.Hostname || t.Key == requirement.InstanceType {
			continue
		}
		if t.Operator == requirement.DoesNotExist && !WellKnown(t.Key) && restricted(t.Key) {
			continue // no node has it, and the API refuses a NodeClaim that names it, with all the pods of the node
		}
		out = append(out, t)
	}
	types.MinValues = minValues[requirement.InstanceType]
	zones, capacityTypes := launchable(node, pool)
	out = restrict(out, requirement.Zone, zones, minValues[requirement.Zone])
	out = restrict(out, requirement.CapacityType, capacityTypes, minValues[requirement.CapacityType])
	out = append(out, types)
	slices.SortStableFunc(out, func(a, b requirement.Term) int { return cmp.Compare(a.Key, b.Key) })
	return out
}

// launchable lists the zones and capacity types of the chosen types' offerings that the plan allows and that can be had.
func launchable(node *plan.NewNode, pool *cluster.Pool) (zones, capacityTypes []string) {
	if pool == nil {
		return nil, nil
	}
	chosen := map[string]bool{}
	for _, t := range node.Types {
		chosen[t.Name] = true
	}
	zone, capacityType := map[string]bool{}, map[string]bool{}
	for _, t := range pool.Types {
		if !chosen[t.Name] {
			continue
		}
		for i := range t.Offerings {
			o := &t.Offerings[i]
			ofReservation := o.ReservationID == "" || allows(node.Requirements, requirement.ReservationID, o.ReservationID)
			inPartition := o.Partition == 0 || allows(node.Requirements, requirement.PlacementPartition, catalog.PartitionLabel(o.Partition))
			if o.Available && ofReservation && inPartition && allows(node.Requirements, requirement.Zone, o.Zone) && allows(node.Requirements, requirement.CapacityType, o.CapacityType) {
				zone[o.Zone], capacityType[o.CapacityType] = true, true
			}
		}
	}
	return slices.Sorted(maps.Keys(zone)), slices.Sorted(maps.Keys(capacityType))
}

// allows reports whether the terms on key admit a value that is not a number.
func allows(terms []requirement.Term, key, value string) bool {
	for _, t := range terms {
		if t.Key != key {
			continue
		}
		switch t.Operator {
		case requirement.In:
			if !slices.Contains(t.Values, value) {
				return false
			}
		case requirement.NotIn:
			if slices.Contains(t.Values, value) {
				return false
			}
		case requirement.Exists:
		default:
			return false
		}
	}
	return true
}

// restrict puts In values in place of the terms on key; no values leave the terms as they are.
func restrict(terms []requirement.Term, key string, values []string, minValues int) []requirement.Term {
	if len(values) == 0 {
		return terms
	}
	terms = slices.DeleteFunc(terms, func(t requirement.Term) bool { return t.Key == key })
	return append(terms, requirement.Term{Key: key, Operator: requirement.In, Values: values, MinValues: min(minValues, len(values))})
}

func apiRequirements(terms []requirement.Term) []karpv1.NodeSelectorRequirementWithMinValues {
	out := make([]karpv1.NodeSelectorRequirementWithMinValues, 0, len(terms))
	for _, t := range terms {
		t = exclusive(t)
		r := karpv1.NodeSelectorRequirementWithMinValues{Key: t.Key, Operator: corev1.NodeSelectorOperator(t.Operator), Values: slices.Clone(t.Values)}
		if t.MinValues > 0 {
			r.MinValues = new(t.MinValues)
		}
		out = append(out, r)
	}
	return out
}

// exclusive words an inclusive bound of whole numbers as an exclusive one: the definitions of Karpenter before 1.9, which may
// be in place, refuse a NodeClaim with Gte or Lte. They take no number below 0.
func exclusive(t requirement.Term) requirement.Term {
	if t.Operator != requirement.Gte && t.Operator != requirement.Lte {
		return t
	}
	n, err := strconv.ParseInt(t.Values[0], 10, 64)
	switch {
	case err != nil:
	case t.Operator == requirement.Gte && n > 0:
		t.Operator, t.Values = requirement.Gt, []string{strconv.FormatInt(n-1, 10)}
	case t.Operator == requirement.Lte && n < math.MaxInt64:
		t.Operator, t.Values = requirement.Lt, []string{strconv.FormatInt(n+1, 10)}
	}
	return t
}

// relaxed reports whether the plan demands fewer distinct values of a key than the pool does.
func relaxed(node *plan.NewNode, pool *cluster.Pool) bool {
	if pool == nil {
		return false
	}
	have := map[string]int{}
	for _, t := range node.Requirements {
		have[t.Key] = max(have[t.Key], t.MinValues)
	}
	for _, t := range pool.Requirements {
		if t.MinValues > 0 && have[t.Key] < t.MinValues {
			return true
		}
	}
	return false
}

// concreteLabels decides a value for every key that users made up and that the requirements leave open: the instance's
// boot can only write labels that have one. The choice is the first of the values, or the least whole number, that the
// requirements admit, so that the same plan gives the same labels.
func concreteLabels(terms []requirement.Term, have map[string]string) map[string]string {
	byKey := map[string][]requirement.Term{}
	for _, t := range terms {
		if _, ok := have[t.Key]; !ok && !WellKnown(t.Key) && !restricted(t.Key) {
			byKey[t.Key] = append(byKey[t.Key], t)
		}
	}
	out := map[string]string{}
	for key, terms := range byKey {
		if v, ok := concrete(terms); ok {
			out[key] = v
		}
	}
	return out
}

func concrete(terms []requirement.Term) (string, bool) {
	lower, upper := int64(0), int64(math.MaxInt64)
	var excluded, candidates []string
	some := false
	for _, t := range terms {
		bound := int64(0)
		if len(t.Values) == 1 {
			bound, _ = strconv.ParseInt(t.Values[0], 10, 64)
		}
		switch t.Operator {
		case requirement.DoesNotExist:
			return "", false
		case requirement.In:
			candidates, some = t.Values, true
		case requirement.NotIn:
			excluded = append(excluded, t.Values...)
		case requirement.Gt:
			lower = max(lower, bound+1)
		case requirement.Gte:
			lower = max(lower, bound)
		case requirement.Lt:
			upper = min(upper, bound-1)
		case requirement.Lte:
			upper = min(upper, bound)
		}
	}
	if some {
		for _, v := range slices.Sorted(slices.Values(candidates)) {
			if !slices.Contains(excluded, v) {
				return v, true
			}
		}
		return "", false
	}
	for n := lower; n <= upper; n++ {
		if v := strconv.FormatInt(n, 10); !slices.Contains(excluded, v) {
			return v, true
		}
	}
	return "", false
}

// coreWellKnown are the label keys that the core API gives a meaning.
//
// Source: core of the Karpenter v1 API, well-known labels.
var coreWellKnown = []string{
	karpv1.NodePoolLabelKey, karpv1.CapacityTypeLabelKey, corev1.LabelTopologyZone, corev1.LabelTopologyRegion,
	corev1.LabelInstanceTypeStable, corev1.LabelArchStable, corev1.LabelOSStable, corev1.LabelWindowsBuild,
}

// WellKnownLabels are the keys that a pod may ask for though no pool defines them.
func WellKnownLabels() []string {
	return slices.Concat(coreWellKnown, awsv1.WellKnownLabels())
}

// WellKnown reports whether the instance's type and offering decide the key's value.
func WellKnown(key string) bool {
	return slices.Contains(coreWellKnown, key) || slices.Contains(awsv1.WellKnownLabels(), key)
}

func restricted(key string) bool {
	domain, _, ok := strings.Cut(key, "/")
	within := func(group string) bool { return domain == group || strings.HasSuffix(domain, "."+group) }
	return key == corev1.LabelHostname || ok && (within(karpv1.Group) || within(awsv1.Group))
}

// expected is what is counted on of an instance in flight: for pods the least that its types leave them, against limits the most that
// those have which EC2 may be asked for.
func expected(node *plan.NewNode, pool *cluster.Pool, bound int64) intake.Expected {
	var out intake.Expected
	for t := range chosenTypes(node, pool) {
		out.Allocatable = least(out.Allocatable, t.Allocatable())
	}
	for t := range chosenTypes(&plan.NewNode{Types: requested(node.Types, node.Requirements, bound)}, pool) {
		if out.Capacity == nil {
			out.Capacity = res.List{}
		}
		for k, x := range t.Capacity {
			out.Capacity[k] = max(out.Capacity[k], x)
		}
	}
	return out
}

// Dearest is what a type may cost at most for a launch to ask for it, given the cheapest price and Options.PriceBound.
func Dearest(cheapest catalog.MicroUSD, bound int64) catalog.MicroUSD {
	if bound == 0 {
		return math.MaxInt64
	}
	return cheapest + cheapest*catalog.MicroUSD(bound)/100
}

// requested are the types of a node, cheapest first, that a launch asks EC2 for: up to a price, unless a number of values is needed.
func requested(types []plan.TypeChoice, requirements []requirement.Term, bound int64) []plan.TypeChoice {
	if len(types) == 0 || needsValues(requirements) {
		return types
	}
	most := Dearest(types[0].Price, bound)
	return slices.DeleteFunc(slices.Clone(types), func(t plan.TypeChoice) bool { return t.Price > most })
}

// needsValues reports whether a node's types must have several values of a label.
func needsValues(requirements []requirement.Term) bool {
	return slices.ContainsFunc(requirements, func(t requirement.Term) bool { return t.MinValues > 0 })
}

// leastCapacity is what the node adds to its pool at the least. Plans count it so.
func leastCapacity(node *plan.NewNode, pool *cluster.Pool) res.List {
	var out res.List
	for t := range chosenTypes(node, pool) {
		out = least(out, t.Capacity)
	}
	if out == nil {
		out = res.List{}
	}
	out[res.Nodes] = 1
	return out
}

// least is the smaller amount of each resource of a; a nil a is b.
func least(a, b res.List) res.List {
	if a == nil {
		return b.Clone()
	}
	for k := range a {
		a[k] = min(a[k], b[k])
	}
	return a
}

func chosenTypes(node *plan.NewNode, pool *cluster.Pool) func(func(*catalog.Type) bool) {
	return func(yield func(*catalog.Type) bool) {
		chosen := map[string]bool{}
		for _, t := range node.Types {
			chosen[t.Name] = true
		}
		for _, t := range pool.Types {
			if chosen[t.Name] && !yield(t) {
				return
			}
		}
	}
}
