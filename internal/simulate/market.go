package simulate

import (
	"hash/fnv"
	"math"
	"math/rand/v2"
	"time"

	"github.com/kerf-sh/kerf/internal/sim/awssim/world"
)

// changesADay is how often the price of a spot pool changes in a day, on average.
const changesADay = 4

// market lets spot prices walk. They stay within half and twice of what they were, and do not rise above the price on demand. Each pool
// walks by itself, so that a seed gives it the same prices whatever other types there are.
type market struct {
	world *world.World
	step  float64 // standard deviation of one change
	pools []spotPool
	at    map[[2]string]int // of pools
}

type spotPool struct {
	kind, zone        string
	price, least, top int64 // micro-USD per hour
	rng               *rand.Rand
}

func newMarket(s *Spec, w *world.World) *market {
	m := &market{world: w, step: s.Volatility / math.Sqrt(changesADay), at: map[[2]string]int{}}
	now := time.Now()
	for _, p := range w.SpotPrices(nil, nil, now, now) {
		top := 2 * p.MicroUSD
		if demand, ok := w.OnDemandPrice(p.Type); ok {
			top = min(top, max(demand, p.MicroUSD))
		}
		m.at[[2]string{p.Type, p.Zone}] = len(m.pools)
		h := fnv.New64a()
		h.Write([]byte(p.Type + " " + p.Zone))
		m.pools = append(m.pools, spotPool{p.Type, p.Zone, p.MicroUSD, p.MicroUSD / 2, top, rand.New(rand.NewPCG(s.Seed, h.Sum64()))})
	}
	return m
}

// walk lets some prices change, as many as change in marketEvery. It tells whether any has.
func (m *market) walk() bool {
	if m.step <= 0 {
		return false
	}
	chance := changesADay * marketEvery.Hours() / 24
	for i := range m.pools {
		p := &m.pools[i]
		if p.rng.Float64() >= chance {
			continue
		}
		next := int64(math.Round(float64(p.price) * math.Exp(m.step*p.rng.NormFloat64())))
		p.price = min(max(next, p.least), p.top)
		m.world.SetSpotPrice(p.kind, p.zone, p.price)
	}
	return true
}

// price is the spot price of this moment.
func (m *market) price(kind, zone string) (int64, bool) {
	i, ok := m.at[[2]string{kind, zone}]
	if !ok {
		return 0, false
	}
	return m.pools[i].price, true
}
