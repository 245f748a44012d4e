package simcluster_test

import (
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kerf-sh/kerf/internal/sim/awssim/world"
	"github.com/kerf-sh/kerf/internal/sim/simcluster"
)

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
			both := []client.Object{&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: claim.Status.NodeName}}, &claim}
			for _, o := range both {
				change(h, o, `{"metadata":{"finalizers":null}}`)
			}
			for _, o := range both {
				// The garbage collector takes a node whose claim is gone, too.
				if err := h.Client.Delete(h.T.Context(), o); client.IgnoreNotFound(err) != nil {
					h.T.Fatal(err)
				}
			}
			h.Eventually(time.Minute, "its instance is ended", func() (bool, string) { return !runs(claim.Status.ProviderID), "it runs" })
			h.Running(5*time.Minute, "web", 2)
			h.Pass(10 * time.Minute)
		}
	})
}
