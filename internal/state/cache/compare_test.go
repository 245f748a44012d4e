package cache

import (
	"context"
	"fmt"
	"hash/maphash"
	"runtime"
	"strconv"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	awsv1 "github.com/kerf-sh/kerf/api/aws/v1"
	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/internal/guard"
	"github.com/kerf-sh/kerf/internal/state/intake"
)

// kinds is a scheme of everything that a comparison reads.
func kinds(t *testing.T) *kruntime.Scheme {
	t.Helper()
	scheme := kruntime.NewScheme()
	for _, add := range []func(*kruntime.Scheme) error{clientgoscheme.AddToScheme, karpv1.AddToScheme, awsv1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	return scheme
}

func TestCompareFindsWhatDiffers(t *testing.T) {
	node, claim := newNode("n0", "un", "id-1"), newClaim("c0", "uc")
	claim.Status.ProviderID = "id-1"
	pod := unschedulable("p0", "up")
	pod.Spec.NodeName = "n0"
	over := unschedulable("over", "uo")
	over.Spec.NodeName, over.Status.Phase = "n0", corev1.PodSucceeded
	api := fake.NewClientBuilder().WithScheme(kinds(t)).WithObjects(node, claim, pod, over).Build()
	r := newRig()
	refresh := func(o client.Object) {
		t.Helper()
		if err := api.Get(t.Context(), client.ObjectKeyFromObject(o), o); err != nil {
			t.Fatal(err)
		}
	}
	refresh(node)
	refresh(claim)
	refresh(pod)
	r.SetNode(node)
	r.SetClaim(claim)
	r.SetPod(pod)
	r.Snapshot()
	check := func(want ...string) []Difference {
		t.Helper()
		got, err := r.Compare(t.Context(), api)
		if err != nil || fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("got %q, %v; want %q", got, err, want)
		}
		return got
	}
	lasting := func(before []Difference, want int) {
		t.Helper()
		got, err := r.Lasting(t.Context(), api, before)
		if err != nil || len(got) != want {
			t.Errorf("lasting: %q, %v; want %d", got, err, want)
		}
	}
	check()
	// An instance in flight is not in the API yet; that is meant, not a difference.
	r.Assume(newClaim("c1", "uc1"), intake.Expected{}, nil, r.clock.Add(time.Minute))
	check()
	other := unschedulable("p1", "up1")
	other.Spec.NodeName = "n0"
	if err := api.Create(t.Context(), other); err != nil {
		t.Fatal(err)
	}
	found := check("pod ns/p1 is in the API but not in the cache")
	lasting(found, 1)
	// The cache was only behind.
	r.SetPod(other.DeepCopy())
	r.Snapshot()
	lasting(found, 0)
	check()
	// An object that changes all the time is found all the same when the cache misses all of it.
	for range 2 {
		other.Labels = map[string]string{"a": other.ResourceVersion}
		if err := api.Update(t.Context(), other.DeepCopy()); err != nil {
			t.Fatal(err)
		}
		if found, err := r.Compare(t.Context(), api); err != nil || len(found) != 1 {
			t.Fatalf("%q, %v", found, err)
		} else {
			refresh(other)
			lasting(found, 1)
		}
	}
	r.SetPod(other.DeepCopy())
	gone := unschedulable("gone", "ug")
	gone.ResourceVersion = "1"
	r.SetPod(gone)
	lasting(check("pod ns/gone is in the cache but not in the API"), 1)
	r.RemovePod(gone)
	// A defect of ours: the inputs agree, the value does not.
	r.Snapshot()
	broken := *r.units["n/n0"]
	broken.Pods = broken.Pods[:1]
	broken.Taints = nil
	r.last = new(*r.last)
	r.last.Nodes = append(r.last.Nodes[:0:0], r.last.Nodes...)
	for i, n := range r.last.Nodes {
		if n.Name == "n0" {
			r.last.Nodes[i] = &broken
		}
	}
	r.units["n/n0"] = &broken
	got, err := r.Compare(t.Context(), api)
	if err != nil || len(got) != 1 || got[0].kind != unitKind {
		t.Errorf("got %q, %v; want the node", got, err)
	}
	lasting(got, 1)
}

// After a restore of etcd from a backup the API has states that the cache has seen changed or deleted since.
func TestCompareTellsThatTheAPIHasAnEarlierState(t *testing.T) {
	for name, tc := range map[string]struct {
		api, cached string // versions; none in the cache where empty
		deleted     bool
		differs     bool
		earlier     bool
	}{
		"the same":                      {api: "5", cached: "5"},
		"the cache is behind":           {api: "6", cached: "5", differs: true},
		"the cache has missed it":       {api: "6", differs: true},
		"the API is behind":             {api: "5", cached: "10", differs: true, earlier: true},
		"what was deleted is back":      {api: "5", cached: "6", deleted: true, differs: true, earlier: true},
		"versions that say nothing":     {api: "a", cached: "b", differs: true},
		"only one of them says nothing": {api: "5", cached: "b", differs: true},
	} {
		t.Run(name, func(t *testing.T) {
			pod := unschedulable("p0", "up")
			pod.ResourceVersion = tc.api
			api := fakeReader{fake.NewClientBuilder().WithScheme(kinds(t)).Build(), pod}
			r := newRig()
			if tc.cached != "" {
				have := pod.DeepCopy()
				have.ResourceVersion = tc.cached
				r.SetPod(have)
				if tc.deleted {
					r.RemovePod(have)
				}
			}
			found, err := r.Compare(t.Context(), api)
			if err == nil && len(found) > 0 {
				found, err = r.Lasting(t.Context(), api, found)
			}
			if err != nil || len(found) > 0 != tc.differs || tc.differs && found[0].Earlier != tc.earlier {
				t.Errorf("found %+v, %v", found, err)
			}
		})
	}
}

// fakeReader has one pod, at the version that it says.
type fakeReader struct {
	client.Reader
	pod *corev1.Pod
}

func (r fakeReader) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	if pods, ok := list.(*corev1.PodList); ok {
		pods.Items = []corev1.Pod{*r.pod.DeepCopy()}
		return nil
	}
	return r.Reader.List(ctx, list, opts...)
}

// pages is an API of many pods, which makes each page when it is asked for it.
type pages struct {
	client.Reader
	t          *testing.T
	cache      *Cache
	nodes, per int
	lists      int
	largest    int
	heap       uint64 // the most that was in use
}

func (p *pages) pod(i int) *corev1.Pod {
	name := fmt.Sprintf("pod-%06d", i)
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "ns", Name: name, UID: types.UID("uid-" + name), ResourceVersion: strconv.Itoa(1000 + i),
			Labels: map[string]string{"app": "a" + strconv.Itoa(i%100)}, Annotations: map[string]string{"note": string(make([]byte, 500))},
		},
		Spec: corev1.PodSpec{
			NodeName: fmt.Sprintf("node-%04d", i/p.per),
			Containers: []corev1.Container{{Name: "a", Image: "registry.example.com/some/image:1", Env: make([]corev1.EnvVar, 20),
				Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{"cpu": resource.MustParse("100m"), "memory": resource.MustParse("128Mi")}}}},
		},
		Status: corev1.PodStatus{Phase: corev1.PodRunning, Conditions: make([]corev1.PodCondition, 5)},
	}
}

func (p *pages) node(i int) *corev1.Node {
	name := fmt.Sprintf("node-%04d", i)
	n := newNode(name, "uid-"+name, "id-"+name)
	n.ResourceVersion = strconv.Itoa(i + 1)
	return n
}

func (p *pages) List(_ context.Context, list client.ObjectList, opts ...client.ListOption) error {
	if !p.cache.mu.TryLock() {
		p.t.Error("the cache is locked while the API is read: decisions wait")
	} else {
		p.cache.mu.Unlock()
	}
	p.lists++
	var o client.ListOptions
	o.ApplyOptions(opts)
	from := 0
	if o.Continue != "" {
		from, _ = strconv.Atoi(o.Continue)
	}
	total := 0
	switch list.(type) {
	case *corev1.PodList:
		total = p.nodes * p.per
	case *corev1.NodeList:
		total = p.nodes
	}
	to := total
	if o.Limit > 0 {
		to = min(from+int(o.Limit), total)
	}
	p.largest = max(p.largest, to-from)
	for i := from; i < to; i++ {
		switch list := list.(type) {
		case *corev1.PodList:
			list.Items = append(list.Items, *p.pod(i))
		case *corev1.NodeList:
			list.Items = append(list.Items, *p.node(i))
		}
	}
	if to < total {
		list.SetContinue(strconv.Itoa(to))
	}
	if p.lists%10 == 0 {
		p.heap = max(p.heap, heap())
	}
	return nil
}

func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// A comparison needs a page and some bytes for each object, and never holds the cache while it
// reads. At 5,000 nodes with 100,000 pods it is 6 MiB beside 401.
func TestAComparisonTakesATenthOfTheCachesMemoryAtMost(t *testing.T) {
	p := &pages{t: t, nodes: 1000, per: 20}
	empty := heap()
	strip := Strip()
	c := New(Options{})
	p.cache = c
	for i := range p.nodes {
		c.SetNode(p.node(i))
	}
	for i := range p.nodes * p.per {
		o, err := strip(p.pod(i))
		if err != nil {
			t.Fatal(err)
		}
		c.SetPod(o.(*corev1.Pod))
	}
	c.Snapshot()
	before := heap()
	found, err := c.Compare(t.Context(), p)
	if err != nil || len(found) > 0 {
		t.Fatalf("%d differences, %v; the first: %v", len(found), err, found[:min(len(found), 1)])
	}
	if p.largest > comparePage {
		t.Errorf("%d objects were read at once, want %d at most", p.largest, comparePage)
	}
	t.Logf("the cache takes %d MiB, a comparison %d MiB more, in %d lists", (before-empty)>>20, (int64(p.heap)-int64(before))>>20, p.lists)
	if limit := (before - empty) / 10; p.heap > before+limit {
		t.Errorf("a comparison takes %d MiB beside the %d MiB of the cache, want a tenth at most", (p.heap-before)>>20, (before-empty)>>20)
	}
	runtime.KeepAlive(c)
}

// listed is an API of these NodePools.
type listed struct {
	client.Reader
	pools []karpv1.NodePool
}

func (l listed) List(_ context.Context, list client.ObjectList, _ ...client.ListOption) error {
	list.(*karpv1.NodePoolList).Items = l.pools
	return nil
}

func newPool(name string) *karpv1.NodePool {
	return &karpv1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name), ResourceVersion: "1"}}
}

// comparePools compares the NodePools of a cache with those of an API.
func comparePools(t *testing.T, c *Cache, api listed, read func(), differs func(*karpv1.NodePool)) ([]Difference, error) {
	p := &comparison{c: c, reader: api, seed: maphash.MakeSeed()}
	err := compareKind(t.Context(), p, poolKind, &c.pools, func() client.ObjectList { return &karpv1.NodePoolList{} }, func([]*karpv1.NodePool) { read() }, differs)
	return p.out, err
}

func unlocked(t *testing.T, c *Cache) {
	t.Helper()
	if !c.mu.TryLock() {
		t.Fatal("the cache is still locked")
	}
	c.mu.Unlock()
}

// Others may change the cache when a comparison gives its lock back between two pages.
func TestAnObjectThatIsRemovedBetweenTwoPagesIsNoDifference(t *testing.T) {
	c := New(Options{})
	for i := range comparePage {
		c.SetPool(newPool(fmt.Sprint("pool-", i)))
	}
	removed := false
	c.Listen(func(Change) {
		if removed {
			return
		}
		removed = true
		for _, pool := range values(c.pools) {
			c.RemovePool(pool)
		}
	})
	// It is told when the lock is given back for the first time after the API was read.
	read := func() { c.changes = []Change{{Kind: PoolChanged}} }
	found, err := comparePools(t, c, listed{}, read, nil)
	if want := comparePage - 1; err != nil || !removed || len(found) != want {
		t.Errorf("%d differences, want the %d found before; removed: %t; %v", len(found), want, removed, err)
	}
	unlocked(t, c)
}

func TestAComparisonThatPanicsLeavesTheCacheUnlocked(t *testing.T) {
	read, planted := func() {}, func(*karpv1.NodePool) { panic("planted") }
	for name, run := range map[string]func(*Cache) error{
		"at an object that is listed": func(c *Cache) error {
			_, err := comparePools(t, c, listed{pools: []karpv1.NodePool{*newPool("pool")}}, read, planted)
			return err
		},
		"at an object that is cached": func(c *Cache) error {
			c.SetPool(newPool("pool"))
			_, err := comparePools(t, c, listed{}, read, planted)
			return err
		},
		"at a listener between two pages": func(c *Cache) error {
			c.Listen(func(Change) { panic("planted") })
			c.locked(func() { c.tell(PoolChanged, "pool"); c.letOthersIn() })
			return nil
		},
		"at a node": func(c *Cache) error {
			(&comparison{c: c}).readNodes([]*corev1.Node{nil})
			return nil
		},
		"at a difference that was found": func(c *Cache) error {
			c.pods.objects[keyOf("ns/pod")] = nil
			_, err := c.Lasting(t.Context(), listed{}, []Difference{{kind: podKind, name: "ns/pod"}})
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := New(Options{})
			if err := guard.Catch("test", func() error { return run(c) }); err == nil {
				t.Error("nothing panicked")
			}
			unlocked(t, c)
		})
	}
}
