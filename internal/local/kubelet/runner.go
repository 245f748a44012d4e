package kubelet

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// A podRunner is the life of one pod on a node.
type podRunner struct {
	node *Node
	wake chan struct{} // there is something new
	gone chan struct{} // closed when the pod is no longer in the API

	mu      sync.Mutex
	pod     *corev1.Pod // as it was seen last
	process *Process
	failed  error             // why there is no process
	told    *corev1.PodStatus // that was written last
}

func (r *podRunner) set(pod *corev1.Pod) {
	r.mu.Lock()
	r.pod = pod
	r.mu.Unlock()
	r.nudge()
}

func (r *podRunner) nudge() {
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

func (r *podRunner) get() *corev1.Pod {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.pod
}

func (r *podRunner) log() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.process == nil {
		return ""
	}
	return r.process.Container.Log
}

// port is where a port of the pod is on this computer.
func (r *podRunner) port(port int) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.process == nil {
		return 0, fmt.Errorf("pod %s/%s has not been started", r.pod.Namespace, r.pod.Name)
	}
	if at, ok := r.process.Ports[port]; ok {
		return at, nil
	}
	return port, nil
}

// retryStatus is how long a status that could not be written waits.
const retryStatus = time.Second

// run starts the pod, keeps its status up to date, and ends it when it is deleted or the node is closed.
func (r *podRunner) run(life context.Context) {
	defer r.end()
	var again <-chan time.Time // of what failed
	var delay backOff
	try := true
	for {
		pod := r.get()
		if pod.DeletionTimestamp != nil {
			r.remove(life, pod)
			return
		}
		if finished(pod) {
			r.end()
		} else if try && r.process == nil {
			try = false
			if err := r.start(life, pod); err != nil {
				again = time.After(delay.after(time.Now()))
			}
		}
		if err := r.tell(life); err != nil && life.Err() == nil {
			r.node.Report(fmt.Sprintf("write the status of pod %s/%s: %v; trying again in %s", pod.Namespace, pod.Name, err, retryStatus))
			if again == nil {
				again = time.After(retryStatus)
			}
		}
		select {
		case <-life.Done():
			return
		case <-r.gone:
			return
		case <-r.wake:
		case <-again:
			again, try = nil, true
		}
	}
}

// finished tells whether somebody has ended the pod, as an eviction by a taint may.
func finished(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodFailed || pod.Status.Phase == corev1.PodSucceeded
}

// start prepares the process and starts it.
func (r *podRunner) start(ctx context.Context, pod *corev1.Pod) error {
	process, err := r.node.Prepare(ctx, pod)
	if err == nil {
		process.Container.Changed = r.nudge
		if err = process.Container.Begin(); err != nil {
			process.Release()
		}
	}
	r.mu.Lock()
	was := r.failed
	if r.failed = err; err == nil {
		r.process = process
	}
	r.mu.Unlock()
	switch {
	case err == nil:
		r.event(ctx, corev1.EventTypeNormal, "Started", "Started container "+pod.Spec.Containers[0].Name+": "+process.Note)
	case was == nil || was.Error() != err.Error():
		r.event(ctx, corev1.EventTypeWarning, reasonOf(err), err.Error())
	}
	return err
}

// reasonOf is the reason that the status of a container has which can't be started.
func reasonOf(err error) string {
	if cannot, ok := errors.AsType[*CannotRun](err); ok {
		return cannot.Reason
	}
	return "CreateContainerConfigError"
}

// remove ends the process within the grace period of the deletion and deletes the pod, as a kubelet has the last word.
func (r *podRunner) remove(life context.Context, pod *corev1.Pod) {
	grace := defaultGrace
	if s := pod.DeletionGracePeriodSeconds; s != nil {
		grace = time.Duration(*s) * time.Second
	}
	if r.process != nil {
		ended := make(chan error, 1)
		go func() { ended <- r.process.Container.TerminateWithin(grace) }()
		var err error
		select {
		case err = <-ended:
		case <-r.gone: // deleted by force
			err = errors.Join(r.process.Container.Kill(), <-ended)
		case <-life.Done():
			err = errors.Join(r.process.Container.Stop(), <-ended)
		}
		if err != nil {
			r.node.Report(fmt.Sprintf("pod %s/%s: %v", pod.Namespace, pod.Name, err))
		}
	}
	for life.Err() == nil {
		_ = r.tell(life) // the pod is gone in a moment
		err := r.node.Client.CoreV1().Pods(pod.Namespace).Delete(life, pod.Name, metav1.DeleteOptions{
			GracePeriodSeconds: new(int64(0)), Preconditions: &metav1.Preconditions{UID: &pod.UID},
		})
		if err == nil || apierrors.IsNotFound(err) || apierrors.IsConflict(err) { // a conflict is another pod of that name
			return
		}
		r.node.Report(fmt.Sprintf("delete pod %s/%s: %v; trying again in %s", pod.Namespace, pod.Name, err, retryStatus))
		select {
		case <-life.Done():
		case <-r.gone:
			return
		case <-time.After(retryStatus):
		}
	}
}

// end ends the process, if there is one, for good.
func (r *podRunner) end() {
	r.mu.Lock()
	process := r.process
	r.mu.Unlock()
	if process == nil || process.Release == nil {
		return
	}
	if err := process.Container.Stop(); err != nil {
		r.node.Report(err.Error())
	}
	process.Release()
	process.Release = nil
}

// event tells what happened to the pod. One that is lost is no harm: the status says the same.
func (r *podRunner) event(ctx context.Context, kind, reason, message string) {
	pod, now := r.get(), metav1.Now()
	_, _ = r.node.Client.CoreV1().Events(pod.Namespace).Create(ctx, &corev1.Event{
		ObjectMeta:     metav1.ObjectMeta{GenerateName: pod.Name + ".", Namespace: pod.Namespace},
		InvolvedObject: corev1.ObjectReference{APIVersion: "v1", Kind: "Pod", Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID},
		Type:           kind, Reason: reason, Message: message, FirstTimestamp: now, LastTimestamp: now, Count: 1,
		Source: corev1.EventSource{Component: "kubelet", Host: r.node.Object.Name},
	}, metav1.CreateOptions{}) // see above
}
