package instancetype

import (
	"maps"
	"reflect"
	"slices"
)

// sameContent reports whether two snapshots differ in nothing but their time, so that what was computed from one holds
// for the other. It runs a few times a day, hence the plain way.
func sameContent(a, b *Snapshot) bool {
	return slices.EqualFunc(a.Zones, b.Zones, slices.Equal[[]string]) && maps.Equal(a.Skipped, b.Skipped) && reflect.DeepEqual(a.Types, b.Types)
}
