package pack

import (
	"slices"

	"github.com/kerf-sh/kerf/internal/engine/cluster"
	"github.com/kerf-sh/kerf/internal/engine/cuttingstock"
	"github.com/kerf-sh/kerf/internal/engine/plan"
	"github.com/kerf-sh/kerf/internal/engine/requirement"
	"github.com/kerf-sh/kerf/internal/engine/res"
)

// solver is the working state of one solution. Everything in it is in an order that does not depend on the order of the
// problem's parts, nor on that of maps.
type solver struct {
	p *Problem
	// moving are running pods that are compiled like pending ones, because they may have to move; see WhatIf.
	moving []*cluster.Pod
	memory *memory
	serial uint64
	// journal of the forks; nil for a plan, which has none.
	journal *journal

	assumed
	model
	launched
	numbers
	stats plan.Stats
	// visited is how many nodes were looked at for pods that are placed one by one; a test bounds it.
	visited int
}

// assumed is what the solution takes for granted.
type assumed struct {
	choice choice          // preferences that count as demands
	hint   domainHint      // where pods that may go to any domain are led
	unsure map[string]bool // classes, by ID, that must not be dealt out ahead
}

// model is the problem as the stages read it, with how far its pods are placed on nodes that are there.
type model struct {
	vocab      *requirement.Vocabulary
	schema     *res.Schema
	reqs       *reqTable
	lead       [2]int // where cpu and memory stand in vectors
	wellKnown  map[requirement.Key]bool
	compileKey *compileKey

	classes    []*class
	byLabel    labelIndex   // of classes
	pools      []*pool      // by weight, then name descending
	nodes      []*node      // existing ones: initialized first, then by name
	overlay    *nodeOverlay // of the nodes
	most       []res.Vector // by strip of nodes: none has more room
	kinds      int          // of nodes
	daemons    []daemon
	podGroups  []*podGroup // hardest first
	sequential []*class    // whose pods are placed one by one
	running    running

	groups   []*group
	inDomain map[string]map[string][]*node // by key and domain
	bearers  [][]*class                    // by group: pending classes that bear the constraint
	frozen   []*group                      // spreads that rely on their domains as they are
	hinted   []hintedGroup                 // groups whose pods may go to any domain

	reservations map[string]*reservation
	subnets      map[string]*subnet // nil where nothing is said of any
}

// launched are the nodes to launch, and how far the pods are tried.
type launched struct {
	newNodes []*newNode
	spare    [][2]int64 // cpu and memory that are left on the launched
	draft    *newNode   // one that was not launched, to be used again
	room     res.Vector // scratch
	demanded []askedOf  // scratch
	bids     [2][]bid   // scratch
	tried    []int      // scratch
	crowds   []crowd    // by pool: the items that are left, for filling
	// lastResort is set once everything else is placed.
	lastResort bool
	// squeezing lets pods that have no other place take that of the bearers of a spread over hosts.
	squeezing bool
}

// askedOf is an amount of a resource.
type askedOf struct {
	resource int
	amount   float64
}

// numbers are answers that are asked for again and again.
type numbers struct {
	// sizes, hosting and choosing number what crowds take together.
	sizes, hosting, choosing map[string]int
	worths                   map[worthKey]worthOf
	listings                 map[listingKey][]plan.TypeChoice
	terms                    map[*shape][]requirement.Term
	bins                     map[binsKey][]cuttingstock.Bin
}

// binsKey is what the ways to launch depend on while all types may be launched.
type binsKey struct {
	pool   *pool
	places string // by access class
}

func newSolver(p *Problem, k *memory) *solver {
	k.serial++
	s := &solver{p: p, memory: k, serial: k.serial,
		model: model{vocab: k.vocab, reqs: k.reqs, wellKnown: map[requirement.Key]bool{}},
		numbers: numbers{sizes: map[string]int{}, hosting: map[string]int{}, choosing: map[string]int{}, worths: map[worthKey]worthOf{},
			bins: map[binsKey][]cuttingstock.Bin{}, listings: map[listingKey][]plan.TypeChoice{}, terms: map[*shape][]requirement.Term{}}}
	for _, k := range p.Options.WellKnown {
		s.wellKnown[s.vocab.Key(k)] = true
	}
	s.reqID(requirement.Requirements{}) // 0 is the requirement that demands nothing
	return s
}

// reqID interns requirements; equal ones get the same number.
func (s *solver) reqID(r requirement.Requirements) int { return s.reqs.id(r) }

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

// lean says to which domain the pods of a group are led, by the group's name; "" stands for all groups that are not named.
type domainHint map[string]string

// hintedGroup is a group whose pods had a choice of domains.
type hintedGroup struct {
	group   *group
	domains []string
}

type listingKey struct {
	shape *shape
	types string
}
