package disrupt

import (
	"strconv"

	"github.com/kerf-sh/kerf/internal/engine/catalog"
	"github.com/kerf-sh/kerf/internal/engine/pack"
	"github.com/kerf-sh/kerf/internal/engine/plan"
)

// priceTheGate finds what spot nodes would save if new spot instances might replace them, where only the feature gate
// forbids it. It changes nothing but what is said of them: sets are grown as for a move, and each node gets its share of
// what the best set would save.
func (s *search) priceTheGate() {
	if s.p.Options.SpotToSpot {
		return
	}
	var line []*nodeState
	for _, n := range s.starts(byUsage) {
		if n.spot() && n.price > 0 && n.usage() <= 1-promising {
			line = append(line, n)
		}
	}
	for left := patience; len(line) > 0 && left > 0 && !s.ended(); {
		size, saving := s.heldByGate(line)
		if size == 0 {
			line = line[1:]
			left--
			continue
		}
		old, _ := total(line[:size])
		why := Reason{Code: SpotToSpotOff, Want: strconv.Itoa(size - 1), Have: plan.Dollars(saving)}
		for _, n := range line[:size] {
			n.reason, n.saves = why, saving*n.price/old
		}
		line = line[size:]
	}
}

// heldByGate is how many of the first nodes would save the largest part of what they cost if new spot instances replaced
// them together, and how much; no nodes if nothing but the gate would have to change.
func (s *search) heldByGate(line []*nodeState) (size int, saving catalog.MicroUSD) {
	best := 1.0
	for _, n := range setSizes {
		if n > len(line) || s.ended() {
			break
		}
		a := s.ask(line[:n], true)
		old, cost := total(line[:n])
		if a.Refusal != pack.SpotToSpot || s.notPaidBack(line[:n], old-a.Price, cost, a.NewNodes).Code != "" {
			continue
		}
		if ratio := float64(a.Price) / float64(old); ratio < best {
			best, size, saving = ratio, n, old-a.Price
		}
	}
	return size, saving
}
