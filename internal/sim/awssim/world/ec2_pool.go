package world

import (
	"fmt"
	"hash/fnv"
	"math"
	"slices"
	"time"
)

// poolKey names the instances of one type in one zone under one way of launching.
type poolKey struct{ capacityType, instanceType, zone string }

// pool is the stock of such instances.
type pool struct {
	depth  int // instances that can run at once
	used   int
	prices []priceChange // spot only, oldest first; those that are over for longer than priceMemory are forgotten
}

// priceChange is a price from a time on, until the next.
type priceChange struct {
	microUSD int64
	at       int64 // Unix time in nanoseconds
}

// priceMemory is for how long prices can be asked for.
//
// Source: EC2 API reference, DescribeSpotPriceHistory: the last 90 days.
const priceMemory = 90 * 24 * time.Hour

// SpotPrice is one price change of a spot pool.
type SpotPrice struct {
	Type, Zone string
	MicroUSD   int64 // per hour
	At         time.Time
}

// PoolState shows one pool that has been used or looked at.
type PoolState struct {
	CapacityType  string `json:"capacityType"`
	Type          string `json:"type"`
	Zone          string `json:"zone"`
	Depth         int    `json:"depth"`
	Used          int    `json:"used"`
	PriceMicroUSD int64  `json:"priceMicroUsd"`
}

func (w *World) poolFor(i *Instance) *pool {
	return w.poolLocked(poolKey{i.CapacityType, i.Type, i.Zone})
}

// poolLocked returns a pool, making it on first use. Its depth depends on the seed and its name only, not on the order
// of calls.
func (w *World) poolLocked(k poolKey) *pool {
	if p := w.ec2.pools[k]; p != nil {
		return p
	}
	p := &pool{depth: w.depthOf(k)}
	w.ec2.pools[k] = p
	return p
}

// depthOf draws the stock of a pool: between 1,000 and 32,000 vCPUs for spot, four times as much on demand, an eighth of
// that for accelerated and a quarter for bare-metal types.
func (w *World) depthOf(k poolKey) int {
	if k.capacityType == Spot && w.opts.SpotDepth > 0 {
		return w.opts.SpotDepth
	}
	if k.capacityType == OnDemand && w.opts.OnDemandDepth > 0 {
		return w.opts.OnDemandDepth
	}
	t, ok := w.Type(k.instanceType)
	if !ok {
		return 0
	}
	cpus := 1000 * math.Exp2(5*w.draw(k.capacityType, k.instanceType, k.zone))
	if k.capacityType == OnDemand {
		cpus *= 4
	}
	if accelerated(t) {
		cpus /= 8
	}
	if t.BareMetal {
		cpus /= 4
	}
	return max(1, int(cpus)/max(t.VCPUs, 1))
}

// draw gives a number in [0,1) that depends on the seed and the words only.
func (w *World) draw(words ...string) float64 {
	h := fnv.New64a()
	fmt.Fprint(h, w.opts.Seed)
	for _, s := range words {
		h.Write([]byte{0})
		h.Write([]byte(s))
	}
	x := h.Sum64() // FNV leaves the high bits of similar names alike; mix them
	x ^= x >> 33
	x *= 0xff51afd7ed558ccd
	x ^= x >> 33
	x *= 0xc4ceb9fe1a85ec53
	x ^= x >> 33
	return float64(x>>11) / (1 << 53)
}

// SetDepth fixes how many instances of a pool can run at once; those above it go on running.
func (w *World) SetDepth(capacityType, instanceType, zone string, depth int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.poolLocked(poolKey{capacityType, instanceType, zone}).depth = depth
}

// SetSpotPrice makes a spot pool change its price now. Micro-USD per hour.
func (w *World) SetSpotPrice(instanceType, zone string, microUSD int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	p := w.poolLocked(poolKey{Spot, instanceType, zone})
	now := w.clock.Now()
	p.prices = append(w.pricesLocked(p, instanceType, zone), priceChange{microUSD, now.UnixNano()})
	if over := now.Add(-priceMemory).UnixNano(); len(p.prices) > 1 && p.prices[1].at < over {
		p.prices = p.prices[1:]
	}
}

// pricesLocked returns the price changes of a spot pool: the price from the facts, said to be some hours old, and then
// those that were set.
func (w *World) pricesLocked(p *pool, instanceType, zone string) []priceChange {
	if len(p.prices) > 0 {
		return p.prices
	}
	price, ok := w.ec2.facts.all.Spot(w.ec2.facts.region, zone, instanceType)
	if !ok || !w.Offered(instanceType, zone) {
		return nil
	}
	age := time.Duration(w.draw("price age", instanceType, zone) * float64(12*time.Hour)).Truncate(time.Second)
	p.prices = []priceChange{{price.MicroUSD, w.started.Add(-age).UnixNano()}}
	return p.prices
}

func (w *World) spotPriceLocked(instanceType, zone string) (int64, bool) {
	prices := w.pricesLocked(w.poolLocked(poolKey{Spot, instanceType, zone}), instanceType, zone)
	if len(prices) == 0 {
		return 0, false
	}
	return prices[len(prices)-1].microUSD, true
}

// SpotPrices returns, for each type and zone, the price in force at start and all changes after it up to end, newest
// first within a pool. Nil types or zones mean all, in the order of their names.
func (w *World) SpotPrices(types, zones []string, start, end time.Time) []SpotPrice {
	if types == nil {
		types = w.ec2.facts.names
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if zones == nil {
		for _, z := range w.ec2.net.zones {
			zones = append(zones, z.Name)
		}
		slices.Sort(zones)
	}
	from, to := start.UnixNano(), end.UnixNano()
	out := make([]SpotPrice, 0, len(types)*len(zones))
	for _, t := range types {
		for _, z := range zones {
			if !w.Offered(t, z) || w.unpricedLocked(t, z) {
				continue
			}
			prices := w.pricesLocked(w.poolLocked(poolKey{Spot, t, z}), t, z)
			for _, p := range slices.Backward(prices) {
				if p.at > to {
					continue
				}
				out = append(out, SpotPrice{t, z, p.microUSD, time.Unix(0, p.at).UTC()})
				if p.at <= from {
					break
				}
			}
		}
	}
	return out
}

// Pools returns the pools in use, and those whose depth was drawn or set, by name.
func (w *World) Pools() []PoolState {
	w.mu.Lock()
	defer w.mu.Unlock()
	var out []PoolState
	for k, p := range w.ec2.pools {
		s := PoolState{CapacityType: k.capacityType, Type: k.instanceType, Zone: k.zone, Depth: p.depth, Used: p.used}
		if k.capacityType == Spot {
			s.PriceMicroUSD, _ = w.spotPriceLocked(k.instanceType, k.zone)
		} else {
			s.PriceMicroUSD, _ = w.OnDemandPrice(k.instanceType)
		}
		out = append(out, s)
	}
	slices.SortFunc(out, func(a, b PoolState) int {
		return slices.Compare([]string{a.CapacityType, a.Type, a.Zone}, []string{b.CapacityType, b.Type, b.Zone})
	})
	return out
}

type quotaKey struct{ capacityType, class string }

// SetQuota sets how many vCPUs of a class (see QuotaClass) may run at once under one way of launching.
func (w *World) SetQuota(capacityType, class string, vcpus int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ec2.quotas[quotaKey{capacityType, class}] = vcpus
}

// defaultQuota is the vCPU quota of a class that nobody has set.
const defaultQuota = 100_000

func (w *World) quotaLocked(k quotaKey) int {
	if q, ok := w.ec2.quotas[k]; ok {
		return q
	}
	return defaultQuota
}

func (w *World) vcpus(instanceType string) int {
	if t, ok := w.Type(instanceType); ok {
		return t.VCPUs
	}
	return 0
}
