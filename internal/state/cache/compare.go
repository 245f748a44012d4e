package cache

import (
	"context"
	"fmt"
	"hash/maphash"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"sigs.k8s.io/controller-runtime/pkg/client"

	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/internal/engine/cluster"
	"github.com/kerf-sh/kerf/internal/engine/res"
	"github.com/kerf-sh/kerf/internal/state/intake"
	"github.com/kerf-sh/kerf/internal/state/reservation"
)

// comparePage is how many objects are read from the API at a time, and how many the cache is asked about while it is locked:
// a few megabytes, and well under a millisecond.
const comparePage = 500

// Difference is one thing in which the cache differs from the API.
type Difference struct {
	kind, name string
	held       any // what the cache holds: an objectVersion or a *cluster.Node
	what       string
	// Earlier is that the API has an earlier state of the object than the cache has seen, which the cache does not take in: etcd
	// was restored from a backup. Only a new process reads what is true now.
	Earlier bool
}

func (d Difference) String() string { return d.kind + " " + d.name + " " + d.what }

// objectVersion is the version of an object; zero when there is none.
type objectVersion struct {
	uid     types.UID
	version string
}

// The kinds of a Difference.
const (
	podKind   = "pod"
	nodeKind  = "node"
	claimKind = "nodeclaim"
	poolKind  = "nodepool"
	unitKind  = "instance" // a unit: no object, but what was made of several
)

// Compare reads the cluster past the cache, page by page, and returns where the cache differs: objects that it lacks, that it
// holds though they are gone, or in another version, and nodes whose value is not what the objects give. Objects that change
// at this moment differ for a moment: see Lasting. Reader must not be served by the informers that feed the cache.
//
// Cost: one list of pods, nodes, NodeClaims and NodePools; memory for a page, and some bytes for each object. The cache is
// locked for no longer than a page takes.
//
// Errors: a list that fails.
func (c *Cache) Compare(ctx context.Context, reader client.Reader) ([]Difference, error) {
	return c.compare(ctx, reader, func(string) bool { return true })
}

// Lasting are those of the differences that are still there although the cache holds what it held when they were found. A
// cache that is only behind moves on; one that has missed something does not. Nothing is read while all have moved on.
//
// Errors: those of Compare.
func (c *Cache) Lasting(ctx context.Context, reader client.Reader, before []Difference) ([]Difference, error) {
	stuck := map[Difference]bool{}
	kinds := map[string]bool{}
	for page := range slices.Chunk(before, comparePage) {
		c.locked(func() {
			for _, d := range page {
				if c.holding(d.kind, d.name) != d.held {
					continue
				}
				stuck[Difference{kind: d.kind, name: d.name, held: d.held}], kinds[d.kind] = true, true
			}
		})
	}
	if len(stuck) == 0 {
		return nil, nil
	}
	now, err := c.compare(ctx, reader, func(kind string) bool { return kinds[kind] || kinds[unitKind] && kind != poolKind })
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(now, func(d Difference) bool { return !stuck[Difference{kind: d.kind, name: d.name, held: d.held}] }), nil
}

// holding is what the cache has of a kind under a name.
func (c *Cache) holding(kind, name string) any {
	if kind == unitKind {
		return c.units[reservation.Unit(name)]
	}
	key := keyOf(name)
	switch kind {
	case podKind:
		return versionIn(&c.pods, key)
	case nodeKind:
		return versionIn(&c.nodes, key)
	case claimKind:
		return versionIn(&c.claims, key)
	}
	return versionIn(&c.pools, key)
}

// keyOf reads what types.NamespacedName.String writes.
func keyOf(name string) types.NamespacedName {
	for i := range len(name) {
		if name[i] == '/' {
			return types.NamespacedName{Namespace: name[:i], Name: name[i+1:]}
		}
	}
	return types.NamespacedName{Name: name}
}

func versionIn[T client.Object](s *store[T], key types.NamespacedName) objectVersion {
	if o, ok := s.objects[key]; ok {
		return objectVersion{o.GetUID(), o.GetResourceVersion()}
	}
	return objectVersion{}
}

// comparison is one pass.
type comparison struct {
	c      *Cache
	reader client.Reader
	seed   maphash.Seed
	out    []Difference
	claims map[string]string   // by provider ID
	bound  map[string]*nodeUse // by node
	stale  map[string]bool     // nodes of which an object differs
}

// nodeUse is what runs on a node by the API.
type nodeUse struct {
	pods int
	used res.List
}

func (c *Cache) compare(ctx context.Context, reader client.Reader, wanted func(kind string) bool) ([]Difference, error) {
	p := &comparison{c: c, reader: reader, seed: maphash.MakeSeed(), claims: map[string]string{}, bound: map[string]*nodeUse{}, stale: map[string]bool{}}
	if wanted(poolKind) {
		if err := compareKind(ctx, p, poolKind, &c.pools, func() client.ObjectList { return &karpv1.NodePoolList{} }, func([]*karpv1.NodePool) {}, nil); err != nil {
			return nil, err
		}
	}
	if wanted(claimKind) {
		if err := compareKind(ctx, p, claimKind, &c.claims, func() client.ObjectList { return &karpv1.NodeClaimList{} }, p.readClaims, p.claimDiffers); err != nil {
			return nil, err
		}
	}
	if wanted(nodeKind) {
		differs := func(n *corev1.Node) { p.stale[n.Name] = true }
		if err := compareKind(ctx, p, nodeKind, &c.nodes, func() client.ObjectList { return &corev1.NodeList{} }, p.readNodes, differs); err != nil {
			return nil, err
		}
	}
	if wanted(podKind) {
		differs := func(pod *corev1.Pod) { p.stale[pod.Spec.NodeName] = true }
		if err := compareKind(ctx, p, podKind, &c.pods, func() client.ObjectList { return &corev1.PodList{} }, p.readPods, differs); err != nil {
			return nil, err
		}
	}
	if wanted(unitKind) || wanted(claimKind) && wanted(nodeKind) && wanted(podKind) {
		p.compareUse()
	}
	slices.SortFunc(p.out, func(a, b Difference) int { return slices.Compare([]string{a.kind, a.name}, []string{b.kind, b.name}) })
	return p.out, nil
}

// compareKind compares the objects of a kind. Read is given each page of them, differs what is held or listed of one that
// differs.
func compareKind[T client.Object](ctx context.Context, p *comparison, kind string, s *store[T], list func() client.ObjectList, read func([]T), differs func(T)) error {
	seen := map[uint64]struct{}{}
	id := func(o T) uint64 {
		return maphash.String(p.seed, o.GetNamespace()+"/"+o.GetName()+"/"+string(o.GetUID()))
	}
	differ := func(key types.NamespacedName, held objectVersion, what string, earlier bool, of ...T) {
		p.out = append(p.out, Difference{kind: kind, name: nameOf(key), held: held, what: what, Earlier: earlier})
		for _, o := range of {
			if differs != nil {
				differs(o)
			}
		}
	}
	for token := ""; ; {
		page := list()
		if err := p.reader.List(ctx, page, client.Limit(comparePage), client.Continue(token)); err != nil {
			return fmt.Errorf("comparing the cache: listing %T: %w", page, err)
		}
		var items []T
		_ = meta.EachListItem(page, func(o runtime.Object) error {
			if o, ok := o.(T); ok && counts(o) {
				items = append(items, o)
			}
			return nil
		})
		p.c.locked(func() {
			for _, o := range items {
				seen[id(o)] = struct{}{}
				key := client.ObjectKeyFromObject(o)
				have, ok := s.objects[key]
				switch {
				case !ok:
					differ(key, objectVersion{}, "is in the API but not in the cache", s.sawDeleted(o), o)
				case have.GetUID() != o.GetUID() || have.GetResourceVersion() != o.GetResourceVersion():
					differ(key, versionIn(s, key), fmt.Sprintf("is at version %s in the cache and at %s in the API", have.GetResourceVersion(), o.GetResourceVersion()), earlier(o, have), have, o)
				}
			}
		})
		read(items)
		if token = page.GetContinue(); token == "" {
			break
		}
	}
	p.c.locked(func() {
		n := 0
		for key, o := range s.objects {
			if n++; n%comparePage == 0 {
				p.c.letOthersIn() // they may remove this very object
			}
			_, listed := seen[id(o)]
			if now, there := s.objects[key]; !listed && there && now.GetUID() == o.GetUID() && counts(o) && !p.c.assumed(kind, o) {
				differ(key, versionIn(s, key), "is in the cache but not in the API", false, o)
			}
		}
	})
	return nil
}

// earlier reports whether a is an earlier version than b; false where that can't be told.
func earlier(a, b client.Object) bool {
	c, err := resourceversion.CompareResourceVersion(a.GetResourceVersion(), b.GetResourceVersion())
	return err == nil && c < 0
}

func nameOf(key types.NamespacedName) string {
	if key.Namespace == "" {
		return key.Name
	}
	return key.String()
}

// counts reports whether an object matters: pods that are over, and claims of another controller's classes, do not.
func counts(o client.Object) bool {
	switch o := o.(type) {
	case *corev1.Pod:
		return intake.IsActive(o)
	case *karpv1.NodeClaim:
		return intake.IsManaged(o.Spec.NodeClassRef)
	}
	return true
}

// assumed reports whether an object is one that no watch has told of yet.
func (c *Cache) assumed(kind string, o client.Object) bool {
	return kind == claimKind && c.reserved.Unconfirmed(o.GetName())
}

func (p *comparison) claimDiffers(claim *karpv1.NodeClaim) {
	p.stale[claim.Status.NodeName] = true
	delete(p.claims, claim.Status.ProviderID)
}

func (p *comparison) readClaims(page []*karpv1.NodeClaim) {
	for _, claim := range page {
		if id := claim.Status.ProviderID; id != "" && (p.claims[id] == "" || claim.Name < p.claims[id]) {
			p.claims[id] = claim.Name
		}
	}
}

// readNodes compares the values of nodes with what their objects give.
func (p *comparison) readNodes(page []*corev1.Node) {
	type pair struct {
		node       *corev1.Node
		claim      *karpv1.NodeClaim
		expected   intake.Expected
		unit, want *cluster.Node
	}
	var pairs []pair
	c := p.c
	c.locked(func() {
		for _, node := range page {
			if _, dirty := c.dirty[reservation.OfNode(node.Name)]; dirty || p.stale[node.Name] {
				continue
			}
			x := pair{node: node, unit: c.units[reservation.OfNode(node.Name)]}
			if name := p.claims[node.Spec.ProviderID]; name != "" {
				x.claim, x.expected = c.claims.get("", name), c.reserved.Expected(name)
			}
			pairs = append(pairs, x)
		}
	})
	for i := range pairs {
		x := &pairs[i]
		x.want = intake.Node(x.node, x.claim, x.expected)
	}
	c.locked(func() {
		for _, x := range pairs {
			c.addDevices(x.want, x.claim)
		}
	})
	for _, x := range pairs {
		if x.unit == nil {
			p.differs(reservation.OfNode(x.node.Name), nil, "is in the API but not in the cache")
			continue
		}
		want := x.want
		if !alike(x.unit.Allocatable, want.Allocatable) || !slices.Equal(x.unit.Taints, want.Taints) || x.unit.Claim != want.Claim ||
			x.unit.Initialized != want.Initialized || x.unit.Deleting != want.Deleting {
			p.differs(reservation.OfNode(x.node.Name), x.unit, fmt.Sprintf("has %v, taints %v, claim %q, initialized %t, deleting %t in the cache, and %v, %v, %q, %t, %t by the API",
				x.unit.Allocatable, x.unit.Taints, x.unit.Claim, x.unit.Initialized, x.unit.Deleting, want.Allocatable, want.Taints, want.Claim, want.Initialized, want.Deleting))
		}
	}
}

func (p *comparison) readPods(page []*corev1.Pod) {
	for _, pod := range page {
		if pod.Spec.NodeName == "" {
			continue
		}
		b := p.bound[pod.Spec.NodeName]
		if b == nil {
			b = &nodeUse{used: res.List{}}
			p.bound[pod.Spec.NodeName] = b
		}
		b.pods++
		b.used.Add(intake.PodRequests(pod))
	}
}

// compareUse compares what runs on the nodes by their values with what does by the API. Pods that are only reserved for a place
// are in the values alone.
func (p *comparison) compareUse() {
	for _, n := range p.c.Snapshot().Nodes {
		if p.stale[n.Name] {
			continue
		}
		has := nodeUse{used: res.List{}}
		for _, pod := range n.Pods {
			if pod.Node == n.Name && pod.Node != "" {
				has.pods++
				has.used.Add(pod.Class.Requests)
			}
		}
		want := p.bound[n.Name]
		if want == nil {
			want = &nodeUse{}
		}
		if has.pods != want.pods || !alike(has.used, want.used) {
			p.differs(reservation.OfNode(n.Name), n, fmt.Sprintf("has %d pods using %v in the cache, and %d using %v by the API", has.pods, has.used, want.pods, want.used))
		}
	}
}

func (p *comparison) differs(unit reservation.Unit, held *cluster.Node, what string) {
	p.out = append(p.out, Difference{kind: unitKind, name: string(unit), held: held, what: what})
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
