package disrupt

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/kerf-sh/kerf/internal/engine/catalog"
)

func TestHowMuchOfMovesGoesAstray(t *testing.T) {
	begun := time.Unix(100_000, 0)
	type moved struct {
		old, again catalog.MicroUSD
		after      time.Duration
	}
	for sentence, tt := range map[string]struct {
		moves []moved
		bill  catalog.MicroUSD
		now   time.Duration
		want  int
	}{
		"nothing is known":                               {bill: 1000, want: 0},
		"half of one move of the whole cluster":          {moves: []moved{{old: 1000, again: 500}}, bill: 1000, now: judgeFor, want: 45},
		"known before all is seen":                       {moves: []moved{{old: 1000, again: 500}}, bill: 1000, now: time.Second, want: 45},
		"a small move says little":                       {moves: []moved{{old: 10, again: 10}}, bill: 1000, now: judgeFor, want: 9},
		"never more than was moved":                      {moves: []moved{{old: 1000, again: 5000}}, bill: 0, now: judgeFor, want: 100},
		"a move that held counts":                        {moves: []moved{{old: 1000, again: 500}, {old: 900}}, bill: 1000, now: judgeFor, want: 25},
		"but not before more of it could have been seen": {moves: []moved{{old: 1000, again: 500}, {old: 900, after: judgeFor}}, bill: 1000, now: judgeFor, want: 45},
		"and none for ever":                              {moves: []moved{{old: 1000, again: 500}}, bill: 1000, now: learnFrom, want: 0},
	} {
		t.Run(sentence, func(t *testing.T) {
			var o outcomes
			for _, m := range tt.moves {
				o.begin(m.old, begun.Add(m.after)).again = m.again
			}
			if got := o.percent(tt.bill, begun.Add(tt.now)); got != tt.want {
				t.Errorf("%d %%, want %d %%", got, tt.want)
			}
		})
	}
}

func TestOnlyTheLastOutcomesAreKept(t *testing.T) {
	var o outcomes
	for i := range 3 * mostOutcomes {
		o.begin(1, time.Unix(int64(i), 0))
	}
	if len(o) != mostOutcomes || o[0].at != time.Unix(2*mostOutcomes, 0) {
		t.Errorf("%d outcomes, the first of %v", len(o), o[0].at)
	}
}

// Once the breaker has opened the same purchases do not open it again, but what came of the move is still being learned.
func TestWhatGoesAstrayIsLearnedPastTheBreaker(t *testing.T) {
	now := time.Unix(100_000, 0)
	g := NewGovernor()
	g.Moving([]*corev1.Pod{ownedBy("web")}, 500, 100, always(3), now)
	if why := g.Launched(launched(tripAt, 40, "web"), always(3), now); why == "" {
		t.Fatal("the breaker stays closed")
	}
	if got := g.Misplaced(0, now); got != 24 {
		t.Errorf("%d %% were misplaced, want 24 %%", got)
	}
	if why := g.Launched(launched(2, 40, "web"), always(3), now.Add(openFor-judgeFor-time.Second)); why != "" {
		t.Errorf("it opens again: %s", why)
	}
	g.Launched(launched(2, 40, "web"), always(3), now.Add(judgeFor-time.Second))
	if got := g.Misplaced(0, now); got != 56 {
		t.Errorf("%d %% were misplaced, want 56 %%", got)
	}
}
