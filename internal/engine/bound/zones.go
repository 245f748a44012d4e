package bound

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/kerf-sh/kerf/internal/engine/catalog"
	"github.com/kerf-sh/kerf/internal/engine/cluster"
	"github.com/kerf-sh/kerf/internal/engine/plan"
	"github.com/kerf-sh/kerf/internal/engine/requirement"
)

// box is how many pods of a class a zone gets at least and at most.
type box struct {
	zone        string
	least, most int
}

// deal is rows that are pods of the same classes in different zones. Each gets its least; the rest goes wherever it is
// worth least, up to the most of each.
type deal struct {
	rows        []int // of search.rows; -1: a zone in which the pods are worth nothing
	least, most []float64
	count       float64
}

// amounts are the pods in each zone where they are worth least together, at the values.
func (d *deal) amounts(value func(i int) float64) []float64 {
	out, left := slices.Clone(d.least), d.count
	order := make([]int, len(d.rows))
	for i := range d.rows {
		order[i] = i
		left -= d.least[i]
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(value(a), value(b)) })
	for _, i := range order {
		n := min(left, d.most[i]-d.least[i])
		out[i] += n
		left -= n
	}
	return out
}

// worth of all pods of the deal at values y, wherever they go.
func (d *deal) worth(y []float64) float64 {
	value := func(i int) float64 {
		if d.rows[i] < 0 {
			return 0
		}
		return y[d.rows[i]]
	}
	sum := 0.0
	for i, n := range d.amounts(value) {
		sum += n * value(i)
	}
	return sum
}

// zoneReader finds the boxes of classes.
type zoneReader struct {
	s      *search
	labels []requirement.Requirements // by node
	open   []bool
	index  *classIndex
	known  map[int]*zonesOfChoice
	zone   requirement.Key
}

// zonesOfChoice are the zones in which classes of a choice may be.
type zonesOfChoice struct {
	sold    map[string]bool // instances are launched there
	all     []string        // the same, and those with existing nodes, sorted
	allowed []bool          // by node
	unclear bool            // a node may be in one of several zones
}

// dealOut finds the boxes of all classes that the plan has dealt out over zones in a way that meets them.
func (s *search) dealOut() {
	s.zoned, s.zoneOfChoice = make([][]box, len(s.placed)), map[int]string{}
	z := &zoneReader{s: s, known: map[int]*zonesOfChoice{}, zone: s.vocab.Key(requirement.Zone)}
	byZone := map[string]int{} // choices by text
	for i := range s.placed {
		boxes := z.boxes(i)
		if boxes == nil {
			continue
		}
		s.zoned[i] = boxes
		for _, b := range boxes {
			key := fmt.Sprint(s.choiceOf[i], " ", b.zone)
			if _, ok := byZone[key]; ok {
				continue
			}
			byZone[key] = len(s.choices)
			s.zoneOfChoice[len(s.choices)] = b.zone
			var alts []requirement.Requirements
			for _, alt := range s.choiceAlts[s.choiceOf[i]] {
				alts = append(alts, alt.And(s.vocab.Only(requirement.Zone, b.zone)))
			}
			s.choices = append(s.choices, s.choices[s.choiceOf[i]])
			s.choiceAlts = append(s.choiceAlts, alts)
		}
	}
	s.zoneChoice = byZone
}

// spreadsOverZones are the hard spreads over zones of a class that counts its own pods; nil if it has others that are
// wider than a host.
func spreadsOverZones(c *cluster.Class) []cluster.Spread {
	var out []cluster.Spread
	for _, sp := range c.Spreads {
		key := requirement.Normalize(sp.Key)
		if sp.Soft || sp.MaxSkew <= 0 || key == requirement.Hostname {
			continue
		}
		if key != requirement.Zone || !sp.Selector.Matches(c.Labels) {
			return nil
		}
		out = append(out, sp)
	}
	return out
}

// boxes are those of a class; nil when it has no spread that says anything, or when pods of others count for it.
func (z *zoneReader) boxes(class int) []box {
	c := &z.s.placed[class]
	spreads := spreadsOverZones(c.src)
	if len(spreads) == 0 {
		return nil
	}
	at := z.zonesOf(z.s.choiceOf[class])
	if at.unclear || len(at.sold) < 2 {
		return nil
	}
	out := make([]box, len(at.all))
	for i, zone := range at.all {
		out[i] = box{zone, 0, c.count}
	}
	for _, sp := range spreads {
		low, high, ok := z.running(c, sp, at)
		if !ok {
			return nil
		}
		for i := range out {
			b := &out[i]
			if at.sold[b.zone] {
				b.least = max(b.least, leastIn(c.count, sp.MaxSkew, b.zone, at.all, low, high))
			}
			b.most = min(b.most, mostIn(c.count, sp.MaxSkew, b.zone, at.sold, low, high))
		}
	}
	least, most := 0, 0
	for _, b := range out {
		if n := c.zones[b.zone]; n < b.least || n > b.most {
			return nil // the plan does not keep it
		}
		least, most = least+b.least, most+b.most
	}
	if least > c.count || most < c.count {
		return nil
	}
	return out
}

// leastIn is the fewest pods of n that a zone must get: in no other zone may be more than those in this one and the skew.
func leastIn(n, skew int, zone string, zones []string, low, high map[string]int) int {
	for x := range n {
		room := 0
		for _, d := range zones {
			if d != zone {
				room += max(0, skew+x+high[zone]-low[d])
			}
		}
		if n-x <= room {
			return x
		}
	}
	return n
}

// mostIn is the most pods of n that a zone can get: all zones in which instances are launched must have nearly as many.
func mostIn(n, skew int, zone string, sold map[string]bool, low, high map[string]int) int {
	for x := n; x > 0; x-- {
		need := 0
		for d := range sold {
			if d != zone {
				need += max(0, x+low[zone]-skew-high[d])
			}
		}
		if need <= n-x {
			return x
		}
	}
	return 0
}

// running counts the pods that run and that the spread counts: those that are sure to, and all that may. It is false if
// pods of other classes count that are pending.
func (z *zoneReader) running(c *placed, sp cluster.Spread, at *zonesOfChoice) (low, high map[string]int, ok bool) {
	if z.index == nil {
		z.index = newClassIndex(z.s)
	}
	low, high = map[string]int{}, map[string]int{}
	for _, o := range z.index.matching(c.src, sp.Selector) {
		if o.pending && o.id != c.id {
			return nil, nil, false
		}
		for node, n := range o.spots {
			if z.s.nodes()[node].Deleting {
				continue
			}
			set, has := z.labels[node].Get(z.zone)
			if !has {
				continue
			}
			zone, single := set.Single()
			if !single {
				for _, d := range at.all {
					high[d] += n.all
				}
				continue
			}
			high[zone] += n.all
			if at.allowed[node] && !z.open[node] {
				low[zone] += n.sure
			}
		}
	}
	return low, high, true
}

func (z *zoneReader) zonesOf(choice int) *zonesOfChoice {
	if known := z.known[choice]; known != nil {
		return known
	}
	s := z.s
	out := &zonesOfChoice{sold: map[string]bool{}}
	z.known[choice] = out
	all := map[string]bool{}
	for _, pool := range s.pools() {
		z.addSold(pool, choice, out, all)
	}
	nodes := s.nodes()
	if z.labels == nil {
		z.labels, z.open = make([]requirement.Requirements, len(nodes)), make([]bool, len(nodes))
		for i, n := range nodes {
			z.labels[i], z.open[i] = s.labelsOf(n)
		}
	}
	out.allowed = make([]bool, len(nodes))
	for i, n := range nodes {
		if n.Deleting || !s.allowedOn(n, choice, z.labels[i], z.open[i]) {
			continue
		}
		out.allowed[i] = true
		set, has := z.labels[i].Get(z.zone)
		if !has {
			out.unclear = out.unclear || z.open[i]
			continue // a pod with a spread can't be there
		}
		zone, single := set.Single()
		if !single {
			out.unclear = true
			continue
		}
		all[zone] = true
	}
	out.unclear = out.unclear || all[""]
	out.all = slices.Sorted(maps.Keys(all))
	return out
}

// addSold adds the zones in which the pool launches instances for the choice.
func (z *zoneReader) addSold(pool *cluster.Pool, choice int, out *zonesOfChoice, all map[string]bool) {
	s := z.s
	if pool.NotReady != "" {
		return
	}
	reqs, cat := s.readPool(pool)
	if cat == nil {
		return
	}
	s.eachSold(pool, reqs, cat, choice, func(cell int, _ catalog.TypeSet) {
		at := &cat.Cells[cell]
		all[at.Zone] = true
		if at.CapacityType != catalog.Reserved {
			out.sold[at.Zone] = true
		}
	})
}

// zoneOf is the zone in which the new node of a plan will be; empty if that is not settled.
func zoneOf(nn *plan.NewNode) string {
	for _, t := range nn.Requirements {
		if requirement.Normalize(t.Key) == requirement.Zone && t.Operator == requirement.In && len(t.Values) == 1 {
			return t.Values[0]
		}
	}
	return ""
}

// makeDeals joins the rows of classes in zones to deals.
func (s *search) makeDeals() {
	s.deals = s.deals[:0]
	at := map[int]int{} // by first row
	for i := range s.placed {
		if s.zoned[i] == nil {
			continue
		}
		rows := s.rowsOf[i]
		d, ok := at[rows[0]]
		if !ok {
			d = len(s.deals)
			at[rows[0]] = d
			s.deals = append(s.deals, deal{rows: slices.Clone(rows), least: make([]float64, len(rows)), most: make([]float64, len(rows))})
		}
		for j, b := range s.zoned[i] {
			s.deals[d].least[j] += float64(b.least)
			s.deals[d].most[j] += float64(b.most)
		}
		s.deals[d].count += float64(s.placed[i].count)
	}
}
