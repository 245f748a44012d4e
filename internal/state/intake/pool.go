package intake

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"

	awsv1 "github.com/kerf-sh/kerf/api/aws/v1"
	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/internal/engine/catalog"
	"github.com/kerf-sh/kerf/internal/engine/cluster"
	"github.com/kerf-sh/kerf/internal/engine/requirement"
)

// nodeClassKind is the kind of node class that Kerf knows.
const nodeClassKind = "EC2NodeClass"

// IsManaged reports whether a nodeClassRef is of the kind that Kerf serves; objects of other kinds belong to others.
func IsManaged(ref *karpv1.NodeClassReference) bool {
	return ref != nil && ref.Group == awsv1.Group && ref.Kind == nodeClassKind
}

// Terms converts requirements of the API; keys get their present names.
func Terms(in []karpv1.NodeSelectorRequirementWithMinValues) []requirement.Term {
	var out []requirement.Term
	for _, r := range in {
		t := requirement.Term{Key: Key(r.Key), Operator: requirement.Operator(r.Operator), Values: slices.Clone(r.Values)}
		if r.MinValues != nil {
			t.MinValues = *r.MinValues
		}
		if t.Operator == requirement.In || t.Operator == requirement.NotIn {
			t.Values = sortedSet(t.Values)
		}
		out = append(out, t)
	}
	return sortTerms(out)
}

// Pool converts a NodePool. Types are those of its node class; class is nil when there is none. Used is left to the
// caller, who knows the nodes.
func Pool(pool *karpv1.NodePool, class *awsv1.EC2NodeClass, types []*catalog.Type) *cluster.Pool {
	template := &pool.Spec.Template
	labels, taints := PoolLabels(pool), template.Spec.Taints
	if told := launchTemplate(class); told != nil {
		// The pool has the last word on labels: they are written over when the node registers.
		for k, v := range told.Labels {
			_, said := labels[k]
			said = said || slices.ContainsFunc(template.Spec.Requirements, func(r karpv1.NodeSelectorRequirementWithMinValues) bool { return r.Key == k })
			if !said {
				labels[k] = v
			}
		}
		taints = slices.Concat(taints, told.Taints)
	}
	out := &cluster.Pool{
		Name:          pool.Name,
		Requirements:  Terms(template.Spec.Requirements),
		Labels:        labels,
		Taints:        Taints(taints),
		StartupTaints: Taints(template.Spec.StartupTaints),
		Limits:        Resources(corev1.ResourceList(pool.Spec.Limits)),
		Types:         types,
		NotReady:      notReady(pool, class),
		Version:       PoolVersion(pool),
	}
	if pool.Spec.Weight != nil {
		out.Weight = int(*pool.Spec.Weight)
	}
	for _, k := range slices.Sorted(maps.Keys(labels)) {
		out.Requirements = append(out.Requirements, requirement.Term{Key: Key(k), Operator: requirement.In, Values: []string{labels[k]}})
	}
	out.Requirements = sortTerms(out.Requirements)
	return out
}

// PoolVersion is another one once the NodePool's template is changed, or the NodePool is made anew under its name. Limits, weight and
// disruption are not in it: launches are checked against the newest limits, and the others change nothing of a node.
func PoolVersion(pool *karpv1.NodePool) string {
	template, err := json.Marshal(&pool.Spec.Template)
	if err != nil {
		return "" // only strings, numbers, maps and lists: can't happen
	}
	sum := sha256.Sum256(template)
	return string(pool.UID) + "/" + hex.EncodeToString(sum[:10])
}

// launchTemplate is the user's own launch template of a class: kubelets on its instances are told labels and taints that the
// pool knows nothing of.
func launchTemplate(class *awsv1.EC2NodeClass) *awsv1.LaunchTemplate {
	if class == nil || class.Spec.LaunchTemplate == nil {
		return nil
	}
	return class.Status.LaunchTemplate
}

// PoolLabels are the labels that every node of the pool has: the template's, the pool's name and the node class's.
func PoolLabels(pool *karpv1.NodePool) map[string]string {
	labels := map[string]string{}
	maps.Copy(labels, pool.Spec.Template.Labels)
	labels[karpv1.NodePoolLabelKey] = pool.Name
	if ref := pool.Spec.Template.Spec.NodeClassRef; ref != nil {
		labels[awsv1.LabelNodeClass] = ref.Name
	}
	return labels
}

func notReady(pool *karpv1.NodePool, class *awsv1.EC2NodeClass) string {
	name := ""
	if ref := pool.Spec.Template.Spec.NodeClassRef; ref != nil {
		name = ref.Name
	}
	switch {
	case pool.DeletionTimestamp != nil:
		return "the NodePool is being deleted"
	case class == nil:
		return fmt.Sprintf("EC2NodeClass %q (spec.template.spec.nodeClassRef.name) does not exist; create it or name another", name)
	case class.DeletionTimestamp != nil:
		return fmt.Sprintf("EC2NodeClass %q is being deleted", name)
	}
	for _, t := range []string{karpv1.ConditionTypeValidationSucceeded, karpv1.ConditionTypeNodeClassReady, karpv1.ConditionTypeReady} {
		if c := pool.StatusConditions().Get(t); !c.IsTrue() {
			if c.Message == "" {
				return fmt.Sprintf("condition %s is %s", t, c.Status)
			}
			return fmt.Sprintf("condition %s is %s: %s", t, c.Status, c.Message)
		}
	}
	return ""
}
