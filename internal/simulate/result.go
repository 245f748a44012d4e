package simulate

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/kerf-sh/kerf/internal/engine/catalog"
	"github.com/kerf-sh/kerf/internal/engine/requirement"
	"github.com/kerf-sh/kerf/internal/report"
	"github.com/kerf-sh/kerf/internal/simulate/workload"
)

// Result is what one run came to. Its JSON is stable. The same Spec gives the same Result.
type Result struct {
	Configuration string `json:"configuration"`
	Workload      string `json:"workload"`
	Seed          uint64 `json:"seed"`
	// Region is where it was played, RegionUnknown that nothing said where, so that it is the default. Prices says of which days the
	// prices are.
	Region        string `json:"region"`
	RegionUnknown bool   `json:"regionNotKnown,omitempty"`
	Prices        string `json:"prices"`
	// SpotPrices warns of the age of the spot prices, where spot instances ran.
	SpotPrices string `json:"spotPricesWarning,omitempty"`
	// Currency is that of all amounts: USD, or that of the region's price list.
	Currency catalog.Currency `json:"currency"`
	// HorizonSeconds is how long was asked for, SimulatedSeconds how long was simulated: less where it was interrupted.
	HorizonSeconds   int64 `json:"horizonSeconds"`
	SimulatedSeconds int64 `json:"simulatedSeconds"`
	Interrupted      bool  `json:"interrupted,omitempty"`
	// Played are the hours that were simulated: "Monday 00:00 to 02:00 UTC". Partial says which part of its curve a built-in workload
	// has in them, where it is not all.
	Played  string `json:"played"`
	Partial string `json:"partial,omitempty"`
	// Drawn are the things that are drawn from the seed. All others are the same for each seed.
	Drawn []string `json:"drawnFromSeed,omitempty"`
	// Rate is how many interruptions of a spot instance were played per hour.
	Rate float64 `json:"interruptionsPerHour"`
	// Settings are those of the controller that were given.
	Settings map[string]string `json:"settings,omitempty"`
	Totals   Totals            `json:"totals"`
	// Moved are the pods that were moved by why, MovedWorkloads the same pods by their workload, Commands the disruptions that were begun.
	Moved          []Count         `json:"moved,omitempty"`
	MovedWorkloads []MovedWorkload `json:"movedWorkloads,omitempty"`
	Commands       []Count         `json:"commands,omitempty"`
	// Refused are pods that had no node for ten minutes, by what the controller said of them. RefusedAfterSeconds is for how long a pod
	// that still waited at the end must have had none: less than ten minutes in a short run.
	Refused             []Refusal `json:"refused,omitempty"`
	RefusedAfterSeconds int64     `json:"refusedAfterSeconds"`
	// Pending says how many pods waited how long until they ran, or have waited so far.
	Pending []Bucket `json:"pending"`
	// Notes are what is not simulated, or was replaced by something like it.
	Notes []workload.Note `json:"notes,omitempty"`
	// Warnings are what the controller warns of in the settings, in the cluster as well.
	Warnings      []string `json:"warnings,omitempty"`
	SampleSeconds int64    `json:"sampleSeconds"`
	Series        []Sample `json:"series"`

	// Events is the log of what happened, if it was asked for.
	Events []string `json:"-"`
}

// Totals are the figures of a run.
type Totals struct {
	// Bill is what the instances cost, Floor the least that the pods could have cost, by the same prices.
	Bill  float64 `json:"bill"`
	Floor float64 `json:"floor"`
	// Distance is by how many percent the bill is above the floor; missing where the floor is 0 and the bill is not.
	Distance *float64 `json:"distancePercent,omitempty"`
	// SpotShare is the part of the bill for spot instances, in percent.
	SpotShare float64 `json:"spotSharePercent"`
	// Pods is how many began to run, Waiting how many had not when it ended or when they were deleted. The others are how many
	// seconds all of them waited from their creation until they ran, or until then; they are missing where no pod began to run.
	Pods    int      `json:"pods"`
	Waiting int      `json:"waiting"`
	P50     *float64 `json:"p50PendingSeconds,omitempty"`
	P95     *float64 `json:"p95PendingSeconds,omitempty"`
	P99     *float64 `json:"p99PendingSeconds,omitempty"`
	Max     *float64 `json:"maxPendingSeconds,omitempty"`
	// Moved is how many pods were evicted from nodes that were removed, whatever for, Lost how many ended with their instance.
	Moved int `json:"moved"`
	Lost  int `json:"lost"`
	// Interruptions is how many spot instances were interrupted, Expected how many were to be expected: SpotHours, for how many hours spot
	// instances ran in all, times the rate that was played.
	Interruptions int     `json:"interruptions"`
	Expected      float64 `json:"expectedInterruptions"`
	SpotHours     float64 `json:"spotInstanceHours"`
	// Disrupted is how many nodes the controller replaced or removed with a reason of its own, interruptions left out.
	Disrupted int `json:"disrupted"`
	// Launches and Terminations count instances.
	Launches     int `json:"launches"`
	Terminations int `json:"terminations"`
	// NodesMean and NodesMax are how many instances there were.
	NodesMean float64 `json:"nodesMean"`
	NodesMax  int     `json:"nodesMax"`
	// Refused is how many pods had no node for ten minutes, or at the end of a short run for half of it.
	Refused int `json:"refused"`
}

// Count is how often something was for one reason.
type Count struct {
	Reason string `json:"reason"`
	Count  int    `json:"count"`
}

// Refusal is a reason why pods had no node.
type Refusal struct {
	Reason  string `json:"reason"`
	Count   int    `json:"count"`
	Example string `json:"example"` // a workload
}

// Bucket is how many pods waited up to so many seconds, and longer than the bucket before.
type Bucket struct {
	UpTo  float64 `json:"upToSeconds"` // 0: no end
	Count int     `json:"count"`
}

// Sample is a point of the series. Amounts are per hour.
type Sample struct {
	At      int64   `json:"atSeconds"`
	Bill    float64 `json:"bill"`
	Floor   float64 `json:"floor"`
	Spot    int     `json:"spot"`
	Demand  int     `json:"onDemand"`
	Other   int     `json:"reserved,omitempty"`
	Running int     `json:"running"`
	Pending int     `json:"pending"`
	Lost    int     `json:"interruptions,omitempty"` // since the sample before
}

// Metric is a figure of Totals by its name.
type Metric struct {
	Name  string // as assertions have it
	Title string // for people
	Unit  string // "$", "%", "s" or empty
	// Better is -1 where less is better, 1 where more is, 0 where neither.
	Better int
	// Of is NaN where the run says nothing of it.
	Of func(*Totals) float64
}

// Metrics are the figures that can be asserted and compared. Only the distance can be below 0: by chance, as the floor is found
// at points of time, and by more where a floor is wrong.
var Metrics = []Metric{
	{"bill", "bill", "$", -1, func(t *Totals) float64 { return t.Bill }},
	{"floor", "floor", "$", 0, func(t *Totals) float64 { return t.Floor }},
	{"distance", "above the floor", "%", -1, known(func(t *Totals) *float64 { return t.Distance })},
	{"p50_pending", "pending, p50", "s", -1, known(func(t *Totals) *float64 { return t.P50 })},
	{"p95_pending", "pending, p95", "s", -1, known(func(t *Totals) *float64 { return t.P95 })},
	{"p99_pending", "pending, p99", "s", -1, known(func(t *Totals) *float64 { return t.P99 })},
	{"max_pending", "pending, longest", "s", -1, known(func(t *Totals) *float64 { return t.Max })},
	{"moved", "pods moved", "", -1, func(t *Totals) float64 { return float64(t.Moved) }},
	{"disrupted", "nodes replaced or removed", "", -1, func(t *Totals) float64 { return float64(t.Disrupted) }},
	{"lost", "pods lost with their instance", "", -1, func(t *Totals) float64 { return float64(t.Lost) }},
	{"interruptions", "spot interruptions", "", 0, func(t *Totals) float64 { return float64(t.Interruptions) }},
	{"expected_interruptions", "spot interruptions, expected", "", 0, func(t *Totals) float64 { return t.Expected }},
	{"launches", "instances launched", "", -1, func(t *Totals) float64 { return float64(t.Launches) }},
	{"nodes_mean", "instances, mean", "", 0, func(t *Totals) float64 { return t.NodesMean }},
	{"nodes_max", "instances, most", "", 0, func(t *Totals) float64 { return float64(t.NodesMax) }},
	{"spot_share", "spot, of the bill", "%", 0, func(t *Totals) float64 { return t.SpotShare }},
	{"refused", "pods refused", "", -1, func(t *Totals) float64 { return float64(t.Refused) }},
	{"pods", "pods that ran, returns included", "", 0, func(t *Totals) float64 { return float64(t.Pods) }},
	{"waiting", "pods that never ran", "", -1, func(t *Totals) float64 { return float64(t.Waiting) }},
}

// in is the figure as it is written: an amount is in the currency of the runs.
func (m *Metric) in(money report.Money) *Metric {
	out := *m
	if m.Unit == "$" {
		out.Unit = string(money)
	}
	return &out
}

// money writes amounts of the run.
func (r *Result) money() report.Money { return report.Money(r.Currency.Symbol()) }

// metric is a figure as it is written of the run.
func (r *Result) metric(name string) *Metric {
	m, _ := metric(name)
	return m.in(r.money())
}

// first is one of the runs. All are in one region.
func (c *Comparison) first() *Result { return c.Configurations[0].Results[0] }

// known is a figure that may be missing.
func known(of func(*Totals) *float64) func(*Totals) float64 {
	return func(t *Totals) float64 {
		if v := of(t); v != nil {
			return *v
		}
		return math.NaN()
	}
}

// absent says why a figure is not there.
func (m *Metric) absent(t *Totals) string {
	switch {
	case m.Name == "distance":
		return "the floor is 0, and the bill is not: no pod ran at the moments at which the floor is found"
	case t.Waiting > 0:
		return fmt.Sprintf("no pod began to run, %d waited in vain", t.Waiting)
	}
	return "no pod began to run after the warm-up, in which all start that are there from the start: give a workload that changes, or --warmup 0s; refused==0,waiting==0 tells whether all run"
}

// metric finds a figure by its name.
func metric(name string) (*Metric, error) {
	var names []string
	for i := range Metrics {
		if Metrics[i].Name == name {
			return &Metrics[i], nil
		}
		names = append(names, Metrics[i].Name)
	}
	meant, near := "", requirement.Nearest(name, names)
	switch name {
	case "cost", "costs", "price", "dollars":
		near = "bill"
	}
	if near != "" {
		meant = "; did you mean " + near + "?"
	}
	return nil, fmt.Errorf("there is no figure %q%s (there are %s)", name, meant, strings.Join(names, ", "))
}

// Simulated is how long was simulated.
func (r *Result) Simulated() time.Duration { return time.Duration(r.SimulatedSeconds) * time.Second }

// Counted tells whether anything was counted: a run that was ended in its warm-up has nothing.
func (r *Result) Counted() bool { return r != nil && r.SimulatedSeconds > 0 }

// Whole tells whether a run came to its end.
func (r *Result) Whole() bool {
	return r.Counted() && !r.Interrupted && r.SimulatedSeconds >= r.HorizonSeconds
}

// countsOf are counts by reason, the largest first.
func countsOf(m map[string]int) []Count {
	var out []Count
	for reason, n := range m {
		out = append(out, Count{reason, n})
	}
	slices.SortFunc(out, func(a, b Count) int {
		if a.Count != b.Count {
			return b.Count - a.Count
		}
		if a.Reason < b.Reason {
			return -1
		}
		return 1
	})
	return out
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
