package fidelity

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	"github.com/kerf-sh/kerf/controlplane/harness"
	"github.com/kerf-sh/kerf/internal/local/kube"
)

// Cluster carries cases out on a control plane, one after the other.
//
// Concurrency: one case at a time.
type Cluster struct {
	client  kubernetes.Interface
	metrics string
	http    *http.Client

	mu      sync.Mutex
	moved   chan struct{} // closed and replaced whenever something changed
	pods    map[string]*corev1.Pod
	nodes   map[string]*corev1.Node
	claims  map[string]*corev1.PersistentVolumeClaim
	volumes map[string]*corev1.PersistentVolume
}

// patience bounds how long anything is awaited; the scheduler needs a small part of it.
const patience = 60 * time.Second

// Patient is an option for the control plane of cases: their instances have no kubelet that would say that it is alive,
// and must not be called dead for that.
func Patient(o *kube.Options) { harness.WithNodeLease(24 * 3600)(o) }

// NewCluster prepares a control plane for cases. The context bounds the life of the watches.
func NewCluster(ctx context.Context, cp *harness.ControlPlane) (*Cluster, error) {
	config := rest.CopyConfig(cp.Config)
	config.ContentType = "application/vnd.kubernetes.protobuf" // a good part of the time would go into JSON
	config.WarningHandler = rest.NoWarnings{}                  // cases use labels by their old names on purpose
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("prepare the cluster: %w", err)
	}
	ca, err := os.ReadFile(cp.CA)
	if err != nil {
		return nil, fmt.Errorf("prepare the cluster: %w", err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(ca)
	c := &Cluster{client: client, metrics: cp.Metrics["scheduler"],
		http:  &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}}},
		moved: make(chan struct{}), pods: map[string]*corev1.Pod{}, nodes: map[string]*corev1.Node{}, claims: map[string]*corev1.PersistentVolumeClaim{},
		volumes: map[string]*corev1.PersistentVolume{}}
	for _, ns := range namespaces() {
		if _, err := client.CoreV1().Namespaces().Create(ctx, ns, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
			return nil, fmt.Errorf("make namespace %s: %w", ns.Name, err)
		}
	}
	for name, value := range map[string]int32{priorityLow: 1, priorityHigh: 100} {
		class := &schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: name}, Value: value, PreemptionPolicy: new(corev1.PreemptNever)}
		if _, err := client.SchedulingV1().PriorityClasses().Create(ctx, class, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
			return nil, fmt.Errorf("make priority class %s: %w", name, err)
		}
	}
	overhead := corev1.ResourceList{corev1.ResourceCPU: quantity("150m"), corev1.ResourceMemory: quantity("100Mi")}
	runtime := &nodev1.RuntimeClass{ObjectMeta: metav1.ObjectMeta{Name: runtimeClass}, Handler: "none", Overhead: &nodev1.Overhead{PodFixed: overhead},
		Scheduling: &nodev1.Scheduling{NodeSelector: map[string]string{corev1.LabelOSStable: "linux"},
			Tolerations: []corev1.Toleration{{Key: "dedicated", Value: "blue", Operator: corev1.TolerationOpEqual}}}}
	if _, err := client.NodeV1().RuntimeClasses().Create(ctx, runtime, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
		return nil, fmt.Errorf("make runtime class %s: %w", runtimeClass, err)
	}
	factory := informers.NewSharedInformerFactory(client, 0)
	for _, err := range []error{
		watch(c, factory.Core().V1().Pods().Informer(), c.pods, nil),
		watch(c, factory.Core().V1().Nodes().Informer(), c.nodes, nil),
		watch(c, factory.Core().V1().PersistentVolumes().Informer(), c.volumes, nil),
		watch(c, factory.Core().V1().PersistentVolumeClaims().Informer(), c.claims, func(pvc *corev1.PersistentVolumeClaim) { c.provision(ctx, pvc) }),
	} {
		if err != nil {
			return nil, fmt.Errorf("watch the cluster: %w", err)
		}
	}
	factory.Start(ctx.Done())
	factory.WaitForCacheSync(ctx.Done())
	return c, nil
}

// watch keeps a map of the objects by namespace and name.
func watch[T metav1.Object](c *Cluster, informer cache.SharedIndexInformer, into map[string]T, saw func(T)) error {
	set := func(o any) {
		object, ok := o.(T)
		if !ok {
			return
		}
		c.mu.Lock()
		into[key(object)] = object
		c.tell()
		c.mu.Unlock()
		if saw != nil {
			go saw(object)
		}
	}
	_, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: set, UpdateFunc: func(_, o any) { set(o) },
		DeleteFunc: func(o any) {
			if last, ok := o.(cache.DeletedFinalStateUnknown); ok {
				o = last.Obj
			}
			if object, ok := o.(T); ok {
				c.mu.Lock()
				delete(into, key(object))
				c.tell()
				c.mu.Unlock()
			}
		}})
	return err
}

func key(o metav1.Object) string { return o.GetNamespace() + "/" + o.GetName() }

func (c *Cluster) tell() {
	close(c.moved)
	c.moved = make(chan struct{})
}

// await waits until the condition, which is asked with the lock held, is true.
//
// Errors: it is not within patience; what says what was waited for.
func (c *Cluster) await(ctx context.Context, what string, condition func() bool) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for {
		c.mu.Lock()
		ok, moved := condition(), c.moved
		c.mu.Unlock()
		if ok {
			return nil
		}
		select {
		case <-moved:
		case <-ctx.Done():
			return fmt.Errorf("waited in vain until %s: %w", what, ctx.Err())
		}
	}
}

// provision makes the volume of a claim once the scheduler has chosen the node of its pod, as a storage driver does.
func (c *Cluster) provision(ctx context.Context, pvc *corev1.PersistentVolumeClaim) {
	name := pvc.Annotations["volume.kubernetes.io/selected-node"]
	if name == "" || pvc.Spec.VolumeName != "" || pvc.DeletionTimestamp != nil {
		return
	}
	c.mu.Lock()
	node := c.nodes["/"+name]
	c.mu.Unlock()
	if node == nil {
		return
	}
	v := volumeFor(pvc, "made-"+string(pvc.UID), driverZone, node.Labels[driverZone])
	if node.Labels[driverZone] == "" {
		v.Spec.NodeAffinity = nil
	}
	v.Annotations = map[string]string{"pv.kubernetes.io/provisioned-by": driver}
	// An error shows itself in a claim that stays unbound and a pod that is never bound.
	_, _ = c.client.CoreV1().PersistentVolumes().Create(ctx, v, metav1.CreateOptions{})
}

// queue is how many pods the scheduler holds, by what it does with them.
type queue struct{ active, backoff, unschedulable, gated int }

// queued asks the scheduler.
func (c *Cluster) queued(ctx context.Context) (queue, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, c.metrics, nil)
	if err != nil {
		return queue{}, err
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return queue{}, fmt.Errorf("ask the scheduler for its queue: %w", err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return queue{}, fmt.Errorf("ask the scheduler for its queue: %s", resp.Status)
	}
	var q queue
	found := 0
	lines := bufio.NewScanner(resp.Body)
	for lines.Scan() {
		rest, ok := strings.CutPrefix(lines.Text(), `scheduler_pending_pods{queue="`)
		if !ok {
			continue
		}
		name, text, _ := strings.Cut(rest, `"} `)
		n, err := strconv.Atoi(text)
		if err != nil {
			return queue{}, fmt.Errorf("ask the scheduler for its queue: %q is no number of pods", text)
		}
		found++
		switch name {
		case "active":
			q.active = n
		case "backoff":
			q.backoff = n
		case "unschedulable":
			q.unschedulable = n
		case "gated":
			q.gated = n
		}
	}
	if found == 0 {
		return queue{}, errors.New("ask the scheduler for its queue: it does not tell scheduler_pending_pods")
	}
	return q, lines.Err()
}

// each calls f for all items, several at a time.
func each[T any](items []T, f func(T) error) error {
	const workers = 12
	var wait sync.WaitGroup
	var mu sync.Mutex
	var errs []error
	next := make(chan T)
	for range min(workers, len(items)) {
		wait.Go(func() {
			for item := range next {
				if err := f(item); err != nil {
					mu.Lock()
					errs = append(errs, err)
					mu.Unlock()
				}
			}
		})
	}
	for _, item := range items {
		next <- item
	}
	close(next)
	wait.Wait()
	return errors.Join(errs...)
}

// createNodes makes instances and waits until nothing but their own taints is on them, and until the scheduler knows
// them: it has bound a pod to the last.
func (c *Cluster) createNodes(ctx context.Context, instances []launched) error {
	if len(instances) == 0 {
		return nil
	}
	create := func(m launched) error {
		if m.csi != nil {
			if _, err := c.client.StorageV1().CSINodes().Create(ctx, m.csi, metav1.CreateOptions{}); err != nil {
				return fmt.Errorf("make the CSINode %s: %w", m.csi.Name, err)
			}
		}
		if _, err := c.client.CoreV1().Nodes().Create(ctx, m.node, metav1.CreateOptions{}); err != nil {
			return fmt.Errorf("make node %s: %w", m.node.Name, err)
		}
		return nil
	}
	if err := each(instances, create); err != nil {
		return err
	}
	return c.await(ctx, "all nodes are ready", func() bool {
		for _, m := range instances {
			n := c.nodes["/"+m.node.Name]
			if n == nil {
				return false
			}
			for _, t := range n.Spec.Taints {
				if t.Key == corev1.TaintNodeNotReady {
					return false
				}
			}
		}
		return true
	})
}

// createPods makes pods, waits until the watches have brought them, and returns what the API server made of them, in the
// same order.
func (c *Cluster) createPods(ctx context.Context, pods []*corev1.Pod) ([]*corev1.Pod, error) {
	out := make([]*corev1.Pod, len(pods))
	at := make([]int, len(pods))
	for i := range at {
		at[i] = i
	}
	err := each(at, func(i int) (err error) {
		if out[i], err = c.client.CoreV1().Pods(pods[i].Namespace).Create(ctx, pods[i], metav1.CreateOptions{}); err != nil {
			return fmt.Errorf("make pod %s: %w", pods[i].Name, err)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return out, c.await(ctx, "the watches have brought all pods", func() bool {
		for _, p := range out {
			if have := c.pods[key(p)]; have == nil || have.UID != p.UID {
				return false
			}
		}
		return true
	})
}

// release lets the scheduler have the pods.
func (c *Cluster) release(ctx context.Context, pods []*corev1.Pod) error {
	return each(pods, func(pod *corev1.Pod) error {
		if _, err := c.client.CoreV1().Pods(pod.Namespace).Patch(ctx, pod.Name, types.JSONPatchType,
			[]byte(`[{"op":"remove","path":"/spec/schedulingGates"}]`), metav1.PatchOptions{}); err != nil {
			return fmt.Errorf("release pod %s: %w", pod.Name, err)
		}
		return nil
	})
}

// bindings waits until the scheduler has bound all of the pods, or has looked at everything and waits for events, and
// returns the node of each that is bound, and what the scheduler says of the others.
func (c *Cluster) bindings(ctx context.Context, pods []*corev1.Pod) (bound, refused map[string]string, err error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	read := func() {
		bound, refused = map[string]string{}, map[string]string{}
		for _, p := range pods {
			k := key(p)
			now := c.pods[k]
			if now == nil {
				continue
			}
			if now.Spec.NodeName != "" {
				bound[k] = now.Spec.NodeName
				continue
			}
			if at := slices.IndexFunc(now.Status.Conditions, refusal); at >= 0 {
				refused[k] = now.Status.Conditions[at].Message
			}
		}
	}
	for calm := 0; ; {
		c.mu.Lock()
		read()
		moved := c.moved
		waiting, gated, untried := c.waiting(pods)
		nodes := len(c.nodes)
		c.mu.Unlock()
		if len(bound) == len(pods) {
			return bound, refused, nil
		}
		all := len(bound)+len(refused)+untried >= len(pods)
		pause := pollEvery
		if !all {
			pause *= 10 // a word is on its way, most likely
		}
		timer := time.NewTimer(pause)
		select {
		case <-moved:
			if !all {
				timer.Stop()
				calm = 0
				continue
			}
			<-timer.C
		case <-timer.C: // the queue has no events; ask after a while
		case <-ctx.Done():
		}
		q, err := c.queued(context.WithoutCancel(ctx))
		if err != nil {
			return nil, nil, err
		}
		if ctx.Err() != nil {
			return nil, nil, fmt.Errorf("waited in vain for the scheduler: %d of %d pods bound, %d refused, %d pods wait (%d of them held), queue %+v: %w",
				len(bound), len(pods), len(refused), waiting, gated, q, ctx.Err())
		}
		if nodes == 0 {
			q.unschedulable, q.backoff = q.unschedulable+q.backoff, 0 // without any node it tries again and again, and no event is waited for
		}
		if q.active == 0 && q.backoff == 0 && q.unschedulable+q.gated == waiting && q.gated >= gated && q.gated <= gated+untried {
			calm++
		} else {
			calm = 0
		}
		if all && calm >= calmEnough || calm >= 2*calmEnough {
			c.silent(pods, bound, refused)
			return bound, refused, nil
		}
	}
}

// waiting counts the pods that are not bound: all, those that are held back, and, of the given ones that the scheduler
// has given no word of, those that it does not even try, for want of a claim that they name.
func (c *Cluster) waiting(pods []*corev1.Pod) (all, gated, untried int) {
	for _, p := range c.pods {
		if p.Spec.NodeName == "" {
			all++
			if len(p.Spec.SchedulingGates) > 0 {
				gated++
			}
		}
	}
	for _, p := range pods {
		now := c.pods[key(p)]
		if now != nil && now.Spec.NodeName == "" && len(now.Spec.ResourceClaims) > 0 && len(now.Spec.SchedulingGates) == 0 &&
			!slices.ContainsFunc(now.Status.Conditions, refusal) {
			untried++
		}
	}
	return all, gated, untried
}

func refusal(cond corev1.PodCondition) bool {
	return cond.Type == corev1.PodScheduled && cond.Reason == corev1.PodReasonUnschedulable
}

// How often the scheduler is asked for its queue when it has said something of all pods, and how many times in a row it
// must have nothing left to do. When it has not said something of all, it is asked more seldom and oftener.
const (
	pollEvery  = 25 * time.Millisecond
	calmEnough = 2
)

// silent adds the pods that the scheduler says nothing of.
func (c *Cluster) silent(pods []*corev1.Pod, bound, refused map[string]string) {
	for _, p := range pods {
		if k := key(p); bound[k] == "" && refused[k] == "" {
			refused[k] = "the scheduler does not try it"
		}
	}
}

// clear removes everything that cases make.
func (c *Cluster) clear(ctx context.Context) error {
	now := metav1.DeleteOptions{GracePeriodSeconds: new(int64(0))}
	ours := metav1.ListOptions{LabelSelector: caseLabel}
	core := c.client.CoreV1()
	var errs []error
	for _, ns := range []string{spaceA, spaceB, spaceD} {
		errs = append(errs, core.Pods(ns).DeleteCollection(ctx, now, metav1.ListOptions{}))
	}
	errs = append(errs, c.await(ctx, "all pods are gone", func() bool { return len(c.pods) == 0 }))
	errs = append(errs, core.Nodes().DeleteCollection(ctx, now, ours), c.client.StorageV1().CSINodes().DeleteCollection(ctx, now, ours),
		c.client.StorageV1().StorageClasses().DeleteCollection(ctx, now, ours))
	c.mu.Lock()
	var claims []*corev1.PersistentVolumeClaim
	for _, pvc := range c.claims {
		claims = append(claims, pvc)
	}
	c.mu.Unlock()
	if len(claims) > 0 {
		errs = append(errs, c.clearVolumes(ctx, claims))
	}
	errs = append(errs, c.await(ctx, "all nodes are gone", func() bool { return len(c.nodes) == 0 }))
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("clear the cluster: %w", err)
	}
	return nil
}

// clearVolumes deletes claims and volumes without waiting for the controllers that protect them.
func (c *Cluster) clearVolumes(ctx context.Context, claims []*corev1.PersistentVolumeClaim) error {
	if err := c.clearClaims(ctx, claims); err != nil {
		return err
	}
	core := c.client.CoreV1()
	var volumes []*corev1.PersistentVolume
	c.mu.Lock()
	for _, v := range c.volumes {
		volumes = append(volumes, v)
	}
	c.mu.Unlock()
	return each(volumes, func(v *corev1.PersistentVolume) error {
		if err := core.PersistentVolumes().Delete(ctx, v.Name, metav1.DeleteOptions{}); err != nil {
			return missing(err)
		}
		_, err := core.PersistentVolumes().Patch(ctx, v.Name, types.MergePatchType, unprotected, metav1.PatchOptions{})
		return missing(err)
	})
}

func (c *Cluster) clearClaims(ctx context.Context, claims []*corev1.PersistentVolumeClaim) error {
	err := each(claims, func(pvc *corev1.PersistentVolumeClaim) error {
		in := c.client.CoreV1().PersistentVolumeClaims(pvc.Namespace)
		if err := in.Delete(ctx, pvc.Name, metav1.DeleteOptions{}); err != nil {
			return missing(err)
		}
		_, err := in.Patch(ctx, pvc.Name, types.MergePatchType, unprotected, metav1.PatchOptions{})
		return missing(err)
	})
	if err != nil {
		return err
	}
	return c.await(ctx, "volume claims are gone", func() bool {
		for _, pvc := range claims {
			if have := c.claims[key(pvc)]; have != nil && have.UID == pvc.UID {
				return false
			}
		}
		return true
	})
}

// unprotected lets go of an object that is being deleted.
var unprotected = []byte(`{"metadata":{"finalizers":null}}`)

// missing is err, unless it says that there is no such object.
func missing(err error) error {
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}
