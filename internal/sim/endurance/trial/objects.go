package trial

import (
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	awsv1 "github.com/kerf-sh/kerf/api/aws/v1"
	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/internal/sim/endurance/witness"
)

// Families are the instance families that pools launch: few, so that shortages and prices touch what is launched.
var Families = []string{"m5", "m6i", "c5"}

// namespace is where apps live.
const namespace = "default"

func class(p Pool, cluster string) *awsv1.EC2NodeClass {
	discovery := map[string]string{"karpenter.sh/discovery": cluster}
	return &awsv1.EC2NodeClass{
		ObjectMeta: metav1.ObjectMeta{Name: p.Name},
		Spec: awsv1.EC2NodeClassSpec{
			AMISelectorTerms:           []awsv1.AMISelectorTerm{{Alias: "al2023@latest"}},
			Role:                       "KarpenterNodeRole-" + cluster,
			SubnetSelectorTerms:        []awsv1.SubnetSelectorTerm{{Tags: discovery}},
			SecurityGroupSelectorTerms: []awsv1.SecurityGroupSelectorTerm{{Tags: discovery}},
		},
	}
}

func pool(p Pool, pace Pace) *karpv1.NodePool {
	capacity := karpv1.CapacityTypeOnDemand
	if p.Spot {
		capacity = karpv1.CapacityTypeSpot
	}
	in := func(key string, values ...string) karpv1.NodeSelectorRequirementWithMinValues {
		return karpv1.NodeSelectorRequirementWithMinValues{Key: key, Operator: corev1.NodeSelectorOpIn, Values: values}
	}
	out := &karpv1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: p.Name}}
	out.Spec.Template.Spec = karpv1.NodeClaimTemplateSpec{
		NodeClassRef: &karpv1.NodeClassReference{Group: awsv1.Group, Kind: "EC2NodeClass", Name: p.Name},
		Requirements: []karpv1.NodeSelectorRequirementWithMinValues{
			in(awsv1.LabelInstanceFamily, Families...), in(karpv1.CapacityTypeLabelKey, capacity), in(awsv1.LabelInstanceCPU, "2", "4", "8"),
		},
	}
	if p.ExpireAfter > 0 {
		d := pace.of(p.ExpireAfter)
		out.Spec.Template.Spec.ExpireAfter = karpv1.NillableDuration{Duration: &d}
	}
	if p.Grace > 0 {
		out.Spec.Template.Spec.TerminationGracePeriod = &karpv1.Duration{Duration: max(pace.of(p.Grace), 20*time.Second)}
	}
	after := pace.ConsolidateAfter
	out.Spec.Disruption = karpv1.Disruption{
		ConsolidationPolicy: karpv1.ConsolidationPolicyWhenEmptyOrUnderutilized,
		ConsolidateAfter:    karpv1.NillableDuration{Duration: &after},
		Budgets:             []karpv1.Budget{{Nodes: p.Budget}},
	}
	return out
}

func deployment(a *App) *appsv1.Deployment {
	labels := map[string]string{"app": a.Name, witness.FitsLabel: "true"}
	out := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: a.Name, Labels: map[string]string{"endurance": "true"}}}
	out.Spec = appsv1.DeploymentSpec{
		Replicas: new(int32(a.Replicas)),
		Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": a.Name}},
		Template: corev1.PodTemplateSpec{
			ObjectMeta: metav1.ObjectMeta{Labels: labels},
			Spec: corev1.PodSpec{
				NodeSelector:                  map[string]string{karpv1.NodePoolLabelKey: a.Pool},
				TerminationGracePeriodSeconds: new(int64(5)),
				Containers: []corev1.Container{{
					Name: "c", Image: "registry.example/c:1",
					Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{
						corev1.ResourceCPU:    *resource.NewMilliQuantity(int64(a.MilliCPU), resource.DecimalSI),
						corev1.ResourceMemory: *resource.NewQuantity(int64(a.MiB)<<20, resource.BinarySI),
					}},
				}},
			},
		},
	}
	if a.Held {
		out.Spec.Template.Annotations = map[string]string{karpv1.DoNotDisruptAnnotationKey: "true"}
	}
	if a.Apart {
		out.Spec.Template.Spec.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{
				TopologyKey: corev1.LabelHostname, LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": a.Name}},
			}},
		}}
	}
	return out
}

func guard(a *App) *policyv1.PodDisruptionBudget {
	return &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: a.Name},
		Spec: policyv1.PodDisruptionBudgetSpec{
			MaxUnavailable: new(intstr.FromInt32(int32(*a.Guard))),
			Selector:       &metav1.LabelSelector{MatchLabels: map[string]string{"app": a.Name}},
		},
	}
}
