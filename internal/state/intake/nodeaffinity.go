package intake

import (
	"fmt"
	"maps"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"

	"github.com/kerf-sh/kerf/internal/engine/cluster"
	"github.com/kerf-sh/kerf/internal/engine/requirement"
)

// Key is the present name of a label key: older names, and a storage driver's name for the zone, mean the stable label.
func Key(key string) string { return requirement.Normalize(key) }

// selectorTerms converts a nodeSelector.
func selectorTerms(in map[string]string) []requirement.Term {
	var out []requirement.Term
	for _, k := range slices.Sorted(maps.Keys(in)) {
		out = append(out, requirement.Term{Key: Key(k), Operator: requirement.In, Values: []string{in[k]}})
	}
	return sortTerms(out)
}

// nodeTerms converts the expressions of one node selector term, which are ANDed.
//
// Errors: an expression that can't be evaluated; such a term matches no node.
func nodeTerms(in []corev1.NodeSelectorRequirement) ([]requirement.Term, error) {
	var out []requirement.Term
	for _, e := range in {
		t := requirement.Term{Key: Key(e.Key), Operator: requirement.Operator(e.Operator)}
		switch e.Operator {
		case corev1.NodeSelectorOpIn, corev1.NodeSelectorOpNotIn:
			if len(e.Values) == 0 {
				return nil, fmt.Errorf("operator %s of key %q needs values", e.Operator, e.Key)
			}
			t.Values = sortedSet(e.Values)
		case corev1.NodeSelectorOpExists, corev1.NodeSelectorOpDoesNotExist:
		case corev1.NodeSelectorOpGt, corev1.NodeSelectorOpLt:
			if len(e.Values) != 1 {
				return nil, fmt.Errorf("operator %s of key %q needs exactly one value", e.Operator, e.Key)
			}
			if _, err := strconv.ParseInt(e.Values[0], 10, 64); err != nil {
				return nil, fmt.Errorf("operator %s of key %q needs a whole number, not %q", e.Operator, e.Key, e.Values[0])
			}
			t.Values = slices.Clone(e.Values)
		default:
			return nil, fmt.Errorf("unknown operator %q of key %q; use In, NotIn, Exists, DoesNotExist, Gt or Lt", e.Operator, e.Key)
		}
		out = append(out, t)
	}
	return sortTerms(out), nil
}

// requiredAffinity converts required node affinity, with the fields of nodes that it names as if they were labels. A term
// that can't be evaluated is left out, since the terms are alternatives; when none is left, problem says why.
func requiredAffinity(in *corev1.NodeSelector) (out [][]requirement.Term, problem string) {
	if in == nil {
		return nil, ""
	}
	problem = "required node affinity has no terms, which matches no node; remove it or add a term"
	for i, term := range in.NodeSelectorTerms {
		if len(term.MatchExpressions) == 0 && len(term.MatchFields) == 0 {
			problem = fmt.Sprintf("required node affinity term %d is empty, which matches no node; remove it or add an expression", i)
			continue
		}
		terms, err := nodeTerms(slices.Concat(term.MatchExpressions, fieldsAsLabels(term.MatchFields)))
		if err != nil {
			problem = fmt.Sprintf("required node affinity term %d matches no node: %v", i, err)
			continue
		}
		out = append(out, terms)
	}
	if len(out) > 0 {
		problem = ""
	}
	return out, problem
}

// fieldsAsLabels gives fields the keys by which the engine knows them. The name is the only field of nodes that the API
// accepts; a label may be called metadata.name too, and is something else.
func fieldsAsLabels(in []corev1.NodeSelectorRequirement) []corev1.NodeSelectorRequirement {
	out := slices.Clone(in)
	for i := range out {
		out[i].Key = "field:" + out[i].Key
	}
	return out
}

// preferredAffinity converts preferred node affinity, heaviest first. Terms that can't be evaluated are left out, as
// the scheduler does.
func preferredAffinity(in []corev1.PreferredSchedulingTerm) []cluster.WeightedTerms {
	var out []cluster.WeightedTerms
	for _, p := range in {
		if p.Weight <= 0 || len(p.Preference.MatchFields) > 0 {
			continue
		}
		terms, err := nodeTerms(p.Preference.MatchExpressions)
		if err != nil || len(terms) == 0 {
			continue
		}
		out = append(out, cluster.WeightedTerms{Weight: int(p.Weight), Terms: terms})
	}
	slices.SortStableFunc(out, func(a, b cluster.WeightedTerms) int { return b.Weight - a.Weight })
	return out
}
