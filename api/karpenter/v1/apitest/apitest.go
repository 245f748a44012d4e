// Package apitest makes valid objects of the karpenter.sh group for tests.
package apitest

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/kerf-sh/kerf/api/karpenter/v1"
)

// NodePool returns a NodePool as the API server would store it, with its defaults, for the
// EC2NodeClass "default". Changes are applied in order.
func NodePool(name string, changes ...func(*v1.NodePool)) *v1.NodePool {
	p := &v1.NodePool{
		TypeMeta:   metav1.TypeMeta{APIVersion: v1.GroupVersion.String(), Kind: "NodePool"},
		ObjectMeta: metav1.ObjectMeta{Name: name, Generation: 1},
		Spec: v1.NodePoolSpec{
			Template: v1.NodeClaimTemplate{Spec: v1.NodeClaimTemplateSpec{
				Requirements: []v1.NodeSelectorRequirementWithMinValues{},
				NodeClassRef: NodeClassRef(),
				ExpireAfter:  v1.MustParseNillableDuration("720h"),
			}},
			Disruption: v1.Disruption{
				ConsolidateAfter:    v1.MustParseNillableDuration("0s"),
				ConsolidationPolicy: v1.ConsolidationPolicyWhenEmptyOrUnderutilized,
				Budgets:             []v1.Budget{{Nodes: "10%"}},
			},
		},
		Status: v1.NodePoolStatus{Nodes: new(int64(0))},
	}
	for _, change := range changes {
		change(p)
	}
	return p
}

// NodeClaim returns a NodeClaim of the NodePool "default" as the API server would store it.
// Changes are applied in order.
func NodeClaim(name string, changes ...func(*v1.NodeClaim)) *v1.NodeClaim {
	c := &v1.NodeClaim{
		TypeMeta: metav1.TypeMeta{APIVersion: v1.GroupVersion.String(), Kind: "NodeClaim"},
		ObjectMeta: metav1.ObjectMeta{
			Name: name, Generation: 1,
			Labels:     map[string]string{v1.NodePoolLabelKey: "default"},
			Finalizers: []string{v1.TerminationFinalizer},
		},
		Spec: v1.NodeClaimSpec{
			Requirements: []v1.NodeSelectorRequirementWithMinValues{},
			NodeClassRef: NodeClassRef(),
			ExpireAfter:  v1.MustParseNillableDuration("720h"),
			Resources: v1.ResourceRequirements{Requests: corev1.ResourceList{
				corev1.ResourceCPU:  resource.MustParse("1"),
				corev1.ResourcePods: resource.MustParse("3"),
			}},
		},
	}
	for _, change := range changes {
		change(c)
	}
	return c
}

// NodeClassRef returns a reference to the EC2NodeClass "default".
func NodeClassRef() *v1.NodeClassReference {
	return &v1.NodeClassReference{Group: "karpenter.k8s.aws", Kind: "EC2NodeClass", Name: "default"}
}

// Requirement returns a requirement with the given operator and values.
func Requirement(key string, operator corev1.NodeSelectorOperator, values ...string) v1.NodeSelectorRequirementWithMinValues {
	return v1.NodeSelectorRequirementWithMinValues{Key: key, Operator: operator, Values: values}
}

// WithRequirements returns a change that adds requirements to a NodePool's template.
func WithRequirements(requirements ...v1.NodeSelectorRequirementWithMinValues) func(*v1.NodePool) {
	return func(p *v1.NodePool) {
		p.Spec.Template.Spec.Requirements = append(p.Spec.Template.Spec.Requirements, requirements...)
	}
}
