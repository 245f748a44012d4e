package kubelet

import (
	"slices"
	"testing"
	"time"
)

func TestRestartsWaitAsThoseOfAKubelet(t *testing.T) {
	var b backOff
	now := time.Unix(0, 0)
	var got []time.Duration
	for range 8 { // each run ends after a second
		wait := b.after(now)
		got = append(got, wait/time.Second)
		now = now.Add(wait + time.Second)
	}
	if want := []time.Duration{0, 10, 20, 40, 80, 160, 300, 300}; !slices.Equal(got, want) {
		t.Errorf("seconds %d, want %d", got, want)
	}
	if wait := b.after(now.Add(10*time.Minute + time.Second)); wait != 0 {
		t.Errorf("after more than ten minutes of work it waits %s", wait)
	}
}
