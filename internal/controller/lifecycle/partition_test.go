package lifecycle

import (
	"errors"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	awsv1 "github.com/kerf-sh/kerf/api/aws/v1"
	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/internal/state/cloud"
)

// admitPlaced is a hospital whose instance was asked for in partition 2, and whose node has joined.
func admitPlaced(t *testing.T) *hospital {
	t.Helper()
	h := admit(t)
	claim := h.claim(t)
	claim.Labels[awsv1.LabelPlacementGroupID], claim.Labels[awsv1.LabelPlacementGroupPartition] = "pg-1", "2"
	if err := h.Client.Update(t.Context(), claim); err != nil {
		t.Fatal(err)
	}
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"}, Spec: corev1.NodeSpec{ProviderID: claim.Status.ProviderID, Taints: []corev1.Taint{karpv1.UnregisteredNoExecuteTaint()}}}
	if err := h.Client.Create(t.Context(), node); err != nil {
		t.Fatal(err)
	}
	return h
}

func (h *hospital) claim(t *testing.T) *karpv1.NodeClaim {
	t.Helper()
	claim := &karpv1.NodeClaim{}
	if err := h.Client.Get(t.Context(), client.ObjectKey{Name: "c"}, claim); err != nil {
		t.Fatal(err)
	}
	return claim
}

// registered says whether the node has its labels, and which partition they name.
func (h *hospital) registered(t *testing.T) (bool, string) {
	t.Helper()
	node := &corev1.Node{}
	if err := h.Client.Get(t.Context(), client.ObjectKey{Name: "n"}, node); err != nil {
		t.Fatal(err)
	}
	claim := h.claim(t)
	is := node.Labels[karpv1.NodeRegisteredLabelKey] == "true"
	if is != claim.StatusConditions().IsTrue(karpv1.ConditionTypeRegistered) {
		t.Errorf("the node is registered: %t, and its claim says otherwise", is)
	}
	if is && claim.Labels[awsv1.LabelPlacementGroupPartition] != node.Labels[awsv1.LabelPlacementGroupPartition] {
		t.Errorf("the claim says %v, the node %v", claim.Labels, node.Labels)
	}
	return is, node.Labels[awsv1.LabelPlacementGroupPartition]
}

func TestANodeWaitsUntilThePartitionOfItsInstanceIsKnown(t *testing.T) {
	for name, c := range map[string]struct {
		unknown, known func(*hospital)
		want           string
	}{
		"EC2 does not answer":   {func(h *hospital) { h.failing = errors.New("no answer") }, func(h *hospital) { h.failing, h.group, h.partition = nil, "pg-1", 2 }, "2"},
		"EC2 does not say yet":  {func(h *hospital) { h.group = "pg-1" }, func(h *hospital) { h.partition = 2 }, "2"},
		"EC2 chose another one": {func(h *hospital) { h.group = "pg-1" }, func(h *hospital) { h.partition = 3 }, "3"},
		"it is not visible yet": {func(h *hospital) { h.state = "" }, func(h *hospital) { h.state, h.group, h.partition = "running", "pg-1", 2 }, "2"},
	} {
		t.Run(name, func(t *testing.T) {
			h := admitPlaced(t)
			c.unknown(h)
			h.live(t, 20*time.Second)
			if is, _ := h.registered(t); is {
				t.Error("registered without knowing it")
			}
			if got := h.claim(t).StatusConditions().Get(karpv1.ConditionTypeRegistered); got.Reason != karpv1.ReasonRegistrationHookPending {
				t.Errorf("the claim says %q", got.Reason)
			}
			if h.asked > 9 {
				t.Errorf("asked %d times in 20 seconds", h.asked)
			}
			c.known(h)
			h.live(t, 31*time.Second)
			if is, partition := h.registered(t); !is || partition != c.want {
				t.Errorf("registered: %t, in partition %q, want %q", is, partition, c.want)
			}
		})
	}
}

func TestNodesOutsideOfPartitionsWaitForNothing(t *testing.T) {
	h := admitPlaced(t) // labels of the NodePool's own: the instance stands in no group
	h.live(t, time.Millisecond)
	if is, partition := h.registered(t); !is || partition != "2" {
		t.Errorf("registered: %t, partition %q", is, partition)
	}
	h = admitPlaced(t)
	claim := h.claim(t)
	delete(claim.Labels, awsv1.LabelPlacementGroupPartition)
	if err := h.Client.Update(t.Context(), claim); err != nil {
		t.Fatal(err)
	}
	h.failing = &cloud.Error{Class: cloud.Unavailable, Err: errors.New("no answer")}
	h.live(t, time.Millisecond)
	if is, _ := h.registered(t); !is || h.asked != 0 {
		t.Errorf("registered: %t, asked %d times", is, h.asked)
	}
}

func TestANodeThatNeverLearnsItsPartitionIsGivenUp(t *testing.T) {
	h := admitPlaced(t)
	h.group = "pg-1"
	if !h.live(t, 16*time.Minute) {
		t.Error("the claim is there after its registration timeout")
	}
}
