package bound

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/kerf-sh/kerf/internal/engine/catalog"
	"github.com/kerf-sh/kerf/internal/engine/cluster"
	"github.com/kerf-sh/kerf/internal/engine/requirement"
	"github.com/kerf-sh/kerf/internal/engine/res"
)

// instance is a kind of instance that can carry pods: for sale at a price, or there a number of times.
type instance struct {
	room  []float64
	price float64 // USD per hour
	// ledger counts instances that are there only so many times, of search.ledgers; -1: as many as one likes.
	ledger int
	// rows that it can carry; how many pods of each fit; and how many at most, which is fewer where there are not as many.
	rows   []int
	fit    []float64
	capped []float64
	// most is one of the two, the one that the search now uses.
	most []float64
	// limits are what is left of the shared limits; nil: all of them.
	limits []float64
	// w are the weights with which it was last priced.
	w []float64
	// cut is set when pods on it stay divisible; width is how many part fillings were looked at before.
	cut   bool
	width int
	// set numbers the rows that are allowed, whether they fit or not.
	set int
}

// ledger says how many instances there are of all the kinds that refer to it.
type ledger struct {
	name  string
	times float64
}

// choiceText identifies what decides on which instances a class may run.
func choiceText(c *cluster.Class) string {
	b, _ := json.Marshal([]any{c.Selector, c.Affinity, c.Volumes, c.Tolerations})
	return string(b)
}

// alternativesOf lists the requirements any of which will do for the class.
func (s *search) alternativesOf(c *cluster.Class, volumes bool) []requirement.Requirements {
	parse := func(lists [][]requirement.Term) []requirement.Requirements {
		if len(lists) == 0 {
			return []requirement.Requirements{{}}
		}
		var out []requirement.Requirements
		for _, l := range lists {
			if r, err := s.vocab.Parse(l); err == nil {
				out = append(out, r)
			}
		}
		return out
	}
	base, err := s.vocab.Parse(c.Selector)
	if err != nil {
		return nil
	}
	other := []requirement.Requirements{{}}
	if volumes {
		other = parse(c.Volumes)
	}
	var out []requirement.Requirements
	for _, a := range parse(c.Affinity) {
		for _, v := range other {
			out = append(out, base.And(a).And(v))
		}
	}
	return out
}

// addPool adds what the pool sells, as kinds of instance.
func (s *search) addPool(pool *cluster.Pool) {
	if pool.NotReady != "" {
		return
	}
	reqs, cat := s.readPool(pool)
	if cat == nil {
		return
	}
	n := cat.Len()
	words := (len(s.choices) + 63) / 64
	may := make([][]uint64, len(cat.Cells)) // by cell: for each type the choices that may use it
	for i := range may {
		may[i] = make([]uint64, n*words)
	}
	for ch := range s.choices {
		s.eachSold(pool, reqs, cat, ch, func(cell int, types catalog.TypeSet) {
			for t := range types.Each {
				may[cell][t*words+ch>>6] |= 1 << (ch & 63)
			}
		})
	}
	nets := s.netOf(pool, reqs, cat)
	for at := range cat.Cells {
		cell := &cat.Cells[at]
		for t := range cell.Available.Each {
			choices := may[at][t*words : (t+1)*words]
			if !slices.ContainsFunc(choices, func(w uint64) bool { return w != 0 }) {
				continue
			}
			m := instance{room: nets(at, t), price: float64(max(0, cell.Price[t])) / 1e6, ledger: -1, set: s.setOf(choices)}
			if cell.CapacityType == catalog.Reserved {
				m.ledger = s.reservation(pool, cell, cat.Types[t])
			}
			s.offer(m)
		}
	}
}

// readPool is what the pool demands of its nodes, and its types; nil when they can't be read.
func (s *search) readPool(pool *cluster.Pool) (requirement.Requirements, *catalog.Catalog) {
	reqs, err := s.vocab.Parse(pool.Requirements)
	if err != nil || len(pool.Types) == 0 {
		return reqs, nil
	}
	cat, err := s.memory.catalog(pool.Types)
	if err != nil {
		return reqs, nil
	}
	return reqs.And(s.vocab.Labels(pool.Labels)).And(s.vocab.Only(requirement.NodePool, pool.Name)), cat
}

// eachSold calls f with the types on which classes of the choice may run, for each cell in which there are some.
func (s *search) eachSold(pool *cluster.Pool, reqs requirement.Requirements, cat *catalog.Catalog, choice int, f func(cell int, types catalog.TypeSet)) {
	if judge(pool.Taints, s.choices[choice].Tolerations) {
		return
	}
	defined := func(key requirement.Key) bool {
		set, ok := reqs.Get(key)
		return ok && (!set.AllowsAbsent() || !s.isWellKnown(key))
	}
	for _, alt := range s.choiceAlts[choice] {
		if !reqs.Compatible(alt, s.isWellKnown) {
			continue
		}
		both := reqs.And(alt)
		types := cat.All().Clone()
		cat.KeepMatching(types, both, defined)
		for _, cell := range cat.CellsMatching(both) {
			here := types.Clone()
			here.And(cat.Cells[cell].Available)
			if here.Any() {
				f(cell, here)
			}
		}
	}
}

// judge reports whether the taints keep pods with the tolerations away.
func judge(taints []cluster.Taint, tolerations []cluster.Toleration) bool {
	_, away := cluster.Untolerated(taints, tolerations, cluster.NoSchedule, cluster.NoExecute)
	return away
}

// setOf numbers sets of choices.
func (s *search) setOf(choices []uint64) int {
	key := fmt.Sprint(choices)
	if at, ok := s.setIndex[key]; ok {
		return at
	}
	at := len(s.sets)
	s.setIndex[key] = at
	s.sets = append(s.sets, slices.Clone(choices))
	return at
}

// netOf gives the room of each type in each cell, less the daemons that are certain to run there.
func (s *search) netOf(pool *cluster.Pool, reqs requirement.Requirements, cat *catalog.Catalog) func(cell, t int) []float64 {
	base := make(res.Vector, s.schema.Len())
	type doubtful struct {
		req  res.Vector
		alts []requirement.Requirements
	}
	var doubt []doubtful
	missing := func(key requirement.Key) bool { return !s.isWellKnown(key) }
	for _, d := range s.p.Daemons {
		if d.Class == nil || judge(pool.Taints, d.Class.Tolerations) {
			continue
		}
		alts := s.alternativesOf(d.Class, false)
		req := s.schema.Vector(d.Class.Requests)
		for r := range req {
			req[r] = max(0, req[r])
		}
		if slices.ContainsFunc(alts, func(alt requirement.Requirements) bool { return reqs.Implies(alt, missing) }) {
			base.Add(req, 1)
		} else if len(alts) > 0 {
			doubt = append(doubt, doubtful{req, alts})
		}
	}
	return func(at, t int) []float64 {
		room := cat.Allocatable[t].Clone()
		room.Sub(base, 1)
		if len(doubt) > 0 {
			node := reqs
			if own, err := s.vocab.Parse(cat.Types[t].Requirements); err == nil {
				node = node.And(own)
			}
			cell := &cat.Cells[at]
			for key, value := range map[string]string{requirement.Zone: cell.Zone, requirement.ZoneID: cell.ZoneID,
				requirement.CapacityType: cell.CapacityType, requirement.ReservationID: cell.ReservationID, requirement.PlacementPartition: catalog.PartitionLabel(cell.Partition)} {
				if value != "" {
					node = node.And(s.vocab.Only(key, value))
				}
			}
			for _, d := range doubt {
				if slices.ContainsFunc(d.alts, func(alt requirement.Requirements) bool { return node.Implies(alt, missing) }) {
					room.Sub(d.req, 1)
				}
			}
		}
		return s.scaled(room)
	}
}

func (s *search) reservation(pool *cluster.Pool, cell *catalog.Cell, ty *catalog.Type) int {
	name := fmt.Sprint("id ", cell.ReservationID, " ", ty.Name)
	if cell.ReservationID == "" {
		name = fmt.Sprint("in ", pool.Name, " ", cell.Zone, " ", cell.ZoneID, " ", ty.Name)
	}
	times := 0
	for _, o := range ty.Offerings {
		if o.Available && o.CapacityType == catalog.Reserved && o.Zone == cell.Zone && o.ZoneID == cell.ZoneID && o.ReservationID == cell.ReservationID && o.Partition == cell.Partition {
			times += max(0, o.Reservable)
		}
	}
	at, ok := s.ledgerIndex[name]
	if !ok {
		at = len(s.ledgers)
		s.ledgerIndex[name] = at
		s.ledgers = append(s.ledgers, ledger{name: name})
	}
	s.ledgers[at].times = max(s.ledgers[at].times, float64(times))
	return at
}

// offer lists a kind of instance. Of two for sale with the same room the cheaper one stays.
func (s *search) offer(m instance) {
	demand := s.demandOf(m.set)
	key := strconv.AppendInt(nil, int64(m.set), 36)
	for r := range m.room {
		m.room[r] = min(m.room[r], demand[r]*1.01+1) // more is of no use; just as much would be a limit
		key = strconv.AppendUint(append(key, ' '), math.Float64bits(m.room[r]), 36)
	}
	if m.ledger < 0 {
		if at, ok := s.offered[string(key)]; ok {
			s.instances[at].price = min(s.instances[at].price, m.price)
			return
		}
		s.offered[string(key)] = len(s.instances)
	}
	s.instances = append(s.instances, m)
}

// demandOf is what all rows of a set ask for together.
func (s *search) demandOf(set int) []float64 {
	for len(s.demands) <= set {
		demand := make([]float64, s.schema.Len())
		for i := range s.rows {
			row := &s.rows[i]
			if s.inSet(len(s.demands), row) {
				for r, x := range row.req {
					demand[r] += x * row.count
				}
			}
		}
		s.demands = append(s.demands, demand)
	}
	return s.demands[set]
}

func (s *search) inSet(set int, row *row) bool { return s.setHas(set, row.choice) }

func (s *search) setHas(set, choice int) bool {
	return s.sets[set][choice>>6]&(1<<(choice&63)) != 0
}

// fit finds which rows the instance carries, and how many of each.
func (s *search) fit(m *instance) {
	for i := range s.rows {
		row := &s.rows[i]
		if !s.inSet(m.set, row) {
			continue
		}
		most := row.perHost
		if row.shared >= 0 {
			most = min(most, s.limitOn(m, row.shared))
		}
		for r, x := range row.req {
			if x > 0 {
				most = min(most, math.Floor(max(0, m.room[r])/x+1e-9))
			}
		}
		if math.IsInf(most, 1) {
			most = row.count // pods that ask for nothing
		}
		if most >= 1 {
			m.rows, m.fit, m.capped = append(m.rows, i), append(m.fit, most), append(m.capped, min(most, row.count))
		}
	}
	m.most = m.fit
}

func (s *search) limitOn(m *instance, shared int) float64 {
	if m.limits != nil {
		return m.limits[shared]
	}
	return s.shared[shared].most
}

// keepBest drops instances for sale that are nowhere better than a cheaper one, and sorts the rest.
func (s *search) keepBest() {
	slices.SortStableFunc(s.instances, func(a, b instance) int {
		return cmp.Or(cmp.Compare(a.price, b.price), -slices.Compare(a.room, b.room), slices.Compare(s.sets[b.set], s.sets[a.set]))
	})
	supersets := make([][]int, len(s.sets))
	for i := range supersets {
		for j := range s.sets {
			if contains(s.sets[j], s.sets[i]) {
				supersets[i] = append(supersets[i], j)
			}
		}
	}
	bySet := make([][]instance, len(s.sets)) // of those kept, the ones for sale
	var kept []instance
	for _, m := range s.instances {
		worse := func(o instance) bool {
			for r, x := range m.room {
				if o.room[r] < x {
					return false
				}
			}
			return true
		}
		if m.ledger < 0 {
			if slices.ContainsFunc(supersets[m.set], func(set int) bool { return slices.ContainsFunc(bySet[set], worse) }) {
				continue
			}
			bySet[m.set] = append(bySet[m.set], m)
		}
		kept = append(kept, m)
	}
	s.instances = kept
}

func contains(larger, smaller []uint64) bool {
	for w, x := range smaller {
		if x&^larger[w] != 0 {
			return false
		}
	}
	return true
}
