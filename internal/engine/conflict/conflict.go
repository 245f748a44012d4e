// Package conflict says what keeps pods from a node, and what would help; and what else would have been launched for those
// that get one. It knows nothing of how a plan is made: it solves small problems again and again, with something changed.
package conflict

import (
	"cmp"
	"maps"
	"slices"
	"strconv"

	"github.com/kerf-sh/kerf/internal/engine/pack"

	"github.com/kerf-sh/kerf/internal/engine/catalog"
	"github.com/kerf-sh/kerf/internal/engine/cluster"
	"github.com/kerf-sh/kerf/internal/engine/plan"
	"github.com/kerf-sh/kerf/internal/engine/requirement"
	"github.com/kerf-sh/kerf/internal/engine/res"
)

const (
	// explainSolves bounds the work of one explanation, in problems of one pod and one pool that are solved for it.
	explainSolves = 2000
	// provenChanges is how many changes are tried out on the whole problem; on one of more than wholeMost pods and nodes
	// only until one helps.
	provenChanges = 3
	wholeMost     = 1000
)

// Explain says why the pods of a class that out leaves without a place have none: for each pool a set of constraints
// that conflict, of which none can be spared, and the single changes that would do, the cheapest first. The best are
// tried on the whole problem. It is nil when out places all of the class.
//
// It knows nothing of how Solve works: it solves the problem of one such pod and one pool again and again, with
// constraints turned off, on the cluster as it is once out is carried out.
//
// Cost: up to some dozens of small solves for each pool. Concurrency: safe; p and out are only read.
func Explain(p *pack.Problem, out *plan.Plan, classID string) *plan.Explanation {
	at := slices.IndexFunc(out.Unplaced, func(u plan.Unplaced) bool { return u.ClassID == classID })
	if at < 0 {
		return nil
	}
	u := &out.Unplaced[at]
	e := newExplainer(p, out, u)
	x := &plan.Explanation{ClassID: classID, Pods: len(u.Pods), Currency: p.Options.Currency}
	byPool := map[string]*plan.Reason{}
	for i := range u.Reasons {
		r := &u.Reasons[i]
		switch {
		case r.Code == plan.NodesFull:
			x.Nodes = r
		case r.Pool == "":
			x.General = append(x.General, *r)
		default:
			byPool[r.Pool] = r
		}
	}
	if !e.find() || e.class.Unplaceable != "" {
		return x
	}
	e.surroundings()
	pools := slices.Clone(p.Pools)
	slices.SortFunc(pools, func(a, b *cluster.Pool) int {
		return cmp.Or(cmp.Compare(b.Weight, a.Weight), cmp.Compare(b.Name, a.Name))
	})
	for _, pool := range pools {
		if e.left <= 0 {
			x.Unfinished = true
			x.Conflicts = append(x.Conflicts, plan.Conflict{Pool: pool.Name, Reason: byPool[pool.Name]})
			continue
		}
		if r := byPool[pool.Name]; r != nil && r.Code == plan.TooDear {
			x.Conflicts = append(x.Conflicts, plan.Conflict{Pool: pool.Name, Reason: r}) // it could, and waits
			continue
		}
		c, trials := e.conflict(pool, byPool[pool.Name])
		c.Reason = byPool[pool.Name]
		x.Conflicts = append(x.Conflicts, c)
		e.trials = append(e.trials, trials...)
	}
	e.prove(x)
	return x
}

type explainer struct {
	p        *pack.Problem
	out      *plan.Plan
	engine   *pack.Engine // of the small solves, which have types and nodes in common
	unplaced *plan.Unplaced
	class    *cluster.Class
	nodes    []*cluster.Node // once the plan is carried out
	kinship  map[*cluster.Class]bool
	used     map[string]res.List
	left     int // small solves
	trials   []trial
	// open tells, by list of types, whether a pool of these types could launch for a pod that demands nothing.
	open map[typesKey]bool
	// onSale are lists of types with all that has a price available.
	onSale map[typesKey][]*catalog.Type
}

// typesKey tells lists of types apart by identity.
type typesKey struct {
	first **catalog.Type
	n     int
}

func keyOfTypes(types []*catalog.Type) typesKey {
	if len(types) == 0 {
		return typesKey{}
	}
	return typesKey{&types[0], len(types)}
}

func newExplainer(p *pack.Problem, out *plan.Plan, u *plan.Unplaced) *explainer {
	return &explainer{p: p, out: out, engine: pack.NewEngine(), unplaced: u, left: explainSolves, kinship: map[*cluster.Class]bool{},
		open: map[typesKey]bool{}, onSale: map[typesKey][]*catalog.Type{}}
}

// surroundings are the nodes, as far as they can matter to one pod that is to get a new node of its own, and what pools
// have in use.
func (e *explainer) surroundings() {
	e.nodes, e.used = carriedOut(e.p, e.out)
	c := e.class
	if len(c.Spreads)+len(c.PodAffinity)+len(c.AntiAffinity) == 0 && !e.repelled() {
		e.nodes = nil
	}
}

// trial is a change together with the edit that makes it.
type trial struct {
	change plan.Change
	make   edit
}

// find looks the class up by one of its pods.
func (e *explainer) find() bool {
	for _, pod := range e.p.Pending {
		if pod.Class != nil && len(e.unplaced.Pods) > 0 && pod.PodRef == e.unplaced.Pods[0] {
			e.class = hardOnly(pod.Class)
			return true
		}
	}
	return false
}

// build is the pod and the pool after the edits.
func (e *explainer) build(pool *cluster.Pool, edits []edit) *variant {
	v := &variant{class: copyClass(e.class), pool: copyPool(pool), daemons: e.p.Daemons, nodes: e.nodes}
	for _, f := range edits {
		f(v)
	}
	v.tidy()
	return v
}

// try solves for one pod and one pool; nil when it can't be placed.
func (e *explainer) try(pool *cluster.Pool, edits ...edit) *plan.NewNode {
	e.left--
	out := e.engine.Solve(e.build(pool, edits).solvable(e.p))
	if len(out.NewNodes) == 0 || len(out.Unplaced) > 0 {
		return nil
	}
	return &out.NewNodes[0]
}

// conflict finds constraints of the class and the pool that can't all be met. What the plan's reason is about is looked at
// first, because that is often all there is to it.
func (e *explainer) conflict(pool *cluster.Pool, hint *plan.Reason) (plan.Conflict, []trial) {
	after := copyPool(pool)
	after.Used = e.used[pool.Name]
	if len(after.Subnets) > 0 {
		after.Types, after.Subnets = pack.AddressesLeft(e.p, e.out, after), nil // enough for whoever asks
	}
	c := plan.Conflict{Pool: pool.Name}
	s := &search{e: e, pool: after, all: e.knobs(after)}
	if !e.couldLaunch(s) {
		return c, nil
	}
	members := s.hinted(hint)
	if members == nil {
		if e.try(after) != nil {
			return c, nil
		}
		members = s.reduce(nil, indices(len(s.all)), false)
		slices.Sort(members)
	}
	var trials []trial
	for _, i := range members {
		c.Constraints = append(c.Constraints, s.all[i].is)
		if t, ok := e.changeOf(after, s.all[i]); ok {
			trials = append(trials, t)
		}
	}
	slices.SortStableFunc(trials, func(a, b trial) int { return byPrice(a.change, b.change) })
	for _, t := range trials {
		c.Changes = append(c.Changes, t.change)
	}
	return c, trials
}

// couldLaunch reports whether the pool could launch for anyone; pools of the same types are alike in this.
func (e *explainer) couldLaunch(s *search) bool {
	key := keyOfTypes(s.pool.Types)
	known, ok := e.open[key]
	if !ok {
		known = s.feasible(nil)
		e.open[key] = known
	}
	return known
}

// hinted is the constraint that the reason is about, if it conflicts by itself.
func (s *search) hinted(hint *plan.Reason) []int {
	if hint == nil {
		return nil
	}
	for i := range s.all {
		if s.all[i].is.SaidBy(hint) && !s.feasible([]int{i}) {
			return []int{i}
		}
	}
	return nil
}

func indices(n int) []int {
	out := make([]int, n)
	for i := range out {
		out[i] = i
	}
	return out
}

// search looks for a conflict by halving: Junker's QuickXplain, with the constraints to be blamed first in front.
type search struct {
	e    *explainer
	pool *cluster.Pool
	all  []knob
}

// feasible reports whether a new node can be had when only the listed constraints hold.
func (s *search) feasible(active []int) bool {
	var edits []edit
	for i := range s.all {
		if !slices.Contains(active, i) {
			edits = append(edits, s.all[i].relax)
		}
	}
	return s.e.try(s.pool, edits...) != nil
}

// reduce finds a subset of from that conflicts together with kept, and of which no part could be spared. Fresh says that
// kept has changed since it was last found to leave something.
func (s *search) reduce(kept, from []int, fresh bool) []int {
	if fresh && !s.feasible(kept) {
		return nil
	}
	if len(from) == 1 {
		return from
	}
	half := len(from) / 2
	front, back := from[:half], from[half:]
	second := s.reduce(slices.Concat(kept, front), back, true)
	first := s.reduce(slices.Concat(kept, second), front, len(second) > 0)
	return slices.Concat(first, second)
}

// changeOf is the change of one constraint with which, all others as they are, one pod finds a new node.
func (e *explainer) changeOf(pool *cluster.Pool, k knob) (trial, bool) {
	first := k.relax
	if k.is.Kind == plan.PoolTaint {
		first = k.set("")
	}
	node := e.try(pool, first)
	if node == nil {
		return trial{}, false
	}
	t := trial{change: plan.Change{Constraint: k.is, Pool: pool.Name, Node: node.Types[0]}, make: first}
	put := func(to string, f edit) bool {
		if n := e.try(pool, f); n != nil {
			t.change.To, t.change.Node, t.make = to, n.Types[0], f
			return true
		}
		return false
	}
	switch k.is.Kind {
	case plan.ResourceRequest:
		e.lower(pool, k, put, &t)
	case plan.NodeSelector, plan.NodeAffinity:
		e.revalue(pool, k, node, put)
	case plan.PoolRequirement:
		e.widen(pool, k, node, put)
	case plan.PoolLimit:
		raise(pool, k, node, put)
	case plan.PoolMinValues:
		lowerMinValues(k, put)
	case plan.VolumeCount:
		e.attachFewer(k, put)
	case plan.VolumeTopology:
		t.change.To = node.Types[0].Zone
	}
	if k.is.Kind != plan.Availability {
		t.change.Refused = overQuota(pool, t.change.Node.CapacityType)
	}
	return t, true
}

// overQuota is why EC2 refuses a capacity type, where a quota of the account is used up for some types of the pool. What is left open
// then is smaller, or of another quota, and was not asked for.
func overQuota(pool *cluster.Pool, capacityType string) string {
	for _, x := range pool.Types {
		for i := range x.Offerings {
			if o := &x.Offerings[i]; o.CapacityType == capacityType && !o.Available && o.Unavailable == catalog.OverQuota {
				return o.Unavailable
			}
		}
	}
	return ""
}

// lower finds by halving the largest request that can be met.
func (e *explainer) lower(pool *cluster.Pool, k knob, put func(string, edit) bool, t *trial) {
	r, want := k.is.Key, e.class.Requests[k.is.Key]
	grain := int64(1)
	if res.IsBytes(r) {
		grain = 1 << 20
	}
	most := int64(0)
	for _, x := range pool.Types {
		most = max(most, x.Allocatable()[r])
	}
	low, high := int64(0), min(want-1, most)/grain // low can be met, what is above high can't
	next := (most - e.daemonsTake(r)) / grain      // what the largest type leaves is the likely answer
	for low < high {
		mid := low + (high-low+1)/2
		if next > low && next <= high {
			mid, next = next, 0
		}
		if e.try(pool, request(r, mid*grain)) != nil {
			low = mid
		} else {
			high = mid - 1
		}
	}
	if low > 0 && put(res.Format(r, low*grain), request(r, low*grain)) {
		t.change.Constraint.Have = res.Format(r, want-low*grain)
	}
}

// attachFewer finds the largest number of volumes that can be attached. Those that are shared count as the pod's own.
func (e *explainer) attachFewer(k knob, put func(string, edit) bool) {
	most, err := strconv.ParseInt(k.is.Want, 10, 64)
	for n := most - 1; err == nil && n > 0; n-- {
		if put(strconv.FormatInt(n, 10), func(v *variant) {
			k.relax(v)
			if v.class.Attach == nil {
				v.class.Attach = res.List{}
			}
			v.class.Attach[k.is.Key] = n
		}) {
			return
		}
	}
}

// daemonsTake is the most that daemons take of a resource on any new node.
func (e *explainer) daemonsTake(r string) int64 {
	sum := int64(0)
	for _, d := range e.p.Daemons {
		sum += d.Class.Requests[r]
	}
	return sum
}

func request(r string, amount int64) edit { return func(v *variant) { v.class.Requests[r] = amount } }

// revalue finds the value to ask for instead: the known one that looks most like what is asked for, in case of a slip of
// the pen, or that of the new node that would be launched.
func (e *explainer) revalue(pool *cluster.Pool, k knob, node *plan.NewNode, put func(string, edit) bool) {
	if k.set == nil {
		return
	}
	if k.term.Operator == requirement.In && len(k.term.Values) == 1 {
		known := knownValues(pool, k.is.Key)
		if !slices.Contains(known, k.term.Values[0]) {
			if near := requirement.Nearest(k.term.Values[0], known); near != "" && put(only(k.term.Key, near).String(), k.set(near)) {
				return
			}
		}
	}
	if value := valueOf(node, pool, k.is.Key); value != "" {
		put(only(k.term.Key, value).String(), k.set(value))
	}
}

// widen finds the value that the pool would have to allow.
func (e *explainer) widen(pool *cluster.Pool, k knob, node *plan.NewNode, put func(string, edit) bool) {
	value := valueOf(node, pool, k.is.Key)
	for _, terms := range slices.Concat([][]requirement.Term{e.class.Selector}, e.class.Affinity) {
		for _, t := range terms {
			if value == "" && requirement.Normalize(t.Key) == k.is.Key && t.Operator == requirement.In && len(t.Values) > 0 {
				value = t.Values[0]
			}
		}
	}
	if value != "" {
		put(value, k.set(value))
	}
}

// valueOf is the value of a label that the planned node has, as far as it is certain.
func valueOf(node *plan.NewNode, pool *cluster.Pool, key string) string {
	return nodeOf(node, pool, 0).Labels[key]
}

// knownValues are the values that types of the pool can have for a label, and those that the pool itself names.
func knownValues(pool *cluster.Pool, key string) []string {
	seen := map[string]bool{}
	add := func(terms []requirement.Term) {
		for _, t := range terms {
			if requirement.Normalize(t.Key) == key && t.Operator == requirement.In {
				for _, v := range t.Values {
					seen[v] = true
				}
			}
		}
	}
	add(pool.Requirements)
	for _, t := range pool.Types {
		add(t.Requirements)
		if key == requirement.InstanceType {
			seen[t.Name] = true
		}
	}
	return slices.Sorted(maps.Keys(seen))
}

// raise finds the limit with which the new node could be launched.
func raise(pool *cluster.Pool, k knob, node *plan.NewNode, put func(string, edit) bool) {
	r := k.is.Key
	limitTo := func(x int64) edit { return func(v *variant) { v.pool.Limits[r] = x } }
	if r == res.Nodes {
		put(res.Format(r, pool.Used[r]+1), limitTo(pool.Used[r]+1))
		return
	}
	if t := pool.TypeNamed(node.Types[0].Name); t != nil {
		to := pool.Used[r] + t.Capacity[r]
		put(res.Format(r, to), limitTo(to))
	}
}

func lowerMinValues(k knob, put func(string, edit) bool) {
	for n := k.term.MinValues - 1; n > 0; n-- {
		to := n
		if put(strconv.Itoa(to), func(v *variant) {
			for i := range v.pool.Requirements {
				if t := &v.pool.Requirements[i]; t.Key == k.term.Key && t.MinValues == k.term.MinValues {
					t.MinValues = to
				}
			}
		}) {
			return
		}
	}
}

// prove tries the best changes on the whole problem and settles which is the best of all.
func (e *explainer) prove(x *plan.Explanation) {
	slices.SortStableFunc(e.trials, func(a, b trial) int { return byPrice(a.change, b.change) })
	tried := 0
	for _, t := range e.trials {
		if tried == provenChanges || (x.Best != nil && len(e.p.Pending)+len(e.p.Nodes) > wholeMost) {
			break
		}
		tried++
		proven := e.onTheWhole(t)
		for i := range x.Conflicts {
			for j := range x.Conflicts[i].Changes {
				if c := &x.Conflicts[i].Changes[j]; *c == t.change {
					*c = proven
				}
			}
		}
		if proven.Places > 0 && (x.Best == nil || better(proven, *x.Best)) {
			x.Best = &proven
		}
	}
}

// better compares proven changes: less effort, then the lower price of a new node for one pod.
func better(a, b plan.Change) bool { return byPrice(a, b) < 0 }

// onTheWhole solves the whole problem with the change.
func (e *explainer) onTheWhole(t trial) plan.Change {
	changed := *e.p
	var pool *cluster.Pool
	changed.Pools = slices.Clone(e.p.Pools)
	for i, p := range changed.Pools {
		if p.Name == t.change.Pool {
			v := &variant{class: e.wholeClass(), pool: copyPool(p), daemons: e.p.Daemons, nodes: e.p.Nodes}
			t.make(v)
			v.tidy()
			pool = v.pool
			changed.Pools[i], changed.Daemons, changed.Nodes = v.pool, v.daemons, v.nodes
			changed.Pending = e.reclassed(v.class)
		}
	}
	out := t.change
	if pool == nil {
		return out
	}
	p := pack.Solve(&changed)
	waiting := map[cluster.PodRef]bool{}
	for _, u := range p.Unplaced {
		for _, ref := range u.Pods {
			waiting[ref] = true
		}
	}
	out.Proven, out.Of, out.More = true, len(e.unplaced.Pods), p.Price-e.out.Price
	for _, ref := range e.unplaced.Pods {
		if !waiting[ref] {
			out.Places++
		}
	}
	return out
}

// wholeClass is the class with its preferences.
func (e *explainer) wholeClass() *cluster.Class {
	for _, pod := range e.p.Pending {
		if pod.PodRef == e.unplaced.Pods[0] {
			return e.reordered(pod.Class)
		}
	}
	return copyClass(e.class)
}

// reordered is a copy of the class with its hard constraints in front, so that their places are those that edits know.
func (e *explainer) reordered(c *cluster.Class) *cluster.Class {
	out := copyClass(c)
	slices.SortStableFunc(out.Spreads, func(a, b cluster.Spread) int { return boolOrder(a.Soft, b.Soft) })
	soft := func(a, b cluster.PodAffinity) int { return boolOrder(a.Weight > 0, b.Weight > 0) }
	slices.SortStableFunc(out.PodAffinity, soft)
	slices.SortStableFunc(out.AntiAffinity, soft)
	return out
}

func boolOrder(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}

// reclassed are the pending pods, those of the class with the other class: who edits a workload edits all its pods.
func (e *explainer) reclassed(class *cluster.Class) []*cluster.Pod {
	var was *cluster.Class
	for _, pod := range e.p.Pending {
		if pod.PodRef == e.unplaced.Pods[0] {
			was = pod.Class
		}
	}
	out := slices.Clone(e.p.Pending)
	for i, pod := range out {
		if pod.Class == was || (pod.Class != nil && was.ID != "" && pod.Class.ID == was.ID) {
			changed := *pod
			changed.Class = class
			out[i] = &changed
		}
	}
	return out
}
