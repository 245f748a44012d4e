package requirement

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Requirements are sets by key: all of them must hold. The zero value demands nothing. It is immutable.
type Requirements struct {
	entries []entry // sorted by key
}

type entry struct {
	key Key
	set Set
}

// Parse interns terms; several terms on one key are intersected.
//
// Errors name the key: an unknown operator, a bound that is not one integer, values where none are allowed or none where
// some are needed.
func (v *Vocabulary) Parse(terms []Term) (Requirements, error) {
	if len(terms) == 0 {
		return Requirements{}, nil
	}
	entries := make([]entry, 0, len(terms))
	for i := range terms {
		s, err := v.parseTerm(&terms[i])
		if err != nil {
			return Requirements{}, err
		}
		at, known := slices.BinarySearchFunc(entries, s.dom.key, func(e entry, k Key) int { return int(e.key) - int(k) })
		if known {
			entries[at].set = entries[at].set.Intersect(s)
			continue
		}
		entries = slices.Insert(entries, at, entry{s.dom.key, s})
	}
	return Requirements{entries: entries}, nil
}

func (v *Vocabulary) parseTerm(t *Term) (Set, error) {
	if t.Key == "" {
		return Set{}, fmt.Errorf("requirement without a key: give the label it is about")
	}
	d := v.domains[v.Key(t.Key)]
	var s Set
	if t.Operator == In || t.Operator == NotIn {
		s = d.concrete(t.Values...)
	} else {
		s = d.concrete()
	}
	s.minValues = t.MinValues
	bad := func(format string, args ...any) (Set, error) {
		return Set{}, fmt.Errorf("requirement on %s: %s", t.Key, fmt.Sprintf(format, args...))
	}
	switch t.Operator {
	case In, NotIn:
		if len(t.Values) == 0 {
			return bad("%s needs at least one value", t.Operator)
		}
		s.complement, s.absent = t.Operator == NotIn, t.Operator == NotIn
	case Exists, DoesNotExist:
		if len(t.Values) != 0 {
			return bad("%s takes no values", t.Operator)
		}
		s.complement, s.absent = t.Operator == Exists, t.Operator == DoesNotExist
	case Gt, Lt, Gte, Lte:
		if len(t.Values) != 1 {
			return bad("%s needs exactly one integer", t.Operator)
		}
		n, err := strconv.ParseInt(t.Values[0], 10, 64)
		if err != nil {
			return bad("%s needs an integer, not %q", t.Operator, t.Values[0])
		}
		s.bound(t.Operator, n)
	default:
		return bad("unknown operator %q; use In, NotIn, Exists, DoesNotExist, Gt, Lt, Gte or Lte", t.Operator)
	}
	return s, nil
}

func (s *Set) bound(op Operator, n int64) {
	s.complement, s.bounded = true, true
	switch {
	case op == Gt && n == math.MaxInt64, op == Lt && n == math.MinInt64:
		s.complement, s.bounded = false, false // no integer is left
	case op == Gt:
		s.lower = n + 1
	case op == Gte:
		s.lower = n
	case op == Lt:
		s.upper = n - 1
	case op == Lte:
		s.upper = n
	}
}

// Labels interns what is certain: each key has exactly its value. Where an old and a stable name of the same label are
// both present, the stable one counts.
func (v *Vocabulary) Labels(labels map[string]string) Requirements {
	r := Requirements{entries: make([]entry, 0, len(labels))}
	for k, x := range labels {
		if n := Normalize(k); n != k {
			if _, both := labels[n]; both {
				continue
			}
		}
		d := v.domains[v.Key(k)]
		r.entries = append(r.entries, entry{key: d.key, set: d.concrete(x)})
	}
	slices.SortFunc(r.entries, func(a, b entry) int { return int(a.key) - int(b.key) })
	return Requirements{entries: slices.CompactFunc(r.entries, func(a, b entry) bool { return a.key == b.key })}
}

// Only is the requirement that a key has one of the values.
func (v *Vocabulary) Only(key string, values ...string) Requirements {
	d := v.domains[v.Key(key)]
	return Requirements{entries: []entry{{key: d.key, set: d.concrete(values...)}}}
}

// Without is the requirement that a key, if it is there, has none of the values.
func (v *Vocabulary) Without(key string, values ...string) Requirements {
	d := v.domains[v.Key(key)]
	s := d.concrete(values...)
	s.complement, s.absent = true, true
	return Requirements{entries: []entry{{key: d.key, set: s}}}
}

// Len is the number of keys.
func (r Requirements) Len() int { return len(r.entries) }

// Get is the set of a key; false if the key is not mentioned.
func (r Requirements) Get(k Key) (Set, bool) {
	i, ok := slices.BinarySearchFunc(r.entries, k, func(e entry, k Key) int { return int(e.key) - int(k) })
	if !ok {
		return Set{}, false
	}
	return r.entries[i].set, true
}

// All yields every key with its set, in the order of the vocabulary.
func (r Requirements) All(yield func(Key, Set) bool) {
	for _, e := range r.entries {
		if !yield(e.key, e.set) {
			return
		}
	}
}

// With adds one set; a set of the same key is intersected.
func (r Requirements) With(s Set) Requirements {
	return r.And(Requirements{entries: []entry{{key: s.dom.key, set: s}}})
}

// And demands both. Sets of shared keys are intersected; see FirstEmpty for whether anything is left.
func (r Requirements) And(o Requirements) Requirements {
	if len(o.entries) == 0 {
		return r
	}
	if len(r.entries) == 0 {
		return o
	}
	out := make([]entry, 0, len(r.entries)+len(o.entries))
	i, j := 0, 0
	for i < len(r.entries) && j < len(o.entries) {
		a, b := r.entries[i], o.entries[j]
		switch {
		case a.key < b.key:
			out, i = append(out, a), i+1
		case a.key > b.key:
			out, j = append(out, b), j+1
		default:
			out, i, j = append(out, entry{a.key, a.set.Intersect(b.set)}), i+1, j+1
		}
	}
	out = append(append(out, r.entries[i:]...), o.entries[j:]...)
	return Requirements{entries: out}
}

// FirstEmpty is a key whose set nothing satisfies; false if there is none. Of several it is the first by name.
func (r Requirements) FirstEmpty() (Key, bool) {
	found, ok := entry{}, false
	for _, e := range r.entries {
		if e.set.IsEmpty() && (!ok || e.set.dom.name < found.set.dom.name) {
			found, ok = e, true
		}
	}
	return found.key, ok
}

// Intersects reports whether the sets of all shared keys meet.
func (r Requirements) Intersects(o Requirements) bool {
	_, conflict := r.conflict(o, func(Key) bool { return true })
	return !conflict
}

// Compatible reports whether something that satisfies r, the node's side, can also satisfy q, the pod's side. A key that
// r does not mention is allowed when undefined allows it (nil: never) or when q is satisfied by a missing label.
func (r Requirements) Compatible(q Requirements, undefined func(Key) bool) bool {
	_, conflict := r.conflict(q, undefined)
	return !conflict
}

// Conflict is the first key by name for which r and q are not Compatible.
func (r Requirements) Conflict(q Requirements, undefined func(Key) bool) (Key, bool) {
	return r.conflict(q, undefined)
}

func (r Requirements) conflict(q Requirements, undefined func(Key) bool) (Key, bool) {
	var first *entry
	for i := range q.entries {
		e := &q.entries[i]
		s, defined := r.Get(e.key)
		var ok bool
		switch {
		case defined:
			ok = s.Intersects(e.set)
		case e.set.absent:
			ok = true
		default:
			ok = undefined != nil && undefined(e.key) && !e.set.IsEmpty()
		}
		if !ok && (first == nil || e.set.dom.name < first.set.dom.name) {
			first = e
		}
	}
	if first == nil {
		return 0, false
	}
	return first.key, true
}

// Implies reports whether everything that satisfies r satisfies q too: a key that r does not mention may have any state,
// so q must not demand anything of it unless missing says that an unmentioned key is a missing label.
func (r Requirements) Implies(q Requirements, missing func(Key) bool) bool {
	for _, e := range q.entries {
		s, ok := r.Get(e.key)
		switch {
		case ok && s.SubsetOf(e.set):
		case !ok && e.set.absent && missing(e.key):
		default:
			return false
		}
	}
	return true
}

// Terms is the readable form, sorted by key. Bounds come back as Gte and Lte. Parse gives the same sets again.
func (r Requirements) Terms() []Term {
	var out []Term
	for _, e := range r.entries {
		out = append(out, e.set.Terms()...)
	}
	slices.SortStableFunc(out, func(a, b Term) int { return strings.Compare(a.Key, b.Key) })
	return out
}

// Terms is the readable form of one set: usually one term, two when there are both bounds.
func (s Set) Terms() []Term {
	key := s.dom.name
	var out []Term
	switch {
	case !s.complement && s.values.empty() && s.absent:
		out = append(out, Term{Key: key, Operator: DoesNotExist})
	case !s.complement:
		out = append(out, Term{Key: key, Operator: In, Values: s.Values()})
	default:
		if s.lower != math.MinInt64 || (s.bounded && s.upper == math.MaxInt64) {
			out = append(out, Term{Key: key, Operator: Gte, Values: []string{strconv.FormatInt(s.lower, 10)}})
		}
		if s.upper != math.MaxInt64 {
			out = append(out, Term{Key: key, Operator: Lte, Values: []string{strconv.FormatInt(s.upper, 10)}})
		}
		if len(out) == 0 && !(s.absent && !s.values.empty()) {
			out = append(out, Term{Key: key, Operator: Exists})
		}
		if !s.values.empty() {
			out = append(out, Term{Key: key, Operator: NotIn, Values: s.Values()})
		}
	}
	out[0].MinValues = s.minValues
	return out
}

// CacheKey identifies the requirements within the process: equal requirements of one vocabulary have equal keys.
func (r Requirements) CacheKey() string {
	b := make([]byte, 0, 16*len(r.entries))
	for _, e := range r.entries {
		flags := byte(0)
		if e.set.complement {
			flags |= 1
		}
		if e.set.absent {
			flags |= 2
		}
		if e.set.bounded {
			flags |= 4
		}
		b = append(binary.AppendUvarint(b, uint64(e.key)), flags)
		if e.set.bounded {
			b = binary.AppendVarint(binary.AppendVarint(b, e.set.lower), e.set.upper)
		}
		b = binary.AppendUvarint(b, uint64(e.set.minValues))
		b = binary.AppendUvarint(b, uint64(e.set.values.count()))
		for id := range e.set.values.all {
			b = binary.AppendUvarint(b, uint64(id))
		}
	}
	return string(b)
}

// Bytes is about what the requirements hold in memory, names aside.
func (r Requirements) Bytes() int {
	const own, each = 24, 72
	n := own + each*len(r.entries)
	for i := range r.entries {
		n += r.entries[i].set.values.bytes()
	}
	return n
}

// String joins the terms for messages, as in "zone In [a b], arch In [arm64]".
func (r Requirements) String() string {
	var parts []string
	for _, t := range r.Terms() {
		parts = append(parts, t.String())
	}
	return strings.Join(parts, ", ")
}

// String is the term for messages, as in "arch In [amd64 arm64]".
func (t Term) String() string {
	s := t.Key + " " + string(t.Operator)
	switch len(t.Values) {
	case 0:
	case 1:
		s += " " + t.Values[0]
	default:
		s += " [" + strings.Join(t.Values, " ") + "]"
	}
	if t.MinValues > 0 {
		s += fmt.Sprintf(" (at least %d)", t.MinValues)
	}
	return s
}
