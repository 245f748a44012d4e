package simcluster_test

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/kerf-sh/kerf/internal/controller/apply"
	"github.com/kerf-sh/kerf/internal/sim/simcluster"
)

var (
	launchBounds = flag.String("launch-bounds", "10", "settings of KERF_LAUNCH_PRICE_BOUND to play, with commas; 10 ships")
	launchSeeds  = flag.Uint64("launch-seeds", 2, "workloads to play with each of them")
)

// What is launched costs what the plan said. Unless the pools of one launch are bounded by price, EC2 takes a dearer one that
// has more room, and where the plan counted on bare metal, one that is not.
func TestWhatIsLaunchedCostsWhatWasPlanned(t *testing.T) {
	for _, bound := range strings.Split(*launchBounds, ",") {
		for _, capacityType := range []string{"spot", "on-demand"} {
			for seed := range *launchSeeds {
				t.Run(fmt.Sprint(bound, " ", capacityType, " ", seed), func(t *testing.T) {
					t.Parallel()
					simcluster.Run(t, simcluster.Options{Env: map[string]string{"KERF_LAUNCH_PRICE_BOUND": bound}}, func(h *simcluster.Cluster) {
						launchManyShapes(h, capacityType, seed)
						judgeLaunches(h, bound)
					})
				})
			}
		}
	}
}

// launchManyShapes runs pods of a seed: 0 are many alike, for which bare metal is the cheapest.
func launchManyShapes(h *simcluster.Cluster, capacityType string, seed uint64) {
	h.T.Helper()
	h.Apply(strings.NewReplacer("[amd64]", "[amd64, arm64]", "[spot, on-demand]", "["+capacityType+"]", "consolidateAfter: 30s", "consolidateAfter: Never").Replace(simcluster.Defaults))
	pods := 0
	if seed == 0 {
		pods = 600
		h.Deploy("web", pods, "500m", "512Mi")
	} else {
		r := rand.New(rand.NewPCG(seed, 1))
		for i := range 6 {
			n := 5 + r.IntN(40)
			h.Deploy(fmt.Sprint("web-", i), n, fmt.Sprint(100+r.IntN(3000), "m"), fmt.Sprint(128<<r.IntN(6), "Mi"))
			pods += n
			h.Pass(time.Duration(r.IntN(20)) * time.Second)
		}
	}
	h.Running(5*time.Minute, "", pods)
}

// judgeLaunches compares what runs with what the claims, the metric and the plans say.
func judgeLaunches(h *simcluster.Cluster, bound string) {
	h.T.Helper()
	runs := map[string]float64{}
	for _, m := range h.Instances() {
		runs[m.ID] = float64(m.PriceMicroUSD) / 1e6
	}
	var events corev1.EventList
	if err := h.Client.List(h.T.Context(), &events); err != nil {
		h.T.Fatal(err)
	}
	var bill, sum, worst float64
	claims := h.Claims()
	for i := range claims {
		c := &claims[i]
		planned, err := strconv.ParseFloat(c.Annotations[apply.PlannedPriceAnnotation], 64)
		costs := runs[c.Status.ProviderID[strings.LastIndex(c.Status.ProviderID, "/")+1:]]
		says := c.Annotations[apply.LaunchedAnnotation]
		if err != nil || costs == 0 || !strings.Contains(says, fmt.Sprintf("for $%.4f/h, planned at $%.4f/h", costs, planned)) {
			h.T.Fatalf("%s was planned at %q; it says %q, and costs $%.4f/h", c.Name, c.Annotations[apply.PlannedPriceAnnotation], says, costs)
		}
		if !slices.ContainsFunc(events.Items, func(e corev1.Event) bool { return e.InvolvedObject.Name == c.Name && e.Message == "launched "+says }) {
			h.T.Errorf("no event says %q", says)
		}
		bill, sum, worst = bill+costs, sum+costs/planned, max(worst, costs/planned)
	}
	mean := sum / float64(len(claims))
	pools, lists := 0, 0
	for _, f := range h.AWS.World.Fleets() {
		lists++
		for _, config := range f.Request.Configs {
			pools += len(config.Overrides)
		}
	}
	h.T.Logf("%d instances, $%.3f/h, launched over planned: mean %.4f, worst %.4f; %.1f pools a list", len(claims), bill, mean, worst, float64(pools)/float64(max(lists, 1)))
	if n, told := ratios(h); n != uint64(len(claims)) || told-sum > 1e-6 || sum-told > 1e-6 {
		h.T.Errorf("the metric tells of %d launches with ratios of %f in sum, want %d and %f", n, told, len(claims), sum)
	}
	if percent, err := strconv.ParseFloat(bound, 64); err == nil && percent > 0 && worst > 1+percent/100+1e-6 {
		h.T.Errorf("launched at %.4f times the planned price, above the bound of %s %%", worst, bound)
	}
	if bound == "10" && mean > 1.03 {
		h.T.Errorf("launched at %.4f times the planned price in the mean of %d claims", mean, len(claims))
	}
}

// ratios are the count and the sum of kerf_launch_price_over_plan_ratio.
func ratios(h *simcluster.Cluster) (n uint64, sum float64) {
	families, err := h.Controller().Metrics.Gather()
	if err != nil {
		h.T.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() != "kerf_launch_price_over_plan_ratio" {
			continue
		}
		for _, m := range f.GetMetric() {
			n += m.GetHistogram().GetSampleCount()
			sum += m.GetHistogram().GetSampleSum()
		}
	}
	return n, sum
}
