package disrupt

import (
	"encoding/binary"
	"slices"
	"strconv"
	"strings"

	"github.com/kerf-sh/kerf/internal/engine/cluster"
)

// number gives the nodes their kinds, once in a search. They are numbered by the first node's name, so that they are the same
// whatever the order of the input.
//
// Nodes are of one kind when letting one go comes to the same as letting another go: same new node, same pods, as far as a
// scheduler can tell. Labels of new nodes beyond zone and capacity type are left out.
func (s *search) number() {
	if s.numbered {
		return
	}
	s.numbered = true
	nodes := s.managed()
	slices.SortFunc(nodes, byName)
	known := map[string]int{}
	for _, n := range nodes {
		key := strings.Join(append([]string{n.src.Pool, n.src.Zone, n.src.CapacityType, n.src.InstanceType, strconv.FormatInt(int64(n.price), 10),
			strconv.FormatInt(n.cost, 10), strconv.FormatInt(int64(s.p.Options.lifetime(*n.in)), 10)}, classesOf(n.src)...), "|")
		kind, there := known[key]
		if !there {
			kind = len(known)
			known[key] = kind
		}
		n.kind = kind
	}
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

// kindsOf is the kinds of the nodes in their order, as a key.
func kindsOf(nodes []*nodeState) string {
	key := make([]byte, 0, 4*len(nodes))
	for _, n := range nodes {
		key = binary.AppendUvarint(key, uint64(n.kind))
	}
	return string(key)
}
