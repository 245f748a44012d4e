package disrupt

import (
	"slices"
	"time"

	"github.com/kerf-sh/kerf/internal/engine/catalog"
)

const (
	// learnFrom is how long it is remembered what came of a move, and mostOutcomes of how many.
	learnFrom, mostOutcomes = 24 * time.Hour, 200
	// untriedPercent of the bill is held to have been moved already, with nothing launched again: one instance that had to be
	// launched after one small move is chance.
	untriedPercent = 10
)

// outcome is what came of one move: what its nodes cost per hour, and how much of that had to be launched again.
type outcome struct {
	at         time.Time
	old, again catalog.MicroUSD
}

// outcomes of the moves of a day, oldest first. Where the scheduler has put pods elsewhere than planned after the last
// moves, it will do so after the next.
type outcomes []*outcome

func (o *outcomes) begin(old catalog.MicroUSD, now time.Time) *outcome {
	*o = slices.DeleteFunc(*o, func(x *outcome) bool { return now.Sub(x.at) >= learnFrom })
	if over := len(*o) + 1 - mostOutcomes; over > 0 {
		*o = slices.Delete(*o, 0, over)
	}
	out := &outcome{at: now, old: old}
	*o = append(*o, out)
	return out
}

// percent of what nodes cost that had to be launched again. A move of which more may yet be seen counts only once it shows
// something.
func (o outcomes) percent(bill catalog.MicroUSD, now time.Time) int {
	old, again := bill*untriedPercent/100, catalog.MicroUSD(0)
	for _, x := range o {
		if age := now.Sub(x.at); age < learnFrom && (age >= judgeFor || x.again > 0) {
			old += x.old
			again += min(x.again, x.old)
		}
	}
	return int(100 * again / max(1, old))
}
