package simulate

import (
	"sync"
	"time"

	"github.com/kerf-sh/kerf/internal/sim/awssim/world"
)

// minimumBilled is what an instance costs at least.
//
// Source: EC2 On-Demand pricing, "billed per second, with a minimum of 60 seconds".
const minimumBilled = time.Minute

// meter adds up what instances cost: each from when it runs until it begins to shut down, spot instances by the price of the
// moment. It counts in micro-USD and milliseconds, so that the order in which it hears of instances changes nothing.
//
// Source: EC2 User Guide, instance lifecycle: an instance is billed while it is running.
//
// Concurrency: safe.
type meter struct {
	own func(kind, zone, capacityType string, listed int64) int64 // the price of an instance, by its list price

	mu      sync.Mutex
	since   time.Time // when counting began
	running map[string]*metered
	coming  map[string]string // instances that are launched and do not run yet, with their capacity type
	all     int64             // micro-USD × milliseconds per hour
	spot    int64
	// launched and ended count instances since the beginning.
	launched, ended int
	most            int
	counted         int64 // instances × milliseconds
	spotCounted     int64 // of spot instances
}

type metered struct {
	kind, zone, capacityType string
	price                    int64 // micro-USD per hour
	began, from              time.Time
}

func newMeter(own func(kind, zone, capacityType string, listed int64) int64) *meter {
	return &meter{own: own, running: map[string]*metered{}, coming: map[string]string{}}
}

// OnState is how the world tells.
func (m *meter) OnState(i world.Instance) {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := time.Now()
	switch i.State {
	case world.StatePending:
		m.coming[i.ID] = i.CapacityType
		m.launched++
	case world.StateRunning:
		delete(m.coming, i.ID)
		m.running[i.ID] = &metered{i.Type, i.Zone, i.CapacityType, m.own(i.Type, i.Zone, i.CapacityType, i.PriceMicroUSD), now, now}
	default:
		delete(m.coming, i.ID)
		if r := m.running[i.ID]; r != nil {
			m.charge(r, now)
			if rest := minimumBilled - now.Sub(r.began); rest > 0 {
				m.add(r, rest.Milliseconds())
			}
			delete(m.running, i.ID)
			m.ended++
		}
	}
	m.most = max(m.most, len(m.running)+len(m.coming))
}

func (m *meter) charge(r *metered, now time.Time) {
	ms := now.Sub(r.from).Milliseconds()
	m.add(r, ms)
	m.counted += ms
	if r.capacityType == world.Spot {
		m.spotCounted += ms
	}
	r.from = r.from.Add(time.Duration(ms) * time.Millisecond)
}

func (m *meter) add(r *metered, ms int64) {
	m.all += r.price * ms
	if r.capacityType == world.Spot {
		m.spot += r.price * ms
	}
}

// reset forgets what was counted; instances go on.
func (m *meter) reset() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.settleLocked()
	m.all, m.spot, m.launched, m.ended, m.counted, m.spotCounted, m.since = 0, 0, 0, 0, 0, 0, time.Now()
	m.most = len(m.running) + len(m.coming)
}

func (m *meter) settleLocked() {
	now := time.Now()
	for _, r := range m.running {
		m.charge(r, now)
	}
}

// reprice charges what ran until now by the old prices and takes new ones from then on.
func (m *meter) reprice(spot func(kind, zone string) (int64, bool)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.settleLocked()
	for _, r := range m.running {
		if r.capacityType == world.Spot {
			if p, ok := spot(r.kind, r.zone); ok {
				r.price = m.own(r.kind, r.zone, r.capacityType, p)
			}
		}
	}
}

// reading is what a meter shows.
type reading struct {
	hourly          int64 // micro-USD
	dollars, spot   float64
	byType          map[string]int // instances by capacity type, those that do not run yet included
	launched, ended int
	most            int
	mean            float64
	spotHours       float64 // instances × hours
}

func (m *meter) read() reading {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.settleLocked()
	const perDollarHour = 1e6 * 3600 * 1000
	out := reading{dollars: float64(m.all) / perDollarHour, spot: float64(m.spot) / perDollarHour, byType: map[string]int{}, launched: m.launched, ended: m.ended, most: m.most, spotHours: float64(m.spotCounted) / 3600e3}
	for _, r := range m.running {
		out.hourly += r.price
		out.byType[r.capacityType]++
	}
	for _, capacityType := range m.coming {
		out.byType[capacityType]++
	}
	if ms := time.Since(m.since).Milliseconds(); ms > 0 {
		out.mean = float64(m.counted) / float64(ms)
	}
	return out
}
