package pack

import (
	"cmp"
	"slices"
	"strconv"

	"github.com/kerf-sh/kerf/internal/engine/cuttingstock"
)

// itemType is some pods of free items that are alike to a packer: they ask for the same, may go to the same places, and stand
// the same to constraints by host.
type itemType struct {
	item    *podGroup // the first of its members
	members []part
	total   int
	left    int
	row     int
	value   float64 // what one pod may cost, in micro-USD per hour
	bent    float64 // scratch space of shuffle
}

// lotsOf gathers what is on the new nodes, in the order of items.
func (s *solver) lotsOf(p *pool, instances []*newNode) []*itemType {
	on := map[*podGroup]int{}
	for _, m := range instances {
		for _, q := range m.parts {
			on[q.item] += q.n
		}
	}
	var lots []*itemType
	byKey := map[string]*itemType{}
	for _, it := range s.podGroups {
		n := on[it]
		if n == 0 {
			continue
		}
		key := it.likeness()
		l := byKey[key]
		if l == nil {
			l = &itemType{item: it, value: float64(it.on[p.rank].worth) / 1000}
			byKey[key] = l
			lots = append(lots, l)
		}
		l.members = append(l.members, part{it, n})
		l.total += n
	}
	return lots
}

// likeness is equal for items that a packer can't tell apart.
func (it *podGroup) likeness() string {
	b := make([]byte, 0, 96)
	num := func(x int64) { b = append(strconv.AppendInt(b, x, 36), ' ') }
	for _, x := range it.class.req {
		num(x)
	}
	b = append(b, '|')
	for _, alt := range it.alts {
		num(int64(alt))
	}
	b = append(b, '|')
	for i := range it.class.topo.host {
		d := &it.class.topo.host[i]
		num(int64(d.group.id))
		num(int64(d.maxSkew))
		if d.self {
			b = append(b, 's')
		}
	}
	b = append(b, '|')
	for _, g := range it.class.topo.hostIn {
		num(int64(g.id))
	}
	for _, p := range it.class.src.HostPorts {
		b = append(append(b, '|'), p.String()...)
	}
	return string(b)
}

// sizeIn is how large the lot's pods are compared with the average of the row: 1 in a row of equals.
func (l *itemType) sizeIn(r *cuttingstock.Row) float64 {
	sum, n := 0.0, 0.0
	for i, x := range l.item.class.req {
		if r.Req[i] > 0 {
			sum += float64(x) / r.Req[i]
			n++
		}
	}
	if n == 0 {
		return 1
	}
	return sum / n
}

// byWorth orders item types by the worth of one pod, largest first: small ones fill what large ones leave.
func byWorth(lots []*itemType) []*itemType {
	out := slices.Clone(lots)
	slices.SortStableFunc(out, func(a, b *itemType) int { return cmp.Compare(b.value, a.value) })
	return out
}

// costOf is what one pod of the item types may cost, on average.
func costOf(lots []*itemType) float64 {
	sum, n := 0.0, 0.0
	for _, l := range lots {
		sum += float64(l.value * float64(l.total))
		n += float64(l.total)
	}
	return sum / n
}
