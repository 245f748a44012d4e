package e2e

import (
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	awsv1 "github.com/kerf-sh/kerf/api/aws/v1"
	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
)

// windowsYAML is a pool of Windows nodes as users have it, with the taint that keeps Linux pods away, beside a pool of
// Linux nodes that says nothing of operating systems.
const windowsYAML = `
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: windows}
spec:
  template:
    spec:
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: windows}
      requirements:
      - {key: kubernetes.io/os, operator: In, values: [windows]}
      - {key: karpenter.sh/capacity-type, operator: In, values: [on-demand]}
      - {key: karpenter.k8s.aws/instance-family, operator: In, values: [m5, c5]}
      taints: [{key: os, value: windows, effect: NoSchedule}]
  disruption: {consolidateAfter: 0s, budgets: [{nodes: "100%"}]}
---
apiVersion: karpenter.k8s.aws/v1
kind: EC2NodeClass
metadata: {name: windows}
spec:
  amiSelectorTerms: [{alias: windows2022@latest}]
  role: KarpenterNodeRole-${CLUSTER_NAME}
  subnetSelectorTerms: [{tags: {karpenter.sh/discovery: "${CLUSTER_NAME}"}}]
  securityGroupSelectorTerms: [{tags: {karpenter.sh/discovery: "${CLUSTER_NAME}"}}]
  userData: |
    <powershell>
    Write-Host "the user's own line, it's first"
    </powershell>
  kubelet: {kubeReserved: {cpu: 200m, memory: 1Gi, ephemeral-storage: 1Gi}}
---
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: linux}
spec:
  template:
    spec:
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}
      requirements:
      - {key: karpenter.sh/capacity-type, operator: In, values: [on-demand]}
      - {key: karpenter.k8s.aws/instance-family, operator: In, values: [m5, c5]}
  disruption: {consolidateAfter: 0s, budgets: [{nodes: "100%"}]}
` + classYAML

// TestWindowsNodes asks for Windows in both ways that pods have, and says nothing of it in others.
func TestWindowsNodes(t *testing.T) {
	t.Parallel()
	e := up(t)
	e.apply(windowsYAML)
	tolerates := `
      tolerations: [{key: os, operator: Equal, value: windows, effect: NoSchedule}]
`
	e.apply(deployment("linux", 6, "500m", "256Mi", "      os: {name: linux}\n"))
	e.apply(deployment("plain", 4, "500m", "256Mi", ""))
	e.apply(deployment("selects", 6, "500m", "256Mi", "      nodeSelector: {kubernetes.io/os: windows}"+tolerates))
	e.apply(deployment("build", 2, "500m", "256Mi", "      os: {name: windows}\n      nodeSelector: {node.kubernetes.io/windows-build: 10.0.20348}"+tolerates))
	e.running(120*time.Second, "default", 18)
	e.oneToOne()

	system := map[string]string{}
	for _, n := range e.nodes() {
		system[n.Name] = n.Labels[corev1.LabelOSStable]
		if n.Labels["karpenter.sh/nodepool"] != n.Labels[corev1.LabelOSStable] {
			t.Errorf("node %s of pool %s runs %s", n.Name, n.Labels["karpenter.sh/nodepool"], n.Labels[corev1.LabelOSStable])
		}
		if n.Labels[corev1.LabelOSStable] != "windows" {
			continue
		}
		addresses := n.Status.Allocatable["vpc.amazonaws.com/PrivateIPv4Address"]
		if n.Labels[corev1.LabelWindowsBuild] != "10.0.20348" || n.Status.NodeInfo.OperatingSystem != "windows" || n.Status.Allocatable.Pods().Value() != 110 || addresses.IsZero() {
			t.Errorf("node %s: build %q, system %q, allocatable %v", n.Name, n.Labels[corev1.LabelWindowsBuild], n.Status.NodeInfo.OperatingSystem, n.Status.Allocatable)
		}
	}
	want := map[string]string{"linux": "linux", "plain": "linux", "selects": "windows", "build": "windows"}
	for _, p := range e.pods("default") {
		if app := p.Labels["app"]; system[p.Spec.NodeName] != want[app] {
			t.Errorf("pod %s runs on %s, which is %s", p.Name, p.Spec.NodeName, system[p.Spec.NodeName])
		}
	}
	for _, c := range e.claims() { // what was planned with is what the node has, but for what partitions and firmware take
		for _, n := range e.nodes() {
			if n.Name != c.Status.NodeName {
				continue
			}
			for _, name := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory, corev1.ResourcePods, corev1.ResourceEphemeralStorage} {
				planned, has := c.Status.Allocatable[name], n.Status.Allocatable[name]
				if float64(planned.Value()) > 1.01*float64(has.Value()) {
					t.Errorf("node %s has %s of %s, less than the %s that were planned with", n.Name, has.String(), name, planned.String())
				}
			}
		}
	}

	// A build that the class does not have is waited for; with the image of another year it comes, and the instances of the
	// year before are marked, not taken away.
	e.apply(deployment("old", 1, "500m", "256Mi", "      nodeSelector: {node.kubernetes.io/windows-build: 10.0.17763}"+tolerates))
	e.eventually(30*time.Second, "the pod for another build waits", func() (bool, string) {
		for _, p := range e.pods("default") {
			if p.Labels["app"] == "old" && p.Spec.NodeName == "" {
				return true, ""
			}
		}
		return false, "no such pod waits"
	})
	patch := client.RawPatch(types.MergePatchType, []byte(`{"spec":{"amiSelectorTerms":[{"alias":"windows2019@latest"}]}}`))
	class := &awsv1.EC2NodeClass{ObjectMeta: metav1.ObjectMeta{Name: "windows"}}
	if err := e.client.Patch(t.Context(), class, patch); err != nil {
		t.Fatal(err)
	}
	e.running(120*time.Second, "default", 19)
	e.eventually(20*time.Second, "instances of the image before are marked", func() (bool, string) {
		marked, seen := 0, ""
		for _, c := range e.claims() {
			drifted := c.StatusConditions().Get(karpv1.ConditionTypeDrifted)
			seen += fmt.Sprintf("%s %s %v; ", c.Name, c.Labels[corev1.LabelWindowsBuild], drifted)
			if drifted.IsTrue() && c.Labels[corev1.LabelWindowsBuild] == "10.0.20348" {
				marked++
			}
			if drifted.IsTrue() && c.Labels[corev1.LabelWindowsBuild] != "10.0.20348" {
				return false, seen
			}
		}
		return marked > 0, seen
	})
	for _, app := range []string{"linux", "plain", "selects", "build", "old"} {
		e.scale(app, 0)
	}
	e.nothingLeft(90 * time.Second)
}
