package interruption

import (
	"sync"
	"time"
)

// order is how much earlier than our own knowledge of a change its message may come.
const order = time.Minute

// silence notices that instances come and go and no message says so. EC2 tells of every change of state; where that does
// not arrive, no warning would either.
type silence struct {
	mu         sync.Mutex
	heard      time.Time // when the last message came
	unanswered time.Time // the first change since then
}

// changed is told of every instance that was launched or ended.
func (s *silence) changed(now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.unanswered.IsZero() && now.Sub(s.heard) >= order {
		s.unanswered = now
	}
}

// message is told of every message.
func (s *silence) message(now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.heard, s.unanswered = now, time.Time{}
}

// excuse forgets changes that no message has followed: there is another reason for that.
func (s *silence) excuse() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.unanswered = time.Time{}
}

// since is when the change was that no message has followed; zero when there is none.
func (s *silence) since() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.unanswered
}
