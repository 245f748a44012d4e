package disrupt

import (
	"fmt"
	"time"

	"github.com/kerf-sh/kerf/internal/engine/catalog"
	"github.com/kerf-sh/kerf/internal/engine/plan"
)

// Regrown is how much of a saving the load is likely to ask back.
type Regrown struct {
	// After is how long the saving has lasted then.
	After time.Duration `json:"after"`
	// Price per hour of the new nodes that are likely to have been launched again by then.
	Price catalog.MicroUSD `json:"price"`
}

// estimate is what a move is held to cost and to bring.
type estimate struct {
	spent, earned catalog.MicroUSD
	// margin is how many times what it costs a move has to earn: twice where a part of its saving is likely to be lost, because
	// what was lost before is only about what will be.
	margin catalog.MicroUSD
	// misplaced is what is likely to be launched again at once.
	misplaced catalog.MicroUSD
	// payback is how long the saving would have to last whole, asked when half of it is likely to be needed again; 0: never.
	payback, asked time.Duration
	// end is for how long the saving is counted on: until a node expires, or not.
	end     time.Duration
	expires bool
}

// notPaidBack compares what moving is held to cost with what it saves in the time that is left.
func (s *search) notPaidBack(nodes []*nodeState, saving catalog.MicroUSD, cost int64, launched int) Reason {
	e := s.estimate(nodes, saving, catalog.MicroUSD(float64(s.p.Options.PodPrice)*float64(cost)/unit), launched)
	if e.earned >= e.spent*e.margin {
		return Reason{}
	}
	r := Reason{Code: NotPaidBack, Want: plan.Dollars(e.spent), Have: plan.Dollars(e.earned)}
	switch {
	case e.asked > 0:
		r.Detail = fmt.Sprintf("it would pay back in %s; about as much was launched again within %s here", e.payback.Round(time.Second), e.asked)
	case e.misplaced == 0 && e.payback > e.end && e.expires:
		r.Detail = fmt.Sprintf("it would pay back in %s; the first of the nodes expires in %s", e.payback.Round(time.Second), e.end.Round(time.Second))
	case e.misplaced == 0 && e.payback > e.end:
		r.Detail = fmt.Sprintf("it would pay back in %s; a saving is counted on for %s here", e.payback.Round(time.Second), e.end)
	case e.misplaced > 0:
		r.Detail = fmt.Sprintf("after such moves %d%% of what their nodes had cost was launched again here, for pods that did not come to lie as planned", s.p.Options.MisplacedPercent)
	}
	return r
}

// estimate adds up what a move costs, evictions being known, and what it brings until the horizon or until the first of its
// nodes would expire.
//
// As much is misplaced as was before (Options.MisplacedPercent): the scheduler puts pods where it likes, and new nodes have to be
// launched for those that find no room then. Some of that is in Options.Returns too, and counts twice: not all of it is seen,
// and with less caution the same is tried over and over (TestMovesPayBack, for a day).
//
// The load takes back what Options.Returns says: first from what could still be saved in the cluster beyond what is
// usual there, then from this move; so it does with what makes the cluster tighter than is usual. A new node that is likely
// to be needed again has to be started again.
func (s *search) estimate(nodes []*nodeState, saving, evictions catalog.MicroUSD, launched int) estimate {
	o := &s.p.Options
	price, _ := total(nodes)
	e := estimate{spent: evictions, margin: 1}
	if launched > 0 {
		e.spent += o.starting(launched, price-saving)
	}
	if saving <= 0 {
		return e
	}
	e.misplaced = min(saving, price*catalog.MicroUSD(o.MisplacedPercent)/100)
	end := o.savingsHorizon()
	for _, n := range nodes {
		if left := n.in.LifetimeLeft; left > 0 && left < end {
			end, e.expires = left, true
		}
	}
	e.end = end
	spare := s.spare() - saving - o.NormalSlack
	if spare > 0 {
		spare /= 2 // room is not all where, and of the kind that, the next pods need it
	}
	// Each product is rounded by itself: some processors add without that, and their decision would be another one.
	lost, at, sum := e.misplaced, time.Duration(0), 0.0
	for _, r := range o.Regrowth {
		if r.After >= end {
			break
		}
		sum += float64(float64(saving-lost) * (r.After - at).Hours())
		at, lost = r.After, min(saving, max(lost, e.misplaced+r.Price-spare))
		if e.asked == 0 && lost > e.misplaced && 2*lost >= saving {
			e.asked = at
		}
	}
	if lost > 0 {
		e.margin = 2
	}
	e.earned = catalog.MicroUSD(sum + float64(float64(saving-lost)*(end-at).Hours()))
	if again := len(nodes) - launched; again > 0 {
		e.spent += catalog.MicroUSD(float64(o.starting(again, saving)) * float64(lost) / float64(saving))
	}
	e.payback = lasts(e.spent, saving)
	return e
}

// spare is what the nodes cost beyond what their pods are worth, once the moves that were found are carried out: what
// new nodes for those pods would cost that are filled to the last.
func (s *search) spare() catalog.MicroUSD {
	if !s.looseKnown {
		s.looseKnown = true
		for _, n := range s.nodes {
			if n != nil {
				s.loose += n.savable()
			}
		}
	}
	return max(0, s.loose-s.saving())
}
