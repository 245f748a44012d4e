package cache

// ChangeKind is what a Change is about.
type ChangeKind string

// Kinds of change that a decision may have to be made again for.
const (
	PodPending   ChangeKind = "PodPending"   // a pod was found unschedulable, or its reservation was broken
	PodChanged   ChangeKind = "PodChanged"   // a waiting pod now asks for something else
	PodLeft      ChangeKind = "PodLeft"      // a pod gave room back
	NodeGoing    ChangeKind = "NodeGoing"    // a node or claim is being deleted
	NodeGone     ChangeKind = "NodeGone"     // a node or claim is gone
	NodeReady    ChangeKind = "NodeReady"    // a node became initialized
	PoolUsed     ChangeKind = "PoolUsed"     // what the nodes of a NodePool hold changed; see PoolUsage
	PoolChanged  ChangeKind = "PoolChanged"  // a NodePool changed in spec or conditions
	ClassChanged ChangeKind = "ClassChanged" // an EC2NodeClass changed in spec or status
	// SettingsChanged: a NodePool or EC2NodeClass came, went or is another by its spec, or boots other images.
	SettingsChanged ChangeKind = "SettingsChanged"
	DaemonsMoved    ChangeKind = "DaemonsMoved" // a DaemonSet came, went or changed
	BufferMoved     ChangeKind = "BufferMoved"  // a CapacityBuffer came, went or changed, or a pod was bound where it has room
	// NominationLost: the scheduler took away the nomination of a pod that is given room on the claim of that name.
	NominationLost ChangeKind = "NominationLost"
	// DevicesBound: a pod was bound to the node of the claim of that name that has an extended resource from a driver.
	DevicesBound ChangeKind = "DevicesBound"
	PodPlaced    ChangeKind = "PodPlaced"    // a pod was bound that a decision had given a place
	PodUnplanned ChangeKind = "PodUnplanned" // a pod was bound that no decision had given a place, and that waited
	PodMissed    ChangeKind = "PodMissed"    // a pod that a decision had given a place was left waiting, though the place is free
	RoomsSettled ChangeKind = "RoomsSettled" // virtual pods have their room elsewhere than before
)

// Change tells of one thing that happened. Name is the object's name.
type Change struct {
	Kind ChangeKind
	Name string
	// Owner is the controller that the pod of a PodPending belongs to.
	Owner Owner
	// Class is the ID of the class of the pod of a PodPlaced, PodUnplanned or PodMissed, Detail why the latter waits: what the
	// scheduler says, or the volume that is not made.
	Class, Detail string
	// AsPlanned: the pod of a PodPlaced was bound where the decision had it, or a pod just like it. Disruption: it came in the
	// place of one that a disruption evicted.
	AsPlanned, Disruption bool
}

// Listen calls f for every change from now on, outside the cache's lock. f must not block.
func (c *Cache) Listen(f func(Change)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.listeners = append(c.listeners, f)
}

func (c *Cache) tell(kind ChangeKind, name string) {
	c.changes = append(c.changes, Change{Kind: kind, Name: name})
}

// tellPending tells of a pod that waits for a node.
func (c *Cache) tellPending(e *entry) {
	c.changes = append(c.changes, Change{Kind: PodPending, Name: e.pod.Name, Owner: owner(e.obj)})
}
