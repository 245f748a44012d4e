package offering

import "time"

// Dying is the reason why nothing of a class is asked for whose instances end as they begin.
const Dying = "instances of the node class end as they start"

// mostFailures is how many instances of a class have to end as they start for the class to be closed, when one of it has joined not
// long ago: whatever ended them does not end all.
const mostFailures = 3

// classHistory is what is known of a class that has had an instance which joined.
type classHistory struct {
	joined time.Time
	failed int // since then
}

// MarkClass tells that an instance of a class ended as it started, through no fault of its pool. It closes the class, at
// once if none of it is known to have lived of late. The key stands for the class as it is now: another once it is
// changed, so that what was fixed is tried at once.
func (u *Unavailable) MarkClass(key string) {
	if u.spared(key) {
		return
	}
	mark(u, u.classes, key, unavailability{reason: Dying})
}

func (u *Unavailable) spared(key string) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	l, ok := u.classHistories[key]
	if !ok || u.now().Sub(l.joined) > calm {
		return false
	}
	l.failed++
	u.classHistories[key] = l
	return l.failed < mostFailures
}

// ClassJoined tells that an instance of a class came to be a node: the class is open, and forgiven.
func (u *Unavailable) ClassJoined(key string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	now := u.now()
	for k, l := range u.classHistories {
		if now.Sub(l.joined) > calm {
			delete(u.classHistories, k)
		}
	}
	u.classHistories[key] = classHistory{joined: now}
	if _, closed := u.classes[key]; closed {
		delete(u.classes, key)
		u.publish(now)
	}
}

// ClassClosed returns the reason why nothing of a class must be asked for, empty when it may be.
func (s *Snapshot) ClassClosed(key string) string { return s.classes[key].reason }
