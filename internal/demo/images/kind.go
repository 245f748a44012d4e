package images

import (
	"context"
	"fmt"
	"strings"

	"github.com/kerf-sh/kerf/internal/sim/awssim/world"
)

const (
	namespace = "demo-images"
	// taint keeps the pods of one kind to instances of that kind.
	taint = "kerf.sh/demo-image"
)

// kind is a kind of instance, with what makes one and what shows that it is one.
type kind struct {
	// name is that of its pool, class and pods, title what the table says.
	name, title string
	// class is the EC2NodeClass's spec. prepare gives pairs of what to replace in it.
	class   string
	prepare func(context.Context, *run) (replace []string, err error)
	// requirements are those of the pool beside its capacity type.
	requirements string
	capacity     string // capacity type; on-demand
	resource     string // extended resource that the pod asks for, as NAME: QUANTITY
	system       string // operating system; linux

	family  world.Family // of the image that is to boot
	variant string
	labels  map[string]string // that the node must have, beside what its claim says
	// proof says more of the instance that came of it: what is amiss, if anything is.
	proof func(*booted, *world.Instance) string
}

// selected is what most classes have in common.
const selected = `
  role: KarpenterNodeRole-${CLUSTER_NAME}
  subnetSelectorTerms: [{tags: {karpenter.sh/discovery: "${CLUSTER_NAME}"}}]
  securityGroupSelectorTerms: [{tags: {karpenter.sh/discovery: "${CLUSTER_NAME}"}}]`

// general are cheap types that all families boot on.
const general = `
      - {key: karpenter.k8s.aws/instance-family, operator: In, values: [m5, m6i]}
      - {key: kubernetes.io/arch, operator: In, values: [amd64]}`

func kinds() []kind {
	list := []kind{
		{name: "al2", title: "AL2", class: "  amiFamily: AL2\n  amiSelectorTerms: [{id: $IMAGE}]" + selected, prepare: al2Image, family: world.FamilyAL2},
		{name: "al2023", title: "AL2023", class: "  amiSelectorTerms: [{alias: al2023@latest}]" + selected, family: world.FamilyAL2023},
		{name: "bottlerocket", title: "Bottlerocket", class: "  amiSelectorTerms: [{alias: bottlerocket@latest}]" + selected, family: world.FamilyBottlerocket},
		windows("2019", "10.0.17763"),
		windows("2022", "10.0.20348"),
		windows("2025", "10.0.26100"),
		{name: "custom", title: "Custom", class: custom + selected, prepare: customImage, family: world.FamilyAL2023, proof: customProof},
		{name: "template", title: "launch template", class: "  launchTemplate: {name: KarpenterCustomLaunchTemplate, version: $Latest}\n" + subnets, prepare: guideTemplate,
			family: world.FamilyAL2, labels: map[string]string{"node.k8s.aws/capacity-type": "spot"}, proof: templateProof},
		{name: "gpu", title: "GPU", class: "  amiSelectorTerms: [{alias: al2023@latest}]" + selected, resource: "nvidia.com/gpu: 1", family: world.FamilyAL2023, variant: world.VariantNVIDIA,
			requirements: "\n      - {key: karpenter.k8s.aws/instance-family, operator: In, values: [g4dn, g6]}"},
		{name: "efa", title: "EFA", class: "  amiSelectorTerms: [{alias: al2023@latest}]" + selected, resource: "vpc.amazonaws.com/efa: 1", family: world.FamilyAL2023,
			requirements: "\n      - {key: karpenter.k8s.aws/instance-family, operator: In, values: [c5n, c6in]}\n      - {key: kubernetes.io/arch, operator: In, values: [amd64]}", proof: efaProof},
	}
	list = append(list, reserved()...)
	for i := range list {
		k := &list[i]
		if k.requirements == "" {
			k.requirements = general
		}
		if k.capacity == "" {
			k.capacity = "on-demand"
		}
		if k.system == "" {
			k.system = "linux"
		}
		if k.variant == "" {
			k.variant = world.VariantStandard
		}
	}
	return list
}

const subnets = `  subnetSelectorTerms: [{tags: {karpenter.sh/discovery: "${CLUSTER_NAME}"}}]`

func windows(year, build string) kind {
	return kind{
		name: "windows" + year, title: "Windows " + year, class: "  amiSelectorTerms: [{alias: windows" + year + "@latest}]" + selected, system: "windows",
		family: world.FamilyWindows, labels: map[string]string{"node.kubernetes.io/windows-build": build},
	}
}

// manifests are the class, the pool and the work of a kind.
func (k *kind) manifests(class string) string {
	return fmt.Sprintf(`
apiVersion: v1
kind: Namespace
metadata: {name: %[1]s}
---
apiVersion: karpenter.k8s.aws/v1
kind: EC2NodeClass
metadata: {name: %[2]s}
spec:
%[3]s
---
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: %[2]s}
spec:
  template:
    metadata: {labels: {kerf.sh/demo: %[2]s}}
    spec:
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: %[2]s}
      requirements:
      - {key: kubernetes.io/os, operator: In, values: [%[4]s]}
      - {key: karpenter.sh/capacity-type, operator: In, values: [%[5]s]}%[6]s
      taints: [{key: %[7]s, value: %[2]s, effect: NoSchedule}]
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: %[2]s, namespace: %[1]s}
spec:
  replicas: 1
  selector: {matchLabels: {app: %[2]s}}
  template:
    metadata: {labels: {app: %[2]s}}
    spec:
      os: {name: %[4]s}
      terminationGracePeriodSeconds: 1
      nodeSelector: {karpenter.sh/nodepool: %[2]s, kubernetes.io/os: %[4]s}
      tolerations: [{key: %[7]s, value: %[2]s, effect: NoSchedule}]
      containers:
      - {name: work, image: registry.example/work:1, resources: {requests: {%[8]s}, limits: {%[9]s}}}
`, namespace, k.name, class, k.system, k.capacity, k.requirements, taint, strings.TrimPrefix(strings.TrimSuffix("cpu: 500m, memory: 256Mi, "+k.resource, ", "), ", "), k.resource)
}
