package simcluster_test

import (
	"cmp"
	"encoding/json"
	"flag"
	"fmt"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"text/tabwriter"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/kerf-sh/kerf/internal/sim/simcluster"
)

var (
	ledgerSizes   = flag.String("ledger-sizes", "", "for TestLedger: how many pods the clusters have, as in 150,1000,5000")
	ledgerLoads   = flag.String("ledger-loads", "steady,breathing,falling,daily", "what their loads do")
	ledgerSeeds   = flag.String("ledger-seeds", "1-20", "what loads and prices are drawn from")
	ledgerHours   = flag.Int("ledger-hours", 6, "for how many hours each is played; of a daily load, seven times as long")
	ledgerWithout = flag.String("ledger-without", "", "mechanisms of disruption that the controller does without, as in waits,turns; several sets with / between them")
	ledgerRuns    = flag.String("ledger-runs", "", "a file that gets a line of JSON for each run")
)

// loadOf is a load by its name.
func loadOf(name string, seed uint64, hours, pods int) (load, bool) {
	l := load{seed: seed, hours: hours, size: max(1, pods/18)}
	switch name {
	case "steady": // but for rollouts, jobs and prices
	case "breathing":
		l.swing = 10
	case "falling":
		l.swing, l.fall = 3, 30
	case "daily":
		l.swing, l.daily, l.hours = 3, true, 7*hours
	default:
		return l, false
	}
	return l, true
}

// figures are what one run comes to.
type figures struct {
	Load       string  `json:"load"`
	Pods       int     `json:"pods"`
	Seed       uint64  `json:"seed"`
	Hours      int     `json:"hours"`
	Without    string  `json:"without,omitempty"`
	Bill       float64 `json:"bill"`       // dollars per day
	Distance   float64 `json:"distance"`   // percent by which the bill is above the least that the requests cost
	Moved      float64 `json:"moved"`      // pods that were moved, per 100 pods and day
	Nodes      float64 `json:"nodes"`      // nodes that commands removed or replaced, per day
	Launched   float64 `json:"launched"`   // instances for pods that waited, per day
	Moves      int     `json:"moves"`      // that were judged, of nodes with pods
	Unpaid     float64 `json:"unpaid"`     // percent of them that did not pay back
	UnpaidCost float64 `json:"unpaidCost"` // percent of what all brought that those fell short by
	Follow     float64 `json:"follow"`     // minutes after a fall until the bill has come down by 80 % of what it could; 0: there was none
	Processor  float64 `json:"processor"`  // seconds
}

// run plays one load.
func run(t *testing.T, name string, pods int, seed uint64, without string) figures {
	l, _ := loadOf(name, seed, *ledgerHours, pods)
	if without != "" {
		l.without = strings.Split(without, ",")
	}
	before := used(t)
	var bills, floors []float64 // micro-USD per hour, each five minutes
	book := play(t, l, func(h *simcluster.Cluster, book *ledger, minute int) {
		if minute >= 0 && minute%5 == 0 {
			bills, floors = append(bills, book.hourly), append(floors, floor(h))
		}
	})
	v, _ := book.judge()
	days := float64(l.hours) / 24
	out := figures{Load: name, Pods: pods, Seed: seed, Hours: l.hours, Without: without, Bill: book.bill / 1e6 / days, Processor: (used(t) - before).Seconds(),
		Moved: float64(book.moved) * 100 / float64(pods) / days, Launched: float64(book.launched) / days, Moves: v.commands - v.empties - v.undone}
	bill, least := 0.0, 0.0
	for i := range bills {
		bill, least = bill+bills[i], least+floors[i]
	}
	out.Distance = 100 * (bill/least - 1)
	for _, e := range book.entries {
		if !e.undone {
			out.Nodes += float64(len(e.old)) / days
		}
	}
	if out.Moves > 0 {
		out.Unpaid, out.UnpaidCost = 100*float64(v.unpaid)/float64(out.Moves), 100*v.lost/math.Max(v.gained, 0.01)
	}
	if l.fall > 0 {
		out.Follow = follow(bills, floors, l.hours*6)
	}
	return out
}

// follow is how many minutes it took from a sample on until the bill had come down by four fifths of what it could.
func follow(bills, floors []float64, at int) float64 {
	before, could := bills[at-1], floors[at-1]-floors[min(at+3, len(floors)-1)]
	for i := at; i < len(bills); i++ {
		if before-bills[i] >= 0.8*could {
			return float64(5 * (i - at + 1))
		}
	}
	return float64(5 * (len(bills) - at + 1))
}

// floor is the least that what pods request costs per hour: instances of the cheapest kinds, filled to the last core and byte.
// The best mix is that of two kinds at most, as there are two resources; its dual is a price for each of them.
func floor(h *simcluster.Cluster) float64 {
	want := room{}
	for _, p := range h.Pods() {
		if p.Status.Phase != corev1.PodSucceeded && p.DeletionTimestamp == nil {
			for _, c := range p.Spec.Containers {
				want = want.plus(roomOf(c.Resources.Requests), 1)
			}
		}
	}
	type kind struct{ cpu, memory, price float64 }
	var kinds []kind
	for _, p := range h.AWS.World.SpotPrices(nil, nil, time.Now(), time.Now()) {
		if t, ok := h.AWS.World.Type(p.Type); ok && p.MicroUSD > 0 {
			kinds = append(kinds, kind{float64(t.VCPUs) * 1000, float64(t.MemoryMiB), float64(p.MicroUSD)})
		}
	}
	best := 0.0
	try := func(cpu, memory float64) {
		if cpu < 0 || memory < 0 || slices.ContainsFunc(kinds, func(k kind) bool { return cpu*k.cpu+memory*k.memory > k.price*(1+1e-9) }) {
			return
		}
		best = max(best, cpu*want[0]+memory*want[1])
	}
	for i, a := range kinds {
		try(a.price/a.cpu, 0)
		try(0, a.price/a.memory)
		for _, b := range kinds[:i] {
			if det := a.cpu*b.memory - b.cpu*a.memory; det != 0 {
				try((a.price*b.memory-b.price*a.memory)/det, (a.cpu*b.price-b.cpu*a.price)/det)
			}
		}
	}
	return best
}

// TestLedger plays clusters of several sizes under several loads, from several seeds each, and prints what they cost and what
// their moves brought, with 95 % confidence intervals. By itself it plays an hour of one small cluster, so that the instrument is
// tested; by hand as much as is asked for:
//
//	make ledger SIZES=150 LOADS=steady,breathing,falling SEEDS=1-20 HOURS=6
func TestLedger(t *testing.T) {
	if *ledgerSizes == "" {
		*ledgerSizes, *ledgerLoads, *ledgerSeeds, *ledgerHours = "40", "falling", "1", 1
		t.Cleanup(func() { *ledgerSizes = "" })
	}
	var all []figures
	var file *os.File
	if *ledgerRuns != "" {
		var err error
		if file, err = os.OpenFile(*ledgerRuns, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600); err != nil {
			t.Fatal(err)
		}
		defer file.Close()
	}
	var sizes []int
	for _, size := range strings.Split(*ledgerSizes, ",") {
		pods, err := strconv.Atoi(size)
		if err != nil {
			t.Fatalf("-ledger-sizes %s: %v", *ledgerSizes, err)
		}
		sizes = append(sizes, pods)
	}
	loads := strings.Split(*ledgerLoads, ",")
	for _, name := range loads {
		if _, ok := loadOf(name, 1, 1, 1); !ok {
			t.Fatalf("-ledger-loads: there is no load %q", name)
		}
	}
	for _, seed := range seeds(t, *ledgerSeeds) { // the outermost: what has been played at any time can be compared
		for _, pods := range sizes {
			for _, name := range loads {
				for _, without := range strings.Split(*ledgerWithout, "/") {
					f := run(t, name, pods, seed, without)
					all = append(all, f)
					line, err := json.Marshal(f)
					if err != nil {
						t.Fatal(err)
					}
					t.Log(string(line))
					if file != nil {
						fmt.Fprintln(file, string(line))
					}
				}
			}
		}
	}
	slices.SortStableFunc(all, func(a, b figures) int {
		return cmp.Or(cmp.Compare(a.Pods, b.Pods), cmp.Compare(slices.Index(loads, a.Load), slices.Index(loads, b.Load)))
	})
	for _, f := range all {
		if f.Bill <= 0 || f.Distance <= 0 || f.Load == "falling" && f.Follow <= 0 {
			t.Errorf("an account that can't be: %+v", f)
		}
	}
	t.Log("\n" + table(all))
}

// seeds reads 1-20, or 1,4,5.
func seeds(t *testing.T, text string) []uint64 {
	var out []uint64
	for _, part := range strings.Split(text, ",") {
		first, last, ok := strings.Cut(part, "-")
		if !ok {
			last = first
		}
		a, err := strconv.ParseUint(first, 10, 64)
		b, err2 := strconv.ParseUint(last, 10, 64)
		if err != nil || err2 != nil {
			t.Fatalf("-ledger-seeds %s: want numbers, as in 1-20 or 1,4,5", text)
		}
		for ; a <= b; a++ {
			out = append(out, a)
		}
	}
	return out
}

// table has a row for each load and size.
func table(all []figures) string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "load\tpods\twithout\truns\t$/day\tabove the floor, %\tpods moved /100/day\tnodes /day\tlaunched /day\tmoves\tunpaid, %\tunpaid $, %\tfollows, min\tprocessor, s/h\t")
	type key struct {
		load, without string
		pods          int
	}
	var keys []key
	rows := map[key][]figures{}
	for _, f := range all {
		k := key{f.Load, f.Without, f.Pods}
		if rows[k] == nil {
			keys = append(keys, k)
		}
		rows[k] = append(rows[k], f)
	}
	for _, k := range keys {
		of := func(get func(figures) float64) string {
			var values []float64
			for _, f := range rows[k] {
				values = append(values, get(f))
			}
			return interval(values)
		}
		moves := 0
		for _, f := range rows[k] {
			moves += f.Moves
		}
		fmt.Fprintf(w, "%s\t%d\t%s\t%d\t%s\t%s\t%s\t%s\t%s\t%d\t%s\t%s\t%s\t%s\t\n", k.load, k.pods, cmp.Or(k.without, "-"), len(rows[k]),
			of(func(f figures) float64 { return f.Bill }), of(func(f figures) float64 { return f.Distance }), of(func(f figures) float64 { return f.Moved }),
			of(func(f figures) float64 { return f.Nodes }), of(func(f figures) float64 { return f.Launched }), moves, of(func(f figures) float64 { return f.Unpaid }),
			of(func(f figures) float64 { return f.UnpaidCost }), of(func(f figures) float64 { return f.Follow }), of(func(f figures) float64 { return f.Processor / float64(f.Hours) }))
	}
	_ = w.Flush()
	return b.String()
}

// student is the 97.5th percentile of Student's t by degrees of freedom, from 1 on; 1.96 beyond.
var student = []float64{12.71, 4.30, 3.18, 2.78, 2.57, 2.45, 2.36, 2.31, 2.26, 2.23, 2.20, 2.18, 2.16, 2.14, 2.13, 2.12, 2.11, 2.10, 2.09, 2.09}

// interval is the mean of values with its 95 % confidence interval.
func interval(values []float64) string {
	n, mean := float64(len(values)), 0.0
	for _, v := range values {
		mean += v / n
	}
	if len(values) < 2 {
		return fmt.Sprintf("%.4g", mean)
	}
	sum := 0.0
	for _, v := range values {
		sum += (v - mean) * (v - mean)
	}
	factor := 1.96
	if len(values)-2 < len(student) {
		factor = student[len(values)-2]
	}
	return fmt.Sprintf("%.4g±%.2g", mean, factor*math.Sqrt(sum/(n-1)/n))
}
