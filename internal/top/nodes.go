package top

import (
	"cmp"
	"slices"
	"strings"

	"github.com/kerf-sh/kerf/internal/controller/overview"
	"github.com/kerf-sh/kerf/internal/engine/catalog"
)

// NodeOptions say which nodes are listed, and in which order.
type NodeOptions struct {
	Sort    Sort
	Reverse bool
	Filter  string // words that a node's name, NodePool, type, zone, capacity type, state or workloads must contain
	Group   bool   // by NodePool
}

// Sort is an order of nodes.
type Sort string

// Sorts are all orders, in the order in which the key goes through them.
var Sorts = []Sort{byName, byPrice, byUse, byAge, bySaving}

const (
	byName   Sort = "name"
	byPrice  Sort = "price"  // the dearest first
	byUse    Sort = "use"    // the emptiest first
	byAge    Sort = "age"    // the oldest first
	bySaving Sort = "saving" // what removing it would save, the largest first
)

// row is one line of the nodes: a node, or a NodePool that nodes are grouped by.
type row struct {
	node *overview.Node
	pool *group
}

// group is a NodePool with the nodes that are listed of it.
type group struct {
	name     string
	nodes    int
	price    catalog.MicroUSD
	cpu, mem overview.Amount
	closed   bool
}

// arranged are the lines of the nodes.
func arranged(d *overview.Document, o NodeOptions, closed map[string]bool) []row {
	nodes := d.Nodes
	if o.Filter != "" {
		nodes = filtered(d, strings.Fields(strings.ToLower(o.Filter)))
	} else {
		nodes = slices.Clone(nodes)
	}
	sortNodes(nodes, o)
	out := make([]row, 0, len(nodes))
	if !o.Group {
		for _, n := range nodes {
			out = append(out, row{node: n})
		}
		return out
	}
	pools := map[string]*group{}
	byPool := map[string][]*overview.Node{}
	for _, n := range nodes {
		g := pools[n.Pool]
		if g == nil {
			g = &group{name: n.Pool, closed: closed[n.Pool]}
			pools[n.Pool] = g
		}
		g.nodes++
		g.price += n.Price
		g.cpu.Has, g.cpu.Used, g.cpu.Daemons = g.cpu.Has+n.CPU.Has, g.cpu.Used+n.CPU.Used, g.cpu.Daemons+n.CPU.Daemons
		g.mem.Has, g.mem.Used, g.mem.Daemons = g.mem.Has+n.Memory.Has, g.mem.Used+n.Memory.Used, g.mem.Daemons+n.Memory.Daemons
		byPool[n.Pool] = append(byPool[n.Pool], n)
	}
	names := make([]string, 0, len(pools))
	for name := range pools {
		names = append(names, name)
	}
	slices.SortFunc(names, func(a, b string) int {
		return cmp.Or(cmp.Compare(boolRank(a == ""), boolRank(b == "")), strings.Compare(a, b)) // those without a NodePool last
	})
	for _, name := range names {
		out = append(out, row{pool: pools[name]})
		if pools[name].closed {
			continue
		}
		for _, n := range byPool[name] {
			out = append(out, row{node: n})
		}
	}
	return out
}

func boolRank(last bool) int {
	if last {
		return 1
	}
	return 0
}

// filtered are the nodes that have all words in what is known of them.
func filtered(d *overview.Document, words []string) []*overview.Node {
	carries := make([][]bool, len(words)) // by word and class: whether it is in the name of the workload
	for i, word := range words {
		carries[i] = make([]bool, len(d.Classes))
		for j, c := range d.Classes {
			carries[i][j] = strings.Contains(strings.ToLower(c.Namespace+"/"+c.Name), word)
		}
	}
	out := []*overview.Node{}
nodes:
	for _, n := range d.Nodes {
		for i, word := range words {
			if !mentions(n, word) && !slices.ContainsFunc(n.Carries, func(c [2]int) bool { return c[0] >= 0 && c[0] < len(d.Classes) && carries[i][c[0]] }) {
				continue nodes
			}
		}
		out = append(out, n)
	}
	return out
}

// mentions reports whether a word is in what a node is called, or in what it is. All of that is in lower case.
func mentions(n *overview.Node, word string) bool {
	return strings.Contains(n.Name, word) || strings.Contains(n.Claim, word) || strings.Contains(n.Pool, word) || strings.Contains(n.InstanceType, word) ||
		strings.Contains(n.Zone, word) || strings.Contains(n.CapacityType, word) || strings.Contains(n.Arch, word) || strings.Contains(string(n.State), word)
}

// sortNodes sorts by what each node is worth in an order; that is found once for each.
func sortNodes(nodes []*overview.Node, o NodeOptions) {
	type keyed struct {
		key  int64 // the smallest first
		node *overview.Node
	}
	all := make([]keyed, len(nodes))
	for i, n := range nodes {
		all[i] = keyed{orderKey(n, o.Sort), n}
	}
	slices.SortFunc(all, func(a, b keyed) int {
		c := cmp.Compare(a.key, b.key)
		if c == 0 {
			c = strings.Compare(a.node.Name, b.node.Name)
		}
		if o.Reverse {
			return -c
		}
		return c
	})
	for i := range all {
		nodes[i] = all[i].node
	}
}

func orderKey(n *overview.Node, by Sort) int64 {
	switch by {
	case byPrice:
		return -int64(n.Price)
	case byUse:
		return int64(1e6 * used(n).part())
	case byAge:
		return n.Created.UnixNano()
	case bySaving:
		return -int64(saves(n))
	case byName:
	}
	return 0
}

func saves(n *overview.Node) catalog.MicroUSD {
	if n.Hold == nil {
		return 0
	}
	return n.Hold.Saves
}

// use is how much of one resource is asked for.
type use struct {
	resource string
	overview.Amount
}

// part is from 0 to 1, and more where a node is overcommitted.
func (u use) part() float64 { return part(u.Used, u.Has) }

func part(of, whole int64) float64 {
	if whole <= 0 {
		return 0
	}
	return float64(of) / float64(whole)
}

// used is the use of a node's dominant resource: the one of which the largest part is asked for.
func used(n *overview.Node) use {
	best := use{"cpu", n.CPU}
	if u := (use{"mem", n.Memory}); u.part() > best.part() {
		best = u
	}
	if u := (use{"gpu", n.GPU}); u.part() > best.part() {
		best = u
	}
	return best
}
