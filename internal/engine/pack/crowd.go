package pack

import (
	"encoding/binary"
	"math"

	"github.com/kerf-sh/kerf/internal/engine/catalog"
	"github.com/kerf-sh/kerf/internal/engine/res"
)

// crowd is the items of one pool that still have pods to place, hardest first. Most of them can be passed over in groups
// when a new node is filled: those of one size do not fit any more, those of one kind may not go there.
type crowd struct {
	items          []*podGroup
	sizes          []crowdSize
	kinds          []span // items that go to the same places and stand the same to constraints by host
	sizeOf, kindOf []int32
	// left is the scratch that a filling crosses items off from.
	left []uint64
	// cost efficiency holds how well each size uses a type at a price, once that was asked for.
	efficiency map[offer][]float64
	lead       [2]int
	// numbers of sizes and kinds by what they are, for as long as the crowd is being assembled.
	sizeNo map[askKey]int32
	kindNo map[kindKey]int32
}

// crowdSize is the items whose pods ask for the same and are worth the same.
type crowdSize struct {
	cpu, memory int64
	req         res.Vector
	such        *podGroup // any of them
	n           int       // how many of them have pods left
	span
}

type askKey struct {
	size  int
	worth int64
}

type offer struct {
	t     int
	price catalog.MicroUSD
}

type kindKey struct{ hosting, choice int }

// span is a set of items by position, as words from a certain one on.
type span struct {
	from  int
	words []uint64
}

func (x *span) add(i int) {
	w := i >> 6
	if len(x.words) == 0 {
		x.from = w
	}
	for w >= x.from+len(x.words) {
		x.words = append(x.words, 0)
	}
	x.words[w-x.from] |= 1 << (i & 63)
}

func (x *span) remove(i int) { x.words[i>>6-x.from] &^= 1 << (i & 63) }

// crossOff takes the set out of left.
func (x *span) crossOff(left []uint64) {
	left = left[x.from:]
	for i, w := range x.words {
		left[i] &^= w
	}
}

// assemble brings the crowds of all pools up to date, for the items from the given one on; nil is all ranks. It tells how
// many items there are.
func (s *solver) assemble(from int, only *rank) int {
	if len(s.crowds) != len(s.pools) {
		s.crowds = make([]crowd, len(s.pools))
	}
	for i := range s.crowds {
		s.crowds[i].clear()
	}
	n := 0
	for _, it := range s.podGroups[from:] {
		if it.left == 0 || it.pool == nil || only != nil && it.class.rank != *only {
			continue
		}
		s.crowds[it.pool.rank].add(s.lead, it, askKey{s.sizeOf(it.class), it.on[it.pool.rank].worth}, kindKey{s.hostingOf(it.class), s.choiceOf(it)})
		n++
	}
	for i := range s.crowds {
		c := &s.crowds[i]
		c.lead = s.lead
		c.left = append(c.left[:0], make([]uint64, (len(c.items)+63)/64)...)
	}
	return n
}

func (c *crowd) clear() {
	c.items, c.sizeOf, c.kindOf = c.items[:0], c.sizeOf[:0], c.kindOf[:0]
	c.sizes, c.kinds = c.sizes[:0], c.kinds[:0]
	if c.sizeNo == nil {
		c.sizeNo, c.kindNo, c.efficiency = map[askKey]int32{}, map[kindKey]int32{}, map[offer][]float64{}
	}
	clear(c.efficiency)
	clear(c.sizeNo)
	clear(c.kindNo)
}

func (c *crowd) add(lead [2]int, it *podGroup, size askKey, kind kindKey) {
	i := len(c.items)
	c.items = append(c.items, it)
	at, ok := c.sizeNo[size]
	if !ok {
		at = int32(len(c.sizes))
		c.sizeNo[size] = at
		req := it.class.req
		c.sizes = append(c.sizes, crowdSize{cpu: req[lead[0]], memory: req[lead[1]], req: req, such: it})
	}
	c.sizes[at].add(i)
	c.sizes[at].n++
	c.sizeOf = append(c.sizeOf, at)
	if at, ok = c.kindNo[kind]; !ok {
		at = int32(len(c.kinds))
		c.kindNo[kind] = at
		c.kinds = append(c.kinds, span{})
	}
	c.kinds[at].add(i)
	c.kindOf = append(c.kindOf, at)
}

// hostingOf numbers classes that stand the same to constraints by host, host ports among them.
func (s *solver) hostingOf(c *class) int {
	if c.hosting > 0 {
		return c.hosting
	}
	b := make([]byte, 0, 64)
	num := func(x int) { b = binary.AppendVarint(b, int64(x)) }
	for i := range c.topo.host {
		d := &c.topo.host[i]
		num(d.group.id)
		num(d.maxSkew)
		if d.self {
			num(1)
		} else {
			num(0)
		}
	}
	num(-1)
	for _, g := range c.topo.hostIn {
		num(g.id)
	}
	for _, p := range c.src.HostPorts {
		b = append(append(b, '|'), p.String()...)
	}
	c.hosting = number(s.hosting, b)
	return c.hosting
}

// choiceOf numbers items that may go to the same places.
func (s *solver) choiceOf(it *podGroup) int {
	if len(it.alts) == 1 {
		return it.alts[0]
	}
	b := make([]byte, 0, 64)
	for _, alt := range it.alts {
		b = binary.AppendVarint(b, int64(alt))
	}
	return -number(s.choosing, b)
}

// drop forgets an item that has no pods left.
func (c *crowd) drop(i int) {
	x := &c.sizes[c.sizeOf[i]]
	x.remove(i)
	if x.n--; x.n == 0 {
		x.cpu, x.memory = math.MaxInt64, math.MaxInt64 // fits nowhere any more
	}
}

// fits reports whether one pod of the size fits in room. Most do not, which cpu and memory tell.
func (x *crowdSize) fits(cpu, memory int64, room res.Vector) bool {
	return (x.cpu <= cpu || x.cpu <= 0) && (x.memory <= memory || x.memory <= 0) && x.req.Fits(room)
}

// find sets left to the items that fit and are cost-efficient; false if there are none.
func (c *crowd) find(m *newNode, t int, room res.Vector, efficiency float64) bool {
	clear(c.left)
	found := false
	var of []float64
	if efficiency > 0 {
		of = c.efficiencyOn(m.shape, t)
	}
	cpu, memory := room[c.lead[0]], room[c.lead[1]]
	for k := range c.sizes {
		x := &c.sizes[k]
		if of != nil && of[k] < efficiency || !x.fits(cpu, memory, room) {
			continue
		}
		found = true
		left := c.left[x.from:]
		for i, w := range x.words {
			left[i] |= w
		}
	}
	return found
}

// efficiencyOn is how well the sizes use type t in the shape.
func (c *crowd) efficiencyOn(sh *shape, t int) []float64 {
	at := offer{t, sh.price[t]}
	of, known := c.efficiency[at]
	if !known {
		of = make([]float64, len(c.sizes))
		for k := range c.sizes {
			of[k] = c.sizes[k].such.costEfficiency(sh, t)
		}
		c.efficiency[at] = of
	}
	return of
}
