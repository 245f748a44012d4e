package cache

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"
	"sigs.k8s.io/controller-runtime/pkg/client"

	awsv1 "github.com/kerf-sh/kerf/api/aws/v1"
	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/internal/engine/cluster"
	"github.com/kerf-sh/kerf/internal/engine/res"
	"github.com/kerf-sh/kerf/internal/state/intake"
)

func amounts(cpu, pods string) corev1.ResourceList {
	return corev1.ResourceList{"cpu": resource.MustParse(cpu), "pods": resource.MustParse(pods)}
}

func unschedulable(name, uid string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, UID: types.UID(uid)},
		Spec: corev1.PodSpec{
			SchedulerName: corev1.DefaultSchedulerName,
			Containers:    []corev1.Container{{Name: "a", Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{"cpu": resource.MustParse("1")}}}},
		},
		Status: corev1.PodStatus{Phase: corev1.PodPending, Conditions: []corev1.PodCondition{
			{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable}}},
	}
}

func newClaim(name, uid string) *karpv1.NodeClaim {
	return &karpv1.NodeClaim{
		ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(uid), Labels: map[string]string{karpv1.NodePoolLabelKey: "pool"}},
		Spec: karpv1.NodeClaimSpec{
			NodeClassRef: &karpv1.NodeClassReference{Group: awsv1.Group, Kind: "EC2NodeClass", Name: "default"},
			Resources:    karpv1.ResourceRequirements{Requests: amounts("1", "1")},
		},
	}
}

func newNode(name, uid, providerID string) *corev1.Node {
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(uid), Labels: map[string]string{}},
		Spec:       corev1.NodeSpec{ProviderID: providerID},
		Status:     corev1.NodeStatus{Allocatable: amounts("4", "10"), Capacity: amounts("4", "10")},
	}
}

// event is one version of an object, or its deletion.
type event struct {
	obj     client.Object
	removed bool
}

func (c *Cache) take(e event) {
	switch o := e.obj.(type) {
	case *corev1.Pod:
		pick(e.removed, o, c.SetPod, c.RemovePod)
	case *corev1.Node:
		pick(e.removed, o, c.SetNode, c.RemoveNode)
	case *karpv1.NodeClaim:
		pick(e.removed, o, c.SetClaim, c.RemoveClaim)
	case *appsv1.DaemonSet:
		pick(e.removed, o, c.SetDaemonSet, c.RemoveDaemonSet)
	case *corev1.Namespace:
		pick(e.removed, o, c.SetNamespace, c.RemoveNamespace)
	case *corev1.PersistentVolumeClaim:
		pick(e.removed, o, c.SetVolumeClaim, c.RemoveVolumeClaim)
	case *corev1.PersistentVolume:
		pick(e.removed, o, c.SetVolume, c.RemoveVolume)
	default:
		panic(fmt.Sprintf("no such kind: %T", o))
	}
}

func pick[T any](removed bool, o T, set, remove func(T)) {
	if removed {
		remove(o)
	} else {
		set(o)
	}
}

// history draws the lives of a few objects: versions, deletion, rebirth under the same name. It returns all events in
// their true order, and what is left at the end.
type history struct {
	events []event
	final  map[string]client.Object
	rv     int
}

func (h *history) live(t *rapid.T, kind, name string, draw func(t *rapid.T, uid string) client.Object) {
	for life := range rapid.IntRange(1, 2).Draw(t, kind+name+" lives") {
		uid := fmt.Sprintf("%s-%s-%d", kind, name, life)
		versions := rapid.IntRange(1, 3).Draw(t, "versions")
		var last client.Object
		for range versions {
			last = draw(t, uid)
			h.rv++
			last.SetResourceVersion(strconv.Itoa(h.rv))
			h.events = append(h.events, event{obj: last})
		}
		h.final[kind+"/"+name] = last
		if rapid.IntRange(0, 2).Draw(t, "ends") == 0 {
			h.rv++
			gone := last.DeepCopyObject().(client.Object)
			gone.SetResourceVersion(strconv.Itoa(h.rv))
			h.events = append(h.events, event{obj: gone, removed: true})
			delete(h.final, kind+"/"+name)
		} else {
			return
		}
	}
}

func drawHistory(t *rapid.T) *history {
	h := &history{final: map[string]client.Object{}}
	ids := []string{"", "id-1", "id-2"}
	nodes := []string{"", "n0", "n1", "c0"}
	for i := range 2 {
		h.live(t, "node", fmt.Sprint("n", i), func(t *rapid.T, uid string) client.Object {
			n := newNode(fmt.Sprint("n", i), uid, rapid.SampledFrom(ids).Draw(t, "id"))
			if host := rapid.SampledFrom([]string{"", "h0", "h1"}).Draw(t, "host"); host != "" {
				n.Labels[corev1.LabelHostname] = host
			}
			if rapid.Bool().Draw(t, "registered") {
				n.Labels[karpv1.NodeRegisteredLabelKey] = "true"
				n.Labels[karpv1.NodeInitializedLabelKey] = "true"
			}
			if rapid.IntRange(0, 3).Draw(t, "going") == 0 {
				n.DeletionTimestamp = new(metav1.Unix(1, 0))
			}
			return n
		})
		h.live(t, "claim", fmt.Sprint("c", i), func(t *rapid.T, uid string) client.Object {
			c := newClaim(fmt.Sprint("c", i), uid)
			c.Status.ProviderID = rapid.SampledFrom(ids).Draw(t, "id")
			if rapid.IntRange(0, 3).Draw(t, "going") == 0 {
				c.DeletionTimestamp = new(metav1.Unix(1, 0))
			}
			return c
		})
		h.live(t, "pvc", fmt.Sprint("v", i), func(t *rapid.T, uid string) client.Object {
			return &corev1.PersistentVolumeClaim{
				ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: fmt.Sprint("v", i), UID: types.UID(uid), Annotations: map[string]string{"pv.kubernetes.io/bind-completed": "y"}},
				Spec: corev1.PersistentVolumeClaimSpec{VolumeName: rapid.SampledFrom([]string{"", "pv"}).Draw(t, "volume"),
					AccessModes: []corev1.PersistentVolumeAccessMode{rapid.SampledFrom([]corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce, corev1.ReadWriteOncePod}).Draw(t, "mode")}}}
		})
	}
	h.live(t, "node", "c0", func(t *rapid.T, uid string) client.Object { return newNode("c0", uid, "") }) // a claim's name
	h.live(t, "pv", "pv", func(t *rapid.T, uid string) client.Object {
		pv := &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: "pv", UID: types.UID(uid), Labels: map[string]string{corev1.LabelTopologyZone: rapid.SampledFrom([]string{"", "a"}).Draw(t, "zone")}}}
		if host := rapid.SampledFrom([]string{"", "h0", "h1"}).Draw(t, "host"); host != "" {
			pv.Spec.Local = &corev1.LocalVolumeSource{}
			pv.Spec.NodeAffinity = &corev1.VolumeNodeAffinity{Required: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
				MatchExpressions: []corev1.NodeSelectorRequirement{{Key: corev1.LabelHostname, Operator: corev1.NodeSelectorOpIn, Values: []string{host}}}}}}}
		}
		return pv
	})
	h.live(t, "ns", "ns", func(t *rapid.T, uid string) client.Object {
		return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "ns", UID: types.UID(uid), Labels: map[string]string{"team": rapid.SampledFrom([]string{"x", "y"}).Draw(t, "team")}}}
	})
	h.live(t, "ds", "ds", func(t *rapid.T, uid string) client.Object {
		ds := &appsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "ds", UID: types.UID(uid)}}
		ds.Spec.Template.Spec.NodeSelector = map[string]string{"a": rapid.SampledFrom([]string{"1", "2"}).Draw(t, "selector")}
		return ds
	})
	claimOf := map[string]string{}
	for i := range 5 {
		h.live(t, "pod", fmt.Sprint("p", i), func(t *rapid.T, uid string) client.Object {
			p := unschedulable(fmt.Sprint("p", i), uid)
			p.Status.NominatedNodeName = rapid.SampledFrom([]string{"", "", "n0", "n1"}).Draw(t, "nominated")
			if node := rapid.SampledFrom(nodes).Draw(t, "node"); node != "" {
				p.Spec.NodeName = node
				p.Status.Conditions[0].Status = corev1.ConditionTrue
			}
			if _, drawn := claimOf[uid]; !drawn { // a pod's volumes never change
				claimOf[uid] = rapid.SampledFrom([]string{"", "", "v0", "v1"}).Draw(t, "claim")
			}
			if claimOf[uid] != "" {
				uses(claimOf[uid])(p)
			}
			switch rapid.IntRange(0, 7).Draw(t, "trait") {
			case 0:
				p.Status.Phase = corev1.PodSucceeded
			case 1:
				p.DeletionTimestamp = new(metav1.Unix(1, 0))
				p.DeletionGracePeriodSeconds = new(rapid.SampledFrom([]int64{30, 600}).Draw(t, "grace"))
			case 2:
				p.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "DaemonSet", Name: "ds"}}
				p.CreationTimestamp = metav1.Unix(int64(i), 0)
			case 3:
				p.Spec.PreemptionPolicy = new(corev1.PreemptNever)
			case 4:
				p.Annotations = map[string]string{karpv1.DoNotDisruptAnnotationKey: "true"}
			case 5:
				p.Spec.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{
					TopologyKey: "zone", NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"team": "x"}}}}}}
			}
			return p
		})
	}
	return h
}

// naive makes a snapshot of the objects that are left, by looking at everything.
func naive(final map[string]client.Object) *cluster.Snapshot {
	var pods []*corev1.Pod
	var nodes []*corev1.Node
	var claims []*karpv1.NodeClaim
	full := New(Options{}) // as a lookup only
	out := &cluster.Snapshot{NamespaceLabels: map[string]map[string]string{}}
	var ds *appsv1.DaemonSet
	for _, o := range final {
		switch o := o.(type) {
		case *corev1.Pod:
			pods = append(pods, o)
			full.SetPod(o)
		case *corev1.Node:
			nodes = append(nodes, o)
			full.setHost(nil, o)
		case *karpv1.NodeClaim:
			claims = append(claims, o)
		case *corev1.PersistentVolumeClaim:
			full.pvcs.set(o)
		case *corev1.PersistentVolume:
			full.pvs.set(o)
		case *corev1.Namespace:
			full.namespaces.set(o)
			out.NamespaceLabels[o.Name] = o.Labels
		case *appsv1.DaemonSet:
			ds = o
		}
	}
	compiler := intake.NewCompiler()
	byName := func(a, b client.Object) int { return cmp.Compare(a.GetName(), b.GetName()) }
	slices.SortFunc(pods, func(a, b *corev1.Pod) int { return byName(a, b) })
	slices.SortFunc(claims, func(a, b *karpv1.NodeClaim) int { return byName(a, b) })
	takes := func(node string) bool {
		return slices.ContainsFunc(nodes, func(n *corev1.Node) bool { return n.Name == node && n.DeletionTimestamp == nil })
	}
	comesTo := func(p *corev1.Pod, node string) bool {
		return p.Spec.NodeName == "" && p.Status.NominatedNodeName == node && takes(node) && intake.Preempts(p) && p.DeletionTimestamp == nil && !intake.IsDaemon(p)
	}
	add := func(n *cluster.Node, name string) {
		for _, p := range pods {
			if name == "" || p.Spec.NodeName != name && !comesTo(p, name) || !intake.IsActive(p) {
				continue
			}
			cp := intake.Pod(p, compiler.Class(p, lookup{full}))
			if n.Used == nil {
				n.Used = res.List{}
			}
			n.Pods = append(n.Pods, cp)
			n.Used.Add(cp.Class.Requests)
			if cp.Daemon {
				if n.DaemonUsed == nil {
					n.DaemonUsed = res.List{}
				}
				n.DaemonUsed.Add(cp.Class.Requests)
			}
			if n.Deleting && cp.Node != "" && intake.Reschedulable(p) && !held(p) {
				out.Pending = append(out.Pending, cp)
			}
		}
		out.Nodes = append(out.Nodes, n)
	}
	for _, node := range nodes {
		var mine *karpv1.NodeClaim
		for _, c := range claims {
			if mine == nil && c.Status.ProviderID != "" && c.Status.ProviderID == node.Spec.ProviderID {
				mine = c
			}
		}
		add(intake.Node(node, mine, intake.Expected{}), node.Name)
	}
	for _, c := range claims {
		joined := slices.ContainsFunc(nodes, func(n *corev1.Node) bool {
			return n.Spec.ProviderID != "" && n.Spec.ProviderID == c.Status.ProviderID
		})
		if joined {
			continue
		}
		n := intake.Node(nil, c, intake.Expected{})
		if slices.ContainsFunc(nodes, func(x *corev1.Node) bool { return x.Name == n.Name }) {
			n.Name = "nodeclaim/" + n.Name
		}
		add(n, "")
	}
	for _, p := range pods {
		if to := p.Status.NominatedNodeName; intake.ProvisionableBut(p, to) && (!takes(to) || !intake.Preempts(p)) {
			out.Pending = append(out.Pending, intake.Pod(p, compiler.Class(p, lookup{full})))
		}
	}
	if ds != nil {
		var newest *corev1.Pod
		for _, p := range pods {
			if intake.IsDaemon(p) && intake.IsActive(p) && p.DeletionTimestamp == nil &&
				(newest == nil || !p.CreationTimestamp.Time.Before(newest.CreationTimestamp.Time)) {
				newest = p
			}
		}
		if d, ok := intake.Daemon(ds, newest, compiler, lookup{full}); ok {
			out.Daemons = append(out.Daemons, d)
		}
	}
	slices.SortFunc(out.Nodes, func(a, b *cluster.Node) int { return cmp.Compare(a.Name, b.Name) })
	slices.SortFunc(out.Pending, comparePods)
	return out
}

func text(v any) string {
	b, err := json.MarshalIndent(v, "", " ")
	if err != nil {
		panic(err)
	}
	return string(b)
}

func stateText(s *cluster.Snapshot) string {
	c := *s
	c.Generation = 0
	if len(c.NamespaceLabels) == 0 {
		c.NamespaceLabels = nil
	}
	return text(c)
}

// TestAnyOrderOfEventsGivesTheSameSnapshot delivers the events of a random history in a random order, some of them
// twice, with snapshots in between, and compares the end with a naive model.
func TestAnyOrderOfEventsGivesTheSameSnapshot(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		h := drawHistory(t)
		want := stateText(naive(h.final))
		order := rapid.Permutation(h.events).Draw(t, "order")
		order = append(order, rapid.SliceOfN(rapid.SampledFrom(h.events), 0, 5).Draw(t, "again")...)
		c := New(Options{Now: func() time.Time { return time.Unix(0, 0) }})
		type kept struct {
			snapshot *cluster.Snapshot
			text     string
		}
		var earlier []kept
		for _, e := range order {
			c.take(e)
			if rapid.IntRange(0, 4).Draw(t, "look") == 0 {
				s := c.Snapshot()
				earlier = append(earlier, kept{s, text(s)})
			}
		}
		got := c.Snapshot()
		if diff := gocmp.Diff(want, stateText(got)); diff != "" {
			t.Fatalf("the snapshot is not what the objects give (-want +got):\n%s", diff)
		}
		if again := c.Snapshot(); again != got {
			t.Fatal("nothing changed, yet the snapshot is another")
		}
		for _, k := range earlier {
			if text(k.snapshot) != k.text {
				t.Fatal("an earlier snapshot was written to")
			}
		}
		for i := 1; i < len(earlier); i++ {
			keepsPointers(t, earlier[i-1].snapshot, earlier[i].snapshot)
		}
	})
}

func keepsPointers(t *rapid.T, a, b *cluster.Snapshot) {
	old := map[string]*cluster.Node{}
	for _, n := range a.Nodes {
		old[n.Name] = n
	}
	for _, n := range b.Nodes {
		if o := old[n.Name]; o != nil && o != n && slices.Equal(o.Pods, n.Pods) && text(o) == text(n) {
			t.Fatalf("node %s did not change but for its pointer", n.Name)
		}
	}
}

// held is what the reference in this file knows of holds.
func held(pod *corev1.Pod) bool {
	h, _ := intake.HeldUntil(pod, time.Time{})
	return h
}
