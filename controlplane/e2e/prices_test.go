package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/api/karpenter/v1alpha1"
	"github.com/kerf-sh/kerf/internal/local"
	"github.com/kerf-sh/kerf/internal/setup/stack"
	"github.com/kerf-sh/kerf/internal/sim/awssim/control"
	"github.com/kerf-sh/kerf/internal/sim/awssim/world"
)

// TestWhatUsersKnowBetter has prices and resources that no API of AWS tells, and a zone that traffic is shifted away from.
func TestWhatUsersKnowBetter(t *testing.T) {
	t.Parallel()
	prices := filepath.Join(t.TempDir(), "prices.yaml")
	// The dearest of the stage's families by far is the cheapest here.
	if err := os.WriteFile(prices, []byte("prices:\n- match: {type: r5.2xlarge, capacityType: on-demand}\n  price: 0.001\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	e := up(t, func(o *local.Options) {
		o.ControllerEnv = append(o.ControllerEnv, "FEATURE_GATES=NodeOverlay=true", "KERF_PRICE_FILE="+prices, "ENABLE_ZONAL_SHIFT=true")
	})
	e.mayBeDenied("arc-zonal-shift:GetManagedResource", "*") // until the stack has its option
	e.apply(classYAML)
	for _, story := range []struct {
		name string
		tell func(*stage)
	}{
		{"a price file", priceFile},
		{"a price by overlay", priceOverlay},
		{"a resource by overlay", resourceOverlay},
		{"a new leader and a zonal shift", zonalShift}, // last: it restarts the controller
	} {
		t.Run(story.name, func(t *testing.T) { story.tell(e.stage(t, "m5", "r5")) })
	}
	e.noneLeaked()
}

// only waits for one instance and returns it with its claim.
func (s *stage) only() (control.Instance, karpv1.NodeClaim) {
	s.Helper()
	s.run(60*time.Second, 1)
	instances, claims := s.instances(false), s.mine()
	if len(instances) != 1 || len(claims) != 1 {
		s.Fatalf("%d instances and %d nodeclaims, want one each", len(instances), len(claims))
	}
	return instances[0], claims[0]
}

func priceFile(s *stage) {
	s.pool("default", "- {key: karpenter.sh/capacity-type, operator: In, values: [on-demand]}", "")
	s.deploy("web", 1, "1", "")
	m, claim := s.only()
	if m.Type != "r5.2xlarge" || claim.Annotations[karpv1.PriceOverlayAppliedAnnotationKey] != "true" {
		s.Errorf("launched %s with the annotations %v", m.Type, claim.Annotations)
	}
}

// priceOverlay makes a type dear that the price file makes cheap, and another one cheaper still.
func priceOverlay(s *stage) {
	s.apply(fmt.Sprintf(`
apiVersion: karpenter.sh/v1alpha1
kind: NodeOverlay
metadata: {name: %[1]s}
spec:
  requirements:
  - {key: karpenter.sh/nodepool, operator: In, values: [%[1]s]}
  - {key: node.kubernetes.io/instance-type, operator: In, values: [m5.2xlarge]}
  - {key: karpenter.sh/capacity-type, operator: In, values: [on-demand]}
  price: "0.0005"
`, s.name))
	s.heeded()
	s.pool("default", "- {key: karpenter.sh/capacity-type, operator: In, values: [on-demand]}", "")
	s.deploy("web", 1, "1", "")
	m, claim := s.only()
	if m.Type != "m5.2xlarge" || claim.Annotations[karpv1.PriceOverlayAppliedAnnotationKey] != "true" {
		s.Errorf("launched %s with the annotations %v", m.Type, claim.Annotations)
	}
}

// resourceOverlay asks for a resource that only a device plug-in adds, once the node is there.
func resourceOverlay(s *stage) {
	s.apply(fmt.Sprintf(`
apiVersion: karpenter.sh/v1alpha1
kind: NodeOverlay
metadata: {name: %[1]s}
spec:
  requirements: [{key: karpenter.sh/nodepool, operator: In, values: [%[1]s]}]
  capacity: {smarter-devices/fuse: "20"}
`, s.name))
	s.heeded()
	s.pool("default", "", "")
	s.deploy("web", 1, `1}, limits: {smarter-devices/fuse: "1"`, "")
	s.eventually(60*time.Second, "a node for what asks for the resource", func() (bool, string) {
		return len(s.nodesOf()) == 1, fmt.Sprint(len(s.nodesOf()))
	})
	node := s.nodesOf()[0]
	plugIn, err := json.Marshal(map[string]any{"status": map[string]any{
		"capacity": map[string]string{"smarter-devices/fuse": "20"}, "allocatable": map[string]string{"smarter-devices/fuse": "20"},
	}})
	if err != nil {
		s.Fatal(err)
	}
	if err := s.client.Status().Patch(s.Context(), &node, client.RawPatch("application/merge-patch+json", plugIn)); err != nil {
		s.Fatal(err)
	}
	if _, claim := s.only(); claim.Annotations[karpv1.CapacityOverlayAppliedAnnotationKey] != "true" {
		s.Errorf("the annotations are %v", claim.Annotations)
	}
}

// heeded waits until the stage's overlay is in use.
func (s *stage) heeded() {
	s.Helper()
	s.eventually(30*time.Second, "the overlay is in use", func() (bool, string) {
		o := &v1alpha1.NodeOverlay{}
		if err := s.client.Get(s.Context(), client.ObjectKey{Name: s.name}, o); err != nil {
			return false, err.Error()
		}
		return o.StatusConditions().Root().IsTrue(), fmt.Sprint(o.Status.Conditions)
	})
}

// zonalShift has pods waiting when a new leader begins, while traffic is shifted away from a zone: not one instance is
// launched there, and what is there stays.
func zonalShift(s *stage) {
	s.allowOptions(func(o *stack.Options) { o.ZonalShift = true })
	w := s.cluster.Simulator.World
	away := w.Subnets()[0]
	if err := s.aws.ShiftZone(s.Context(), control.ZonalShiftRequest{Enabled: true, ZoneID: away.ZoneID}); err != nil {
		s.Fatal(err)
	}
	s.pool("default", "", "")
	if err := s.cluster.Controller.Kill(); err != nil {
		s.Fatal(err)
	}
	s.deploy("web", 4, "1", apart("web"))
	// The first look takes longer than all else that a leader waits for.
	s.fault(world.Fault{Kind: world.FaultSlow, Operation: "GetManagedResource", Delay: 3 * time.Second})
	if err := s.cluster.Controller.Start(s.Context()); err != nil {
		s.Fatal(err)
	}
	s.told(60*time.Second, "ZonalShiftActive", s.name, away.ZoneID)
	s.run(90*time.Second, 4)
	for _, m := range s.instances(true) {
		if m.Zone == away.Zone {
			s.Errorf("instance %s was launched in %s", m.ID, m.Zone)
		}
	}
}
