package bound

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"math/bits"
	"slices"

	"github.com/kerf-sh/kerf/internal/engine/cluster"
	"github.com/kerf-sh/kerf/internal/engine/pack"
	"github.com/kerf-sh/kerf/internal/engine/plan"
	"github.com/kerf-sh/kerf/internal/engine/requirement"
	"github.com/kerf-sh/kerf/internal/engine/res"
)

// placed is a class with as many of its pods as a plan places.
type placed struct {
	id    string
	src   *cluster.Class
	count int
	// zones counts them by zone, where that is settled.
	zones map[string]int
}

// placedClasses counts the pods that the plan puts somewhere, by class, sorted by class.
func placedClasses(p *pack.Problem, pl *plan.Plan) []placed {
	classOf := map[cluster.PodRef]*cluster.Class{}
	for _, pod := range p.Pending {
		if pod.Class != nil {
			classOf[pod.PodRef] = pod.Class
		}
	}
	byID := map[string]*placed{}
	seen := map[cluster.PodRef]bool{}
	add := func(refs []cluster.PodRef, zone string) {
		for _, ref := range refs {
			src := classOf[ref]
			if src == nil || seen[ref] {
				continue
			}
			seen[ref] = true
			id := src.ID
			if id == "" {
				id = src.Hash()
			}
			if byID[id] == nil {
				byID[id] = &placed{id: id, src: src, zones: map[string]int{}}
			}
			byID[id].count++
			byID[id].zones[zone]++
		}
	}
	for i := range pl.NewNodes {
		add(pl.NewNodes[i].Pods, zoneOf(&pl.NewNodes[i]))
	}
	zoneOfNode := map[string]string{}
	for _, n := range p.Nodes {
		zoneOfNode[n.Name] = n.Labels[requirement.Zone]
	}
	for _, x := range pl.Placements {
		add(x.Pods, zoneOfNode[x.Node])
	}
	out := make([]placed, 0, len(byID))
	for _, c := range byID {
		out = append(out, *c)
	}
	slices.SortFunc(out, func(a, b placed) int { return cmp.Compare(a.id, b.id) })
	return out
}

// row is one or several classes that the search need not tell apart.
type row struct {
	classes []int     // of search.placed; their pods in one zone, for those that are dealt out over zones
	req     []float64 // in scaled units
	exact   res.Vector
	count   float64 // at most
	perHost float64 // how many pods one host takes, were there no other rows; infinite without a limit
	shared  int     // a limit per host that other rows share, of search.shared; -1: none
	choice  int
	dealt   bool // part of a deal
}

// sharedLimit is a limit per host on the pods of several rows together.
type sharedLimit struct {
	most  float64
	limit *classLimit
}

// maxRows is how many rows the search can deal with; if there are more, requests are rounded down to make classes alike.
// The certificate makes up for most of that, see lifted.
const maxRows = 600

// makeRows merges classes that have the same choice of instances, the same requests and like limits per host.
func (s *search) makeRows() {
	s.pickLimits()
	s.mergeRows(64)
	if len(s.rows) > fewRows {
		s.loosen()
		s.mergeRows(64)
	}
	for digits := 7; len(s.rows) > maxRows && digits >= 0; digits-- {
		s.work.Rounded = true
		s.mergeRows(digits)
	}
	s.work.Rows = len(s.rows)
}

// mergeRows makes the rows with requests rounded down to so many binary digits after the first.
func (s *search) mergeRows(digits int) {
	s.rows, s.rowsOf = s.rows[:0], make([][]int, len(s.placed))
	index := map[string]int{}
	for i, c := range s.placed {
		exact := s.schema.Vector(c.src.Requests)
		for r, x := range exact {
			if l := bits.Len64(uint64(x)); l > digits+1 {
				exact[r] = x &^ (1<<(l-digits-1) - 1)
			}
		}
		s.rowsOf[i] = nil
		if s.zoned[i] == nil {
			s.addToRow(index, i, s.choiceOf[i], c.count, exact)
		}
		for _, b := range s.zoned[i] {
			s.addToRow(index, i, s.zoneChoice[fmt.Sprint(s.choiceOf[i], " ", b.zone)], b.most, exact)
		}
	}
}

// addToRow adds pods of a class to the row of its like.
func (s *search) addToRow(index map[string]int, i, choice, count int, exact res.Vector) {
	lim := s.limits[i]
	key := fmt.Sprint(choice, exact, lim.most, lim.shared)
	if lim.most > 0 && lim.shared < 0 && !s.work.Rounded {
		key += fmt.Sprint(" ", s.placed[i].count, s.zoned[i]) // a limit of its own: alike only if there are as many
	}
	at, ok := index[key]
	if !ok {
		at = len(s.rows)
		index[key] = at
		s.rows = append(s.rows, row{exact: exact, req: s.scaled(exact), shared: lim.shared, choice: choice, dealt: s.zoned[i] != nil})
	}
	s.rowsOf[i] = append(s.rowsOf[i], at)
	r := &s.rows[at]
	r.classes = append(r.classes, i)
	r.count += float64(count)
	switch {
	case lim.most == 0 || lim.shared >= 0:
		r.perHost = math.Inf(1)
	default:
		r.perHost += float64(lim.most)
	}
}

// scaled writes amounts in GiB and cores, so that the numbers of the search are near one another.
func (s *search) scaled(v res.Vector) []float64 {
	out := make([]float64, len(v))
	for r, x := range v {
		out[r] = float64(max(0, x)) / s.scale[r]
	}
	return out
}

// classLimit is the tightest limit per host that a class sets to itself.
type classLimit struct {
	most   int // 0: none
	shared int // of search.shared, if other classes share it
	rule   string
	// minds tells which running pods matter: each takes a place, or any of them all places when it is exclusive. Pods
	// that terminate matter where ports are concerned.
	minds     func(*cluster.Class) bool
	exclusive bool
	ports     bool
}

// pickLimits chooses for every class one of its limits per host: the tightest, and of those the one that most classes
// share.
func (s *search) pickLimits() {
	all := make([][]classLimit, len(s.placed))
	members := map[string]int{}
	for i, c := range s.placed {
		all[i] = limitsPerHost(c.src)
		for _, l := range all[i] {
			members[l.rule]++
		}
	}
	index := map[string]int{}
	chosen := map[string]int{}
	for i := range s.placed {
		s.limits = append(s.limits, classLimit{shared: -1})
		if len(all[i]) == 0 {
			continue
		}
		s.limits[i] = slices.MinFunc(all[i], func(a, b classLimit) int {
			return cmp.Or(cmp.Compare(a.most, b.most), cmp.Compare(members[b.rule], members[a.rule]), cmp.Compare(a.rule, b.rule))
		})
		s.limits[i].shared = -1
		chosen[s.limits[i].rule]++
	}
	for i := range s.limits {
		l := &s.limits[i]
		if l.most == 0 || chosen[l.rule] < 2 {
			continue
		}
		at, ok := index[l.rule]
		if !ok {
			if len(s.shared) == maxShared {
				continue
			}
			at = len(s.shared)
			index[l.rule] = at
			s.shared = append(s.shared, sharedLimit{most: float64(l.most), limit: l})
		}
		l.shared = at
	}
}

// maxShared is how many limits per host that several classes share are kept; classes keep the others each for itself.
const maxShared = 24

// keysOfSpreads are those of the hard ones. Classes share a limit only if theirs are the same: otherwise they may look at
// different nodes, and the check of plans judges each for itself.
func keysOfSpreads(c *cluster.Class) []string {
	var out []string
	for _, sp := range c.Spreads {
		if !sp.Soft && sp.MaxSkew > 0 {
			out = append(out, requirement.Normalize(sp.Key))
		}
	}
	slices.Sort(out)
	return out
}

func limitsPerHost(c *cluster.Class) []classLimit {
	var out []classLimit
	put := func(l classLimit, parts ...any) {
		b, _ := json.Marshal(parts)
		l.rule = string(b)
		out = append(out, l)
	}
	if len(c.HostPorts) > 0 {
		ports := slices.Clone(c.HostPorts)
		slices.SortFunc(ports, func(a, b cluster.HostPort) int { return cmp.Compare(a.String(), b.String()) })
		put(classLimit{most: 1, exclusive: true, ports: true, minds: func(o *cluster.Class) bool {
			for _, p := range ports {
				if slices.ContainsFunc(o.HostPorts, p.Conflicts) {
					return true
				}
			}
			return false
		}}, "ports", ports)
	}
	for _, t := range c.AntiAffinity {
		in := t.Namespaces
		if len(in) == 0 {
			in = []string{c.Namespace}
		}
		minds := func(o *cluster.Class) bool {
			return c.Counts(o) && slices.Contains(in, o.Namespace) && t.Selector.Matches(o.Labels)
		}
		if t.Weight == 0 && requirement.Normalize(t.Key) == requirement.Hostname && minds(c) {
			put(classLimit{most: 1, exclusive: true, minds: minds}, "apart", c.Virtual, in, t.Selector)
		}
	}
	for _, sp := range c.Spreads {
		minds := func(o *cluster.Class) bool {
			return c.Counts(o) && o.Namespace == c.Namespace && sp.Selector.Matches(o.Labels)
		}
		if !sp.Soft && sp.MaxSkew > 0 && requirement.Normalize(sp.Key) == requirement.Hostname && minds(c) {
			put(classLimit{most: sp.MaxSkew, minds: minds}, "spread", c.Virtual, c.Namespace, sp.MaxSkew, sp.MinDomains, sp.Selector, c.Selector, c.Affinity,
				sp.HonorTaints, sp.IgnoreAffinity, keysOfSpreads(c))
		}
	}
	return out
}

// limitOnNode is how many pods that bear the limit fit next to the pods that run on a node. It remembers in known which
// classes matter.
func (l *classLimit) limitOnNode(n *cluster.Node, pending map[cluster.PodRef]bool, known map[*cluster.Class]bool) float64 {
	most := l.most
	for _, pod := range n.Pods {
		o := pod.Class
		if o == nil || pending[pod.PodRef] || (pod.Terminating && !l.ports) {
			continue
		}
		minds, ok := known[o]
		if !ok {
			minds = l.minds(o)
			known[o] = minds
		}
		switch {
		case minds && l.exclusive:
			return 0
		case minds:
			most--
		}
	}
	return float64(max(0, most))
}
