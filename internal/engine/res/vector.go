package res

import (
	"math"
	"slices"
)

// Schema fixes which resources a Vector holds and in which order. It is immutable after NewSchema.
type Schema struct {
	names []string
	index map[string]int
}

// NewSchema makes a schema of the given resources, in any order and with repetitions. The layout depends only on the set
// of names.
func NewSchema(names ...string) *Schema {
	sorted := slices.Clone(names)
	slices.Sort(sorted)
	sorted = slices.Compact(sorted)
	s := &Schema{names: sorted, index: make(map[string]int, len(sorted))}
	for i, n := range sorted {
		s.index[n] = i
	}
	return s
}

// Len is the number of resources.
func (s *Schema) Len() int { return len(s.names) }

// Name is the resource at position i.
func (s *Schema) Name(i int) string { return s.names[i] }

// Index is the position of a resource; false if the schema lacks it.
func (s *Schema) Index(name string) (int, bool) {
	i, ok := s.index[name]
	return i, ok
}

// Vector lays out l. Resources that the schema lacks are dropped.
func (s *Schema) Vector(l List) Vector {
	v := make(Vector, len(s.names))
	for k, x := range l {
		if i, ok := s.index[k]; ok {
			v[i] = x
		}
	}
	return v
}

// List turns v back into its readable form, zero amounts left out.
func (s *Schema) List(v Vector) List {
	l := make(List, len(v))
	for i, x := range v {
		if x != 0 {
			l[s.names[i]] = x
		}
	}
	return l
}

// Vector holds amounts in the layout of a Schema. Vectors of different schemas must not be mixed.
type Vector []int64

// Clone returns a copy that shares nothing with v.
func (v Vector) Clone() Vector { return slices.Clone(v) }

// Fits reports whether v can be taken from room: no amount that v asks for exceeds what room has. An amount of zero
// always fits, even where room is overdrawn.
func (v Vector) Fits(room Vector) bool {
	for i, x := range v {
		if x > room[i] && x > 0 {
			return false
		}
	}
	return true
}

// Dominates reports whether v has at least as much of everything as o.
func (v Vector) Dominates(o Vector) bool {
	for i, x := range v {
		if x < o[i] {
			return false
		}
	}
	return true
}

// Times is how often v fits in room one after another, at most limit.
func (v Vector) Times(room Vector, limit int) int {
	n := int64(limit)
	for i, x := range v {
		if x <= 0 {
			continue
		}
		r := room[i]
		if r < x {
			return 0
		}
		// The division is slow; skip it when n copies fit anyway.
		if hi := x * n; x < math.MaxInt32 && n < math.MaxInt32 && hi <= r {
			continue
		}
		n = min(n, r/x)
	}
	return int(max(n, 0))
}

// Add adds n times o to v in place; sums stop at the largest int64 instead of wrapping.
func (v Vector) Add(o Vector, n int) {
	for i, x := range o {
		v[i] = addSat(v[i], mulSat(x, int64(n)))
	}
}

// Sub takes n times o off v in place; the result may be negative and stops at the smallest int64.
func (v Vector) Sub(o Vector, n int) {
	for i, x := range o {
		v[i] = addSat(v[i], -max(mulSat(x, int64(n)), -math.MaxInt64))
	}
}

// Max raises every amount of v to that of o, in place.
func (v Vector) Max(o Vector) {
	for i, x := range o {
		v[i] = max(v[i], x)
	}
}

// IsZero reports whether v holds nothing.
func (v Vector) IsZero() bool {
	for _, x := range v {
		if x != 0 {
			return false
		}
	}
	return true
}

func addSat(a, b int64) int64 {
	c := a + b
	switch {
	case a > 0 && b > 0 && c < 0:
		return math.MaxInt64
	case a < 0 && b < 0 && c >= 0:
		return math.MinInt64
	}
	return c
}

func mulSat(a, b int64) int64 {
	if a == 0 || b == 0 {
		return 0
	}
	c := a * b
	if c/b != a || (a == -1 && b == math.MinInt64) || (b == -1 && a == math.MinInt64) {
		if (a > 0) == (b > 0) {
			return math.MaxInt64
		}
		return math.MinInt64
	}
	return c
}
