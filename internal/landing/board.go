// Package landing foretells where the scheduler puts pods that lose their nodes.
//
// It filters nodes as kube-scheduler does, by the model of package cluster, and takes of those that are left the one that
// kube-scheduler's LeastAllocated prefers: the one of which most is left. It knows nothing of plans. The order in which pods
// come to the scheduler decides much, and nobody can know it, so that a landing is asked for in several orders.
package landing

import (
	"cmp"
	"slices"

	"github.com/kerf-sh/kerf/internal/cluster"
	"github.com/kerf-sh/kerf/internal/requirement"
	"github.com/kerf-sh/kerf/internal/res"
)

// What a container without requests counts for when nodes are compared, in millicores and bytes. How many containers of a
// pod are without is not known: the whole pod counts for one.
//
// Source: kube-scheduler, DefaultMilliCPURequest and DefaultMemoryRequest.
const (
	unaskedCPU    = 100
	unaskedMemory = 200 << 20
)

// Board is a cluster with the pods on it, and the nodes that may come. It is compiled once; landings only read it.
//
// Concurrency: not safe; landings make what they need of it as they go.
type Board struct {
	schema  *res.Schema
	seats   []*seat
	seatOf  map[string]int
	pending []*visitor
	leavers [][]*visitor // by seat, the largest first
	classes map[*cluster.Class]*kind
	byID    map[string]*kind
	kinds   []*kind
	columns map[string]*column
	tallies []*tally
	average res.Vector // what a seat has
	lanes   boardLanes
}

// seat is a node that pods may land on.
type seat struct {
	node *cluster.Node
	room res.Vector
	// cpu and memory that a node has, and what of it counts as used when nodes are compared.
	cpu, memory         int64
	usedCPU, usedMemory int64
	labels              map[string]string
	// late seats take no pods yet: their machines are on the way. Coming ones are there once a step brings them.
	late, coming bool
}

// visitor is a pod that looks for a place, with the seat that it has to leave; -1 if it has none.
type visitor struct {
	pod  *cluster.Pod
	kind *kind
	from int
}

// NewBoard makes the board of a cluster: its nodes, those that may come, and the pods that wait. Nodes that go already are
// left out; their pods wait.
//
// Cost: one look at every pod, and for each class that can't be told from its requests alone one at every node.
func NewBoard(nodes, coming []*cluster.Node, pending []*cluster.Pod) *Board {
	b := &Board{seatOf: map[string]int{}, classes: map[*cluster.Class]*kind{}, byID: map[string]*kind{}, columns: map[string]*column{}}
	var names []string
	for _, n := range slices.Concat(nodes, coming) {
		for name := range n.Allocatable {
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	b.schema = res.NewSchema(append(names, res.CPU, res.Memory)...)
	b.average = make(res.Vector, b.schema.Len())
	waits := make(map[*cluster.Pod]bool, len(pending))
	for _, pod := range pending {
		waits[pod] = true
	}
	sorted := slices.SortedFunc(slices.Values(nodes), func(x, y *cluster.Node) int { return cmp.Compare(x.Name, y.Name) })
	for _, n := range sorted {
		if !n.Deleting && !n.Leaving {
			b.sit(n, waits).late = !n.Initialized && n.Claim != ""
		}
	}
	for _, n := range coming {
		b.sit(n, waits).coming = true
	}
	for i := range b.average {
		b.average[i] = max(1, b.average[i]/int64(max(1, len(b.seats))))
	}
	for _, pod := range pending {
		if pod.Class != nil && !pod.Class.Virtual && pod.Class.Unplaceable == "" {
			b.pending = append(b.pending, &visitor{pod, b.kindOf(pod.Class), -1})
		}
	}
	slices.SortFunc(b.pending, func(x, y *visitor) int {
		return cmp.Or(cmp.Compare(y.pod.Class.Priority, x.pod.Class.Priority), x.pod.CreatedAt.Compare(y.pod.CreatedAt), byName(x, y))
	})
	for _, k := range b.kinds {
		k.measure(b.average)
	}
	ranked := slices.SortedFunc(slices.Values(b.kinds), func(x, y *kind) int { return cmp.Or(cmp.Compare(y.size, x.size), cmp.Compare(x.class.ID, y.class.ID)) })
	for i, k := range ranked {
		k.rank = i
	}
	for i, own := range b.leavers {
		b.leavers[i] = b.largestFirst(own)
	}
	b.relate()
	b.lanes = boardLanes{board: b, byName: map[string]*lane{}}
	return b
}

func byName(x, y *visitor) int {
	return cmp.Or(cmp.Compare(x.pod.Namespace, y.pod.Namespace), cmp.Compare(x.pod.Name, y.pod.Name), cmp.Compare(x.pod.UID, y.pod.UID))
}

// sit adds a node with its pods.
func (b *Board) sit(n *cluster.Node, waits map[*cluster.Pod]bool) *seat {
	id := len(b.seats)
	s := &seat{node: n, room: b.schema.Vector(n.Allocatable), labels: labelsOf(n)}
	s.cpu, s.memory = n.Allocatable[res.CPU], n.Allocatable[res.Memory]
	b.average.Add(s.room, 1)
	if n.Used != nil {
		s.room.Sub(b.schema.Vector(n.Used), 1)
	}
	var leavers []*visitor
	counted := res.List{}
	for _, pod := range n.Pods {
		if pod.Class == nil {
			continue
		}
		k := b.kindOf(pod.Class)
		if n.Used == nil {
			s.room.Sub(k.req, 1)
		}
		counted.Add(pod.Class.Requests)
		s.usedCPU += k.cpu
		s.usedMemory += k.memory
		if !pod.Terminating {
			k.put(id)
		}
		if !pod.Daemon && !pod.Mirror && !pod.Terminating && !waits[pod] {
			leavers = append(leavers, &visitor{pod, k, id})
		}
	}
	// What is used and not by the pods that are listed, such as the daemons of a node to come.
	s.usedCPU += max(0, n.Used[res.CPU]-counted[res.CPU])
	s.usedMemory += max(0, n.Used[res.Memory]-counted[res.Memory])
	slices.SortFunc(leavers, byName)
	b.leavers = append(b.leavers, leavers)
	b.seats = append(b.seats, s)
	b.seatOf[n.Name] = id
	return s
}

// labelsOf are the labels of a node by their stable names.
func labelsOf(n *cluster.Node) map[string]string {
	out := make(map[string]string, len(n.Labels)+4)
	for k, v := range n.Labels {
		key := requirement.Normalize(k)
		if _, both := n.Labels[key]; !both || key == k {
			out[key] = v
		}
	}
	for _, t := range n.Requirements {
		if key := requirement.Normalize(t.Key); t.Operator == requirement.In && len(t.Values) == 1 && out[key] == "" {
			out[key] = t.Values[0]
		}
	}
	out[requirement.Hostname] = cmp.Or(n.Hostname, n.Name)
	if n.Claim == "" || n.Registered {
		out[requirement.NodeName] = n.Name
	}
	return out
}

// Leavers are the pods of a node that look for another place when it goes, the largest first.
func (b *Board) Leavers(node string) []*cluster.Pod {
	seat, known := b.seatOf[node]
	if !known {
		return nil
	}
	own := b.leavers[seat]
	out := make([]*cluster.Pod, len(own))
	for i, v := range own {
		out[i] = v.pod
	}
	return out
}

// Unbound reports whether where a pod goes matters to others, and the other way round, by nothing but the room that it
// takes: neither affinity nor anti-affinity nor a spread speaks of it or is its own.
func (b *Board) Unbound(pod *cluster.Pod) bool {
	k := b.classes[pod.Class]
	return k != nil && len(k.demands)+len(k.counted) == 0
}
