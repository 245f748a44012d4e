package app

import (
	"testing"
	"time"

	"github.com/kerf-sh/kerf/internal/settings"
)

func TestNoneWaitsWhereSmallSavingsAreHadAtOnce(t *testing.T) {
	for wait, want := range map[time.Duration]time.Duration{0: -1, time.Minute: time.Minute, 3 * time.Hour: 3 * time.Hour} {
		s := settings.Settings{SmallSavingsWait: wait}
		if o := ConsolidationOptions(s); o.SmallSavingsWait != want {
			t.Errorf("with %s a move waits for %s", wait, o.SmallSavingsWait)
		}
	}
}
