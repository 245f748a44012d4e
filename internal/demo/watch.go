package demo

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
)

// state is what the demo sees of the cluster, kept by watches.
type state struct {
	mu     sync.Mutex
	pods   map[types.UID]*podLife
	claims map[string]*karpv1.NodeClaim
	nodes  map[string]*corev1.Node
	// launched and gone count instances over the whole demo.
	launched, gone map[types.UID]bool
	changed        chan struct{}
	last           time.Time // when a pod or an instance last changed in a way that counts
	stages         map[string]string
	look           func() // called with each event, if set
	// ready holds for each instance that got ready its pool and when that was, by the clock of the cluster, in whole seconds.
	ready map[string]readiness
}

type readiness struct {
	pool string
	at   time.Time
}

// podLife is a pod and when it was first seen waiting and running.
type podLife struct {
	pod              *corev1.Pod
	waiting, running time.Time
	node             string
	// evicted is when it was asked to end, by the clock of the API server, in whole seconds.
	evicted time.Time
}

func newState() *state {
	return &state{
		pods: map[types.UID]*podLife{}, claims: map[string]*karpv1.NodeClaim{}, nodes: map[string]*corev1.Node{},
		launched: map[types.UID]bool{}, gone: map[types.UID]bool{}, changed: make(chan struct{}, 1), last: time.Now(), stages: map[string]string{}, ready: map[string]readiness{},
	}
}

// follow feeds the state from informers until ctx ends.
func (s *state) follow(ctx context.Context, informers cache.Cache) error {
	if err := handle(ctx, s, informers, &corev1.Pod{}, s.setPod, s.dropPod); err != nil {
		return err
	}
	if err := handle(ctx, s, informers, &corev1.Node{}, func(n *corev1.Node) { s.nodes[n.Name] = n }, func(n *corev1.Node) { delete(s.nodes, n.Name) }); err != nil {
		return err
	}
	return handle(ctx, s, informers, &karpv1.NodeClaim{}, s.setClaim, func(c *karpv1.NodeClaim) {
		delete(s.claims, c.Name)
		s.gone[c.UID] = true
		s.last = time.Now()
	})
}

func (s *state) setPod(p *corev1.Pod) {
	if p.Namespace != namespace {
		return
	}
	life := s.pods[p.UID]
	if life == nil {
		life = &podLife{waiting: time.Now()}
		s.pods[p.UID] = life
	}
	life.pod, life.node = p, p.Spec.NodeName
	if p.DeletionTimestamp != nil {
		life.evicted = p.DeletionTimestamp.Add(-time.Duration(ptr.Deref(p.DeletionGracePeriodSeconds, 0)) * time.Second)
	}
	s.stage(string(p.UID), fmt.Sprint(p.Spec.NodeName, p.DeletionTimestamp != nil, podReady(p)))
	if life.running.IsZero() && p.Status.Phase == corev1.PodRunning && podReady(p) {
		life.running = time.Now()
	}
}

func (s *state) dropPod(p *corev1.Pod) {
	if life := s.pods[p.UID]; life != nil {
		life.pod = nil
		s.last = time.Now()
	}
}

func (s *state) setClaim(c *karpv1.NodeClaim) {
	s.claims[c.Name] = c
	s.stage(c.Name, fmt.Sprint(c.Status.ProviderID, c.DeletionTimestamp != nil, toGo(c, ""), c.StatusConditions().IsTrue(karpv1.ConditionTypeInitialized)))
	if r := c.StatusConditions().Get(karpv1.ConditionTypeInitialized); r.IsTrue() {
		s.ready[c.Name] = readiness{c.Labels[karpv1.NodePoolLabelKey], r.LastTransitionTime.Time}
	}
	if c.Status.ProviderID != "" {
		s.launched[c.UID] = true
	}
}

// stage notes where a pod or an instance stands, and when that changed.
func (s *state) stage(key, now string) {
	if s.stages[key] != now {
		s.stages[key], s.last = now, time.Now()
	}
}

// quiet is for how long nothing has changed.
func (s *state) quiet() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	return time.Since(s.last)
}

// claimsOf are the instances of a pool, the oldest first; the state must be locked.
func (s *state) claimsOf(pool string) []*karpv1.NodeClaim {
	var out []*karpv1.NodeClaim
	for _, claim := range s.claims {
		if claim.Labels[karpv1.NodePoolLabelKey] == pool {
			out = append(out, claim)
		}
	}
	slices.SortFunc(out, func(a, b *karpv1.NodeClaim) int {
		return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), cmp.Compare(a.Name, b.Name))
	})
	return out
}

func podReady(p *corev1.Pod) bool {
	return slices.ContainsFunc(p.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}

type object[T any] interface {
	*T
	client.Object
}

// handle calls set and drop, under the lock, for each event of a kind.
func handle[T any, P object[T]](ctx context.Context, s *state, informers cache.Cache, kind P, set, drop func(P)) error {
	informer, err := informers.GetInformer(ctx, kind)
	if err != nil {
		return fmt.Errorf("watching %T: %w", kind, err)
	}
	call := func(f func(P), o any) {
		if d, ok := o.(toolscache.DeletedFinalStateUnknown); ok {
			o = d.Obj
		}
		p, ok := o.(P)
		if !ok {
			return
		}
		s.mu.Lock()
		f(p)
		if s.look != nil {
			s.look()
		}
		s.mu.Unlock()
		select {
		case s.changed <- struct{}{}:
		default:
		}
	}
	_, err = informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
		AddFunc:    func(o any) { call(set, o) },
		UpdateFunc: func(_, o any) { call(set, o) },
		DeleteFunc: func(o any) { call(drop, o) },
	})
	return err
}

// counts is one look at the state.
type counts struct {
	pods, running, pending, terminating int
	claims, ready                       int
}

func (s *state) count() counts {
	s.mu.Lock()
	defer s.mu.Unlock()
	var c counts
	for _, life := range s.pods {
		p := life.pod
		switch {
		case p == nil:
		case p.DeletionTimestamp != nil:
			c.terminating++
		case p.Status.Phase == corev1.PodRunning && podReady(p):
			c.pods++
			c.running++
		default:
			c.pods++
			c.pending++
		}
	}
	for _, claim := range s.claims {
		if claim.DeletionTimestamp.IsZero() {
			c.claims++
			if claim.StatusConditions().IsTrue(karpv1.ConditionTypeInitialized) {
				c.ready++
			}
		}
	}
	return c
}

// latencies are the times from pending to running of all pods that ran, sorted.
func (s *state) latencies() []time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []time.Duration
	for _, life := range s.pods {
		if !life.running.IsZero() {
			out = append(out, life.running.Sub(life.waiting))
		}
	}
	slices.Sort(out)
	return out
}
