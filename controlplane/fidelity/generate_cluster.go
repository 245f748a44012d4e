package fidelity

import (
	"fmt"
	"maps"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	awsv1 "github.com/kerf-sh/kerf/api/aws/v1"
	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/internal/state/intake"
)

const (
	driver       = "ebs.csi.aws.com"
	driverZone   = "topology.ebs.csi.aws.com/zone" // the driver's name for the zone
	priorityLow  = "fidelity-low"
	priorityHigh = "fidelity-high"
)

// daemons draws daemon sets. They live in a namespace of their own, as they mostly do: no spread and no affinity of a case
// selects their pods, which the engine does not count on instances that are yet to be launched.
func (g *generator) daemons() {
	if !g.maybe("daemons") && !g.one(6) {
		return
	}
	for range 1 + g.rng.IntN(2) {
		ds := &appsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{Namespace: spaceD, Name: g.name("daemon")}}
		t := &ds.Spec.Template
		t.Labels = map[string]string{"app": pick(g, "agent", "agent", "web")}
		t.Spec.Containers = []corev1.Container{{Name: "main", Image: "none", Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{
			corev1.ResourceCPU: quantity(pick(g, "20m", "100m", "200m")), corev1.ResourceMemory: quantity(pick(g, "32Mi", "128Mi"))}}}}
		switch g.rng.IntN(5) {
		case 0:
			k, v := g.label()
			t.Spec.NodeSelector = map[string]string{k: v}
		case 1:
			t.Spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{
				NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchExpressions: []corev1.NodeSelectorRequirement{g.expression()}}}}}}
		}
		if g.one(2) {
			t.Spec.Tolerations = []corev1.Toleration{{Operator: corev1.TolerationOpExists}}
		}
		if g.maybe("host-ports") {
			t.Spec.Containers[0].Ports = []corev1.ContainerPort{{ContainerPort: 1, HostPort: pick(g, int32(8080), 7070), Protocol: corev1.ProtocolTCP}}
		}
		g.c.DaemonSets = append(g.c.DaemonSets, ds)
	}
}

func (g *generator) storage() {
	mode := storagev1.VolumeBindingWaitForFirstConsumer
	for _, name := range []string{"wait", "wait-in-zones"} {
		c := &storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: name}, Provisioner: driver, VolumeBindingMode: &mode}
		if name == "wait-in-zones" {
			key := pick(g, corev1.LabelTopologyZone, driverZone)
			c.AllowedTopologies = []corev1.TopologySelectorTerm{{MatchLabelExpressions: []corev1.TopologySelectorLabelRequirement{{Key: key, Values: some(g, zones...)}}}}
		}
		g.c.StorageClasses = append(g.c.StorageClasses, c)
	}
}

// volumesOf draws how the pods of the group keep their data.
func (g *generator) volumesOf(grp *group) {
	if !g.maybe("volumes") && !g.maybe("attach-limits") {
		return
	}
	class := pick(g, "wait", "wait", "wait-in-zones")
	make := func(name string, bound bool) *corev1.PersistentVolumeClaim {
		c := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: grp.namespace, Name: name}, Spec: corev1.PersistentVolumeClaimSpec{
			StorageClassName: new(class), AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			Resources: corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: quantity("1Gi")}}}}
		if bound {
			g.bind(c)
		}
		return c
	}
	kind := g.rng.IntN(6)
	if kind == 0 || kind == 5 { // one volume for all
		c := make(g.name("shared"), true)
		g.c.Claims = append(g.c.Claims, c)
		grp.named = c.Name
	}
	switch kind {
	case 1, 2, 5:
		grp.claim = func(pod string) *corev1.PersistentVolumeClaim { return make("data-"+pod, true) }
	case 3, 4:
		grp.claim = func(pod string) *corev1.PersistentVolumeClaim { return make("data-"+pod, false) }
	}
}

// bind gives the claim a volume in some zone.
func (g *generator) bind(c *corev1.PersistentVolumeClaim) {
	c.Annotations = map[string]string{"pv.kubernetes.io/bind-completed": "yes", "pv.kubernetes.io/bound-by-controller": "yes"}
	c.Status.Phase = corev1.ClaimBound
	if g.maybe("hosts-by-name") { // a disk that is part of an instance
		v := volumeFor(c, g.name(fmt.Sprintf("fidelity-%d", g.c.Seed)), corev1.LabelHostname, pick(g, "old-1", "old-2"))
		c.Spec.VolumeName = v.Name
		g.c.Volumes = append(g.c.Volumes, v)
		return
	}
	key := pick(g, corev1.LabelTopologyZone, driverZone)
	v := volumeFor(c, g.name(fmt.Sprintf("fidelity-%d", g.c.Seed)), key, some(g, pick(g, zones...))...)
	c.Spec.VolumeName = v.Name
	g.c.Volumes = append(g.c.Volumes, v)
}

// volumeFor is a volume that serves the claim from instances in the zones.
func volumeFor(c *corev1.PersistentVolumeClaim, name, key string, in ...string) *corev1.PersistentVolume {
	return &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{caseLabel: "volume"}},
		Spec: corev1.PersistentVolumeSpec{
			StorageClassName: *c.Spec.StorageClassName, AccessModes: c.Spec.AccessModes, Capacity: c.Spec.Resources.Requests,
			PersistentVolumeReclaimPolicy: corev1.PersistentVolumeReclaimRetain,
			PersistentVolumeSource:        corev1.PersistentVolumeSource{CSI: &corev1.CSIPersistentVolumeSource{Driver: driver, VolumeHandle: name}},
			ClaimRef:                      &corev1.ObjectReference{Kind: "PersistentVolumeClaim", APIVersion: "v1", Namespace: c.Namespace, Name: c.Name, UID: c.UID},
			NodeAffinity: &corev1.VolumeNodeAffinity{Required: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
				MatchExpressions: []corev1.NodeSelectorRequirement{{Key: key, Operator: corev1.NodeSelectorOpIn, Values: in}}}}}},
		}}
}

// nodes draws instances that are there already, with pods that look like some of those that wait.
func (g *generator) nodes(groups []*group) {
	if !g.maybe("existing") && !g.one(4) {
		return
	}
	for range 1 + g.rng.IntN(4) {
		g.node(groups)
	}
}

func (g *generator) node(groups []*group) {
	if g.maybe("leaving") {
		t := g.c.Types[g.rng.IntN(len(g.c.Types))]
		g.c.Leaving = append(g.c.Leaving, instance(g.name("leaving"), t, t.Offerings[0], map[string]string{karpv1.NodePoolLabelKey: "pool-1"}, nil))
		return
	}
	t := g.c.Types[g.rng.IntN(len(g.c.Types))]
	o := t.Offerings[g.rng.IntN(len(t.Offerings))]
	if !slices.Contains(zones, o.Zone) {
		return
	}
	custom := map[string]string{}
	if g.one(2) {
		custom[karpv1.NodePoolLabelKey] = pick(g, g.c.Pools...).Name
	}
	if g.one(3) {
		custom[teamKey] = pick(g, "red", "blue")
	}
	if g.one(3) {
		custom[tierKey] = pick(g, "gold", "tin")
	}
	var taints []corev1.Taint
	if g.maybe("taints") {
		taints = append(taints, corev1.Taint{Key: "dedicated", Value: "red", Effect: pick(g, corev1.TaintEffectNoSchedule, corev1.TaintEffectNoExecute)})
	}
	if g.maybe("taints") {
		taints = append(taints, corev1.Taint{Key: "disliked", Effect: corev1.TaintEffectPreferNoSchedule})
	}
	n := instance(g.name("old"), t, o, custom, taints)
	if g.maybe("foreign-nodes") { // not ours, and without some label that others have
		for _, k := range []string{karpv1.NodePoolLabelKey, awsv1.LabelNodeClass, karpv1.NodeRegisteredLabelKey, karpv1.NodeInitializedLabelKey, karpv1.CapacityTypeLabelKey} {
			delete(n.Labels, k)
		}
		for _, k := range pick(g, nil, []string{corev1.LabelTopologyZone, corev1.LabelFailureDomainBetaZone, driverZone}, []string{corev1.LabelInstanceTypeStable, awsv1.LabelInstanceFamily}, []string{corev1.LabelArchStable, "beta.kubernetes.io/arch"}) {
			delete(n.Labels, k)
		}
	}
	n.Spec.Unschedulable = g.one(8)
	limit := int32(1 + g.rng.IntN(4))
	g.c.Nodes = append(g.c.Nodes, n)
	g.c.CSINodes = append(g.c.CSINodes, csiNode(n.Name, limit))
	g.c.Running = append(g.c.Running, daemonPods(g.c.DaemonSets, n)...)
	if n.Spec.Unschedulable || slices.ContainsFunc(n.Spec.Taints, func(t corev1.Taint) bool { return t.Effect != corev1.TaintEffectPreferNoSchedule }) {
		return
	}
	free := intake.Resources(n.Status.Allocatable)
	for range g.rng.IntN(4) {
		g.runOn(n, pick(g, groups...), free)
	}
}

// runOn puts a plain pod onto the instance; of the group it has the labels and, at times, what it holds against others.
func (g *generator) runOn(n *corev1.Node, like *group, free map[string]int64) {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: like.namespace, Name: g.name("running"), Labels: maps.Clone(like.labels)}}
	pod.Spec = corev1.PodSpec{NodeName: n.Name, TerminationGracePeriodSeconds: new(int64(0)), Containers: []corev1.Container{{Name: "main", Image: "none",
		Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: quantity(pick(g, "100m", "300m"))}}}}}
	if a := like.spec.Affinity; a != nil && a.PodAntiAffinity != nil && len(g.c.Running) == 0 {
		pod.Spec.Affinity = &corev1.Affinity{PodAntiAffinity: a.PodAntiAffinity.DeepCopy()}
	}
	if free["cpu"] -= 300; free["cpu"] < 0 {
		return
	}
	if g.maybe("terminating") { // it was deleted, and has long to end
		const grace = 600
		pod.Spec.TerminationGracePeriodSeconds, pod.DeletionGracePeriodSeconds = new(int64(grace)), new(int64(grace))
		pod.DeletionTimestamp = new(metav1.NewTime(now.Add(grace * time.Second)))
	}
	g.c.Running = append(g.c.Running, pod)
}

// leave makes the pod, at times, one that still runs on an instance that is being deleted.
func (g *generator) leave(pod *corev1.Pod) {
	if len(g.c.Leaving) == 0 || !g.one(3) {
		return
	}
	if g.c.LeavingPods == nil {
		g.c.LeavingPods = map[string]string{}
	}
	g.c.LeavingPods[pod.Name] = pick(g, g.c.Leaving...).Name
}
