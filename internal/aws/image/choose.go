package image

import (
	"cmp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	awsv1 "github.com/kerf-sh/kerf/api/aws/v1"
	"github.com/kerf-sh/kerf/internal/engine/requirement"
)

func sorted(r []corev1.NodeSelectorRequirement) []corev1.NodeSelectorRequirement {
	slices.SortFunc(r, func(a, b corev1.NodeSelectorRequirement) int { return strings.Compare(a.Key, b.Key) })
	return r
}

// key is equal for equal requirement sets.
func key(requirements []corev1.NodeSelectorRequirement) string {
	parts := make([]string, len(requirements))
	for i, r := range requirements {
		values := slices.Clone(r.Values)
		slices.Sort(values)
		parts[i] = r.Key + " " + string(r.Operator) + " " + strings.Join(values, ",")
	}
	slices.Sort(parts)
	return strings.Join(parts, ";")
}

// status picks, among images for the same types, the one that is not deprecated, then the newest, then the one with the
// greater name, and lists the picked ones newest first.
func status(candidates []candidate) []awsv1.AMI {
	best := map[string]candidate{}
	for _, c := range candidates {
		k := key(c.requirements)
		if old, ok := best[k]; !ok || better(c, old) {
			best[k] = c
		}
	}
	picked := make([]candidate, 0, len(best))
	for _, c := range best {
		picked = append(picked, c)
	}
	slices.SortFunc(picked, func(a, b candidate) int {
		return cmp.Or(b.created.Compare(a.created), strings.Compare(a.id, b.id), strings.Compare(key(a.requirements), key(b.requirements)))
	})
	out := make([]awsv1.AMI, len(picked))
	for i, c := range picked {
		out[i] = awsv1.AMI{ID: c.id, Name: c.name, Deprecated: c.deprecated, Requirements: c.requirements}
	}
	return out
}

func better(a, b candidate) bool {
	if a.deprecated != b.deprecated {
		return b.deprecated
	}
	return cmp.Or(a.created.Compare(b.created), strings.Compare(a.name, b.name), strings.Compare(a.id, b.id)) > 0
}

// For returns the first image of a status that a type with these requirements boots.
func For(amis []awsv1.AMI, instanceType []requirement.Term) (awsv1.AMI, bool) {
	for i := range amis {
		if Boots(&amis[i], instanceType) {
			return amis[i], true
		}
	}
	return awsv1.AMI{}, false
}

// Boots reports whether a type meets all requirements of an image. A label that the type does not speak of counts as
// missing. Operators that no image has are not met by anything.
func Boots(ami *awsv1.AMI, instanceType []requirement.Term) bool {
	for _, want := range ami.Requirements {
		var has []string
		for _, t := range instanceType {
			if t.Key == want.Key && t.Operator == requirement.In {
				has = t.Values
			}
		}
		shared := slices.ContainsFunc(has, func(v string) bool { return slices.Contains(want.Values, v) })
		ok := false
		switch want.Operator {
		case corev1.NodeSelectorOpIn:
			ok = shared
		case corev1.NodeSelectorOpNotIn:
			ok = !shared
		case corev1.NodeSelectorOpExists:
			ok = len(has) > 0
		case corev1.NodeSelectorOpDoesNotExist:
			ok = len(has) == 0
		}
		if !ok {
			return false
		}
	}
	return true
}
