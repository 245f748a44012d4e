package simcluster_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/internal/aws/pricing"
	"github.com/kerf-sh/kerf/internal/sim/simcluster"
)

// onDemand is the usual pool without spot, whose nodes are not replaced by spot nodes.
var onDemand = strings.Replace(simcluster.Defaults, "[spot, on-demand]", "[on-demand]", 1)

// cpus is how much the cluster's nodes have, in thousandths.
func cpus(h *simcluster.Cluster) int64 {
	sum := int64(0)
	for _, n := range h.Nodes() {
		sum += n.Status.Capacity.Cpu().MilliValue()
	}
	return sum
}

// marks are what nodes and claims bear of disruptions.
func marks(h *simcluster.Cluster) []string {
	var out []string
	for _, n := range h.Nodes() {
		for _, t := range n.Spec.Taints {
			if t.Key == karpv1.DisruptedTaintKey {
				out = append(out, "taint on "+n.Name)
			}
		}
		for key := range n.Annotations {
			if key == "kerf.sh/disrupting" || key == "kerf.sh/disruption-order" {
				out = append(out, key+" on "+n.Name)
			}
		}
	}
	for _, c := range h.Claims() {
		if c.StatusConditions().Get(karpv1.ConditionTypeDisruptionReason).IsTrue() {
			out = append(out, "condition on "+c.Name)
		}
	}
	return out
}

// quietly waits until nothing is under way and as much as most is left.
func quietly(h *simcluster.Cluster, within time.Duration, most int64) {
	h.T.Helper()
	h.Eventually(within, fmt.Sprintf("at most %dm of processors, and nothing under way", most), func() (bool, string) {
		now, m := cpus(h), marks(h)
		return now <= most && len(m) == 0, fmt.Sprintf("%dm on %d nodes; %v", now, len(h.Nodes()), m)
	})
}

func TestMostOfTheInstancesGoWithMostOfTheLoad(t *testing.T) {
	simcluster.Run(t, simcluster.Options{World: few}, func(h *simcluster.Cluster) {
		h.Apply(onDemand)
		h.Deploy("web", 100, "1", "1Gi")
		h.Running(2*time.Minute, "web", 100)
		h.Pass(2 * time.Minute)
		before := cpus(h)
		h.Scale("web", 30)
		// A node that has lost no pod may go at once, and where its pods have come to they rest for ten minutes.
		quietly(h, 15*time.Minute, before*4/10)
		h.Running(time.Minute, "web", 30)
		// Pods rest for ten minutes where a move has brought them; after that it is at rest.
		h.Pass(15 * time.Minute)
		calls, instances := len(h.AWS.World.Calls("CreateFleet")), len(h.Instances())
		h.Pass(30 * time.Minute)
		if now := len(h.AWS.World.Calls("CreateFleet")); now != calls || len(h.Instances()) != instances {
			h.T.Errorf("%d launches and %d instances more in half an hour in which nothing happened", now-calls, len(h.Instances())-instances)
		}
	})
}

func TestAnInstanceThatIsTooLargeIsReplacedAndAGuardedOneStays(t *testing.T) {
	simcluster.Run(t, simcluster.Options{World: few}, func(h *simcluster.Cluster) {
		h.Apply(onDemand)
		guard := &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web"}}
		guard.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}
		guard.Spec.MaxUnavailable = new(intstr.FromInt32(0))
		if err := h.Client.Create(h.T.Context(), guard); err != nil {
			h.T.Fatal(err)
		}
		h.Deploy("web", 6, "1", "1Gi")
		h.Running(2*time.Minute, "web", 6)
		h.Scale("web", 1)
		h.Pass(5 * time.Minute)
		large := cpus(h)
		if large < 4000 || len(marks(h)) > 0 {
			h.T.Fatalf("%dm, marks %v: the story wants a large instance that a budget guards", large, marks(h))
		}
		told := false
		var events corev1.EventList
		if err := h.Client.List(h.T.Context(), &events); err != nil {
			h.T.Fatal(err)
		}
		for _, e := range events.Items {
			told = told || e.Reason == "DisruptionBlocked" && e.InvolvedObject.Kind == "Node" && strings.Contains(e.Message, "default/web-")
		}
		if !told {
			h.T.Error("no event on the node names the pod that keeps it")
		}
		if err := h.Client.Delete(h.T.Context(), guard); err != nil {
			h.T.Fatal(err)
		}
		h.Eventually(time.Minute, "its replacement is on its way", func() (bool, string) { return len(h.Claims()) == 2, fmt.Sprint(marks(h)) })
		h.Controller().Kill()
		<-h.Controller().Done()
		h.StartController()
		quietly(h, 5*time.Minute, 2000)
		h.Running(time.Minute, "web", 1)
		if n := len(h.Claims()); n != 1 {
			h.T.Errorf("%d nodeclaims", n)
		}
	})
}

// A spot price may be back tomorrow where it was yesterday: pods are moved for one that has been low for hours, not for one
// that is low now.
func TestASpotPriceOfAMomentMovesNoPods(t *testing.T) {
	long(t)
	spot := strings.Replace(simcluster.Defaults, "[spot, on-demand]", "[spot]", 1)
	simcluster.Run(t, simcluster.Options{World: many, Env: map[string]string{"FEATURE_GATES": "SpotToSpotConsolidation=true"}}, func(h *simcluster.Cluster) {
		h.Apply(spot)
		h.Deploy("web", 2, "500m", "1Gi")
		h.Running(2*time.Minute, "web", 2)
		h.Pass(30 * time.Minute)
		first := h.Instances()
		if len(first) != 1 {
			h.T.Fatalf("%d instances; the story wants one", len(first))
		}
		sale := time.Now()
		for _, p := range h.AWS.World.SpotPrices(nil, nil, sale, sale) {
			if p.Type != first[0].Type || p.Zone != first[0].Zone {
				h.AWS.World.SetSpotPrice(p.Type, p.Zone, p.MicroUSD/8) // more than 15 types are cheaper then
			}
		}
		h.Pass(pricing.SpotMemory - time.Since(sale) - 10*time.Minute)
		if now := h.Instances(); len(now) != 1 || now[0].ID != first[0].ID {
			h.T.Errorf("pods were moved for a price that had not been seen for long: %v", now)
		}
		h.Eventually(30*time.Minute, "the instance is replaced by one that has been cheaper for hours", func() (bool, string) {
			now := h.Instances()
			return len(now) == 1 && now[0].ID != first[0].ID, fmt.Sprint(len(now), " instances")
		})
		h.Running(time.Minute, "web", 2)
	})
}
