package workload

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// The built-in shapes.
const (
	Day    = "day"
	Week   = "week"
	Steady = "steady"
	Burst  = "burst"
)

// Shapes are the names of the built-in shapes.
var Shapes = []string{Day, Week, Steady, Burst}

// DefaultHorizon is how long a shape is played unless told otherwise.
func DefaultHorizon(shape string) time.Duration {
	switch shape {
	case Week:
		return 7 * 24 * time.Hour
	case Steady, Burst:
		return 6 * time.Hour
	}
	return 24 * time.Hour
}

// pods of the built-in shapes: services of an online shop in kind, from more memory to more processor.
var shapePods = []Requests{
	{MilliCPU: 500, MemoryMiB: 1024}, {MilliCPU: 1000, MemoryMiB: 2048}, {MilliCPU: 2000, MemoryMiB: 4096},
	{MilliCPU: 250, MemoryMiB: 2048}, {MilliCPU: 1500, MemoryMiB: 12288}, {MilliCPU: 3000, MemoryMiB: 6144},
}

const (
	shapeServices = 18 // each kind of pods thrice, as large and small services
	// servicePods is how many pods a service has at least on average at its peak: fewer could not show a third at night.
	servicePods = 6
	// scaleEvery is how often services are scaled. A HorizontalPodAutoscaler looks every 15 seconds and waits five minutes
	// before it takes pods away.
	scaleEvery = 5 * time.Minute
	// noise is by how much services differ from the curve at any time, either way.
	noise = 0.05
)

// Shape makes a built-in workload with at most about so many pods at its peak, drawn from a seed. It begins at a time of the week,
// which is told by how long it is after Monday 00:00:
//
//   - day: services follow a curve from a third at five in the morning to all at five in the afternoon; small jobs of a minute to
//     twenty come and go.
//   - week is such days, Saturday and Sunday with half of the load.
//   - steady has the same services all the time, and the jobs.
//   - burst has a quarter of the pods all the time, and about once an hour the rest comes at once as a job of 10 to 30 minutes.
//
// Errors: there is no such shape; pods or horizon are not positive.
func Shape(name string, pods int, start, horizon time.Duration, seed uint64) (*Workload, error) {
	if pods < 1 || horizon <= 0 {
		return nil, fmt.Errorf("shape %s: want at least one pod and some time, not %d pods for %s", name, pods, horizon)
	}
	w := &Workload{Source: fmt.Sprintf("shape %s, %d pods", name, pods), Drawn: true, Templates: map[string]*corev1.PodTemplateSpec{}}
	if pods == 1 {
		w.Source = "shape " + name + ", 1 pod"
	}
	g := &generator{w: w, rng: rand.New(rand.NewPCG(seed, 0x6b657266)), horizon: horizon}
	switch curve := curveOf(name); {
	case curve != nil:
		g.services(pods*9/10, func(at time.Duration) float64 { return curve(start + at) })
		g.jobs(pods / 10)
		w.Partial = partOf(name, start, horizon)
	case name == Steady:
		g.services(pods*9/10, func(time.Duration) float64 { return 1 })
		g.jobs(pods / 10)
	case name == Burst:
		g.services(max(1, pods/4), func(time.Duration) float64 { return 1 })
		g.bursts(pods - pods/4)
	default:
		return nil, fmt.Errorf("there is no shape %q; there are %s", name, strings.Join(Shapes, ", "))
	}
	w.Sort()
	return w, nil
}

// dayCurve is the part of the peak that is there at a time of the day.
func dayCurve(at time.Duration) float64 {
	return 2./3 - math.Cos((at.Hours()-5)/12*math.Pi)/3
}

// weekCurve is the part of the peak that is there at a time of the week.
func weekCurve(at time.Duration) float64 {
	if day := int(at/(24*time.Hour)) % 7; day >= 5 {
		return dayCurve(at) / 2
	}
	return dayCurve(at)
}

// curveOf is the curve that a shape follows; nil if it follows none.
func curveOf(shape string) func(at time.Duration) float64 {
	switch shape {
	case Day:
		return dayCurve
	case Week:
		return weekCurve
	}
	return nil
}

// partOf says which part of its curve a shape plays that is cut short; empty where it plays all of it.
func partOf(shape string, start, horizon time.Duration) string {
	whole, curve := DefaultHorizon(shape), curveOf(shape)
	if horizon >= whole {
		return ""
	}
	least, most := 1., 0.
	for at := time.Duration(0); at < horizon; at += time.Minute {
		v := curve(start + at)
		least, most = min(least, v), max(most, v)
	}
	goes := fmt.Sprintf("between %.0f %% and %.0f %%", 100*least, 100*most)
	switch first, last := curve(start), curve(start+(horizon-1)/time.Minute*time.Minute); {
	case math.Round(100*least) == math.Round(100*most):
		goes = fmt.Sprintf("about %.0f %%", 100*most)
	case first == least && last == most:
		goes = fmt.Sprintf("from %.0f %% up to %.0f %%", 100*first, 100*last)
	case first == most && last == least:
		goes = fmt.Sprintf("from %.0f %% down to %.0f %%", 100*first, 100*last)
	}
	return fmt.Sprintf("this is a part of the %s's curve: %s of the pods at its peak, which is at 17:00. --start plays another part, --horizon %.0fh the whole %[1]s",
		shape, goes, whole.Hours())
}

type generator struct {
	w       *Workload
	rng     *rand.Rand
	horizon time.Duration
}

func (g *generator) template(q Requests) string {
	key := q.name()
	if g.w.Templates[key] == nil {
		g.w.Templates[key] = q.Template()
	}
	return key
}

// services makes services that have so many pods in all at the peak of a curve.
func (g *generator) services(pods int, curve func(at time.Duration) float64) {
	n := min(shapeServices, max(1, pods/servicePods))
	weights, sum := make([]float64, n), 0.0
	for i := range weights {
		weights[i] = 0.5 + g.rng.Float64()
		sum += weights[i]
	}
	for i, weight := range weights {
		peak, now := weight/sum*float64(pods), -1
		name := fmt.Sprintf("default/service-%02d", i+1)
		key := g.template(shapePods[i%len(shapePods)])
		late := time.Duration(g.rng.IntN(60)) * time.Second // not all look at the same moment
		for at := time.Duration(0); at < g.horizon; at = at.Truncate(scaleEvery) + scaleEvery + late {
			size := max(1, int(math.Round(peak*curve(at)*(1-noise+2*noise*g.rng.Float64()))))
			if size != now {
				g.w.Steps = append(g.w.Steps, Step{At: at, Workload: name, Template: key, Replicas: size})
				now = size
			}
		}
	}
}

// jobs makes jobs that come at random, so that about so many of their pods run at a time.
func (g *generator) jobs(pods int) {
	if pods < 1 {
		return
	}
	const least, most, meanPods = 1, 20, 2.5 // minutes; pods of a job
	gap := time.Duration(float64(least+most) / 2 * meanPods / float64(pods) * float64(time.Minute))
	for at := g.exponential(gap); at < g.horizon; at += g.exponential(gap) {
		q := shapePods[g.rng.IntN(3)]
		runs := time.Duration(least*60+g.rng.IntN((most-least)*60)) * time.Second
		g.w.Steps = append(g.w.Steps, Step{At: at, Template: g.template(q), Replicas: 1 + g.rng.IntN(4), Duration: runs})
	}
}

// bursts makes about one job of so many pods an hour.
func (g *generator) bursts(pods int) {
	for at := 10*time.Minute + g.exponential(30*time.Minute); at < g.horizon; at += 30*time.Minute + g.exponential(30*time.Minute) {
		q := shapePods[g.rng.IntN(len(shapePods))]
		runs := time.Duration(600+g.rng.IntN(1200)) * time.Second
		g.w.Steps = append(g.w.Steps, Step{At: at, Template: g.template(q), Replicas: pods, Duration: runs})
	}
}

func (g *generator) exponential(mean time.Duration) time.Duration {
	return max(time.Second, time.Duration(g.rng.ExpFloat64()*float64(mean)).Round(time.Second))
}
