package plan

import (
	"cmp"
	"slices"
	"strings"
)

// Refusal is why offerings of a capacity type are not asked for.
type Refusal struct {
	CapacityType string
	Why          string // catalog.Offering.Unavailable
}

// Refusals is a set of refusals. Reasons are compared with each other, so it is a value that can be: what is in it stands in order, with
// separators that no word has.
type Refusals string

const refusalEnd, refusalMiddle = "\x1e", "\x1f"

// RefusalsOf makes a set.
func RefusalsOf(all []Refusal) Refusals {
	all = slices.Clone(all)
	slices.SortFunc(all, func(a, b Refusal) int {
		return cmp.Or(cmp.Compare(a.Why, b.Why), cmp.Compare(a.CapacityType, b.CapacityType))
	})
	var out strings.Builder
	for _, r := range slices.Compact(all) {
		out.WriteString(r.CapacityType + refusalMiddle + r.Why + refusalEnd)
	}
	return Refusals(out.String())
}

// All are the refusals of a set, by their words.
func (s Refusals) All() (out []Refusal) {
	for one := range strings.SplitAfterSeq(string(s), refusalEnd) {
		if capacityType, why, ok := strings.Cut(strings.TrimSuffix(one, refusalEnd), refusalMiddle); ok {
			out = append(out, Refusal{CapacityType: capacityType, Why: why})
		}
	}
	return out
}
