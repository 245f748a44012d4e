package trial

import (
	"strings"
	"testing"
	"time"

	"github.com/kerf-sh/kerf/internal/sim/endurance/invariant"
)

func TestWhatTheAgeOfInstancesExplains(t *testing.T) {
	began := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	claim := func(age, expires time.Duration, deleting bool) *invariant.Claim {
		return &invariant.Claim{Name: "c", UID: "c", Instance: "i", Created: began.Add(-age), ExpireAfter: expires, Deleting: deleting}
	}
	for name, tt := range map[string]struct {
		seen []invariant.Event // a second apart; the last has just been seen
		want string
	}{
		"nothing moves":                         {nil, ""},
		"an instance comes":                     {[]invariant.Event{{Claim: claim(0, time.Hour, false)}, {Instance: &invariant.Instance{ID: "i", State: "pending"}}}, ""},
		"one goes at its age":                   {[]invariant.Event{{Claim: claim(time.Hour, time.Hour, true)}, {Node: &invariant.Node{UID: "n", Instance: "i", Deleting: true}}}, ""},
		"one is gone at its age":                {[]invariant.Event{{Claim: claim(time.Hour, time.Hour, true)}, {Claim: claim(time.Hour, time.Hour, true), Gone: true}}, ""},
		"one goes a little ahead of its age":    {[]invariant.Event{{Claim: claim(19*time.Minute, 20*time.Minute, true)}}, ""},
		"one goes before":                       {[]invariant.Event{{Claim: claim(time.Minute, time.Hour, true)}}, "claim c moves"},
		"one is gone before":                    {[]invariant.Event{{Claim: claim(time.Minute, time.Hour, true)}, {Claim: claim(time.Minute, time.Hour, true), Gone: true}}, "claim c has ended before its time"},
		"one goes whose age has no end":         {[]invariant.Event{{Claim: claim(time.Hour, 0, true)}}, "claim c moves"},
		"one comes whose age has no end":        {[]invariant.Event{{Claim: claim(0, 0, false)}}, "claim c moves"},
		"something is done to one that stays":   {[]invariant.Event{{Claim: claim(time.Hour, 2*time.Hour, false)}, {Node: &invariant.Node{UID: "n", Instance: "i", Mark: "Drifted"}}}, " moves"},
		"an instance that no claim knows":       {[]invariant.Event{{Instance: &invariant.Instance{ID: "j", State: "running"}}}, "instance j moves"},
		"pods move between instances that live": {[]invariant.Event{{Pod: &invariant.Pod{UID: "p", Phase: "Pending"}}}, ""},
	} {
		now := began
		a := &trial{pace: Natural, states: map[string]movement{}, ageing: ageing{}}
		for _, e := range tt.seen {
			now = now.Add(time.Second)
			if e.Claim != nil {
				a.ageing.see(e.Claim, e.Gone, now)
			}
			key, state := stateOf(e)
			a.states[key] = movement{state, now}
		}
		if got := a.unexcused(now); (got == "") != (tt.want == "") || !strings.Contains(got, tt.want) {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
		if got := a.unexcused(now.Add(Natural.Quiet)); got != "" {
			t.Errorf("%s: long ago, and told of all the same: %q", name, got)
		}
	}
}
