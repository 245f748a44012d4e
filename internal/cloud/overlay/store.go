// Package overlay keeps the NodeOverlays that are in use, and shows each NodePool its instance types as they leave them.
package overlay

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"sync"

	"github.com/kerf-sh/kerf/internal/catalog"
)

// Store is swapped as a whole by the evaluation of all overlays and read by whoever plans and buys, so that both see the
// same. Until the first evaluation, and for a NodePool that it did not know, nothing is shown: a pool must not buy at
// prices that are about to be corrected. All methods may be called from many goroutines.
type Store struct {
	mu       sync.Mutex
	overlays []catalog.Overlay // sorted
	pools    map[string]*pool
}

// pool is what was shown to a pool last, so that equal questions get the same pointers.
type pool struct {
	labels map[string]string

	from  []*catalog.Type
	types []*catalog.Type
	known map[*catalog.Type]*catalog.Type // of from, what became of it
	bases map[*catalog.Type]*catalog.Type // of types, what those were that are changed
}

// New returns a Store that waits for its first evaluation.
func New() *Store { return &Store{} }

// Set swaps in overlays, without those that are refused, and the pools that they were evaluated for, with the labels that
// each gives its nodes. It reports whether anything is other than before.
func (s *Store) Set(overlays []catalog.Overlay, pools map[string]map[string]string) bool {
	sorted := slices.Clone(overlays)
	catalog.SortOverlays(sorted)
	s.mu.Lock()
	defer s.mu.Unlock()
	sameOverlays := s.pools != nil && reflect.DeepEqual(s.overlays, sorted)
	next, changed := make(map[string]*pool, len(pools)), !sameOverlays || len(pools) != len(s.pools)
	for name, labels := range pools {
		old := s.pools[name]
		if old != nil && sameOverlays && maps.Equal(old.labels, labels) {
			next[name] = old
			continue
		}
		next[name], changed = &pool{labels: maps.Clone(labels)}, true
	}
	s.overlays, s.pools = sorted, next
	return changed
}

// Types shows a pool's types; the list is the given one when no overlay chooses any of them, and the same list again as
// long as nothing changed. An empty name is a machine of no pool, which overlays are not for.
//
// Errors: the pool has not been evaluated yet.
//
// Cost: in proportion to the types that are other than the last time.
func (s *Store) Types(name string, types []*catalog.Type) ([]*catalog.Type, error) {
	if s == nil || name == "" || len(types) == 0 {
		return types, nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.pools[name]
	if p == nil {
		return nil, fmt.Errorf("NodeOverlays have not been evaluated for NodePool %q yet", name)
	}
	if len(s.overlays) == 0 {
		return types, nil
	}
	if len(p.from) == len(types) && &p.from[0] == &types[0] {
		return p.types, nil
	}
	out, known, bases := make([]*catalog.Type, len(types)), make(map[*catalog.Type]*catalog.Type, len(types)), map[*catalog.Type]*catalog.Type{}
	for i, t := range types {
		over := p.known[t]
		if over == nil {
			over = t.Overlay(s.overlays, p.labels)
		}
		out[i], known[t] = over, over
		if over != t {
			bases[over] = t
		}
	}
	if len(bases) == 0 {
		out = types
	}
	p.from, p.types, p.known, p.bases = types, out, known, bases
	return out, nil
}

// Base is what a type that a pool was shown was before overlays changed it: itself when none did.
func (s *Store) Base(name string, shown *catalog.Type) *catalog.Type {
	if s == nil {
		return shown
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if p := s.pools[name]; p != nil && p.bases[shown] != nil {
		return p.bases[shown]
	}
	return shown
}
