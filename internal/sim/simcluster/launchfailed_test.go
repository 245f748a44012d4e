package simcluster_test

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/kerf-sh/kerf/internal/sim/awssim/world"
	"github.com/kerf-sh/kerf/internal/sim/simcluster"
)

// A launch that fails is told on the pods that wait for it, in the words of the NodeClaim's condition, and not again and again.
func TestPodsAreToldWhyTheirNodeIsNotLaunched(t *testing.T) {
	for name, tt := range map[string]struct {
		fault world.Fault
		want  string
	}{
		"denied": {world.Fault{Kind: world.FaultError, Operation: "CreateFleet", Code: "UnauthorizedOperation", Message: "You are not authorized to perform this operation.", Status: 403},
			"ec2:CreateFleet"},
		"quota":    {world.Fault{Kind: world.FaultNoCapacity, Code: "VcpuLimitExceeded", Message: "You have requested more vCPU capacity than your current vCPU limit of 32 allows."}, "vCPU limit"},
		"capacity": {world.Fault{Kind: world.FaultNoCapacity}, "EC2 has no capacity"},
		"template": {world.Fault{Kind: world.FaultError, Operation: "CreateLaunchTemplate", Code: "InvalidUserData.Malformed", Message: "Invalid BASE64 encoding of user data.", Status: 400},
			"BASE64"},
	} {
		t.Run(name, func(t *testing.T) {
			simcluster.Run(t, simcluster.Options{World: many}, func(h *simcluster.Cluster) {
				h.Apply(simcluster.Defaults)
				h.Pass(time.Minute)
				h.AWS.World.AddFault(tt.fault)
				h.Deploy("web", 1, "1", "1Gi")
				h.Pass(90 * time.Second)
				said, others := map[string]int{}, []string{}
				var events corev1.EventList
				if err := h.Client.List(h.T.Context(), &events); err != nil {
					h.T.Fatal(err)
				}
				for _, e := range events.Items {
					switch {
					case e.InvolvedObject.Kind != "Pod":
					case e.Reason == "LaunchFailed" && strings.Contains(e.Message, tt.want):
						said[e.Message] += int(max(1, e.Count))
					default:
						others = append(others, e.Reason+": "+e.Message)
					}
				}
				if len(said) == 0 || len(said) > 2 { // spot and on-demand have a quota each
					h.T.Errorf("the pod was told %v of %q; it was told as well: %q", said, tt.want, others)
				}
				for message, n := range said {
					if n != 1 || strings.Contains(message, "default-") {
						h.T.Errorf("told %d times %q, want once and of no single NodeClaim", n, message)
					}
				}
			})
		})
	}
}
