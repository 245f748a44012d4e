package cache

import (
	"reflect"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/internal/engine/cluster"
	"github.com/kerf-sh/kerf/internal/engine/requirement"
	"github.com/kerf-sh/kerf/internal/engine/res"
	"github.com/kerf-sh/kerf/internal/state/intake"
	"github.com/kerf-sh/kerf/internal/state/reservation"
)

// SetNode takes in a version of a Node.
func (c *Cache) SetNode(node *corev1.Node) {
	c.mu.Lock()
	defer c.unlock()
	old := c.nodes.get("", node.Name)
	if !c.nodes.set(node) {
		return
	}
	if old != nil {
		c.unlinkNode(old)
	}
	c.linkNode(node)
	c.setHost(old, node)
	if old == nil {
		c.chosenMoved(node.Name)
	}
	c.recountID(node.Spec.ProviderID)
	if old != nil && old.Spec.ProviderID != node.Spec.ProviderID {
		c.recountID(old.Spec.ProviderID)
	}
	if intake.Leaving(old) && !intake.Leaving(node) && node.DeletionTimestamp == nil {
		c.stays(node.Name)
	}
	c.followNode(node.Name)
	if node.DeletionTimestamp != nil && (old == nil || old.DeletionTimestamp == nil) {
		c.tell(NodeGoing, node.Name)
	}
}

// RemoveNode takes in a Node's deletion.
func (c *Cache) RemoveNode(node *corev1.Node) {
	c.mu.Lock()
	defer c.unlock()
	old := c.nodes.get("", node.Name)
	if c.nodes.remove(node) {
		c.unlinkNode(old)
		if id := old.Spec.ProviderID; len(c.claimsByID[id]) > 0 {
			c.nodeLeft[id] = true
		}
		c.setHost(old, nil)
		c.chosenMoved(node.Name)
		c.recountID(old.Spec.ProviderID)
		delete(c.constraints.podEvents, node.Name)
		c.breakReservations(reservation.OfNode(node.Name))
		c.followNode(node.Name)
		c.tell(NodeGone, node.Name)
	}
}

func (c *Cache) linkNode(node *corev1.Node) {
	c.touch(reservation.OfNode(node.Name))
	c.touch(reservation.OfClaim(node.Name)) // a claim of the same name must show itself under another
	if id := node.Spec.ProviderID; id != "" {
		c.nodesByID.add(id, node.Name)
		delete(c.nodeLeft, id)
		c.touchID(id)
	}
}

func (c *Cache) unlinkNode(node *corev1.Node) {
	c.touch(reservation.OfNode(node.Name))
	c.touch(reservation.OfClaim(node.Name)) // a claim of the same name must show itself under another
	if id := node.Spec.ProviderID; id != "" {
		c.touchID(id)
		c.nodesByID.remove(id, node.Name)
	}
}

// setHost keeps which nodes have a host name, in the place of what the node's last version said. Either may be nil.
func (c *Cache) setHost(old, node *corev1.Node) {
	host := func(n *corev1.Node) string {
		if n == nil {
			return ""
		}
		return n.Labels[corev1.LabelHostname]
	}
	was, is := host(old), host(node)
	if was == is {
		return
	}
	if was != "" {
		if c.nodesByHost.remove(was, old.Name); len(c.nodesByHost[was]) == 0 {
			c.hostMoved(was)
		}
	}
	if is != "" {
		if c.nodesByHost.add(is, node.Name); len(c.nodesByHost[is]) == 1 {
			c.hostMoved(is)
		}
	}
}

// SetClaim takes in a version of a NodeClaim.
func (c *Cache) SetClaim(claim *karpv1.NodeClaim) {
	c.mu.Lock()
	defer c.unlock()
	c.reserved.ConfirmClaim(claim.Name, claim.UID)
	c.setClaim(claim)
}

func (c *Cache) setClaim(claim *karpv1.NodeClaim) {
	if !intake.IsManaged(claim.Spec.NodeClassRef) {
		return
	}
	old := c.claims.get("", claim.Name)
	if !c.claims.set(claim) {
		return
	}
	if old != nil {
		c.unlinkClaim(old)
		if old.UID != claim.UID {
			c.breakReservations(reservation.OfClaim(claim.Name))
		}
	}
	c.linkClaim(claim)
	c.recount(claim.Name)
	if claim.DeletionTimestamp != nil {
		c.dirtyWait = true // its end may be another one now; see endOf
		c.breakReservations(reservation.OfClaim(claim.Name))
		if old == nil || old.DeletionTimestamp == nil {
			c.tell(NodeGoing, claim.Name)
		}
	}
}

// RemoveClaim takes in a NodeClaim's deletion.
func (c *Cache) RemoveClaim(claim *karpv1.NodeClaim) {
	c.mu.Lock()
	defer c.unlock()
	old := c.claims.get("", claim.Name)
	if c.claims.remove(claim) {
		c.forgetClaim(old)
	}
}

func (c *Cache) forgetClaim(claim *karpv1.NodeClaim) {
	c.unlinkClaim(claim)
	delete(c.nodeLeft, claim.Status.ProviderID)
	c.recount(claim.Name)
	c.breakReservations(reservation.OfClaim(claim.Name))
	c.reserved.ForgetClaim(claim.Name)
	c.tell(NodeGone, claim.Name)
}

func (c *Cache) linkClaim(claim *karpv1.NodeClaim) {
	c.touch(reservation.OfClaim(claim.Name))
	if id := claim.Status.ProviderID; id != "" {
		c.claimsByID.add(id, claim.Name)
		c.touchID(id)
	}
}

func (c *Cache) unlinkClaim(claim *karpv1.NodeClaim) {
	c.touch(reservation.OfClaim(claim.Name))
	if id := claim.Status.ProviderID; id != "" {
		c.touchID(id)
		c.claimsByID.remove(id, claim.Name)
	}
}

func (c *Cache) touch(unit reservation.Unit) { c.dirty[unit] = struct{}{} }

// touchID marks everything that a provider ID joins.
func (c *Cache) touchID(id string) {
	for name := range c.nodesByID[id] {
		c.touch(reservation.OfNode(name))
	}
	for name := range c.claimsByID[id] {
		c.touch(reservation.OfClaim(name))
	}
}

// rebuildUnit makes a unit's value again and reports whether it differs from what was there.
func (c *Cache) rebuildUnit(unit reservation.Unit) bool {
	old := c.units[unit]
	next, ok := c.readUnit(unit)
	if !ok {
		return false
	}
	if next != nil && old != nil && sameNode(next, old) {
		return false
	}
	if next == nil && old == nil {
		return false
	}
	if next == nil {
		delete(c.units, unit)
	} else {
		c.units[unit] = next
	}
	was := old != nil && old.Deleting
	is := next != nil && next.Deleting
	if was || is {
		c.dirtyWait = true
	}
	delete(c.deleting, unit)
	if is {
		c.deleting[unit] = struct{}{}
	}
	if next != nil && next.Initialized && next.Ready && (old == nil || !old.Initialized || !old.Ready) {
		c.hurryReservations(unit, next.Claim)
		c.tell(NodeReady, next.Name)
	}
	if next != nil && next.Initialized && crowded(next) {
		c.crowded = append(c.crowded, unit)
	}
	return true
}

// buildUnit returns nil when there is no such instance (any more), or when it is part of another unit.
func (c *Cache) buildUnit(unit reservation.Unit) *cluster.Node {
	if name, ok := unit.Claim(); ok {
		claim := c.claims.get("", name)
		if claim == nil || len(c.nodesByID[claim.Status.ProviderID]) > 0 {
			return nil
		}
		out := intake.Node(nil, claim, c.reserved.Expected(name))
		out.Deleting = out.Deleting || c.nodeGone(claim)
		if c.nodes.get("", out.Name) != nil {
			out.Name = "nodeclaim/" + out.Name // some other instance has the name already
		}
		c.fillPods(out, nil, unit)
		out.Virtual = c.virtualOn(unit)
		return out
	}
	name, _ := unit.Node()
	node := c.nodes.get("", name)
	if node == nil {
		return nil
	}
	claim := c.claimOf(node)
	units := []reservation.Unit{unit}
	expected := intake.Expected{}
	if claim != nil {
		units = append(units, reservation.OfClaim(claim.Name))
		expected = c.reserved.Expected(claim.Name)
	}
	out := intake.Node(node, claim, expected)
	out.AttachLimits = intake.AttachLimits(c.csiNodes.get("", name))
	c.addDevices(out, claim)
	c.fillPods(out, c.podsByNode[name], units...)
	out.Virtual = c.virtualOn(units...)
	return out
}

// joinLag is how long after a NodeClaim was registered its Node may not have been taken in yet: they come by two watches.
const joinLag = 30 * time.Second

// nodeGone reports whether a claim that has no Node had one: its instance takes no pods any more.
func (c *Cache) nodeGone(claim *karpv1.NodeClaim) bool {
	registered := claim.StatusConditions().Get(karpv1.ConditionTypeRegistered)
	return registered.IsTrue() && (c.nodeLeft[claim.Status.ProviderID] || c.now().Sub(registered.LastTransitionTime.Time) >= joinLag)
}

// claimOf is the NodeClaim that a Node belongs to: that with its provider ID, the first by name if there are several.
func (c *Cache) claimOf(node *corev1.Node) *karpv1.NodeClaim {
	if node.Spec.ProviderID == "" {
		return nil
	}
	first := ""
	for name := range c.claimsByID[node.Spec.ProviderID] {
		if first == "" || name < first {
			first = name
		}
	}
	if first == "" {
		return nil
	}
	return c.claims.get("", first)
}

// fillPods adds the pods that run on the instance, those that were given room on it, and those that the scheduler is about to
// put there.
func (c *Cache) fillPods(node *cluster.Node, bound map[podKey]*entry, units ...reservation.Unit) {
	for _, e := range bound {
		node.Pods = append(node.Pods, e.pod)
		if e.pod.Daemon {
			if node.DaemonUsed == nil {
				node.DaemonUsed = res.List{}
			}
			node.DaemonUsed.Add(e.pod.Class.Requests)
		}
	}
	for _, r := range c.reserved.On(units...) {
		if e := c.entries[r.Pod]; e != nil && e.obj.UID == r.UID && e.pod.Node != node.Name {
			node.Pods = append(node.Pods, e.pod)
		}
	}
	if name, ok := units[0].Node(); ok {
		for _, e := range c.coming(name) {
			node.Pods = append(node.Pods, e.pod)
		}
	}
	if len(node.Pods) == 0 {
		return
	}
	slices.SortFunc(node.Pods, comparePods)
	node.Used = res.List{}
	for _, p := range node.Pods {
		node.Used.Add(p.Class.Requests)
	}
}

// sameNode compares two values of an instance; pods are the same when they are the same pointers.
func sameNode(a, b *cluster.Node) bool {
	if !slices.Equal(a.Pods, b.Pods) {
		return false
	}
	if !slices.EqualFunc(a.Requirements, b.Requirements, func(x, y requirement.Term) bool {
		return x.Key == y.Key && x.Operator == y.Operator && slices.Equal(x.Values, y.Values) && x.MinValues == y.MinValues
	}) {
		return false
	}
	x, y := *a, *b
	x.Pods, y.Pods, x.Requirements, y.Requirements = nil, nil, nil, nil
	return reflect.DeepEqual(x, y)
}
