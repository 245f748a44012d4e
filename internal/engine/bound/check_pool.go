package bound

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/kerf-sh/kerf/internal/engine/catalog"
	"github.com/kerf-sh/kerf/internal/engine/cluster"
	"github.com/kerf-sh/kerf/internal/engine/requirement"
	"github.com/kerf-sh/kerf/internal/engine/res"
)

// sale is everything that a pool sells.
type sale struct {
	pool *cluster.Pool
	cat  *catalog.Catalog
	reqs requirement.Requirements
	// daemons may run on the pool's nodes as far as taints go; those in always are sure to, those in maybe depend on the
	// instance.
	always res.Vector
	maybe  []certainDaemon
	// on holds, by choice and cell, the types on which classes of that choice may run.
	on [][]catalog.TypeSet
}

// checkPool verifies that no instance of the pool carries more than its price.
func (k *checker) checkPool(pool *cluster.Pool) error {
	s := k.openSale(pool)
	if s == nil {
		return nil
	}
	cat := s.cat
	k.readSale(s)
	order := make([]int, len(k.weights))
	for i := range order {
		order[i] = i
	}
	for at := range cat.Cells {
		if err := k.checkCell(s, at, order); err != nil {
			return err
		}
	}
	return nil
}

// openSale is what the pool sells; nil if that is nothing, or can't be read.
func (k *checker) openSale(pool *cluster.Pool) *sale {
	if pool.NotReady != "" || len(pool.Types) == 0 {
		return nil
	}
	reqs, err := k.vocab.Parse(pool.Requirements)
	if err != nil {
		return nil
	}
	cat, err := k.memory.catalog(pool.Types)
	if err != nil {
		return nil
	}
	s := &sale{pool: pool, cat: cat, always: make(res.Vector, k.schema.Len())}
	s.reqs = reqs.And(k.vocab.Labels(pool.Labels)).And(k.vocab.Only(requirement.NodePool, pool.Name))
	return s
}

func (k *checker) readSale(s *sale) {
	for _, d := range k.daemons {
		switch {
		case !bearable(s.pool.Taints, d.tolerations):
		case k.certain(s.reqs, d.alts):
			s.always.Add(d.req, 1)
		default:
			s.maybe = append(s.maybe, d)
		}
	}
	s.on = make([][]catalog.TypeSet, len(k.choices))
	for i, ch := range k.choices {
		s.on[i] = k.soldTo(s, ch)
	}
}

// soldTo are the types, by cell, on which classes of the choice may run.
func (k *checker) soldTo(s *sale, ch choice) []catalog.TypeSet {
	defined := func(key requirement.Key) bool {
		set, ok := s.reqs.Get(key)
		return ok && (!set.AllowsAbsent() || !k.wellKnown[key])
	}
	on := make([]catalog.TypeSet, len(s.cat.Cells))
	for at := range on {
		on[at] = catalog.NewTypeSet(s.cat.Len())
	}
	if !bearable(s.pool.Taints, ch.tolerations) {
		return on
	}
	for _, alt := range ch.alts {
		if !s.reqs.Compatible(alt, k.isWellKnown) {
			continue
		}
		both := s.reqs.And(alt)
		types := s.cat.All().Clone()
		s.cat.KeepMatching(types, both, defined)
		for _, at := range s.cat.CellsMatching(both) {
			here := types.Clone()
			here.And(s.cat.Cells[at].Available)
			on[at].Or(here)
		}
	}
	return on
}

// served is the classes that an instance may serve, as far as requirements and taints go. Instances that serve the same
// share what is known of them.
type served struct {
	allowed []bool
	demand  res.Vector // of all of them together
	// searched are instances for which all ways to fill them were searched. Those with no more room and no lower price need
	// no search.
	searched []priceAndRoom
}

type priceAndRoom struct {
	price int64
	room  res.Vector
}

// checkCell verifies the types that are sold in one cell, the cheapest first.
func (k *checker) checkCell(s *sale, at int, order []int) error {
	cell := &s.cat.Cells[at]
	var types []int
	for t := range cell.Available.Each {
		types = append(types, t)
	}
	slices.SortStableFunc(types, func(a, b int) int { return cmp.Compare(cell.Price[a], cell.Price[b]) })
	key := make([]byte, len(k.choices))
	for _, t := range types {
		some := false
		for i := range k.choices {
			key[i] = 0
			if s.on[i][at].Has(t) {
				key[i], some = 1, true
			}
		}
		if !some {
			continue
		}
		who := k.servedBy(key)
		m := &carrier{room: k.roomOf(s, cell, t), allowed: who.allowed}
		for r := range m.room {
			m.room[r] = min(m.room[r], who.demand[r]) // no more than that is ever asked for
		}
		if err := k.checkInstance(s, cell, t, m, who, order); err != nil {
			return err
		}
	}
	return nil
}

// servedBy finds or makes the classes of the marked choices.
func (k *checker) servedBy(marked []byte) *served {
	who := k.served[string(marked)]
	if who == nil {
		who = &served{allowed: make([]bool, len(k.classes)), demand: make(res.Vector, k.schema.Len())}
		for c, v := range k.classes {
			if who.allowed[c] = marked[v.choice] == 1; who.allowed[c] {
				who.demand.Add(v.req, int(v.count))
			}
		}
		k.served[string(marked)] = who
	}
	return who
}

// roomOf is what a new instance has for pods, less the daemons that are sure to run on it.
func (k *checker) roomOf(s *sale, cell *catalog.Cell, t int) res.Vector {
	room := s.cat.Allocatable[t].Clone()
	room.Sub(s.always, 1)
	if len(s.maybe) == 0 {
		return room
	}
	labels := map[string]string{}
	for name, value := range map[string]string{requirement.Zone: cell.Zone, requirement.ZoneID: cell.ZoneID,
		requirement.CapacityType: cell.CapacityType, requirement.ReservationID: cell.ReservationID, requirement.PlacementPartition: catalog.PartitionLabel(cell.Partition)} {
		if value != "" {
			labels[name] = value
		}
	}
	node := s.reqs.And(k.vocab.Labels(labels))
	if own, err := k.vocab.Parse(s.cat.Types[t].Requirements); err == nil {
		node = node.And(own)
	}
	for _, d := range s.maybe {
		if k.certain(node, d.alts) {
			room.Sub(d.req, 1)
		}
	}
	return room
}

func (k *checker) checkInstance(s *sale, cell *catalog.Cell, t int, m *carrier, who *served, order []int) error {
	ty := s.cat.Types[t]
	price := max(0, int64(cell.Price[t])) // micro-USD
	limit := product(uint64(price), 1000).shift(fine)
	if k.offers != nil && price < maxWholePrice { // what costs more is worth less than its price by more than any reach
		place := ""
		if len(k.spreadRows) > 0 {
			place = cell.Zone
		}
		k.offers[place] = append(k.offers[place], offer{price, m})
	}
	if cell.CapacityType == catalog.Reserved {
		return k.chargeReservation(s, cell, ty, m, price)
	}
	if k.proven(order, m, limit) || slices.ContainsFunc(who.searched, func(o priceAndRoom) bool { return o.price <= price && o.room.Dominates(m.room) }) {
		return nil
	}
	if k.exhausted(m, limit) {
		who.searched = append(who.searched, priceAndRoom{price, m.room})
		return nil
	}
	return fmt.Errorf("nothing shows that %s, launched as %s in zone %s, carries no more than its price", ty.Name, cell.CapacityType, cell.Zone)
}

// chargeReservation takes what the instances that a reservation still holds can carry beyond their price off the bound.
// Pools that share a reservation share its instances.
func (k *checker) chargeReservation(s *sale, cell *catalog.Cell, ty *catalog.Type, m *carrier, price int64) error {
	worth, ok := k.least(m)
	if !ok || price > (1<<62)/1000 {
		return fmt.Errorf("what %s of reservation %s carries is worth more than can be written", ty.Name, cell.ReservationID)
	}
	times := int64(0)
	for _, o := range ty.Offerings {
		if o.Available && o.CapacityType == catalog.Reserved && o.Zone == cell.Zone && o.ZoneID == cell.ZoneID && o.ReservationID == cell.ReservationID && o.Partition == cell.Partition {
			times += int64(max(0, o.Reservable))
		}
	}
	name := asText("reservation", cell.ReservationID, ty.Name)
	if cell.ReservationID == "" {
		name = asText("reservation", s.pool.Name, cell.Zone, cell.ZoneID, ty.Name)
	}
	c := k.charges[name]
	if c == nil {
		c = &charge{}
		k.charges[name] = c
	}
	c.times = max(c.times, times)
	c.each = max(c.each, worth-price*1000)
	return nil
}
