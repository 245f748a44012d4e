package simulate

import (
	"testing"
	"time"
)

// How much longer a run takes is told from its pace, its warm-up included.
func TestWhatIsLeftOfARun(t *testing.T) {
	w := &worker{spec: &Spec{Horizon: 23 * time.Hour, Warmup: time.Hour}}
	if got := w.left(time.Second); got < time.Minute {
		t.Errorf("in its warm-up it is said to take %s", got)
	}
	w.at = Progress{At: 11 * time.Hour}
	if got := w.left(2 * time.Minute); got != 2*time.Minute {
		t.Errorf("halfway after two minutes it is said to take %s", got)
	}
	w.at = Progress{At: 23 * time.Hour}
	if got := w.left(time.Hour); got != 0 {
		t.Errorf("at its end it is said to take %s", got)
	}
}
