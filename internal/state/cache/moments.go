package cache

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/kerf-sh/kerf/internal/engine/cluster"
)

// MomentKind is a step of a pod on its way to running.
type MomentKind int

// The steps, in their order. A pod that kube-scheduler binds by itself takes the last two only.
const (
	PodDecided MomentKind = iota // a decision was made on it, the first
	PodBound                     // it has a node
	PodStarted                   // its phase is Running
)

// Moment is a step that a pod has just taken. Steps that were taken before the process began are not told.
type Moment struct {
	Kind MomentKind
	// Since is for how long it has existed; a PodDecided counts from when Kerf first found that it waits.
	Since time.Duration
	// SincePlaced is for how long a decision has had a place for it; below zero where none had.
	SincePlaced time.Duration
}

// starting is what decisions said about a pod that is not running yet; zero times where none did.
type starting struct{ decided, placed time.Time }

// Decided notes that a decision was made on pods that wait: it has a place for some and none for others.
func (c *Cache) Decided(placed, unplaced []cluster.PodRef) {
	c.mu.Lock()
	defer c.unlock()
	now := c.now()
	for _, ref := range placed {
		c.decided(ref, now, true)
	}
	for _, ref := range unplaced {
		c.decided(ref, now, false)
	}
}

func (c *Cache) decided(ref cluster.PodRef, now time.Time, hasPlace bool) {
	key := podKey{Namespace: ref.Namespace, Name: ref.Name}
	e := c.entries[key]
	s, ok := c.starting[key]
	if e == nil || !ok || string(e.obj.UID) != ref.UID {
		return
	}
	if s.decided.IsZero() {
		s.decided = now
		c.moments = append(c.moments, Moment{Kind: PodDecided, Since: now.Sub(e.seen), SincePlaced: -1})
	}
	if hasPlace && s.placed.IsZero() {
		s.placed = now
	}
	c.starting[key] = s
}

// follow notes the steps that a pod has taken from one version to the next.
func (c *Cache) follow(key podKey, e, old *entry) {
	was := corev1.PodRunning // what was before the process began is no news
	if old != nil {
		was = old.obj.Status.Phase
	}
	runs := e.obj.Status.Phase == corev1.PodRunning
	bound := old != nil && old.pod.Node == "" && e.pod.Node != ""
	if bound {
		c.moment(key, e, PodBound)
	}
	if runs && was != corev1.PodRunning {
		c.moment(key, e, PodStarted)
	}
	if runs {
		delete(c.starting, key)
	}
}

func (c *Cache) moment(key podKey, e *entry, kind MomentKind) {
	now := c.now()
	m := Moment{Kind: kind, Since: now.Sub(e.obj.CreationTimestamp.Time), SincePlaced: -1}
	if s := c.starting[key]; !s.placed.IsZero() {
		m.SincePlaced = now.Sub(s.placed)
	}
	c.moments = append(c.moments, m)
}
