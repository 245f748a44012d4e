package simulate

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"
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
	near(t, "the mean", e.mean(), 4.86)
	near(t, "half of the interval", *e.Half, 0.25749) // sd 0.2073644, t(0.975, 4) 2.776445
	if one := EstimateOf([]float64{3}); one.Half != nil || one.mean() != 3 {
		t.Errorf("of one value: %+v", one)
	}
	for degrees, want := range map[int]float64{1: 12.7062, 2: 4.30265, 9: 2.26216, 30: 2.04227} {
		near(t, "the quantile", student(degrees, confidence), want)
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
	near(t, "the difference", d.Absolute.mean(), -9)
	near(t, "its half", *d.Absolute.Half, 5.9530) // differences −5 −9 −14 −8: sd 3.741657, t(0.975, 3) 3.182446
	near(t, "in percent", d.Percent.mean(), -4.875)
	if !d.Told || d.sure() != "" || !strings.HasPrefix(d.text(&Metrics[0]), "−4.9 % ± ") {
		t.Errorf("it says %q %q", d.text(&Metrics[0]), d.sure())
	}
	moved, _ := metric("moved")
	if text := c.difference("b", "moved").text(moved); text != "3.00 × as many (+50 ± 41.09)" {
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
	if d := c.difference("b", "moved"); d.sure() != "one seed only" {
		t.Errorf("equal values of one seed: %s", d.sure())
	}
	for _, row := range figures(c.Configurations, c).Rows {
		if cell := row[len(row)-1]; row[0].Text == Metrics[7].Title && (cell.Text != "the same" || cell.Detail != "") {
			t.Errorf("the page says of equal values of one seed: %+v", cell)
		}
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

// Seeds that all differ by the same are no proof: with a few of them chance does that, too.
func TestEqualDifferencesAreJudgedBySign(t *testing.T) {
	for seeds, told := range map[int]bool{2: false, 5: false, 8: true} {
		var a, b []*Result
		for range seeds {
			a, b = append(a, runsOf("a", 100)...), append(b, runsOf("b", 90)...)
		}
		c, err := Compare([]string{"a", "b"}, [][]*Result{a, b})
		if err != nil {
			t.Fatal(err)
		}
		d := c.difference("b", "bill")
		near(t, "the chance", *d.P, 2*math.Pow(0.5, float64(seeds)))
		if d.Told != told || !told && d.Wanted != 8 { // 2 × 0.5⁸ is below 0.05 / 5, which differences of bill, moved, disrupted, refused and waiting are judged by
			t.Errorf("%d seeds: told %v, %d would; %d are judged together", seeds, d.Told, d.Wanted, c.Judged)
		}
	}
}

// waiting gives runs a median wait each.
func waiting(runs []*Result, p50 ...float64) []*Result {
	for i, r := range runs {
		r.Totals.Pods, r.Totals.P50, r.Totals.P95, r.Totals.P99 = 10, &p50[i], new(100.), new(200.+float64(i))
	}
	return runs
}

// A summary names all differences that are told, the heaviest first behind the bill, and says what was compared.
func TestASummaryNamesEveryDifference(t *testing.T) {
	a := waiting(runsOf("a", 100, 200, 300, 150), 40, 41, 42, 43)
	b := waiting(runsOf("b", 95, 190, 285, 142), 80.5, 81, 83, 84.5)
	for i, r := range b {
		r.Totals.Moved, r.Totals.Disrupted = 40*(i+1), []int{3, 3, 4, 3}[i]
	}
	c, err := Compare([]string{"a", "b"}, [][]*Result{a, b})
	if err != nil {
		t.Fatal(err)
	}
	first := &Configuration{Name: "a", Settings: map[string]string{}, Manifests: []Manifest{{JSON: `{"kind":"NodePool","metadata":{"name":"default"},"spec":{"disruption":{"consolidateAfter":"30s"},"weight":3}}`}, {JSON: `{"kind":"NodePool","metadata":{"name":"gpu"},"spec":{}}`}}}
	second := &Configuration{Name: "b", Settings: map[string]string{"BATCH_IDLE_DURATION": "2s"}, Manifests: []Manifest{{JSON: `{"kind":"NodePool","metadata":{"name":"default"},"spec":{"disruption":{"consolidateAfter":"10m"}}}`}, {JSON: `{"kind":"NodePool","metadata":{"name":"spot"},"spec":{"weight":7}}`}}}
	c.Tell([]*Configuration{first, second})
	told, _ := c.deciding("b")
	var names []string
	for _, d := range told {
		names = append(names, d.Metric)
	}
	if got := strings.Join(names, " "); got != "bill disrupted p50_pending" {
		t.Errorf("told: %s", got)
	}
	var text, page bytes.Buffer
	if err := errors.Join((&Report{Compared: []string{"a", "b"}, Comparison: c}).WriteText(&text), (&Report{Compared: []string{"a", "b"}, Comparison: c}).WriteHTML(&page)); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"compared: NodePool default: disruption.consolidateAfter 30s → 10m\n", "compared: NodePool default: weight 3 → not set\n", "compared: NodePool gpu is left out\n", "compared: NodePool spot is added\n", "compared: NodePool spot: weight not set → 7\n",
		"compared: setting: BATCH_IDLE_DURATION not set → 2s\n", "  pending, p50 ", "  nodes replaced or removed  +3.25 ± 0.8", "the 8 differences by which one decides are judged together (Holm)", "may be chance (judged with the others); about ",
	} {
		if flat := strings.Join(strings.Fields(text.String()), " "); !strings.Contains(text.String(), want) && !strings.Contains(flat, want) {
			t.Errorf("the text lacks %q:\n%s", want, text.String())
		}
	}
	html := page.String()
	for _, want := range []string{"Different: nodes replaced or removed: ", "; pending, p50: ", "<h2>Seed by seed</h2>", "<h2>What was compared</h2>", "<td>spec.disruption.consolidateAfter</td><td class=\"\">30s</td>"} {
		if !strings.Contains(html, want) && !strings.Contains(strings.ReplaceAll(html, ` class=""`, ""), strings.ReplaceAll(want, ` class=""`, "")) {
			t.Errorf("the page lacks %q", want)
		}
	}
	for _, seed := range []string{"$285", "84.5 s", "$142"} { // of single seeds
		if !strings.Contains(html, seed) {
			t.Errorf("the page has no figure of a seed: %s", seed)
		}
	}
}

// What runs nothing costs nothing: pods that never ran stand before the bill that is lower for it.
func TestPodsThatNeverRanStandBeforeTheBill(t *testing.T) {
	a, b := runsOf("a", 100, 200, 300), runsOf("b", 50, 101, 149)
	for i, r := range b {
		r.Totals.Waiting, r.Totals.Refused = 30, 20+i%2
		a[i].Totals.Waiting = i % 2
	}
	c, err := Compare([]string{"a", "b"}, [][]*Result{a, b})
	if err != nil {
		t.Fatal(err)
	}
	told, _ := c.deciding("b")
	var names []string
	for _, d := range told {
		names = append(names, d.Metric)
	}
	if got := strings.Join(names, " "); got != "refused waiting bill" {
		t.Errorf("told: %s", got)
	}
}

// Two configurations that are one differ in nothing, and it is said.
func TestTheSameConfigurationTwiceIsSaid(t *testing.T) {
	c, err := Compare([]string{"a", "b"}, [][]*Result{runsOf("a", 1, 2), runsOf("b", 1, 2)})
	if err != nil {
		t.Fatal(err)
	}
	one := &Configuration{Name: "a", Settings: map[string]string{}}
	c.Tell([]*Configuration{one, {Name: "b", Settings: map[string]string{}}})
	var b strings.Builder
	if err := (&Report{Compared: []string{"a", "b"}, Comparison: c}).WriteText(&b); err != nil || !strings.Contains(b.String(), "compared: nothing: the two are the same as they are simulated") {
		t.Error(b.String(), err)
	}
}

// Of many comparisons of what does not differ, at most one of twenty names a difference. Each figure by itself would seem to differ in one of
// twenty, and one of seven in three of ten.
func TestChanceIsSeldomNamed(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	drawn := func(name string) []*Result {
		runs := runsOf(name, make([]float64, 6)...)
		for _, r := range runs {
			x := &r.Totals
			draw := func() float64 { return 100 + 10*rng.NormFloat64() }
			x.Bill, x.P50, x.P95, x.P99, x.Pods = draw(), new(draw()), new(draw()), new(draw()), 1
			x.Moved, x.Disrupted, x.Refused = int(1000*draw()), int(1000*draw()), int(1000*draw())
		}
		return runs
	}
	named, alone := 0, 0
	const tries = 400
	for range tries {
		c, err := Compare([]string{"a", "b"}, [][]*Result{drawn("a"), drawn("b")})
		if err != nil {
			t.Fatal(err)
		}
		if told, _ := c.deciding("b"); len(told) > 0 {
			named++
		}
		for _, d := range c.Differences {
			if d.Decides && *d.P < 1-confidence {
				alone++
				break
			}
		}
	}
	if named > tries*8/100 || alone < tries*20/100 {
		t.Errorf("of %d comparisons of the same %d name a difference; judged one by one %d would", tries, named, alone)
	}
}

// Only the distance to the floor can be below 0, and no part is above 100 %: no interval says otherwise.
func TestIntervalsEndWhereFiguresDo(t *testing.T) {
	for name, want := range map[string]string{"lost": "2 (0 to 7)", "spot_share": "97.0 % (92.0 % to 100.0 %)", "bill": "$2.00 ($0 to $7.00)", "distance": "2.0 % ± 5.0 %"} {
		m, err := metric(name)
		if err != nil {
			t.Fatal(err)
		}
		mean := 2.
		if name == "spot_share" {
			mean = 97
		}
		if got := m.text(&Estimate{Mean: &mean, Half: new(5.), N: 3}); got != want {
			t.Errorf("%s is %s, want %s", name, got, want)
		}
	}
}

func TestStartsAndHours(t *testing.T) {
	const hour = time.Hour
	for text, want := range map[string]time.Duration{"09:00": 9 * hour, "Tue": 24 * hour, "tue 09:30": 33*hour + 30*time.Minute, "Sunday 23:59": 168*hour - time.Minute, "0:00": 0} {
		if got, err := ParseStart(text); err != nil || got != want {
			t.Errorf("%s is %s, want %s (%v)", text, got, want, err)
		}
	}
	for _, start := range []time.Duration{0, 33*hour + 30*time.Minute, 168*hour - time.Minute} {
		if got, err := ParseStart(StartText(start)); err != nil || got != start {
			t.Errorf("%s is written as %s, which is %s (%v)", start, StartText(start), got, err)
		}
	}
	for _, text := range []string{"", "9", "24:00", "Xyz 09:00", "T 09:00", "Tue 9:5", "Tue 09:00 UTC"} {
		if got, err := ParseStart(text); err == nil || !strings.Contains(err.Error(), `as in Tue, 09:00 or "Tue 09:00"`) {
			t.Errorf("%q: %s %v", text, got, err)
		}
	}
	for _, c := range []struct {
		start, length time.Duration
		want          string
	}{
		{0, 2 * hour, "Monday 00:00 to 02:00 UTC"}, {0, 24 * hour, "Monday 00:00 to Tuesday 00:00 UTC"}, {33 * hour, 90 * time.Minute, "Tuesday 09:00 to 10:30 UTC"},
		{0, 168 * hour, "Monday 00:00 to Monday 00:00 UTC"}, {5 * hour, 240 * hour, "Monday 05:00 UTC and 10 days on"},
	} {
		if got := Hours(c.start, c.length); got != c.want {
			t.Errorf("got %q, want %q", got, c.want)
		}
	}
	if got := StartAt(time.Date(2026, 11, 26, 9, 30, 5, 0, time.UTC)); got != 3*24*hour+9*hour+30*time.Minute { // a Thursday
		t.Error(got)
	}
}

func TestAssertions(t *testing.T) {
	all, err := Assertions("p99_pending<60s, bill<120,distance<=12%,moved>=10")
	if err != nil || len(all) != 4 {
		t.Fatal(all, err)
	}
	runs := runsOf("", 100, 121)
	runs[0].Totals.Pods, runs[1].Totals.Pods = 1, 1
	runs[0].Totals.P99, runs[1].Totals.P99, runs[0].Totals.Distance, runs[1].Totals.Distance = new(59.), new(0.), new(12.), new(11.)
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
		"cost<3":           `assertion "cost<3": there is no figure "cost"; did you mean bill? (there are bill, floor`,
		"p99_pendng<3":     `assertion "p99_pendng<3": there is no figure "p99_pendng"; did you mean p99_pending?`,
		"bill<60s":         `assertion "bill<60s": bill is in dollars, as in bill<90`,
		"bill<5%":          `assertion "bill<5%": bill is in dollars, as in bill<90`,
		"p99_pending<$60":  `assertion "p99_pending<$60": p99_pending is a time, as in p99_pending<90s`,
		"p99_pending<1day": `assertion "p99_pending<1day": "1day" is no number and no time; p99_pending is a time`,
		"distance<60s":     `assertion "distance<60s": distance is in percent, as in distance<12%`,
		"moved<3%":         `assertion "moved<3%": moved is a number, as in moved<90`,
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
	runs[0].Totals.Pods, runs[0].Totals.P99 = 3, new(20.)
	runs[1].Totals.Waiting = 8
	v := Judge(all, "", runs)
	if want := "p99_pending<60s does not hold: none, for no pod began to run, 8 waited in vain with seed 2"; v[0].Text() != want || !v[1].Holds {
		t.Errorf("%s, want %s; %+v", v[0].Text(), want, v[1])
	}
	c, err := Compare([]string{"a", "b"}, [][]*Result{runs[1:], runs[1:]})
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(struct {
		Comparison *Comparison
		Verdicts   []Verdict
	}{c, v})
	if err != nil || strings.Contains(string(text), "PendingSeconds") || !strings.Contains(string(text), `{"metric":"p99_pending","of":[{"n":0},{"n":0}]}`) || strings.Contains(string(text), `"worst":0`) {
		t.Errorf("what is not there is written as 0: %s %v", text, err)
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
		if got := Quantile(waits, q); got != want {
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

// Where the interval of a difference is on one side of 0 and it is not told from chance, the label says why.
func TestADifferenceWhoseIntervalExcludesNothingSaysWhyItMayBeChance(t *testing.T) {
	a, b := runsOf("a", 100, 100, 100, 100), runsOf("b", 104, 108, 109, 103)
	for i, p := range []float64{11, 19, 9, 21} { // chance moves these
		a[i].Totals.P50, b[i].Totals.P50 = new(15.), new(p)
		a[i].Totals.P95, b[i].Totals.P95 = new(15.), new(30-p)
	}
	c, err := Compare([]string{"a", "b"}, [][]*Result{a, b})
	if err != nil {
		t.Fatal(err)
	}
	const why = "may be chance (judged with the others)"
	d := c.difference("b", "bill")
	if d.Told || *d.P >= 0.05 || !strings.HasPrefix(d.sure(), why+"; about ") {
		t.Errorf("%+v says %s", d, d.sure())
	}
	if d := c.difference("b", "p50_pending"); d.Told || strings.Contains(d.sure(), "judged") {
		t.Errorf("%+v says %s", d, d.sure())
	}
	text, _, page := written(t, &Report{Compared: []string{"a", "b"}, Comparison: c})
	if !strings.Contains(text, why) || strings.Count(page, why) < 2 {
		t.Error(text)
	}
}
