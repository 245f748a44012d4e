package simcluster_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	awsv1 "github.com/kerf-sh/kerf/api/aws/v1"
	"github.com/kerf-sh/kerf/internal/sim/awssim/world"
	"github.com/kerf-sh/kerf/internal/sim/simcluster"
)

// Expiry has no budget and looks at once: nodes that came of age while a zone was left alone are due in a new leader's first round.
func TestANewLeaderLeavesAZoneAloneThatTrafficIsShiftedAwayFrom(t *testing.T) {
	manifest := strings.Replace(onDemand, "expireAfter: 720h", "expireAfter: 30m", 1)
	env := map[string]string{"ENABLE_ZONAL_SHIFT": "true", "KERF_EXPIRE_AHEAD": "0s"}
	for name, selected := range map[string]bool{"of a class": true, "that no class selects any more": false} {
		t.Run(name, func(t *testing.T) {
			simcluster.Run(t, simcluster.Options{World: few, Env: env}, func(h *simcluster.Cluster) {
				h.Apply(manifest)
				h.Deploy("web", 2, "1", "1Gi")
				h.Running(2*time.Minute, "web", 2)
				name := h.AWS.World.ClusterName()
				if err := h.AWS.World.EnableZonalShift(name, true); err != nil {
					t.Fatal(err)
				}
				h.Pass(10 * time.Minute) // until nothing is consolidated any more
				zone := h.Claims()[0].Labels[awsv1.LabelTopologyZoneID]
				if err := h.AWS.World.StartZonalShift(name, world.ZonalShift{ZoneID: zone, Expires: h.AWS.World.Now().Add(24 * time.Hour)}); err != nil {
					t.Fatal(err)
				}
				h.Pass(time.Minute)
				if !selected {
					leaveOut(h, zone)
				}
				h.Pass(45 * time.Minute)
				before := there(h, zone)
				h.StopController()
				h.StartController()
				h.Pass(5 * time.Minute)
				if after := there(h, zone); len(before) == 0 || !slices.Equal(before, after) {
					t.Errorf("there were %q in zone %s, and are %q under another leader", before, zone, after)
				}
			})
		})
	}
}

// leaveOut has the class select the subnets of all zones but one.
func leaveOut(h *simcluster.Cluster, zone string) {
	h.T.Helper()
	class := &awsv1.EC2NodeClass{}
	if err := h.Client.Get(h.T.Context(), client.ObjectKey{Name: "default"}, class); err != nil {
		h.T.Fatal(err)
	}
	var terms []string
	for _, s := range class.Status.Subnets {
		if s.ZoneID != zone {
			terms = append(terms, fmt.Sprintf(`{"id":%q}`, s.ID))
		}
	}
	change(h, class, `{"spec":{"subnetSelectorTerms":[`+strings.Join(terms, ",")+`]}}`)
}

// there are the NodeClaims of a zone that are not being deleted.
func there(h *simcluster.Cluster, zone string) (names []string) {
	h.T.Helper()
	for _, c := range h.Claims() {
		if c.Labels[awsv1.LabelTopologyZoneID] == zone && c.DeletionTimestamp.IsZero() {
			names = append(names, c.Name)
		}
	}
	slices.Sort(names)
	return names
}
