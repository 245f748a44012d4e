package provision

import (
	"testing"
	"time"
)

func TestPaceTurnsTimeIntoWork(t *testing.T) {
	now := time.Unix(0, 0)
	p := newPace(time.Second, func() time.Time { return now })
	measure := func(units int64, took time.Duration) {
		p.begin()
		now = now.Add(took)
		p.end(units)
	}
	if got := p.work(10_000); got != firstRate {
		t.Errorf("before anything is measured a second is %d units, want %d", got, int64(firstRate))
	}
	if lone, many := p.work(1), p.work(manyPods); lone*20 > many || lone <= 0 {
		t.Errorf("a lone pod is worth %d units of %d", lone, many)
	}
	before := p.work(5000)
	measure(55_000, time.Millisecond)
	if got := p.work(5000); got != before {
		t.Errorf("what is too short to be measured changed the budget from %d to %d", before, got)
	}
	measure(5_500_000, 100*time.Millisecond)
	if got := p.work(5000); got != before {
		t.Errorf("a small drift changed the budget from %d to %d", before, got)
	}
	for range 20 {
		measure(20_000_000, 100*time.Millisecond)
	}
	if got := p.work(5000); got < 140e6 || got > 260e6 {
		t.Errorf("at 200 million units a second a second is %d", got)
	}
	for range 20 {
		measure(100_000, 100*time.Millisecond)
	}
	if got := p.work(5000); got > 2e6 {
		t.Errorf("at one million units a second a second is %d", got)
	}
	p.end(1 << 40) // nothing was begun
	if got := p.work(5000); got > 2e6 {
		t.Errorf("an end without a beginning was measured: %d", got)
	}
	if got := newPace(0, time.Now).work(5000); got >= 0 {
		t.Errorf("no time is %d units, want less than 0", got)
	}
}
