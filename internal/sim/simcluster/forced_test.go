package simcluster_test

import (
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/internal/sim/awssim/world"
	"github.com/kerf-sh/kerf/internal/sim/simcluster"
)

// unbind takes the finalizers off an object that is being deleted.
func unbind(h *simcluster.Cluster, o client.Object) {
	h.T.Helper()
	err := h.Client.Patch(h.T.Context(), o, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`)))
	if client.IgnoreNotFound(err) != nil {
		h.T.Fatal(err)
	}
}

// Nothing but the comparison of instances and NodeClaims ends an instance whose claim and node were forced away, and by then it
// comes every two minutes only.
func TestAnInstanceWhoseClaimIsForcedAwayEndsWithinAMinute(t *testing.T) {
	simcluster.Run(t, simcluster.Options{World: few}, func(h *simcluster.Cluster) {
		h.Apply(onDemand)
		h.Deploy("web", 2, "1", "1Gi")
		h.Running(2*time.Minute, "web", 2)
		h.Pass(10 * time.Minute)
		runs := func(providerID string) bool {
			return slices.ContainsFunc(h.Instances(), func(m world.Instance) bool { return providerID == "aws:///"+m.Zone+"/"+m.ID })
		}
		for _, into := range []time.Duration{5 * time.Second, 75 * time.Second} { // wherever in the two minutes that is
			h.Pass(into)
			claim := h.Claims()[0]
			if !runs(claim.Status.ProviderID) {
				h.T.Fatalf("%s does not run", claim.Status.ProviderID)
			}
			// The claim goes first: a node of a claim that lives gets its finalizer back.
			for _, o := range []client.Object{&claim, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: claim.Status.NodeName}}} {
				if err := h.Client.Delete(h.T.Context(), o); client.IgnoreNotFound(err) != nil {
					h.T.Fatal(err)
				}
				unbind(h, o)
			}
			h.Eventually(time.Minute, "its instance is ended", func() (bool, string) { return !runs(claim.Status.ProviderID), "it runs" })
			h.Running(5*time.Minute, "web", 2)
			h.Pass(10 * time.Minute)
		}
	})
}

// A Node that a person deletes past its finalizer leaves a NodeClaim and an instance on which no pod can run.
func TestAnInstanceWhoseNodeIsForcedAwayIsReplaced(t *testing.T) {
	simcluster.Run(t, simcluster.Options{World: few}, func(h *simcluster.Cluster) {
		h.Apply(onDemand)
		h.Deploy("web", 2, "1", "1Gi")
		h.Running(2*time.Minute, "web", 2)
		h.Pass(10 * time.Minute)
		claim := h.Claims()[0]
		node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: claim.Status.NodeName}}
		remove(h, node)
		unbind(h, node)
		h.Running(4*time.Minute, "web", 2) // before the claim is given up: nobody waits for its room
		h.Pass(6 * time.Minute)
		claims, nodes, instances := h.Claims(), h.Nodes(), h.Instances()
		if slices.ContainsFunc(claims, func(c karpv1.NodeClaim) bool { return c.Name == claim.Name }) || len(nodes) != len(claims) || len(instances) != len(claims) {
			h.T.Errorf("%d nodeclaims, %d nodes and %d instances are there, that without a node among them", len(claims), len(nodes), len(instances))
		}
		h.Running(time.Minute, "web", 2)
	})
}

// Somebody restores a node of a backup, or takes its finalizers off by mistake: its pods are moved all the same when it is removed.
func TestANodeThatLostItsFinalizerGetsItBack(t *testing.T) {
	simcluster.Run(t, simcluster.Options{World: few}, func(h *simcluster.Cluster) {
		h.Apply(onDemand)
		h.Deploy("web", 2, "1", "1Gi")
		h.Running(2*time.Minute, "web", 2)
		h.Pass(10 * time.Minute)
		node := busiest(h)
		pods := len(on(h, node.Name))
		change(h, &node, `{"metadata":{"finalizers":null,"ownerReferences":null}}`)
		h.Pass(time.Minute)
		claims := h.Claims()
		i := slices.IndexFunc(claims, func(c karpv1.NodeClaim) bool { return c.Status.NodeName == node.Name })
		remove(h, &claims[i])
		gone(h, 5*time.Minute, node)
		if n := h.API.Requests()[evictions]; n != pods {
			h.T.Errorf("%d evictions were asked for of %d pods", n, pods)
		}
		h.Running(time.Minute, "web", 2)
	})
}
