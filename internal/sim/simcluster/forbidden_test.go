package simcluster_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/kerf-sh/kerf/internal/sim/awssim/world"
	"github.com/kerf-sh/kerf/internal/sim/simcluster"
)

const scp = "You are not authorized to perform this operation. User: arn:aws:sts::123456789012:assumed-role/kerf/kerf is not authorized to perform: ec2:RunInstances" +
	" on resource: arn:aws:ec2:us-east-1:123456789012:instance/* with an explicit deny in a service control policy: arn:aws:organizations::123456789012:policy/o-1/service_control_policy/p-intel"

// forbidden is a policy that lets the controller launch no instance of some types.
func forbidden(types string) world.Fault {
	return world.Fault{Kind: world.FaultNoCapacity, InstanceType: types, Code: "UnauthorizedOperation", Message: scp}
}

// generalPurpose are types of Intel and AMD.
func generalPurpose(o *world.Options) {
	o.Types = nil
	for _, family := range []string{"m5", "m5a", "m6a", "m6i"} {
		for _, size := range []string{"large", "xlarge", "2xlarge"} {
			o.Types = append(o.Types, family+"."+size)
		}
	}
}

var onlyM = strings.NewReplacer("[spot, on-demand]", "[on-demand]", "[c, m, r]", "[m]", "consolidateAfter: 30s", "consolidateAfter: Never").Replace(simcluster.Defaults)

// Where a policy forbids the instance types that cost least, others are launched, also those that the price bound would not offer beside
// them, and it is said what is forbidden and by which policy.
func TestTypesThatAPolicyForbidsAreNotWaitedFor(t *testing.T) {
	for name, faults := range map[string][]world.Fault{
		"all that is offered":               {forbidden("m5a.*"), forbidden("m6a.*")},
		"some of it, and the rest is short": {forbidden("m5a.*"), {Kind: world.FaultNoCapacity, InstanceType: "m6a.*"}},
	} {
		t.Run(name, func(t *testing.T) {
			simcluster.Run(t, simcluster.Options{World: generalPurpose}, func(h *simcluster.Cluster) {
				h.Apply(onlyM)
				h.Pass(time.Minute)
				for _, f := range faults {
					h.AWS.World.AddFault(f)
				}
				from := time.Now()
				h.Deploy("web", 1, "1", "1Gi")
				h.Running(2*time.Minute, "web", 1)
				for _, i := range h.Instances() {
					if strings.HasPrefix(i.Type, "m5a.") || strings.HasPrefix(i.Type, "m6a.") {
						h.T.Errorf("%s was launched", i.Type)
					}
				}
				if got := since(h, from, "m5a.*"); got.most != 1 {
					h.T.Errorf("%+v: a forbidden pool is to be asked once", got)
				}
				if said := saidOf(h, "LaunchFailed"); !strings.Contains(said, "m5a.") || !strings.Contains(said, "service control policy") || !strings.Contains(said, "p-intel") {
					h.T.Errorf("the pod was told %q: want what is forbidden and by which policy", said)
				}
			})
		})
	}
}

// Where a policy forbids all that a NodePool allows, the pods say so, and EC2 is asked for no pool more often than for one that is short.
func TestNothingIsLeftThatAPolicyAllows(t *testing.T) {
	simcluster.Run(t, simcluster.Options{World: generalPurpose}, func(h *simcluster.Cluster) {
		h.Apply(onlyM)
		h.Pass(time.Minute)
		h.AWS.World.AddFault(forbidden("*"))
		from := time.Now()
		h.Deploy("web", 1, "1", "1Gi")
		h.Pass(2 * time.Minute)
		if got := since(h, from, "*"); got.most != 1 || got.fleets > 8 {
			h.T.Errorf("%+v: want each pool once", got)
		}
		said := saidOf(h, "FailedScheduling")
		if !strings.Contains(said, "not permitted by a policy") {
			h.T.Errorf("the pod was told %q", said)
		}
		h.Pass(time.Hour)
		if got := since(h, from, "*"); got.most > 6 {
			h.T.Errorf("%+v in an hour: want a pool after 3, 6, 12 and 24 minutes", got)
		}
		h.AWS.World.ClearFaults()
		h.Running(25*time.Minute, "web", 1)
	})
}

// saidOf is what pods were told in events of a reason.
func saidOf(h *simcluster.Cluster, reason string) string {
	var events corev1.EventList
	if err := h.Client.List(h.T.Context(), &events); err != nil {
		h.T.Fatal(err)
	}
	var said []string
	for _, e := range events.Items {
		if e.InvolvedObject.Kind == "Pod" && e.Reason == reason {
			said = append(said, e.Message)
		}
	}
	return fmt.Sprint(said)
}
