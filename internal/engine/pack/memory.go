package pack

import (
	"maps"
	"slices"

	"github.com/kerf-sh/kerf/internal/engine/catalog"
	"github.com/kerf-sh/kerf/internal/engine/cluster"
	"github.com/kerf-sh/kerf/internal/engine/requirement"
	"github.com/kerf-sh/kerf/internal/engine/res"
)

// kept is what outlives a solution. It never decides anything: without it the same is worked out again.
type memory struct {
	vocab       *requirement.Vocabulary
	reqs        *reqTable
	compileKeys []*compileKey // most recently used last
	borrowed    []borrowedPool
	overlays    []*nodeOverlay // nodes that solvers change
	serial      uint64         // of the last solver
	last        *solved
	worked      Worked
	learned     learned // of the problem at hand
	// rounds counts the problems up to settleRounds; needed is how many bytes were in use after them.
	rounds, needed int
	// idle is for how many rounds Questions did not need it.
	idle int
}

// mostSettings is how many combinations of resources, daemons and well-known labels are remembered.
const mostCompileKeys = 4

// What only grows (names, and requirements made of them) is dropped all at once, and the next problem is solved from
// nothing, when it is twice what the first settleRounds problems needed and unneededBytes besides: memory follows what a
// cluster holds now, not what it ever held, and solving from nothing happens once for each time that many names are new.
const settleRounds, unneededBytes = 16, 4 << 20

func newMemory() *memory {
	return &memory{vocab: requirement.NewVocabulary(), reqs: &reqTable{ids: map[string]int{}, ands: map[[2]int]int{}}}
}

func (k *memory) full() bool { return k.bytes() > 2*k.needed+unneededBytes }

// bytes is about what is held of all that only grows.
func (k *memory) bytes() int { return k.vocab.Bytes() + k.reqs.bytes + andBytes*len(k.reqs.ands) }

// reqTable numbers requirements; equal ones of one vocabulary have the same number.
type reqTable struct {
	ids map[string]int
	all []requirement.Requirements
	// ands remembers intersections; -1: they exclude each other.
	ands map[[2]int]int
	// bytes is about what ids and all hold.
	bytes int
}

// andBytes and reqBytes are about what an entry of ands takes, and one of ids and all besides the text and the requirements.
const andBytes, reqBytes = 50, 100

// and numbers the intersection of two; -1 if nothing can meet both.
func (t *reqTable) and(a, b int) int {
	at := [2]int{a, b}
	if id, ok := t.ands[at]; ok {
		return id
	}
	id := -1
	r := t.all[a].And(t.all[b])
	if _, empty := r.FirstEmpty(); !empty {
		id = t.id(r)
	}
	t.ands[at] = id
	return id
}

func (t *reqTable) id(r requirement.Requirements) int {
	k := r.CacheKey()
	if id, ok := t.ids[k]; ok {
		return id
	}
	id := len(t.all)
	t.ids[k] = id
	t.all = append(t.all, r)
	t.bytes += reqBytes + len(k) + r.Bytes()
	return id
}

// compileKey is what compiled pools and nodes depend on besides themselves, and those that were compiled under it.
type compileKey struct {
	schema    *res.Schema
	names     []string
	wellKnown []string
	daemons   []cluster.Daemon
	catalogs  []*keptCatalog
	pools     map[string]*keptPool
	base      nodeBase
	round     int
}

type keptCatalog struct {
	types []*catalog.Type
	cat   *catalog.Catalog
	err   error
	// reserved are the offerings of reservations.
	reserved []catalog.Offering
	round    int
}

type keptPool struct {
	pool  *pool
	src   *cluster.Pool
	types *catalog.Catalog
	round int // of the setting, in which it was last used
}

// borrowedPool is a compiled pool that a solver uses and changes; it comes back when the round ends.
type borrowedPool struct {
	to *compileKey
	p  *pool
}

func (l borrowedPool) giveBack() {
	l.p.wellKnown, l.p.journal = nil, nil
	l.to.pools[l.p.src.Name] = &keptPool{pool: l.p, src: l.p.src, types: l.p.cat, round: l.to.round}
}

// use finds the setting of the solver, or begins one.
func (k *memory) use(s *solver) *compileKey {
	names := make([]string, s.schema.Len())
	for i := range names {
		names[i] = s.schema.Name(i)
	}
	wellKnown := slices.Sorted(slices.Values(s.p.Options.WellKnown))
	daemons := make([]cluster.Daemon, len(s.daemons))
	for i, d := range s.daemons {
		daemons[i] = d.src
	}
	for i, t := range k.compileKeys {
		if slices.Equal(t.names, names) && slices.Equal(t.wellKnown, wellKnown) && slices.EqualFunc(t.daemons, daemons, sameDaemon) {
			k.compileKeys = append(slices.Delete(k.compileKeys, i, i+1), t)
			return t
		}
	}
	if len(k.compileKeys) == mostCompileKeys {
		k.compileKeys = slices.Delete(k.compileKeys, 0, 1)
	}
	t := &compileKey{schema: s.schema, names: names, wellKnown: wellKnown, daemons: daemons,
		pools: map[string]*keptPool{}, base: newNodeBase(&k.worked)}
	k.compileKeys = append(k.compileKeys, t)
	return t
}

func sameDaemon(a, b cluster.Daemon) bool {
	return a.Name == b.Name && (a.Class == b.Class || a.Class.ID != "" && a.Class.ID == b.Class.ID)
}

// endRound takes loans back and forgets what the setting in use did not need.
func (k *memory) endRound() {
	for _, l := range k.borrowed {
		l.giveBack()
	}
	k.borrowed = k.borrowed[:0]
	for _, f := range k.overlays {
		f.to.spare = append(f.to.spare, f)
	}
	k.overlays = k.overlays[:0]
	if k.rounds < settleRounds {
		k.rounds, k.needed = k.rounds+1, k.bytes()
	}
	if len(k.compileKeys) == 0 {
		return
	}
	t := k.compileKeys[len(k.compileKeys)-1]
	t.catalogs = slices.DeleteFunc(t.catalogs, func(c *keptCatalog) bool { return c.round != t.round })
	maps.DeleteFunc(t.pools, func(_ string, p *keptPool) bool { return p.round != t.round })
	t.round++
}

// catalog is the compiled form of the types.
func (t *compileKey) catalog(types []*catalog.Type, vocab *requirement.Vocabulary) (*catalog.Catalog, error) {
	c := t.catalogOf(types, vocab)
	return c.cat, c.err
}

// reserved are the offerings of reservations among those of the types.
func (t *compileKey) reserved(types []*catalog.Type, vocab *requirement.Vocabulary) []catalog.Offering {
	return t.catalogOf(types, vocab).reserved
}

func (t *compileKey) catalogOf(types []*catalog.Type, vocab *requirement.Vocabulary) *keptCatalog {
	for _, c := range t.catalogs {
		if same(c.types, types) {
			c.round = t.round
			return c
		}
	}
	t.base.worked.Catalogs++
	var like *catalog.Catalog
	if n := len(t.catalogs); n > 0 {
		like = t.catalogs[n-1].cat
	}
	c := &keptCatalog{types: types, round: t.round}
	if c.cat, c.err = catalog.CompileLike(like, types, vocab, t.schema); c.err != nil {
		c.cat, _ = catalog.Compile(nil, vocab, t.schema)
	}
	for _, x := range types {
		for _, o := range x.Offerings {
			if o.CapacityType == catalog.Reserved && o.ReservationID != "" {
				c.reserved = append(c.reserved, o)
			}
		}
	}
	t.catalogs = append(t.catalogs, c)
	return c
}

func same(a, b []*catalog.Type) bool {
	if len(a) != len(b) {
		return false
	}
	return len(a) == 0 || &a[0] == &b[0] || slices.Equal(a, b)
}

// borrow is a compiled pool that differs from src in nothing but what is set anew for each solution; nil if there is
// none, or another solver has it.
func (t *compileKey) borrow(src *cluster.Pool, cat *catalog.Catalog, upkeep catalog.MicroUSD) *pool {
	k := t.pools[src.Name]
	if k == nil {
		return nil
	}
	delete(t.pools, src.Name)
	if k.types != cat || k.pool.upkeep != upkeep || !k.src.SameTerms(src) || len(k.pool.shapes) > 2000 {
		return nil
	}
	return k.pool
}

// Worked counts what had to be worked out for a problem because it was not known from the ones before.
type Worked struct {
	// Nodes were compiled; Kinds is how many nodes were sorted by their labels anew.
	Nodes, Kinds int
	// Catalogs are lists of instance types, Pools what can be launched of them.
	Catalogs, Pools int
}

// learned is what solutions of one problem found out and the next ones heed.
type learned struct {
	// tight are pools whose limits must not be deferred, for a solution exceeded them.
	tight map[string]bool
	// zones whose subnets ran short of addresses.
	zones map[string]zoneCare
}
