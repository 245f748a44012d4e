package simcluster_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/internal/sim/awssim/world"
	"github.com/kerf-sh/kerf/internal/sim/simcluster"
)

// deployApart deploys pods that need a node each.
func deployApart(h *simcluster.Cluster, app string, replicas int) {
	h.T.Helper()
	h.Apply(fmt.Sprintf(`
apiVersion: apps/v1
kind: Deployment
metadata: {name: %[1]s, namespace: default}
spec:
  replicas: %[2]d
  selector: {matchLabels: {app: %[1]s}}
  template:
    metadata: {labels: {app: %[1]s}}
    spec:
      affinity:
        podAntiAffinity:
          requiredDuringSchedulingIgnoredDuringExecution:
          - {topologyKey: kubernetes.io/hostname, labelSelector: {matchLabels: {app: %[1]s}}}
      containers:
      - {name: c, image: registry.example/c:1, resources: {requests: {cpu: "1", memory: 1Gi}}}
`, app, replicas))
}

// TestAThousandClaimsAreFewFleets: however few workers there are, launches that are under way at once meet in one request.
func TestAThousandClaimsAreFewFleets(t *testing.T) {
	const claims = 1000
	simcluster.Run(t, simcluster.Options{}, func(h *simcluster.Cluster) {
		h.Apply(strings.Replace(simcluster.Defaults, "consolidateAfter: 30s", "consolidateAfter: Never", 1))
		h.Deploy("first", 1, "1", "1Gi")
		h.Running(2*time.Minute, "first", 1)
		model, before := h.Claims()[0], len(h.AWS.World.Calls("CreateFleet"))
		for range claims {
			c := &karpv1.NodeClaim{Spec: *model.Spec.DeepCopy()}
			c.GenerateName, c.Labels, c.Annotations, c.OwnerReferences = "default-", model.Labels, model.Annotations, model.OwnerReferences
			if err := h.Client.Create(h.T.Context(), c); err != nil {
				h.T.Fatal(err)
			}
		}
		h.Eventually(3*time.Minute, "all are launched", func() (bool, string) { n := len(h.Instances()); return n == claims+1, fmt.Sprint(n) })
		if n := len(h.AWS.World.Calls("CreateFleet")) - before; n > 16 { // five as a rule
			h.T.Errorf("%d CreateFleet calls for %d claims, want at most 16", n, claims)
		}
	})
}

// TestLaunchesThatHangHoldUpNoOther: while EC2 does not answer for two hundred claims, others are launched, register and
// initialize as soon as without them, and the launch timeout of those that hang is kept.
func TestLaunchesThatHangHoldUpNoOther(t *testing.T) {
	took := map[bool]time.Duration{}
	for _, hang := range []bool{false, true} {
		simcluster.Run(t, simcluster.Options{Env: map[string]string{"LAUNCH_TIMEOUT": "1m"}}, func(h *simcluster.Cluster) {
			h.Apply(simcluster.Defaults)
			h.Deploy("first", 1, "1", "1Gi")
			h.Running(2*time.Minute, "first", 1)
			if hang {
				h.AWS.World.AddFault(world.Fault{Kind: world.FaultSlow, Operation: "CreateFleet", Delay: 10 * time.Minute, Count: 1})
				deployApart(h, "stuck", 200)
				h.Eventually(time.Minute, "their claims are there", func() (bool, string) { n := len(h.Claims()); return n >= 200, fmt.Sprint(n) })
				h.Pass(15 * time.Second) // the request is on its way
			}
			began := time.Now()
			deployApart(h, "other", 4)
			h.Running(2*time.Minute, "other", 4)
			h.Eventually(time.Minute, "their nodes are initialized", func() (bool, string) {
				n := 0
				for _, c := range h.Claims() {
					if c.StatusConditions().IsTrue(karpv1.ConditionTypeInitialized) {
						n++
					}
				}
				return n >= 4, fmt.Sprint(n) // one of the four fits beside the first
			})
			took[hang] = time.Since(began)
			if !hang {
				return
			}
			h.Eventually(4*time.Minute, "the launches that hang are given up in time", func() (bool, string) {
				var list corev1.EventList
				if err := h.Client.List(h.T.Context(), &list); err != nil {
					return false, err.Error()
				}
				n := 0
				for i := range list.Items {
					if strings.Contains(list.Items[i].Message, "no instance could be launched within 1m0s") {
						n++
					}
				}
				return n > 0, fmt.Sprintf("%d told, %d claims", n, len(h.Claims()))
			})
		})
	}
	if late := took[true] - took[false]; late > time.Second {
		t.Errorf("others took %s beside launches that hang, and %s without them", took[true], took[false])
	}
}
