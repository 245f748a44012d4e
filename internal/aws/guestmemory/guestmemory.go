// Package guestmemory remembers how much memory nodes really have, by instance type and image, as their kubelets report
// it. What hypervisor and kernel keep for themselves is known for certain only once a node has joined; from then on the
// next launch of that type and image is planned with the real amount. The same goes for what a kubelet leaves to pods where
// that is less than was planned, because image or user data reserve more than the node class says.
//
// The least amount that was seen counts, at once: a reservation that a node can't keep leaves its pods pending. Where Odd nodes in
// a row report more, the one before them was odd, and theirs counts. Amounts that no node has confirmed for Age are
// forgotten, and so is what is in excess of MaxEntries, the longest unconfirmed first.
package guestmemory

import (
	"cmp"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// Age is how long an amount is believed that no node confirms.
	Age = 60 * 24 * time.Hour
	// Odd is how many nodes in a row have to report more than what is remembered for it to be taken for that of an odd node.
	Odd = 3
	// MaxEntries bounds what is remembered; as text that is some 200 KiB.
	MaxEntries = 3000
)

// alike is the part of an amount within which another one confirms it: nodes of a type differ by less.
const alike = 0.01

// day is the precision of the time at which an amount was confirmed, so that a node that restarts changes nothing.
const day = 24 * time.Hour

// Key is what an amount is known of: of nodes of a type that boot an image, their memory, or what is Left to pods.
type Key struct {
	InstanceType, Image string
	Left                Left
}

// Left is a resource that the kubelet leaves to pods, under the settings of a node class. The zero value is none.
type Left struct {
	Resource string
	Class    string // the hash of the class's settings: other settings may reserve something else
}

type entry struct {
	bytes int64     // of other resources their own unit: see res.List
	seen  time.Time // whole days, UTC
}

// Snapshot is what is known at a moment. It is immutable; nil knows nothing.
type Snapshot struct {
	// Generation rises with every change of an amount.
	Generation uint64
	entries    map[Key]entry
}

// Bytes returns the memory of nodes of a type that boot an image, false when none has been seen.
func (s *Snapshot) Bytes(instanceType, image string) (int64, bool) {
	if s == nil {
		return 0, false
	}
	e, ok := s.entries[Key{InstanceType: instanceType, Image: image}]
	return e.bytes, ok
}

// Left returns the least of a resource that the kubelets of such nodes left to pods, in the resource's unit; false when that
// was always as much as planned.
func (s *Snapshot) Left(instanceType, image string, of Left) (int64, bool) {
	if s == nil {
		return 0, false
	}
	e, ok := s.entries[Key{instanceType, image, of}]
	return e.bytes, ok
}

// AllLeft is Left of all types of which it is known.
func (s *Snapshot) AllLeft(image string, of Left) map[string]int64 {
	if s == nil {
		return nil
	}
	var out map[string]int64
	for k, e := range s.entries {
		if k.Image == image && k.Left == of {
			if out == nil {
				out = map[string]int64{}
			}
			out[k.InstanceType] = e.bytes
		}
	}
	return out
}

// Len is how many amounts are known.
func (s *Snapshot) Len() int {
	if s == nil {
		return 0
	}
	return len(s.entries)
}

// Changed lists the types of which another amount is known than in an earlier snapshot, which may be nil; sorted.
func (s *Snapshot) Changed(since *Snapshot) []string {
	if s == since {
		return nil
	}
	var out []string
	collect := func(a, b *Snapshot) {
		if a == nil {
			return
		}
		for k, e := range a.entries {
			if bytes, ok := b.Left(k.InstanceType, k.Image, k.Left); !ok || bytes != e.bytes {
				out = append(out, k.InstanceType)
			}
		}
	}
	collect(s, since)
	collect(since, s)
	slices.Sort(out)
	return slices.Compact(out)
}

// Book collects what nodes tell. All methods may be called from many goroutines.
type Book struct {
	now     func() time.Time
	current atomic.Pointer[Snapshot]

	mu      sync.Mutex
	version uint64                  // rises with everything that Text would show
	against map[Key]map[string]bool // nodes since the last that confirmed it that reported more than what is remembered
	fresh   map[Key]bool            // what was put since Text
}

// NewBook returns an empty book; now is the clock, nil for time.Now.
func NewBook(now func() time.Time) *Book {
	if now == nil {
		now = time.Now
	}
	b := &Book{now: now, against: map[Key]map[string]bool{}, fresh: map[Key]bool{}}
	b.current.Store(&Snapshot{Generation: 1})
	return b
}

// Snapshot returns what is known now.
func (b *Book) Snapshot() *Snapshot { return b.current.Load() }

// Version rises whenever there is something new to keep.
func (b *Book) Version() uint64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.version
}

// Learn takes in the memory that a node, told by its UID, reports. It reports whether another amount counts from now on.
func (b *Book) Learn(instanceType, image, node string, bytes int64) bool {
	return b.learn(Key{InstanceType: instanceType, Image: image}, node, bytes)
}

// LearnLeft takes in what the kubelet of a node of a class leaves to pods of a resource, and what was planned, both in its unit. As
// much as planned is worth knowing only where nodes of other types left less. It reports whether another amount counts from now on.
func (b *Book) LearnLeft(instanceType, image, class, node, resource string, amount, planned int64) bool {
	of := Left{resource, class}
	if resource == "" || amount >= planned && len(b.Snapshot().AllLeft(image, of)) == 0 {
		return false
	}
	return b.learn(Key{instanceType, image, of}, node, amount)
}

func (b *Book) learn(k Key, node string, amount int64) bool {
	if k.InstanceType == "" || k.Image == "" || amount <= 0 {
		return false
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	told := entry{amount, b.now().UTC().Truncate(day)}
	old, known := b.current.Load().entries[k]
	if !known || b.stale(old) || float64(amount) <= float64(old.bytes)*(1+alike) {
		delete(b.against, k)
		return b.merge(map[Key]entry{k: told})
	}
	if b.against[k] == nil {
		b.against[k] = map[string]bool{}
	}
	if b.against[k][node] = true; len(b.against[k]) < Odd {
		return false
	}
	delete(b.against, k)
	return b.put(map[Key]entry{k: told})
}

// stale tells of an amount that nobody has confirmed for too long.
func (b *Book) stale(e entry) bool { return e.seen.Before(b.now().Add(-Age)) }

// merge takes in entries: of each key the least amount and the latest day. The mutex is held.
func (b *Book) merge(in map[Key]entry) bool {
	last := b.current.Load().entries
	for k, e := range in {
		if old, known := last[k]; known && !b.stale(old) {
			e.bytes = min(e.bytes, old.bytes)
			if old.seen.After(e.seen) {
				e.seen = old.seen
			}
			in[k] = e
		}
	}
	return b.put(in)
}

// put has entries in place of those of their keys. The mutex is held.
func (b *Book) put(in map[Key]entry) bool {
	last := b.current.Load()
	next := maps.Clone(last.entries)
	if next == nil {
		next = map[Key]entry{}
	}
	for k, e := range in {
		if next[k] != e {
			next[k], b.fresh[k] = e, true
		}
	}
	maps.DeleteFunc(next, func(_ Key, e entry) bool { return b.stale(e) })
	prune(next)
	maps.DeleteFunc(b.against, func(k Key, _ map[string]bool) bool { _, known := next[k]; return !known })
	if maps.Equal(next, last.entries) {
		return false
	}
	b.version++
	s := &Snapshot{Generation: last.Generation, entries: next}
	changed := len(s.Changed(last)) > 0
	if changed {
		s.Generation++
	}
	b.current.Store(s)
	return changed
}

// Forget drops all but what was learned since Text was called last.
func (b *Book) Forget() {
	b.mu.Lock()
	defer b.mu.Unlock()
	clear(b.against)
	last := b.current.Load()
	next := maps.Clone(last.entries)
	maps.DeleteFunc(next, func(k Key, _ entry) bool { return !b.fresh[k] })
	if len(next) < len(last.entries) {
		b.version++
		b.current.Store(&Snapshot{Generation: last.Generation + 1, entries: next})
	}
}

// prune drops what is too much, the longest unconfirmed first.
func prune(entries map[Key]entry) {
	if len(entries) <= MaxEntries {
		return
	}
	keys := slices.Collect(maps.Keys(entries))
	slices.SortFunc(keys, func(a, b Key) int {
		return cmp.Or(entries[b].seen.Compare(entries[a].seen), cmp.Compare(a.InstanceType, b.InstanceType), cmp.Compare(a.Image, b.Image),
			cmp.Compare(a.Left.Resource, b.Left.Resource), cmp.Compare(a.Left.Class, b.Left.Class))
	})
	for _, k := range keys[MaxEntries:] {
		delete(entries, k)
	}
}
