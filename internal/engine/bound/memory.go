package bound

import (
	"slices"

	"github.com/kerf-sh/kerf/internal/engine/catalog"
	"github.com/kerf-sh/kerf/internal/engine/requirement"
	"github.com/kerf-sh/kerf/internal/engine/res"
)

// Memory keeps what is the same from one search to the next: names by number, and the lists of instance types as they were compiled for
// those. A search gives the same with it and without. The zero value is ready.
//
// Concurrency: one search at a time.
type Memory struct {
	vocab  *requirement.Vocabulary
	names  []string
	schema *res.Schema // of the names
	lists  []compiledList
}

// compiledList is a list of instance types in compiled form; cat is nil where that can't be done.
type compiledList struct {
	types []*catalog.Type
	cat   *catalog.Catalog
	err   error
}

// A memory forgets what it holds when names take more than memoryBytes, and lists beyond memoryLists, the oldest first. The names of all
// instance types of a region and their labels take a twentieth of that. NodePools of one NodeClass share a list.
const (
	memoryBytes = 8 << 20
	memoryLists = 32
)

// vocabulary is that for a new search.
func (k *Memory) vocabulary() *requirement.Vocabulary {
	if k.vocab == nil || k.vocab.Bytes() > memoryBytes {
		*k = Memory{vocab: requirement.NewVocabulary()}
	}
	return k.vocab
}

// schemaOf is the layout of these resources, in any order and with repetitions.
func (k *Memory) schemaOf(names []string) *res.Schema {
	names = slices.Clone(names)
	slices.Sort(names)
	names = slices.Compact(names)
	if k.schema == nil || !slices.Equal(names, k.names) {
		k.names, k.schema, k.lists = names, res.NewSchema(names...), nil
	}
	return k.schema
}

// catalog is the compiled form of the types, for the newest vocabulary and schema.
//
// Errors: those of [catalog.Compile].
func (k *Memory) catalog(types []*catalog.Type) (*catalog.Catalog, error) {
	for _, l := range k.lists {
		if slices.Equal(l.types, types) {
			return l.cat, l.err
		}
	}
	var like *catalog.Catalog
	if n := len(k.lists); n > 0 {
		like = k.lists[n-1].cat
	}
	cat, err := catalog.CompileLike(like, types, k.vocab, k.schema)
	if len(k.lists) == memoryLists {
		k.lists = slices.Delete(k.lists, 0, 1)
	}
	k.lists = append(k.lists, compiledList{types, cat, err})
	return cat, err
}
