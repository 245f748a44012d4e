package aws

import (
	"strings"
	"testing"

	awsv1 "github.com/kerf-sh/kerf/api/aws/v1"
	"github.com/kerf-sh/kerf/internal/state/cloud"
)

// A check of a class that panics makes its own condition Unknown; the others stand.
func TestACheckThatPanicsLeavesTheOthers(t *testing.T) {
	class := &awsv1.EC2NodeClass{}
	class.Name = "shop"
	var subnets, images cloud.Finding
	g := findings{class: class}
	g.find(awsv1.ConditionTypeSubnetsReady, &subnets, func() { subnets = cloud.Finding{Condition: awsv1.ConditionTypeSubnetsReady, OK: true} })
	g.find(awsv1.ConditionTypeAMIsReady, &images, func() { panic("planted") })
	g.wait()
	if !subnets.OK {
		t.Errorf("subnets: %+v", subnets)
	}
	if images.Condition != awsv1.ConditionTypeAMIsReady || !images.Unknown || images.Reason != "InternalError" || !strings.Contains(images.Message, "planted") || !strings.Contains(images.Message, "shop") {
		t.Errorf("images: %+v", images)
	}
}
