// Package actors is who keeps a cluster alive besides its autoscaler: a scheduler, the owners of pods, disruption budgets,
// the life of nodes, kubelets and the collection of what nobody owns any more. They are small, and do what the real ones
// do where an autoscaler can see it. All are clients of the Kubernetes API.
//
// They are meant for a testing/synctest bubble: each looks at its informers a moment after something has changed, when
// everybody who had something to do at that moment is done, so that what it sees is never behind what it has written.
package actors

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	appslisters "k8s.io/client-go/listers/apps/v1"
	corelisters "k8s.io/client-go/listers/core/v1"
	policylisters "k8s.io/client-go/listers/policy/v1"
	"k8s.io/client-go/tools/cache"
)

// Options of a actors. Times that are not set have the defaults that are named with them.
type Options struct {
	Client kubernetes.Interface
	// Pause is between a change and the look at it (50 ms).
	Pause time.Duration
	// PodStart is how long a container takes to be ready (1 s), PodStop how long it takes to end, at most its grace period
	// (1 s); the annotations StartsIn and StopsIn say otherwise for single pods.
	PodStart, PodStop time.Duration
	// Between, if set, is how long replica sets take from one pod that they create to the next; without it, no time.
	Between func() time.Duration
	Log     *slog.Logger
}

// Annotations of pods by which a test says how they behave. Values are durations.
const (
	StartsIn = "sim.kerf.sh/starts-in"
	StopsIn  = "sim.kerf.sh/stops-in"
	// RunsFor makes a pod end by itself, as those of jobs do.
	RunsFor = "sim.kerf.sh/runs-for"
)

// lookAnyway is how often each looks even if nothing has changed.
const lookAnyway = time.Minute

// Actors is at work from Start until Stop.
type Actors struct {
	o      Options
	cancel context.CancelFunc
	work   sync.WaitGroup
	// orphans are pods whose node is gone, and since when. Only the collector looks at it.
	orphans    map[types.UID]time.Time
	ownersSeen time.Time            // when it was last looked for the owners of nodes; the collector's too
	lostSeen   time.Time            // when it was last looked for pods that have lost their owner or their node; the collector's too
	lost       atomic.Bool          // an owner or a node has gone since
	tried      map[types.UID]string // in what state of the nodes a pod was last found no node for; the scheduler's
	seats      map[string]*seat     // nodes by name as of the last look; the scheduler's
	templates  map[types.UID]hashed // of deployments; the owners'
	// settled are the nodes whose taints are as their state wants them, and chase nobody away; that of nodes only.
	settled map[types.UID]*corev1.Node
	queued  turns // of pods at the scheduler
	bereft  turns // of replica sets that have lost a pod
	// deploymentsDue and setsDue are the owners that something has happened to since they were last looked at.
	deploymentsDue, setsDue marks[types.UID]
	// seatsDue are the names of nodes where pods have changed since the scheduler looked last.
	seatsDue marks[string]

	factory     informers.SharedInformerFactory
	pods        corelisters.PodLister
	podIndex    cache.Indexer
	nodes       corelisters.NodeLister
	replicaSets appslisters.ReplicaSetLister
	deployments appslisters.DeploymentLister
	daemonSets  appslisters.DaemonSetLister
	budgets     policylisters.PodDisruptionBudgetLister
	claims      corelisters.PersistentVolumeClaimLister
	volumes     corelisters.PersistentVolumeLister

	mu    sync.Mutex
	wakes []chan struct{}
}

// member is one of the actors: what it does when it looks, and how long it can wait until it looks again though nothing
// changes; 0 means no haste.
type member struct {
	name string
	look func(ctx context.Context) (again time.Duration, err error)
}

// Start lets a actors begin. It returns when all have seen the cluster.
//
// Errors: ctx ended first.
func Start(ctx context.Context, o Options) (*Actors, error) {
	def(&o.Pause, 50*time.Millisecond)
	def(&o.PodStart, time.Second)
	def(&o.PodStop, time.Second)
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	c := &Actors{o: o, orphans: map[types.UID]time.Time{}, templates: map[types.UID]hashed{}, settled: map[types.UID]*corev1.Node{}, factory: informers.NewSharedInformerFactory(o.Client, 0)}
	core, apps := c.factory.Core().V1(), c.factory.Apps().V1()
	if err := core.Pods().Informer().AddIndexers(c.podIndexers()); err != nil {
		return nil, fmt.Errorf("watch the cluster: %w", err)
	}
	c.podIndex = core.Pods().Informer().GetIndexer()
	c.pods, c.nodes, c.claims, c.volumes = core.Pods().Lister(), core.Nodes().Lister(), core.PersistentVolumeClaims().Lister(), core.PersistentVolumes().Lister()
	c.replicaSets, c.deployments, c.daemonSets = apps.ReplicaSets().Lister(), apps.Deployments().Lister(), apps.DaemonSets().Lister()
	c.budgets = c.factory.Policy().V1().PodDisruptionBudgets().Lister()
	for _, i := range []cache.SharedIndexInformer{
		core.Pods().Informer(), core.Nodes().Informer(), core.PersistentVolumeClaims().Informer(), core.PersistentVolumes().Informer(),
		apps.ReplicaSets().Informer(), apps.Deployments().Informer(), apps.DaemonSets().Informer(), c.factory.Policy().V1().PodDisruptionBudgets().Informer(),
	} {
		if _, err := i.AddEventHandler(cache.ResourceEventHandlerFuncs{
			AddFunc: func(any) { c.wake() }, UpdateFunc: func(any, any) { c.wake() }, DeleteFunc: func(any) { c.wake() },
		}); err != nil {
			return nil, fmt.Errorf("watch the cluster: %w", err)
		}
	}
	for _, i := range []cache.SharedIndexInformer{core.Nodes().Informer(), apps.ReplicaSets().Informer(), apps.Deployments().Informer(), apps.DaemonSets().Informer()} {
		if _, err := i.AddEventHandler(cache.ResourceEventHandlerFuncs{DeleteFunc: func(any) { c.lost.Store(true); c.wake() }}); err != nil {
			return nil, fmt.Errorf("watch the cluster: %w", err)
		}
	}
	for _, x := range []struct {
		informer cache.SharedIndexInformer
		hears    cache.ResourceEventHandler
	}{{core.Pods().Informer(), c.hear()}, {apps.ReplicaSets().Informer(), c.hearSets()}, {apps.Deployments().Informer(), c.hearDeployments()}} {
		if _, err := x.informer.AddEventHandler(x.hears); err != nil {
			return nil, fmt.Errorf("watch the cluster: %w", err)
		}
	}
	life, cancel := context.WithCancel(context.WithoutCancel(ctx))
	c.cancel = cancel
	c.factory.StartWithContext(life)
	for kind, ok := range c.factory.WaitForCacheSync(ctx.Done()) {
		if !ok {
			c.Stop()
			return nil, fmt.Errorf("watch the cluster: no list of %s", kind)
		}
	}
	for _, m := range []member{
		{"nodes", c.keepNodes}, {"owners", c.keepOwners}, {"daemons", c.keepDaemons}, {"budgets", c.keepBudgets}, {"scheduler", c.schedule}, {"kubelets", c.runPods}, {"collector", c.collect},
	} {
		wake := make(chan struct{}, 1)
		c.wakes = append(c.wakes, wake)
		c.work.Go(func() { c.run(life, m, wake) })
	}
	c.wake()
	return c, nil
}

func def(d *time.Duration, standard time.Duration) {
	if *d == 0 {
		*d = standard
	}
}

// Stop ends the actors's work and waits for it.
func (c *Actors) Stop() {
	c.cancel()
	c.work.Wait()
	c.factory.Shutdown()
}

func (c *Actors) wake() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, w := range c.wakes {
		select {
		case w <- struct{}{}:
		default:
		}
	}
}

func (c *Actors) run(ctx context.Context, m member, wake <-chan struct{}) {
	again := lookAnyway
	for {
		timer := time.NewTimer(again)
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-timer.C:
		case <-wake:
			timer.Stop()
			select {
			case <-ctx.Done():
				return
			case <-time.After(c.o.Pause):
			}
			select { // what came meanwhile is seen by the look that follows
			case <-wake:
			default:
			}
		}
		next, err := m.look(ctx)
		if err != nil && ctx.Err() == nil {
			c.o.Log.Warn("actors", "member", m.name, "error", err)
			next = time.Second
		}
		if again = lookAnyway; next > 0 {
			again = min(again, next)
		}
	}
}

// allPods are all pods; nothing of them may be changed.
func (c *Actors) allPods() ([]*corev1.Pod, error) { return c.pods.List(labels.Everything()) }

// inOrder sorts objects by namespace and name, so that what is written for them at one moment is written in the same order each
// time: listers have none.
func inOrder[T metav1.Object](all []T, err error) ([]T, error) {
	slices.SortFunc(all, func(a, b T) int {
		if in := cmp.Compare(a.GetNamespace(), b.GetNamespace()); in != 0 {
			return in
		}
		return cmp.Compare(a.GetName(), b.GetName())
	})
	return all, err
}

// passed takes the errors away that only say that somebody was faster.
func passed(err error) error {
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) {
		return nil
	}
	return err
}

// soonest keeps the shortest of the times that are left to wait.
type soonest time.Duration

func (s *soonest) in(d time.Duration) {
	if d <= 0 {
		d = time.Millisecond
	}
	if *s == 0 || soonest(d) < *s {
		*s = soonest(d)
	}
}

// lasts is a duration that an annotation says.
func lasts(p *corev1.Pod, annotation string, standard time.Duration) time.Duration {
	if text := p.Annotations[annotation]; text != "" {
		if d, err := time.ParseDuration(text); err == nil {
			return d
		}
	}
	return standard
}

func condition(p *corev1.Pod, kind corev1.PodConditionType) *corev1.PodCondition {
	for i := range p.Status.Conditions {
		if p.Status.Conditions[i].Type == kind {
			return &p.Status.Conditions[i]
		}
	}
	return nil
}

func isReady(p *corev1.Pod) bool {
	c := condition(p, corev1.PodReady)
	return c != nil && c.Status == corev1.ConditionTrue
}

func ended(p *corev1.Pod) bool {
	return p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed
}

func nodeReady(n *corev1.Node) corev1.ConditionStatus {
	for _, c := range n.Status.Conditions {
		if c.Type == corev1.NodeReady {
			return c.Status
		}
	}
	return corev1.ConditionUnknown
}
