package kubelet

import (
	"context"
	"fmt"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/retry"
)

const (
	// renewEvery is how often a kubelet renews its Lease.
	renewEvery = 10 * time.Second
	// leaseDuration is how long a Lease of a kubelet holds.
	leaseDuration = 40 * time.Second
)

// register makes the node, or makes it ready again where somebody has deleted it or called it dead.
func (n *Node) register(ctx context.Context) error {
	nodes := n.Client.CoreV1().Nodes()
	err := retry.RetryOnConflict(retry.DefaultBackoff, func() error { // the controllers write to a new node, too
		node, err := nodes.Get(ctx, n.Object.Name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			node, err = nodes.Create(ctx, n.Object.DeepCopy(), metav1.CreateOptions{})
		}
		if err != nil || nodeReady(node) {
			return err
		}
		node.Status = n.status()
		_, err = nodes.UpdateStatus(ctx, node, metav1.UpdateOptions{})
		return err
	})
	if err != nil {
		return fmt.Errorf("register node %s: %w", n.Object.Name, err)
	}
	return nil
}

func nodeReady(node *corev1.Node) bool {
	for _, c := range node.Status.Conditions {
		if c.Type == corev1.NodeReady {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}

// status is that of a healthy node whose log server listens.
func (n *Node) status() corev1.NodeStatus {
	now := metav1.Now()
	s := *n.Object.Status.DeepCopy()
	s.Conditions = nil
	for _, c := range []struct {
		kind   corev1.NodeConditionType
		status corev1.ConditionStatus
		reason string
	}{
		{corev1.NodeReady, corev1.ConditionTrue, "KubeletReady"},
		{corev1.NodeMemoryPressure, corev1.ConditionFalse, "KubeletHasSufficientMemory"},
		{corev1.NodeDiskPressure, corev1.ConditionFalse, "KubeletHasNoDiskPressure"},
		{corev1.NodePIDPressure, corev1.ConditionFalse, "KubeletHasSufficientPID"},
	} {
		s.Conditions = append(s.Conditions, corev1.NodeCondition{Type: c.kind, Status: c.status, Reason: c.reason, LastHeartbeatTime: now, LastTransitionTime: now})
	}
	s.DaemonEndpoints.KubeletEndpoint.Port = int32(n.logs.port())
	return s
}

// heartbeat renews the Lease and keeps the node registered until ctx ends.
func (n *Node) heartbeat(ctx context.Context) {
	tick := time.NewTicker(renewEvery)
	defer tick.Stop()
	for {
		if err := n.renew(ctx); err != nil && ctx.Err() == nil {
			n.Report(fmt.Sprintf("renew the lease of node %s: %v; trying again in %s", n.Object.Name, err, renewEvery))
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if err := n.register(ctx); err != nil && ctx.Err() == nil {
			n.Report(fmt.Sprintf("%v; trying again in %s", err, renewEvery))
		}
	}
}

func (n *Node) renew(ctx context.Context) error {
	leases := n.Client.CoordinationV1().Leases(corev1.NamespaceNodeLease)
	lease, err := leases.Get(ctx, n.Object.Name, metav1.GetOptions{})
	absent := apierrors.IsNotFound(err)
	if absent {
		lease, err = &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: n.Object.Name, Namespace: corev1.NamespaceNodeLease}}, nil
	}
	if err != nil {
		return err
	}
	lease.Spec.HolderIdentity, lease.Spec.RenewTime = &n.Object.Name, new(metav1.NowMicro())
	lease.Spec.LeaseDurationSeconds = new(int32(leaseDuration / time.Second))
	if absent {
		_, err = leases.Create(ctx, lease, metav1.CreateOptions{})
	} else {
		_, err = leases.Update(ctx, lease, metav1.UpdateOptions{})
	}
	return err
}
