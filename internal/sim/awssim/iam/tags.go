package iam

import (
	"maps"
	"net/url"
	"slices"

	"github.com/kerf-sh/kerf/internal/sim/awssim/wire"
)

func tagsIn(form url.Values) (map[string]string, error) {
	tags := map[string]string{}
	for _, t := range wire.Structs(form, "Tags.member") {
		k := t.Get("Key")
		if _, twice := tags[k]; twice {
			return nil, wire.Errorf("InvalidInput", "Duplicate tag keys found. Please note that Tag keys are case insensitive.")
		}
		tags[k] = t.Get("Value")
	}
	return tags, nil
}

func tagsOut(tags map[string]string) []tag {
	out := make([]tag, 0, len(tags))
	for _, k := range slices.Sorted(maps.Keys(tags)) {
		out = append(out, tag{k, tags[k]})
	}
	return out
}

type tag struct {
	Key   string `xml:"Key"`
	Value string `xml:"Value"`
}

type tagList struct {
	Tags        []tag `xml:"Tags>member"`
	IsTruncated bool  `xml:"IsTruncated"`
}
