package pack

import (
	"cmp"
	"slices"
	"strings"

	"github.com/kerf-sh/kerf/internal/engine/cluster"
	"github.com/kerf-sh/kerf/internal/engine/plan"
	"github.com/kerf-sh/kerf/internal/engine/requirement"
	"github.com/kerf-sh/kerf/internal/engine/res"
)

// Solve places the pending pods on existing nodes and on new ones, at the least price per hour that it finds, and says
// of every pod that is left why.
//
// The order of work: classes are compiled, demands on topology are turned into pinned items, items go to existing nodes,
// then new nodes are opened for what is left, hardest item first, and filled with whatever pays best.
//
// Cost: grows with classes, types and nodes. Pods of a class are placed in numbers, so that their count hardly matters; those
// that have to be placed one by one cost in proportion to it, and do not look at every node anew.
// Concurrency: safe; p is only read.
func Solve(p *Problem) *plan.Plan { return NewEngine().Solve(p) }

// solveHard solves the problem with the wishes of the choice as demands, and without any others.
func (k *kept) solveHard(p *Problem, wishes choice) *solver {
	unsure := map[string]bool{}
	for {
		s := newSolver(p, k)
		s.unsure, s.choice = unsure, wishes
		s.compile()
		s.placeAll()
		if !s.overdrawn() && !s.missedShares() {
			return s
		}
	}
}

// missedShares finds classes that were dealt out over domains but did not find their places there. What was counted on
// their behalf then misled others, so the problem is solved again with those classes placed pod by pod. It is true when
// there is a new one, so it can't go on for ever.
func (s *solver) missedShares() bool {
	missed := false
	for _, it := range s.items {
		if it.class.topo.share != nil && (it.left > 0 || s.tipped(it)) && !s.unsure[it.class.src.ID] {
			s.unsure[it.class.src.ID] = true
			missed = true
		}
	}
	return missed
}

// solver is the working state of one Solve. Everything in it is in an order that does not depend on the order of the
// problem's parts, nor on that of maps.
type solver struct {
	p *Problem
	// moving are running pods that are compiled like pending ones, because they may have to move; see WhatIf.
	moving []*cluster.Pod
	vocab  *requirement.Vocabulary
	schema *res.Schema

	classes []*class
	pools   []*pool      // by weight, then name descending
	nodes   []*node      // existing ones: initialized first, then by name
	most    []res.Vector // by strip of nodes: none has more room
	daemons []daemon
	groups  []*group
	items   []*item // hardest first

	reservations map[string]*reservation
	subnets      map[string]*subnet // nil where nothing is said of any
	bought       []*machine
	spare        [][2]int64 // cpu and memory that are left on the bought
	attempt      *machine   // one that was not bought, to be used again
	room         res.Vector // scratch

	kept    *kept
	setting *setting
	field   *field // of the nodes
	serial  uint64
	byLabel labelIndex // of classes
	running running
	reqs    *reqTable

	wellKnown map[requirement.Key]bool
	kinds     int
	inDomain  map[string]map[string][]*node // by key and domain
	bearers   [][]*class                    // by group: pending classes that bear the constraint
	careful   []*class
	frozen    []*group // spreads that rely on their domains as they are
	// lastResort is set once everything else is placed.
	lastResort bool
	// squeezing lets pods that have no other place take that of the bearers of a spread over hosts.
	squeezing bool
	choice    choice          // wishes that count as demands
	lean      lean            // where pods that may go to any domain are led
	led       []leaning       // groups whose pods had such a choice
	unsure    map[string]bool // classes, by ID, that must not be dealt out ahead
	lead      [2]int          // where cpu and memory stand in vectors
	// sizes, hosting and choosing number what crowds take together.
	sizes, hosting, choosing map[string]int
	worths                   map[worthKey]worthOf

	listings map[listingKey][]plan.TypeChoice
	terms    map[*shape][]requirement.Term
	stats    plan.Stats
	// visited is how many nodes were looked at for pods that are placed one by one; a test bounds it.
	visited int
}

func newSolver(p *Problem, k *kept) *solver {
	k.serial++
	s := &solver{p: p, kept: k, lean: k.lean, serial: k.serial, vocab: k.vocab, reqs: k.reqs, wellKnown: map[requirement.Key]bool{},
		listings: map[listingKey][]plan.TypeChoice{}, terms: map[*shape][]requirement.Term{},
		sizes: map[string]int{}, hosting: map[string]int{}, choosing: map[string]int{}, worths: map[worthKey]worthOf{}}
	for _, k := range p.Options.WellKnown {
		s.wellKnown[s.vocab.Key(k)] = true
	}
	s.reqID(requirement.Requirements{}) // 0 is the requirement that demands nothing
	return s
}

// reqID interns requirements; equal ones get the same number.
func (s *solver) reqID(r requirement.Requirements) int { return s.reqs.id(r) }

func (s *solver) compile() {
	s.makeSchema()
	s.compileClasses()
	s.compileDaemons()
	s.setting = s.kept.use(s)
	s.compileReservations()
	s.compileSubnets()
	s.compilePools()
	for _, c := range s.classes {
		c.rank = s.rankOf(c)
	}
	s.compileNodes()
	s.compileTopology()
	if s.moving != nil {
		for _, n := range s.nodes {
			s.hostOf(n)
		}
	} else {
		s.compileItems()
	}
}

// makeSchema lists the resources that anything asks for; others can't decide anything.
func (s *solver) makeSchema() {
	names := []string{res.CPU, res.Memory, res.Pods}
	seen, drivers := map[*cluster.Class]bool{}, map[string]bool{}
	add := func(c *cluster.Class) {
		if seen[c] {
			return
		}
		seen[c] = true
		for k, v := range c.Requests {
			if v > 0 {
				names = append(names, k)
			}
		}
		for _, name := range driversOf(c) {
			drivers[name] = true
		}
	}
	for _, pod := range slices.Concat(s.p.Pending, s.moving) {
		if pod.Class != nil {
			add(pod.Class)
		}
	}
	for _, d := range s.p.Daemons {
		add(d.Class)
	}
	for _, pool := range s.p.Pools {
		for k := range pool.Limits {
			if k != res.Nodes {
				names = append(names, k)
			}
		}
	}
	s.schema = res.NewSchema(append(names, s.limitedDrivers(drivers)...)...)
	s.lead[0], _ = s.schema.Index(res.CPU)
	s.lead[1], _ = s.schema.Index(res.Memory)
}

// class is a set of pending pods that a scheduler can't tell apart.
type class struct {
	src  *cluster.Class
	pods []*cluster.Pod // oldest first
	req  res.Vector
	// shared is what the first pod on a node adds and the next do not; nil for nothing.
	shared res.Vector
	// alts are the alternatives of node requirements, any of which will do.
	alts []requirement.Requirements
	// altIDs are the numbers of alts, once they are final.
	altIDs []int
	// strict is alts without what volumes demand; it decides which domains the pod counts as its own.
	strict []requirement.Requirements
	// broken, when set, says why the class can't be placed anywhere.
	broken string
	placed int // of pods, from the front
	topo   classTopology
	// careful classes are placed pod by pod, because what one does decides what the next may do.
	careful bool
	// late classes must be with pods that are placed no matter where they are; those go first.
	late  bool
	rank  rank
	items []*item
	// domains by key, and the choices among them, as far as anybody asked.
	domains map[string][]domainTerms
	root    *pin
	// size numbers classes that ask for the same, and hosting those that stand the same to constraints by host; from 1.
	size, hosting int
	// tier numbers the part of the class that this is, when its pods differ in which wishes count for them as demands.
	tier     int
	wishes   []wish
	honoured honoured
	// bearsAvoided: nodes that ask to be avoided are as good as any.
	bearsAvoided bool
}

func (c *class) left() int { return len(c.pods) - c.placed }

func (s *solver) compileClasses() {
	byID := map[string]*class{}
	for _, pod := range slices.Concat(s.p.Pending, s.moving) {
		src := pod.Class
		if src == nil {
			src = &cluster.Class{Unplaceable: "its class is not known"}
		}
		id := src.ID
		if id == "" {
			id = src.Hash()
		}
		c := byID[id]
		if c == nil {
			c = &class{src: src, req: s.attached(src, s.schema.Vector(src.Requests)), shared: s.shared(src), broken: src.Unplaceable}
			if c.src.ID == "" {
				withID := *src
				withID.ID = id
				c.src = &withID
			}
			byID[id] = c
			s.classes = append(s.classes, c)
		}
		c.pods = append(c.pods, pod)
	}
	slices.SortFunc(s.classes, func(a, b *class) int { return cmp.Compare(a.src.ID, b.src.ID) })
	for _, c := range s.classes {
		slices.SortFunc(c.pods, func(a, b *cluster.Pod) int {
			return cmp.Or(a.CreatedAt.Compare(b.CreatedAt), cmp.Compare(a.Namespace, b.Namespace),
				cmp.Compare(a.Name, b.Name), cmp.Compare(a.UID, b.UID))
		})
		s.stats.Pods += len(c.pods)
	}
	s.stats.Classes = len(s.classes)
	s.classes = s.tiers(s.classes)
	for _, c := range s.classes {
		if c.broken == "" {
			s.compileAlternatives(c)
			s.honourNode(c)
		}
	}
}

func (s *solver) compileAlternatives(c *class) {
	base, err := s.vocab.Parse(c.src.Selector)
	if err != nil {
		c.broken = err.Error()
		return
	}
	strict, problem := s.alternatives([]requirement.Requirements{base}, c.src.Affinity)
	if problem == "" {
		c.strict = strict
		c.alts, problem = s.alternatives(strict, c.src.Volumes)
	}
	c.broken = problem
}

// altsOf are the alternatives of the class, by number.
func (s *solver) altsOf(c *class) []int {
	if len(c.altIDs) != len(c.alts) {
		c.altIDs = make([]int, len(c.alts))
		for i, alt := range c.alts {
			c.altIDs[i] = s.reqID(alt)
		}
	}
	return c.altIDs
}

// alternatives is every base with every one of the ORed term lists. A list that does not parse is left out, unless none
// is left.
func (s *solver) alternatives(bases []requirement.Requirements, ored [][]requirement.Term) ([]requirement.Requirements, string) {
	if len(ored) == 0 {
		return bases, ""
	}
	var out []requirement.Requirements
	problem := ""
	for _, base := range bases {
		for _, terms := range ored {
			r, err := s.vocab.Parse(terms)
			if err != nil {
				problem = err.Error()
				continue
			}
			out = append(out, base.And(r))
		}
	}
	if len(out) > 0 {
		problem = ""
	}
	return out, problem
}

// daemon is a DaemonSet's pod as the solver counts it.
type daemon struct {
	src  cluster.Daemon
	req  res.Vector
	alts []requirement.Requirements
}

func (s *solver) compileDaemons() {
	for _, d := range s.p.Daemons {
		base, err := s.vocab.Parse(d.Class.Selector)
		if err != nil {
			continue // a daemon that selects nothing runs nowhere
		}
		alts, problem := s.alternatives([]requirement.Requirements{base}, d.Class.Affinity)
		if problem != "" {
			continue
		}
		s.daemons = append(s.daemons, daemon{src: d, req: s.schema.Vector(d.Class.Requests), alts: alts})
	}
	slices.SortFunc(s.daemons, func(a, b daemon) int { return strings.Compare(a.src.Name, b.src.Name) })
}

// part is some pods of an item on one machine.
type part struct {
	item *item
	n    int
}

// taintVerdict says how taints stand to tolerations.
type taintVerdict int

const (
	bears  taintVerdict = iota // all taints are tolerated
	avoids                     // only PreferNoSchedule is not
	barred                     // NoSchedule or NoExecute is not
)

func judgeTaints(taints []cluster.Taint, tolerations []cluster.Toleration) taintVerdict {
	if len(taints) == 0 {
		return bears
	}
	if _, ok := cluster.Untolerated(taints, tolerations, cluster.NoSchedule, cluster.NoExecute); ok {
		return barred
	}
	if _, ok := cluster.Untolerated(taints, tolerations, cluster.PreferNoSchedule); ok {
		return avoids
	}
	return bears
}

func portsConflict(a, b []cluster.HostPort) bool {
	for _, x := range a {
		for _, y := range b {
			if x.Conflicts(y) {
				return true
			}
		}
	}
	return false
}
