package changeplan

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kerf-sh/kerf/internal/engine/catalog"
)

// window allows most outside of [from, to) and inside that much.
type window struct {
	most, inside int
	from, to     time.Duration
}

func (w window) Allowed(at time.Duration) int {
	if at >= w.from && at < w.to {
		return w.inside
	}
	return w.most
}

func (w window) Changes(after time.Duration) time.Duration {
	for _, at := range []time.Duration{w.from, w.to} {
		if at > after {
			return at
		}
	}
	return 0
}

func TestNodesTakeTurnsWithinTheBudgets(t *testing.T) {
	const m = time.Minute
	for sentence, tt := range map[string]struct {
		n, busy int
		budget  window
		want    []string
		rest    int
		peak    catalog.MicroUSD
	}{
		"one after the other":                   {3, 0, window{most: 1}, []string{"0 0s-2m0s", "1 2m0s-4m0s", "2 4m0s-6m0s"}, 0, 10},
		"two at a time":                         {3, 0, window{most: 2}, []string{"0 0s-2m0s", "1 0s-2m0s", "2 2m0s-4m0s"}, 0, 20},
		"those under way count":                 {1, 1, window{most: 1}, []string{"0 1m0s-3m0s"}, 0, 10},
		"a window that forbids is waited for":   {2, 0, window{most: 1, to: 60 * m}, []string{"0 1h0m0s-1h2m0s", "1 1h2m0s-1h4m0s"}, 0, 10},
		"a window that comes between":           {3, 0, window{most: 1, from: 3 * m, to: 30 * m}, []string{"0 0s-2m0s", "1 2m0s-4m0s", "2 30m0s-32m0s"}, 0, 10},
		"what EC2 is ending costs nothing":      {2, 0, window{most: 1, inside: 2, from: 90 * time.Second, to: 30 * m}, []string{"0 0s-2m0s", "1 1m30s-3m30s"}, 0, 10},
		"nothing is ever allowed":               {2, 0, window{}, nil, 2, 0},
		"the budget opens after the horizon":    {2, 0, window{most: 1, to: 2 * horizon}, nil, 2, 0},
		"all at once where nothing is limiting": {3, 0, window{most: 1 << 40}, []string{"0 0s-2m0s", "1 0s-2m0s", "2 0s-2m0s"}, 0, 30},
	} {
		t.Run(sentence, func(t *testing.T) {
			var jobs []job
			for i := range tt.n {
				jobs = append(jobs, job{node: fmt.Sprint(i), runs: m, ends: m, extra: 10})
			}
			busy := make([]time.Duration, tt.busy)
			for i := range busy {
				busy[i] = m
			}
			turns, rest := schedule(jobs, busy, tt.budget)
			var got []string
			for _, x := range turns {
				got = append(got, fmt.Sprintf("%s %s-%s", x.node, x.start, x.end))
			}
			if d := cmp.Diff(tt.want, got); d != "" || len(rest) != tt.rest {
				t.Errorf("%d left, -want +got\n%s", len(rest), d)
			}
			if peak, _ := surge(turns); peak != tt.peak {
				t.Errorf("peak %d, want %d", peak, tt.peak)
			}
		})
	}
}
