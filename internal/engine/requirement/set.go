package requirement

import (
	"math"
	"slices"
	"strconv"

	"github.com/bits-and-blooms/bitset"
)

// Set is the set of states that a requirement allows for one label key: a set of values, and whether the label may be
// missing.
//
//	In            the listed values
//	NotIn         all values but the listed ones, or no label
//	Exists        all values
//	DoesNotExist  no label
//	Gt, Lt, ...   integers within the bounds
//
// "Exists and NotIn a" therefore differs from "NotIn a", as it does for kube-scheduler. A Set is immutable.
type Set struct {
	dom *domain
	// complement: values are the excluded ones, and bounds may apply. Otherwise they are the allowed ones and there are no
	// bounds.
	complement bool
	// absent: the label may be missing.
	absent bool
	// bounded: only integers from lower to upper, both included, which otherwise span all.
	bounded      bool
	values       ids
	lower, upper int64
	minValues    int
}

func (d *domain) concrete(values ...string) Set {
	s := Set{dom: d, lower: math.MinInt64, upper: math.MaxInt64}
	switch len(values) {
	case 0:
	case 1:
		s.values = oneID(d.intern(values[0]))
	default:
		bits := bitset.New(0)
		for _, v := range values {
			bits.Set(d.intern(v))
		}
		s.values = shrunk(bits)
	}
	return s
}

// Intersect is what both allow. Both must be of the same key. minValues is the larger one.
func (s Set) Intersect(o Set) Set {
	r := Set{
		dom:       s.dom,
		absent:    s.absent && o.absent,
		minValues: max(s.minValues, o.minValues),
		lower:     math.MinInt64,
		upper:     math.MaxInt64,
	}
	lower, upper := max(s.lower, o.lower), min(s.upper, o.upper)
	switch {
	case lower > upper:
		return r
	case s.complement && o.complement:
		r.complement, r.bounded, r.lower, r.upper = true, s.bounded || o.bounded, lower, upper
		r.values = s.values.union(o.values)
	case s.complement:
		r.values = o.values.difference(s.values)
	case o.complement:
		r.values = s.values.difference(o.values)
	default:
		r.values = s.values.intersection(o.values)
	}
	if s.bounded || o.bounded {
		r.dropOutside(lower, upper)
	}
	return r
}

// dropOutside forgets values that fail the bounds, and those that are no integers.
func (s *Set) dropOutside(lower, upper int64) {
	s.values = s.values.only(func(id uint) bool { return s.dom.isInt[id] && s.dom.ints[id] >= lower && s.dom.ints[id] <= upper })
}

// Intersects reports whether anything is left of the intersection, without building it. Two sets that exclude values
// always meet unless their bounds cross.
func (s Set) Intersects(o Set) bool {
	if s.absent && o.absent {
		return true
	}
	lower, upper := max(s.lower, o.lower), min(s.upper, o.upper)
	if lower > upper {
		return false
	}
	if s.complement && o.complement {
		return true
	}
	if s.complement {
		s, o = o, s
	}
	for id := range s.values.all {
		if o.HasID(id) && s.HasID(id) {
			return true
		}
	}
	return false
}

// HasID reports whether an interned value is in the set.
func (s Set) HasID(id uint) bool {
	if s.values.has(id) == s.complement {
		return false
	}
	if !s.complement || !s.bounded {
		return true
	}
	return s.dom.isInt[id] && s.dom.ints[id] >= s.lower && s.dom.ints[id] <= s.upper
}

// Has reports whether a value is in the set.
func (s Set) Has(value string) bool {
	if id, ok := s.dom.ids[value]; ok {
		return s.HasID(id)
	}
	if !s.complement {
		return false
	}
	if !s.bounded {
		return true
	}
	n, err := strconv.ParseInt(value, 10, 64)
	return err == nil && n >= s.lower && n <= s.upper
}

// AllowsAbsent reports whether a node without the label satisfies the set.
func (s Set) AllowsAbsent() bool { return s.absent }

// Complement reports whether the set holds infinitely many values: all but some, or a range.
func (s Set) Complement() bool { return s.complement }

// IsEmpty reports whether nothing at all satisfies the set, not even a missing label.
func (s Set) IsEmpty() bool { return !s.absent && !s.complement && s.values.empty() }

// MinValues is the least number of values that must stay possible; 0 for no such demand.
func (s Set) MinValues() int { return s.minValues }

// Len is the number of values of a set that is not a complement.
func (s Set) Len() int { return s.values.count() }

// Values are the values of a set that is not a complement, or the excluded ones of one that is; sorted.
func (s Set) Values() []string {
	out := make([]string, 0, s.values.count())
	for id := range s.values.all {
		out = append(out, s.dom.values[id])
	}
	slices.Sort(out)
	return out
}

// IDs are the interned values of a set that is not a complement, or the excluded ones of one that is.
func (s Set) IDs(yield func(uint) bool) { s.values.all(yield) }

// Single is the value that is left when there is exactly one and the label can't be missing.
func (s Set) Single() (string, bool) {
	id, ok := s.SingleID()
	if !ok {
		return "", false
	}
	return s.dom.values[id], true
}

// SingleID is Single as an interned value.
func (s Set) SingleID() (uint, bool) {
	if s.complement || s.absent {
		return 0, false
	}
	return s.values.single()
}

// SubsetOf reports whether everything that s allows is allowed by o.
func (s Set) SubsetOf(o Set) bool {
	if s.absent && !o.absent {
		return false
	}
	if s.complement {
		return o.complement && (s.bounded || !o.bounded) && o.lower <= s.lower && o.upper >= s.upper && s.excludesAll(o)
	}
	for id := range s.values.all {
		if !o.HasID(id) {
			return false
		}
	}
	return true
}

// excludesAll reports whether s lacks every value that o excludes.
func (s Set) excludesAll(o Set) bool {
	for id := range o.values.all {
		if s.HasID(id) {
			return false
		}
	}
	return true
}

// Equal reports whether both allow the same and demand the same number of values.
func (s Set) Equal(o Set) bool {
	return s.complement == o.complement && s.absent == o.absent && s.bounded == o.bounded && s.lower == o.lower && s.upper == o.upper &&
		s.minValues == o.minValues && s.values.equal(o.values)
}
