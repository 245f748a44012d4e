package pack

import (
	"iter"

	"github.com/kerf-sh/kerf/internal/engine/cluster"
	"github.com/kerf-sh/kerf/internal/engine/requirement"
)

// labelIndex finds, among things with labels that are numbered from 0, those that a selector may select, without asking
// each of them: most selectors demand one value of some label.
type labelIndex struct {
	n     int
	first map[label]int32 // entry, from 1
	links []link
}

type label struct{ key, value string }

type link struct {
	thing int32
	next  int32 // entry, from 1
}

// add takes in a thing. Those that are added last are found first.
func (x *labelIndex) add(thing int, labels map[string]string) {
	if x.first == nil {
		x.first = map[label]int32{}
	}
	x.n = max(x.n, thing+1)
	for k, v := range labels {
		at := label{k, v}
		x.links = append(x.links, link{int32(thing), x.first[at]})
		x.first[at] = int32(len(x.links))
	}
}

// candidates are the numbers of all things that the selector may select, and perhaps of others.
func (x *labelIndex) candidates(sel *cluster.Selector) iter.Seq[int] {
	return func(yield func(int) bool) {
		if sel == nil {
			return
		}
		for _, t := range sel.Terms {
			if t.Operator != requirement.In || len(t.Values) != 1 {
				continue
			}
			for at := x.first[label{t.Key, t.Values[0]}]; at > 0; at = x.links[at-1].next {
				if !yield(int(x.links[at-1].thing)) {
					return
				}
			}
			return
		}
		for i := range x.n {
			if !yield(i) {
				return
			}
		}
	}
}
