// Package verify checks that a plan is feasible, knowing nothing of how it was made.
//
// It is written to be read beside the rules of kube-scheduler: labels are strings, sets are loops, and nothing is shared
// with package pack. Whatever pack is proud of must survive it. It runs on every decision, so it asks nothing twice: what
// is equal (the demands of classes, the types and requirements of nodes to launch) is looked at once, and topology is counted
// by pods that a selector finds. Only where something is wrong is it looked at pod by pod, to say what.
package verify

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/kerf-sh/kerf/internal/engine/catalog"
	"github.com/kerf-sh/kerf/internal/engine/cluster"
	"github.com/kerf-sh/kerf/internal/engine/pack"
	"github.com/kerf-sh/kerf/internal/engine/plan"
	"github.com/kerf-sh/kerf/internal/engine/res"
)

// Violation is one rule that a plan breaks.
type Violation struct {
	Rule   string // one word, such as "resources" or "spread"
	Where  string // the node, pool or pod
	Detail string
}

// String is the violation in one line.
func (v Violation) String() string { return v.Rule + ": " + v.Where + ": " + v.Detail }

// Check lists what is wrong with the plan as an answer to the problem; none means that it is feasible. The order is
// that of the plan's parts.
func Check(p *pack.Problem, out *plan.Plan) []Violation {
	c := newChecker(p, out)
	c.collect()
	c.everyPodOnce()
	for _, h := range c.hosts {
		c.checkHost(h)
	}
	c.limits()
	c.reservations(c.reservationOf)
	c.addresses()
	c.topology()
	c.price()
	return c.found
}

func newChecker(p *pack.Problem, out *plan.Plan) *checker {
	return &checker{p: p, out: out, states: map[*cluster.Node]state{}, types: map[*cluster.Pool]map[string]*catalog.Type{},
		allocatable: map[*catalog.Type]res.List{}, kinds: map[string]*kind{}, launches: map[launchKey]*launch{},
		texts: map[*cluster.Class]*classText{}, textIDs: map[string]int{}, columns: map[string]*column{}, views: map[string]*view{},
		any: map[*cluster.Pool]*host{}, exists: map[string]*cluster.Class{}, tallies: map[tallyKey]*tally{}, talliesBy: map[string]*tally{},
		spotsOf: map[spotsKey]*spots{}, spotsBy: map[string]*spots{}}
}

type checker struct {
	p     *pack.Problem
	out   *plan.Plan
	hosts []*host
	pods  map[cluster.PodRef]*cluster.Pod
	found []Violation

	// Answers that are asked for again and again, remembered: of nodes and of types that are launched,
	states      map[*cluster.Node]state
	types       map[*cluster.Pool]map[string]*catalog.Type
	allocatable map[*catalog.Type]res.List
	kinds       map[string]*kind
	launches    map[launchKey]*launch
	// of classes,
	texts   map[*cluster.Class]*classText
	textIDs map[string]int
	exists  map[string]*cluster.Class // that demand no more than a label
	// and of topology.
	whole     *crowds
	columns   map[string]*column
	views     map[string]*view
	any       map[*cluster.Pool]*host
	tallies   map[tallyKey]*tally
	talliesBy map[string]*tally
	spotsOf   map[spotsKey]*spots
	spotsBy   map[string]*spots
}

// host is a node after the plan was carried out: an existing one, or one to launch.
type host struct {
	name     string
	at       int // its place among all hosts
	node     *cluster.Node
	launched *plan.NewNode
	pool     *cluster.Pool
	taints   []cluster.Taint
	running  []*cluster.Pod
	placed   []*cluster.Pod
	classes  []*cluster.Class // of placed, each once
	first    []*cluster.Pod   // the first pod of each of classes
	kind     *kind            // of a launched node
}

func (c *checker) report(rule, where, format string, args ...any) {
	c.found = append(c.found, Violation{rule, where, fmt.Sprintf(format, args...)})
}

func (c *checker) collect() {
	c.pods = map[cluster.PodRef]*cluster.Pod{}
	for _, pod := range c.p.Pending {
		c.pods[pod.PodRef] = pod
	}
	byName := map[string]*host{}
	for _, n := range c.p.Nodes {
		h := &host{name: n.Name, at: len(c.hosts), node: n, taints: n.Taints}
		for _, pod := range n.Pods {
			if pod.Class != nil && c.pods[pod.PodRef] == nil {
				h.running = append(h.running, pod)
			}
		}
		byName[n.Name] = h
		c.hosts = append(c.hosts, h)
	}
	for _, pl := range c.out.Placements {
		h := byName[pl.Node]
		switch {
		case h == nil:
			c.report("node", pl.Node, "no such node")
			continue
		case h.node.Deleting:
			c.report("node", pl.Node, "is being deleted")
		case h.node.Leaving:
			c.report("node", pl.Node, "is marked to go")
		}
		c.place(h, pl.Pods)
	}
	for i := range c.out.NewNodes {
		nn := &c.out.NewNodes[i]
		h := &host{name: fmt.Sprintf("new node %d", i+1), at: len(c.hosts), launched: nn}
		for _, pool := range c.p.Pools {
			if pool.Name == nn.Pool {
				h.pool = pool
				h.taints = pool.Taints
			}
		}
		if h.pool == nil {
			c.report("pool", h.name, "no pool %q", nn.Pool)
			continue
		}
		if h.pool.NotReady != "" {
			c.report("pool", h.name, "pool %s is not ready", nn.Pool)
		}
		h.kind = c.kindOf(h)
		c.hosts = append(c.hosts, h)
		c.place(h, nn.Pods)
	}
}

func (c *checker) place(h *host, refs []cluster.PodRef) {
	if len(refs) == 0 {
		c.report("pods", h.name, "gets no pods")
	}
	for _, ref := range refs {
		pod := c.pods[ref]
		if pod == nil {
			c.report("pods", ref.String(), "is not pending")
			continue
		}
		h.placed = append(h.placed, pod)
		if !slices.Contains(h.classes, pod.Class) {
			h.classes = append(h.classes, pod.Class)
			h.first = append(h.first, pod)
		}
	}
}

func (c *checker) everyPodOnce() {
	seen := map[cluster.PodRef]int{}
	for _, h := range c.hosts {
		for _, pod := range h.placed {
			seen[pod.PodRef]++
		}
	}
	for _, u := range c.out.Unplaced {
		for _, ref := range u.Pods {
			seen[ref]++
		}
		if len(u.Reasons) == 0 {
			c.report("reasons", u.ClassID, "left without a reason")
		}
	}
	for _, pod := range c.p.Pending {
		if n := seen[pod.PodRef]; n != 1 {
			c.report("pods", pod.String(), "is in the plan %d times", n)
		}
	}
}

func (c *checker) checkHost(h *host) {
	c.suited(h)
	if h.node != nil {
		c.checkNode(h)
		return
	}
	c.checkLaunched(h)
}

// suited checks what does not depend on how large the host is.
func (c *checker) suited(h *host) {
	for _, pod := range h.first {
		for _, t := range h.taints {
			if t.Effect != cluster.PreferNoSchedule && !tolerates(pod.Class, t) {
				c.report("taints", h.name, "%s does not tolerate %s", pod, t)
			}
		}
		if pod.Class.Unplaceable != "" {
			c.report("unplaceable", h.name, "%s: %s", pod, pod.Class.Unplaceable)
		}
	}
	c.ports(h)
}

func tolerates(class *cluster.Class, t cluster.Taint) bool {
	for _, tol := range class.Tolerations {
		effect := tol.Effect == "" || tol.Effect == t.Effect
		value := tol.Exists || tol.Value == t.Value
		key := tol.Key == t.Key || (tol.Key == "" && tol.Exists)
		if effect && value && key {
			return true
		}
	}
	return false
}

func (c *checker) ports(h *host) {
	type owned struct {
		port cluster.HostPort
		who  string
	}
	var taken []owned
	for _, pod := range h.running {
		for _, port := range pod.Class.HostPorts {
			taken = append(taken, owned{port, pod.String()})
		}
	}
	for _, pod := range h.placed {
		var mine []owned
		for _, port := range pod.Class.HostPorts {
			for _, o := range taken {
				sameIP := o.port.IP == port.IP || wildcard(o.port.IP) || wildcard(port.IP)
				if o.port.Port == port.Port && cmp.Or(o.port.Protocol, "TCP") == cmp.Or(port.Protocol, "TCP") && sameIP {
					c.report("ports", h.name, "%s and %s both take %d", pod, o.who, port.Port)
				}
			}
			mine = append(mine, owned{port, pod.String()})
		}
		taken = append(taken, mine...)
	}
}

func wildcard(ip string) bool { return ip == "" || ip == "0.0.0.0" || ip == "::" }

func (c *checker) checkNode(h *host) {
	if len(h.placed) == 0 {
		return
	}
	want := res.List{}
	for _, pod := range h.placed {
		want.Add(pod.Class.Requests)
	}
	used := res.List{}
	if h.node.Used != nil {
		used.Add(h.node.Used)
	} else {
		for _, pod := range h.node.Pods {
			if pod.Class != nil {
				used.Add(pod.Class.Requests)
			}
		}
	}
	reserve := res.List{}
	states := c.certain(h.node)
	for _, d := range c.p.Daemons {
		if c.daemonRuns(d, h.taints) && matchesAny(d.Class, states, false) {
			reserve.Add(d.Class.Requests)
		}
	}
	for _, k := range slices.Sorted(maps.Keys(want)) {
		x := want[k]
		if x == 0 {
			continue
		}
		left := h.node.Allocatable[k] - used[k] - max(0, reserve[k]-h.node.DaemonUsed[k])
		if x > left {
			c.report("resources", h.name, "pods ask for %s %s, there is room for %s", res.Format(k, x), k, res.Format(k, left))
		}
	}
	c.attachments(h, "the node", h.node.AttachLimits)
	for _, pod := range h.first {
		if !matchesAny(pod.Class, states, true) {
			c.report("labels", h.name, "does not satisfy what %s demands", pod)
		}
	}
}

func (c *checker) daemonRuns(d cluster.Daemon, taints []cluster.Taint) bool {
	for _, t := range taints {
		if t.Effect != cluster.PreferNoSchedule && !tolerates(d.Class, t) {
			return false
		}
	}
	return true
}

func (c *checker) limits() {
	for _, pool := range c.p.Pools {
		limited, sum := slices.Sorted(maps.Keys(pool.Limits)), res.List{}
		sum.Add(pool.Used)
		for i := range c.out.NewNodes {
			nn := &c.out.NewNodes[i]
			if nn.Pool != pool.Name {
				continue
			}
			least := res.List{}
			for j, choice := range nn.Types {
				t := c.typeOf(pool, choice.Name)
				for _, k := range limited {
					if t != nil && (j == 0 || t.Capacity[k] < least[k]) {
						least[k] = t.Capacity[k]
					}
					if t != nil && k != res.Nodes && t.Capacity[k]+pool.Used[k] > pool.Limits[k] {
						c.report("limits", "pool "+pool.Name, "%s alone exceeds the limit on %s", t.Name, k)
					}
				}
			}
			least[res.Nodes] = 1
			sum.Add(least)
		}
		for _, k := range limited {
			most := pool.Limits[k]
			if sum[k] > most && sum[k] > pool.Used[k] {
				c.report("limits", "pool "+pool.Name, "%s of %s, the limit is %s", res.Format(k, sum[k]), k, res.Format(k, most))
			}
		}
	}
}

func (c *checker) price() {
	sum := catalog.MicroUSD(0)
	for _, nn := range c.out.NewNodes {
		if len(nn.Types) > 0 && nn.Price != nn.Types[0].Price {
			c.report("price", nn.Types[0].Name, "is not what the node is priced at")
		}
		sum += nn.Price
	}
	if sum != c.out.Price {
		c.report("price", "plan", "the nodes cost %s, not %s", c.p.Options.Currency.Amount(sum), c.p.Options.Currency.Amount(c.out.Price))
	}
}
