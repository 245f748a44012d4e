package simulate

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"
)

// confidence is that of all intervals.
const confidence = 0.95

// Comparison is what several configurations came to on the same workload and seeds. The first is what the others are compared with.
type Comparison struct {
	Workload       string `json:"workload"`
	HorizonSeconds int64  `json:"horizonSeconds"`
	// Seeds are those that all these configurations have finished; LeftOut are others, of runs that were ended early.
	Seeds   []uint64 `json:"seeds"`
	LeftOut []uint64 `json:"leftOut,omitempty"`
	// Played, Partial and Drawn are those of the results.
	Played         string       `json:"played"`
	Partial        string       `json:"partial,omitempty"`
	Drawn          []string     `json:"drawnFromSeed,omitempty"`
	Configurations []Configured `json:"configurations"`
	// NotCompared are configurations that have finished no seed that the others have.
	NotCompared []string `json:"notCompared,omitempty"`
	// Judged is how many differences decide, and are judged together.
	Judged      int             `json:"judgedTogether"`
	Differences []Difference    `json:"differences"`
	Figures     []CommonFigures `json:"figures"`
}

// Configured is what one configuration came to.
type Configured struct {
	Name string `json:"name"`
	// Changes are in what it differs from the first one.
	Changes []Change `json:"changes,omitempty"`
	// Monthly is the bill of a month of 730 hours that are all like those that were played.
	Monthly Estimate  `json:"monthlyBill"`
	Results []*Result `json:"results"` // one for each seed
}

// CommonFigures are a figure of all configurations.
type CommonFigures struct {
	Metric string     `json:"metric"`
	Of     []Estimate `json:"of"` // one for each configuration
}

// Estimate is a mean over seeds with half of its 95 % confidence interval.
type Estimate struct {
	// Mean is missing where there is no value.
	Mean *float64 `json:"mean,omitempty"`
	// Half is missing where there is one value only.
	Half *float64 `json:"half,omitempty"`
	N    int      `json:"n"`
}

// Difference is how a configuration differs from the first one in one figure, seed by seed.
type Difference struct {
	Configuration string   `json:"configuration"`
	Metric        string   `json:"metric"`
	Absolute      Estimate `json:"absolute"`
	// Percent is the mean of the percentages of the seeds; missing where a seed has 0 to compare with.
	Percent *Estimate `json:"percent,omitempty"`
	// Monthly is the difference of the bill in dollars a month.
	Monthly *Estimate `json:"monthly,omitempty"`
	// Times is how many times as much the mean is; missing where the first has 0.
	Times *float64 `json:"times,omitempty"`
	// Decides says whether it is one of those that a summary names. These are judged together, by Holm's method.
	Decides bool `json:"decides,omitempty"`
	// P is how likely chance alone makes a difference as large, in this figure by itself; missing with one seed.
	P *float64 `json:"p,omitempty"`
	// Told says whether the seeds tell a difference from chance.
	Told bool `json:"told"`
	// Wanted is about how many seeds would tell a difference of this size, where these do not.
	Wanted int `json:"seedsWanted,omitempty"`
}

// failing are pods that a configuration does not run: they weigh more than any bill, for what runs nothing costs nothing.
var failing = []string{"refused", "waiting"}

// decisive are the figures that decide between configurations, in the order of their weight where nothing else says it.
var decisive = []string{"refused", "waiting", "bill", "p99_pending", "p95_pending", "p50_pending", "moved", "disrupted"}

// errNothing is what Compare returns of runs that were ended too early.
var errNothing = errors.New("nothing can be compared yet: no seed was finished by two configurations")

// Compare compares results: the first index is the configuration, the second the seed. Where seeds were finished by all configurations,
// these are compared. Otherwise the configurations are compared that finished the seed which most have finished, by all seeds that they
// have in common; the first of them is what the others are compared with.
//
// Errors: fewer than two configurations; no seed that two of them have finished.
func Compare(names []string, results [][]*Result) (*Comparison, error) {
	if len(names) < 2 || len(names) != len(results) {
		return nil, fmt.Errorf("compare %d configurations: want two or more", len(names))
	}
	among := common(results)
	if len(among) < 2 {
		return nil, errNothing
	}
	c := &Comparison{}
	for i, name := range names {
		if slices.Contains(among, i) {
			c.Configurations = append(c.Configurations, Configured{Name: name})
		} else {
			c.NotCompared = append(c.NotCompared, name)
		}
	}
	for k := range results[0] {
		if slices.ContainsFunc(among, func(i int) bool { return !results[i][k].Whole() }) {
			for _, of := range results {
				if of[k] != nil {
					c.LeftOut = append(c.LeftOut, of[k].Seed)
					break
				}
			}
			continue
		}
		first := results[among[0]][k]
		c.Seeds = append(c.Seeds, first.Seed)
		c.Workload, c.HorizonSeconds, c.Played, c.Partial, c.Drawn = first.Workload, first.SimulatedSeconds, first.Played, first.Partial, first.Drawn
		for at, i := range among {
			c.Configurations[at].Results = append(c.Configurations[at].Results, results[i][k])
		}
	}
	for i := range Metrics {
		m := &Metrics[i]
		f := CommonFigures{Metric: m.Name}
		for _, of := range c.Configurations {
			f.Of = append(f.Of, EstimateOf(of.values(m)))
		}
		c.Figures = append(c.Figures, f)
		for k := range c.Configurations[1:] {
			c.Differences = append(c.Differences, differ(c.Configurations[k+1].Name, m, c.Configurations[0].values(m), c.Configurations[k+1].values(m)))
		}
	}
	c.months()
	c.judge()
	return c, nil
}

// common are the configurations that have finished the seed which most have finished; the first such seed counts.
func common(results [][]*Result) []int {
	var out []int
	for k := range results[0] {
		var finished []int
		for i := range results {
			if results[i][k].Whole() {
				finished = append(finished, i)
			}
		}
		if len(finished) > len(out) {
			out = finished
		}
	}
	return out
}

// Has tells whether a run is one of those that are compared.
func (c *Comparison) Has(r *Result) bool {
	return slices.ContainsFunc(c.Configurations, func(of Configured) bool { return slices.Contains(of.Results, r) })
}

func (c *Configured) values(m *Metric) []float64 {
	var out []float64
	for _, r := range c.Results {
		out = append(out, m.Of(&r.Totals))
	}
	return out
}

// EstimateOf is the mean of values, those that are not there (NaN) left out, with its 95 % confidence interval by Student's t.
func EstimateOf(values []float64) Estimate {
	values = slices.DeleteFunc(slices.Clone(values), math.IsNaN)
	if len(values) == 0 {
		return Estimate{}
	}
	mean, deviation := stat.MeanStdDev(values, nil)
	out := Estimate{Mean: new(rounded(mean, 1e6)), N: len(values)}
	if len(values) > 1 {
		half := rounded(student(len(values)-1, confidence)*deviation/math.Sqrt(float64(len(values))), 1e6)
		out.Half = &half
	}
	return out
}

// student is the quantile of Student's t that an interval of a confidence reaches to.
func student(degrees int, confidence float64) float64 {
	return distuv.StudentsT{Mu: 0, Sigma: 1, Nu: float64(degrees)}.Quantile(1 - (1-confidence)/2)
}

// mean is the mean, 0 where there is none.
func (e *Estimate) mean() float64 {
	if e.Mean == nil {
		return 0
	}
	return *e.Mean
}

// differ compares two configurations by the differences of each seed, which have less chance in them than the values.
func differ(name string, m *Metric, before, after []float64) Difference {
	out := Difference{Configuration: name, Metric: m.Name}
	var absolute, percent, first, second []float64
	for i := range before {
		if math.IsNaN(before[i]) || math.IsNaN(after[i]) {
			continue
		}
		first, second = append(first, before[i]), append(second, after[i])
		absolute = append(absolute, after[i]-before[i])
		if before[i] != 0 {
			percent = append(percent, 100*(after[i]/before[i]-1))
		}
	}
	out.Absolute = EstimateOf(absolute)
	before, after = first, second
	if len(before) == 0 {
		return out
	}
	if len(percent) == len(before) {
		e := EstimateOf(percent)
		out.Percent = &e
	}
	if sum := stat.Mean(before, nil); sum != 0 {
		times := rounded(stat.Mean(after, nil)/sum, 1e4)
		out.Times = &times
	}
	if n := len(before); n > 1 {
		out.P = new(chance(*out.shown(), n))
	}
	return out
}

// shown is the difference as it is written and judged: of amounts the percentages, which differ less from seed to seed.
func (d *Difference) shown() *Estimate {
	if m, err := metric(d.Metric); err == nil && m.Unit == "$" && d.Percent != nil {
		return d.Percent
	}
	return &d.Absolute
}

// chance is how likely a mean as far from 0 is where the values are those of chance alone: two-sided, by Student's t. Where all seeds
// differ by the same, that would call it certain after two of them; then it is how likely all have one sign, by the sign test.
func chance(e Estimate, n int) float64 {
	switch {
	case e.mean() == 0:
		return 1
	case *e.Half == 0:
		return math.Ldexp(2, -n)
	}
	t := math.Abs(e.mean()) / *e.Half * student(n-1, confidence)
	return 2 * distuv.StudentsT{Mu: 0, Sigma: 1, Nu: float64(n - 1)}.Survival(t)
}

// judge says which differences are told from chance. Of twenty that are none, one would seem to be one at 95 %; so those that decide are
// judged together by Holm's method: the clearest must hold for the confidence divided by how many there are, the next by one less, and
// so on to the first that does not. Then chance alone makes a summary name any difference in at most one of twenty comparisons, however
// the figures hang together. All other figures are judged each by itself.
//
// Source: S. Holm, A simple sequentially rejective multiple test procedure, Scandinavian Journal of Statistics 6 (1979).
func (c *Comparison) judge() {
	var together []*Difference
	for i := range c.Differences {
		d := &c.Differences[i]
		d.Decides = slices.Contains(decisive, d.Metric)
		switch {
		case d.P == nil:
		case d.Decides:
			together = append(together, d)
		default:
			d.Told = *d.P < 1-confidence
			d.want(1)
		}
	}
	c.Judged = len(together)
	sorted := slices.Clone(together)
	slices.SortStableFunc(sorted, func(a, b *Difference) int { return cmp.Compare(*a.P, *b.P) })
	for i, d := range sorted {
		if *d.P >= (1-confidence)/float64(len(sorted)-i) {
			break
		}
		d.Told = true
	}
	for _, d := range together {
		d.want(len(together))
	}
}

// mostSeeds is more than anybody plays.
const mostSeeds = 10_000

// want finds about how many seeds would tell the difference, if as many are judged together.
func (d *Difference) want(together int) {
	e := d.shown()
	n := e.N
	if d.Told || e.mean() == 0 {
		return
	}
	if *e.Half == 0 {
		d.Wanted = 1 + int(math.Floor(math.Log2(2*float64(together)/(1-confidence))))
		return
	}
	deviation := *e.Half / student(n-1, confidence) * math.Sqrt(float64(n))
	level := 1 - (1-confidence)/float64(together)
	for k := n + 1; k < mostSeeds; k += 1 + k/50 {
		if student(k-1, level)*deviation/math.Sqrt(float64(k)) < math.Abs(e.mean()) {
			d.Wanted = k
			return
		}
	}
}

// weight is how much a difference weighs beside those of other figures: by how many times as much it is, in either direction.
func (d *Difference) weight() float64 {
	switch {
	case slices.Contains(failing, d.Metric):
		return math.Inf(1)
	case d.Metric == "bill":
		return math.MaxFloat64
	case d.Times == nil || *d.Times <= 0:
		return math.MaxFloat64 / 2 // it is nothing in one of them
	}
	return math.Abs(math.Log(*d.Times))
}

// deciding are the differences of a configuration by which one decides, those that are told and those that are not, each in the order
// of their weight: pods refused and pods that never ran, the bill, then by how many times as much it is. Of the first two those that are 0
// everywhere are left out.
func (c *Comparison) deciding(configuration string) (told, untold []*Difference) {
	for _, name := range decisive {
		d := c.difference(configuration, name)
		switch {
		case d == nil, slices.Contains(failing, name) && !c.some(name):
		case d.Told:
			told = append(told, d)
		default:
			untold = append(untold, d)
		}
	}
	slices.SortStableFunc(told, func(a, b *Difference) int { return cmp.Compare(b.weight(), a.weight()) })
	return told, untold
}

// some tells whether a figure is above 0 anywhere.
func (c *Comparison) some(name string) bool {
	for i, f := range c.Figures {
		if Metrics[i].Name == name {
			return slices.ContainsFunc(f.Of, func(e Estimate) bool { return e.mean() > 0 })
		}
	}
	return false
}

// difference finds a difference by configuration and figure.
func (c *Comparison) difference(configuration, metric string) *Difference {
	for i := range c.Differences {
		if d := &c.Differences[i]; d.Configuration == configuration && d.Metric == metric {
			return d
		}
	}
	return nil
}

// Horizon is how long all have played.
func (c *Comparison) Horizon() time.Duration { return time.Duration(c.HorizonSeconds) * time.Second }
