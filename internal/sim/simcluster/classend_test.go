package simcluster_test

import (
	"fmt"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	awsv1 "github.com/kerf-sh/kerf/api/aws/v1"
	"github.com/kerf-sh/kerf/internal/sim/awssim/world"
	"github.com/kerf-sh/kerf/internal/sim/simcluster"
)

// An EC2NodeClass can't go while IAM does not take its instance profile back. It goes within the longest pause once IAM does.
func TestAClassGoesSoonAfterIAMAnswers(t *testing.T) {
	simcluster.Run(t, simcluster.Options{World: few}, func(h *simcluster.Cluster) {
		h.Apply(simcluster.Defaults)
		h.Pass(2 * time.Minute)
		fault := h.AWS.World.AddFault(world.Fault{Kind: world.FaultError, Service: "iam", Code: "ServiceFailure", Message: "IAM is down", Status: 503})
		remove(h, &awsv1.EC2NodeClass{ObjectMeta: metav1.ObjectMeta{Name: "default"}})
		h.Pass(time.Hour)
		classes := func() int {
			var list awsv1.EC2NodeClassList
			if err := h.Client.List(h.T.Context(), &list); err != nil {
				h.T.Fatal(err)
			}
			return len(list.Items)
		}
		if classes() != 1 {
			h.T.Fatal("the class is gone though IAM does not answer")
		}
		h.AWS.World.RemoveFault(fault)
		h.Eventually(90*time.Second, "the class is gone", func() (bool, string) { return classes() == 0, fmt.Sprint(classes(), " are there") })
	})
}
