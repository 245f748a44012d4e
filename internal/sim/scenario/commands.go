package scenario

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kerf-sh/kerf/internal/engine/catalog"
	"github.com/kerf-sh/kerf/internal/engine/cluster"
	"github.com/kerf-sh/kerf/internal/engine/pack"
	"github.com/kerf-sh/kerf/internal/engine/plan"
	"github.com/kerf-sh/kerf/internal/engine/requirement"
	"github.com/kerf-sh/kerf/internal/engine/res"
	"github.com/kerf-sh/kerf/internal/engine/verify"
)

// pool adds a NodePool.
//
// Example: pool default weight=10 limits=cpu:100,nodes:5 subnets=a:subnet-1:20
func (e *Env) pool(a *args, lines []string) (string, error) {
	p := &cluster.Pool{Name: a.word(), Weight: a.number("weight", 0), NotReady: a.text("not-ready", "")}
	if p.Name == "" {
		return "", fmt.Errorf("wants a name")
	}
	name := a.text("catalog", "default")
	types, ok := e.catalogs[name]
	if !ok {
		return "", fmt.Errorf("no catalog %q; define it with catalog or types first", name)
	}
	p.Types = types
	var err error
	if p.Limits, err = parseList(a.list("limits")); err != nil {
		return "", err
	}
	if p.Used, err = parseList(a.list("used")); err != nil {
		return "", err
	}
	if p.Subnets, err = parseSubnets(a.list("subnets")); err != nil {
		return "", err
	}
	for _, line := range lines {
		word, rest, _ := strings.Cut(line, " ")
		switch word {
		case "require":
			t, err := parseTerm(rest)
			if err != nil {
				return "", err
			}
			p.Requirements = append(p.Requirements, t)
		case "label":
			k, v, _ := strings.Cut(rest, "=")
			if p.Labels == nil {
				p.Labels = map[string]string{}
			}
			p.Labels[longKey(k)] = v
		case "taint", "startup-taint":
			t, err := parseTaint(rest)
			if err != nil {
				return "", err
			}
			if word == "taint" {
				p.Taints = append(p.Taints, t)
			} else {
				p.StartupTaints = append(p.StartupTaints, t)
			}
		default:
			return "", fmt.Errorf("unknown line %q", line)
		}
	}
	p.Requirements = append(p.Requirements, requirement.Term{Key: requirement.NodePool, Operator: requirement.In, Values: []string{p.Name}})
	e.Problem.Pools = append(e.Problem.Pools, p)
	return "", nil
}

// parseList reads "cpu:10,memory:4Gi".
func parseList(items []string) (res.List, error) {
	var out res.List
	for _, item := range items {
		k, v, _ := strings.Cut(item, ":")
		n, err := ParseQuantity(k, v)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", k, err)
		}
		if out == nil {
			out = res.List{}
		}
		out[k] = n
	}
	return out, nil
}

// node adds an existing node, or one in flight with "in-flight".
//
// Example: node n1 cpu=4 memory=16Gi zone=a capacity-type=spot
func (e *Env) node(a *args, lines []string) (string, error) {
	n := &cluster.Node{Name: a.word(), Pool: a.text("pool", ""), Claim: a.text("claim", ""), Labels: map[string]string{}, CreatedAt: Start.Add(-time.Hour)}
	if n.Name == "" {
		return "", fmt.Errorf("wants a name")
	}
	inFlight := a.flag("in-flight")
	n.Deleting, n.Leaving = a.flag("deleting"), a.flag("leaving")
	n.Initialized, n.Registered, n.Launched, n.Ready = !inFlight, !inFlight, !inFlight, !inFlight
	if inFlight && n.Claim == "" {
		n.Claim = n.Name
	}
	for _, k := range []string{"zone", "capacity-type", "instance-type", "arch", "os", "family"} {
		if v := a.text(k, ""); v != "" {
			n.Labels[longKey(k)] = v
		}
	}
	if n.Pool != "" {
		n.Labels[requirement.NodePool] = n.Pool
	}
	n.Zone, n.CapacityType, n.InstanceType = n.Labels[requirement.Zone], n.Labels[requirement.CapacityType], n.Labels[requirement.InstanceType]
	var err error
	if n.AttachLimits, err = parseList(a.list("attach")); err != nil {
		return "", err
	}
	n.Allocatable = a.resources()
	if n.Allocatable[res.Pods] == 0 {
		n.Allocatable[res.Pods] = 110
	}
	n.Used = res.List{}
	for _, line := range lines {
		if err := e.nodeLine(n, line); err != nil {
			return "", err
		}
	}
	e.Problem.Nodes = append(e.Problem.Nodes, n)
	return "", nil
}

func (e *Env) nodeLine(n *cluster.Node, line string) error {
	word, rest, _ := strings.Cut(line, " ")
	switch word {
	case "label":
		k, v, _ := strings.Cut(rest, "=")
		n.Labels[longKey(k)] = v
	case "taint":
		t, err := parseTaint(rest)
		if err != nil {
			return err
		}
		n.Taints = append(n.Taints, t)
	case "require":
		t, err := parseTerm(rest)
		if err != nil {
			return err
		}
		n.Requirements = append(n.Requirements, t)
	case "pods", "daemon":
		parts := strings.Split(rest, "; ") // demands of the pods, after the semicolons
		pa, err := parseArgs(parts[0])
		if err != nil {
			return err
		}
		pods, err := e.makePods(pa, parts[1:])
		if err != nil {
			return err
		}
		for _, pod := range pods {
			pod.Node, pod.Daemon = n.Name, word == "daemon"
			n.Pods = append(n.Pods, pod)
			n.Used.Add(pod.Class.Requests)
			if pod.Daemon {
				if n.DaemonUsed == nil {
					n.DaemonUsed = res.List{}
				}
				n.DaemonUsed.Add(pod.Class.Requests)
			}
		}
	default:
		return fmt.Errorf("unknown line %q", line)
	}
	return nil
}

// pods adds pending pods of one class.
//
// Example: pods web count=3 cpu=500m memory=1Gi
func (e *Env) pods(a *args, lines []string) (string, error) {
	pods, err := e.makePods(a, lines)
	if err != nil {
		return "", err
	}
	if a.flag("moved") {
		return "", fmt.Errorf("pods are moved by deleting their node")
	}
	e.Problem.Pending = append(e.Problem.Pending, pods...)
	return "", nil
}

// daemon adds a DaemonSet.
//
// Example: daemon logs cpu=100m memory=64Mi
func (e *Env) daemon(a *args, lines []string) (string, error) {
	if _, ok := a.pairs["count"]; ok {
		return "", fmt.Errorf("has no count")
	}
	pods, err := e.makePods(a, lines)
	if err != nil {
		return "", err
	}
	class := pods[0].Class
	e.Problem.Daemons = append(e.Problem.Daemons, cluster.Daemon{Name: class.Namespace + "/" + class.Labels["app"], Class: class})
	return "", nil
}

// options sets what NodePools and pods don't say.
//
// Example: options max-types=5 min-values=best-effort upkeep=0.0022
func (e *Env) options(a *args, _ []string) (string, error) {
	o := &e.Problem.Options
	o.MaxTypes = a.number("max-types", o.MaxTypes)
	if text := a.text("upkeep", ""); text != "" {
		price, err := parsePrice(text)
		if err != nil {
			return "", err
		}
		o.Upkeep = price
	}
	switch policy := a.text("min-values", "strict"); policy {
	case "strict", "best-effort":
		o.MinValuesBestEffort = policy == "best-effort"
	default:
		return "", fmt.Errorf("min-values is strict or best-effort, not %q", policy)
	}
	switch policy := a.text("preferences", "respect"); policy {
	case "respect", "ignore":
		o.IgnorePreferences = policy == "ignore"
	case "demand":
		o.PreferenceShare = -1
	default:
		share, ok := strings.CutSuffix(policy, "%")
		n, err := strconv.ParseFloat(share, 64)
		if !ok || err != nil || n <= 0 {
			return "", fmt.Errorf("preferences are respect, demand, ignore or a percentage, not %q", policy)
		}
		o.PreferenceShare = n / 100
	}
	return "", nil
}

// solve prints the plan and what an independent check finds wrong with it.
//
// Example: solve brief
func (e *Env) solve(a *args, _ []string) (string, error) {
	brief := a.flag("brief")
	out := pack.Solve(e.Problem)
	text := out.String()
	if brief {
		text = Brief(out)
	}
	for _, v := range verify.Check(e.Problem, out) {
		text += "VIOLATION " + v.String() + "\n"
	}
	return text, nil
}

// Brief sums a plan up: how many nodes of which type, and what is left.
func Brief(p *plan.Plan) string {
	var b strings.Builder
	type kind struct{ pool, name, capacityType string }
	count, pods, price := map[kind]int{}, map[kind]int{}, map[kind]catalog.MicroUSD{}
	for _, n := range p.NewNodes {
		k := kind{n.Pool, n.Types[0].Name, n.Types[0].CapacityType}
		count[k]++
		pods[k] += len(n.Pods)
		price[k] += n.Price
	}
	keys := slices.SortedFunc(maps.Keys(count), func(x, y kind) int {
		return strings.Compare(x.pool+" "+x.name+" "+x.capacityType, y.pool+" "+y.name+" "+y.capacityType)
	})
	for _, k := range keys {
		fmt.Fprintf(&b, "%d x %s %s from %s: %d pods, %s/h\n", count[k], k.name, k.capacityType, k.pool, pods[k], p.Currency.Amount(price[k]))
	}
	placed := 0
	for _, pl := range p.Placements {
		placed += len(pl.Pods)
	}
	left := 0
	for _, u := range p.Unplaced {
		left += len(u.Pods)
	}
	fmt.Fprintf(&b, "%s/h, %d new nodes, %d pods on existing nodes, %d unplaced\n", p.Currency.Amount(p.Price), len(p.NewNodes), placed, left)
	return b.String()
}

// apply carries the plan out in the scenario: its pods run, its nodes exist.
//
// Example: apply
func (e *Env) apply(_ *args, _ []string) (string, error) {
	out := pack.Solve(e.Problem)
	pods := map[cluster.PodRef]*cluster.Pod{}
	for _, pod := range e.Problem.Pending {
		pods[pod.PodRef] = pod
	}
	bind := func(n *cluster.Node, refs []cluster.PodRef) {
		for _, ref := range refs {
			pod := pods[ref]
			pod.Node = n.Name
			n.Pods = append(n.Pods, pod)
			n.Used.Add(pod.Class.Requests)
			delete(pods, ref)
		}
	}
	for _, pl := range out.Placements {
		for _, n := range e.Problem.Nodes {
			if n.Name == pl.Node {
				bind(n, pl.Pods)
			}
		}
	}
	for i := range out.NewNodes {
		n := e.nodeOf(&out.NewNodes[i])
		bind(n, out.NewNodes[i].Pods)
		e.Problem.Nodes = append(e.Problem.Nodes, n)
	}
	e.Problem.Pending = slices.DeleteFunc(e.Problem.Pending, func(p *cluster.Pod) bool { return pods[p.PodRef] == nil })
	return fmt.Sprintf("%d nodes, %d pods pending\n", len(e.Problem.Nodes), len(e.Problem.Pending)), nil
}

// nodeOf is the node that comes of a planned one when its first type is launched.
func (e *Env) nodeOf(nn *plan.NewNode) *cluster.Node {
	e.serial["node"]++
	name := fmt.Sprintf("%s-%d", nn.Pool, e.serial["node"])
	choice := nn.Types[0]
	n := &cluster.Node{Name: name, Claim: name, Pool: nn.Pool, Used: res.List{}, Labels: map[string]string{
		requirement.NodePool: nn.Pool, requirement.Zone: choice.Zone, requirement.CapacityType: choice.CapacityType,
		requirement.InstanceType: choice.Name, requirement.Hostname: name,
	}, Zone: choice.Zone, CapacityType: choice.CapacityType, InstanceType: choice.Name, Price: choice.Price,
		Launched: true, Registered: true, Initialized: true, Ready: true, CreatedAt: Start}
	for _, pool := range e.Problem.Pools {
		if pool.Name != nn.Pool {
			continue
		}
		n.Taints = pool.Taints
		if pool.Used == nil {
			pool.Used = res.List{}
		}
		pool.Used[res.Nodes]++
		for _, t := range pool.Types {
			if t.Name == choice.Name {
				n.Allocatable, n.Capacity = t.Allocatable(), t.Capacity.Clone()
				pool.Used.Add(t.Capacity)
				single(n.Labels, t.Requirements)
			}
		}
	}
	single(n.Labels, nn.Requirements)
	return n
}

// single adds the labels that have just one value left.
func single(labels map[string]string, terms []requirement.Term) {
	for _, t := range terms {
		if _, ok := labels[t.Key]; !ok && t.Operator == requirement.In && len(t.Values) == 1 {
			labels[t.Key] = t.Values[0]
		}
	}
}
