package simulate

import (
	"math"
	"strings"
	"testing"
)

func near(t *testing.T, what string, got, want float64) {
	t.Helper()
	if math.Abs(got-want) > 5e-4*math.Max(1, math.Abs(want)) {
		t.Errorf("%s is %g, want %g", what, got, want)
	}
}

// The values are those of R: t.test(x) and t.test(b, a, paired = TRUE).
func TestIntervalsAreThoseOfStudentsT(t *testing.T) {
	e := EstimateOf([]float64{5.1, 4.9, 4.7, 4.6, 5.0})
	near(t, "the mean", e.Mean, 4.86)
	near(t, "half of the interval", *e.Half, 0.25749) // sd 0.2073644, t(0.975, 4) 2.776445
	if one := EstimateOf([]float64{3}); one.Half != nil || one.Sure() {
		t.Errorf("of one value: %+v", one)
	}
	for degrees, want := range map[int]float64{1: 12.7062, 2: 4.30265, 9: 2.26216, 30: 2.04227} {
		near(t, "the quantile", student(degrees), want)
	}
}

func runsOf(configuration string, bills ...float64) []*Result {
	var out []*Result
	for i, b := range bills {
		r := &Result{Configuration: configuration, Seed: uint64(i + 1), SimulatedSeconds: 86400, HorizonSeconds: 86400, Workload: "shape day"}
		r.Totals = Totals{Bill: b, Moved: 10 * (i + 1)}
		out = append(out, r)
	}
	return out
}

// Bills differ much between seeds and little between configurations: compared seed by seed the difference is plain.
func TestDifferencesArePaired(t *testing.T) {
	a, b := runsOf("a", 100, 200, 300, 150), runsOf("b", 95, 191, 286, 142)
	for _, r := range b {
		r.Totals.Moved *= 3
	}
	c, err := Compare([]string{"a", "b"}, [][]*Result{a, b})
	if err != nil {
		t.Fatal(err)
	}
	d := c.difference("b", "bill")
	near(t, "the difference", d.Absolute.Mean, -9)
	near(t, "its half", *d.Absolute.Half, 5.9530) // differences −5 −9 −14 −8: sd 3.741657, t(0.975, 3) 3.182446
	near(t, "in percent", d.Percent.Mean, -4.875)
	if !d.Told || d.sure() != "" || !strings.HasPrefix(d.text(&Metrics[0]), "−4.9 % ± ") {
		t.Errorf("it says %q %q", d.text(&Metrics[0]), d.sure())
	}
	moved, _ := metric("moved")
	if text := c.difference("b", "moved").text(moved); text != "3.00 × as many" {
		t.Error(text)
	}
}

func TestTooFewSeedsAreSaid(t *testing.T) {
	c, err := Compare([]string{"a", "b"}, [][]*Result{runsOf("a", 100), runsOf("b", 90)})
	if err != nil {
		t.Fatal(err)
	}
	if d := c.difference("b", "bill"); d.Told || d.sure() != "one seed can't tell it from chance" {
		t.Errorf("%+v %s", d, d.sure())
	}
	c, err = Compare([]string{"a", "b"}, [][]*Result{runsOf("a", 100, 100, 100), runsOf("b", 90, 104, 103)})
	if err != nil {
		t.Fatal(err)
	}
	if d := c.difference("b", "bill"); d.Told || d.Wanted < 100 || !strings.Contains(d.sure(), "seeds would tell") {
		t.Errorf("%+v %s", d, d.sure())
	}
	if d := c.difference("b", "moved"); d.text(&Metrics[7]) != "the same" || d.sure() != "" {
		t.Errorf("%+v says %q %q", d, d.text(&Metrics[7]), d.sure())
	}
}

func TestRunsThatEndedEarlyAreLeftOut(t *testing.T) {
	a, b := runsOf("a", 1, 2, 3), runsOf("b", 1, 2, 3)
	b[1].SimulatedSeconds, a[2] = 300, nil
	c, err := Compare([]string{"a", "b"}, [][]*Result{a, b})
	if err != nil || len(c.Seeds) != 1 || len(c.LeftOut) != 2 {
		t.Errorf("%+v %v", c, err)
	}
	if _, err := Compare([]string{"a", "b"}, [][]*Result{a[1:2], b[1:2]}); err == nil {
		t.Error("nothing was compared, and it says nothing")
	}
}

func TestAssertions(t *testing.T) {
	all, err := Assertions("p99_pending<60s, bill<120,distance<=12%,moved>=10")
	if err != nil || len(all) != 4 {
		t.Fatal(all, err)
	}
	runs := runsOf("", 100, 121)
	runs[0].Totals.Pods, runs[1].Totals.Pods = 1, 1
	runs[0].Totals.P99, runs[0].Totals.Distance, runs[1].Totals.Distance = 59, 12, 11
	var got []string
	for _, v := range Judge(all, "", runs) {
		got = append(got, v.Text())
	}
	want := "p99_pending<60s holds: 59 s with seed 1|bill<120 does not hold: $121 with seed 2|distance<=12% holds: 12.0 % with seed 1|moved>=10 holds: 10 with seed 1"
	if strings.Join(got, "|") != want {
		t.Errorf("\n got %s\nwant %s", strings.Join(got, "|"), want)
	}
	for text, want := range map[string]string{
		"":                 `there is no assertion in ""`,
		"bill":             `assertion "bill": want FIGURE<VALUE`,
		"cost<3":           `assertion "cost<3": there is no figure "cost"; there are [bill floor`,
		"bill<60s":         `assertion "bill<60s": "60s" is no value of bill`,
		"moved<3%":         `assertion "moved<3%": moved is not in percent`,
		"bill<3 or moved<": `assertion "bill<3 or moved<": want FIGURE`,
	} {
		if _, err := Assertions(text); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestNoFigureIsNoGoodFigure(t *testing.T) {
	all, err := Assertions("p99_pending<60s,bill<120")
	if err != nil {
		t.Fatal(err)
	}
	runs := runsOf("", 1, 1)
	runs[0].Totals.Pods, runs[0].Totals.P99 = 3, 20
	runs[1].Totals.Waiting = 8
	v := Judge(all, "", runs)
	if want := "p99_pending<60s does not hold: none, for no pod began to run, 8 waited in vain with seed 2"; v[0].Text() != want || !v[1].Holds {
		t.Errorf("%s, want %s; %+v", v[0].Text(), want, v[1])
	}
	c, err := Compare([]string{"a", "b"}, [][]*Result{runs[1:], runs[1:]})
	if err != nil {
		t.Fatal(err)
	}
	m, _ := metric("p99_pending")
	if d := c.difference("b", "p99_pending"); d.text(m) != "none" || d.Told {
		t.Errorf("%+v", d)
	}
	var b strings.Builder
	if err := (&Report{Runs: runs[1:], Verdicts: v}).WriteText(&b); err != nil || !strings.Contains(b.String(), "0 began to run, 8 never did") || !strings.Contains(b.String(), "running: none") {
		t.Error(b.String(), err)
	}
}

func TestQuantilesAndBuckets(t *testing.T) {
	var waits []float64
	for i := range 100 {
		waits = append(waits, float64(i+1))
	}
	for q, want := range map[float64]float64{.5: 50, .95: 95, .99: 99, 1: 100, 0: 1} {
		if got := quantile(waits, q); got != want {
			t.Errorf("the quantile %g is %g, want %g", q, got, want)
		}
	}
	total := 0
	for _, b := range buckets(append(waits, 1e6)) {
		total += b.Count
	}
	if b := buckets(waits); total != 101 || b[0].Count != 1 || b[2].Count != 3 || b[len(b)-1].Count != 0 {
		t.Errorf("%v of %d", b, total)
	}
}

func TestSparksNeverHideWhatIsThere(t *testing.T) {
	values := make([]float64, 600)
	values[300] = 1
	if s := []rune(spark(values, 100)); len(s) != chartWidth || s[30] != '▁' || s[29] != ' ' {
		t.Errorf("%q", string(s))
	}
	if s := spark([]float64{0, 50, 100}, 100); s != " ▄█" {
		t.Errorf("%q", s)
	}
}
