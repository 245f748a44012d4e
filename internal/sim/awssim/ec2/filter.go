package ec2

import (
	"maps"
	"slices"
	"strings"

	"github.com/kerf-sh/kerf/internal/sim/awssim/wire"
	"github.com/kerf-sh/kerf/internal/sim/awssim/world"
)

// filter is one Filter.N. Its values are alternatives and may hold * and ?.
type filter struct {
	Name   string   `query:"Name"`
	Values []string `query:"Value"`
}

// filterable is a set of things that filters choose from.
type filterable[T any] struct {
	// attributes give the values that a filter of that name looks at; one fitting value is enough.
	attributes map[string]func(*T) []string
	// tags enables tag:<key>, tag-key and tag-value.
	tags func(*T) map[string]string
}

func one[T any](get func(*T) string) func(*T) []string {
	return func(v *T) []string { return []string{get(v)} }
}

func yesNo[T any](get func(*T) bool) func(*T) []string {
	return func(v *T) []string {
		if get(v) {
			return []string{"true"}
		}
		return []string{"false"}
	}
}

// choose returns the things that fit all filters. The same filter name may come more than once.
func (f filterable[T]) choose(all []T, filters []filter) ([]T, error) {
	for _, x := range filters {
		if !f.knows(x.Name) {
			return nil, wire.Errorf("InvalidParameterValue", "The filter '%s' is invalid", x.Name)
		}
		if len(x.Values) == 0 {
			return nil, wire.Errorf("InvalidParameterValue", "The filter '%s' has no values", x.Name)
		}
	}
	out := make([]T, 0, len(all))
	for i := range all {
		if !slices.ContainsFunc(filters, func(x filter) bool { return !f.fits(&all[i], x) }) {
			out = append(out, all[i])
		}
	}
	return out, nil
}

func (f filterable[T]) knows(name string) bool {
	if f.tags != nil && (name == "tag-key" || name == "tag-value" || strings.HasPrefix(name, "tag:")) {
		return true
	}
	return f.attributes[name] != nil
}

func (f filterable[T]) fits(v *T, x filter) bool {
	var have []string
	switch key, isTag := strings.CutPrefix(x.Name, "tag:"); {
	case f.tags != nil && isTag:
		value, ok := f.tags(v)[key]
		if !ok {
			return false
		}
		have = []string{value}
	case f.tags != nil && x.Name == "tag-key":
		have = slices.Collect(maps.Keys(f.tags(v)))
	case f.tags != nil && x.Name == "tag-value":
		have = slices.Collect(maps.Values(f.tags(v)))
	default:
		have = f.attributes[x.Name](v)
	}
	for _, want := range x.Values {
		if slices.ContainsFunc(have, func(h string) bool { return world.Match(want, h) }) {
			return true
		}
	}
	return false
}

// tagItem is a tag in a reply.
type tagItem struct {
	Key   string `xml:"key"`
	Value string `xml:"value"`
}

func tagItems(tags map[string]string) []tagItem {
	out := make([]tagItem, 0, len(tags))
	for _, k := range slices.Sorted(maps.Keys(tags)) {
		out = append(out, tagItem{k, tags[k]})
	}
	return out
}
