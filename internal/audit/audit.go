// Package audit says what a cluster costs, how little its pods could cost, where the difference lies, and what is at risk: a pure
// function of a snapshot and of prices.
//
// The way of an audit, with a file for each stage:
//
//	read          state.go       objects as the engine's values; what each node is and costs
//	pools         pools.go       what could be launched: NodePools, and pools that are assumed for other nodes
//	difference    difference.go  from the bill down to the floor, in parts that add up
//	workloads     workloads.go   what each owner's pods ask for, use and cost
//	asked         asked.go       below the floor: what constraints, pools and requests cost
//	first         first.go       what Kerf would do, and what it would leave
//	risks         risks.go       what may cost pods their place
//
// The report is written as text (text.go), as a page (page.go) or as JSON.
package audit

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/kerf-sh/kerf/internal/awsmodel/ec2facts"
	"github.com/kerf-sh/kerf/internal/controller/apply"
	"github.com/kerf-sh/kerf/internal/engine/catalog"
	"github.com/kerf-sh/kerf/internal/engine/cluster"
	"github.com/kerf-sh/kerf/internal/engine/floor"
	"github.com/kerf-sh/kerf/internal/engine/pack"
	"github.com/kerf-sh/kerf/internal/engine/plan"
	"github.com/kerf-sh/kerf/internal/setup/snapshot"
	"github.com/kerf-sh/kerf/internal/state/pricefile"
)

// Options are what an audit needs besides the snapshot.
type Options struct {
	// Facts are the instance types and prices. Live says that they are the account's, asked now, and not those built in.
	Facts *ec2facts.Facts
	Live  bool
	// Region in place of the snapshot's.
	Region string
	// SpotDiscount is how much spot costs less than on-demand, as a part of it; nil: by the facts.
	SpotDiscount *float64
	// Prices are rules of a price file; nil: none.
	Prices *pricefile.Rules
	// Work bounds each of some twenty searches for a bound, in steps of about a nanosecond; 0: DefaultWork.
	Work int64
}

// DefaultWork lets the searches of a cluster of 1,000 nodes end within seconds. More of it changes its floor by less than 0.1 %.
const DefaultWork = 200_000_000

// borrowed is the region whose types and prices stand in where no region is known.
const borrowed = "us-east-1"

// audit is what the stages share.
type audit struct {
	o      *Options
	m      *market
	st     *state
	base   pack.Problem // pools, daemons, options
	report *Report

	bill, kept catalog.MicroUSD // of all nodes; of those that stay in every step
	floor      catalog.MicroUSD // kept included
	stuck      map[string]string
	unplaced   []unplaced
	emptied    *pack.Problem // what the floor is of
	found      map[owner]*demand
	order      []cluster.PodRef
	spots      spots // that the plan and the moves use
}

// Run audits a snapshot. What could not be read makes its part of the report unknown, and is said there.
//
// Errors: options that contradict each other.
func Run(s *snapshot.Snapshot, o Options) (*Report, error) {
	if d := o.SpotDiscount; d != nil && (*d < 0 || *d >= 1) {
		return nil, fmt.Errorf("a spot discount of %g: want at least 0 and less than 1", *d)
	}
	if o.Facts == nil {
		return nil, errors.New("no facts on instance types and prices were given")
	}
	if err := o.CheckRegion(s.Region); err != nil {
		return nil, err
	}
	o.Work = cmp.Or(o.Work, DefaultWork)
	region := cmp.Or(o.Region, s.Region, borrowed)
	a := &audit{o: &o, m: newMarket(&o, region, s.TakenAt), report: &Report{}, spots: spots{}}
	ignored := a.m.nodeOverlays(s.NodeOverlays)
	a.st = read(s, a.m)
	a.describe(region)
	a.price()
	pools, notes := a.st.nodePools(a.m)
	assumed, told := a.st.assumed(a.m)
	a.report.Floor.Assumed = told
	a.report.Unknown = append(append(a.report.Unknown, ignored...), notes...)
	a.base = pack.Problem{Now: s.TakenAt, Pools: append(pools, assumed...), Daemons: a.st.cluster.Daemons, Options: pack.Options{WellKnown: apply.WellKnownLabels(), MaxTypes: 1, Currency: catalog.Currency(a.m.onDemand.Currency)}}
	if a.report.Floor.Why = a.blind(); a.report.Floor.Why != "" {
		a.floor = a.bill
	} else {
		a.difference()
		a.workloads()
		a.asked()
		a.first()
	}
	a.spotPrices()
	a.risks()
	a.unknown()
	a.caveat()
	return a.report, nil
}

// blind says why no floor can be known; empty: it can.
func (a *audit) blind() string {
	s := a.st.from
	switch {
	case s.Missing("nodes"):
		return "nodes could not be read"
	case s.Missing("pods"):
		return "pods could not be read"
	case a.report.Cluster.Nodes == 0:
		return "there is no node of EC2"
	case !a.report.Bill.Known:
		return "no node has a known price"
	}
	return ""
}

// caveat says of what bill and floor are not.
func (a *audit) caveat() {
	r := a.report
	if !r.Bill.Known {
		return
	}
	var parts []string
	if n := len(r.Bill.Unpriced); n > 0 {
		parts = append(parts, "without "+plural(n, "node")+" whose price is not known")
		if r.Floor.Known {
			parts = append(parts, fmt.Sprintf("floor for %d of %s", r.Floor.Pods, plural(r.Floor.AllPods, "pod")))
		}
	}
	if n := r.Bill.Windows; n > 0 {
		parts = append(parts, plural(n, "Windows node")+" at the price of Linux")
	}
	r.Caveat = strings.Join(parts, "; ")
}

// CheckRegion refuses a region of which nothing is known, and one that is not that of the nodes: their types would have no price,
// and there would seem to be nothing to save. nodes is the region of the nodes, empty where not known.
func (o *Options) CheckRegion(nodes string) error {
	known := o.Facts.Regions()
	switch {
	case o.Region == "":
		return nil
	case !slices.Contains(known, o.Region):
		return fmt.Errorf("no region %q is known; there are %s", o.Region, strings.Join(known, ", "))
	case nodes != o.Region && slices.Contains(known, nodes):
		return fmt.Errorf("--region %s: the nodes are in %s, as their labels say: leave the flag out", o.Region, nodes)
	}
	return nil
}

// describe fills in what was audited.
func (a *audit) describe(region string) {
	s := a.st.from
	c := &a.report.Cluster
	*c = Cluster{TakenAt: s.TakenAt, KubernetesVersion: s.KubernetesVersion, Region: region, Name: s.Cluster, TimeOf: s.TimeOf, Anonymized: s.Anonymized, Scaled: a.st.scaledBy()}
	for _, n := range a.st.nodes {
		switch n.from {
		case ofFargate:
			c.Fargate++
			continue
		case ofOther:
			c.Elsewhere++
			continue
		case ofPool, ofGroup:
		}
		c.Nodes++
		for _, p := range n.Pods {
			c.Pods++
			if p.Daemon {
				c.Daemons++
			}
		}
	}
	for _, p := range a.st.pods {
		if p.Spec.NodeName == "" {
			c.Pending++
		}
	}
	a.report.Prices = a.m.describe(a.o)
}

// scaledBy names what launches nodes, as far as its objects tell.
func (st *state) scaledBy() string {
	pools, groups := 0, 0
	for _, n := range st.nodes {
		switch n.from {
		case ofPool:
			pools++
		case ofGroup:
			groups++
		case ofFargate, ofOther:
		}
	}
	autoscaler := slices.ContainsFunc(st.from.Deployments, func(d *appsv1.Deployment) bool {
		return d.Name == "cluster-autoscaler" || d.Labels["app.kubernetes.io/name"] == "aws-cluster-autoscaler"
	})
	switch {
	case len(st.pools) > 0 && groups > 0:
		return "NodePools, and node groups beside them"
	case len(st.pools) > 0:
		return "NodePools"
	case st.poolsUnread() > 0:
		return "NodePools, which could not be read"
	case autoscaler:
		return "Cluster Autoscaler"
	case groups > 0:
		return "node groups"
	case st.from.Missing("nodes"):
		return "what is not known"
	}
	return "nothing that was found"
}

// price adds up the bill.
func (a *audit) price() {
	b := &a.report.Bill
	var kinds, groups, families shares
	for _, n := range a.st.nodes {
		if n.from != ofPool && n.from != ofGroup {
			continue
		}
		if !n.known {
			b.Unpriced = append(b.Unpriced, n.Name)
			continue
		}
		b.Known = true
		a.bill += n.Price
		if n.Labels[corev1.LabelOSStable] == string(corev1.Windows) && !a.m.own[n.InstanceType] {
			b.Windows++
		}
		kinds.add(n.CapacityType, n.Price)
		groups.add(n.group, n.Price)
		family, _ := ec2facts.SplitName(n.InstanceType)
		families.add(family, n.Price)
	}
	b.PerHour, b.PerMonth = dollars(a.bill), monthly(a.bill)
	b.CapacityTypes, b.Groups, b.Families = kinds.sorted(), groups.sorted(), families.sorted()
}

// shares adds up prices by name.
type shares map[string]*struct {
	nodes int
	price catalog.MicroUSD
}

func (s *shares) add(name string, price catalog.MicroUSD) {
	if *s == nil {
		*s = shares{}
	}
	one := (*s)[name]
	if one == nil {
		one = &struct {
			nodes int
			price catalog.MicroUSD
		}{}
		(*s)[name] = one
	}
	one.nodes++
	one.price += price
}

func (s shares) sorted() []Share {
	var out []Share
	for _, name := range sortedKeys(s) {
		out = append(out, Share{Name: name, Nodes: s[name].nodes, PerHour: dollars(s[name].price)})
	}
	slices.SortStableFunc(out, func(x, y Share) int { return cmp.Compare(y.PerHour, x.PerHour) })
	return out
}

// problem is the cluster with some of its nodes kept and the pods of all others waiting. Nodes that are never considered keep their
// pods and have no room for others, unless they are reserved.
func (a *audit) problem(keep func(*audited) bool) *pack.Problem {
	p := a.base
	for _, n := range a.st.nodes {
		switch {
		case n.isReserved():
			p.Nodes = append(p.Nodes, n.Node)
		case !n.movable():
			full := *n.Node
			full.Allocatable = full.Used
			p.Nodes = append(p.Nodes, &full)
		case keep(n):
			p.Nodes = append(p.Nodes, n.Node)
		default:
			for _, pod := range moving(n.Node) {
				free := *pod
				free.Node = ""
				p.Pending = append(p.Pending, &free)
			}
		}
	}
	slices.SortFunc(p.Pending, func(x, y *cluster.Pod) int {
		return cmp.Or(cmp.Compare(x.Namespace, y.Namespace), cmp.Compare(x.Name, y.Name))
	})
	return &p
}

// whole is the cluster as it runs, for the bound and for decisions.
func (a *audit) whole() *pack.Problem {
	p := a.base
	for _, n := range a.st.nodes {
		p.Nodes = append(p.Nodes, n.Node)
	}
	return &p
}

// placedAt is what a plan of Kerf's for the pods of all nodes that are not kept costs, kept nodes included.
func (a *audit) placedAt(keep func(*audited) bool) (price catalog.MicroUSD, newNodes []plan.NewNode, left []unplaced) {
	p := a.problem(keep)
	out := pack.Solve(p)
	price = out.Price
	for _, n := range a.st.nodes {
		if n.movable() && keep(n) {
			price += n.Price
		}
	}
	for _, u := range out.Unplaced {
		why := apply.Explain(u.Reasons)
		for _, pod := range u.Pods {
			left = append(left, unplaced{pod, why})
		}
	}
	return price, out.NewNodes, left
}

// unplaced is a pod that no pool could take, and why.
type unplaced struct {
	pod cluster.PodRef
	why string
}

// mostSettling is how often the pods of the nodes that are left are placed anew because some found no place. A second time is
// usual, where pods that stay had kept room for others.
const mostSettling = 10

// settle finds the pods that no pool could take, and leaves their nodes as they are: a plan without them would save nothing. all
// tells that every other pod has a place in the plan.
func (a *audit) settle() (price catalog.MicroUSD, newNodes []plan.NewNode, all bool) {
	none := func(*audited) bool { return false }
	a.stuck = map[string]string{}
	for range mostSettling {
		var left []unplaced
		price, newNodes, left = a.placedAt(none)
		if all = len(left) == 0; all {
			break
		}
		for _, u := range left {
			a.unplaced = append(a.unplaced, u)
			if n := a.nodeOf(u.pod); n != nil {
				a.stuck[n.Name] = u.pod.String()
				n.Claim = ""
			}
		}
	}
	for _, n := range a.st.nodes {
		if !n.movable() {
			a.kept += n.Price
		}
	}
	a.emptied, _ = floor.Empty(a.whole())
	for i, n := range a.emptied.Nodes {
		if x := a.st.byName[n.Name]; x != nil && x.isReserved() {
			a.emptied.Nodes[i] = x.Node
		}
	}
	return price, newNodes, all
}

// nodeOf is the node on which a pod runs; nil where it is none that was audited.
func (a *audit) nodeOf(ref cluster.PodRef) *audited {
	if p := a.st.pods[ref]; p != nil {
		return a.st.byName[p.Spec.NodeName]
	}
	return nil
}
