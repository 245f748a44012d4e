package overlay

import (
	"maps"

	"github.com/kerf-sh/kerf/internal/engine/catalog"
)

// Layer lays overlays over lists of types, and remembers what it gave, so that equal questions get the same pointers.
//
// Concurrency: not safe.
type Layer struct {
	overlays []catalog.Overlay
	labels   map[string]string

	from  []*catalog.Type
	types []*catalog.Type
	known map[*catalog.Type]*catalog.Type // of from, what became of it
}

// NewLayer makes a Layer of overlays, which are sorted; labels are those of the nodes that it is for.
func NewLayer(overlays []catalog.Overlay, labels map[string]string) *Layer {
	return &Layer{overlays: overlays, labels: maps.Clone(labels)}
}

// Types are the types as the overlays leave them: the given list when none chooses any of them, and the same list again
// as long as nothing changed.
//
// Cost: in proportion to the types that are other than the last time.
func (l *Layer) Types(types []*catalog.Type) []*catalog.Type {
	if l == nil || len(l.overlays) == 0 || len(types) == 0 {
		return types
	}
	if len(l.from) == len(types) && &l.from[0] == &types[0] {
		return l.types
	}
	out, known, changed := make([]*catalog.Type, len(types)), make(map[*catalog.Type]*catalog.Type, len(types)), false
	for i, t := range types {
		over := l.known[t]
		if over == nil {
			over = t.Overlay(l.overlays, l.labels)
		}
		out[i], known[t] = over, over
		changed = changed || over != t
	}
	if !changed {
		out = types
	}
	l.from, l.types, l.known = types, out, known
	return out
}
