package trial

import (
	"math"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/kerf-sh/kerf/internal/sim/awssim/world"
)

// shape is what can be launched.
type shape struct {
	milliCPU, bytes float64
	price           int64 // micro-USD per hour
}

// shapes are what pools of a capacity type can launch, each at its best price now.
func shapes(w *world.World, spot bool) []shape {
	var out []shape
	for _, t := range w.Types() {
		family := t.Name
		if i := slices.Index([]byte(family), '.'); i > 0 {
			family = family[:i]
		}
		if !slices.Contains(Families, family) || t.VCPUs > 8 {
			continue
		}
		price, ok := w.OnDemandPrice(t.Name)
		if spot {
			price, ok = math.MaxInt64, false
			latest := map[string]world.SpotPrice{}
			for _, p := range w.SpotPrices([]string{t.Name}, nil, w.Now().Add(-time.Hour), w.Now()) {
				if p.At.After(latest[p.Zone].At) {
					latest[p.Zone] = p
				}
			}
			for _, p := range latest {
				price, ok = min(price, p.MicroUSD), true
			}
		}
		if ok {
			out = append(out, shape{float64(t.VCPUs) * 1000, float64(t.MemoryMiB) * (1 << 20), price})
		}
	}
	return out
}

// floor is less than any set of instances that hold the pods can cost, per hour. It gives each resource a worth, so that no
// shape is worth more than its price, and adds up what the pods are worth: whatever the worths are, that is a bound; the
// best of a hundred is taken. It shares nothing with the engine.
func floor(pods []corev1.Pod, of []shape) int64 {
	var cpu, bytes float64
	for _, p := range pods {
		for _, c := range p.Spec.Containers {
			cpu += float64(c.Resources.Requests.Cpu().MilliValue())
			bytes += float64(c.Resources.Requests.Memory().Value())
		}
	}
	if cpu == 0 || bytes == 0 || len(of) == 0 {
		return 0
	}
	best := 0.0
	for i := range 101 {
		share := float64(i) / 100
		least := math.Inf(1)
		for _, s := range of {
			least = min(least, float64(s.price)/(share*s.milliCPU/cpu+(1-share)*s.bytes/bytes))
		}
		best = max(best, least)
	}
	return int64(best)
}
