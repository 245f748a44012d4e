package scenario

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/kerf-sh/kerf/internal/engine/catalog"
	"github.com/kerf-sh/kerf/internal/engine/cluster"
	"github.com/kerf-sh/kerf/internal/engine/disrupt"
	"github.com/kerf-sh/kerf/internal/engine/requirement"
	"github.com/kerf-sh/kerf/internal/engine/res"
	"github.com/kerf-sh/kerf/internal/engine/verify"
)

// upkeep is what a scenario says about disruption beyond the cluster.
type upkeep struct {
	pools  map[string]disrupt.Pool
	blocks map[string][]disrupt.Reason
	lives  map[string]time.Duration
	costs  map[string]int32
}

// instance adds a running node of a pool's type, with what the catalog says about it.
//
// Example: instance n1 large pool=default zone=a capacity-type=spot expires=2h
func (e *Env) instance(a *args, lines []string) (string, error) {
	n := &cluster.Node{Name: a.word(), InstanceType: a.word(), Pool: a.text("pool", "default"), Zone: a.text("zone", "a"),
		CapacityType: a.text("capacity-type", catalog.OnDemand), CreatedAt: Start.Add(-time.Hour), Used: res.List{},
		Launched: true, Registered: true, Ready: true, Initialized: !a.flag("starting"), Leaving: a.flag("leaving")}
	n.Claim = n.Name
	n.Labels = map[string]string{requirement.NodePool: n.Pool, requirement.Zone: n.Zone, requirement.CapacityType: n.CapacityType,
		requirement.InstanceType: n.InstanceType, requirement.Hostname: n.Name}
	for _, pool := range e.Problem.Pools {
		for _, t := range pool.Types {
			if pool.Name == n.Pool && t.Name == n.InstanceType {
				n.Allocatable, n.Capacity, n.Taints = t.Allocatable(), t.Capacity.Clone(), pool.Taints
				single(n.Labels, t.Requirements)
				for k, v := range pool.Labels {
					n.Labels[k] = v
				}
			}
		}
	}
	if n.Allocatable == nil {
		return "", fmt.Errorf("pool %q has no type %q; define both first", n.Pool, n.InstanceType)
	}
	if life := a.text("expires", ""); life != "" {
		left, err := time.ParseDuration(life)
		if err != nil {
			return "", err
		}
		if e.upkeep.lives == nil {
			e.upkeep.lives = map[string]time.Duration{}
		}
		e.upkeep.lives[n.Name] = left
	}
	for _, line := range lines {
		if err := e.nodeLine(n, line); err != nil {
			return "", err
		}
	}
	e.Problem.Nodes = append(e.Problem.Nodes, n)
	return "", nil
}

// policy sets when nodes of a pool may go; WhenEmptyOrUnderutilized where nothing is said.
//
// Example: policy default Balanced empty=2 underutilized=1
func (e *Env) policy(a *args, lines []string) (string, error) {
	if len(lines) > 0 {
		return "", fmt.Errorf("takes no lines; leave one empty before the next command")
	}
	p := disrupt.Pool{Name: a.word(), Policy: disrupt.Policy(a.word()), Static: a.flag("static"), Allowed: map[disrupt.Cause]int{}}
	switch p.Policy {
	case disrupt.WhenEmpty, disrupt.WhenEmptyOrUnderutilized, disrupt.Balanced:
	default:
		return "", fmt.Errorf("is WhenEmpty, WhenEmptyOrUnderutilized or Balanced, not %q", p.Policy)
	}
	for arg, cause := range map[string]disrupt.Cause{"empty": disrupt.Empty, "underutilized": disrupt.Underutilized, "drifted": disrupt.Drifted} {
		if n := a.number(arg, -1); n >= 0 {
			p.Allowed[cause] = n
		}
	}
	if e.upkeep.pools == nil {
		e.upkeep.pools = map[string]disrupt.Pool{}
	}
	e.upkeep.pools[p.Name] = p
	return "", nil
}

// block says why a node must not go.
//
// Example: block n1 PodDisruptionBudget pod=default/web-1
func (e *Env) block(a *args, lines []string) (string, error) {
	if len(lines) > 0 {
		return "", fmt.Errorf("takes no lines; leave one empty before the next command")
	}
	name := a.word()
	r := disrupt.Reason{Code: disrupt.Code(a.word()), Pod: a.text("pod", ""), Detail: a.text("detail", "")}
	if r.Text() == string(r.Code) {
		return "", fmt.Errorf("no reason %q", r.Code)
	}
	if e.upkeep.blocks == nil {
		e.upkeep.blocks = map[string][]disrupt.Reason{}
	}
	e.upkeep.blocks[name] = append(e.upkeep.blocks[name], r)
	return "", nil
}

// cost sets the deletion cost of a pod.
//
// Example: cost default/web-1 -2147483648
func (e *Env) cost(a *args, lines []string) (string, error) {
	if len(lines) > 0 {
		return "", fmt.Errorf("takes no lines; leave one empty before the next command")
	}
	if e.upkeep.costs == nil {
		e.upkeep.costs = map[string]int32{}
	}
	name := a.word()
	var n int32
	if _, err := fmt.Sscan(a.word(), &n); err != nil {
		return "", fmt.Errorf("wants a pod and a number: %w", err)
	}
	e.upkeep.costs[name] = n
	return "", nil
}

// consolidate prints which nodes could go and what an independent check finds wrong with it; with apply it is also
// carried out.
//
// Example: consolidate apply spot-to-spot min-types=3 work=1000
func (e *Env) consolidate(a *args, _ []string) (string, error) {
	o := disrupt.Options{SpotToSpot: a.flag("spot-to-spot"), MinSpotTypes: a.number("min-types", 0), Work: int64(a.number("work", 0))}
	for arg, to := range map[string]*catalog.MicroUSD{"pod-price": &o.PodPrice, "node-price": &o.NodePrice} {
		text := a.text(arg, "")
		if text == "" {
			continue
		}
		price, err := parsePrice(text)
		if err != nil {
			return "", fmt.Errorf("%s: %w", arg, err)
		}
		*to = price
	}
	if text := a.text("overlap", ""); text != "" {
		d, err := time.ParseDuration(text)
		if err != nil {
			return "", fmt.Errorf("overlap: %w", err)
		}
		o.Overlap = d
	}
	apply, brief := a.flag("apply"), a.flag("brief")
	p := e.disruption(o)
	d := disrupt.Decide(p)
	text := d.String()
	if brief {
		lines := strings.Split(strings.TrimSpace(text), "\n")
		text = lines[len(lines)-1] + "\n"
	}
	for _, v := range verify.Moves(p, d) {
		text += "VIOLATION " + v.String() + "\n"
	}
	if apply {
		e.Problem = CarryOut(e.Problem, d)
	}
	return text, nil
}

// disruption is the scenario's cluster as a problem of disruption; nodes that belong to a pool are managed.
func (e *Env) disruption(o disrupt.Options) *disrupt.Problem {
	priced := *e.Problem
	priced.Nodes = (&cluster.Pricer{Least: true}).Apply(priced.Nodes, priced.Pools)
	p := &disrupt.Problem{Cluster: &priced, DeletionCosts: e.upkeep.costs, Options: o}
	for _, n := range e.Problem.Nodes {
		if n.Pool == "" {
			continue
		}
		own := disrupt.Node{Name: n.Name, Blocks: e.upkeep.blocks[n.Name], LifetimeLeft: e.upkeep.lives[n.Name]}
		p.Nodes = append(p.Nodes, own)
	}
	for _, pool := range e.Problem.Pools {
		own, ok := e.upkeep.pools[pool.Name]
		if !ok {
			own.Name = pool.Name
		}
		own.Policy = cmp.Or(own.Policy, disrupt.WhenEmptyOrUnderutilized)
		p.Pools = append(p.Pools, own)
	}
	return p
}
