package simcluster_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kerf-sh/kerf/internal/sim/simcluster"
)

// A provider ID that names no instance is that of no instance: its NodeClaim is collected, and goes when it is deleted.
func TestAProviderIDThatNamesNoInstanceHoldsNoFinalizer(t *testing.T) {
	for _, bad := range []string{"Provider:///AZ/i-0123456789abcdef0", "kwok://node", "aws:///us-east-1a/i-nonsense"} {
		for _, deleted := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, deleted %t", strings.ReplaceAll(bad, "/", "-"), deleted), func(t *testing.T) {
				log := listen()
				simcluster.Run(t, simcluster.Options{World: few, Log: log}, func(h *simcluster.Cluster) {
					h.Apply(onDemand)
					h.Deploy("web", 1, "1", "1Gi")
					h.Running(2*time.Minute, "web", 1)
					claim := h.Claims()[0]
					stored := claim.DeepCopy()
					claim.Status.ProviderID = bad
					// A patch: the controller may write to the claim at this moment, too.
					if err := h.Client.Status().Patch(h.T.Context(), &claim, client.MergeFrom(stored)); err != nil {
						h.T.Fatal(err)
					}
					if deleted {
						remove(h, &claim)
					}
					h.Eventually(5*time.Minute, "the claim is gone", func() (bool, string) {
						for _, c := range h.Claims() {
							if c.Name == claim.Name {
								return false, fmt.Sprintf("it is there, deleted at %v", c.DeletionTimestamp)
							}
						}
						return true, ""
					})
					h.Running(5*time.Minute, "web", 1)
					h.Eventually(5*time.Minute, "the instance that it had is terminated", func() (bool, string) {
						for _, m := range h.Instances() {
							if "aws:///"+m.Zone+"/"+m.ID == stored.Status.ProviderID {
								return false, "it runs"
							}
						}
						return true, ""
					})
					h.Pass(5 * time.Minute)
					if lines := log.with("level=ERROR"); len(lines) > 0 {
						h.T.Errorf("%d lines of errors, the first %s", len(lines), lines[0])
					}
					if told := events(h, "NodeClaim", "ProviderIDInvalid"); !strings.HasPrefix(bad, "aws:///") && len(told) == 0 {
						h.T.Error("no event on the claim")
					}
					if n := len(h.Nodes()); n != 1 {
						h.T.Errorf("%d nodes", n)
					}
				})
			})
		}
	}
}
