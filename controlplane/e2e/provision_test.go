package e2e

import (
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/internal/local"
	"github.com/kerf-sh/kerf/internal/sim/awssim/world"
)

// poolYAML is a pool that takes empty instances away soon, and its class. What moves pods has stories of its own.
const poolYAML = `
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: default}
spec:
  template:
    spec:
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}
      requirements:
      - {key: kubernetes.io/os, operator: In, values: [linux]}
      - {key: karpenter.sh/capacity-type, operator: In, values: [spot, on-demand]}
      - {key: karpenter.k8s.aws/instance-category, operator: In, values: [c, m, r]}
      - {key: karpenter.k8s.aws/instance-generation, operator: Gt, values: ["4"]}
      - {key: karpenter.k8s.aws/instance-cpu, operator: Lt, values: ["17"]}
  disruption:
    consolidationPolicy: WhenEmpty
    consolidateAfter: 0s
    budgets: [{nodes: "100%"}]
` + classYAML

const classYAML = `
---
apiVersion: karpenter.k8s.aws/v1
kind: EC2NodeClass
metadata: {name: default}
spec:
  amiSelectorTerms: [{alias: al2023@latest}]
  role: KarpenterNodeRole-${CLUSTER_NAME}
  subnetSelectorTerms: [{tags: {karpenter.sh/discovery: "${CLUSTER_NAME}"}}]
  securityGroupSelectorTerms: [{tags: {karpenter.sh/discovery: "${CLUSTER_NAME}"}}]
`

// deployment is a Deployment's manifest; extra is put into the pod's spec as it is.
func deployment(name string, replicas int, cpu, memory, extra string) string {
	return fmt.Sprintf(`
---
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
      containers:
      - {name: c, image: registry.example/c:1, resources: {requests: {cpu: %[3]s, memory: %[4]s}}}
%[5]s`, name, replicas, cpu, memory, extra)
}

const zoneSpread = `
      topologySpreadConstraints:
      - {maxSkew: 1, topologyKey: topology.kubernetes.io/zone, whenUnsatisfiable: DoNotSchedule, labelSelector: {matchLabels: {app: web}}}
`

// TestFiftyPodsOverZones is the first thing a user tries: apply, see nodes come and pods run, delete, see nodes go.
func TestFiftyPodsOverZones(t *testing.T) {
	t.Parallel()
	e := up(t)
	e.apply(poolYAML)
	e.apply(deployment("web", 50, "500m", "1Gi", zoneSpread))
	e.running(90*time.Second, "default", 50)
	e.oneToOne()

	zones := map[string]int{}
	zoneOf := map[string]string{}
	for _, n := range e.nodes() {
		zoneOf[n.Name] = n.Labels[corev1.LabelTopologyZone]
		for _, label := range []string{karpv1.NodePoolLabelKey, karpv1.CapacityTypeLabelKey, karpv1.NodeRegisteredLabelKey, karpv1.NodeInitializedLabelKey, "karpenter.k8s.aws/ec2nodeclass", "karpenter.k8s.aws/instance-family"} {
			if n.Labels[label] == "" {
				t.Errorf("node %s lacks label %s", n.Name, label)
			}
		}
	}
	for _, p := range e.pods("default") {
		zones[zoneOf[p.Spec.NodeName]]++
	}
	least, most := 50, 0
	for _, n := range zones {
		least, most = min(least, n), max(most, n)
	}
	if len(zones) < 3 || most-least > 1 {
		t.Errorf("pods by zone %v, want three zones or more with a skew of at most 1", zones)
	}
	e.eventually(10*time.Second, "the pool counts its nodes", func() (bool, string) {
		pool := &karpv1.NodePool{}
		if err := e.client.Get(t.Context(), client.ObjectKey{Name: "default"}, pool); err != nil {
			return false, err.Error()
		}
		return pool.Status.Nodes != nil && int(*pool.Status.Nodes) == len(e.nodes()), fmt.Sprint(pool.Status.Resources)
	})
	for resource, want := range map[string]string{
		"nodeclaims.karpenter.sh":          "NAME TYPE CAPACITY ZONE NODE READY AGE",
		"nodepools.karpenter.sh":           "NAME NODECLASS NODES READY AGE",
		"ec2nodeclasses.karpenter.k8s.aws": "NAME READY AGE",
	} {
		if got := strings.Join(e.columns(resource), " "); got != want {
			t.Errorf("kubectl get %s prints %q, want %q", resource, got, want)
		}
	}

	e.scale("web", 0)
	e.nothingLeft(90 * time.Second)
}

// TestControllerKilledInABurst kills the controller while it launches, and starts it again.
func TestControllerKilledInABurst(t *testing.T) {
	t.Parallel()
	e := up(t)
	e.apply(poolYAML)
	e.ready("default")
	// Two hundred cores on instances of at most sixteen: the kill finds launches in more than one stage.
	e.apply(deployment("burst", 200, "1", "1Gi", ""))
	e.eventually(30*time.Second, "some instances are launched and some are not", func() (bool, string) {
		n := len(e.instances())
		return n >= 3, fmt.Sprintf("%d instances", n)
	})
	if err := e.cluster.Controller.Kill(); err != nil {
		t.Fatal(err)
	}
	t.Logf("killed with %d nodeclaims and %d instances", len(e.claims()), len(e.instances()))
	if err := e.cluster.Controller.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	e.running(2*time.Minute, "default", 200)
	e.eventually(time.Minute, "every nodeclaim is ready", func() (bool, string) {
		waiting := 0
		for _, c := range e.claims() {
			if !c.StatusConditions().IsTrue() {
				waiting++
			}
		}
		return waiting == 0, fmt.Sprintf("%d wait", waiting)
	})
	e.oneToOne()
	all, err := e.aws.Instances(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	byClaim := map[string]int{}
	for _, i := range all {
		byClaim[i.Tags["karpenter.sh/nodeclaim"]]++
	}
	for claim, n := range byClaim {
		if claim != "" && n > 1 {
			t.Errorf("nodeclaim %s was launched %d times", claim, n)
		}
	}
}

// TestInstanceThatNeverJoins boots instances whose user data names another cluster.
func TestInstanceThatNeverJoins(t *testing.T) {
	t.Parallel()
	e := up(t, func(o *local.Options) {
		o.ControllerEnv = append(o.ControllerEnv, "REGISTRATION_TIMEOUT=8s")
	})
	if _, err := e.aws.AddFault(t.Context(), world.Fault{Kind: world.FaultWrongCluster, Message: "another-cluster"}); err != nil {
		t.Fatal(err)
	}
	e.apply(poolYAML)
	e.apply(deployment("web", 1, "1", "1Gi", ""))
	seen := map[string]bool{}
	e.eventually(60*time.Second, "an instance that does not join is given up, with a message that says so", func() (bool, string) {
		for _, c := range e.claims() {
			seen[c.Name] = true
		}
		for _, ev := range list[corev1.EventList](e).Items {
			if ev.Reason == "RegistrationTimeout" && seen[ev.InvolvedObject.Name] && strings.Contains(ev.Message, "8s") && strings.Contains(ev.Message, "user data") {
				return true, ""
			}
		}
		return false, fmt.Sprintf("nodeclaims %v", seen)
	})
	e.scale("web", 0)
	e.nothingLeft(90 * time.Second)
}

// TestSpotInterruption moves pods before AWS takes the instance.
func TestSpotInterruption(t *testing.T) {
	t.Parallel()
	e := up(t)
	e.apply(strings.ReplaceAll(poolYAML, "values: [spot, on-demand]", "values: [spot]"))
	e.apply(deployment("web", 6, "1", "1Gi", ""))
	e.running(90*time.Second, "default", 6)
	before := map[string]bool{}
	for _, i := range e.instances() {
		before[i.ID] = true
	}
	victim := e.instances()[0]
	for _, body := range []string{"not json", `{"version":"0","source":"aws.ec2","detail-type":"EC2 Spot Instance Interruption Warning","detail":{"instance-id":"i-0123456789abcdef0"}}`} {
		if err := e.aws.SendMessage(t.Context(), e.cluster.Name, body); err != nil {
			t.Fatal(err)
		}
	}
	if err := e.aws.Interrupt(t.Context(), victim.ID, 2*time.Minute); err != nil {
		t.Fatal(err)
	}
	e.eventually(100*time.Second, "pods run elsewhere and the instance is given back before AWS takes it", func() (bool, string) {
		gone := true
		for _, i := range e.instances() {
			gone = gone && i.ID != victim.ID
		}
		run := 0
		for _, p := range e.pods("default") {
			if p.Status.Phase == corev1.PodRunning && p.DeletionTimestamp.IsZero() {
				run++
			}
		}
		return gone && run == 6, fmt.Sprintf("gone %v, %d running", gone, run)
	})
	for _, i := range e.instances() {
		if !before[i.ID] && i.Type == victim.Type && i.Zone == victim.Zone {
			t.Errorf("the replacement %s is %s in %s, the very pool that is being reclaimed", i.ID, i.Type, i.Zone)
		}
	}
	e.emptyQueue()
}
