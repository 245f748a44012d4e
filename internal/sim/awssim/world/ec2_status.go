package world

import (
	"fmt"
	"maps"
	"slices"
	"time"
)

// Checks of an instance's health.
const (
	CheckSystem   = "system"
	CheckInstance = "instance"
	CheckVolumes  = "attached-ebs"
)

// ScheduledEvent is maintenance that EC2 announces for an instance.
type ScheduledEvent struct {
	ID, Code, Description string // code: instance-retirement, system-reboot, …
	NotBefore, NotAfter   time.Time
}

// Status is an instance's health. A check without an entry in Impaired passes.
type Status struct {
	Instance Instance
	Impaired map[string]time.Time // check → since when it fails
	Events   []ScheduledEvent
}

type statusRecord struct {
	impaired map[string]time.Time
	events   []ScheduledEvent
}

func (w *World) statusLocked(id string) (*statusRecord, error) {
	if w.ec2.instances[id] == nil {
		return nil, fmt.Errorf("change health: no instance %q", id)
	}
	if w.ec2.statuses[id] == nil {
		w.ec2.statuses[id] = &statusRecord{impaired: map[string]time.Time{}}
	}
	return w.ec2.statuses[id], nil
}

// Impair makes a check of an instance fail from now on, or pass again.
func (w *World) Impair(id, check string, fails bool) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	r, err := w.statusLocked(id)
	if err != nil {
		return err
	}
	if fails {
		r.impaired[check] = w.clock.Now()
	} else {
		delete(r.impaired, check)
	}
	return nil
}

// ImpairSince makes a check of an instance fail as if it had done so since a time in the past.
func (w *World) ImpairSince(id, check string, since time.Time) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	r, err := w.statusLocked(id)
	if err != nil {
		return err
	}
	r.impaired[check] = since
	return nil
}

// Schedule announces an event for an instance.
func (w *World) Schedule(id string, e ScheduledEvent) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	r, err := w.statusLocked(id)
	if err != nil {
		return err
	}
	if e.ID == "" {
		e.ID = w.newIDLocked("instance-event")
	}
	r.events = append(r.events, e)
	return nil
}

// Statuses returns the health of all visible instances, oldest first.
func (w *World) Statuses() []Status {
	var out []Status
	for _, i := range w.Instances() {
		out = append(out, Status{Instance: i})
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for n := range out {
		if r := w.ec2.statuses[out[n].Instance.ID]; r != nil {
			out[n].Impaired, out[n].Events = maps.Clone(r.impaired), slices.Clone(r.events)
		}
	}
	return out
}
