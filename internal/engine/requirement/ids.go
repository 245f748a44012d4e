package requirement

import "github.com/bits-and-blooms/bitset"

// ids is a set of interned values, immutable once it is made; the zero value is empty. A set of one value takes no memory
// beside itself: nearly all sets are of one value, and a bitset is as long as the value's number, which grows with every
// name that was ever seen.
type ids struct {
	// one is the only value, plus one; 0 if there is none or there are several.
	one uint32
	// bits are the values if there are several; otherwise nil.
	bits *bitset.BitSet
}

func oneID(id uint) ids { return ids{one: uint32(id) + 1} }

// shrunk is the set of the bits, which the caller gives away.
func shrunk(bits *bitset.BitSet) ids {
	first, ok := bits.NextSet(0)
	if !ok {
		return ids{}
	}
	if _, more := bits.NextSet(first + 1); !more {
		return oneID(first)
	}
	return ids{bits: bits}
}

func (x ids) has(id uint) bool {
	if x.bits != nil {
		return x.bits.Test(id)
	}
	return x.one != 0 && uint(x.one-1) == id
}

func (x ids) empty() bool { return x.one == 0 && x.bits == nil }

func (x ids) count() int {
	switch {
	case x.bits != nil:
		return int(x.bits.Count())
	case x.one != 0:
		return 1
	}
	return 0
}

// single is the only value; false if there is none or there are several.
func (x ids) single() (uint, bool) {
	if x.one == 0 {
		return 0, false
	}
	return uint(x.one - 1), true
}

// all yields the values in ascending order.
func (x ids) all(yield func(uint) bool) {
	if x.one != 0 {
		yield(uint(x.one - 1))
		return
	}
	if x.bits == nil {
		return
	}
	for id, ok := x.bits.NextSet(0); ok; id, ok = x.bits.NextSet(id + 1) {
		if !yield(id) {
			return
		}
	}
}

func (x ids) union(o ids) ids {
	switch {
	case x.empty():
		return o
	case o.empty(), x == o:
		return x
	case x.bits != nil && o.bits != nil:
		return ids{bits: x.bits.Union(o.bits)}
	case x.bits == nil && o.bits == nil:
		return ids{bits: bitset.New(uint(max(x.one, o.one))).Set(uint(x.one - 1)).Set(uint(o.one - 1))}
	case x.bits == nil:
		x, o = o, x
	}
	if x.has(uint(o.one - 1)) {
		return x
	}
	return ids{bits: x.bits.Clone().Set(uint(o.one - 1))}
}

func (x ids) intersection(o ids) ids {
	switch {
	case x.bits != nil && o.bits != nil:
		return shrunk(x.bits.Intersection(o.bits))
	case x.bits != nil:
		x, o = o, x
	}
	if x.one == 0 || !o.has(uint(x.one-1)) {
		return ids{}
	}
	return x
}

func (x ids) difference(o ids) ids {
	switch {
	case x.bits == nil:
		if x.one == 0 || o.has(uint(x.one-1)) {
			return ids{}
		}
		return x
	case o.bits != nil:
		return shrunk(x.bits.Difference(o.bits))
	case o.one == 0 || !x.bits.Test(uint(o.one-1)):
		return x
	}
	return shrunk(x.bits.Clone().Clear(uint(o.one - 1)))
}

// only is the values that keep says.
func (x ids) only(keep func(uint) bool) ids {
	if x.bits == nil {
		if x.one == 0 || !keep(uint(x.one-1)) {
			return ids{}
		}
		return x
	}
	bits := x.bits.Clone()
	for id := range x.all {
		if !keep(id) {
			bits.Clear(id)
		}
	}
	return shrunk(bits)
}

func (x ids) equal(o ids) bool {
	if x.bits == nil || o.bits == nil {
		return x == o
	}
	return x.bits.Count() == o.bits.Count() && x.bits.IsSuperSet(o.bits)
}

// bytes is what the set holds beside itself.
func (x ids) bytes() int {
	if x.bits == nil {
		return 0
	}
	return 32 + 8*len(x.bits.Words())
}
