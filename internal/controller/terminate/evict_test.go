package terminate

import (
	"math"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

func TestWhenAPodMustGo(t *testing.T) {
	const left = 5 * time.Minute // until the instance ends
	for name, tc := range map[string]struct {
		change func(*corev1.Pod)
		ends   bool // the instance does
		goes   bool
		again  time.Duration // when it is to be asked again; 0 for never
	}{
		"the instance has no end":                    {takes(math.MaxInt64), false, false, 0},
		"it has time enough":                         {takes(60), true, false, left - time.Minute + time.Millisecond},
		"it needs all the time that is left":         {takes(301), true, true, 0},
		"its grace period is longer than a Duration": {takes(1e10), true, true, 0},
		"its grace period is the longest there is":   {takes(math.MaxInt64), true, true, 0},
		"it ends in time":                            {ending(time.Minute, 60), true, false, 0},
		"it ends too late":                           {ending(10*time.Minute, 600), true, true, 0},
		"it was given its last second":               {ending(10*time.Minute, 1), true, false, 0},
		// The API server adds the seconds to its time as they are.
		"it ends in three centuries": {ending(overflown(1e10), 1e10), true, true, 0},
		"it never ends":              {ending(overflown(math.MaxInt64), math.MaxInt64), true, true, 0},
	} {
		t.Run(name, func(t *testing.T) {
			r := &round{now: noon, memory: &memory{deleted: map[types.UID]deletion{}}}
			if tc.ends {
				r.by = end{noon.Add(left)}
			}
			p := pod("a", tc.change)
			if got := r.mustGo(&p); got != tc.goes || r.next.IsZero() != (tc.again == 0) || tc.again != 0 && r.next.Sub(noon) != tc.again {
				t.Errorf("goes: %t, want %t; again at %s", got, tc.goes, r.next)
			}
		})
	}
}

func overflown(seconds int64) time.Duration { return time.Duration(seconds) * time.Second }
