package e2e

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	awsv1 "github.com/kerf-sh/kerf/api/aws/v1"
	"github.com/kerf-sh/kerf/internal/sim/awssim/world"
)

// TestInstancesThatDie lets every instance of a class end as it starts, as where the key of its volumes may not be used: the
// class says why, its instances are not launched in a loop, and a change of the class is tried at once.
func TestInstancesThatDie(t *testing.T) {
	t.Parallel()
	e := up(t)
	e.apply(strings.ReplaceAll(classYAML, "name: default", "name: dying"))
	s := e.stage(t, "m5")
	s.fault(world.Fault{Kind: world.FaultFailedLaunch, InstanceType: "m5.*", Code: "Client.InternalError", Message: "Client.InternalError: Client error on launch"})
	s.pool("dying", "", "")
	s.deploy("web", 3, "1", apart("web"))
	s.told(90*time.Second, "InstanceGone", "", "Client.InternalError", "kms:CreateGrant")
	s.told(10*time.Second, "VolumeKeyUnusable", "dying", "Client.InternalError", "kms:CreateGrant")
	s.told(60*time.Second, "FailedScheduling", "web", "instances of the node class end as they start")
	s.eventually(60*time.Second, "the claims are given up", func() (bool, string) { return len(s.mine()) == 0, fmt.Sprint(len(s.mine())) })
	launched := len(s.instances(true))
	decided := s.metric(`karpenter_scheduler_scheduling_duration_seconds_count{controller="provisioner"}`)
	s.eventually(60*time.Second, "the loop looks at the pods a few times more", func() (bool, string) {
		now := s.metric(`karpenter_scheduler_scheduling_duration_seconds_count{controller="provisioner"}`)
		return now >= decided+3, fmt.Sprint(now, " of ", decided+3)
	})
	if n := len(s.instances(true)); n != launched || n > 6 {
		t.Errorf("%d instances were launched, and then %d more, to die like the others", launched, n-launched)
	}
	if n := s.metric(`kerf_cloud_unavailable{capacity_type="",reason="instances of the node class end as they start",scope="class"}`); n != 1 {
		t.Errorf("the metric says that %v classes are closed", n)
	}

	if err := s.aws.ClearFaults(t.Context()); err != nil {
		t.Fatal(err)
	}
	class := &awsv1.EC2NodeClass{}
	class.Name = "dying"
	if err := s.client.Patch(t.Context(), class, client.RawPatch("application/merge-patch+json", []byte(`{"spec":{"tags":{"fixed":"yes"}}}`))); err != nil {
		t.Fatal(err)
	}
	s.run(90*time.Second, 3)
	s.matched(20 * time.Second)
}
