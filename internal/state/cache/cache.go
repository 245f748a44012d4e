// Package cache turns watch events into snapshots of the cluster.
//
// It owns what watches tell: the newest version of every object, and what is made of them (pods, nodes, daemons, buffers, the
// usage of NodePools, what pods say about the disruption of their nodes). What decisions have given out and nobody has taken yet
// belongs to a reservation.Table with a lock of its own, which is taken inside this package's; a snapshot is made of both.
//
// The state is a function of the newest version of every object and of the reservations that are alive, never of the
// order of events. A snapshot is made of what changed since the last one; nodes that did not change keep their pointer.
// There is no moment at which the whole state is held back because one object is not settled: a claim without an answer
// from the cloud is a node whose shape is not certain yet, and nothing more.
package cache

import (
	"cmp"
	"maps"
	"slices"
	"sync"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	awsv1 "github.com/kerf-sh/kerf/api/aws/v1"
	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/internal/engine/cluster"
	"github.com/kerf-sh/kerf/internal/state/intake"
	"github.com/kerf-sh/kerf/internal/state/reservation"
)

// DefaultBindGrace is how long a pod that was reserved for a node may stay unbound once the node is initialized, before it
// counts as pending again.
const DefaultBindGrace = 20 * time.Second

// Options of a Cache.
type Options struct {
	// Now is the clock; nil is time.Now.
	Now func() time.Time
	// BindGrace is DefaultBindGrace when zero.
	BindGrace time.Duration
	// DefaultSpreads are the spread constraints of pods that have none of their own; when there are any, Services,
	// ReplicationControllers, ReplicaSets and StatefulSets are watched for their selectors.
	DefaultSpreads []corev1.TopologySpreadConstraint
	// CapacityBuffers is the feature gate: with it CapacityBuffers are watched, and what gives their pods a shape.
	CapacityBuffers bool
	// Failed is told of an object on which reading panicked, once for each try; nil tells nobody.
	Failed func(obj client.Object, err error)
	// Moment is told of each step of a pod on its way to running; nil tells nobody. It must not block.
	Moment func(Moment)
	// Took is told of each snapshot how long it waited for the lock and how long it took then; nil tells nobody. It must not
	// block.
	Took func(waited, took time.Duration)
}

// Cache is the mutable state behind the snapshots: what watches tell, and the table of reservations that it composes with it.
//
// Concurrency: all methods are safe for use by many goroutines.
type Cache struct {
	now       func() time.Time
	bindGrace time.Duration

	mu        sync.Mutex
	listeners []func(Change)
	changes   []Change // to be told once the lock is free

	pods       store[*corev1.Pod]
	nodes      store[*corev1.Node]
	claims     store[*karpv1.NodeClaim]
	pools      store[*karpv1.NodePool]
	classes    store[*awsv1.EC2NodeClass]
	daemonSets store[*appsv1.DaemonSet]
	namespaces store[*corev1.Namespace]
	pvcs       store[*corev1.PersistentVolumeClaim]
	pvs        store[*corev1.PersistentVolume]
	scs        store[*storagev1.StorageClass]
	csiNodes   store[*storagev1.CSINode]

	spreads     spreadSelectors
	buffers     buffers
	blocks      evictionBlocks
	usage       usage
	constraints constraints

	compiler *intake.Compiler
	keys     int // label keys that were in use when they were last looked for

	entries    map[types.NamespacedName]*entry
	dropped    int // how many entries were taken out so far
	podsByNode map[string]map[types.NamespacedName]*entry
	waiting    map[types.NamespacedName]*entry // provisionable pods
	rivals     rivals
	settled    map[types.UID]int // by owner; see Settled
	claimUsers index[types.NamespacedName, types.NamespacedName]
	// chosenFor are the volume claims for which the scheduler has chosen a node and that have no volume yet, by that node.
	chosenFor   index[string, types.NamespacedName]
	volumeUsers index[string, types.NamespacedName] // volume to the claims that name it
	nsDependent map[types.NamespacedName]struct{}
	daemonPods  index[types.NamespacedName, types.NamespacedName]

	claimsByID index[string, string] // provider ID to claims
	nodesByID  index[string, string] // provider ID to nodes
	// nodeLeft are provider IDs of claims whose node was seen to go.
	nodeLeft map[string]bool
	// nodesByHost maps values of the label kubernetes.io/hostname to nodes.
	nodesByHost index[string, string]

	reserved *reservation.Table
	nominees index[string, types.NamespacedName] // pods without a node, by the node that anybody nominated them to
	lately   []lately                            // the nominations that were first seen within nominatedGrace, in their order

	units    map[reservation.Unit]*cluster.Node
	deleting map[reservation.Unit]struct{} // units that are going away
	crowded  []reservation.Unit            // units that were found to be reserved for more than they have
	daemons  map[types.NamespacedName]cluster.Daemon

	// What the next snapshot has to make again.
	dirty     map[reservation.Unit]struct{}
	dirtySets map[types.NamespacedName]struct{}
	dirtyWait bool
	dirtyNS   bool

	aside    map[asideKey]aside
	failures []failure // to be told when the lock is free
	failed   func(client.Object, error)

	starting map[types.NamespacedName]starting // pods that were found waiting and are not running yet
	moments  []Moment                          // to be told when the lock is free
	told     func(Moment)
	took     func(waited, took time.Duration)

	// classOf, unitOf and daemonOf read a pod, a node and a DaemonSet; tests put others in their place.
	classOf  func(*corev1.Pod, intake.Lookup) *cluster.Class
	unitOf   func(unit reservation.Unit) *cluster.Node
	daemonOf func(ds *appsv1.DaemonSet, newest *corev1.Pod) (daemon cluster.Daemon, ok bool)

	last *cluster.Snapshot
}

// New returns an empty cache.
func New(o Options) *Cache {
	c := &Cache{
		now: o.Now, bindGrace: cmp.Or(o.BindGrace, DefaultBindGrace),
		pods: newStore[*corev1.Pod](), nodes: newStore[*corev1.Node](), claims: newStore[*karpv1.NodeClaim](),
		pools: newStore[*karpv1.NodePool](), classes: newStore[*awsv1.EC2NodeClass](),
		daemonSets: newStore[*appsv1.DaemonSet](), namespaces: newStore[*corev1.Namespace](),
		pvcs: newStore[*corev1.PersistentVolumeClaim](), pvs: newStore[*corev1.PersistentVolume](), scs: newStore[*storagev1.StorageClass](),
		csiNodes:   newStore[*storagev1.CSINode](),
		compiler:   intake.NewCompiler(),
		entries:    map[types.NamespacedName]*entry{},
		podsByNode: map[string]map[types.NamespacedName]*entry{}, constraints: constraints{podEvents: map[string]time.Time{}, byNode: map[string]*readConstraints{}},
		waiting: map[types.NamespacedName]*entry{}, settled: map[types.UID]int{},
		chosenFor:  index[string, types.NamespacedName]{},
		claimUsers: index[types.NamespacedName, types.NamespacedName]{}, volumeUsers: index[string, types.NamespacedName]{},
		nsDependent: map[types.NamespacedName]struct{}{}, daemonPods: index[types.NamespacedName, types.NamespacedName]{},
		claimsByID: index[string, string]{}, nodesByID: index[string, string]{}, nodeLeft: map[string]bool{}, nodesByHost: index[string, string]{},
		reserved: reservation.New(), nominees: index[string, types.NamespacedName]{},
		units: map[reservation.Unit]*cluster.Node{}, deleting: map[reservation.Unit]struct{}{}, daemons: map[types.NamespacedName]cluster.Daemon{},
		dirty: map[reservation.Unit]struct{}{}, dirtySets: map[types.NamespacedName]struct{}{},
		last: &cluster.Snapshot{},
	}
	if c.now == nil {
		c.now = time.Now
	}
	c.compiler.DefaultSpreads = o.DefaultSpreads
	c.starting, c.told, c.took = map[types.NamespacedName]starting{}, o.Moment, o.Took
	c.aside, c.failed, c.classOf, c.unitOf = map[asideKey]aside{}, o.Failed, c.compiler.Class, c.buildUnit
	c.daemonOf = func(ds *appsv1.DaemonSet, newest *corev1.Pod) (cluster.Daemon, bool) {
		return intake.Daemon(ds, newest, c.compiler, lookup{c})
	}
	c.rivals = newRivals()
	c.spreads, c.buffers, c.usage = newSpreadSelectors(), newBuffers(o.CapacityBuffers), newUsage()
	c.blocks.budgets = newStore[*policyv1.PodDisruptionBudget]()
	return c
}

// index maps a key to a set.
type index[K, V comparable] map[K]map[V]struct{}

func (x index[K, V]) add(k K, v V) {
	set := x[k]
	if set == nil {
		set = map[V]struct{}{}
		x[k] = set
	}
	set[v] = struct{}{}
}

func (x index[K, V]) remove(k K, v V) {
	set := x[k]
	delete(set, v)
	if len(set) == 0 {
		delete(x, k)
	}
}

// Snapshot is the cluster as of now. It is immutable, and the same pointer as the last one when nothing changed.
//
// Cost: proportional to what changed, plus a copy of the slice of nodes when any of them did. What changed is noted until then, also
// what came and went: every process that feeds a cache has to take a snapshot now and then, also one that decides nothing.
func (c *Cache) Snapshot() *cluster.Snapshot {
	asked := time.Now()
	out, begun := c.lockedSnapshot()
	if c.took != nil {
		c.took(begun.Sub(asked), time.Since(begun))
	}
	return out
}

func (c *Cache) lockedSnapshot() (out *cluster.Snapshot, begun time.Time) {
	c.mu.Lock()
	defer c.unlock()
	begun = time.Now()
	return c.snapshot(), begun
}

func (c *Cache) snapshot() *cluster.Snapshot {
	c.expire()
	c.retryAside()
	c.refreshSpreadSelectors()
	next, finished := *c.last, false
	defer func() {
		if !finished {
			c.startOver()
		}
	}()
	forgotten := c.forgetKeys()
	changed := c.rebuildDaemons(&next)
	c.rebuildBuffers()
	for fresh := c.compiler.Fresh(); len(fresh) > 0; fresh = c.compiler.Fresh() {
		c.refreshClasses(fresh)
		changed = c.rebuildDaemons(&next) || changed
		c.rebuildBuffers()
	}
	if forgotten {
		c.keys = c.compiler.Keys() // those that only templates ask for are in sight again
	}
	changed = c.rebuildNodes(&next) || changed
	for c.breakUnkeepable() {
		changed = c.rebuildNodes(&next) || changed
	}
	changed = c.rebuildPending(&next) || changed
	changed = c.rebuildNamespaces(&next) || changed
	changed = c.countUnsettled(&next) || changed
	if changed {
		next.Generation++
		c.last = &next
	}
	finished = true
	return c.last
}

// startOver makes what the next snapshot begins with of all that is there, after one that panicked: what had changed for it is not
// noted as changed any more.
func (c *Cache) startOver() {
	next := *c.last
	next.Generation++
	next.Nodes = slices.SortedFunc(maps.Values(c.units), compareNodes)
	next.Daemons = c.sortedDaemons()
	c.last, c.dirtyWait = &next, true
}

// spareKeys is how many label keys that nobody asks for any more are borne with before they are looked for, beside as many
// as are in use. It keeps the search, which looks at every pod, to once in so many new keys.
const spareKeys = 256

// forgetKeys drops label keys that no selector asks for any more. A Job whose pods ask for a label key of their own would
// otherwise leave one behind each time. It reports whether it had to look for them.
func (c *Cache) forgetKeys() bool {
	if c.compiler.Keys() <= 2*c.keys+spareKeys {
		return false
	}
	c.compiler.Forget(func(yield func(*corev1.Pod) bool) {
		for name, e := range c.entries {
			if _, unread := c.aside[asideKey{pod: name}]; !unread && !yield(e.obj) {
				return
			}
		}
	}, lookup{c})
	c.refreshTemplates() // these see theirs again
	return true
}

// refreshClasses makes the classes of pods that have one of these labels again: it came into sight after they were made.
func (c *Cache) refreshClasses(fresh []string) {
	for _, e := range c.entries {
		if slices.ContainsFunc(fresh, func(k string) bool { _, has := e.obj.Labels[k]; return has }) {
			c.recompile(e)
		}
	}
	c.refreshTemplates()
}

// refreshTemplates has the classes of pods that are not there yet made again.
func (c *Cache) refreshTemplates() {
	for key := range c.daemonSets.objects {
		c.dirtySets[key] = struct{}{}
	}
	c.buffers.dirty = true
}

// rebuildNodes makes the instances again that something touched, and merges them into the sorted slice of the others.
func (c *Cache) rebuildNodes(next *cluster.Snapshot) bool {
	replaced := map[*cluster.Node]bool{}
	var added []*cluster.Node
	for key := range c.dirty {
		old := c.units[key]
		if !c.rebuildUnit(key) {
			continue
		}
		if old != nil {
			replaced[old] = true
		}
		if unit := c.units[key]; unit != nil {
			added = append(added, unit)
		}
	}
	clear(c.dirty)
	if len(replaced) == 0 && len(added) == 0 {
		return false
	}
	slices.SortFunc(added, compareNodes)
	out := make([]*cluster.Node, 0, len(c.units))
	for _, n := range next.Nodes {
		if replaced[n] {
			continue
		}
		for len(added) > 0 && compareNodes(added[0], n) < 0 {
			out, added = append(out, added[0]), added[1:]
		}
		out = append(out, n)
	}
	next.Nodes = append(out, added...)
	if len(next.Nodes) == 0 {
		next.Nodes = nil // no instance is written in one way only
	}
	return true
}

func compareNodes(a, b *cluster.Node) int { return cmp.Compare(a.Name, b.Name) }

// rebuildPending lists the pods that need a place: those that the scheduler could not place and that nothing was
// reserved for to, and those on nodes that are going away.
func (c *Cache) rebuildPending(next *cluster.Snapshot) bool {
	if !c.dirtyWait {
		return false
	}
	c.dirtyWait, c.blocks.end = false, time.Time{}
	var out []*cluster.Pod
	for _, e := range c.waiting {
		if !c.reserved.Has(e.obj.UID) {
			out = append(out, e.pod)
		}
	}
	for key := range c.deleting {
		for _, p := range c.units[key].Pods {
			if p.Node == "" || c.reserved.Has(types.UID(p.UID)) {
				continue
			}
			e := c.entries[types.NamespacedName{Namespace: p.Namespace, Name: p.Name}]
			if e == nil {
				continue // it has gone from a node that is set aside
			}
			if intake.Reschedulable(e.obj) && !c.held(e.obj) {
				out = append(out, p)
			}
		}
	}
	for _, b := range c.buffers.made {
		out = append(out, b.pods...)
	}
	slices.SortFunc(out, comparePods)
	if slices.Equal(out, next.Pending) {
		return false
	}
	next.Pending = out
	return true
}

func comparePods(a, b *cluster.Pod) int {
	return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name), cmp.Compare(a.UID, b.UID))
}

// locked calls fn while the state is locked.
func (c *Cache) locked(fn func()) {
	c.mu.Lock()
	defer c.unlock()
	fn()
}

// AwaitLock returns once the state's lock could be had. Those who wait for it get it in their order.
func (c *Cache) AwaitLock() { c.locked(func() {}) }

// letOthersIn frees the state for whoever waits for it, and locks it again, also after a listener that panics.
func (c *Cache) letOthersIn() {
	defer c.mu.Lock()
	c.unlock()
}

// unlock frees the state and then tells the listeners what happened.
func (c *Cache) unlock() {
	changes, listeners, failures, moments := c.changes, c.listeners, c.failures, c.moments
	c.changes, c.failures, c.moments = nil, nil, nil
	c.mu.Unlock()
	for _, m := range moments {
		if c.told != nil {
			c.told(m)
		}
	}
	for _, f := range failures {
		if c.failed != nil {
			c.failed(f.obj, f.err)
		}
	}
	for _, change := range changes {
		for _, f := range listeners {
			f(change)
		}
	}
}
