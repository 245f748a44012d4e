package simcluster_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	awsv1 "github.com/kerf-sh/kerf/api/aws/v1"
	"github.com/kerf-sh/kerf/internal/sim/simcluster"
)

// A class that only a newer controller understands is not ready and says why; the others go on.
func TestAClassWithExpressionsKeepsNoOtherFromItsNodes(t *testing.T) {
	simcluster.Run(t, simcluster.Options{World: few}, func(h *simcluster.Cluster) {
		h.Apply(onDemand)
		class := &awsv1.EC2NodeClass{}
		if err := h.Client.Get(h.T.Context(), client.ObjectKey{Name: "default"}, class); err != nil {
			h.T.Fatal(err)
		}
		other := &awsv1.EC2NodeClass{}
		other.Name, other.Spec = "newer", *class.Spec.DeepCopy()
		other.Spec.Kubelet = &awsv1.KubeletConfiguration{Others: map[string]json.RawMessage{"maxPods": json.RawMessage(`"min(110, vcpus * 20)"`)}}
		if err := h.Client.Create(h.T.Context(), other); err != nil {
			h.T.Fatal(err)
		}
		h.Deploy("web", 1, "1", "1Gi")
		h.Running(5*time.Minute, "web", 1)
		h.Eventually(time.Minute, "it says that it is not ready", func() (bool, string) {
			if err := h.Client.Get(h.T.Context(), client.ObjectKey{Name: "newer"}, other); err != nil {
				return false, err.Error()
			}
			c := other.StatusConditions(true).Get(awsv1.ConditionTypeValidationSucceeded)
			return c.IsFalse() && c.Reason == "KubeletExpressionsDisabled" && strings.Contains(c.Message, "min(110, vcpus * 20)"), other.Name
		})
	})
}
