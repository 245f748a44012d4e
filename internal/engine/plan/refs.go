package plan

import "github.com/kerf-sh/kerf/internal/engine/cluster"

// Refs lists pods for people; runs of names that only differ in a rising number at the end are shortened, as in
// "default/web-1..5".
func Refs(refs []cluster.PodRef) string { return podsText(refs) }
