package intake

import (
	"cmp"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kerf-sh/kerf/internal/engine/cluster"
	"github.com/kerf-sh/kerf/internal/engine/requirement"
)

// selector converts a label selector; nil stays nil (it selects nothing).
//
// Errors: an operator that the label selector API does not have.
func selector(in *metav1.LabelSelector) (*cluster.Selector, error) {
	if in == nil {
		return nil, nil
	}
	out := &cluster.Selector{}
	for k, v := range in.MatchLabels {
		out.Terms = append(out.Terms, requirement.Term{Key: k, Operator: requirement.In, Values: []string{v}})
	}
	for _, e := range in.MatchExpressions {
		t := requirement.Term{Key: e.Key, Operator: requirement.Operator(e.Operator)}
		switch e.Operator {
		case metav1.LabelSelectorOpIn, metav1.LabelSelectorOpNotIn:
			if len(e.Values) == 0 {
				return nil, fmt.Errorf("label selector: operator %s of key %q needs values", e.Operator, e.Key)
			}
			t.Values = sortedSet(e.Values)
		case metav1.LabelSelectorOpExists, metav1.LabelSelectorOpDoesNotExist:
		default:
			return nil, fmt.Errorf("label selector: unknown operator %q of key %q; use In, NotIn, Exists or DoesNotExist", e.Operator, e.Key)
		}
		out.Terms = append(out.Terms, t)
	}
	out.Terms = sortTerms(out.Terms)
	return out, nil
}

// mergeLabelKeys adds to s what matchLabelKeys (op In) and mismatchLabelKeys (op NotIn) stand for: the pod's own value
// of each key that it has. The API server may have merged them already; that changes nothing.
func mergeLabelKeys(s *cluster.Selector, keys []string, op requirement.Operator, labels map[string]string) *cluster.Selector {
	if s == nil {
		return nil
	}
	for _, k := range keys {
		if v, ok := labels[k]; ok {
			s.Terms = append(s.Terms, requirement.Term{Key: k, Operator: op, Values: []string{v}})
		}
	}
	s.Terms = sortTerms(s.Terms)
	return s
}

// sortTerms puts terms that are ANDed into one order and drops repetitions, so that equal demands look equal.
func sortTerms(terms []requirement.Term) []requirement.Term {
	slices.SortFunc(terms, compareTerms)
	return slices.CompactFunc(terms, func(a, b requirement.Term) bool { return compareTerms(a, b) == 0 })
}

func compareTerms(a, b requirement.Term) int {
	return cmp.Or(
		cmp.Compare(a.Key, b.Key),
		cmp.Compare(a.Operator, b.Operator),
		slices.Compare(a.Values, b.Values),
		cmp.Compare(a.MinValues, b.MinValues),
	)
}

func sortedSet(in []string) []string {
	out := slices.Clone(in)
	slices.Sort(out)
	return slices.Compact(out)
}
