package reservation

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// successionTime is how long the reservation of an evicted pod waits for the pod that its owner makes in its place.
const successionTime = 10 * time.Minute

// succession is room that a disruption reserved for whatever comes in the place of an evicted pod.
type succession struct {
	unit  Unit
	class string // ID of the evicted pod's class
	until time.Time
}

// LeaveToSuccessor keeps, from now on, the room of a pod that is being evicted for the pod that its owner makes in its place.
// A pod without an owner has no successor: nothing is kept.
func (t *Table) LeaveToSuccessor(owner types.UID, unit Unit, class string, now time.Time) {
	if owner == "" {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.successions[owner] = append(t.successions[owner], succession{unit, class, now.Add(successionTime)})
}

// Succeed takes one of the rooms that were left to pods of the owner and class, for a pod that was bound on one of the units:
// room there if any was left, else anywhere. It returns where that room is; ok is false when none was left.
func (t *Table) Succeed(owner types.UID, class string, units []Unit) (where Unit, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	left := t.successions[owner]
	i := slices.IndexFunc(left, func(s succession) bool { return s.class == class && slices.Contains(units, s.unit) })
	if i < 0 {
		i = slices.IndexFunc(left, func(s succession) bool { return s.class == class })
	}
	if i < 0 {
		return where, false
	}
	where = left[i].unit
	t.setSuccessions(owner, slices.Delete(left, i, i+1))
	return where, true
}

// ExpireSuccessions forgets rooms for which no pod has come.
func (t *Table) ExpireSuccessions(now time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for owner, left := range t.successions {
		t.setSuccessions(owner, slices.DeleteFunc(left, func(s succession) bool { return !now.Before(s.until) }))
	}
}

func (t *Table) setSuccessions(owner types.UID, left []succession) {
	if len(left) == 0 {
		delete(t.successions, owner)
		return
	}
	t.successions[owner] = left
}
