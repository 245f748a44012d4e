package simulate

import (
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
	// Seeds are those that all configurations have played; Left out are others, of runs that were ended early.
	Seeds          []uint64        `json:"seeds"`
	LeftOut        []uint64        `json:"leftOut,omitempty"`
	Configurations []Configured    `json:"configurations"`
	Differences    []Difference    `json:"differences"`
	Figures        []CommonFigures `json:"figures"`
}

// Configured is what one configuration came to.
type Configured struct {
	Name    string    `json:"name"`
	Results []*Result `json:"results"` // one for each seed
}

// CommonFigures are a figure of all configurations.
type CommonFigures struct {
	Metric string     `json:"metric"`
	Of     []Estimate `json:"of"` // one for each configuration
}

// Estimate is a mean over seeds with half of its 95 % confidence interval.
type Estimate struct {
	Mean float64 `json:"mean"`
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
	// Times is how many times as much the mean is; missing where the first has 0.
	Times *float64 `json:"times,omitempty"`
	// Told says whether the seeds tell a difference: the interval leaves 0 out.
	Told bool `json:"told"`
	// Wanted is about how many seeds would tell a difference of this size, where these do not.
	Wanted int `json:"seedsWanted,omitempty"`
}

// Compare compares results: the first index is the configuration, the second the seed. Seeds that not all have played to the same
// length are left out.
//
// Errors: fewer than two configurations; no seed that all have played.
func Compare(names []string, results [][]*Result) (*Comparison, error) {
	if len(names) < 2 || len(names) != len(results) {
		return nil, fmt.Errorf("compare %d configurations: want two or more", len(names))
	}
	c := &Comparison{}
	for _, name := range names {
		c.Configurations = append(c.Configurations, Configured{Name: name})
	}
	for k := range results[0] {
		first := results[0][k]
		whole := !slices.ContainsFunc(results, func(of []*Result) bool {
			return of[k] == nil || first == nil || of[k].SimulatedSeconds != first.SimulatedSeconds || of[k].SimulatedSeconds == 0
		})
		if !whole {
			for _, of := range results {
				if of[k] != nil {
					c.LeftOut = append(c.LeftOut, of[k].Seed)
					break
				}
			}
			continue
		}
		c.Seeds = append(c.Seeds, first.Seed)
		c.Workload, c.HorizonSeconds = first.Workload, first.SimulatedSeconds
		for i := range results {
			c.Configurations[i].Results = append(c.Configurations[i].Results, results[i][k])
		}
	}
	if len(c.Seeds) == 0 {
		return nil, errors.New("nothing can be compared: no seed was played to the same moment by all configurations")
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
	return c, nil
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
	out := Estimate{Mean: rounded(mean, 1e6), N: len(values)}
	if len(values) > 1 {
		half := rounded(student(len(values)-1)*deviation/math.Sqrt(float64(len(values))), 1e6)
		out.Half = &half
	}
	return out
}

// student is the quantile of Student's t that an interval of this confidence reaches to.
func student(degrees int) float64 {
	return distuv.StudentsT{Mu: 0, Sigma: 1, Nu: float64(degrees)}.Quantile(1 - (1-confidence)/2)
}

// Sure tells whether the interval leaves 0 out. One value is never sure.
func (e *Estimate) Sure() bool { return e.Half != nil && math.Abs(e.Mean) > *e.Half }

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
	out.Told = out.Absolute.Sure()
	if !out.Told && out.Absolute.Half != nil && out.Absolute.Mean != 0 {
		// The interval shrinks with the root of the seeds.
		part := *out.Absolute.Half / math.Abs(out.Absolute.Mean)
		if n := math.Ceil(float64(len(before)) * part * part * 1.1); n < 10_000 {
			out.Wanted = max(int(n), len(before)+1)
		}
	}
	return out
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
