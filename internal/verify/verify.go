// Package verify checks that a plan is feasible, knowing nothing of how it was made.
//
// It is written to be read beside the rules of kube-scheduler, not to be fast: labels are strings, sets are loops, and
// nothing is shared with package pack. Whatever pack is proud of must survive it.
package verify

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/kerf-sh/kerf/internal/catalog"
	"github.com/kerf-sh/kerf/internal/cluster"
	"github.com/kerf-sh/kerf/internal/pack"
	"github.com/kerf-sh/kerf/internal/plan"
	"github.com/kerf-sh/kerf/internal/requirement"
	"github.com/kerf-sh/kerf/internal/res"
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
	c.reservations()
	c.topology()
	c.price()
	return c.found
}

func newChecker(p *pack.Problem, out *plan.Plan) *checker {
	return &checker{p: p, out: out, states: map[*cluster.Node]state{}, buys: map[string]state{},
		domains: map[domainKey]domainAnswer{}, matches: map[matchKey]bool{}, tallies: map[tallyKey]*tally{}}
}

type checker struct {
	p     *pack.Problem
	out   *plan.Plan
	hosts []*host
	pods  map[cluster.PodRef]*cluster.Pod
	found []Violation
	// Answers that are asked for again and again, remembered.
	states  map[*cluster.Node]state
	buys    map[string]state
	domains map[domainKey]domainAnswer
	matches map[matchKey]bool
	tallies map[tallyKey]*tally
}

type matchKey struct {
	class *cluster.Class
	host  string
}

// host is a node after the plan was carried out: an existing one, or one to buy.
type host struct {
	name    string
	node    *cluster.Node
	bought  *plan.NewNode
	pool    *cluster.Pool
	taints  []cluster.Taint
	running []*cluster.Pod
	placed  []*cluster.Pod
	classes []*cluster.Class // of placed, each once
	first   []*cluster.Pod   // the first pod of each of classes
	demands string           // of a bought node: its pool and requirements as text
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
		h := &host{name: n.Name, node: n, taints: n.Taints}
		for _, pod := range n.Pods {
			if c.pods[pod.PodRef] == nil {
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
		}
		c.place(h, pl.Pods)
	}
	for i := range c.out.NewNodes {
		nn := &c.out.NewNodes[i]
		h := &host{name: fmt.Sprintf("new node %d", i+1), bought: nn, demands: fmt.Sprint(nn.Pool, nn.Requirements)}
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
	if h.node != nil {
		c.checkNode(h)
		return
	}
	c.checkBought(h)
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
			used.Add(pod.Class.Requests)
		}
	}
	reserve := res.List{}
	states := c.certain(h.node)
	for _, d := range c.p.Daemons {
		if c.daemonRuns(d, h.taints) && matchesAny(d.Class, states, false) {
			reserve.Add(d.Class.Requests)
		}
	}
	for k, x := range want {
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

// checkBought tries every listed type in every way that it may be bought.
func (c *checker) checkBought(h *host) {
	if len(h.bought.Types) == 0 {
		c.report("types", h.name, "lists no type")
	}
	last := catalog.MicroUSD(-1)
	for _, choice := range h.bought.Types {
		if choice.Price < last {
			c.report("types", h.name, "%s is listed after a dearer type", choice.Name)
		}
		last = choice.Price
		t := typeNamed(h.pool, choice.Name)
		if t == nil {
			c.report("types", h.name, "pool %s has no type %s", h.pool.Name, choice.Name)
			continue
		}
		c.carries(h, t)
		c.attachments(h, t.Name, t.AttachLimits)
		c.offered(h, t, choice)
	}
	c.minValues(h)
}

func typeNamed(pool *cluster.Pool, name string) *catalog.Type {
	for _, t := range pool.Types {
		if t.Name == name {
			return t
		}
	}
	return nil
}

// carries checks that the pods and the daemons fit on the type, whichever offering is bought.
func (c *checker) carries(h *host, t *catalog.Type) {
	want := res.List{}
	for _, pod := range h.placed {
		want.Add(pod.Class.Requests)
	}
	for _, d := range c.p.Daemons {
		if !c.daemonRuns(d, h.taints) {
			continue
		}
		runs := slices.ContainsFunc(t.Offerings, func(o catalog.Offering) bool {
			node := c.possible(h, t, o)
			return node != nil && matchesAny(d.Class, node, false)
		})
		if !runs {
			continue
		}
		want.Add(d.Class.Requests)
		for _, pod := range h.first {
			for _, a := range pod.Class.HostPorts {
				for _, b := range d.Class.HostPorts {
					if a.Conflicts(b) {
						c.report("ports", h.name, "%s and daemon %s both take %d", pod, d.Name, a.Port)
					}
				}
			}
		}
	}
	have := t.Allocatable()
	for k, x := range want {
		if x > have[k] && x > 0 {
			c.report("resources", h.name, "%s has %s %s, pods and daemons ask for %s", t.Name, res.Format(k, have[k]), k, res.Format(k, x))
		}
	}
}

// offered checks that the type can be bought within the requirements, that every such purchase suits every pod, and that
// the price is that of the cheapest.
func (c *checker) offered(h *host, t *catalog.Type, choice plan.TypeChoice) {
	cheapest := catalog.MicroUSD(-1)
	for _, o := range t.Offerings {
		if !o.Available || (o.CapacityType == catalog.Reserved && o.Reservable == 0) {
			continue
		}
		node := c.possible(h, t, o)
		if node == nil {
			continue
		}
		for _, pod := range h.first {
			if !matchesAny(pod.Class, node, true) {
				c.report("labels", h.name, "%s bought as %s in %s does not satisfy what %s demands", t.Name, o.CapacityType, o.Zone, pod)
			}
		}
		if cheapest < 0 || o.Price < cheapest {
			cheapest = o.Price
		}
	}
	switch {
	case cheapest < 0:
		c.report("offering", h.name, "%s can't be bought within the requirements", t.Name)
	case cheapest != choice.Price:
		c.report("price", h.name, "%s costs %s, not %s", t.Name, plan.Dollars(cheapest), plan.Dollars(choice.Price))
	}
}

func (c *checker) minValues(h *host) {
	if c.p.Options.MinValuesBestEffort {
		return
	}
	for _, term := range h.pool.Requirements {
		if term.MinValues == 0 {
			continue
		}
		seen := map[string]bool{}
		for _, choice := range h.bought.Types {
			t := typeNamed(h.pool, choice.Name)
			if t == nil {
				continue
			}
			for _, o := range t.Offerings {
				node := c.possible(h, t, o)
				if node == nil || !o.Available {
					continue
				}
				if v, ok := node[requirement.Normalize(term.Key)]; ok && len(v.values) > 0 {
					for _, x := range v.values {
						seen[x] = true
					}
				}
			}
		}
		if len(seen) < term.MinValues {
			c.report("minValues", h.name, "%d values of %s, not %d", len(seen), term.Key, term.MinValues)
		}
	}
}

func (c *checker) limits() {
	for _, pool := range c.p.Pools {
		sum := res.List{}
		sum.Add(pool.Used)
		for i := range c.out.NewNodes {
			nn := &c.out.NewNodes[i]
			if nn.Pool != pool.Name {
				continue
			}
			least := res.List{}
			for j, choice := range nn.Types {
				t := typeNamed(pool, choice.Name)
				for k := range pool.Limits {
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
		for k, most := range pool.Limits {
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
		c.report("price", "plan", "the nodes cost %s, not %s", plan.Dollars(sum), plan.Dollars(c.out.Price))
	}
}
