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
	workloads := make([]string, len(d.Classes))
	for i, c := range d.Classes {
		workloads[i] = strings.ToLower(c.Namespace + "/" + c.Name)
	}
	out := []*overview.Node{}
	for _, n := range d.Nodes {
		if !slices.ContainsFunc(words, func(w string) bool { return !mentions(n, workloads, w) }) {
			out = append(out, n)
		}
	}
	return out
}

func mentions(n *overview.Node, workloads []string, word string) bool {
	for _, text := range [...]string{n.Name, n.Claim, n.Pool, n.InstanceType, n.Zone, n.CapacityType, n.Arch, string(n.State)} {
		if strings.Contains(strings.ToLower(text), word) {
			return true
		}
	}
	for _, c := range n.Carries {
		if c[0] >= 0 && c[0] < len(workloads) && strings.Contains(workloads[c[0]], word) {
			return true
		}
	}
	return false
}

func sortNodes(nodes []*overview.Node, o NodeOptions) {
	var by func(a, b *overview.Node) int
	switch o.Sort {
	case byPrice:
		by = func(a, b *overview.Node) int { return cmp.Compare(b.Price, a.Price) }
	case byUse:
		by = func(a, b *overview.Node) int { return cmp.Compare(used(a).part(), used(b).part()) }
	case byAge:
		by = func(a, b *overview.Node) int { return a.Created.Compare(b.Created) }
	case bySaving:
		by = func(a, b *overview.Node) int { return cmp.Compare(saves(b), saves(a)) }
	default:
		by = func(_, _ *overview.Node) int { return 0 }
	}
	slices.SortFunc(nodes, func(a, b *overview.Node) int {
		c := cmp.Or(by(a, b), strings.Compare(a.Name, b.Name))
		if o.Reverse {
			return -c
		}
		return c
	})
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
