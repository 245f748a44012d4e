package catalog

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/kerf-sh/kerf/internal/engine/requirement"
	"github.com/kerf-sh/kerf/internal/engine/res"
)

// NoPrice marks a type that can't be launched in a cell.
const NoPrice MicroUSD = math.MaxInt64

// Catalog is the columnar form of a list of types. It is immutable.
type Catalog struct {
	// Types sorted by name; positions in TypeSets and columns refer to this order.
	Types  []*Type
	Schema *res.Schema
	Vocab  *requirement.Vocabulary
	// Allocatable and Capacity of each type.
	Allocatable []res.Vector
	Capacity    []res.Vector
	// Cells are the distinct ways to launch, sorted by zone, zone ID, capacity type, reservation and partition.
	Cells []Cell

	columns []column
	labels  map[requirement.Key]*labelColumn
	all     TypeSet
	// parsed are the requirements of each type.
	parsed []requirement.Requirements
}

// Cell is one combination of zone, capacity type, reservation and partition, with what it costs there. A node is launched in
// exactly one cell.
type Cell struct {
	Zone          string
	ZoneID        string
	CapacityType  string
	ReservationID string
	// Partition of a placement group, 0 for none.
	Partition int32
	// Price of each type, NoPrice where the offering does not exist or must not be asked for.
	Price []MicroUSD
	// Available holds the types that have a price.
	Available TypeSet
	// Exists holds the types that have an offering here, available or not.
	Exists TypeSet
	labels requirement.Requirements
}

// column holds one resource: the distinct amounts, rising, and for each the types that have at least that much.
type column struct {
	amounts []int64
	atLeast []TypeSet
}

// labelColumn holds one label key: which types have which value.
type labelColumn struct {
	ids    []uint // in order of first appearance
	types  []TypeSet
	absent TypeSet // types that are known not to have the label, or may lack it
	others []otherSet
	// defined holds the types that say anything about the key.
	defined TypeSet
}

// otherSet is a requirement of types that is not a plain list of values.
type otherSet struct {
	set   requirement.Set
	types TypeSet
}

// Compile builds the columns. The types are not retained in the given order and must not change afterwards.
//
// Errors: two types of one name, or a requirement that does not parse; they name the type.
func Compile(types []*Type, vocab *requirement.Vocabulary, schema *res.Schema) (*Catalog, error) {
	return CompileLike(nil, types, vocab, schema)
}

// CompileLike is Compile that shares with another catalog of the same vocabulary and schema what is the same in both: when only prices
// or capacity have changed, that is all but the cells. like may be nil.
//
// Errors: those of Compile.
func CompileLike(like *Catalog, types []*Type, vocab *requirement.Vocabulary, schema *res.Schema) (*Catalog, error) {
	sorted := slices.Clone(types)
	slices.SortStableFunc(sorted, func(a, b *Type) int { return cmp.Compare(a.Name, b.Name) })
	c := &Catalog{Types: sorted, Schema: schema, Vocab: vocab, labels: map[requirement.Key]*labelColumn{}}
	if like != nil && like.Vocab == vocab && like.Schema == schema && slices.EqualFunc(like.Types, sorted, sameNodes) {
		c.all, c.Allocatable, c.Capacity, c.labels, c.columns, c.parsed = like.all, like.Allocatable, like.Capacity, like.labels, like.columns, like.parsed
		c.buildCells()
		return c, nil
	}
	c.all = NewTypeSet(len(sorted))
	for i, t := range sorted {
		if i > 0 && sorted[i-1].Name == t.Name {
			return nil, fmt.Errorf("instance type %s is listed twice", t.Name)
		}
		c.all.Add(i)
		c.Allocatable = append(c.Allocatable, AddAttachLimits(schema, t.allocatable(schema), t.AttachLimits))
		c.Capacity = append(c.Capacity, schema.Vector(t.Capacity))
		reqs, known := like.parsedOf(t, vocab)
		if !known {
			var err error
			if reqs, err = vocab.Parse(t.Requirements); err != nil {
				return nil, fmt.Errorf("instance type %s: %w", t.Name, err)
			}
		}
		c.parsed = append(c.parsed, reqs)
		c.addLabels(i, t, reqs)
	}
	c.columns = buildColumns(c.Allocatable, schema.Len())
	c.buildCells()
	return c, nil
}

// sameNodes reports whether nodes of two types have the same labels and the same room.
func sameNodes(a, b *Type) bool {
	return a == b || a.Name == b.Name && maps.Equal(a.Capacity, b.Capacity) && maps.Equal(a.Overhead, b.Overhead) && maps.Equal(a.AttachLimits, b.AttachLimits) &&
		slices.EqualFunc(a.Requirements, b.Requirements, requirement.Term.Equal)
}

// parsedOf are the requirements of a type if the catalog, which may be nil, has one with the same.
func (c *Catalog) parsedOf(t *Type, vocab *requirement.Vocabulary) (requirement.Requirements, bool) {
	if c == nil || c.Vocab != vocab {
		return requirement.Requirements{}, false
	}
	i, found := slices.BinarySearchFunc(c.Types, t.Name, func(x *Type, name string) int { return cmp.Compare(x.Name, name) })
	if !found || c.Types[i] != t && !slices.EqualFunc(c.Types[i].Requirements, t.Requirements, requirement.Term.Equal) {
		return requirement.Requirements{}, false
	}
	return c.parsed[i], true
}

func (c *Catalog) addLabels(i int, t *Type, reqs requirement.Requirements) {
	name := c.Vocab.Key(requirement.InstanceType)
	if _, ok := reqs.Get(name); !ok {
		reqs = reqs.And(c.Vocab.Only(requirement.InstanceType, t.Name))
	}
	n := len(c.Types)
	for key, set := range reqs.All {
		col := c.labels[key]
		if col == nil {
			col = &labelColumn{absent: NewTypeSet(n), defined: NewTypeSet(n)}
			c.labels[key] = col
		}
		col.add(i, n, set)
	}
}

func (l *labelColumn) add(i, n int, set requirement.Set) {
	l.defined.Add(i)
	if set.AllowsAbsent() {
		l.absent.Add(i)
	}
	if set.Complement() {
		for _, o := range l.others {
			if o.set.Equal(set) {
				o.types.Add(i)
				return
			}
		}
		o := otherSet{set: set, types: NewTypeSet(n)}
		o.types.Add(i)
		l.others = append(l.others, o)
		return
	}
	for id := range set.IDs {
		at := slices.Index(l.ids, id)
		if at < 0 {
			at = len(l.ids)
			l.ids = append(l.ids, id)
			l.types = append(l.types, NewTypeSet(n))
		}
		l.types[at].Add(i)
	}
}

func buildColumns(rows []res.Vector, width int) []column {
	columns := make([]column, width)
	order := make([]int, len(rows))
	for r := range columns {
		for i := range order {
			order[i] = i
		}
		slices.SortFunc(order, func(a, b int) int { return cmp.Compare(rows[b][r], rows[a][r]) })
		col := &columns[r]
		have := NewTypeSet(len(rows))
		for at, i := range order {
			have.Add(i)
			if at+1 == len(order) || rows[order[at+1]][r] != rows[i][r] {
				col.amounts = append(col.amounts, rows[i][r])
				col.atLeast = append(col.atLeast, have.Clone())
			}
		}
		slices.Reverse(col.amounts)
		slices.Reverse(col.atLeast)
	}
	return columns
}

// Len is the number of types.
func (c *Catalog) Len() int { return len(c.Types) }

// All is the set of all types; it must not be changed.
func (c *Catalog) All() TypeSet { return c.all }

// KeepFitting drops from s the types whose allocatable is less than want.
//
// Cost: one binary search and one AND per resource.
func (c *Catalog) KeepFitting(s TypeSet, want res.Vector) {
	for r, x := range want {
		if x <= 0 {
			continue
		}
		col := &c.columns[r]
		at, _ := slices.BinarySearch(col.amounts, x)
		if at == len(col.amounts) {
			clear(s)
			return
		}
		if at > 0 {
			s.And(col.atLeast[at])
		}
	}
}

// KeepMatching drops from s the types that contradict reqs. A label that neither the type nor the buyer defines counts
// as missing; defined says for which keys the buyer puts the label on the node himself. Where and how a node is launched
// is not looked at; see CellsMatching.
func (c *Catalog) KeepMatching(s TypeSet, reqs requirement.Requirements, defined func(requirement.Key) bool) {
	for key, set := range reqs.All {
		c.KeepMatchingKey(s, key, set, defined)
	}
}

// KeepMatchingKey is KeepMatching for one key.
func (c *Catalog) KeepMatchingKey(s TypeSet, key requirement.Key, set requirement.Set, defined func(requirement.Key) bool) {
	if c.isCellKey(key) {
		return
	}
	col := c.labels[key]
	if col == nil {
		if !set.AllowsAbsent() && !(defined != nil && defined(key)) {
			clear(s)
		}
		return
	}
	ok := NewTypeSet(len(c.Types))
	if set.AllowsAbsent() || (defined != nil && defined(key)) {
		copy(ok, c.all)
		ok.AndNot(col.defined)
	}
	if set.AllowsAbsent() {
		ok.Or(col.absent)
	}
	for at, id := range col.ids {
		if set.HasID(id) {
			ok.Or(col.types[at])
		}
	}
	for _, o := range col.others {
		if o.set.Intersects(set) {
			ok.Or(o.types)
		}
	}
	s.And(ok)
}

// Values are the values that types of s may have for a key, sorted.
func (c *Catalog) Values(s TypeSet, key requirement.Key) []string {
	var out []string
	col := c.labels[key]
	if col == nil {
		return nil
	}
	for at, id := range col.ids {
		if col.types[at].Intersects(s) {
			out = append(out, c.Vocab.ValueName(key, id))
		}
	}
	slices.Sort(out)
	return out
}

// CountValues is how many distinct values that set allows the types of s have for a key.
func (c *Catalog) CountValues(s TypeSet, key requirement.Key, set requirement.Set) int {
	col := c.labels[key]
	if col == nil {
		return 0
	}
	n := 0
	for at, id := range col.ids {
		if set.HasID(id) && col.types[at].Intersects(s) {
			n++
		}
	}
	return n
}

// Keys are all label keys that a node of these types may carry, sorted.
func (c *Catalog) Keys() []string {
	var out []string
	for k := range c.labels {
		out = append(out, c.Vocab.Name(k))
	}
	slices.Sort(out)
	return out
}
