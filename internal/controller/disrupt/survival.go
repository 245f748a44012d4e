package disrupt

import (
	"cmp"
	"slices"
	"time"

	"github.com/kerf-sh/kerf/internal/engine/catalog"
	"github.com/kerf-sh/kerf/internal/engine/cluster"
	"github.com/kerf-sh/kerf/internal/engine/disrupt"
)

const (
	// leastHorizon is for how long a saving is counted on where nothing is known yet, mostHorizon how long at most.
	leastHorizon, mostHorizon = 35 * time.Minute, 24 * time.Hour
	// glance is how often the bill is noted, and memory for how long.
	glance, memory = 30 * time.Second, 6 * time.Hour
	// untriedPercent of the bill is held to have been saved before, and to have lasted: that one instance was needed again is chance.
	untriedPercent = 2
)

// ages are those of which it is known how much of a saving is left.
var ages = []time.Duration{time.Minute, 2 * time.Minute, 5 * time.Minute, 10 * time.Minute, 15 * time.Minute, 30 * time.Minute, time.Hour, 2 * time.Hour, 4 * time.Hour}

// survival watches the bill, to know how long what is saved lasts here. When the bill has fallen and instances are launched
// again, so much of the saving is gone, whoever needs them: a load that comes back, or pods that did not come to lie as planned.
// Nothing has to be known of single instances for that.
//
// It is this process's own. A new leader counts on savings for as long as the cluster's instances have lasted, and has seen
// within minutes whether it is one that breathes.
type survival struct {
	began   time.Time
	moments []moment // oldest first
	prices  map[string]catalog.MicroUSD
	horizon time.Duration
	curve   []disrupt.Survival
}

// moment is what instances cost at a time.
type moment struct {
	at   time.Time
	bill catalog.MicroUSD
}

// see notes the bill: what instances cost that are not being deleted, each at the price at which it was seen first, so that
// prices that move are not taken for instances. Of a replacement and what it replaces one counts at a time: the former as soon
// as nobody awaits it any more.
func (t *survival) see(nodes []*cluster.Node, awaited func(claim string) bool, now time.Time) {
	if t.began.IsZero() {
		t.began = now
	}
	if n := len(t.moments); n > 0 && now.Sub(t.moments[n-1].at) < glance {
		return
	}
	prices, bill := make(map[string]catalog.MicroUSD, len(nodes)), catalog.MicroUSD(0)
	for _, n := range nodes {
		if n.Claim == "" || !n.Launched {
			continue // what can't be had is asked for again and again: nothing is paid for it
		}
		price := cmp.Or(t.prices[n.Claim], n.Price)
		prices[n.Claim] = price
		if !n.Deleting && !awaited(n.Claim) {
			bill += price
		}
	}
	t.prices = prices
	t.moments = slices.DeleteFunc(t.moments, func(m moment) bool { return now.Sub(m.at) > memory })
	t.moments = append(t.moments, moment{now, bill})
	t.horizon = horizon(max(now.Sub(t.began), meanAge(nodes, now)))
	t.reckon(bill, now)
}

// reckon finds how much of what was saved is left after each age: of every fall of the bill, what it has not risen again by then.
func (t *survival) reckon(bill catalog.MicroUSD, now time.Time) {
	fell, back := make([]catalog.MicroUSD, len(ages)), make([]catalog.MicroUSD, len(ages))
	for i := 1; i < len(t.moments); i++ {
		m, before := t.moments[i], t.moments[i-1].bill
		if m.bill >= before {
			continue
		}
		rose, at := catalog.MicroUSD(0), i
		for k, age := range ages {
			if now.Sub(m.at) < age {
				break
			}
			for ; at < len(t.moments) && t.moments[at].at.Sub(m.at) <= age; at++ {
				rose = max(rose, min(t.moments[at].bill, before)-m.bill)
			}
			fell[k] += before - m.bill
			back[k] += rose
		}
	}
	t.curve = nil
	kept := 100
	for k, age := range ages {
		if now := int(100 - 100*back[k]/max(1, fell[k]+bill*untriedPercent/100)); now < kept {
			kept = now
			t.curve = append(t.curve, disrupt.Survival{After: age, Percent: kept})
		}
	}
}

// horizon is the time for which a saving is counted on in a cluster that has been there for so long. It grows in steps of
// two, so that decisions are not made anew for each second that passes.
func horizon(been time.Duration) time.Duration {
	out := leastHorizon
	for out < mostHorizon && 2*out <= been {
		out *= 2
	}
	return min(out, mostHorizon)
}

// meanAge of the instances, each weighed by its price.
func meanAge(nodes []*cluster.Node, now time.Time) time.Duration {
	sum, weight := 0.0, 0.0
	for _, n := range nodes {
		if n.Claim == "" || n.CreatedAt.IsZero() {
			continue
		}
		sum += min(max(now.Sub(n.CreatedAt), 0), 2*mostHorizon).Seconds() * float64(n.Price)
		weight += float64(n.Price)
	}
	if weight == 0 {
		return 0
	}
	return time.Duration(sum / weight * float64(time.Second))
}
