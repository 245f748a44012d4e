package audit

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/internal/engine/bound"
	"github.com/kerf-sh/kerf/internal/engine/catalog"
	"github.com/kerf-sh/kerf/internal/engine/cluster"
	"github.com/kerf-sh/kerf/internal/engine/floor"
	"github.com/kerf-sh/kerf/internal/engine/pack"
	"github.com/kerf-sh/kerf/internal/engine/requirement"
	"github.com/kerf-sh/kerf/internal/engine/res"
)

// The codes of what pods and pools ask for, besides the kinds of constraints of package floor.
const (
	AskedRequests = "Requests"
	AskedPools    = "PoolRequirements"
	AskedSpot     = "OnDemandOnly"
)

// asking is something that pods or pools ask for, and the problem without it.
type asking struct {
	part    Part
	objects []Object
	without func(*pack.Problem) *pack.Problem
	alone   catalog.MicroUSD // how much lower the floor is without it alone
}

// asked finds how much lower the floor would be if less were asked. Each is taken away alone first, and then on top of the dearer
// ones: the amounts that are told add up.
//
// Cost: two searches for a bound for each.
func (a *audit) asked() {
	if len(a.emptied.Pending) == 0 {
		return
	}
	runs := floorPlan(a)
	lower := func(p *pack.Problem) catalog.MicroUSD {
		return bound.Lower(p, runs, bound.Budget{Work: a.o.Work}).Bound
	}
	start := lower(a.emptied)
	var all []asking
	for _, x := range a.askings() {
		if x.alone = start - lower(x.without(a.emptied)); x.alone > 0 {
			all = append(all, x)
		}
	}
	slices.SortStableFunc(all, func(x, y asking) int { return cmp.Compare(y.alone, x.alone) })
	level, problem := start, a.emptied
	for _, x := range all {
		problem = x.without(problem)
		to := min(lower(problem), level)
		p := x.part
		p.PerHour = dollars(level - to)
		level = to
		if p.PerHour < lessThanCounts {
			continue
		}
		slices.SortStableFunc(x.objects, func(m, n Object) int { return cmp.Compare(n.PerHour, m.PerHour) })
		p.Objects, p.Count = limited(x.objects)
		a.report.Asked = append(a.report.Asked, p)
	}
	slices.SortStableFunc(a.report.Asked, func(x, y Part) int { return cmp.Compare(y.PerHour, x.PerHour) })
}

// constraintWords say what the kinds of constraints are, and what to do about them.
var constraintWords = map[floor.Kind]Part{
	floor.Spreads:   {Title: "Topology spread constraints", Text: "Pods must be spread evenly (DoNotSchedule).", Remedy: "ScheduleAnyway, or a larger maxSkew, where evenness is a wish and no need."},
	floor.Apart:     {Title: "Pod anti-affinity", Text: "Pods must not share a node, or a zone, with each other.", Remedy: "Where one pod for each node is no need: a topology spread over zones keeps them apart for less."},
	floor.Together:  {Title: "Pod affinity", Text: "Pods must be beside others.", Remedy: "Prefer it instead of requiring it."},
	floor.Selectors: {Title: "Node selectors and node affinity", Text: "Pods ask for nodes with certain labels.", Remedy: "Ask for what the pod needs (an architecture, a GPU), not for a type, a size or a group of nodes."},
	floor.Volumes:   {Title: "Volumes that are in one zone", Text: "An EBS volume ties its pod to a zone."},
	floor.HostPorts: {Title: "Host ports", Text: "Pods with the same host port can't share a node.", Remedy: "A Service or a load balancer with IP targets needs no host port."},
	floor.Daemons:   {Title: "DaemonSets", Text: "Each node carries their pods before any other.", Remedy: "Fewer and larger nodes carry fewer of them; lower their requests; select the nodes that need them."},
}

// askings are all that is asked for.
func (a *audit) askings() []asking {
	var out []asking
	for _, kind := range floor.Kinds {
		p, objects := constraintWords[kind], a.having(kind)
		if len(objects) == 0 {
			continue
		}
		p.Code = string(kind)
		out = append(out, asking{part: p, objects: objects, without: func(p *pack.Problem) *pack.Problem { loose, _ := floor.Loosen(p, kind); return loose }})
	}
	if pools := a.narrowPools(); len(pools) > 0 {
		out = append(out, asking{
			part: Part{
				Code: AskedPools, Title: "NodePools that exclude instance types", Text: "Their requirements leave out families, sizes or generations that would be cheaper for these pods.",
				Remedy: "Require categories (c, m, r) and a generation, and no types, families or sizes.",
			},
			objects: pools, without: func(p *pack.Problem) *pack.Problem { return withPools(p, pools, anyType) },
		})
	}
	if pools := a.onDemandPools(); len(pools) > 0 {
		out = append(out, asking{
			part: Part{
				Code: AskedSpot, Title: "Pools that launch on-demand only", Text: "The same pods on spot instances, where AWS has them. " + a.spotRisk(),
				Remedy: "Add spot to " + karpv1.CapacityTypeLabelKey + " for workloads with several replicas that can bear two minutes' notice.",
			},
			objects: pools, without: func(p *pack.Problem) *pack.Problem { return withPools(p, pools, orSpot) },
		})
	}
	if used := a.usedRequests(); len(used) > 0 {
		var objects []Object
		for _, w := range a.report.Workloads {
			if w.UnusedPerHour != nil && *w.UnusedPerHour > 0 {
				objects = append(objects, Object{Kind: w.Kind, Name: w.Name, PerHour: *w.UnusedPerHour, Detail: w.text()})
			}
		}
		out = append(out, asking{
			part: Part{
				Code: AskedRequests, Title: "Requests above use",
				Text:   fmt.Sprintf("Pods ask for more than they use. Here each asks for what the busiest pod of its workload uses now, and %.0f %% more. One moment is no week: look at the peaks before you change a request.", (headroom-1)*100),
				Remedy: "Lower the requests of the workloads named, the dearest first, from measurements over a week (a VerticalPodAutoscaler in recommendation mode does that).",
			},
			objects: objects, without: func(p *pack.Problem) *pack.Problem { return withRequests(p, used) },
		})
	}
	return out
}

// spotRisk says how often AWS takes back instances of the types that run most.
func (a *audit) spotRisk() string {
	count := map[string]int{}
	for _, n := range a.st.nodes {
		if n.movable() && n.CapacityType != catalog.Spot {
			if band := a.m.interrupted(n.InstanceType); band != "" {
				count[band]++
			}
		}
	}
	if len(count) == 0 {
		return "How often AWS takes such instances back is not known."
	}
	bands := sortedKeys(count)
	slices.SortStableFunc(bands, func(x, y string) int { return cmp.Compare(count[y], count[x]) })
	return fmt.Sprintf("AWS took back %s %% of spot instances in a month of the types that most of these nodes have.", bands[0])
}

// having are the workloads whose pods have a kind of constraint; for daemons, the DaemonSets with what their pods cost.
func (a *audit) having(kind floor.Kind) []Object {
	if kind == floor.Daemons {
		cost := map[owner]catalog.MicroUSD{}
		for _, n := range a.st.nodes {
			for _, p := range n.Pods {
				if p.Daemon {
					cost[a.st.ownerOf(p)] += costOf(n.Node, p.Class.Requests)
				}
			}
		}
		return priced(cost)
	}
	had := map[*cluster.Class]bool{}
	pods := map[owner]int{}
	for _, p := range a.emptied.Pending {
		has, seen := had[p.Class]
		if !seen {
			one := &pack.Problem{Pending: []*cluster.Pod{p}}
			_, have := floor.Loosen(one, kind)
			has = len(have) > 0
			had[p.Class] = has
		}
		if has {
			pods[a.st.ownerOf(p)]++
		}
	}
	var out []Object
	for o, n := range pods {
		x := o.object()
		x.Detail = plural(n, "pod")
		out = append(out, x)
	}
	slices.SortFunc(out, func(x, y Object) int {
		return cmp.Or(cmp.Compare(pods[owner{y.Kind, namespaceOf(y.Name), nameOf(y.Name)}], pods[owner{x.Kind, namespaceOf(x.Name), nameOf(x.Name)}]), cmp.Compare(x.Name, y.Name))
	})
	return out
}

func namespaceOf(s string) string { ns, _, _ := strings.Cut(s, "/"); return ns }
func nameOf(s string) string      { _, name, _ := strings.Cut(s, "/"); return name }

func priced(cost map[owner]catalog.MicroUSD) []Object {
	var out []Object
	for o, c := range cost {
		x := o.object()
		x.PerHour = dollars(c)
		out = append(out, x)
	}
	slices.SortFunc(out, func(x, y Object) int { return cmp.Or(cmp.Compare(y.PerHour, x.PerHour), cmp.Compare(x.Name, y.Name)) })
	return out
}

// isNarrow reports whether a term excludes instance types other than by what a pod could need, such as a GPU. What is recommended to
// everybody excludes nothing that would be cheaper: the general categories, of a generation that is not old.
func isNarrow(t requirement.Term) bool {
	switch {
	case t.Key == categoryLabel && t.Operator == requirement.In:
		return slices.ContainsFunc(generalCategories, func(c string) bool { return !slices.Contains(t.Values, c) })
	case t.Key == generationLabel && t.Operator == requirement.Gt && len(t.Values) == 1:
		n, err := strconv.Atoi(t.Values[0])
		return err != nil || n > oldestGeneration
	}
	return t.Key == corev1.LabelInstanceTypeStable || strings.HasPrefix(t.Key, "karpenter.k8s.aws/instance-") && !strings.Contains(t.Key, "gpu") && !strings.Contains(t.Key, "accelerator")
}

// anyType leaves such terms out.
func anyType(terms []requirement.Term) []requirement.Term {
	return slices.DeleteFunc(slices.Clone(terms), isNarrow)
}

// orSpot allows spot besides.
func orSpot(terms []requirement.Term) []requirement.Term {
	out := slices.DeleteFunc(slices.Clone(terms), func(t requirement.Term) bool { return t.Key == requirement.CapacityType })
	out = append(out, requirement.Term{Key: requirement.CapacityType, Operator: requirement.In, Values: []string{catalog.OnDemand, catalog.Spot}})
	slices.SortStableFunc(out, func(x, y requirement.Term) int { return cmp.Compare(x.Key, y.Key) })
	return out
}

// narrowPools are the NodePools that exclude instance types.
func (a *audit) narrowPools() (out []Object) {
	for _, p := range a.base.Pools {
		var narrow []string
		for _, t := range p.Requirements {
			if isNarrow(t) {
				narrow = append(narrow, t.String())
			}
		}
		if a.st.pools[p.Name] != nil && len(narrow) > 0 {
			out = append(out, Object{Kind: "NodePool", Name: p.Name, Detail: strings.Join(narrow, "; ")})
		}
	}
	return out
}

// onDemandPools are the pools that launch no spot.
func (a *audit) onDemandPools() (out []Object) {
	vocab := requirement.NewVocabulary()
	for _, p := range a.base.Pools {
		terms, err := vocab.Parse(p.Requirements)
		if err != nil || terms.Intersects(vocab.Only(requirement.CapacityType, catalog.Spot)) {
			continue
		}
		o := Object{Kind: "NodePool", Name: p.Name}
		if a.st.pools[p.Name] == nil {
			o = Object{Kind: "assumed pool", Name: p.Name, Detail: "for " + strings.Join(a.groupsOf(p.Name), ", ")}
		}
		out = append(out, o)
	}
	return out
}

// groupsOf are the groups whose nodes an assumed pool stands for.
func (a *audit) groupsOf(pool string) []string {
	seen := map[string]bool{}
	for _, n := range a.st.nodes {
		if n.Pool == pool {
			seen[n.group] = true
		}
	}
	return sortedKeys(seen)
}

// withPools is a problem with other requirements of some pools.
func withPools(p *pack.Problem, named []Object, changed func([]requirement.Term) []requirement.Term) *pack.Problem {
	q := *p
	q.Pools = slices.Clone(p.Pools)
	for i, pool := range q.Pools {
		if slices.ContainsFunc(named, func(o Object) bool { return o.Name == pool.Name }) {
			own := *pool
			own.Requirements = changed(pool.Requirements)
			q.Pools[i] = &own
		}
	}
	return &q
}

// withRequests is a problem in which the pods of some classes ask for other amounts.
func withRequests(p *pack.Problem, used map[cluster.PodRef]res.List) *pack.Problem {
	q := *p
	q.Pending = slices.Clone(p.Pending)
	type key struct {
		class *cluster.Class
		text  string
	}
	made := map[key]*cluster.Class{}
	for i, pod := range q.Pending {
		want, ok := used[pod.PodRef]
		if !ok {
			continue
		}
		k := key{pod.Class, want.String()}
		class := made[k]
		if class == nil {
			class = new(*pod.Class)
			class.Requests = pod.Class.Requests.Clone()
			for r, amount := range want {
				class.Requests[r] = min(class.Requests[r], amount)
			}
			class.ID = class.Hash()
			made[k] = class
		}
		own := *pod
		own.Class = class
		q.Pending[i] = &own
	}
	return &q
}

func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
