package rehearsal

import (
	"fmt"
	"strings"
)

// The fleet: three pools of single-size nodes, each full with one large pod that keeps off its peers and one small pod.
// Nothing can be gained by moving a pod, though every pool may consolidate: a large pod fits nowhere else, and no other
// instance type that the pools allow is cheaper.
const (
	spotNodes, onDemandNodes, reservedNodes = 11, 12, 6

	// lateNodes is the node that the pods of "render" fill, which is consolidated in the story.
	lateNodes = 1
	fleetSize = spotNodes + lateNodes + onDemandNodes + reservedNodes

	// reserved is how many instances the reservation has: drift in it needs a place for the replacement.
	reserved     = reservedNodes + 2
	reservedType = "m5.large"

	spotPool, onDemandPool, reservedPool = "spot", "on-demand", "reserved"
)

// classes are two EC2NodeClasses of two image families.
func classes() string {
	class := func(name, alias, more string) string {
		return fmt.Sprintf(`---
apiVersion: karpenter.k8s.aws/v1
kind: EC2NodeClass
metadata: {name: %s}
spec:
  role: KarpenterNodeRole-${CLUSTER_NAME}
  amiSelectorTerms: [{alias: %s}]
  subnetSelectorTerms: [{tags: {karpenter.sh/discovery: "${CLUSTER_NAME}"}}]
  securityGroupSelectorTerms: [{tags: {karpenter.sh/discovery: "${CLUSTER_NAME}"}}]
  tags: {team: shop}
%s
`, name, alias, more)
	}
	return class("bottlerocket", "bottlerocket@latest", "") +
		class("standard", "al2023@latest", "  capacityReservationSelectorTerms: [{tags: {for: rehearsal}}]")
}

// pools are three NodePools that consolidate; one node of a pool may drift at a time.
func pools() string {
	pool := func(name, class, capacityType string) string {
		return fmt.Sprintf(`---
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: %s}
spec:
  template:
    metadata:
      labels: {team: shop}
    spec:
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: %s}
      requirements:
      - {key: karpenter.sh/capacity-type, operator: In, values: [%s]}
      - {key: kubernetes.io/arch, operator: In, values: [amd64]}
      - {key: node.kubernetes.io/instance-type, operator: In, values: [m5.large, m6i.large]}
  disruption:
    consolidationPolicy: WhenEmptyOrUnderutilized
    consolidateAfter: 10s
    budgets: [{nodes: "1"}]
`, name, class, capacityType)
	}
	return pool(spotPool, "bottlerocket", "spot") + pool(onDemandPool, "standard", "on-demand") + pool(reservedPool, "standard", "reserved")
}

// work fills the pools. The pods named in slow take some seconds to end.
func work() string {
	var all strings.Builder
	for _, p := range []struct {
		pool, capacityType string
		nodes              int
	}{{spotPool, "spot", spotNodes}, {onDemandPool, "on-demand", onDemandNodes}, {reservedPool, "reserved", reservedNodes}} {
		all.WriteString(deployment("web-"+p.pool, p.capacityType, p.nodes, "1200m", "5Gi", `
affinity:
  podAntiAffinity:
    requiredDuringSchedulingIgnoredDuringExecution:
    - {topologyKey: kubernetes.io/hostname, labelSelector: {matchLabels: {app: web-`+p.pool+`}}}`, 0))
		all.WriteString(deployment("small-"+p.pool, p.capacityType, p.nodes, "400m", "512Mi", `
topologySpreadConstraints:
- {maxSkew: 1, topologyKey: kubernetes.io/hostname, whenUnsatisfiable: DoNotSchedule, labelSelector: {matchLabels: {app: small-`+p.pool+`}}}`, 0))
	}
	return all.String()
}

// render is work that came later: three pods on a node of their own. They take their time to end.
func render() string { return deployment("render", "spot", 3, "400m", "512Mi", "", 40) }

// deployment of pods that need nodes of a capacity type, with its PodDisruptionBudget. Pods with a grace in seconds use all
// of it when they are asked to end.
func deployment(name, capacityType string, replicas int, cpu, memory, extra string, grace int) string {
	annotations := "{}"
	if grace > 0 {
		annotations = `{local.kerf.sh/ignore-sigterm: ""}`
	}
	return fmt.Sprintf(`---
apiVersion: apps/v1
kind: Deployment
metadata: {name: %[1]s, namespace: default}
spec:
  replicas: %[2]d
  selector: {matchLabels: {app: %[1]s}}
  template:
    metadata: {labels: {app: %[1]s}, annotations: %[7]s}
    spec:
      nodeSelector: {karpenter.sh/capacity-type: %[3]s}
      terminationGracePeriodSeconds: %[8]d
      containers: [{name: main, image: registry.example/main:1, resources: {requests: {cpu: %[4]s, memory: %[5]s}}}]
%[6]s
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: %[1]s, namespace: default}
spec: {maxUnavailable: 1, selector: {matchLabels: {app: %[1]s}}}
`, name, replicas, capacityType, cpu, memory, indent(extra, 6), annotations, max(grace, 1))
}

// systemNodes are two nodes that no autoscaler launched, as a managed node group has them, for the controllers' own pods.
func systemNodes() string {
	var all strings.Builder
	for i, zone := range []string{"a", "b"} {
		fmt.Fprintf(&all, `---
apiVersion: v1
kind: Node
metadata:
  name: system-%[1]d
  annotations: {kwok.x-k8s.io/node: fake}
  labels: {kubernetes.io/os: linux, kubernetes.io/arch: amd64, kubernetes.io/hostname: system-%[1]d, topology.kubernetes.io/zone: ${REGION}%[2]s, eks.amazonaws.com/nodegroup: system}
spec:
  providerID: aws:///${REGION}%[2]s/i-0000000000000000%[1]d
  taints: [{key: CriticalAddonsOnly, effect: NoSchedule}]
status:
  capacity: {cpu: "4", memory: 16Gi, ephemeral-storage: 80Gi, pods: "58"}
  allocatable: {cpu: "4", memory: 16Gi, ephemeral-storage: 80Gi, pods: "58"}
`, i, zone)
	}
	return all.String()
}

func indent(text string, by int) string {
	text = strings.TrimSpace(text)
	if text == "" {
		return ""
	}
	pad := strings.Repeat(" ", by)
	return pad + strings.ReplaceAll(text, "\n", "\n"+pad)
}
