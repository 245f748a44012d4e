package pack

import "math"

// bid is what a type promises for its price.
type bid struct {
	t     int
	score float64
}

// bids are the best of what was offered, at most so many, best first; of equals those that came first.
type bids struct {
	best []bid
	most int
}

// least is the score that a bid has to beat to be among them.
func (b *bids) least() float64 {
	if len(b.best) < b.most {
		return math.Inf(-1)
	}
	return b.best[b.most-1].score
}

func (b *bids) add(t int, score float64) {
	if score <= b.least() {
		return
	}
	if len(b.best) < b.most {
		b.best = append(b.best, bid{})
	}
	at := len(b.best) - 1
	for ; at > 0 && b.best[at-1].score < score; at-- {
		b.best[at] = b.best[at-1]
	}
	b.best[at] = bid{t, score}
}
