package convert

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

	awsv1 "github.com/kerf-sh/kerf/api/aws/v1"
	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
)

const oldPoolLabel = "karpenter.sh/provisioner-name"

func in(key string, values ...string) karpv1.NodeSelectorRequirementWithMinValues {
	return karpv1.NodeSelectorRequirementWithMinValues{Key: key, Operator: corev1.NodeSelectorOpIn, Values: values}
}

// requirements converts requirements; path is where they are.
func (f *fields) requirements(path ...string) []karpv1.NodeSelectorRequirementWithMinValues {
	out := []karpv1.NodeSelectorRequirementWithMinValues{}
	if !f.into(&out, path...) {
		return out
	}
	at := f.at(path...)
	kept := out[:0]
	for i, r := range out {
		if r.Key == oldPoolLabel || r.Key == karpv1.NodePoolLabelKey {
			f.lost(fmt.Sprintf("%s[%d]", at, i), "it named the pool itself, which goes without saying", "")
			continue
		}
		kept = append(kept, r)
	}
	f.kept(at, "spec.template.spec.requirements")
	return kept
}

// labels converts the labels of a pool's nodes.
func (f *fields) labels(path ...string) map[string]string {
	labels := f.textMap(path...)
	for _, k := range []string{oldPoolLabel, karpv1.NodePoolLabelKey} {
		if _, ok := labels[k]; ok {
			delete(labels, k)
			f.translated(member(f.at(path...), k), "label "+karpv1.NodePoolLabelKey, "the controller sets it itself")
		}
	}
	if len(labels) == 0 {
		return nil
	}
	f.kept(f.at(path...), "spec.template.metadata.labels")
	return labels
}

// instanceKeys are the keys by which a Provisioner chose instance types. Without any of them, releases from 0.19 on wrote
// two requirements of their own into the object; the earlier ones went by a list in their code.
var instanceKeys = []string{
	corev1.LabelInstanceTypeStable, corev1.LabelInstanceType,
	awsv1.LabelInstanceFamily, awsv1.LabelInstanceCategory, awsv1.LabelInstanceGeneration,
}

// oldDefaults spells out what a Provisioner asked of instances without saying so.
func (f *fields) oldDefaults(p *karpv1.NodePool) {
	spec := &p.Spec.Template.Spec
	asks := func(keys ...string) bool {
		return slices.ContainsFunc(keys, func(key string) bool {
			_, labelled := p.Spec.Template.Labels[key]
			return labelled || slices.ContainsFunc(spec.Requirements, func(r karpv1.NodeSelectorRequirementWithMinValues) bool { return r.Key == key })
		})
	}
	add := func(why string, r ...karpv1.NodeSelectorRequirementWithMinValues) {
		spec.Requirements = append(spec.Requirements, r...)
		for _, one := range r {
			f.translated("spec.requirements["+one.Key+"] (not set)", fmt.Sprintf("spec.template.spec.requirements: %s %s %v", one.Key, one.Operator, one.Values), why)
		}
	}
	const was = "it was the default and is none now"
	if !asks(corev1.LabelOSStable, "beta.kubernetes.io/os") {
		add(was, in(corev1.LabelOSStable, string(corev1.Linux)))
	}
	if !asks(corev1.LabelArchStable, "beta.kubernetes.io/arch") {
		add(was, in(corev1.LabelArchStable, karpv1.ArchitectureAMD64))
	}
	if !asks(karpv1.CapacityTypeLabelKey) {
		add(was, in(karpv1.CapacityTypeLabelKey, karpv1.CapacityTypeOnDemand))
	}
	if !asks(instanceKeys...) {
		add("it was the default where nothing chose instance types and is none now: other categories, such as g, p, t and x, and old generations were left out",
			in(awsv1.LabelInstanceCategory, "c", "m", "r"),
			karpv1.NodeSelectorRequirementWithMinValues{Key: awsv1.LabelInstanceGeneration, Operator: corev1.NodeSelectorOpGt, Values: []string{"2"}})
	}
}
