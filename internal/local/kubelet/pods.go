package kubelet

import (
	"context"
	"fmt"
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
)

// A Node is a node of the cluster whose pods are processes of this instance. It does for them what a kubelet does: it starts
// the first container of each pod that is bound to it, writes the pod's status, and ends and deletes what is to be deleted.
// The fields are set before Start.
type Node struct {
	Object *corev1.Node // as it is registered; its status has addresses, capacity and versions
	Client kubernetes.Interface
	// Prepare makes the process of a pod. An error is told in the pod's status, and Prepare is asked again later.
	Prepare func(context.Context, *corev1.Pod) (*Process, error)
	Report  func(string)

	logs    *podServer
	stop    func()
	running sync.WaitGroup

	mu   sync.Mutex
	pods map[types.UID]*podRunner
}

// A Process is the first container of a pod that has been prepared.
type Process struct {
	Container *Container
	Note      string // for people, in the event of its start
	// Ports are where ports of the pod really are, as numbers of this computer's. Others are what they say.
	Ports   map[int]int
	Release func() // is called when the container has ended for good
}

// A CannotRun is an error of Prepare with the reason that the container's status gives.
type CannotRun struct {
	Reason  string // ErrImagePull
	Message string
}

func (e *CannotRun) Error() string { return e.Message }

// Start registers the node and begins to run its pods, until Close. The context bounds the registration only.
func (n *Node) Start(ctx context.Context) error {
	n.pods = map[types.UID]*podRunner{}
	var err error
	if n.logs, err = servePods(n.logOf, forwarder{n.portOf}); err != nil {
		return fmt.Errorf("start node %s: %w", n.Object.Name, err)
	}
	if err := n.register(ctx); err != nil {
		n.logs.close()
		return err
	}
	life, stop := context.WithCancel(context.WithoutCancel(ctx))
	n.stop = stop
	of := fields.OneTermEqualSelector("spec.nodeName", n.Object.Name)
	source := cache.NewFilteredListWatchFromClient(n.Client.CoreV1().RESTClient(), "pods", metav1.NamespaceAll, func(o *metav1.ListOptions) { o.FieldSelector = of.String() })
	_, informer := cache.NewInformerWithOptions(cache.InformerOptions{ListerWatcher: source, ObjectType: &corev1.Pod{}, Handler: cache.ResourceEventHandlerFuncs{
		AddFunc:    func(o any) { n.saw(life, o) },
		UpdateFunc: func(_, o any) { n.saw(life, o) },
		DeleteFunc: n.gone,
	}})
	n.running.Go(func() { informer.RunWithContext(life) })
	n.running.Go(func() { n.heartbeat(life) })
	return nil
}

// Close ends all processes. Node and pods stay in the API as they are. It may be called more than once, also without Start.
func (n *Node) Close() {
	if n.stop == nil {
		return
	}
	n.stop()
	n.running.Wait()
	n.logs.close()
}

// saw takes in a pod as the API has it now.
func (n *Node) saw(life context.Context, o any) {
	pod, ok := o.(*corev1.Pod)
	if !ok {
		return
	}
	n.mu.Lock()
	r := n.pods[pod.UID]
	if r == nil {
		if life.Err() != nil {
			n.mu.Unlock()
			return
		}
		r = &podRunner{node: n, wake: make(chan struct{}, 1), gone: make(chan struct{})}
		r.set(pod)
		n.pods[pod.UID] = r
		n.running.Go(func() { r.run(life) })
	}
	n.mu.Unlock()
	r.set(pod)
}

// gone takes in that a pod is no longer in the API.
func (n *Node) gone(o any) {
	if unknown, ok := o.(cache.DeletedFinalStateUnknown); ok {
		o = unknown.Obj
	}
	pod, ok := o.(*corev1.Pod)
	if !ok {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if r := n.pods[pod.UID]; r != nil {
		delete(n.pods, pod.UID)
		close(r.gone)
	}
}

// logOf is the file with the log of a container.
func (n *Node) logOf(namespace, name, container string) (string, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, r := range n.pods {
		pod := r.get()
		if pod.Namespace != namespace || pod.Name != name {
			continue
		}
		if container != pod.Spec.Containers[0].Name {
			return "", fmt.Errorf("container %s of pod %s/%s does not run: the local cluster runs the first container of a pod", container, namespace, name)
		}
		if log := r.log(); log != "" {
			return log, nil
		}
		return "", fmt.Errorf("container %s of pod %s/%s has not been started", container, namespace, name)
	}
	return "", fmt.Errorf("pod %s/%s is not on node %s", namespace, name, n.Object.Name)
}

// portOf is where a port of a pod is on this computer.
func (n *Node) portOf(namespace, name string, port int) (int, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, r := range n.pods {
		if pod := r.get(); pod.Namespace == namespace && pod.Name == name {
			return r.port(port)
		}
	}
	return 0, fmt.Errorf("pod %s/%s is not on node %s", namespace, name, n.Object.Name)
}
