package intake

import (
	"math"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kerf-sh/kerf/internal/engine/cluster"
)

func TestWhichTerminatingPodsLinger(t *testing.T) {
	for name, tt := range map[string]struct {
		ending               bool
		grace                *int64
		terminating, lingers bool
	}{
		"one that runs":                   {false, nil, false, false},
		"one with the default grace":      {true, new(int64(30)), true, false},
		"two minutes are no longer":       {true, new(int64(120)), true, false},
		"one with a long grace":           {true, new(int64(121)), true, true},
		"one whose grace has no end":      {true, new(int64(math.MaxInt64 / 1000)), true, true},
		"one that is removed at once":     {true, new(int64(0)), true, false},
		"one whose grace is not said":     {true, nil, true, false},
		"one that runs, whatever it says": {false, new(int64(600)), false, false},
	} {
		t.Run(name, func(t *testing.T) {
			p := basePod()
			if tt.ending {
				p.DeletionTimestamp = new(metav1.NewTime(time.Unix(1, 0)))
			}
			p.DeletionGracePeriodSeconds = tt.grace
			if got := Pod(p, &cluster.Class{}); got.Terminating != tt.terminating || got.Lingers != tt.lingers {
				t.Errorf("terminating %v, lingers %v", got.Terminating, got.Lingers)
			}
		})
	}
}
