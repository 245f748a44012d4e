package verify

import (
	"slices"
	"strconv"

	"github.com/kerf-sh/kerf/internal/engine/cluster"
	"github.com/kerf-sh/kerf/internal/engine/requirement"
)

// What is equal gets the same text, and what is not another one, so that answers can be remembered by it.

// classText is what a class asks for, as text.
type classText struct {
	demands   int // the number of what it demands of a node's labels, volumes included; 0: nothing
	selection int // the number of what its selector and node affinity demand; 0: nothing
	chooses   *cluster.Class
	bearing   string // its selection and the keys of its hard spreads
	taints    string // its tolerations
	hard      []string
	spreads   []string // what makes two hard spreads the same; empty for others
}

func (c *checker) text(class *cluster.Class) *classText {
	x := c.texts[class]
	if x != nil {
		return x
	}
	x = &classText{chooses: &cluster.Class{Selector: class.Selector, Affinity: class.Affinity}, hard: hardKeys(class)}
	b := appendLists(appendTerms(nil, class.Selector), class.Affinity)
	if len(class.Selector)+len(class.Affinity) > 0 {
		x.selection = c.textID(string(b))
	}
	bearing := b
	for _, key := range x.hard {
		bearing = appendText(bearing, key)
	}
	x.bearing = string(bearing)
	if x.selection > 0 || len(class.Volumes) > 0 {
		x.demands = c.textID(string(appendLists(slices.Clip(b), class.Volumes)) + "v")
	}
	b = nil
	for _, t := range class.Tolerations {
		b = appendText(appendText(appendText(strconv.AppendBool(b, t.Exists), t.Key), t.Value), string(t.Effect))
	}
	x.taints = string(b)
	for _, sp := range class.Spreads {
		x.spreads = append(x.spreads, spreadText(sp))
	}
	c.texts[class] = x
	return x
}

func spreadText(sp cluster.Spread) string {
	if sp.Soft {
		return ""
	}
	b := appendText(nil, requirement.Normalize(sp.Key))
	b = appendNumber(appendNumber(b, sp.MaxSkew), sp.MinDomains)
	b = strconv.AppendBool(strconv.AppendBool(b, sp.HonorTaints), sp.IgnoreAffinity)
	return string(appendSelector(b, sp.Selector))
}

// textID numbers texts, from 1.
func (c *checker) textID(s string) int {
	id := c.textIDs[s]
	if id == 0 {
		id = len(c.textIDs) + 1
		c.textIDs[s] = id
	}
	return id
}

func appendNumber(b []byte, n int) []byte { return append(strconv.AppendInt(b, int64(n), 10), ' ') }

func appendText(b []byte, s string) []byte { return append(appendNumber(b, len(s)), s...) }

func appendTerms(b []byte, terms []requirement.Term) []byte {
	b = appendNumber(b, len(terms))
	for _, t := range terms {
		b = appendText(appendText(b, t.Key), string(t.Operator))
		b = appendNumber(b, len(t.Values))
		for _, v := range t.Values {
			b = appendText(b, v)
		}
	}
	return b
}

func appendLists(b []byte, lists [][]requirement.Term) []byte {
	b = appendNumber(b, len(lists))
	for _, terms := range lists {
		b = appendTerms(b, terms)
	}
	return b
}

func appendSelector(b []byte, s *cluster.Selector) []byte {
	if s == nil {
		return append(b, '-')
	}
	return appendTerms(b, s.Terms)
}
