package kubelet

import "time"

// Restarts wait as those of a kubelet: the first not at all, the next firstBackOff, then twice as long each time up to
// maxBackOff. A container that has run for twice maxBackOff begins anew.
const (
	firstBackOff = 10 * time.Second
	maxBackOff   = 5 * time.Minute
)

// backOff is the state of one container's restarts.
type backOff struct {
	next    time.Duration // 0: no restart so far
	started time.Time     // when the last restart was due
}

// after returns how long a container that ended at a time waits until it is started again.
func (b *backOff) after(ended time.Time) time.Duration {
	if b.next == 0 || ended.Sub(b.started) > 2*maxBackOff {
		*b = backOff{next: firstBackOff, started: ended}
		return 0
	}
	wait := b.next
	*b = backOff{next: min(2*b.next, maxBackOff), started: ended.Add(wait)}
	return wait
}
