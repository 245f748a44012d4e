// Package overlay keeps the NodeOverlays that are in use, and shows each NodePool its instance types as they leave them.
package overlay

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"sync"

	"github.com/kerf-sh/kerf/internal/engine/catalog"
)

// Store is swapped as a whole by the evaluation of all overlays and read by whoever plans and launches, so that both see the
// same. Until the first evaluation, and for a NodePool that it did not know, nothing is shown: a pool must not launch at
// prices that are about to be corrected. All methods may be called from many goroutines.
type Store struct {
	mu       sync.Mutex
	overlays []catalog.Overlay // sorted
	pools    map[string]*Layer
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
	next, changed := make(map[string]*Layer, len(pools)), !sameOverlays || len(pools) != len(s.pools)
	for name, labels := range pools {
		old := s.pools[name]
		if old != nil && sameOverlays && maps.Equal(old.labels, labels) {
			next[name] = old
			continue
		}
		next[name], changed = NewLayer(sorted, labels), true
	}
	s.overlays, s.pools = sorted, next
	return changed
}

// Types shows a pool's types; the list is the given one when no overlay chooses any of them, and the same list again as
// long as nothing changed. An empty name is an instance of no pool, which overlays are not for.
//
// Errors: the pool has not been evaluated yet.
func (s *Store) Types(name string, types []*catalog.Type) ([]*catalog.Type, error) {
	if s == nil || name == "" || len(types) == 0 {
		return types, nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.pools[name]
	if l == nil {
		return nil, fmt.Errorf("NodeOverlays have not been evaluated for NodePool %q yet", name)
	}
	return l.Types(types), nil
}
