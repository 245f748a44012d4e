package inventory

import (
	"maps"
	"slices"
	"sync"

	awsv1 "github.com/kerf-sh/kerf/api/aws/v1"
	"github.com/kerf-sh/kerf/internal/state/cloud"
)

// ownership tells this cluster's instances from those of another cluster that goes by the same name in the same account.
type ownership struct {
	uid  string // empty: every instance that bears the name is ours
	tell func(byUID map[string]int)

	mu   sync.Mutex
	told map[string]int
}

// For makes the inventory pass over instances that carry the UID of another cluster: they are neither listed nor found.
// tell is called with how many there are, by that UID, whenever a listing shows another number. It must not block.
//
// It is to be called before anything else.
func (v *Inventory) For(uid string, tell func(byUID map[string]int)) *Inventory {
	v.owner.uid, v.owner.tell = uid, tell
	return v
}

// foreign reports whether an instance says that it belongs to another cluster. One that says nothing was launched by a
// release or a controller that does not set the tag, or was left no room for it.
func (o *ownership) foreign(m *cloud.Instance) bool {
	uid := m.Tags[awsv1.TagClusterUID]
	return o.uid != "" && uid != "" && uid != o.uid
}

// own drops the instances of other clusters and tells of them.
func (o *ownership) own(instances []*cloud.Instance) []*cloud.Instance {
	byUID := map[string]int{}
	instances = slices.DeleteFunc(instances, func(m *cloud.Instance) bool {
		if !o.foreign(m) {
			return false
		}
		byUID[m.Tags[awsv1.TagClusterUID]]++
		return true
	})
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.tell != nil && !maps.Equal(byUID, o.told) {
		o.told = byUID
		o.tell(maps.Clone(byUID))
	}
	return instances
}
