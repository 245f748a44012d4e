// Package guestmemory learns from nodes that join how much memory instances of their type really have, and keeps what was
// learned in a ConfigMap, so that a restart does not begin with estimates again.
package guestmemory

import (
	"context"
	"log/slog"

	corev1 "k8s.io/api/core/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/kerf-sh/kerf/internal/controller/index"
	"github.com/kerf-sh/kerf/internal/controller/obs"
)

// Book is where amounts are kept.
type Book interface {
	// Learn takes in the memory in bytes of a node; it reports whether that changes what is planned with.
	Learn(instanceType, image string, bytes int64) bool
	// Version rises whenever there is something new to keep; Text writes everything, Take reads it.
	Version() uint64
	Text() (text string, version uint64)
	Take(text string) error
}

// Controller reads nodes.
type Controller struct {
	Client  client.Client
	Book    Book
	Metrics *obs.Metrics
	Log     *slog.Logger
}

// Register adds the controller to mgr.
func (c *Controller) Register(mgr ctrl.Manager) error {
	reports := predicate.Funcs{
		UpdateFunc: func(e event.UpdateEvent) bool {
			return memoryOf(e.ObjectOld) != memoryOf(e.ObjectNew) || providerOf(e.ObjectOld) != providerOf(e.ObjectNew)
		},
		DeleteFunc: func(event.DeleteEvent) bool { return false },
	}
	return ctrl.NewControllerManagedBy(mgr).Named("node.guestmemory").
		For(&corev1.Node{}, builder.WithPredicates(reports)).
		Complete(c.Metrics.Guard(c.Log, "node.guestmemory", c))
}

func memoryOf(o client.Object) int64 {
	if n, ok := o.(*corev1.Node); ok {
		return n.Status.Capacity.Memory().Value()
	}
	return 0
}

func providerOf(o client.Object) string {
	if n, ok := o.(*corev1.Node); ok {
		return n.Spec.ProviderID
	}
	return ""
}

// Reconcile learns from one node. Only nodes with a NodeClaim count: of others it is not known what they booted. Type and
// image are what EC2 said of the instance: a kubelet may write the labels of its node itself, and what it says of another
// type would count for all instances of that.
func (c *Controller) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	node := &corev1.Node{}
	if err := c.Client.Get(ctx, req.NamespacedName, node); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	claims, err := index.ClaimsOfNode(ctx, c.Client, node)
	if err != nil {
		return reconcile.Result{}, err
	}
	for _, claim := range claims {
		name, bytes := claim.Labels[corev1.LabelInstanceTypeStable], memoryOf(node)
		if c.Book.Learn(name, claim.Status.ImageID, bytes) {
			c.Log.Info("learned how much memory an instance type leaves its nodes", "instance_type", name, "image", claim.Status.ImageID, "bytes", bytes, "node", node.Name)
		}
	}
	return reconcile.Result{}, nil
}
