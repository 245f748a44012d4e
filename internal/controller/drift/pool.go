package drift

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/internal/engine/catalog"
	"github.com/kerf-sh/kerf/internal/engine/requirement"
	"github.com/kerf-sh/kerf/internal/state/intake"
)

// NodePool compares the hash of the template that a claim was made from, which the claim has, with the pool's now. Hashes of
// different versions say nothing of each other. pool is nil where there is none; then nothing is said.
func NodePool(claim *karpv1.NodeClaim, pool *karpv1.NodePool) (message string, v Verdict) {
	if pool == nil || !claim.StatusConditions().IsTrue(karpv1.ConditionTypeLaunched) {
		return "", Unknown
	}
	was, now := claim.Annotations[karpv1.NodePoolHashAnnotationKey], pool.Annotations[karpv1.NodePoolHashAnnotationKey]
	version, mine := pool.Annotations[karpv1.NodePoolHashVersionAnnotationKey], claim.Annotations[karpv1.NodePoolHashVersionAnnotationKey]
	switch {
	case was == "", now == "", version == "", mine != version:
		return "", Unknown
	case was == now:
		return "", Same
	}
	return "launched before the template of NodePool " + pool.Name + " was changed", Differs
}

// Requirements looks whether an instance's labels are what its pool requires now. A label that the claim lacks is looked up
// in what is known of its instance type: claims of an older release lack labels that came later. typ is nil when the type
// is not known.
func Requirements(claim *karpv1.NodeClaim, pool *karpv1.NodePool, typ *catalog.Type) (message string, v Verdict) {
	if pool == nil || !claim.StatusConditions().IsTrue(karpv1.ConditionTypeLaunched) {
		return "", Unknown
	}
	labels := make(map[string]string, len(claim.Labels))
	for k, value := range claim.Labels {
		labels[requirement.Normalize(k)] = value
	}
	v = Same
	for _, term := range intake.Terms(pool.Spec.Template.Spec.Requirements) {
		set, ok := setOf(term)
		if !ok {
			v = Unknown // it can't be read; the pool's own condition says so
			continue
		}
		value, has := labels[term.Key]
		if !has {
			value, has, ok = labelOf(typ, term.Key)
		}
		switch {
		case !ok:
			v = Unknown
		case !has && !set.AllowsAbsent():
			return fmt.Sprintf("has no label %s, and NodePool %s requires %s", term.Key, pool.Name, term), Differs
		case has && !set.Has(value):
			return fmt.Sprintf("is %s=%s, and NodePool %s requires %s", term.Key, value, pool.Name, term), Differs
		}
	}
	return "", v
}

// setOf is the values that a requirement allows; false if it can't be read.
func setOf(term requirement.Term) (requirement.Set, bool) {
	words := requirement.NewVocabulary()
	reqs, err := words.Parse([]requirement.Term{term})
	if err != nil {
		return requirement.Set{}, false
	}
	return reqs.Get(words.Key(term.Key))
}

// labelOf is the value of a label of all instances of a type; known is false if not all have the same, or it is not known.
func labelOf(typ *catalog.Type, key string) (value string, has, known bool) {
	if typ == nil {
		// Labels of pools are never of this kind, so that what is missing is missing.
		return "", false, !strings.HasPrefix(key, "karpenter.k8s.aws/") && !strings.HasPrefix(key, "topology.k8s.aws/")
	}
	at := slices.IndexFunc(typ.Requirements, func(t requirement.Term) bool { return t.Key == key })
	switch {
	case at < 0, typ.Requirements[at].Operator == requirement.DoesNotExist:
		return "", false, true
	case typ.Requirements[at].Operator == requirement.In && len(typ.Requirements[at].Values) == 1:
		return typ.Requirements[at].Values[0], true, true
	}
	return "", false, false
}

// oldEnough is the age from which a claim is told that its instance type is gone, in line with the Karpenter v1 API.
// Source: core-behaviours of the Karpenter v1 API, instance type drift.
const oldEnough = time.Hour

// sold tells whether a type is still offered where, and as what, a claim's instance was launched; whether it can be had right
// now does not matter. An instance out of a reservation may be on demand by now.
func sold(claim *karpv1.NodeClaim, typ *catalog.Type) bool {
	if typ == nil {
		return false
	}
	zone, as := claim.Labels[requirement.Zone], claim.Labels[requirement.CapacityType]
	return slices.ContainsFunc(typ.Offerings, func(o catalog.Offering) bool {
		return o.Zone == zone && (o.CapacityType == as || as == catalog.Reserved && o.CapacityType == catalog.OnDemand)
	})
}

// notSold words why a claim's type is gone.
func notSold(claim *karpv1.NodeClaim, typ *catalog.Type) string {
	name := claim.Labels[requirement.InstanceType]
	if typ == nil {
		return fmt.Sprintf("instance type %s is not offered in this region any more", cmp.Or(name, "of unknown name"))
	}
	return fmt.Sprintf("instance type %s is not offered as %s in zone %s any more", name, claim.Labels[requirement.CapacityType], claim.Labels[requirement.Zone])
}
