package offering

import "time"

// Dying is the reason why nothing of a class is asked for whose instances end as they begin.
const Dying = "instances of the node class end as they start"

// bad is how many instances of a class have to end as they start for the class to be closed, when one of it has lived not
// long ago: whatever ended them does not end all.
const bad = 3

// life is what is known of a class that has had an instance which lived.
type life struct {
	lived time.Time
	died  int // since then
}

// MarkClass tells that an instance of a class ended as it started, through no fault of its pool. It closes the class, at
// once if none of it is known to have lived of late. The key stands for the class as it is now: another once it is
// changed, so that what was fixed is tried at once.
func (u *Unavailable) MarkClass(key string) {
	if u.spared(key) {
		return
	}
	mark(u, u.classes, key, closure{reason: Dying})
}

func (u *Unavailable) spared(key string) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	l, ok := u.lives[key]
	if !ok || u.now().Sub(l.lived) > calm {
		return false
	}
	l.died++
	u.lives[key] = l
	return l.died < bad
}

// ClassLived tells that an instance of a class came to be a node: the class is open, and forgiven.
func (u *Unavailable) ClassLived(key string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	now := u.now()
	for k, l := range u.lives {
		if now.Sub(l.lived) > calm {
			delete(u.lives, k)
		}
	}
	u.lives[key] = life{lived: now}
	if _, closed := u.classes[key]; closed {
		delete(u.classes, key)
		u.publish(now)
	}
}

// ClassClosed returns the reason why nothing of a class must be asked for, empty when it may be.
func (s *Snapshot) ClassClosed(key string) string { return s.classes[key].reason }
