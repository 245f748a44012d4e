package cli

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/kerf-sh/kerf/internal/simulate"
)

// In a file there is a line a minute at most, with how long it will take.
func TestProgressIsSaidWhereThereIsNoTerminal(t *testing.T) {
	var out bytes.Buffer
	now := time.Unix(0, 0)
	p := progressTo(&out, false, []time.Duration{24 * time.Hour, 24 * time.Hour}, func() time.Time { return now })
	for range 5 {
		now = now.Add(30 * time.Second)
		p.told(0, simulate.Progress{At: min(p.at[0]+12*time.Hour, 24*time.Hour)})
	}
	p.done()
	const want = "50 % simulated: 24 hours of 2 days; 1 of 2 runs finished, about 1m0s left\n50 % simulated: 24 hours of 2 days; 1 of 2 runs finished, about 2m0s left\n"
	if out.String() != want {
		t.Errorf("got %q, want %q", out.String(), want)
	}
	out.Reset()
	p.names = []string{"today with seed 1", "seed 2"}
	p.waits([]int{0, 1})
	p.told(1, simulate.Progress{At: 24 * time.Hour}) // nothing more about how long it would take
	p.waits([]int{0})
	const ending = "ending: waiting for the results of 2 runs (today with seed 1, 100 %; seed 2, 0 %); interrupt again to leave them out\n"
	if out.String() != ending {
		t.Errorf("got %q, want %q", out.String(), ending)
	}
	out.Reset()
	now = time.Unix(0, 0)
	p = progressTo(&out, false, []time.Duration{24 * time.Hour}, func() time.Time { return now })
	now = now.Add(time.Minute)
	p.told(0, simulate.Progress{At: -90 * time.Second})
	if want := "warming up: 1.5 minutes until anything is counted (--warmup)\n"; out.String() != want {
		t.Errorf("in the warm-up it says %q", out.String())
	}
	out.Reset()
	if sayNothingCounted(&out, simulate.ErrNothingCounted); !strings.Contains(out.String(), "shorten --warmup") {
		t.Errorf("of a run that was ended in its warm-up it says %q", out.String())
	}
	progressTo(nil, false, []time.Duration{time.Hour}, func() time.Time { return now.Add(time.Hour) }).told(0, simulate.Progress{At: time.Hour})
}
