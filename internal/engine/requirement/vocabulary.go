package requirement

import "strconv"

// Key is an interned label key. It is only meaningful together with the Vocabulary that gave it out.
type Key int

// Vocabulary hands out small integers for label keys and values. It only grows. The numbers depend on the order in which
// names are first seen, so nothing that leaves the process may depend on them.
//
// Concurrency: not safe while names are still being added.
type Vocabulary struct {
	keys    map[string]Key
	domains []*domain
	bytes   int
}

// domain is what a Vocabulary knows of one key.
type domain struct {
	key    Key
	name   string
	ids    map[string]uint
	values []string
	// ints holds the integer reading of each value, isInt whether it has one.
	ints  []int64
	isInt []bool
	// bytes is that of the vocabulary.
	bytes *int
}

// NewVocabulary returns an empty vocabulary.
func NewVocabulary() *Vocabulary {
	return &Vocabulary{keys: map[string]Key{}}
}

// Key interns a label key under its stable name.
func (v *Vocabulary) Key(name string) Key {
	name = Normalize(name)
	if k, ok := v.keys[name]; ok {
		return k
	}
	k := Key(len(v.domains))
	v.keys[name] = k
	v.domains = append(v.domains, &domain{key: k, name: name, ids: map[string]uint{}, bytes: &v.bytes})
	v.bytes += keyBytes + len(name)
	return k
}

// keyBytes and valueBytes are about what a key and a value take besides their text: entries of maps and slices, with the
// room that those keep to grow.
const keyBytes, valueBytes = 300, 100

// Bytes is about what the vocabulary holds in memory.
func (v *Vocabulary) Bytes() int { return v.bytes }

// Lookup finds a key that was interned before.
func (v *Vocabulary) Lookup(name string) (Key, bool) {
	k, ok := v.keys[Normalize(name)]
	return k, ok
}

// Name is the stable name of a key.
func (v *Vocabulary) Name(k Key) string { return v.domains[k].name }

// Value interns a value of a key.
func (v *Vocabulary) Value(k Key, value string) uint { return v.domains[k].intern(value) }

// ValueName is the text of an interned value.
func (v *Vocabulary) ValueName(k Key, id uint) string { return v.domains[k].values[id] }

func (d *domain) intern(value string) uint {
	if id, ok := d.ids[value]; ok {
		return id
	}
	id := uint(len(d.values))
	d.ids[value] = id
	d.values = append(d.values, value)
	n, isInt := integer(value)
	d.ints = append(d.ints, n)
	d.isInt = append(d.isInt, isInt)
	*d.bytes += valueBytes + len(value)
	return id
}

// integer reads a value as an integer, if it is one. Most are not, which their first letter tells.
func integer(value string) (int64, bool) {
	if value == "" || value[0] > '9' {
		return 0, false
	}
	n, err := strconv.ParseInt(value, 10, 64)
	return n, err == nil
}
