package boot

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kerf-sh/kerf/internal/sim/awssim/world"
)

// callTimeout bounds one call to the Kubernetes API.
const callTimeout = 10 * time.Second

func (b *Booter) call() (context.Context, context.CancelFunc) {
	return context.WithTimeout(b.ctx, callTimeout)
}

// join registers the node; while the API cannot be reached or the name is taken it tries again, as a kubelet does.
func (b *Booter) join(i world.Instance, image world.Image, k *Kubelet, m Hardware) {
	if !b.alive(i.ID) {
		b.logf(i.ID, "ended before it had joined")
		return
	}
	node, err := describeNode(i, image, b.opts.World.Region(), k, m, metav1.NewTime(b.opts.World.Now()))
	if err != nil {
		b.refuse(i.ID, err)
		return
	}
	if b.opts.Client == nil {
		b.logf(i.ID, "the kubelet is ready to join as %s, but there is no cluster", node.Name)
		return
	}
	if b.opts.ReadyDelay > 0 {
		node.Status.Conditions = conditions(corev1.ConditionFalse, "KubeletNotReady", "container runtime network not ready", metav1.NewTime(b.opts.World.Now()))
	}
	if err := b.register(i, node); err != nil {
		if apierrors.IsInvalid(err) || apierrors.IsForbidden(err) || apierrors.IsBadRequest(err) {
			b.refuse(i.ID, fmt.Errorf("the API server refuses the node: %w", err))
			return
		}
		b.logf(i.ID, "cannot register yet: %v", err)
		b.later(b.opts.Retry, func() { b.join(i, image, k, m) })
		return
	}
	b.logf(i.ID, "joined as node %s: %s CPU, %s memory, %s pods allocatable", node.Name,
		node.Status.Allocatable.Cpu(), node.Status.Allocatable.Memory(), node.Status.Allocatable.Pods())
	b.set(i.ID, Joined, node.Name)
	if b.opts.ReadyDelay > 0 {
		b.later(b.opts.ReadyDelay, func() { b.ready(i.ID, node.Name) })
	}
	if !b.alive(i.ID) { // it ended while the call was under way, and its end found no node to end
		b.later(0, func() { b.fade(i) })
		b.later(b.opts.NodeGone, func() { b.remove(i) })
	}
}

func (b *Booter) register(i world.Instance, node *corev1.Node) error {
	ctx, cancel := b.call()
	defer cancel()
	_, err := b.opts.Client.CoreV1().Nodes().Create(ctx, node, metav1.CreateOptions{})
	if !apierrors.IsAlreadyExists(err) {
		return err
	}
	old, getErr := b.opts.Client.CoreV1().Nodes().Get(ctx, node.Name, metav1.GetOptions{})
	if getErr != nil {
		return getErr
	}
	if old.Spec.ProviderID == i.ProviderID() {
		return nil // an earlier attempt whose answer was lost
	}
	return fmt.Errorf("the name %s still belongs to %s", node.Name, old.Spec.ProviderID)
}

func (b *Booter) ready(id, name string) {
	if !b.alive(id) {
		return
	}
	now := metav1.NewTime(b.opts.World.Now())
	if err := b.patchConditions(name, conditions(corev1.ConditionTrue, "KubeletReady", "kubelet is posting ready status", now)); err != nil {
		b.logf(id, "cannot post ready status yet: %v", err)
		if !apierrors.IsNotFound(err) {
			b.later(b.opts.Retry, func() { b.ready(id, name) })
		}
		return
	}
	b.logf(id, "node %s is ready", name)
}

func (b *Booter) patchConditions(name string, c []corev1.NodeCondition) error {
	ctx, cancel := b.call()
	defer cancel()
	patch, err := json.Marshal(map[string]any{"status": map[string]any{"conditions": c}})
	if err != nil {
		return err
	}
	_, err = b.opts.Client.CoreV1().Nodes().Patch(ctx, name, types.StrategicMergePatchType, patch, metav1.PatchOptions{}, "status")
	return err
}

// OnTerminating stops the kubelet: its last word is that the node shuts down.
func (b *Booter) OnTerminating(i world.Instance) {
	b.logf(i.ID, "shutting down: %s", i.StateReasonMessage)
	if b.opts.Client != nil {
		b.later(0, func() { b.fade(i) })
	}
}

// fade makes the node NotReady. It stays in kwok's hands, who leaves a node alone that says so of itself and has to see
// it deleted to forget it.
func (b *Booter) fade(i world.Instance) {
	name := b.nodeOf(i.ID)
	if name == "" || !b.owns(i, name) {
		return
	}
	now := metav1.NewTime(b.opts.World.Now())
	err := b.patchConditions(name, conditions(corev1.ConditionFalse, "KubeletNotReady", "node is shutting down", now))
	if err != nil && !apierrors.IsNotFound(err) {
		b.logf(i.ID, "the last status could not be posted: %v", err)
	}
}

// owns tells whether the node of that name is this instance's.
func (b *Booter) owns(i world.Instance, name string) bool {
	ctx, cancel := b.call()
	defer cancel()
	node, err := b.opts.Client.CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{})
	return err == nil && node.Spec.ProviderID == i.ProviderID()
}

// OnTerminated has the cloud controller manager notice, a little later, that the instance is gone.
func (b *Booter) OnTerminated(i world.Instance) {
	b.logf(i.ID, "terminated")
	b.set(i.ID, Ended, "")
	if b.opts.Client != nil {
		b.later(b.opts.NodeGone, func() { b.remove(i) })
	}
	b.later(b.opts.World.Options().TerminatedVisible, func() { b.forget(i.ID) })
}

// remove deletes the node of an instance that is gone. Its pods stay: Kubernetes' garbage collection of pods takes them once the Node
// object is gone, which a finalizer may hold.
func (b *Booter) remove(i world.Instance) {
	name := b.nodeOf(i.ID)
	if name == "" {
		return
	}
	if err := b.removeNode(i, name); err != nil {
		b.logf(i.ID, "node %s could not be deleted yet: %v", name, err)
		b.later(b.opts.Retry, func() { b.remove(i) })
	}
}

func (b *Booter) removeNode(i world.Instance, name string) error {
	ctx, cancel := b.call()
	defer cancel()
	nodes := b.opts.Client.CoreV1().Nodes()
	node, err := nodes.Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return err
	}
	if node.Spec.ProviderID != i.ProviderID() {
		return nil // another instance has taken the name
	}
	err = nodes.Delete(ctx, name, metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &node.UID}})
	if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
		return err
	}
	return nil
}
