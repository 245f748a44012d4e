package e2e

import (
	"fmt"
	"strings"
	"testing"
	"time"

	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
)

// networkPlugin is the cluster's network plug-in as EKS installs it, with a setting of it.
const networkPlugin = `
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: aws-node, namespace: kube-system}
spec:
  selector: {matchLabels: {k8s-app: aws-node}}
  template:
    metadata: {labels: {k8s-app: aws-node}}
    spec:
      hostNetwork: true
      priorityClassName: system-node-critical
      tolerations: [{operator: Exists}]
      containers:
      - name: aws-node
        image: amazon-k8s-cni
        env: [{name: ENABLE_PREFIX_DELEGATION, value: "%v"}, {name: WARM_PREFIX_TARGET, value: "1"}]
        resources: {requests: {cpu: 25m}}
`

// TestNetwork tells how many pods nodes take under the network plug-in's settings, and of instances with EFA.
func TestNetwork(t *testing.T) {
	t.Parallel()
	e := up(t)
	e.apply(classYAML)
	e.apply(fmt.Sprintf(networkPlugin, true))
	e.logged(30*time.Second, "network plug-in", `"prefix-delegation":true`)
	t.Run("prefix delegation", func(t *testing.T) { prefixDelegation(e.stage(t)) })
	t.Run("efa", func(t *testing.T) { fabricAdapter(e.stage(t)) })
}

// prefixDelegation runs 60 pods on an instance whose interfaces alone would carry 29, and after prefixes are switched off
// plans the next instance with those.
func prefixDelegation(s *stage) {
	large := "- {key: node.kubernetes.io/instance-type, operator: In, values: [m5.large]}"
	s.pool("default", large, "")
	s.deploy("dense", 60, "10m", "")
	s.run(2*time.Minute, 60)
	nodes := s.nodesOf()
	if len(nodes) != 1 || nodes[0].Status.Allocatable.Pods().Value() != 110 {
		s.Fatalf("%d nodes for 60 pods, the first for %s pods; want one for 110", len(nodes), nodes[0].Status.Allocatable.Pods())
	}
	if c := s.mine()[0]; c.Status.Capacity.Pods().Value() != 110 {
		s.Errorf("the nodeclaim expects %s pods", c.Status.Capacity.Pods())
	}
	s.apply(fmt.Sprintf(networkPlugin, false))
	s.logged(30*time.Second, "network plug-in", `"prefix-delegation":false`)
	s.deploy("more", 70, "10m", "")
	s.run(2*time.Minute, 130)
	seen := map[int64]int{}
	for _, n := range s.nodesOf() {
		seen[n.Status.Allocatable.Pods().Value()]++
	}
	if seen[110] != 1 || seen[29] == 0 || len(seen) != 2 {
		s.Errorf("nodes by the pods that they take: %v; want the one for 110 kept and the others for 29", seen)
	}
	for _, c := range s.mine() {
		if !c.DeletionTimestamp.IsZero() || c.StatusConditions().Get(karpv1.ConditionTypeDrifted).IsTrue() {
			s.Errorf("nodeclaim %s drifted or goes, as if its class had changed", c.Name)
		}
	}
}

// fabricAdapter runs a pod that asks for EFA on an instance that is launched with it.
func fabricAdapter(s *stage) {
	s.families = []string{"c5n"}
	s.pool("default", "- {key: karpenter.k8s.aws/instance-size, operator: In, values: [18xlarge]}\n- {key: karpenter.sh/capacity-type, operator: In, values: [on-demand]}", "")
	text := deployment("fabric", 1, "1", "100Mi", lines(fmt.Sprintf("nodeSelector: {karpenter.sh/nodepool: %[1]s}\ntolerations: [{key: stage, operator: Equal, value: %[1]s, effect: NoSchedule}]", s.name), 6))
	with := strings.Replace(text, "requests: {", "limits: {vpc.amazonaws.com/efa: 1}, requests: {vpc.amazonaws.com/efa: 1, ", 1)
	if with == text {
		s.Fatal("the deployment has no requests to add EFA to")
	}
	s.apply(strings.ReplaceAll(with, "namespace: default", "namespace: "+s.name))
	s.run(2*time.Minute, 1)
	instance, ok := s.cluster.Simulator.World.Instance(s.instances(false)[0].ID)
	if !ok || instance.Type != "c5n.18xlarge" || len(instance.Interfaces) != 1 || instance.Interfaces[0].Type != "efa" {
		s.Errorf("the instance is %s with interfaces %+v", instance.Type, instance.Interfaces)
	}
	devices := s.nodesOf()[0].Status.Allocatable["vpc.amazonaws.com/efa"]
	if devices.Value() != 1 {
		s.Errorf("the node has %s EFA devices", devices.String())
	}
}
