package verify

import (
	"slices"
	"strconv"

	"github.com/kerf-sh/kerf/internal/engine/catalog"
	"github.com/kerf-sh/kerf/internal/engine/cluster"
	"github.com/kerf-sh/kerf/internal/engine/requirement"
)

// label is what is known of one label of a node: the values that it may have, and what else is demanded of it where the
// value is still to be chosen.
type label struct {
	values  []string
	missing bool // the label may be missing
	open    bool // any value that the terms allow
	terms   []requirement.Term
}

// state is what is known of a node's labels, by stable key. A key that is not there is a label that is missing.
type state map[string]label

// certain is the state of an existing node.
func certain(n *cluster.Node) state {
	s := state{requirement.Hostname: {values: []string{hostname(n)}}}
	if n.Claim == "" || n.Registered {
		s[requirement.NodeName] = label{values: []string{n.Name}}
	}
	for k, v := range n.Labels {
		key := requirement.Normalize(k)
		if _, both := n.Labels[key]; both && key != k {
			continue
		}
		s[key] = label{values: []string{v}}
	}
	for _, t := range n.Requirements {
		s.demand(t)
	}
	return s
}

func hostname(n *cluster.Node) string {
	if n.Hostname != "" {
		return n.Hostname
	}
	return n.Name
}

func (c *checker) certain(n *cluster.Node) state {
	s, ok := c.states[n]
	if !ok {
		s = certain(n)
		c.states[n] = s
	}
	return s
}

// possible is the state of a node of type t launched by offering o; nil if the node's requirements rule it out.
func possible(h *host, t *catalog.Type, o catalog.Offering) state {
	s := state{}
	for _, term := range t.Requirements {
		s.demand(term)
	}
	if _, ok := s[requirement.InstanceType]; !ok {
		s[requirement.InstanceType] = label{values: []string{t.Name}}
	}
	s.set(requirement.Zone, o.Zone)
	s.set(requirement.ZoneID, o.ZoneID)
	s.set(requirement.CapacityType, o.CapacityType)
	s.set(requirement.ReservationID, o.ReservationID)
	s.set(requirement.ReservationType, o.ReservationType)
	s.set(requirement.ReservationInterruptible, interruptible(o))
	s.set(requirement.PlacementPartition, catalog.PartitionLabel(o.Partition))
	s[requirement.NodePool] = label{values: []string{h.pool.Name}}
	for k, v := range h.pool.Labels {
		s[requirement.Normalize(k)] = label{values: []string{v}}
	}
	for _, term := range slices.Concat(h.pool.Requirements, h.launched.Requirements) {
		s.demand(term)
	}
	for _, l := range s {
		if len(l.values) == 0 && !l.missing && !l.open {
			return nil
		}
	}
	return s
}

// interruptible is the label's value; empty for what is not launched out of a reservation.
func interruptible(o catalog.Offering) string {
	if o.ReservationType == "" {
		return ""
	}
	return strconv.FormatBool(o.Interruptible)
}

func (s state) set(key, value string) {
	if value == "" {
		delete(s, key)
		return
	}
	s[key] = label{values: []string{value}}
}

// demand narrows a label to what the term allows.
func (s state) demand(t requirement.Term) {
	key := requirement.Normalize(t.Key)
	l, known := s[key]
	if !known {
		l = label{missing: true, open: true}
	}
	var kept []string
	for _, v := range l.values {
		if satisfied(t, v, true) {
			kept = append(kept, v)
		}
	}
	if l.open && t.Operator == requirement.In {
		kept = nil
		for _, v := range t.Values {
			if !slices.ContainsFunc(l.terms, func(o requirement.Term) bool { return !satisfied(o, v, true) }) {
				kept = append(kept, v)
			}
		}
		l.open = false
	}
	if t.Operator == requirement.DoesNotExist {
		l.open = false
	}
	l.values = kept
	l.missing = l.missing && satisfied(t, "", false)
	l.terms = append(slices.Clone(l.terms), t)
	s[key] = l
}

// satisfied reports whether a label value, or a missing label, meets the term, by the words of the Kubernetes API.
func satisfied(t requirement.Term, value string, exists bool) bool {
	switch t.Operator {
	case requirement.In:
		return exists && slices.Contains(t.Values, value)
	case requirement.NotIn:
		return !exists || !slices.Contains(t.Values, value)
	case requirement.Exists:
		return exists
	case requirement.DoesNotExist:
		return !exists
	}
	if !exists || len(t.Values) != 1 {
		return false
	}
	have, err1 := strconv.ParseInt(value, 10, 64)
	want, err2 := strconv.ParseInt(t.Values[0], 10, 64)
	if err1 != nil || err2 != nil {
		return false
	}
	switch t.Operator {
	case requirement.Gt:
		return have > want
	case requirement.Lt:
		return have < want
	case requirement.Gte:
		return have >= want
	case requirement.Lte:
		return have <= want
	}
	return false
}

// meets reports whether the term is met. When sure, whatever is still open must turn out well; otherwise it may.
func (s state) meets(t requirement.Term, sure bool) bool {
	l, known := s[requirement.Normalize(t.Key)]
	if !known {
		return satisfied(t, "", false)
	}
	if l.open && len(l.values) == 0 {
		// The value is chosen when the node is launched, within the terms; the term is surely met when it is one of them.
		if slices.ContainsFunc(l.terms, func(o requirement.Term) bool {
			return sameTerm(o, t) || atLeastAs(o, t) || o.Operator != requirement.NotIn && o.Operator != requirement.DoesNotExist && t.Operator == requirement.Exists
		}) {
			return true
		}
		if t.Operator == requirement.NotIn && !slices.ContainsFunc(t.Values, l.admits) {
			return true
		}
		return !sure && l.mayMeet(t)
	}
	good, bad := 0, 0
	count := func(ok bool) {
		if ok {
			good++
		} else {
			bad++
		}
	}
	for _, v := range l.values {
		count(satisfied(t, v, true))
	}
	if l.missing {
		count(satisfied(t, "", false))
	}
	if sure {
		return bad == 0 && good > 0
	}
	return good > 0
}

// mayMeet reports whether an open label can still turn out as the term wants.
func (l label) mayMeet(t requirement.Term) bool {
	switch t.Operator {
	case requirement.DoesNotExist:
		return l.missing
	case requirement.In:
		return slices.ContainsFunc(t.Values, l.admits)
	}
	return true
}

// admits reports whether no term rules the value out.
func (l label) admits(value string) bool {
	return !slices.ContainsFunc(l.terms, func(o requirement.Term) bool { return !satisfied(o, value, true) })
}

// atLeastAs reports whether bound a allows no number that bound b does not.
func atLeastAs(a, b requirement.Term) bool {
	n, upper, ok := bound(a)
	m, other, both := bound(b)
	return ok && both && upper == other && (upper && n <= m || !upper && n >= m)
}

func sameTerm(a, b requirement.Term) bool {
	if requirement.Normalize(a.Key) != requirement.Normalize(b.Key) {
		return false
	}
	av, bv := slices.Sorted(slices.Values(a.Values)), slices.Sorted(slices.Values(b.Values))
	if a.Operator == b.Operator && slices.Equal(av, bv) {
		return true
	}
	lowA, upA, okA := bound(a)
	lowB, upB, okB := bound(b)
	return okA && okB && lowA == lowB && upA == upB
}

// bound is a Gt, Gte, Lt or Lte term as an inclusive lower or upper bound.
func bound(t requirement.Term) (n int64, upper, ok bool) {
	if len(t.Values) != 1 {
		return 0, false, false
	}
	n, err := strconv.ParseInt(t.Values[0], 10, 64)
	if err != nil {
		return 0, false, false
	}
	switch t.Operator {
	case requirement.Gt:
		return n + 1, false, true
	case requirement.Gte:
		return n, false, true
	case requirement.Lt:
		return n - 1, true, true
	case requirement.Lte:
		return n, true, true
	}
	return 0, false, false
}

// matchesAny reports whether the node meets the selector of the class, one of its affinity alternatives, and, for pods,
// one of its volume alternatives.
func matchesAny(class *cluster.Class, s state, sure bool) bool {
	all := func(terms []requirement.Term) bool {
		return !slices.ContainsFunc(terms, func(t requirement.Term) bool { return !s.meets(t, sure) })
	}
	one := func(lists [][]requirement.Term) bool {
		return len(lists) == 0 || slices.ContainsFunc(lists, all)
	}
	return all(class.Selector) && one(class.Affinity) && one(class.Volumes)
}
