package beside

import (
	"fmt"
	"strings"
)

// class is an EC2NodeClass as a user writes it.
func class(name, alias string) string {
	return fmt.Sprintf(`---
apiVersion: karpenter.k8s.aws/v1
kind: EC2NodeClass
metadata: {name: %s}
spec:
  role: KarpenterNodeRole-${CLUSTER_NAME}
  amiSelectorTerms: [{alias: %s}]
  subnetSelectorTerms: [{tags: {karpenter.sh/discovery: "${CLUSTER_NAME}"}}]
  securityGroupSelectorTerms: [{tags: {karpenter.sh/discovery: "${CLUSTER_NAME}"}}]
`, name, alias)
}

// pool is a NodePool of a class; requirements are lines of a list.
func pool(name, class, requirements string) string {
	return fmt.Sprintf(`---
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: %s}
spec:
  template:
    spec:
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: %s}
      requirements:
%s
      expireAfter: Never
  disruption: {consolidationPolicy: WhenEmptyOrUnderutilized, consolidateAfter: 0s, budgets: [{nodes: "100%%"}]}
`, name, class, indent(requirements, 6))
}

func indent(text string, by int) string {
	pad := strings.Repeat(" ", by)
	return pad + strings.ReplaceAll(strings.TrimSpace(text), "\n", "\n"+pad)
}

// deployment of pods; extra goes into the pod's spec.
func deployment(name string, replicas int, cpu, memory, extra string) string {
	return fmt.Sprintf(`---
apiVersion: apps/v1
kind: Deployment
metadata: {name: %[1]s, namespace: default}
spec:
  replicas: %[2]d
  selector: {matchLabels: {app: %[1]s}}
  template:
    metadata: {labels: {app: %[1]s}}
    spec:
      terminationGracePeriodSeconds: 1
      containers: [{name: c, image: registry.example/c:1, resources: {requests: {cpu: %[3]s, memory: %[4]s}}}]
%[5]s
`, name, replicas, cpu, memory, indent(extra, 6))
}

// job of pods that all start at once and do not end.
func job(name string, pods int, cpu, memory string) string {
	return fmt.Sprintf(`---
apiVersion: batch/v1
kind: Job
metadata: {name: %[1]s, namespace: default}
spec:
  completions: %[2]d
  parallelism: %[2]d
  backoffLimit: 100000 # a pod that is moved counts as failed
  template:
    spec:
      restartPolicy: Never
      terminationGracePeriodSeconds: 1
      containers: [{name: c, image: registry.example/c:1, resources: {requests: {cpu: %[3]s, memory: %[4]s}}}]
`, name, pods, cpu, memory)
}

// pod that nothing owns.
func pod(name, cpu, memory string) string {
	return fmt.Sprintf(`---
apiVersion: v1
kind: Pod
metadata: {name: %[1]s, namespace: default}
spec:
  terminationGracePeriodSeconds: 1
  containers: [{name: c, image: registry.example/c:1, resources: {requests: {cpu: %[2]s, memory: %[3]s}}}]
`, name, cpu, memory)
}
