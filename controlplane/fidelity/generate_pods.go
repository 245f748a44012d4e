package fidelity

import (
	"fmt"
	"maps"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	awsv1 "github.com/kerf-sh/kerf/api/aws/v1"
	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/internal/engine/catalog"
)

// group is a number of pods of one look, as a Deployment makes them.
type group struct {
	count     int
	namespace string
	labels    map[string]string
	spec      corev1.PodSpec
	// claim makes a volume claim for each pod; nil: none.
	claim func(pod string) *corev1.PersistentVolumeClaim
	named string // a claim that all pods of the group share
}

// gate holds pods back from the scheduler until the plan is made.
const gate = "fidelity.test/hold"

func (g *generator) groups() []*group {
	var out []*group
	for range 2 + g.rng.IntN(5) {
		out = append(out, g.group())
	}
	return out
}

func (g *generator) group() *group {
	grp := &group{count: 1 + g.rng.IntN(7), namespace: pick(g, spaceA, spaceA, spaceB),
		labels: map[string]string{"app": pick(g, "web", "db", "job"), "version": pick(g, "v1", "v2")}}
	if g.one(3) {
		grp.labels["side-car"] = "yes"
	}
	s := &grp.spec
	s.TerminationGracePeriodSeconds = new(int64(0))
	s.Containers = []corev1.Container{{Name: "main", Image: "none", Resources: g.resources()}}
	g.containers(s)
	g.placement(s)
	g.spreads(grp)
	g.neighbours(grp)
	g.ports(s)
	g.volumesOf(grp)
	if cpu := s.Containers[0].Resources.Requests.Cpu(); g.one(15) && len(s.Containers)+len(s.InitContainers) == 1 && cpu.Value() < 60 {
		s.Resources = &corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: quantity("3200m"), corev1.ResourceMemory: quantity("8Gi")}}
	}
	if g.one(15) {
		s.RuntimeClassName = new(runtimeClass)
	}
	if g.maybe("priorities") {
		s.PriorityClassName = pick(g, priorityLow, priorityHigh)
	}
	if g.maybe("too-much") && g.one(6) {
		grp.count = 1 // the scheduler says nothing of such pods, and waiting for it takes time
		s.ResourceClaims = []corev1.PodResourceClaim{{Name: "device", ResourceClaimName: new("none")}}
	}
	return grp
}

func quantity(text string) resource.Quantity { return resource.MustParse(text) }

func (g *generator) resources() corev1.ResourceRequirements {
	r := corev1.ResourceRequirements{Requests: corev1.ResourceList{}, Limits: corev1.ResourceList{}}
	r.Requests[corev1.ResourceCPU] = quantity(pick(g, "50m", "100m", "250m", "500m", "750m", "1", "1500m", "1900m", "3"))
	r.Requests[corev1.ResourceMemory] = quantity(pick(g, "64Mi", "128Mi", "500M", "1Gi", "2Gi", "3500Mi", "6Gi", "7e9"))
	if g.one(6) {
		r.Requests[corev1.ResourceEphemeralStorage] = quantity(pick(g, "1Gi", "5Gi", "9Gi"))
	}
	if g.one(8) { // a limit without a request is the request
		r.Limits[corev1.ResourceMemory] = r.Requests[corev1.ResourceMemory]
		delete(r.Requests, corev1.ResourceMemory)
	}
	if g.maybe("gpus") {
		r.Limits["nvidia.com/gpu"] = quantity("1")
	}
	if g.maybe("too-much") && g.one(3) {
		r.Requests[corev1.ResourceCPU] = quantity("60")
	}
	if g.one(12) {
		delete(r.Requests, corev1.ResourceCPU)
	}
	return r
}

func (g *generator) containers(s *corev1.PodSpec) {
	if g.one(5) {
		s.Containers = append(s.Containers, corev1.Container{Name: "second", Image: "none", Resources: g.resources()})
	}
	if !g.maybe("init-containers") {
		return
	}
	for i := range 1 + g.rng.IntN(3) {
		c := corev1.Container{Name: fmt.Sprintf("init-%d", i), Image: "none", Resources: g.resources()}
		if g.one(2) {
			c.RestartPolicy = new(corev1.ContainerRestartPolicyAlways)
		}
		s.InitContainers = append(s.InitContainers, c)
	}
}

// placement draws what the pod asks of an instance's labels and taints.
func (g *generator) placement(s *corev1.PodSpec) {
	if g.maybe("hosts-by-name") && g.one(2) {
		s.NodeSelector = map[string]string{corev1.LabelHostname: pick(g, "old-1", "old-1", "old-2", "arriving-1")}
	}
	if g.maybe("selectors") {
		if s.NodeSelector == nil {
			s.NodeSelector = map[string]string{}
		}
		for range 1 + g.rng.IntN(2) {
			k, v := g.label()
			s.NodeSelector[k] = v
		}
	}
	node := &corev1.NodeAffinity{}
	if g.maybe("affinity") {
		node.RequiredDuringSchedulingIgnoredDuringExecution = &corev1.NodeSelector{}
		for range 1 + g.rng.IntN(3) {
			term := corev1.NodeSelectorTerm{}
			for range 1 + g.rng.IntN(2) {
				term.MatchExpressions = append(term.MatchExpressions, g.expression())
			}
			if g.one(10) || g.maybe("hosts-by-name") {
				term.MatchFields = []corev1.NodeSelectorRequirement{{Key: "metadata.name", Operator: pick(g, corev1.NodeSelectorOpNotIn, corev1.NodeSelectorOpIn), Values: []string{pick(g, "elsewhere", "old-1", "old-2")}}}
			}
			n := node.RequiredDuringSchedulingIgnoredDuringExecution
			n.NodeSelectorTerms = append(n.NodeSelectorTerms, term)
		}
	}
	if g.maybe("preferences") {
		for range 1 + g.rng.IntN(2) {
			node.PreferredDuringSchedulingIgnoredDuringExecution = append(node.PreferredDuringSchedulingIgnoredDuringExecution, corev1.PreferredSchedulingTerm{
				Weight: int32(1 + g.rng.IntN(100)), Preference: corev1.NodeSelectorTerm{MatchExpressions: []corev1.NodeSelectorRequirement{g.expression()}}})
		}
	}
	if node.RequiredDuringSchedulingIgnoredDuringExecution != nil || node.PreferredDuringSchedulingIgnoredDuringExecution != nil {
		s.Affinity = &corev1.Affinity{NodeAffinity: node}
	}
	if g.maybe("tolerations") || g.often["taints"] && g.one(2) {
		s.Tolerations = append(s.Tolerations, pick(g,
			corev1.Toleration{Key: "dedicated", Operator: corev1.TolerationOpExists},
			corev1.Toleration{Key: "dedicated", Operator: corev1.TolerationOpEqual, Value: pick(g, "red", "blue")},
			corev1.Toleration{Key: "dedicated", Value: "red", Effect: corev1.TaintEffectNoSchedule},
			corev1.Toleration{Key: "dedicated", Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute},
			corev1.Toleration{Operator: corev1.TolerationOpExists},
			corev1.Toleration{Key: "disliked", Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectPreferNoSchedule}))
	}
}

// label is a label that an instance may have, at times under an older name, seldom one that none has.
func (g *generator) label() (key, value string) {
	switch g.rng.IntN(13) {
	case 0:
		return corev1.LabelTopologyZone, pick(g, zones...)
	case 1:
		return corev1.LabelFailureDomainBetaZone, pick(g, zones...)
	case 2:
		return corev1.LabelArchStable, pick(g, "amd64", "arm64")
	case 3:
		return "beta.kubernetes.io/arch", pick(g, "amd64", "arm64")
	case 4:
		return karpv1.CapacityTypeLabelKey, pick(g, catalog.OnDemand, catalog.Spot, catalog.OnDemand, catalog.Reserved)
	case 5:
		return awsv1.LabelInstanceFamily, pick(g, families...)
	case 6:
		return awsv1.LabelInstanceSize, pick(g, sizes...)
	case 7, 8:
		return teamKey, pick(g, "red", "blue")
	case 9:
		return tierKey, pick(g, "gold", "silver", "tin")
	case 10:
		return karpv1.NodePoolLabelKey, "pool-1"
	case 11:
		return corev1.LabelOSStable, "linux"
	}
	if g.one(3) {
		return pick(g, "example.com/none", corev1.LabelTopologyZone), "x"
	}
	return anyKey, "x"
}

func (g *generator) expression() corev1.NodeSelectorRequirement {
	switch g.rng.IntN(8) {
	case 0:
		return corev1.NodeSelectorRequirement{Key: awsv1.LabelInstanceCPU, Operator: corev1.NodeSelectorOpGt, Values: []string{pick(g, "1", "3", "7")}}
	case 1:
		return corev1.NodeSelectorRequirement{Key: awsv1.LabelInstanceCPU, Operator: corev1.NodeSelectorOpLt, Values: []string{pick(g, "3", "5", "9")}}
	case 2:
		return corev1.NodeSelectorRequirement{Key: pick(g, teamKey, tierKey, anyKey, rankKey, awsv1.LabelInstanceGPUName), Operator: corev1.NodeSelectorOpExists}
	case 3:
		return corev1.NodeSelectorRequirement{Key: pick(g, teamKey, tierKey, anyKey, awsv1.LabelInstanceGPUName, "example.com/none"), Operator: corev1.NodeSelectorOpDoesNotExist}
	case 4:
		return corev1.NodeSelectorRequirement{Key: rankKey, Operator: pick(g, corev1.NodeSelectorOpGt, corev1.NodeSelectorOpLt), Values: []string{pick(g, "3", "5")}}
	}
	k, v := g.label()
	r := corev1.NodeSelectorRequirement{Key: k, Operator: pick(g, corev1.NodeSelectorOpIn, corev1.NodeSelectorOpNotIn), Values: []string{v}}
	if k == corev1.LabelTopologyZone && g.one(2) {
		r.Values = some(g, zones...)
	}
	return r
}

func (g *generator) ports(s *corev1.PodSpec) {
	if !g.maybe("host-ports") {
		return
	}
	port := func() corev1.ContainerPort {
		return corev1.ContainerPort{ContainerPort: 80, HostPort: pick(g, int32(8080), 8081), Protocol: pick(g, corev1.ProtocolTCP, corev1.ProtocolTCP, corev1.ProtocolUDP),
			HostIP: pick(g, "", "", "127.0.0.1", "10.1.2.3")}
	}
	s.Containers[0].Ports = append(s.Containers[0].Ports, port())
	if g.maybe("host-network") { // every port is one of the host's
		s.HostNetwork = true
		for i := range s.Containers {
			for j := range s.Containers[i].Ports {
				p := &s.Containers[i].Ports[j]
				p.ContainerPort, p.HostIP = p.HostPort, ""
			}
		}
		return
	}
	if len(s.InitContainers) > 0 {
		p := port()
		p.HostPort = 9090
		s.InitContainers[0].Ports = append(s.InitContainers[0].Ports, p)
	}
}

// podOf makes the next pod of the group, and the volume claim that it brings.
func (g *generator) podOf(grp *group) *corev1.Pod {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: grp.namespace, Name: g.name("pod"), Labels: maps.Clone(grp.labels)}, Spec: *grp.spec.DeepCopy()}
	mount := func(volume, claim string) {
		pod.Spec.Volumes = append(pod.Spec.Volumes, corev1.Volume{Name: volume, VolumeSource: corev1.VolumeSource{
			PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: claim}}})
	}
	if grp.named != "" {
		mount("shared", grp.named)
	}
	if grp.claim != nil {
		claim := grp.claim(pod.Name)
		g.c.Claims = append(g.c.Claims, claim)
		mount("data", claim.Name)
	}
	return pod
}
