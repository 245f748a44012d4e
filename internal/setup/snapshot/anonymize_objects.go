package snapshot

import (
	"cmp"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	storagev1 "k8s.io/api/storage/v1"

	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/api/karpenter/v1alpha1"
	"github.com/kerf-sh/kerf/api/status"

	awsv1 "github.com/kerf-sh/kerf/api/aws/v1"
)

func (a *anonymizer) node(in *corev1.Node) *corev1.Node {
	out := &corev1.Node{ObjectMeta: a.meta(in)}
	out.Spec = corev1.NodeSpec{ProviderID: a.providerID(in.Spec.ProviderID), Taints: a.taints(in.Spec.Taints), Unschedulable: in.Spec.Unschedulable}
	out.Status = corev1.NodeStatus{Capacity: a.amounts(in.Status.Capacity), Allocatable: a.amounts(in.Status.Allocatable)}
	out.Status.NodeInfo = a.nodeInfo(&in.Status.NodeInfo)
	for _, c := range in.Status.Conditions {
		if nodeConditions.MatchString(string(c.Type)) {
			out.Status.Conditions = append(out.Status.Conditions, corev1.NodeCondition{Type: c.Type, Status: state(c.Status), LastTransitionTime: c.LastTransitionTime})
		}
	}
	return out
}

func (a *anonymizer) nodeInfo(of *corev1.NodeSystemInfo) corev1.NodeSystemInfo {
	return corev1.NodeSystemInfo{Architecture: a.formed(architectures, of.Architecture), OperatingSystem: a.formed(systems, of.OperatingSystem), KubeletVersion: versions.FindString(of.KubeletVersion)}
}

// state is that of a condition.
func state[T ~string](of T) T {
	if of == "" {
		return ""
	}
	return cmp.Or(only(states, of), T(corev1.ConditionUnknown))
}

// providerID keeps the zone of an instance of EC2, and hashes the rest.
func (a *anonymizer) providerID(id string) string {
	rest, ok := strings.CutPrefix(id, "aws:///")
	zone, instance, found := strings.Cut(rest, "/")
	if !ok || !found || !zones.MatchString(zone) || strings.Contains(instance, "/") {
		scheme, _, found := strings.Cut(id, "://")
		if !found || !schemes.MatchString(scheme) {
			return a.hash(id)
		}
		return scheme + "://" + a.hash(id)
	}
	return "aws:///" + zone + "/i-" + a.hash(instance)
}

func (a *anonymizer) taints(in []corev1.Taint) []corev1.Taint {
	var out []corev1.Taint
	for _, t := range in {
		out = append(out, corev1.Taint{Key: a.key(t.Key), Value: a.value(t.Key, t.Value), Effect: t.Effect})
	}
	return out
}

func (a *anonymizer) amounts(in corev1.ResourceList) corev1.ResourceList {
	if in == nil {
		return nil
	}
	out := corev1.ResourceList{}
	for name, q := range in {
		if !resources.MatchString(string(name)) {
			name = corev1.ResourceName("example.com/" + a.hash(string(name)))
		}
		out[name] = q
	}
	return out
}

func (a *anonymizer) requirements(in corev1.ResourceRequirements) corev1.ResourceRequirements {
	return corev1.ResourceRequirements{Requests: a.amounts(in.Requests), Limits: a.amounts(in.Limits)}
}

func (a *anonymizer) pod(in *corev1.Pod) *corev1.Pod {
	out := &corev1.Pod{ObjectMeta: a.meta(in), Spec: a.podSpec(&in.Spec)}
	out.Status = corev1.PodStatus{Phase: in.Status.Phase, NominatedNodeName: a.name(in.Status.NominatedNodeName), StartTime: in.Status.StartTime, QOSClass: in.Status.QOSClass}
	for _, c := range in.Status.Conditions {
		if podConditions.MatchString(string(c.Type)) {
			out.Status.Conditions = append(out.Status.Conditions, corev1.PodCondition{Type: c.Type, Status: state(c.Status), Reason: publicReason(c.Reason), LastTransitionTime: c.LastTransitionTime})
		}
	}
	out.Status.ContainerStatuses, out.Status.InitContainerStatuses = a.statuses(in.Status.ContainerStatuses), a.statuses(in.Status.InitContainerStatuses)
	return out
}

// publicReason keeps the reasons of conditions that are read.
func publicReason(reason string) string {
	if reason == corev1.PodReasonUnschedulable || reason == corev1.PodReasonSchedulingGated {
		return reason
	}
	return ""
}

func (a *anonymizer) statuses(in []corev1.ContainerStatus) []corev1.ContainerStatus {
	var out []corev1.ContainerStatus
	for _, s := range in {
		one := corev1.ContainerStatus{Name: a.hash(s.Name), Ready: s.Ready, RestartCount: s.RestartCount, AllocatedResources: a.amounts(s.AllocatedResources)}
		if s.Resources != nil {
			r := a.requirements(*s.Resources)
			one.Resources = &r
		}
		if t := s.State.Terminated; t != nil {
			one.State.Terminated = &corev1.ContainerStateTerminated{ExitCode: t.ExitCode, StartedAt: t.StartedAt, FinishedAt: t.FinishedAt}
		}
		out = append(out, one)
	}
	return out
}

func (a *anonymizer) podSpec(in *corev1.PodSpec) corev1.PodSpec {
	out := corev1.PodSpec{
		NodeName: a.name(in.NodeName), NodeSelector: a.labels(in.NodeSelector), HostNetwork: in.HostNetwork, RestartPolicy: in.RestartPolicy, Overhead: a.amounts(in.Overhead),
		Priority: in.Priority, PriorityClassName: a.name(in.PriorityClassName), PreemptionPolicy: in.PreemptionPolicy, SchedulerName: a.name(in.SchedulerName),
		TerminationGracePeriodSeconds: in.TerminationGracePeriodSeconds,
	}
	if in.Resources != nil {
		r := a.requirements(*in.Resources)
		out.Resources = &r
	}
	out.Containers, out.InitContainers = a.containers(in.Containers), a.containers(in.InitContainers)
	for _, t := range in.Tolerations {
		out.Tolerations = append(out.Tolerations, corev1.Toleration{Key: a.key(t.Key), Operator: t.Operator, Value: a.value(t.Key, t.Value), Effect: t.Effect, TolerationSeconds: t.TolerationSeconds})
	}
	for _, g := range in.SchedulingGates {
		out.SchedulingGates = append(out.SchedulingGates, corev1.PodSchedulingGate{Name: a.hash(g.Name)})
	}
	for _, v := range in.Volumes {
		one := corev1.Volume{Name: a.name(v.Name)}
		switch {
		case v.PersistentVolumeClaim != nil:
			one.PersistentVolumeClaim = &corev1.PersistentVolumeClaimVolumeSource{ClaimName: a.name(v.PersistentVolumeClaim.ClaimName)}
		case v.Ephemeral != nil && v.Ephemeral.VolumeClaimTemplate != nil:
			spec := a.claimSpec(&v.Ephemeral.VolumeClaimTemplate.Spec)
			one.Ephemeral = &corev1.EphemeralVolumeSource{VolumeClaimTemplate: &corev1.PersistentVolumeClaimTemplate{Spec: spec}}
		case v.EmptyDir != nil:
			one.EmptyDir = &corev1.EmptyDirVolumeSource{Medium: only(mediums, v.EmptyDir.Medium), SizeLimit: v.EmptyDir.SizeLimit}
		default:
			continue
		}
		out.Volumes = append(out.Volumes, one)
	}
	for _, c := range in.TopologySpreadConstraints {
		one := corev1.TopologySpreadConstraint{
			MaxSkew: c.MaxSkew, TopologyKey: a.key(c.TopologyKey), WhenUnsatisfiable: c.WhenUnsatisfiable, LabelSelector: a.selector(c.LabelSelector), MinDomains: c.MinDomains,
			NodeAffinityPolicy: c.NodeAffinityPolicy, NodeTaintsPolicy: c.NodeTaintsPolicy,
		}
		for _, k := range c.MatchLabelKeys {
			one.MatchLabelKeys = append(one.MatchLabelKeys, a.key(k))
		}
		out.TopologySpreadConstraints = append(out.TopologySpreadConstraints, one)
	}
	out.Affinity = a.affinity(in.Affinity)
	return out
}

func (a *anonymizer) containers(in []corev1.Container) []corev1.Container {
	var out []corev1.Container
	for _, c := range in {
		one := corev1.Container{Name: a.hash(c.Name), Resources: a.requirements(c.Resources), RestartPolicy: c.RestartPolicy}
		for _, p := range c.Ports {
			if p.HostPort != 0 {
				one.Ports = append(one.Ports, corev1.ContainerPort{HostPort: p.HostPort, ContainerPort: p.ContainerPort, Protocol: p.Protocol})
			}
		}
		out = append(out, one)
	}
	return out
}

func (a *anonymizer) affinity(in *corev1.Affinity) *corev1.Affinity {
	if in == nil {
		return nil
	}
	out := &corev1.Affinity{}
	if n := in.NodeAffinity; n != nil {
		out.NodeAffinity = &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: a.nodeSelector(n.RequiredDuringSchedulingIgnoredDuringExecution)}
		for _, p := range n.PreferredDuringSchedulingIgnoredDuringExecution {
			out.NodeAffinity.PreferredDuringSchedulingIgnoredDuringExecution = append(out.NodeAffinity.PreferredDuringSchedulingIgnoredDuringExecution,
				corev1.PreferredSchedulingTerm{Weight: p.Weight, Preference: a.nodeTerm(&p.Preference)})
		}
	}
	if p := in.PodAffinity; p != nil {
		out.PodAffinity = &corev1.PodAffinity{RequiredDuringSchedulingIgnoredDuringExecution: a.podTerms(p.RequiredDuringSchedulingIgnoredDuringExecution), PreferredDuringSchedulingIgnoredDuringExecution: a.weighted(p.PreferredDuringSchedulingIgnoredDuringExecution)}
	}
	if p := in.PodAntiAffinity; p != nil {
		out.PodAntiAffinity = &corev1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: a.podTerms(p.RequiredDuringSchedulingIgnoredDuringExecution), PreferredDuringSchedulingIgnoredDuringExecution: a.weighted(p.PreferredDuringSchedulingIgnoredDuringExecution)}
	}
	return out
}

func (a *anonymizer) nodeSelector(in *corev1.NodeSelector) *corev1.NodeSelector {
	if in == nil {
		return nil
	}
	out := &corev1.NodeSelector{}
	for i := range in.NodeSelectorTerms {
		out.NodeSelectorTerms = append(out.NodeSelectorTerms, a.nodeTerm(&in.NodeSelectorTerms[i]))
	}
	return out
}

func (a *anonymizer) nodeTerm(in *corev1.NodeSelectorTerm) corev1.NodeSelectorTerm {
	return corev1.NodeSelectorTerm{MatchExpressions: a.nodeRequirements(in.MatchExpressions), MatchFields: a.nodeRequirements(in.MatchFields)}
}

func (a *anonymizer) nodeRequirements(in []corev1.NodeSelectorRequirement) []corev1.NodeSelectorRequirement {
	var out []corev1.NodeSelectorRequirement
	for _, r := range in {
		out = append(out, corev1.NodeSelectorRequirement{Key: a.key(r.Key), Operator: r.Operator, Values: a.values(r.Key, string(r.Operator), r.Values)})
	}
	return out
}

func (a *anonymizer) podTerms(in []corev1.PodAffinityTerm) []corev1.PodAffinityTerm {
	var out []corev1.PodAffinityTerm
	for _, t := range in {
		one := corev1.PodAffinityTerm{LabelSelector: a.selector(t.LabelSelector), NamespaceSelector: a.selector(t.NamespaceSelector), TopologyKey: a.key(t.TopologyKey)}
		for _, n := range t.Namespaces {
			one.Namespaces = append(one.Namespaces, a.name(n))
		}
		for _, k := range t.MatchLabelKeys {
			one.MatchLabelKeys = append(one.MatchLabelKeys, a.key(k))
		}
		for _, k := range t.MismatchLabelKeys {
			one.MismatchLabelKeys = append(one.MismatchLabelKeys, a.key(k))
		}
		out = append(out, one)
	}
	return out
}

func (a *anonymizer) weighted(in []corev1.WeightedPodAffinityTerm) []corev1.WeightedPodAffinityTerm {
	var out []corev1.WeightedPodAffinityTerm
	for _, w := range in {
		out = append(out, corev1.WeightedPodAffinityTerm{Weight: w.Weight, PodAffinityTerm: a.podTerms([]corev1.PodAffinityTerm{w.PodAffinityTerm})[0]})
	}
	return out
}

func (a *anonymizer) namespace(in *corev1.Namespace) *corev1.Namespace {
	return &corev1.Namespace{ObjectMeta: a.meta(in)}
}

func (a *anonymizer) template(in *corev1.PodTemplateSpec) corev1.PodTemplateSpec {
	out := corev1.PodTemplateSpec{Spec: a.podSpec(&in.Spec)}
	out.Labels = a.labels(in.Labels)
	return out
}

func (a *anonymizer) deployment(in *appsv1.Deployment) *appsv1.Deployment {
	return &appsv1.Deployment{ObjectMeta: a.meta(in), Spec: appsv1.DeploymentSpec{Replicas: in.Spec.Replicas, Selector: a.selector(in.Spec.Selector), Template: a.template(&in.Spec.Template)}}
}

func (a *anonymizer) replicaSet(in *appsv1.ReplicaSet) *appsv1.ReplicaSet {
	return &appsv1.ReplicaSet{ObjectMeta: a.meta(in), Spec: appsv1.ReplicaSetSpec{Replicas: in.Spec.Replicas, Selector: a.selector(in.Spec.Selector)}}
}

func (a *anonymizer) statefulSet(in *appsv1.StatefulSet) *appsv1.StatefulSet {
	return &appsv1.StatefulSet{ObjectMeta: a.meta(in), Spec: appsv1.StatefulSetSpec{Replicas: in.Spec.Replicas, Selector: a.selector(in.Spec.Selector), Template: a.template(&in.Spec.Template)}}
}

func (a *anonymizer) daemonSet(in *appsv1.DaemonSet) *appsv1.DaemonSet {
	return &appsv1.DaemonSet{ObjectMeta: a.meta(in), Spec: appsv1.DaemonSetSpec{Selector: a.selector(in.Spec.Selector), Template: a.template(&in.Spec.Template)}}
}

func (a *anonymizer) job(in *batchv1.Job) *batchv1.Job {
	return &batchv1.Job{
		ObjectMeta: a.meta(in), Spec: batchv1.JobSpec{Parallelism: in.Spec.Parallelism, Completions: in.Spec.Completions, Suspend: in.Spec.Suspend},
		Status: batchv1.JobStatus{StartTime: in.Status.StartTime, CompletionTime: in.Status.CompletionTime, Active: in.Status.Active, Succeeded: in.Status.Succeeded, Failed: in.Status.Failed},
	}
}

func (a *anonymizer) cronJob(of *batchv1.CronJob) *batchv1.CronJob {
	out := &batchv1.CronJob{ObjectMeta: a.meta(of), Spec: batchv1.CronJobSpec{Schedule: only(schedules, of.Spec.Schedule), Suspend: of.Spec.Suspend, ConcurrencyPolicy: of.Spec.ConcurrencyPolicy}}
	out.Spec.JobTemplate.Spec.Template = a.template(&of.Spec.JobTemplate.Spec.Template)
	return out
}

func (a *anonymizer) budget(in *policyv1.PodDisruptionBudget) *policyv1.PodDisruptionBudget {
	out := &policyv1.PodDisruptionBudget{ObjectMeta: a.meta(in)}
	out.Spec = policyv1.PodDisruptionBudgetSpec{MinAvailable: share(in.Spec.MinAvailable), MaxUnavailable: share(in.Spec.MaxUnavailable), Selector: a.selector(in.Spec.Selector), UnhealthyPodEvictionPolicy: in.Spec.UnhealthyPodEvictionPolicy}
	s := in.Status
	out.Status = policyv1.PodDisruptionBudgetStatus{ObservedGeneration: s.ObservedGeneration, DisruptionsAllowed: s.DisruptionsAllowed, CurrentHealthy: s.CurrentHealthy, DesiredHealthy: s.DesiredHealthy, ExpectedPods: s.ExpectedPods}
	return out
}

func (a *anonymizer) volume(in *corev1.PersistentVolume) *corev1.PersistentVolume {
	out := &corev1.PersistentVolume{ObjectMeta: a.meta(in)}
	out.Spec = corev1.PersistentVolumeSpec{Capacity: a.amounts(in.Spec.Capacity), AccessModes: in.Spec.AccessModes, StorageClassName: a.name(in.Spec.StorageClassName), VolumeMode: in.Spec.VolumeMode}
	if in.Spec.NodeAffinity != nil {
		out.Spec.NodeAffinity = &corev1.VolumeNodeAffinity{Required: a.nodeSelector(in.Spec.NodeAffinity.Required)}
	}
	if r := in.Spec.ClaimRef; r != nil {
		out.Spec.ClaimRef = &corev1.ObjectReference{Kind: "PersistentVolumeClaim", APIVersion: "v1", Namespace: a.name(r.Namespace), Name: a.name(r.Name)}
	}
	if c := in.Spec.CSI; c != nil {
		out.Spec.CSI = &corev1.CSIPersistentVolumeSource{Driver: driver(a, c.Driver), VolumeHandle: a.hash(c.VolumeHandle)}
	}
	return out
}

// driver keeps the names of AWS's drivers, which have limits of their own.
func driver(a *anonymizer, name string) string {
	return a.formed(drivers, name)
}

func (a *anonymizer) claimSpec(in *corev1.PersistentVolumeClaimSpec) corev1.PersistentVolumeClaimSpec {
	out := corev1.PersistentVolumeClaimSpec{AccessModes: in.AccessModes, VolumeName: a.name(in.VolumeName), VolumeMode: in.VolumeMode, Resources: corev1.VolumeResourceRequirements{Requests: a.amounts(in.Resources.Requests)}}
	if in.StorageClassName != nil {
		out.StorageClassName = new(a.name(*in.StorageClassName))
	}
	return out
}

func (a *anonymizer) volumeClaim(in *corev1.PersistentVolumeClaim) *corev1.PersistentVolumeClaim {
	return &corev1.PersistentVolumeClaim{ObjectMeta: a.meta(in), Spec: a.claimSpec(&in.Spec), Status: corev1.PersistentVolumeClaimStatus{Phase: in.Status.Phase}}
}

func (a *anonymizer) storageClass(in *storagev1.StorageClass) *storagev1.StorageClass {
	out := &storagev1.StorageClass{ObjectMeta: a.meta(in), Provisioner: driver(a, in.Provisioner), VolumeBindingMode: in.VolumeBindingMode}
	for _, t := range in.AllowedTopologies {
		var one corev1.TopologySelectorTerm
		for _, e := range t.MatchLabelExpressions {
			one.MatchLabelExpressions = append(one.MatchLabelExpressions, corev1.TopologySelectorLabelRequirement{Key: a.key(e.Key), Values: a.values(e.Key, "", e.Values)})
		}
		out.AllowedTopologies = append(out.AllowedTopologies, one)
	}
	return out
}

func (a *anonymizer) csiNode(in *storagev1.CSINode) *storagev1.CSINode {
	out := &storagev1.CSINode{ObjectMeta: a.meta(in)}
	for _, d := range in.Spec.Drivers {
		one := storagev1.CSINodeDriver{Name: driver(a, d.Name), NodeID: a.hash(d.NodeID), Allocatable: d.Allocatable}
		for _, k := range d.TopologyKeys {
			one.TopologyKeys = append(one.TopologyKeys, a.key(k))
		}
		out.Spec.Drivers = append(out.Spec.Drivers, one)
	}
	return out
}

func (a *anonymizer) priorityClass(in *schedulingv1.PriorityClass) *schedulingv1.PriorityClass {
	return &schedulingv1.PriorityClass{ObjectMeta: a.meta(in), Value: in.Value, GlobalDefault: in.GlobalDefault, PreemptionPolicy: in.PreemptionPolicy}
}

func (a *anonymizer) usage(in *PodMetrics) *PodMetrics {
	out := &PodMetrics{ObjectMeta: a.meta(in), Timestamp: in.Timestamp, Window: in.Window}
	for _, c := range in.Containers {
		out.Containers = append(out.Containers, ContainerMetrics{Name: a.hash(c.Name), Usage: a.amounts(c.Usage)})
	}
	return out
}

func (a *anonymizer) poolRequirements(in []karpv1.NodeSelectorRequirementWithMinValues) []karpv1.NodeSelectorRequirementWithMinValues {
	var out []karpv1.NodeSelectorRequirementWithMinValues
	for _, r := range in {
		one := r
		one.Key, one.Values = a.key(r.Key), a.values(r.Key, string(r.Operator), r.Values)
		out = append(out, one)
	}
	return out
}

func (a *anonymizer) classRef(in *karpv1.NodeClassReference) *karpv1.NodeClassReference {
	if in == nil {
		return nil
	}
	out := *in
	if in.Group != awsv1.Group || in.Kind != "EC2NodeClass" {
		out.Group, out.Kind = a.hash(in.Group), a.hash(in.Kind)
	}
	out.Name = a.name(in.Name)
	return &out
}

func conditions(list []status.Condition) []status.Condition {
	var out []status.Condition
	for _, c := range list {
		if !objectConditions.MatchString(c.Type) {
			continue
		}
		out = append(out, status.Condition{Type: c.Type, Status: state(c.Status), ObservedGeneration: c.ObservedGeneration, LastTransitionTime: c.LastTransitionTime})
	}
	return out
}

func (a *anonymizer) nodePool(in *karpv1.NodePool) *karpv1.NodePool {
	out := &karpv1.NodePool{ObjectMeta: a.meta(in)}
	out.Spec.Weight, out.Spec.Replicas, out.Spec.Disruption = in.Spec.Weight, in.Spec.Replicas, disruption(in.Spec.Disruption)
	out.Spec.Limits = karpv1.Limits(a.amounts(corev1.ResourceList(in.Spec.Limits)))
	from, to := &in.Spec.Template, &out.Spec.Template
	to.Labels = a.labels(from.Labels)
	to.Spec.Taints, to.Spec.StartupTaints, to.Spec.Requirements = a.taints(from.Spec.Taints), a.taints(from.Spec.StartupTaints), a.poolRequirements(from.Spec.Requirements)
	to.Spec.NodeClassRef, to.Spec.TerminationGracePeriod, to.Spec.ExpireAfter = a.classRef(from.Spec.NodeClassRef), from.Spec.TerminationGracePeriod, from.Spec.ExpireAfter
	out.Status.Conditions = conditions(in.Status.Conditions)
	return out
}

// disruption leaves out what budgets can't say.
func disruption(of karpv1.Disruption) karpv1.Disruption {
	of.Budgets = slices.Clone(of.Budgets)
	for i := range of.Budgets {
		b := &of.Budgets[i]
		b.Nodes, b.Schedule = only(numbers, b.Nodes), onlyPointer(schedules, b.Schedule)
	}
	return of
}

func (a *anonymizer) nodeClaim(in *karpv1.NodeClaim) *karpv1.NodeClaim {
	out := &karpv1.NodeClaim{ObjectMeta: a.meta(in)}
	out.Spec.Taints, out.Spec.StartupTaints, out.Spec.Requirements = a.taints(in.Spec.Taints), a.taints(in.Spec.StartupTaints), a.poolRequirements(in.Spec.Requirements)
	out.Spec.NodeClassRef, out.Spec.TerminationGracePeriod, out.Spec.ExpireAfter = a.classRef(in.Spec.NodeClassRef), in.Spec.TerminationGracePeriod, in.Spec.ExpireAfter
	out.Spec.Resources.Requests = a.amounts(in.Spec.Resources.Requests)
	out.Status.NodeName, out.Status.ProviderID = a.name(in.Status.NodeName), a.providerID(in.Status.ProviderID)
	out.Status.Capacity, out.Status.Allocatable = a.amounts(in.Status.Capacity), a.amounts(in.Status.Allocatable)
	out.Status.Conditions, out.Status.LastPodEventTime = conditions(in.Status.Conditions), in.Status.LastPodEventTime
	return out
}

func (a *anonymizer) nodeOverlay(of *v1alpha1.NodeOverlay) *v1alpha1.NodeOverlay {
	out := &v1alpha1.NodeOverlay{ObjectMeta: a.meta(of)}
	for _, r := range of.Spec.Requirements {
		out.Spec.Requirements = append(out.Spec.Requirements, v1alpha1.NodeSelectorRequirement{Key: a.key(r.Key), Operator: r.Operator, Values: a.values(r.Key, string(r.Operator), r.Values)})
	}
	out.Spec.Price, out.Spec.PriceAdjustment, out.Spec.Capacity, out.Spec.Weight = onlyPointer(numbers, of.Spec.Price), onlyPointer(numbers, of.Spec.PriceAdjustment), a.amounts(of.Spec.Capacity), of.Spec.Weight
	out.Status.Conditions = conditions(of.Status.Conditions)
	return out
}

func (a *anonymizer) nodeClass(of *awsv1.EC2NodeClass) *awsv1.EC2NodeClass {
	out := &awsv1.EC2NodeClass{ObjectMeta: a.meta(of)}
	from, to := &of.Spec, &out.Spec
	to.AMIFamily, to.IPPrefixCount, to.InstanceStorePolicy = onlyPointer(families, from.AMIFamily), from.IPPrefixCount, from.InstanceStorePolicy
	to.EnclaveOptions, to.ConnectionTracking = from.EnclaveOptions, from.ConnectionTracking
	if from.CPUOptions != nil {
		to.CPUOptions = &awsv1.CPUOptions{NestedVirtualization: onlyPointer(switches, from.CPUOptions.NestedVirtualization)}
	}
	for _, t := range from.AMISelectorTerms {
		if aliases.MatchString(t.Alias) { // says the family, and whether it is pinned
			to.AMISelectorTerms = append(to.AMISelectorTerms, awsv1.AMISelectorTerm{Alias: t.Alias})
		}
	}
	if from.Kubelet != nil {
		k := *from.Kubelet
		k.ClusterDNS, k.Others = nil, nil
		k.SystemReserved, k.KubeReserved = amountsOf(k.SystemReserved), amountsOf(k.KubeReserved)
		k.EvictionHard, k.EvictionSoft, k.EvictionSoftGracePeriod = amountsOf(k.EvictionHard), amountsOf(k.EvictionSoft), amountsOf(k.EvictionSoftGracePeriod)
		to.Kubelet = &k
	}
	for _, m := range from.BlockDeviceMappings {
		one := awsv1.BlockDeviceMapping{RootVolume: m.RootVolume}
		if m.DeviceName != nil {
			one.DeviceName = new(a.formed(devices, *m.DeviceName))
		}
		if m.EBS != nil {
			one.EBS = &awsv1.BlockDevice{VolumeSize: m.EBS.VolumeSize, VolumeType: onlyPointer(volumeTypes, m.EBS.VolumeType)}
		}
		to.BlockDeviceMappings = append(to.BlockDeviceMappings, one)
	}
	for _, s := range of.Status.Subnets {
		out.Status.Subnets = append(out.Status.Subnets, awsv1.Subnet{ID: a.hash(s.ID), Zone: a.formed(zones, s.Zone), ZoneID: a.formed(zoneIDs, s.ZoneID)})
	}
	for _, i := range of.Status.AMIs {
		out.Status.AMIs = append(out.Status.AMIs, awsv1.AMI{ID: a.hash(i.ID), Deprecated: i.Deprecated, Requirements: a.nodeRequirements(i.Requirements)})
	}
	out.Status.Conditions = conditions(of.Status.Conditions)
	return out
}
