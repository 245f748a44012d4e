package disrupt

import (
	"fmt"
	"time"

	"github.com/kerf-sh/kerf/internal/engine/catalog"
)

// Survival is how much of a saving is likely to be left.
type Survival struct {
	// After is how long the saving has lasted then.
	After time.Duration `json:"after"`
	// Percent of it that is left from then on.
	Percent int `json:"percent"`
}

// margin is how many times what it costs a move has to earn: what became of savings before is only about what will.
const margin = 2

// estimate is what a move is held to cost and to bring.
type estimate struct {
	spent, earned catalog.MicroUSD
	// payback is how long the saving would have to last whole, half after how long half of it is likely to be gone; 0: never.
	payback, half time.Duration
	// end is for how long the saving is counted on: until a node expires, or not.
	end     time.Duration
	expires bool
}

// notPaidBack compares what moving is held to cost with what it saves in the time that is left.
func (s *search) notPaidBack(nodes []*nodeState, saving catalog.MicroUSD, launched int) Reason {
	e := s.estimate(nodes, saving, launched)
	if e.earned >= e.spent*margin {
		return Reason{}
	}
	r := Reason{Code: NotPaidBack, Cost: s.amount(e.spent), Want: s.amount(e.spent * margin), Have: s.amount(e.earned)}
	earns := (e.payback * margin).Round(time.Second)
	switch {
	case e.half > 0:
		r.Detail = fmt.Sprintf("that would take %s; half of what is saved is launched again within %s here", earns, e.half)
	case e.expires:
		r.Detail = fmt.Sprintf("that would take %s; the first of the nodes expires in %s", earns, e.end.Round(time.Second))
	default:
		r.Detail = fmt.Sprintf("that would take %s; a saving is counted on for %s here", earns, e.end)
	}
	return r
}

// estimate adds up what a move costs, and what it brings until the horizon or until the first of its
// nodes would expire, as far as savings survive (Options.Survival). A new node that is likely to be needed again has to be
// started again.
func (s *search) estimate(nodes []*nodeState, saving catalog.MicroUSD, launched int) estimate {
	o := &s.p.Options
	price, cost := total(nodes)
	e := estimate{spent: o.evicting(cost)}
	if launched > 0 {
		e.spent += o.starting(launched, price-saving)
	}
	if saving <= 0 {
		return e
	}
	e.end = o.savingsHorizon()
	for _, n := range nodes {
		if left := n.in.LifetimeLeft; left > 0 && left < e.end {
			e.end, e.expires = left, true
		}
	}
	kept, at, sum := 100, time.Duration(0), int64(0) // sum is in percent and seconds
	for _, r := range o.Survival {
		if r.After >= e.end {
			break
		}
		sum += int64(kept) * int64((r.After-at)/time.Second)
		at, kept = r.After, min(kept, max(r.Percent, 0))
		if e.half == 0 && kept <= 50 {
			e.half = at
		}
	}
	sum += int64(kept) * int64((e.end-at)/time.Second)
	e.earned = saving * catalog.MicroUSD(sum) / (100 * 3600)
	if again := len(nodes) - launched; again > 0 {
		e.spent += o.starting(again, saving) * catalog.MicroUSD(100-kept) / 100
	}
	e.payback = lasts(e.spent, saving)
	return e
}

// spare is what the nodes cost beyond what their pods are worth, once the moves that were found are carried out: what
// new nodes for those pods would cost that are filled to the last.
func (s *search) spare() catalog.MicroUSD {
	sum := -s.saving()
	for _, n := range s.managed() {
		sum += n.savable()
	}
	return max(0, sum)
}
