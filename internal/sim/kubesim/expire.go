package kubesim

import "time"

// eventTime is how long an event is kept after it was last written.
//
// Source: kube-apiserver's --event-ttl, one hour by default.
const eventTime = time.Hour

// written is an event as it was written at a time.
type written struct {
	key     string
	version uint64
	at      time.Time
}

// expireLocked ends the events that nobody has written again for too long. It is called when one is written.
func (s *Server) expireLocked(r *resource, key string, o *object) {
	now := s.o.Now()
	r.written = append(r.written, written{key, o.version, now})
	for len(r.written) > 0 && now.Sub(r.written[0].at) > eventTime {
		first := r.written[0]
		r.written = r.written[1:]
		if old := r.objects[first.key]; old != nil && old.version == first.version {
			s.dropLocked(r, old)
		}
	}
}
