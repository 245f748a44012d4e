package disrupt

import (
	"encoding/binary"
	"slices"
	"strconv"
	"strings"

	"github.com/kerf-sh/kerf/internal/engine/cluster"
	"github.com/kerf-sh/kerf/internal/engine/pack"
)

// number gives the nodes their kinds and kins, once in a search. Both are numbered by the first node's name, so that they
// are the same whatever the order of the input.
//
// Nodes are of one kind when letting one go comes to the same as letting another go: same new node, same pods, as far as a
// scheduler can tell. Labels of new nodes beyond zone and capacity type are left out. They are kin when their pods are bound
// to the same places by the same kinds of rules, so that what room they need is likely to be had together.
func (s *search) number() {
	if s.numbered {
		return
	}
	s.numbered = true
	nodes := s.managed()
	slices.SortFunc(nodes, byName)
	ties := map[string]string{}
	kinds, kins := make([]string, len(nodes)), make([]string, len(nodes))
	for i, n := range nodes {
		instance := n.src.Pool + "|" + n.src.Zone + "|" + n.src.CapacityType + "|"
		kinds[i] = instance + n.src.InstanceType + "|" + strconv.FormatInt(int64(n.price), 10) + "|" + strconv.FormatInt(n.cost, 10) + "|" +
			strconv.FormatInt(int64(s.p.Options.lifetime(*n.in)), 10) + "|" + strings.Join(classesOf(n.src), "|")
		kins[i] = n.src.Zone + "|" + strings.Join(tiesOf(n.src, ties), "|")
	}
	kind, kin := ranks(kinds), ranks(kins)
	for i, n := range nodes {
		n.kind, n.kin = kind[kinds[i]], kin[kins[i]]
	}
}

// ranks numbers the distinct keys by where they come first.
func ranks(keys []string) map[string]int {
	out := map[string]int{}
	for _, k := range keys {
		if _, known := out[k]; !known {
			out[k] = len(out)
		}
	}
	return out
}

// classesOf are the classes of the node's pods, sorted, each as often as it is there.
func classesOf(n *cluster.Node) []string {
	var out []string
	for _, pod := range n.Pods {
		if pod.Class != nil {
			out = append(out, pod.Class.ID)
		}
	}
	slices.Sort(out)
	return out
}

// tiesOf are the distinct rules that bind the node's movable pods to places, known by class.
func tiesOf(n *cluster.Node, known map[string]string) []string {
	var out []string
	for _, pod := range n.Pods {
		if pod.Class == nil || !pack.Movable(pod) {
			continue
		}
		t, ok := known[pod.Class.ID]
		if !ok {
			t = ties(pod.Class)
			known[pod.Class.ID] = t
		}
		if !slices.Contains(out, t) {
			out = append(out, t)
		}
	}
	slices.Sort(out)
	return out
}

// ties is what binds pods of the class to places: where they may be, and by which domains they follow or flee others.
func ties(c *cluster.Class) string {
	bare := &cluster.Class{Selector: c.Selector, Affinity: c.Affinity, Volumes: c.Volumes, Tolerations: c.Tolerations}
	for _, a := range c.Spreads {
		bare.Spreads = append(bare.Spreads, cluster.Spread{Key: a.Key})
	}
	for _, a := range c.PodAffinity {
		bare.PodAffinity = append(bare.PodAffinity, cluster.PodAffinity{Key: a.Key})
	}
	for _, a := range c.AntiAffinity {
		bare.AntiAffinity = append(bare.AntiAffinity, cluster.PodAffinity{Key: a.Key})
	}
	return bare.Hash()
}

// kindsOf is the kinds of the nodes in their order, as a key.
func kindsOf(nodes []*nodeState) string {
	key := make([]byte, 0, 4*len(nodes))
	for _, n := range nodes {
		key = binary.AppendUvarint(key, uint64(n.kind))
	}
	return string(key)
}
