package cache

import (
	"context"
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	awsv1 "github.com/kerf-sh/kerf/api/aws/v1"
	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
)

// Compare reads the cluster past the cache and returns, as sentences, where the cache differs: objects that it lacks,
// that it holds though they are gone, and machines whose value is not what the objects give. Objects that are changing
// at this moment differ for a moment; a difference that is there twice in a row is a defect. Reader must not be served
// by the informers that feed the cache.
//
// Errors: a list that fails.
func (c *Cache) Compare(ctx context.Context, reader client.Reader) ([]string, error) {
	fresh := New(Options{Now: c.now, BindGrace: c.bindGrace, DefaultSpreads: c.compiler.DefaultSpreads})
	if err := fresh.fill(ctx, reader); err != nil {
		return nil, err
	}
	c.shareBelongings(fresh)
	c.mu.Lock()
	defer c.unlock()
	c.snapshot()
	fresh.mu.Lock()
	defer fresh.mu.Unlock()
	fresh.snapshot()
	var out []string
	stale := map[string]bool{} // units with an input that differs
	out = append(out, differing("pod", &c.pods, &fresh.pods, func(p *corev1.Pod) { stale[nodeUnit(p.Spec.NodeName)] = true })...)
	out = append(out, differing("node", &c.nodes, &fresh.nodes, func(n *corev1.Node) { stale[nodeUnit(n.Name)] = true })...)
	for key, claim := range c.claims.objects {
		if x, ok := c.expected[key.Name]; ok && !x.seen && fresh.claims.objects[key] == nil {
			fresh.claims.objects[key] = claim // assumed, and not told of by any watch
			stale[claimUnit(key.Name)] = true
		}
	}
	out = append(out, differing("nodeclaim", &c.claims, &fresh.claims, func(n *karpv1.NodeClaim) {
		stale[claimUnit(n.Name)] = true
		stale[nodeUnit(n.Status.NodeName)] = true
	})...)
	out = append(out, differing("nodepool", &c.pools, &fresh.pools, nil)...)
	for unit, mine := range c.units {
		theirs := fresh.units[unit]
		if stale[unit] || len(c.byTarget[unit]) > 0 || len(c.byTarget[claimUnit(mine.Claim)]) > 0 || c.expected[mine.Claim].uid != "" && !mine.Launched {
			continue // an input differs already, or is not an object of the API
		}
		switch {
		case theirs == nil:
			out = append(out, fmt.Sprintf("machine %s is in the cache but not in the API", mine.Name))
		case !alike(mine.Used, theirs.Used) || !alike(mine.Allocatable, theirs.Allocatable) || len(mine.Pods) != len(theirs.Pods) ||
			!slices.Equal(mine.Taints, theirs.Taints) || mine.Claim != theirs.Claim || mine.Initialized != theirs.Initialized || mine.Deleting != theirs.Deleting:
			out = append(out, fmt.Sprintf("machine %s: the cache has %d pods using %v of %v, the API %d using %v of %v",
				mine.Name, len(mine.Pods), mine.Used, mine.Allocatable, len(theirs.Pods), theirs.Used, theirs.Allocatable))
		}
	}
	for unit, theirs := range fresh.units {
		if c.units[unit] == nil && !stale[unit] {
			out = append(out, fmt.Sprintf("machine %s is in the API but not in the cache", theirs.Name))
		}
	}
	slices.Sort(out)
	return out, nil
}

func alike(a, b map[string]int64) bool {
	for k, v := range a {
		if b[k] != v {
			return false
		}
	}
	for k, v := range b {
		if a[k] != v {
			return false
		}
	}
	return true
}

func differing[T client.Object](kind string, mine, theirs *store[T], found func(T)) []string {
	var out []string
	add := func(obj T, key types.NamespacedName, what string) {
		out = append(out, fmt.Sprintf("%s %s %s", kind, key, what))
		if found != nil {
			found(obj)
		}
	}
	for key, a := range mine.objects {
		b, ok := theirs.objects[key]
		switch {
		case !ok:
			add(a, key, "is in the cache but not in the API")
		case a.GetUID() != b.GetUID() || a.GetResourceVersion() != b.GetResourceVersion():
			add(a, key, fmt.Sprintf("is at version %s in the cache and at %s in the API", a.GetResourceVersion(), b.GetResourceVersion()))
			if found != nil {
				found(b)
			}
		}
	}
	for key, b := range theirs.objects {
		if _, ok := mine.objects[key]; !ok {
			add(b, key, "is in the API but not in the cache")
		}
	}
	return out
}

// fill takes in everything that the reader lists.
func (c *Cache) fill(ctx context.Context, reader client.Reader) error {
	load := func(list client.ObjectList, take func()) error {
		if err := reader.List(ctx, list); err != nil {
			return fmt.Errorf("comparing the cache: listing %T: %w", list, err)
		}
		take()
		return nil
	}
	var (
		namespaces corev1.NamespaceList
		classes    storagev1.StorageClassList
		csiNodes   storagev1.CSINodeList
		volumes    corev1.PersistentVolumeList
		pvcs       corev1.PersistentVolumeClaimList
		nodeclass  awsv1.EC2NodeClassList
		pools      karpv1.NodePoolList
		daemons    appsv1.DaemonSetList
		claims     karpv1.NodeClaimList
		nodes      corev1.NodeList
		pods       corev1.PodList
	)
	for _, step := range []struct {
		list client.ObjectList
		take func()
	}{
		{&namespaces, func() { each(namespaces.Items, c.SetNamespace) }},
		{&classes, func() { each(classes.Items, c.SetStorageClass) }},
		{&csiNodes, func() { each(csiNodes.Items, c.SetCSINode) }},
		{&volumes, func() { each(volumes.Items, c.SetVolume) }},
		{&pvcs, func() { each(pvcs.Items, c.SetVolumeClaim) }},
		{&nodeclass, func() { each(nodeclass.Items, c.SetNodeClass) }},
		{&pools, func() { each(pools.Items, c.SetPool) }},
		{&daemons, func() { each(daemons.Items, c.SetDaemonSet) }},
		{&claims, func() { each(claims.Items, c.SetClaim) }},
		{&nodes, func() { each(nodes.Items, c.SetNode) }},
		{&pods, func() { each(pods.Items, c.SetPod) }},
	} {
		if err := load(step.list, step.take); err != nil {
			return err
		}
	}
	return nil
}

func each[T any](items []T, take func(*T)) {
	for i := range items {
		take(&items[i])
	}
}
