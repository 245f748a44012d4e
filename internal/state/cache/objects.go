package cache

import (
	"cmp"
	"maps"
	"reflect"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	awsv1 "github.com/kerf-sh/kerf/api/aws/v1"
	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/internal/engine/cluster"
	"github.com/kerf-sh/kerf/internal/state/intake"
	"github.com/kerf-sh/kerf/internal/state/reservation"
)

// SetPool takes in a version of a NodePool.
func (c *Cache) SetPool(pool *karpv1.NodePool) {
	c.mu.Lock()
	defer c.unlock()
	old := c.pools.get("", pool.Name)
	if !c.pools.set(pool) {
		return
	}
	if old == nil || old.UID != pool.UID || old.Generation != pool.Generation || (old.DeletionTimestamp == nil) != (pool.DeletionTimestamp == nil) ||
		!reflect.DeepEqual(old.Spec, pool.Spec) || !reflect.DeepEqual(old.Status.Conditions, pool.Status.Conditions) {
		c.tell(PoolChanged, pool.Name)
		if old == nil || old.UID != pool.UID || !reflect.DeepEqual(old.Spec, pool.Spec) {
			c.tell(SettingsChanged, pool.Name)
		}
	}
}

// RemovePool takes in a NodePool's deletion.
func (c *Cache) RemovePool(pool *karpv1.NodePool) {
	c.mu.Lock()
	defer c.unlock()
	if c.pools.remove(pool) {
		c.tell(PoolChanged, pool.Name)
		c.tell(SettingsChanged, pool.Name)
	}
}

// Pools are the NodePools of the kinds that Kerf serves, sorted by name. They must not be changed.
func (c *Cache) Pools() []*karpv1.NodePool {
	c.mu.Lock()
	defer c.unlock()
	var out []*karpv1.NodePool
	for _, p := range c.pools.objects {
		if intake.IsManaged(p.Spec.Template.Spec.NodeClassRef) {
			out = append(out, p)
		}
	}
	slices.SortFunc(out, func(a, b *karpv1.NodePool) int { return cmp.Compare(a.Name, b.Name) })
	return out
}

// SetNodeClass takes in a version of an EC2NodeClass.
func (c *Cache) SetNodeClass(class *awsv1.EC2NodeClass) {
	c.mu.Lock()
	defer c.unlock()
	old := c.classes.get("", class.Name)
	if c.classes.set(class) && (old == nil || old.UID != class.UID || !reflect.DeepEqual(old.Spec, class.Spec) || !reflect.DeepEqual(old.Status, class.Status)) {
		c.tell(ClassChanged, class.Name)
		if old == nil || old.UID != class.UID || !reflect.DeepEqual(old.Spec, class.Spec) || !reflect.DeepEqual(old.Status.AMIs, class.Status.AMIs) || !reflect.DeepEqual(old.Status.LaunchTemplate, class.Status.LaunchTemplate) {
			c.tell(SettingsChanged, class.Name)
		}
	}
}

// RemoveNodeClass takes in an EC2NodeClass's deletion.
func (c *Cache) RemoveNodeClass(class *awsv1.EC2NodeClass) {
	c.mu.Lock()
	defer c.unlock()
	if c.classes.remove(class) {
		c.tell(ClassChanged, class.Name)
		c.tell(SettingsChanged, class.Name)
	}
}

// NodeClass is the EC2NodeClass of that name, nil when there is none. It must not be changed.
func (c *Cache) NodeClass(name string) *awsv1.EC2NodeClass {
	c.mu.Lock()
	defer c.unlock()
	return c.classes.get("", name)
}

// Claim is the newest NodeClaim of that name, nil when there is none. It must not be changed.
func (c *Cache) Claim(name string) *karpv1.NodeClaim {
	c.mu.Lock()
	defer c.unlock()
	return c.claims.get("", name)
}

// ClaimsWith are the NodeClaims that have one of the annotations, by their names. They must not be changed.
//
// Cost: linear in the NodeClaims.
func (c *Cache) ClaimsWith(annotations ...string) map[string]*karpv1.NodeClaim {
	c.mu.Lock()
	defer c.unlock()
	out := map[string]*karpv1.NodeClaim{}
	for _, claim := range c.claims.objects {
		for _, name := range annotations {
			if _, has := claim.Annotations[name]; has {
				out[claim.Name] = claim
				break
			}
		}
	}
	return out
}

// SetDaemonSet takes in a version of a DaemonSet.
func (c *Cache) SetDaemonSet(ds *appsv1.DaemonSet) {
	c.mu.Lock()
	defer c.unlock()
	old := c.daemonSets.get(ds.Namespace, ds.Name)
	if !c.daemonSets.set(ds) {
		return
	}
	c.dirtySets[client.ObjectKeyFromObject(ds)] = struct{}{}
	if old == nil || old.UID != ds.UID || old.Generation != ds.Generation {
		c.tell(DaemonsMoved, ds.Name)
	}
}

// RemoveDaemonSet takes in a DaemonSet's deletion.
func (c *Cache) RemoveDaemonSet(ds *appsv1.DaemonSet) {
	c.mu.Lock()
	defer c.unlock()
	if c.daemonSets.remove(ds) {
		c.dirtySets[client.ObjectKeyFromObject(ds)] = struct{}{}
		c.tell(DaemonsMoved, ds.Name)
	}
}

func (c *Cache) rebuildDaemons(next *cluster.Snapshot) bool {
	changed := false
	for key := range c.dirtySets {
		old, had := c.daemons[key]
		ds := c.daemonSets.objects[key]
		if ds == nil {
			delete(c.aside, asideKey{set: key})
			delete(c.daemons, key)
			changed = changed || had
			continue
		}
		d, ok, read := c.readDaemon(key, ds)
		switch {
		case !read:
		case !ok:
			delete(c.daemons, key)
			changed = changed || had
		case !had || old.Class.ID != d.Class.ID:
			c.daemons[key] = d
			changed = true
		}
	}
	clear(c.dirtySets)
	if changed {
		next.Daemons = c.sortedDaemons()
	}
	return changed
}

func (c *Cache) sortedDaemons() []cluster.Daemon {
	return slices.SortedFunc(maps.Values(c.daemons), func(a, b cluster.Daemon) int { return cmp.Compare(a.Name, b.Name) })
}

func (c *Cache) newestDaemonPod(key types.NamespacedName) *corev1.Pod {
	var best *corev1.Pod
	for k := range c.daemonPods[key] {
		p := c.entries[k].obj
		if p.DeletionTimestamp != nil {
			continue
		}
		if best == nil || p.CreationTimestamp.After(best.CreationTimestamp.Time) ||
			p.CreationTimestamp.Equal(&best.CreationTimestamp) && p.Name > best.Name {
			best = p
		}
	}
	return best
}

// SetNamespace takes in a version of a Namespace.
func (c *Cache) SetNamespace(ns *corev1.Namespace) {
	c.mu.Lock()
	defer c.unlock()
	old := c.namespaces.get("", ns.Name)
	if c.namespaces.set(ns) && (old == nil || !maps.Equal(old.Labels, ns.Labels)) {
		c.namespacesMoved()
	}
}

// RemoveNamespace takes in a Namespace's deletion.
func (c *Cache) RemoveNamespace(ns *corev1.Namespace) {
	c.mu.Lock()
	defer c.unlock()
	if c.namespaces.remove(ns) {
		c.namespacesMoved()
	}
}

func (c *Cache) namespacesMoved() {
	c.dirtyNS, c.buffers.dirty = true, true
	for key := range c.nsDependent {
		c.recompile(c.entries[key])
	}
}

func (c *Cache) rebuildNamespaces(next *cluster.Snapshot) bool {
	if !c.dirtyNS {
		return false
	}
	c.dirtyNS = false
	out := make(map[string]map[string]string, len(c.namespaces.objects))
	for key, ns := range c.namespaces.objects {
		out[key.Name] = ns.Labels
	}
	next.NamespaceLabels = out
	return true
}

// SetVolumeClaim takes in a version of a PersistentVolumeClaim.
func (c *Cache) SetVolumeClaim(pvc *corev1.PersistentVolumeClaim) {
	c.mu.Lock()
	defer c.unlock()
	key := client.ObjectKeyFromObject(pvc)
	old := c.pvcs.objects[key]
	if !c.pvcs.set(pvc) {
		return
	}
	if old != nil {
		c.volumeUsers.remove(old.Spec.VolumeName, key)
		c.chosenFor.remove(intake.SelectedNode(old), key)
	}
	c.volumeUsers.add(pvc.Spec.VolumeName, key)
	if node := intake.SelectedNode(pvc); node != "" {
		c.chosenFor.add(node, key)
	}
	c.volumesMoved(key)
}

// RemoveVolumeClaim takes in a PersistentVolumeClaim's deletion.
func (c *Cache) RemoveVolumeClaim(pvc *corev1.PersistentVolumeClaim) {
	c.mu.Lock()
	defer c.unlock()
	key := client.ObjectKeyFromObject(pvc)
	old := c.pvcs.objects[key]
	if c.pvcs.remove(pvc) {
		c.volumeUsers.remove(old.Spec.VolumeName, key)
		c.chosenFor.remove(intake.SelectedNode(old), key)
		c.volumesMoved(key)
	}
}

// SetVolume takes in a version of a PersistentVolume.
func (c *Cache) SetVolume(pv *corev1.PersistentVolume) {
	c.mu.Lock()
	defer c.unlock()
	if c.pvs.set(pv) {
		for key := range c.volumeUsers[pv.Name] {
			c.volumesMoved(key)
		}
	}
}

// RemoveVolume takes in a PersistentVolume's deletion.
func (c *Cache) RemoveVolume(pv *corev1.PersistentVolume) {
	c.mu.Lock()
	defer c.unlock()
	if c.pvs.remove(pv) {
		for key := range c.volumeUsers[pv.Name] {
			c.volumesMoved(key)
		}
	}
}

// SetStorageClass takes in a version of a StorageClass.
func (c *Cache) SetStorageClass(sc *storagev1.StorageClass) {
	c.mu.Lock()
	defer c.unlock()
	if c.scs.set(sc) {
		c.allVolumesMoved()
	}
}

// RemoveStorageClass takes in a StorageClass's deletion.
func (c *Cache) RemoveStorageClass(sc *storagev1.StorageClass) {
	c.mu.Lock()
	defer c.unlock()
	if c.scs.remove(sc) {
		c.allVolumesMoved()
	}
}

// SetCSINode takes in a version of a CSINode, which says how many volumes the node of its name attaches.
func (c *Cache) SetCSINode(node *storagev1.CSINode) {
	c.mu.Lock()
	defer c.unlock()
	if c.csiNodes.set(node) {
		c.touch(reservation.OfNode(node.Name))
	}
}

// RemoveCSINode takes in a CSINode's deletion.
func (c *Cache) RemoveCSINode(node *storagev1.CSINode) {
	c.mu.Lock()
	defer c.unlock()
	if c.csiNodes.remove(node) {
		c.touch(reservation.OfNode(node.Name))
	}
}

func (c *Cache) allVolumesMoved() {
	for key := range c.claimUsers {
		c.volumesMoved(key)
	}
}

// hostMoved makes the classes of pods again whose local volumes are on a host that has come or gone.
//
// Cost: linear in the PersistentVolumes.
func (c *Cache) hostMoved(host string) {
	for _, pv := range c.pvs.objects {
		if slices.Contains(intake.LocalHosts(pv), host) {
			for key := range c.volumeUsers[pv.Name] {
				c.volumesMoved(key)
			}
		}
	}
}

// chosenMoved makes the classes of pods again whose volumes are being made for a node that has come or gone.
func (c *Cache) chosenMoved(node string) {
	for key := range c.chosenFor[node] {
		c.volumesMoved(key)
	}
}

func (c *Cache) volumesMoved(claim types.NamespacedName) {
	for key := range c.claimUsers[claim] {
		c.recompile(c.entries[key])
	}
}

// claimsTaken makes the classes again of pods that wait for claims which the pod has taken, or which it has left.
func (c *Cache) claimsTaken(pod *corev1.Pod) {
	for _, name := range intake.VolumeClaims(pod) {
		if intake.OnePodOnly(c.pvcs.get(pod.Namespace, name)) {
			c.volumesMoved(types.NamespacedName{Namespace: pod.Namespace, Name: name})
		}
	}
}

// lookup answers intake's questions from the cache; its lock is held.
type lookup struct{ c *Cache }

func (l lookup) PersistentVolumeClaim(namespace, name string) *corev1.PersistentVolumeClaim {
	return l.c.pvcs.get(namespace, name)
}
func (l lookup) PersistentVolume(name string) *corev1.PersistentVolume { return l.c.pvs.get("", name) }
func (l lookup) StorageClass(name string) *storagev1.StorageClass      { return l.c.scs.get("", name) }
func (l lookup) UserOf(namespace, claim string, besides types.UID) (first string) {
	for key := range l.c.claimUsers[types.NamespacedName{Namespace: namespace, Name: claim}] {
		if e := l.c.entries[key]; e.usesClaims() && e.obj.UID != besides && (first == "" || key.Name < first) {
			first = key.Name
		}
	}
	return first
}

func (l lookup) HasHost(name string) bool { return len(l.c.nodesByHost[name]) > 0 }

func (l lookup) HasNode(name string) bool { return l.c.nodes.get("", name) != nil }

func (l lookup) SelectNamespaces(sel labels.Selector) []string {
	var out []string
	for key, ns := range l.c.namespaces.objects {
		if sel.Matches(labels.Set(ns.Labels)) {
			out = append(out, key.Name)
		}
	}
	slices.Sort(out)
	return out
}
