package disrupt

import (
	"slices"
	"time"

	"github.com/kerf-sh/kerf/internal/engine/catalog"
	"github.com/kerf-sh/kerf/internal/engine/cluster"
	"github.com/kerf-sh/kerf/internal/engine/disrupt"
	"github.com/kerf-sh/kerf/internal/engine/res"
)

const (
	// leastHorizon is for how long a saving is counted on where nothing is known yet, mostHorizon how long at most.
	leastHorizon, mostHorizon = 35 * time.Minute, 24 * time.Hour
	// restlessHorizon is the most where pods come and go; where none has come for a time it is calmFor times as long as that, and
	// where they take little room one part in turnoverPart of the time in which they would have taken it all.
	restlessHorizon, calmFor, turnoverPart = 2 * leastHorizon, 8, 4
	// newFor is how long a pod is one that has come, from its creation.
	newFor = 10 * time.Minute
	// glance is how often the bill is noted, and memory for how long.
	glance, memory = 30 * time.Second, 6 * time.Hour
	// quietBefore is the time without purchases that every cluster is held to have had before it was watched: how much has to
	// be seen before it is believed.
	quietBefore = 30 * time.Minute
	// likelyPercent of the time no more was launched again than is reckoned with.
	likelyPercent = 95
	// usualTime percent of the time no more was of no use to pods than is held to be usual, usualPercent of the bill at most:
	// where more is there, it may be of use to pods that come.
	usualTime, usualPercent = 50, 15
	// calmer is how many times as long as at a moment of the past it must be quiet now for that moment to say nothing.
	calmer = 3
)

// ages are those after which it is reckoned how much of a saving has been launched again.
var ages = []time.Duration{time.Minute, 2 * time.Minute, 3 * time.Minute, 5 * time.Minute, 7 * time.Minute, 10 * time.Minute, 15 * time.Minute, 20 * time.Minute,
	30 * time.Minute, 45 * time.Minute, time.Hour, 90 * time.Minute, 2 * time.Hour, 3 * time.Hour, 4 * time.Hour}

// tenure watches the bill, to know how long what is saved lasts here. When the bill has fallen and instances are launched
// again, so much of the saving was undone: in the cluster in which nothing had gone they would not have been launched. Nothing
// has to be known of single instances for that.
//
// It is this process's own. A new leader counts on as much as it may in a cluster whose instances and pods are as old as they
// are, and has seen within minutes whether it is one that breathes.
type savingsHorizon struct {
	began   time.Time
	moments []moment // oldest first
	prices  map[string]catalog.MicroUSD
	calm    time.Time // since when no pod has come that runs, and no instance
	horizon time.Duration
	returns []disrupt.Regrown
	tight   catalog.MicroUSD
	// young are the UIDs of the pods on nodes that were made a short time ago; nil before the first look.
	young map[string]bool
}

// moment is what was seen at a time.
type moment struct {
	at    time.Time
	bill  catalog.MicroUSD
	spare catalog.MicroUSD // that the last decision left
	quiet time.Duration    // since a pod or an instance came last
	taken catalog.MicroUSD // what the room costs per hour that pods have taken who came since the moment before
}

// see notes the bill: what instances cost that are not to go, each at the price at which it was seen first, so that prices
// that move are not taken for instances.
func (t *savingsHorizon) see(nodes []*cluster.Node, spare catalog.MicroUSD, now time.Time) {
	first := t.began.IsZero()
	if first {
		t.began, t.calm, t.prices = now, newest(nodes), map[string]catalog.MicroUSD{}
	}
	prices := make(map[string]catalog.MicroUSD, len(nodes))
	bill, came := catalog.MicroUSD(0), false
	for _, n := range nodes {
		if n.Claim == "" || !n.Launched {
			continue // what can't be had is asked for again and again: nothing is paid for it
		}
		price, known := t.prices[n.Claim]
		if !known || price == 0 {
			price = n.Price
		}
		came = came || !known
		prices[n.Claim] = price
		if !n.Deleting && !n.Leaving {
			bill += price
		}
	}
	t.prices = prices
	if came && !first {
		t.calm = now
	}
	if len(t.moments) > 0 && now.Sub(t.moments[len(t.moments)-1].at) < glance {
		return
	}
	t.moments = slices.DeleteFunc(t.moments, func(m moment) bool { return now.Sub(m.at) > memory })
	if born := youngest(nodes); born.After(t.calm) {
		t.calm = born
	}
	m := moment{at: now, bill: bill, spare: spare, quiet: min(now.Sub(t.calm), mostHorizon)}
	m.taken = t.take(nodes, now)
	t.moments = append(t.moments, m)
	t.reckon(nodes, now)
}

// reckon finds how long a saving may be counted on, and how much of it is likely to be asked back.
func (t *savingsHorizon) reckon(nodes []*cluster.Node, now time.Time) {
	quiet := min(now.Sub(t.calm), mostHorizon)
	t.horizon = horizon(min(max(now.Sub(t.began), meanAge(nodes, now)), max(restlessHorizon, calmFor*quiet, t.turnover(now)/turnoverPart)))
	most := make([]catalog.MicroUSD, len(t.moments)) // the bill had been so high until then
	for i, m := range t.moments {
		most[i] = m.bill
		if i > 0 {
			most[i] = max(most[i], most[i-1])
		}
	}
	again := make([][]catalog.MicroUSD, len(ages))
	for i, m := range t.moments {
		if m.quiet*calmer < quiet {
			continue
		}
		back, at := catalog.MicroUSD(0), i
		for k, age := range ages {
			if now.Sub(m.at) < age {
				break
			}
			for ; at < len(t.moments) && t.moments[at].at.Sub(m.at) <= age; at++ {
				back = max(back, min(t.moments[at].bill, most[i])-m.bill)
			}
			again[k] = append(again[k], back)
		}
	}
	t.returns = nil
	last := catalog.MicroUSD(0)
	for k := range ages {
		if r := likely(again[k]); r > last {
			last = r
			t.returns = append(t.returns, disrupt.Regrown{After: ages[k], Price: r})
		}
	}
	t.tight = 0
	if len(t.returns) > 0 {
		spare := make([]catalog.MicroUSD, len(t.moments))
		for i, m := range t.moments {
			spare[i] = m.spare
		}
		slices.Sort(spare)
		t.tight = min(spare[len(spare)*usualTime/100], t.moments[len(t.moments)-1].bill*usualPercent/100)
	}
}

// turnover is how long it takes until pods that come have taken as much room as there is, as far as that matters: a small job
// every minute changes little about what a large cluster needs. It is 0 until that was watched for as long as a saving is
// counted on anyway.
func (t *savingsHorizon) turnover(now time.Time) time.Duration {
	watched := now.Sub(t.moments[0].at)
	if watched < restlessHorizon {
		return 0
	}
	came, bill := catalog.MicroUSD(0), catalog.MicroUSD(0)
	for _, m := range t.moments {
		came += m.taken
		bill += m.bill
	}
	bill /= catalog.MicroUSD(len(t.moments))
	return time.Duration(min(float64(2*turnoverPart*mostHorizon), float64(watched)*float64(bill)/float64(max(1, came))))
}

// take is what the room costs that pods have taken who are new here: of a node the largest part of any resource that they ask
// for. A pod counts when it is first seen on an instance that is there; one that has waited for longer than newFor is missed.
func (t *savingsHorizon) take(nodes []*cluster.Node, now time.Time) catalog.MicroUSD {
	first, before := t.young == nil, t.young
	t.young = map[string]bool{}
	out := 0.0
	for _, n := range nodes {
		if n.Claim == "" || n.Price == 0 {
			continue
		}
		var came res.List
		for _, p := range n.Pods {
			if p.Daemon || p.Mirror || now.Sub(p.CreatedAt) >= newFor {
				continue
			}
			t.young[p.UID] = true
			if first || before[p.UID] {
				continue
			}
			if came == nil {
				came = res.List{}
			}
			came.Add(p.Class.Requests)
		}
		part := 0.0
		for name, amount := range came {
			if name != res.Pods && n.Allocatable[name] > 0 {
				part = max(part, float64(amount)/float64(n.Allocatable[name]))
			}
		}
		out += min(part, 1) * float64(n.Price)
	}
	return catalog.MicroUSD(out)
}

// newest is when the last of the instances was launched.
func newest(nodes []*cluster.Node) (born time.Time) {
	for _, n := range nodes {
		if n.Claim != "" && n.CreatedAt.After(born) {
			born = n.CreatedAt
		}
	}
	return born
}

// youngest is when the last of the pods was made that run on nodes.
func youngest(nodes []*cluster.Node) (born time.Time) {
	for _, n := range nodes {
		for _, p := range n.Pods {
			if !p.Daemon && !p.Mirror && p.CreatedAt.After(born) {
				born = p.CreatedAt
			}
		}
	}
	return born
}

// likely is what was launched again at most, but for the most restless part of the time.
func likely(again []catalog.MicroUSD) catalog.MicroUSD {
	slices.Sort(again)
	before := int(quietBefore / glance)
	at := (len(again)+before)*likelyPercent/100 - before
	if at < 0 || at >= len(again) {
		return 0
	}
	return again[at]
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

// bill is what instances cost that are not to go, as it was noted last.
func (t *savingsHorizon) bill() catalog.MicroUSD {
	if len(t.moments) == 0 {
		return 0
	}
	return t.moments[len(t.moments)-1].bill
}
