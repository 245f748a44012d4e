package audit_test

import (
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	awsv1 "github.com/kerf-sh/kerf/api/aws/v1"
	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/api/status"
	"github.com/kerf-sh/kerf/internal/awsmodel/ec2facts"
	"github.com/kerf-sh/kerf/internal/setup/snapshot"
)

// now is when all of these snapshots were taken.
var now = time.Date(2026, 11, 26, 9, 0, 0, 0, time.UTC)

// builder makes the objects of a cluster.
type builder struct {
	*snapshot.Snapshot
	serial int
}

func build() *builder {
	return &builder{Snapshot: &snapshot.Snapshot{TakenAt: now, KubernetesVersion: "v1.33.1", Region: "eu-west-1"}}
}

func (b *builder) meta(namespace, name string) metav1.ObjectMeta {
	b.serial++
	return metav1.ObjectMeta{Namespace: namespace, Name: name, UID: types.UID(fmt.Sprintf("uid-%d", b.serial)), CreationTimestamp: metav1.NewTime(now.Add(-24 * time.Hour)), Generation: 1}
}

func amounts(cpu, memory string) corev1.ResourceList {
	out := corev1.ResourceList{}
	if cpu != "" {
		out[corev1.ResourceCPU] = resource.MustParse(cpu)
	}
	if memory != "" {
		out[corev1.ResourceMemory] = resource.MustParse(memory)
	}
	return out
}

// node is a ready node of EC2.
func (b *builder) node(name, instanceType, zone string, labels map[string]string, taints ...corev1.Taint) *corev1.Node {
	facts, _ := ec2facts.Load()
	t, ok := facts.Type(instanceType)
	if !ok {
		panic("no type " + instanceType)
	}
	n := &corev1.Node{ObjectMeta: b.meta("", name)}
	n.Labels = map[string]string{
		corev1.LabelInstanceTypeStable: instanceType, corev1.LabelTopologyZone: zone, corev1.LabelTopologyRegion: "eu-west-1", corev1.LabelHostname: name,
		corev1.LabelArchStable: arch(t), corev1.LabelOSStable: "linux",
	}
	for k, v := range labels {
		n.Labels[k] = v
	}
	n.Spec = corev1.NodeSpec{ProviderID: fmt.Sprintf("aws:///%s/i-%017x", zone, b.serial), Taints: taints}
	memory := int64(t.MemoryMiB) << 20
	n.Status.Capacity = corev1.ResourceList{
		corev1.ResourceCPU: *resource.NewQuantity(int64(t.VCPUs), resource.DecimalSI), corev1.ResourceMemory: *resource.NewQuantity(memory*96/100, resource.BinarySI),
		corev1.ResourcePods: resource.MustParse("58"), corev1.ResourceEphemeralStorage: resource.MustParse("20Gi"),
	}
	n.Status.Allocatable = n.Status.Capacity.DeepCopy()
	n.Status.Allocatable[corev1.ResourceCPU] = *resource.NewMilliQuantity(int64(t.VCPUs)*1000-80, resource.DecimalSI)
	n.Status.Allocatable[corev1.ResourceMemory] = *resource.NewQuantity(memory*85/100, resource.BinarySI)
	n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
	b.Nodes = append(b.Nodes, n)
	return n
}

func arch(t *ec2facts.Type) string {
	for _, a := range t.Architectures {
		if a == "arm64" {
			return "arm64"
		}
	}
	return "amd64"
}

// replicas are pods of a Deployment, one on each of the nodes.
func (b *builder) replicas(namespace, name, cpu, memory string, change func(*corev1.PodSpec), nodes ...string) []*corev1.Pod {
	labels := map[string]string{"app": name}
	d := &appsv1.Deployment{ObjectMeta: b.meta(namespace, name)}
	d.Spec = appsv1.DeploymentSpec{Replicas: new(int32(len(nodes))), Selector: &metav1.LabelSelector{MatchLabels: labels}}
	b.Deployments = append(b.Deployments, d)
	set := &appsv1.ReplicaSet{ObjectMeta: b.meta(namespace, name+"-6d4c9")}
	set.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "Deployment", Name: name, UID: d.UID, Controller: new(true)}}
	set.Spec.Replicas = d.Spec.Replicas
	b.ReplicaSets = append(b.ReplicaSets, set)
	var out []*corev1.Pod
	for i, node := range nodes {
		p := b.pod(namespace, fmt.Sprintf("%s-6d4c9-%d", name, i), cpu, memory, node, labels)
		p.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: set.Name, UID: set.UID, Controller: new(true)}}
		if change != nil {
			change(&p.Spec)
		}
		out = append(out, p)
	}
	return out
}

func (b *builder) pod(namespace, name, cpu, memory, node string, labels map[string]string) *corev1.Pod {
	p := &corev1.Pod{ObjectMeta: b.meta(namespace, name)}
	p.Labels = labels
	p.Spec = corev1.PodSpec{NodeName: node, SchedulerName: "default-scheduler", Containers: []corev1.Container{{Name: "main", Resources: corev1.ResourceRequirements{Requests: amounts(cpu, memory)}}}}
	p.Status = corev1.PodStatus{Phase: corev1.PodRunning, Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}, {Type: corev1.PodScheduled, Status: corev1.ConditionTrue}}}
	if node == "" {
		p.Status = corev1.PodStatus{Phase: corev1.PodPending, Conditions: []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable}}}
	}
	b.Pods = append(b.Pods, p)
	return p
}

// daemon puts a pod of a DaemonSet on each node.
func (b *builder) daemon(name, cpu, memory string) {
	ds := &appsv1.DaemonSet{ObjectMeta: b.meta("kube-system", name)}
	labels := map[string]string{"app": name}
	everywhere := []corev1.Toleration{{Operator: corev1.TolerationOpExists}}
	ds.Spec = appsv1.DaemonSetSpec{Selector: &metav1.LabelSelector{MatchLabels: labels}, Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{
		Tolerations: everywhere, Containers: []corev1.Container{{Name: "main", Resources: corev1.ResourceRequirements{Requests: amounts(cpu, memory)}}},
	}}}
	b.DaemonSets = append(b.DaemonSets, ds)
	for i, n := range b.Nodes {
		p := b.pod("kube-system", fmt.Sprintf("%s-%d", name, i), cpu, memory, n.Name, labels)
		p.Spec.Tolerations = everywhere
		p.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "DaemonSet", Name: name, UID: ds.UID, Controller: new(true)}}
	}
}

// budget selects the pods of an app.
func (b *builder) budget(namespace, app string, maxUnavailable int, allowed int32) {
	x := &policyv1.PodDisruptionBudget{ObjectMeta: b.meta(namespace, app)}
	x.Spec = policyv1.PodDisruptionBudgetSpec{MaxUnavailable: new(intstr.FromInt32(int32(maxUnavailable))), Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": app}}}
	x.Status = policyv1.PodDisruptionBudgetStatus{ObservedGeneration: 1, DisruptionsAllowed: allowed, ExpectedPods: 3, CurrentHealthy: 3, DesiredHealthy: int32(3 - maxUnavailable)}
	b.Budgets = append(b.Budgets, x)
}

// used says what the pods of an app use.
func (b *builder) used(app, cpu, memory string) {
	for _, p := range b.Pods[max(0, len(b.Pods)-200):] {
		if p.Labels["app"] == app {
			m := &snapshot.PodMetrics{ObjectMeta: metav1.ObjectMeta{Namespace: p.Namespace, Name: p.Name}, Containers: []snapshot.ContainerMetrics{{Name: "main", Usage: amounts(cpu, memory)}}}
			b.Usage = append(b.Usage, m)
		}
	}
}

// withAutoscaler is a small cluster of managed node groups and Cluster Autoscaler, with most of what goes wrong in one.
func withAutoscaler() *builder {
	b := build()
	general := map[string]string{"eks.amazonaws.com/nodegroup": "general", "eks.amazonaws.com/capacityType": "ON_DEMAND", "team": "shared"}
	zones := []string{"eu-west-1a", "eu-west-1b", "eu-west-1c"}
	for i := range 6 {
		b.node(fmt.Sprintf("ip-10-0-0-%d", i+1), "m5.2xlarge", zones[i%3], general)
	}
	for i := range 2 {
		b.node(fmt.Sprintf("ip-10-0-1-%d", i+1), "m5.xlarge", zones[i], map[string]string{"eks.amazonaws.com/nodegroup": "spot", "eks.amazonaws.com/capacityType": "SPOT", "team": "batch"},
			corev1.Taint{Key: "batch", Value: "true", Effect: corev1.TaintEffectNoSchedule})
	}
	b.node("fargate-ip-10-0-2-1", "m5.large", "eu-west-1a", map[string]string{"eks.amazonaws.com/compute-type": "fargate", corev1.LabelInstanceTypeStable: ""})
	b.daemon("aws-node", "50m", "64Mi")
	b.daemon("datadog", "200m", "512Mi")
	b.replicas("kube-system", "cluster-autoscaler", "100m", "300Mi", nil, "ip-10-0-0-1")
	b.replicas("shop", "web", "1500m", "2Gi", nil, "ip-10-0-0-1", "ip-10-0-0-2", "ip-10-0-0-3")
	b.replicas("shop", "checkout", "500m", "1Gi", nil, "ip-10-0-0-2", "ip-10-0-0-2")
	b.replicas("shop", "search", "2", "6Gi", func(s *corev1.PodSpec) {
		s.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{TopologyKey: corev1.LabelHostname, LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "search"}}}}}}
	}, "ip-10-0-0-1", "ip-10-0-0-2", "ip-10-0-0-3")
	b.replicas("ledger", "postgres-proxy", "250m", "512Mi", nil, "ip-10-0-0-4", "ip-10-0-0-5", "ip-10-0-0-3")
	b.budget("ledger", "postgres-proxy", 0, 0)
	for _, p := range b.replicas("ledger", "import", "1", "1Gi", nil, "ip-10-0-0-5") {
		p.Annotations = map[string]string{"cluster-autoscaler.kubernetes.io/safe-to-evict": "false"}
	}
	b.replicas("batch", "worker", "3", "4Gi", func(s *corev1.PodSpec) {
		s.Tolerations = []corev1.Toleration{{Key: "batch", Operator: corev1.TolerationOpExists}}
		s.NodeSelector = map[string]string{"team": "batch"}
	}, "ip-10-0-1-1", "ip-10-0-1-2")
	b.pod("shop", "debug", "", "", "ip-10-0-0-3", nil)
	b.pod("shop", "later", "40", "1Gi", "", nil)
	b.used("web", "200m", "700Mi")
	b.used("search", "1800m", "3Gi")
	b.used("checkout", "50m", "100Mi")
	b.used("datadog", "40m", "200Mi")
	return b
}

// withKarpenter is a small cluster of NodePools, one of them narrow, with a node group for the controller.
func withKarpenter() *builder {
	b := build()
	class := &awsv1.EC2NodeClass{ObjectMeta: b.meta("", "default")}
	class.Spec.AMISelectorTerms = []awsv1.AMISelectorTerm{{Alias: "al2023@latest"}}
	for i, zone := range []string{"eu-west-1a", "eu-west-1b"} {
		class.Status.Subnets = append(class.Status.Subnets, awsv1.Subnet{ID: fmt.Sprintf("subnet-%d", i), Zone: zone, ZoneID: fmt.Sprintf("euw1-az%d", i+1)})
	}
	b.NodeClasses = append(b.NodeClasses, class)
	pool := func(name string, disruption karpv1.Disruption, requirements ...karpv1.NodeSelectorRequirementWithMinValues) {
		p := &karpv1.NodePool{ObjectMeta: b.meta("", name)}
		p.Spec.Disruption = disruption
		p.Spec.Disruption.ConsolidateAfter = karpv1.NillableDuration{Duration: new(30 * time.Second)}
		p.Spec.Template.Spec.NodeClassRef = &karpv1.NodeClassReference{Group: "karpenter.k8s.aws", Kind: "EC2NodeClass", Name: "default"}
		p.Spec.Template.Spec.Requirements = requirements
		b.NodePools = append(b.NodePools, p)
	}
	in := func(key string, values ...string) karpv1.NodeSelectorRequirementWithMinValues {
		return karpv1.NodeSelectorRequirementWithMinValues{Key: key, Operator: corev1.NodeSelectorOpIn, Values: values}
	}
	pool("default", karpv1.Disruption{ConsolidationPolicy: karpv1.ConsolidationPolicyWhenEmptyOrUnderutilized},
		in("karpenter.k8s.aws/instance-category", "c", "m", "r"), in("karpenter.sh/capacity-type", "on-demand", "spot"), in("kubernetes.io/arch", "amd64"))
	pool("legacy", karpv1.Disruption{ConsolidationPolicy: karpv1.ConsolidationPolicyWhenEmpty},
		in("node.kubernetes.io/instance-type", "m5.2xlarge", "m5.4xlarge"), in("karpenter.sh/capacity-type", "on-demand"), in("team", "legacy"))
	node := func(name, pool, instanceType, zone, capacityType string, labels map[string]string) {
		l := map[string]string{"karpenter.sh/nodepool": pool, "karpenter.sh/capacity-type": capacityType, "karpenter.sh/registered": "true", "karpenter.sh/initialized": "true", "karpenter.k8s.aws/ec2nodeclass": "default"}
		for k, v := range labels {
			l[k] = v
		}
		n := b.node(name, instanceType, zone, l)
		c := &karpv1.NodeClaim{ObjectMeta: b.meta("", pool+"-"+name)}
		c.Labels = l
		c.Spec.NodeClassRef = &karpv1.NodeClassReference{Group: "karpenter.k8s.aws", Kind: "EC2NodeClass", Name: "default"}
		c.Status.ProviderID, c.Status.NodeName = n.Spec.ProviderID, n.Name
		c.Status.Conditions = []status.Condition{{Type: "Initialized", Status: metav1.ConditionTrue, LastTransitionTime: metav1.NewTime(now.Add(-23 * time.Hour))}}
		b.NodeClaims = append(b.NodeClaims, c)
	}
	node("d1", "default", "m6i.2xlarge", "eu-west-1a", "on-demand", nil)
	node("d2", "default", "m6i.2xlarge", "eu-west-1b", "spot", nil)
	node("d3", "default", "c6i.xlarge", "eu-west-1b", "spot", nil)
	node("d4", "default", "c6i.large", "eu-west-1a", "on-demand", nil)
	node("l1", "legacy", "m5.4xlarge", "eu-west-1a", "on-demand", map[string]string{"team": "legacy"})
	node("l2", "legacy", "m5.4xlarge", "eu-west-1b", "on-demand", map[string]string{"team": "legacy"})
	b.node("s1", "m5.large", "eu-west-1a", map[string]string{"eks.amazonaws.com/nodegroup": "system", "eks.amazonaws.com/capacityType": "ON_DEMAND"})
	b.daemon("aws-node", "50m", "64Mi")
	b.replicas("kube-system", "karpenter", "500m", "512Mi", func(s *corev1.PodSpec) {
		s.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
			MatchExpressions: []corev1.NodeSelectorRequirement{{Key: "karpenter.sh/nodepool", Operator: corev1.NodeSelectorOpDoesNotExist}},
		}}}}}
	}, "s1")
	b.replicas("shop", "web", "1", "2Gi", func(s *corev1.PodSpec) {
		s.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{{MaxSkew: 1, TopologyKey: corev1.LabelTopologyZone, WhenUnsatisfiable: corev1.DoNotSchedule, LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}}}
	}, "d1", "d2", "d1", "d2")
	b.replicas("shop", "api", "500m", "1Gi", nil, "d3", "d2")
	for _, p := range b.replicas("shop", "report", "500m", "1Gi", nil, "d1") {
		p.Annotations = map[string]string{"karpenter.sh/do-not-disrupt": "true"}
	}
	legacy := func(s *corev1.PodSpec) { s.NodeSelector = map[string]string{"team": "legacy"} }
	b.replicas("legacy", "erp", "3", "8Gi", legacy, "l1", "l2")
	b.replicas("legacy", "cron", "500m", "1Gi", legacy, "l1")
	return b
}

// large is a cluster of node groups with so many nodes and twenty times as many pods, of workloads as companies have them.
func large(nodes int) *builder {
	b := build()
	zones := []string{"eu-west-1a", "eu-west-1b", "eu-west-1c"}
	types := []string{"m5.4xlarge", "m5.2xlarge", "r5.2xlarge", "c5.4xlarge", "m6i.4xlarge"}
	var names []string
	for i := range nodes {
		name := fmt.Sprintf("ip-10-%d-%d", i/250, i%250)
		kind := "ON_DEMAND"
		if i%5 == 0 {
			kind = "SPOT"
		}
		b.node(name, types[i%len(types)], zones[i%3], map[string]string{"eks.amazonaws.com/nodegroup": fmt.Sprintf("group-%d", i%7), "eks.amazonaws.com/capacityType": kind})
		names = append(names, name)
	}
	sizes := [][2]string{{"100m", "256Mi"}, {"250m", "512Mi"}, {"250m", "1Gi"}, {"500m", "1Gi"}, {"1", "2Gi"}, {"200m", "2Gi"}}
	next := 0
	for w := 0; next < nodes*17; w++ {
		replicas := []int{2, 3, 5, 10, 40, 120}[w%6]
		var on []string
		for range replicas {
			on = append(on, names[(next*7)%nodes])
			next++
		}
		app := fmt.Sprintf("app-%d", w)
		var change func(*corev1.PodSpec)
		switch w % 10 {
		case 1:
			change = func(s *corev1.PodSpec) {
				s.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{{MaxSkew: 1, TopologyKey: corev1.LabelTopologyZone, WhenUnsatisfiable: corev1.DoNotSchedule, LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": app}}}}
			}
		case 2:
			change = func(s *corev1.PodSpec) {
				s.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{{MaxSkew: 2, TopologyKey: corev1.LabelHostname, WhenUnsatisfiable: corev1.ScheduleAnyway, LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": app}}}}
			}
		case 3:
			change = func(s *corev1.PodSpec) { s.NodeSelector = map[string]string{corev1.LabelArchStable: "amd64"} }
		}
		size := sizes[w%len(sizes)]
		ns := fmt.Sprintf("team-%d", w%40)
		b.replicas(ns, app, size[0], size[1], change, on...)
		if w%4 == 0 && replicas > 1 {
			most := 1
			if w%60 == 0 {
				most = 0 // never allows
			}
			b.budget(ns, app, most, int32(most))
		}
		b.used(app, "80m", "200Mi")
	}
	b.daemon("aws-node", "50m", "64Mi")
	b.daemon("kube-proxy", "100m", "64Mi")
	b.daemon("agent", "200m", "512Mi")
	return b
}
