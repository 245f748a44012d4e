package pack

import (
	"cmp"
	"encoding/binary"
	"slices"

	"github.com/kerf-sh/kerf/internal/engine/cluster"
	"github.com/kerf-sh/kerf/internal/engine/requirement"
	"github.com/kerf-sh/kerf/internal/engine/res"
)

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
	// demanded is alts as they are without the preferred node affinity that is honoured; nil if there is none.
	demanded []requirement.Requirements
	// broken, when set, says why the class can't be placed anywhere.
	broken string
	placed int // of pods, from the front
	topo   classTopology
	// sequential classes are placed pod by pod, because what one does decides what the next may do.
	sequential bool
	// late classes must be with pods that are placed no matter where they are; those go first.
	late  bool
	rank  rank
	items []*podGroup
	// domains by key, and the choices among them, as far as anybody asked.
	domains map[string][]domainTerms
	root    *pin
	// size numbers classes that ask for the same, and hosting those that stand the same to constraints by host; from 1.
	size, hosting int
	// tier numbers the part of the class that this is, when its pods differ in which preferences count for them as demands.
	tier        int
	preferences []preference
	honoured    honoured
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
		slices.SortFunc(c.pods, byAge)
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

// byAge orders pods by age, and those of one age by what they are called.
func byAge(a, b *cluster.Pod) int {
	if at := a.CreatedAt.Compare(b.CreatedAt); at != 0 {
		return at
	}
	return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name), cmp.Compare(a.UID, b.UID))
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

// domainTerms is a domain with the terms on which instances are launched there.
type domainTerms struct {
	name string
	on   terms
}

// pin is a choice of domains, a key at a time; the item for it is made once.
type pin struct {
	reqs requirement.Requirements
	name string
	// within are the nodes of the smallest of its domains; nil where it has none.
	within []*node
	item   *podGroup
	next   map[pinStep]*pin
}

// pinStep settles one key: on a domain, on having no such label, or on nothing.
type pinStep struct {
	key, name string
	lacking   bool
}

// sizeOf numbers classes that ask for the same.
func (s *solver) sizeOf(c *class) int {
	if c.size == 0 {
		b := make([]byte, 0, 64)
		for _, x := range c.req {
			b = binary.AppendVarint(b, x)
		}
		c.size = number(s.sizes, b)
	}
	return c.size
}

// number is that of the key, from 1.
func number(of map[string]int, key []byte) int {
	n, ok := of[string(key)]
	if !ok {
		n = len(of) + 1
		of[string(key)] = n
	}
	return n
}

// terms are those on which a new node can be launched in a domain: from a pool of the weight, and at what a pod is worth there.
type terms struct {
	weight int
	worth  int64
}

// compare puts a pool of more weight first whatever it costs.
func (x terms) compare(y terms) int {
	return cmp.Or(cmp.Compare(y.weight, x.weight), cmp.Compare(x.worth, y.worth))
}
