package cache

import (
	"cmp"
	"reflect"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	autoscalingv1beta1 "github.com/kerf-sh/kerf/api/autoscaling/v1beta1"
	"github.com/kerf-sh/kerf/internal/engine/cluster"
	"github.com/kerf-sh/kerf/internal/state/intake"
	"github.com/kerf-sh/kerf/internal/state/reservation"
)

// buffers are the CapacityBuffers, what gives their pods a shape, and what became of those pods. Virtual pods are pending
// for as long as their buffer is there: what a decision finds for them is remembered, never reserved for, so that it takes no
// room from pods that exist.
type buffers struct {
	on        bool // the feature gate
	objects   store[*autoscalingv1beta1.CapacityBuffer]
	templates store[*corev1.PodTemplate]
	workloads map[workloadKey]*intake.Workload
	made      map[types.NamespacedName]*madeBuffer
	dirty     bool

	rooms  map[string]Room // by the virtual pod's UID
	byUnit map[reservation.Unit]int
}

type workloadKey struct{ kind, namespace, name string }

type madeBuffer struct {
	resolved intake.Buffer
	pods     []*cluster.Pod
}

// RoomState is where a virtual pod has its room.
type RoomState int

// States of a room.
const (
	RoomMissing RoomState = iota // there is none
	RoomOrdered                  // on an instance that is launched or starts
	RoomReady                    // on a node that is ready
)

// Room is what a decision found for a virtual pod.
type Room struct {
	Pod   cluster.PodRef
	State RoomState
	// Node of the snapshot, or Claim that was made; both empty for none.
	Node  *cluster.Node
	Claim string
	// Why there is none.
	Why string

	unit reservation.Unit
}

// BufferState is a CapacityBuffer and what became of it.
type BufferState struct {
	Object *autoscalingv1beta1.CapacityBuffer
	intake.Buffer
	// Pods it stands for, of which so many have room on ready nodes, or on instances that are on their way. Unsettled ones
	// no decision has looked at yet.
	Pods, Ready, Ordered, Unsettled int
	// Why a pod has no room, when one has none.
	Why string
}

func newBuffers(on bool) buffers {
	return buffers{
		on: on, objects: newStore[*autoscalingv1beta1.CapacityBuffer](), templates: newStore[*corev1.PodTemplate](),
		workloads: map[workloadKey]*intake.Workload{}, made: map[types.NamespacedName]*madeBuffer{}, rooms: map[string]Room{}, byUnit: map[reservation.Unit]int{},
	}
}

// SetBuffer takes in a version of a CapacityBuffer.
func (c *Cache) SetBuffer(b *autoscalingv1beta1.CapacityBuffer) {
	c.mu.Lock()
	defer c.unlock()
	old := c.buffers.objects.get(b.Namespace, b.Name)
	if !c.buffers.objects.set(b) {
		return
	}
	if old == nil || old.UID != b.UID || !reflect.DeepEqual(old.Spec, b.Spec) || (old.DeletionTimestamp == nil) != (b.DeletionTimestamp == nil) {
		c.buffersMoved(b.Name)
	}
}

// RemoveBuffer takes in a CapacityBuffer's deletion.
func (c *Cache) RemoveBuffer(b *autoscalingv1beta1.CapacityBuffer) {
	c.mu.Lock()
	defer c.unlock()
	if c.buffers.objects.remove(b) {
		c.buffersMoved(b.Name)
	}
}

// SetPodTemplate takes in a version of a PodTemplate.
func (c *Cache) SetPodTemplate(t *corev1.PodTemplate) {
	c.mu.Lock()
	defer c.unlock()
	old := c.buffers.templates.get(t.Namespace, t.Name)
	if c.buffers.templates.set(t) && (old == nil || old.UID != t.UID || !reflect.DeepEqual(old.Template, t.Template)) {
		c.buffersMoved(t.Name)
	}
}

// RemovePodTemplate takes in a PodTemplate's deletion.
func (c *Cache) RemovePodTemplate(t *corev1.PodTemplate) {
	c.mu.Lock()
	defer c.unlock()
	if c.buffers.templates.remove(t) {
		c.buffersMoved(t.Name)
	}
}

// SetDeployment takes in a version of a Deployment.
func (c *Cache) SetDeployment(d *appsv1.Deployment) {
	c.setWorkload("Deployment", d, workload(d.Spec.Replicas, &d.Spec.Template))
}

// RemoveDeployment takes in a Deployment's deletion.
func (c *Cache) RemoveDeployment(d *appsv1.Deployment) { c.setWorkload("Deployment", d, nil) }

// workload is what a buffer may follow; replicas that are not set are one.
func workload(replicas *int32, template *corev1.PodTemplateSpec) *intake.Workload {
	if replicas == nil {
		return &intake.Workload{Template: template, Replicas: 1}
	}
	return &intake.Workload{Template: template, Replicas: *replicas}
}

// setWorkload notes a workload's pods, or with nil that it is gone.
func (c *Cache) setWorkload(kind string, o client.Object, w *intake.Workload) {
	c.mu.Lock()
	defer c.unlock()
	if !c.buffers.on {
		return
	}
	key := workloadKey{kind, o.GetNamespace(), o.GetName()}
	old := c.buffers.workloads[key]
	if w == nil {
		delete(c.buffers.workloads, key)
	} else {
		c.buffers.workloads[key] = w
	}
	if followed := c.follows(key); followed && !reflect.DeepEqual(old, w) {
		c.buffersMoved(o.GetName())
	}
}

func (c *Cache) follows(key workloadKey) bool {
	for _, b := range c.buffers.objects.objects {
		if s := b.Spec.ScalableRef; s != nil && b.Namespace == key.namespace && s.Kind == key.kind && s.Name == key.name {
			return true
		}
	}
	return false
}

func (c *Cache) buffersMoved(name string) {
	c.buffers.dirty = true
	c.tell(BufferMoved, name)
}

// shapes answers intake's questions from the cache; its lock is held.
type shapes struct{ c *Cache }

func (s shapes) PodTemplate(namespace, name string) *corev1.PodTemplate {
	return s.c.buffers.templates.get(namespace, name)
}

func (s shapes) Workload(kind, namespace, name string) *intake.Workload {
	return s.c.buffers.workloads[workloadKey{kind, namespace, name}]
}

// rebuildBuffers makes the virtual pods again after something moved that they depend on. Pods that stay as they were keep
// their pointers.
func (c *Cache) rebuildBuffers() {
	if !c.buffers.dirty {
		return
	}
	c.buffers.dirty = false
	was := c.buffers.made
	c.buffers.made = map[types.NamespacedName]*madeBuffer{}
	there := map[string]bool{}
	for key, b := range c.buffers.objects.objects {
		if b.DeletionTimestamp != nil || !intake.ServesBuffer(b) {
			continue
		}
		made := &madeBuffer{resolved: intake.ResolveBuffer(b, shapes{c})}
		made.pods = intake.VirtualPods(b, &made.resolved, c.compiler, lookup{c})
		if old := was[key]; old != nil {
			keepPods(made.pods, old.pods)
		}
		for _, p := range made.pods {
			there[p.UID] = true
		}
		c.buffers.made[key] = made
	}
	for uid, room := range c.buffers.rooms {
		if !there[uid] {
			c.leaveRoom(uid, room)
		}
	}
	c.dirtyWait = true
}

// keepPods puts the old pods in the place of new ones that are the same.
func keepPods(pods, old []*cluster.Pod) {
	for i := range min(len(pods), len(old)) {
		if samePod(pods[i], old[i]) {
			pods[i] = old[i]
		}
	}
}

// SettleRooms takes in what a decision found for the virtual pods of its snapshot.
func (c *Cache) SettleRooms(rooms []Room) {
	c.mu.Lock()
	defer c.unlock()
	c.rebuildBuffers()
	there := map[string]bool{}
	for _, b := range c.buffers.made {
		for _, p := range b.pods {
			there[p.UID] = true
		}
	}
	moved := false
	for _, room := range rooms {
		switch {
		case !there[room.Pod.UID]:
			continue
		case room.Claim != "":
			room.unit = reservation.OfClaim(room.Claim)
		case room.Node != nil && room.Node.Claim != "":
			room.unit = reservation.OfClaim(room.Node.Claim)
		case room.Node != nil:
			room.unit = reservation.OfNode(room.Node.Name)
		}
		room.Node = nil // not needed any more, and old by the next snapshot
		old, had := c.buffers.rooms[room.Pod.UID]
		if had && old == room {
			continue
		}
		moved = true
		if had {
			c.leaveRoom(room.Pod.UID, old)
		}
		c.buffers.rooms[room.Pod.UID] = room
		if room.unit != "" {
			c.buffers.byUnit[room.unit]++
			c.touchUnit(room.unit)
		}
	}
	if moved {
		c.tell(RoomsSettled, "")
	}
}

func (c *Cache) leaveRoom(uid string, room Room) {
	delete(c.buffers.rooms, uid)
	if room.unit == "" {
		return
	}
	if c.buffers.byUnit[room.unit]--; c.buffers.byUnit[room.unit] == 0 {
		delete(c.buffers.byUnit, room.unit)
	}
	c.touchUnit(room.unit)
}

func (c *Cache) virtualOn(units ...reservation.Unit) int {
	n := 0
	for _, unit := range units {
		n += c.buffers.byUnit[unit]
	}
	return n
}

func (c *Cache) countUnsettled(next *cluster.Snapshot) bool {
	n := -len(c.buffers.rooms)
	for _, b := range c.buffers.made {
		n += len(b.pods)
	}
	changed := n != next.Unsettled
	next.Unsettled = n
	return changed
}

// Buffers are the CapacityBuffers that ask for room on running nodes, sorted by namespace and name. Their objects must
// not be changed.
func (c *Cache) Buffers() []BufferState {
	c.mu.Lock()
	defer c.unlock()
	c.rebuildBuffers()
	var out []BufferState
	for key, b := range c.buffers.made {
		s := BufferState{Object: c.buffers.objects.objects[key], Buffer: b.resolved, Pods: len(b.pods)}
		for _, p := range b.pods {
			room, ok := c.buffers.rooms[p.UID]
			switch {
			case !ok:
				s.Unsettled++
			case room.State == RoomReady:
				s.Ready++
			case room.State == RoomOrdered:
				s.Ordered++
			case s.Why == "":
				s.Why = room.Why
			}
		}
		out = append(out, s)
	}
	slices.SortFunc(out, func(a, b BufferState) int {
		return cmp.Or(cmp.Compare(a.Object.Namespace, b.Object.Namespace), cmp.Compare(a.Object.Name, b.Object.Name))
	})
	return out
}
