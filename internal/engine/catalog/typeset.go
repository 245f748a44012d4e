package catalog

import "math/bits"

// TypeSet is a set of instance types by their position in a Catalog. Sets of different catalogs must not be mixed.
type TypeSet []uint64

// NewTypeSet returns an empty set with room for n types.
func NewTypeSet(n int) TypeSet { return make(TypeSet, (n+63)/64) }

// Add puts type i into the set.
func (s TypeSet) Add(i int) { s[i>>6] |= 1 << (i & 63) }

// Remove takes type i out of the set.
func (s TypeSet) Remove(i int) { s[i>>6] &^= 1 << (i & 63) }

// Has reports whether type i is in the set.
func (s TypeSet) Has(i int) bool { return s[i>>6]&(1<<(i&63)) != 0 }

// And keeps the types that are also in o.
func (s TypeSet) And(o TypeSet) {
	for i := range s {
		s[i] &= o[i]
	}
}

// AndNot drops the types that are in o.
func (s TypeSet) AndNot(o TypeSet) {
	for i := range s {
		s[i] &^= o[i]
	}
}

// Or adds the types of o.
func (s TypeSet) Or(o TypeSet) {
	for i := range s {
		s[i] |= o[i]
	}
}

// Any reports whether the set holds a type.
func (s TypeSet) Any() bool {
	for _, w := range s {
		if w != 0 {
			return true
		}
	}
	return false
}

// Count is the number of types.
func (s TypeSet) Count() int {
	n := 0
	for _, w := range s {
		n += bits.OnesCount64(w)
	}
	return n
}

// Clone returns a copy that shares nothing with s.
func (s TypeSet) Clone() TypeSet { return append(TypeSet(nil), s...) }

// Each yields the positions in the set in rising order.
func (s TypeSet) Each(yield func(int) bool) {
	for i, w := range s {
		for w != 0 {
			if !yield(i<<6 + bits.TrailingZeros64(w)) {
				return
			}
			w &= w - 1
		}
	}
}

// Intersects reports whether a type is in both sets.
func (s TypeSet) Intersects(o TypeSet) bool {
	for i := range s {
		if s[i]&o[i] != 0 {
			return true
		}
	}
	return false
}
