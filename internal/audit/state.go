package audit

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/types"

	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/internal/engine/catalog"
	"github.com/kerf-sh/kerf/internal/engine/cluster"
	"github.com/kerf-sh/kerf/internal/setup/snapshot"
	"github.com/kerf-sh/kerf/internal/state/cache"
	"github.com/kerf-sh/kerf/internal/state/intake"
)

// Labels of others that say how a node was launched.
const (
	eksNodeGroup    = "eks.amazonaws.com/nodegroup"
	eksCapacityType = "eks.amazonaws.com/capacityType"
	eksComputeType  = "eks.amazonaws.com/compute-type"
	eksctlNodeGroup = "alpha.eksctl.io/nodegroup-name"
	kopsGroup       = "kops.k8s.io/instancegroup"
	lifecycleLabel  = "node.kubernetes.io/lifecycle"

	safeToEvict = "cluster-autoscaler.kubernetes.io/safe-to-evict"
)

// place is where a node comes from.
type place int

const (
	ofPool    place = iota // a NodePool that Kerf would serve
	ofGroup                // EC2, launched by something else
	ofFargate              // of Fargate
	ofOther                // of no EC2, or of a type that nobody knows
)

// audited is a node with what is known of it beyond the engine.
type audited struct {
	*cluster.Node
	from  place
	group string // of the bill: the NodePool or node group
	// known is whether the price is; Node.Price is 0 where it is not. apart: pods on it ask to stay off the nodes of NodePools.
	known, apart bool
	// absent: the instance of a NodeClaim was launched, and no Node of it is there.
	absent bool
	pods   []*corev1.Pod
}

// state is the cluster of a snapshot in the values of the engine.
type state struct {
	from     *snapshot.Snapshot
	cluster  *cluster.Snapshot
	nodes    []*audited // by name
	byName   map[string]*audited
	pods     map[cluster.PodRef]*corev1.Pod
	pools    map[string]*karpv1.NodePool // those that Kerf would serve
	standing *cache.DisruptionConstraints
	budgets  intake.PodBudgets
	owners   owners
	nodeless []*corev1.Pod // pods that run on nodes that were not read, by namespace and name
}

// read makes values of the objects.
func read(s *snapshot.Snapshot, m *market) *state {
	now := s.TakenAt
	c := cache.New(cache.Options{Now: func() time.Time { return now }})
	st := &state{from: s, byName: map[string]*audited{}, pods: map[cluster.PodRef]*corev1.Pod{}, pools: map[string]*karpv1.NodePool{}, owners: ownersOf(s)}
	for _, o := range s.NodeClasses {
		c.SetNodeClass(o)
	}
	for _, o := range s.NodePools {
		if intake.IsManaged(o.Spec.Template.Spec.NodeClassRef) && o.DeletionTimestamp == nil {
			st.pools[o.Name] = o
		}
		c.SetPool(o)
	}
	each(s.Namespaces, c.SetNamespace)
	each(s.StorageClasses, c.SetStorageClass)
	each(s.CSINodes, c.SetCSINode)
	each(s.Volumes, c.SetVolume)
	each(s.VolumeClaims, c.SetVolumeClaim)
	each(s.DaemonSets, c.SetDaemonSet)
	each(s.Budgets, func(b *policyv1.PodDisruptionBudget) { c.SetBudget(b); st.budgets.Set(b) })
	each(s.NodeClaims, c.SetClaim)
	raw := map[string]*corev1.Node{}
	for _, n := range s.Nodes {
		n = withCapacityType(n)
		raw[n.Name] = n
		c.SetNode(n)
	}
	running := map[string][]*corev1.Pod{}
	for _, p := range s.Pods {
		if !intake.IsActive(p) {
			continue
		}
		p = st.fit(p)
		c.SetPod(p)
		st.pods[intake.PodRef(p)] = p
		if p.Spec.NodeName != "" {
			running[p.Spec.NodeName] = append(running[p.Spec.NodeName], p)
		}
	}
	st.cluster = c.Snapshot()
	st.standing = c.DisruptionConstraints()
	for _, n := range st.cluster.Nodes {
		node := raw[n.Name]
		absent := node == nil
		if absent {
			if !n.Launched || n.Deleting || s.Missing("nodes") {
				continue
			}
			node = &corev1.Node{}
			node.Labels, node.Spec.ProviderID = n.Labels, n.ProviderID
		}
		a := st.audit(node, n, m)
		if absent { // it is paid for; whether a pod will ever run on it nobody knows
			a.absent, a.Claim, a.Allocatable = true, "", a.Used
		}
		a.pods = running[n.Name]
		if a.from == ofGroup && slices.ContainsFunc(a.pods, intake.OptsOut) {
			a.apart, a.Claim = true, ""
		}
		st.nodes = append(st.nodes, a)
		st.byName[a.Name] = a
	}
	for name, pods := range running {
		if st.byName[name] == nil && !s.Missing("nodes") {
			st.nodeless = append(st.nodeless, pods...)
		}
	}
	slices.SortFunc(st.nodeless, func(x, y *corev1.Pod) int {
		return cmp.Or(cmp.Compare(x.Namespace, y.Namespace), cmp.Compare(x.Name, y.Name))
	})
	return st
}

// fit is a pod as its class is to be read. Where no PersistentVolumeClaim could be read, volumes are left out: their pods would
// count as pods that can be placed nowhere.
func (st *state) fit(p *corev1.Pod) *corev1.Pod {
	if len(st.from.VolumeClaims) > 0 || !st.from.Missing("persistentvolumeclaims") {
		return p
	}
	out := *p
	out.Spec.Volumes = nil
	return &out
}

// withCapacityType writes the capacity type of nodes that others launched under Karpenter's label, so that it counts.
func withCapacityType(n *corev1.Node) *corev1.Node {
	if n.Labels[karpv1.CapacityTypeLabelKey] != "" {
		return n
	}
	kind := catalog.OnDemand
	switch {
	case strings.EqualFold(n.Labels[eksCapacityType], "CAPACITY_BLOCK"):
		kind = catalog.Reserved
	case strings.EqualFold(n.Labels[eksCapacityType], "SPOT"), strings.Contains(strings.ToLower(n.Labels[lifecycleLabel]), "spot"), strings.Contains(strings.ToLower(n.Labels["lifecycle"]), "spot"):
		kind = catalog.Spot
	}
	out := *n
	out.Labels = maps.Clone(n.Labels)
	if out.Labels == nil {
		out.Labels = map[string]string{}
	}
	out.Labels[karpv1.CapacityTypeLabelKey] = kind
	return &out
}

// audit says what a node is and costs. The value is a copy: prices and claims are written into it.
func (st *state) audit(raw *corev1.Node, n *cluster.Node, m *market) *audited {
	own := *n
	a := &audited{Node: &own}
	own.InstanceType = cmp.Or(own.InstanceType, raw.Labels[corev1.LabelInstanceType])
	own.Zone = cmp.Or(own.Zone, raw.Labels[corev1.LabelFailureDomainBetaZone], zoneOf(raw.Spec.ProviderID))
	pool := st.pools[own.Labels[karpv1.NodePoolLabelKey]]
	price, priced := m.price(own.InstanceType, own.Zone, own.CapacityType, pool)
	_, typed := m.facts.Type(own.InstanceType)
	switch {
	case own.Labels[eksComputeType] == "fargate":
		a.from, a.group = ofFargate, "Fargate"
	case !strings.HasPrefix(raw.Spec.ProviderID, "aws:") && !typed:
		a.from, a.group = ofOther, "not EC2"
	case pool != nil:
		a.from, a.group = ofPool, "NodePool "+pool.Name
	default:
		a.from, a.group = ofGroup, st.groupOf(own.Labels)
	}
	own.Price = 0
	if a.from == ofPool || a.from == ofGroup {
		own.Price, a.known = price, priced
		// Kerf may consider the node if it knows what it costs, and if something is known that could stand in its place.
		if own.Claim == "" && a.known && own.Labels[corev1.LabelOSStable] != "windows" && !own.Deleting {
			own.Claim = own.Name
		}
	}
	if !a.known || a.isReserved() || a.from == ofPool && pool.IsStatic() {
		own.Claim = ""
	}
	return a
}

// groupOf names what launched a node that no NodePool did.
func (st *state) groupOf(labels map[string]string) string {
	for _, key := range []string{eksNodeGroup, eksctlNodeGroup, kopsGroup} {
		if v := labels[key]; v != "" {
			return "node group " + v
		}
	}
	if v := labels[karpv1.NodePoolLabelKey]; v != "" {
		if !slices.ContainsFunc(st.from.NodePools, func(p *karpv1.NodePool) bool { return p.Name == v }) {
			return "NodePool " + v + " (not read)"
		}
		return "NodePool " + v + " (of another controller)"
	}
	return "other EC2 instances"
}

// poolsUnread is how many nodes say that they are of a NodePool where no NodePool could be read.
func (st *state) poolsUnread() int {
	count := 0
	if len(st.from.NodePools) == 0 {
		for _, n := range st.nodes {
			if n.from == ofGroup && n.Labels[karpv1.NodePoolLabelKey] != "" {
				count++
			}
		}
	}
	return count
}

// zoneOf is the zone in a provider ID such as aws:///eu-west-1a/i-0123456789abcdef0.
func zoneOf(providerID string) string {
	rest, ok := strings.CutPrefix(providerID, "aws:///")
	if !ok {
		return ""
	}
	zone, _, _ := strings.Cut(rest, "/")
	return zone
}

// movable reports whether a node may be placed anew.
func (a *audited) movable() bool { return a.Claim != "" }

// isReserved reports whether a node is in a capacity reservation or capacity block. It is paid for whether it is used or not: it is
// kept, and what is free on it costs nothing.
func (a *audited) isReserved() bool { return a.known && a.CapacityType == catalog.Reserved }

// moving are the pods of a node that would need another place.
func moving(n *cluster.Node) []*cluster.Pod {
	var out []*cluster.Pod
	for _, p := range n.Pods {
		if !p.Daemon && !p.Mirror && !p.Terminating {
			out = append(out, p)
		}
	}
	return out
}

func each[T any](list []T, f func(T)) {
	for _, x := range list {
		f(x)
	}
}

// owners find the workload that a pod belongs to.
type owners struct {
	sets map[types.NamespacedName]*appsv1.ReplicaSet
	jobs map[types.NamespacedName]string // the CronJob of a Job
}

func ownersOf(s *snapshot.Snapshot) owners {
	out := owners{sets: map[types.NamespacedName]*appsv1.ReplicaSet{}, jobs: map[types.NamespacedName]string{}}
	for _, r := range s.ReplicaSets {
		out.sets[types.NamespacedName{Namespace: r.Namespace, Name: r.Name}] = r
	}
	for _, j := range s.Jobs {
		for _, o := range j.OwnerReferences {
			if o.Kind == "CronJob" {
				out.jobs[types.NamespacedName{Namespace: j.Namespace, Name: j.Name}] = o.Name
			}
		}
	}
	return out
}

// owner is a workload by kind and name.
type owner struct{ kind, namespace, name string }

func (o owner) String() string { return o.namespace + "/" + o.name }

// object names the workload.
func (o owner) object() Object { return Object{Kind: o.kind, Name: o.String()} }

// of is the workload of a pod: the Deployment of its ReplicaSet, the CronJob of its Job; the pod itself where nothing owns it.
func (w owners) of(p *corev1.Pod) owner {
	for i := range p.OwnerReferences {
		r := &p.OwnerReferences[i]
		if r.Controller != nil && !*r.Controller {
			continue
		}
		out := owner{kind: r.Kind, namespace: p.Namespace, name: r.Name}
		key := types.NamespacedName{Namespace: p.Namespace, Name: r.Name}
		switch r.Kind {
		case "ReplicaSet":
			if set := w.sets[key]; set != nil {
				for _, o := range set.OwnerReferences {
					return owner{kind: o.Kind, namespace: p.Namespace, name: o.Name}
				}
				return out
			}
			// Without the right to read ReplicaSets: Deployments add the hash of the template to their name.
			if hash := p.Labels[appsv1.DefaultDeploymentUniqueLabelKey]; hash != "" && strings.HasSuffix(r.Name, "-"+hash) {
				return owner{kind: "Deployment", namespace: p.Namespace, name: strings.TrimSuffix(r.Name, "-"+hash)}
			}
		case "Job":
			if cron := w.jobs[key]; cron != "" {
				return owner{kind: "CronJob", namespace: p.Namespace, name: cron}
			}
		}
		return out
	}
	return owner{kind: "Pod", namespace: p.Namespace, name: p.Name}
}

func sortedKeys[K cmp.Ordered, V any](m map[K]V) []K { return slices.Sorted(maps.Keys(m)) }
