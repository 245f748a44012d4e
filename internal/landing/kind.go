package landing

import (
	"slices"
	"strconv"

	"github.com/kerf-sh/kerf/internal/cluster"
	"github.com/kerf-sh/kerf/internal/requirement"
	"github.com/kerf-sh/kerf/internal/res"
)

// kind is a class of pods as the scheduler sees it.
type kind struct {
	class *cluster.Class
	id    int
	req   res.Vector
	// cpu and memory that count when nodes are compared.
	cpu, memory int64
	// impossible pods ask for what no node has.
	impossible bool
	// size is the largest part of an average node that a pod asks for.
	size float64
	rank int // by size, the largest first
	// at is where pods of the kind are.
	at []presence
	// looks says that pods of the kind look for a place.
	looks bool
	lane  *lane
	// demands of the kind, and the tallies that count it.
	demands []demand
	counted []*tally
}

type presence struct{ seat, n int }

// measure finds the size of a pod.
func (k *kind) measure(average res.Vector) {
	for r, n := range k.req {
		k.size = max(k.size, float64(n)/float64(average[r]))
	}
}

func (k *kind) put(seat int) {
	if n := len(k.at); n == 0 || k.at[n-1].seat != seat {
		k.at = append(k.at, presence{seat: seat})
	}
	k.at[len(k.at)-1].n++
}

func (b *Board) kindOf(c *cluster.Class) *kind {
	if k := b.classes[c]; k != nil {
		return k
	}
	k := b.byID[c.ID]
	if k == nil || c.ID == "" {
		k = &kind{class: c, id: len(b.kinds), req: b.schema.Vector(c.Requests)}
		k.cpu, k.memory = c.Requests[res.CPU], c.Requests[res.Memory]
		if k.cpu == 0 {
			k.cpu = unaskedCPU
		}
		if k.memory == 0 {
			k.memory = unaskedMemory
		}
		for name, n := range c.Requests {
			if _, known := b.schema.Index(name); !known && n > 0 {
				k.impossible = true
			}
		}
		b.kinds = append(b.kinds, k)
		b.byID[c.ID] = k
	}
	b.classes[c] = k
	return k
}

// verdict is how a node suits a kind as far as labels and taints tell.
type verdict int8

const (
	barred verdict = iota
	avoided
	suits
)

// judge looks at labels and taints.
func judge(c *cluster.Class, s *seat) verdict {
	if c.Unplaceable != "" || !meetsAll(c.Selector, s.labels) || !meetsAny(c.Affinity, s.labels) || !meetsAny(c.Volumes, s.labels) {
		return barred
	}
	if _, bad := cluster.Untolerated(s.node.Taints, c.Tolerations, cluster.NoSchedule, cluster.NoExecute); bad {
		return barred
	}
	if _, bad := cluster.Untolerated(s.node.Taints, c.Tolerations, cluster.PreferNoSchedule); bad {
		return avoided
	}
	return suits
}

func meetsAny(alternatives [][]requirement.Term, labels map[string]string) bool {
	return len(alternatives) == 0 || slices.ContainsFunc(alternatives, func(terms []requirement.Term) bool { return meetsAll(terms, labels) })
}

func meetsAll(terms []requirement.Term, labels map[string]string) bool {
	for i := range terms {
		value, has := labels[requirement.Normalize(terms[i].Key)]
		if !allows(&terms[i], value, has) {
			return false
		}
	}
	return true
}

// allows reports whether a label value, or a missing label, meets the term, as kube-scheduler matches node selectors.
func allows(t *requirement.Term, value string, has bool) bool {
	switch t.Operator {
	case requirement.In:
		return has && slices.Contains(t.Values, value)
	case requirement.NotIn:
		return !has || !slices.Contains(t.Values, value)
	case requirement.Exists:
		return has
	case requirement.DoesNotExist:
		return !has
	}
	if !has || len(t.Values) != 1 {
		return false
	}
	have, err1 := strconv.ParseInt(value, 10, 64)
	want, err2 := strconv.ParseInt(t.Values[0], 10, 64)
	if err1 != nil || err2 != nil {
		return false
	}
	switch t.Operator {
	case requirement.Gt:
		return have > want
	case requirement.Lt:
		return have < want
	case requirement.Gte:
		return have >= want
	case requirement.Lte:
		return have <= want
	}
	return false
}
