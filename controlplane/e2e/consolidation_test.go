package e2e

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"

	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/internal/local"
)

// consolidationPool launches on-demand instances of one family, of any size.
const consolidationPool = `
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: default}
spec:
  template:
    spec:
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}
      requirements:
      - {key: karpenter.k8s.aws/instance-family, operator: In, values: [m6i]}
      - {key: karpenter.sh/capacity-type, operator: In, values: [on-demand]}
      - {key: karpenter.k8s.aws/instance-cpu, operator: Lt, values: ["9"]}
  disruption:
    consolidateAfter: 0s
    budgets: [{nodes: "100%"}]
` + classYAML

// vCPUs is how many the cluster pays for.
func (e *env) vCPUs() int {
	sum := 0
	for _, n := range e.nodes() {
		v, _ := strconv.Atoi(n.Labels["karpenter.k8s.aws/instance-cpu"])
		sum += v
	}
	return sum
}

// marked are the nodes that bear anything of a disruption, and claims that say so.
func (e *env) marked() []string {
	var out []string
	for _, n := range e.nodes() {
		for _, t := range n.Spec.Taints {
			if t.Key == karpv1.DisruptedTaintKey {
				out = append(out, "taint on "+n.Name)
			}
		}
		for key := range n.Annotations {
			if key == "kerf.sh/disrupting" || key == "kerf.sh/disruption-order" {
				out = append(out, key+" on "+n.Name)
			}
		}
	}
	for _, c := range e.claims() {
		if c.StatusConditions().Get(karpv1.ConditionTypeDisruptionReason).IsTrue() {
			out = append(out, "condition on "+c.Name)
		}
	}
	return out
}

// told waits for an event of a reason whose message has the words.
func (e *env) told(timeout time.Duration, reason, kind, words string) {
	e.Helper()
	e.eventually(timeout, fmt.Sprintf("event %s on a %s that says %q", reason, kind, words), func() (bool, string) {
		var seen []string
		for _, ev := range list[corev1.EventList](e).Items {
			if ev.Reason == reason && ev.InvolvedObject.Kind == kind {
				if strings.Contains(ev.Message, words) {
					return true, ""
				}
				seen = append(seen, ev.Message)
			}
		}
		return false, strings.Join(seen, "\n")
	})
}

// TestConsolidation lets most of the load go and looks at what is left: instances that nothing needs go, one that a budget
// guards stays and says so, one that is too large is replaced, and a controller that is killed in the middle is followed by
// one that goes on.
func TestConsolidation(t *testing.T) {
	t.Parallel()
	e := up(t, func(o *local.Options) { o.BootTime = 2 * time.Second })
	e.apply(consolidationPool)
	e.apply(deployment("web", 28, "1", "1Gi", ""))
	e.apply(deployment("guarded", 1, "1", "1Gi", ""))
	e.apply(`
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: guarded, namespace: default}
spec: {maxUnavailable: 0, selector: {matchLabels: {app: guarded}}}
`)
	e.running(120*time.Second, "default", 29)
	before := e.vCPUs()
	guardedOn := func() string {
		for _, p := range e.pods("default") {
			if p.Labels["app"] == "guarded" {
				return p.Spec.NodeName
			}
		}
		return ""
	}
	home := guardedOn()

	e.scale("web", 8)
	e.eventually(120*time.Second, "three tenths of the load are carried by about as much of the instances", func() (bool, string) {
		now, marks := e.vCPUs(), e.marked()
		return now <= before/2 && len(marks) == 0, fmt.Sprintf("%d vCPUs, before %d; %v", now, before, marks)
	})
	e.running(60*time.Second, "default", 9)
	e.told(30*time.Second, "DisruptionBlocked", "Node", "default/guarded")
	e.told(10*time.Second, "DisruptionTerminating", "NodeClaim", "")
	if now := guardedOn(); now != home {
		t.Errorf("the guarded pod was on %s and is on %s", home, now)
	}
	e.oneToOne()

	// The guarded pod's instance is too large for it alone: once the budget is gone it is replaced, and the controller is
	// killed as soon as that has begun.
	e.scale("web", 0)
	e.eventually(90*time.Second, "only the guarded instance is left", func() (bool, string) {
		n := e.nodes()
		return len(n) == 1 && n[0].Name == home, fmt.Sprintf("%d nodes", len(n))
	})
	large := e.vCPUs()
	if large <= 2 {
		t.Skipf("the guarded pod is on an instance of %d vCPUs: nothing to replace", large)
	}
	e.remove(&list[policyv1.PodDisruptionBudgetList](e).Items[0])
	e.eventually(60*time.Second, "its replacement has begun", func() (bool, string) {
		return len(e.claims()) == 2 && len(e.marked()) > 0, fmt.Sprintf("%d claims, %v", len(e.claims()), e.marked())
	})
	if err := e.cluster.Controller.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := e.cluster.Controller.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	e.eventually(120*time.Second, "the next controller ends what was begun", func() (bool, string) {
		n, marks := e.nodes(), e.marked()
		return len(n) == 1 && n[0].Name != home && e.vCPUs() < large && len(marks) == 0, fmt.Sprintf("%d nodes, %d vCPUs, %v", len(n), e.vCPUs(), marks)
	})
	e.running(60*time.Second, "default", 1)
	e.oneToOne()
}
