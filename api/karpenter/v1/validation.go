package v1

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

var knownCapacityTypes = []string{CapacityTypeOnDemand, CapacityTypeSpot, CapacityTypeReserved}

// Validate checks what the schema cannot: label and taint syntax, restricted keys, double taints,
// values. Each error names the field and the way out. Warnings tell what is ignored.
func (p *NodePool) Validate(rules LabelRules) (errs field.ErrorList, warnings []string) {
	path := field.NewPath("spec", "template")
	errs = validateLabels(p.Spec.Template.Labels, rules, path.Child("metadata", "labels"))
	spec := &p.Spec.Template.Spec
	path = path.Child("spec")
	errs = append(errs, validateTaints(spec.Taints, spec.StartupTaints, path)...)
	for i := range spec.Requirements {
		at := path.Child("requirements").Index(i)
		if rules.Normalize(spec.Requirements[i].Key) == NodePoolLabelKey {
			errs = append(errs, field.Forbidden(at.Child("key"), "the label is always the name of the NodePool; remove the requirement"))
			continue
		}
		more, warned := ValidateRequirement(&spec.Requirements[i], rules, at)
		errs = append(errs, more...)
		warnings = append(warnings, warned...)
	}
	errs = append(errs, validateNodeClassRef(spec.NodeClassRef, path.Child("nodeClassRef"))...)
	if after := spec.ExpireAfter.Duration; after != nil && *after == 0 {
		errs = append(errs, field.Invalid(path.Child("expireAfter"), spec.ExpireAfter.String(), "every node would be too old before a pod runs on it; want a duration such as 720h, or Never"))
	}
	return errs, warnings
}

// Validate checks what the schema cannot; see NodePool.Validate. The key of the NodePool label is
// allowed here.
func (c *NodeClaim) Validate(rules LabelRules) (errs field.ErrorList, warnings []string) {
	path := field.NewPath("spec")
	errs = validateTaints(c.Spec.Taints, c.Spec.StartupTaints, path)
	for i := range c.Spec.Requirements {
		more, warned := ValidateRequirement(&c.Spec.Requirements[i], rules, path.Child("requirements").Index(i))
		errs = append(errs, more...)
		warnings = append(warnings, warned...)
	}
	errs = append(errs, validateNodeClassRef(c.Spec.NodeClassRef, path.Child("nodeClassRef"))...)
	return errs, warnings
}

func validateNodeClassRef(ref *NodeClassReference, path *field.Path) field.ErrorList {
	if ref == nil {
		return field.ErrorList{field.Required(path, "name the object with the cloud's settings: group, kind and name")}
	}
	return nil
}

func validateLabels(labels map[string]string, rules LabelRules, path *field.Path) (errs field.ErrorList) {
	for _, key := range slices.Sorted(maps.Keys(labels)) {
		at := path.Key(key)
		if key == NodePoolLabelKey {
			errs = append(errs, field.Forbidden(at, "the label is always the name of the NodePool; remove it"))
			continue
		}
		for _, problem := range validation.IsQualifiedName(key) {
			errs = append(errs, field.Invalid(at, key, problem))
		}
		for _, problem := range validation.IsValidLabelValue(labels[key]) {
			errs = append(errs, field.Invalid(at, labels[key], problem))
		}
		if why := rules.Restricted(key); why != "" {
			errs = append(errs, field.Forbidden(at, why))
		}
	}
	return errs
}

type taintID struct {
	key    string
	effect corev1.TaintEffect
}

func validateTaints(taints, startup []corev1.Taint, path *field.Path) (errs field.ErrorList) {
	seen := map[taintID]string{}
	check := func(list []corev1.Taint, path *field.Path) {
		for i := range list {
			at := path.Index(i)
			errs = append(errs, validateTaint(&list[i], at)...)
			id := taintID{list[i].Key, list[i].Effect}
			if first, found := seen[id]; found {
				errs = append(errs, field.Invalid(at, list[i].ToString(), "has the same key and effect as "+first+"; remove one of them"))
			} else {
				seen[id] = at.String()
			}
		}
	}
	check(taints, path.Child("taints"))
	check(startup, path.Child("startupTaints"))
	return errs
}

func validateTaint(t *corev1.Taint, path *field.Path) (errs field.ErrorList) {
	if t.Key == "" {
		errs = append(errs, field.Required(path.Child("key"), "a taint needs a key"))
	} else {
		for _, problem := range validation.IsQualifiedName(t.Key) {
			errs = append(errs, field.Invalid(path.Child("key"), t.Key, problem))
		}
	}
	for _, problem := range validation.IsValidLabelValue(t.Value) {
		errs = append(errs, field.Invalid(path.Child("value"), t.Value, problem))
	}
	effects := []corev1.TaintEffect{corev1.TaintEffectNoExecute, corev1.TaintEffectNoSchedule, corev1.TaintEffectPreferNoSchedule}
	if !slices.Contains(effects, t.Effect) {
		errs = append(errs, field.NotSupported(path.Child("effect"), t.Effect, effects))
	}
	return errs
}

// ValidateRequirement checks one requirement at path. Values of the capacity type that nobody
// knows are ignored with a warning as long as a known one is left.
func ValidateRequirement(r *NodeSelectorRequirementWithMinValues, rules LabelRules, path *field.Path) (errs field.ErrorList, warnings []string) {
	key := rules.Normalize(r.Key)
	for _, problem := range validation.IsQualifiedName(key) {
		errs = append(errs, field.Invalid(path.Child("key"), r.Key, problem))
	}
	if why := rules.Restricted(key); why != "" {
		errs = append(errs, field.Forbidden(path.Child("key"), why))
	}
	switch r.Operator {
	case corev1.NodeSelectorOpIn:
		errs = append(errs, validateValues(r, path)...)
		more, warned := validateIn(r, key, path)
		errs, warnings = append(errs, more...), warned
	case corev1.NodeSelectorOpNotIn:
		errs = append(errs, validateValues(r, path)...)
	case corev1.NodeSelectorOpGt, corev1.NodeSelectorOpLt, NodeSelectorOpGte, NodeSelectorOpLte:
		errs = append(errs, validateBound(r, path)...)
	case corev1.NodeSelectorOpExists, corev1.NodeSelectorOpDoesNotExist:
	default:
		errs = append(errs, field.NotSupported(path.Child("operator"), r.Operator, operators))
	}
	return errs, warnings
}

var operators = []corev1.NodeSelectorOperator{
	corev1.NodeSelectorOpIn, corev1.NodeSelectorOpNotIn, corev1.NodeSelectorOpExists, corev1.NodeSelectorOpDoesNotExist,
	corev1.NodeSelectorOpGt, corev1.NodeSelectorOpLt, NodeSelectorOpGte, NodeSelectorOpLte,
}

func validateValues(r *NodeSelectorRequirementWithMinValues, path *field.Path) (errs field.ErrorList) {
	for i, value := range r.Values {
		for _, problem := range validation.IsValidLabelValue(value) {
			errs = append(errs, field.Invalid(path.Child("values").Index(i), value, problem))
		}
	}
	return errs
}

func validateBound(r *NodeSelectorRequirementWithMinValues, path *field.Path) field.ErrorList {
	if len(r.Values) == 1 {
		if n, err := strconv.Atoi(r.Values[0]); err == nil && n >= 0 {
			return nil
		}
	}
	return field.ErrorList{field.Invalid(path.Child("values"), r.Values,
		fmt.Sprintf("operator %s needs exactly one value, a non-negative integer", r.Operator))}
}

func validateIn(r *NodeSelectorRequirementWithMinValues, key string, path *field.Path) (errs field.ErrorList, warnings []string) {
	usable := slices.Compact(slices.Sorted(slices.Values(r.Values)))
	if len(usable) == 0 {
		return field.ErrorList{field.Required(path.Child("values"), "operator In needs at least one value")}, nil
	}
	if key == CapacityTypeLabelKey {
		var unknown []string
		usable = slices.DeleteFunc(usable, func(v string) bool {
			isUnknown := !slices.Contains(knownCapacityTypes, v)
			if isUnknown {
				unknown = append(unknown, v)
			}
			return isUnknown
		})
		if len(usable) == 0 {
			return field.ErrorList{field.NotSupported(path.Child("values"), strings.Join(unknown, ","), knownCapacityTypes)}, nil
		}
		if len(unknown) > 0 {
			warnings = append(warnings, fmt.Sprintf("%s: ignoring unknown capacity types %s; known are %s",
				path.Child("values"), strings.Join(unknown, ", "), strings.Join(knownCapacityTypes, ", ")))
		}
	}
	if r.MinValues != nil && len(usable) < *r.MinValues {
		errs = append(errs, field.Invalid(path.Child("minValues"), *r.MinValues,
			fmt.Sprintf("only %d usable values are listed; list more or ask for fewer", len(usable))))
	}
	return errs, warnings
}
