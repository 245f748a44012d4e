package offering

import "time"

// Shifted is the reason why nothing is asked for in a zone that traffic is moved away from.
const Shifted = "traffic is shifted away from the zone"

// unconfirmed is for how long a shift without an end of its own is heeded when nobody says any more that it lasts: at least
// half of it. Without a limit a zone would be left alone for ever once shifts can't be read.
const unconfirmed = 12 * time.Hour

// ShiftZones closes zones, by id, in place of those that were closed so before. The time is when a shift ends by itself;
// zero for one that is ended by whoever began it.
func (u *Unavailable) ShiftZones(until map[string]time.Time) {
	u.mu.Lock()
	defer u.mu.Unlock()
	now := u.now()
	next := map[string]unavailability{}
	for id, end := range until {
		if end.IsZero() {
			if end = u.zones[id].until; end.Sub(now) < unconfirmed/2 {
				end = now.Add(unconfirmed)
			}
		}
		next[id] = unavailability{until: end, reason: Shifted}
	}
	if sameEnds(u.zones, next) {
		return
	}
	u.zones = next
	u.publish(now)
}

func sameEnds(a, b map[string]unavailability) bool {
	if len(a) != len(b) {
		return false
	}
	for id, c := range a {
		if d, ok := b[id]; !ok || !d.until.Equal(c.until) {
			return false
		}
	}
	return true
}

// ZoneShifted reports whether traffic is shifted away from a zone.
func (s *Snapshot) ZoneShifted(id string) bool {
	_, ok := s.zones[id]
	return ok && id != ""
}
