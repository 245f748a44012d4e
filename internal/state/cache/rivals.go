package cache

import (
	"github.com/kerf-sh/kerf/internal/state/reservation"
)

// rivals counts the pods that wait for room which is given to them, by class and unit.
type rivals struct {
	of    map[podKey]rival
	count map[string]map[reservation.Unit]int // by class
}

type rival struct {
	class string
	unit  reservation.Unit
}

func newRivals() rivals {
	return rivals{of: map[podKey]rival{}, count: map[string]map[reservation.Unit]int{}}
}

// followRival counts a pod anew. It is called whenever the pod begins or ceases to wait, its class changes, or a reservation of it; a change
// that one of these follows in the same step needs no call of its own.
func (c *Cache) followRival(key podKey) {
	var now rival
	if e := c.waiting[key]; e != nil && e.pod.Class != nil {
		if r, ok := c.reserved.Of(e.obj.UID); ok {
			now = rival{e.pod.Class.ID, r.Unit}
		}
	}
	was := c.rivals.of[key]
	if was == now {
		return
	}
	if was != (rival{}) {
		on := c.rivals.count[was.class]
		if on[was.unit]--; on[was.unit] == 0 {
			delete(on, was.unit)
		}
		if len(on) == 0 {
			delete(c.rivals.count, was.class)
		}
		delete(c.rivals.of, key)
	}
	if now != (rival{}) {
		if c.rivals.count[now.class] == nil {
			c.rivals.count[now.class] = map[reservation.Unit]int{}
		}
		c.rivals.count[now.class][now.unit]++
		c.rivals.of[key] = now
	}
}

// elsewhere reports whether a pod of another class than one waits for room on another unit; no class is left out where that is empty.
//
// Cost: proportional to the classes.
func (r *rivals) elsewhere(unit reservation.Unit, but string) bool {
	for class, on := range r.count {
		if class != but && (len(on) > 1 || on[unit] == 0) {
			return true
		}
	}
	return false
}
