// Package guestmemory learns from nodes that join how much memory instances of their type really have and how much their kubelets
// leave to pods, and keeps what was learned in a ConfigMap, so that a restart does not begin with estimates again.
package guestmemory

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	awsv1 "github.com/kerf-sh/kerf/api/aws/v1"
	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/internal/controller/backoff"
	"github.com/kerf-sh/kerf/internal/controller/index"
	"github.com/kerf-sh/kerf/internal/controller/obs"
	"github.com/kerf-sh/kerf/internal/engine/res"
	"github.com/kerf-sh/kerf/internal/state/intake"
)

// Book is where amounts are kept.
type Book interface {
	// Learn takes in the memory in bytes of a node, told by its UID; it reports whether that changes what is planned with.
	Learn(instanceType, image, node string, bytes int64) bool
	// LearnLeft takes in what a kubelet leaves to pods of a resource, and what was planned, as in res.List. The class is the
	// hash of its settings.
	LearnLeft(instanceType, image, class, node, resource string, amount, planned int64) bool
	// Version rises whenever there is something new to keep; Text writes everything, Take reads it.
	Version() uint64
	Text() (text string, version uint64)
	Take(text string) error
	// Forget drops all but what was learned since Text.
	Forget()
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
			return !maps.Equal(told(e.ObjectOld), told(e.ObjectNew)) || providerOf(e.ObjectOld) != providerOf(e.ObjectNew)
		},
		DeleteFunc: func(event.DeleteEvent) bool { return false },
	}
	return ctrl.NewControllerManagedBy(mgr).Named("node.guestmemory").
		For(&corev1.Node{}, builder.WithPredicates(reports)).
		WithOptions(controller.Options{RateLimiter: backoff.Usual()}).
		Complete(c.Metrics.Guard(c.Log, "node.guestmemory", c))
}

// told is what is learned from a node: its memory, under "", and what it leaves to pods once it is ready.
func told(o client.Object) map[string]int64 {
	n, ok := o.(*corev1.Node)
	if !ok {
		return nil
	}
	out := map[string]int64{"": n.Status.Capacity.Memory().Value()}
	if index.Ready(n) {
		left := intake.Resources(n.Status.Allocatable)
		for _, r := range []string{res.CPU, res.Memory, res.EphemeralStorage, res.Pods} {
			out[r] = left[r]
		}
		// Huge pages are set aside by somebody on this node. Of others it is not known, and they are a resource of their own.
		for name, q := range n.Status.Capacity {
			if strings.HasPrefix(string(name), corev1.ResourceHugePagesPrefix) {
				out[res.Memory] += q.Value()
			}
		}
	}
	return out
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
		c.learn(node, claim)
	}
	return reconcile.Result{}, nil
}

func (c *Controller) learn(node *corev1.Node, claim *karpv1.NodeClaim) {
	name, image, class := claim.Labels[corev1.LabelInstanceTypeStable], claim.Status.ImageID, claim.Annotations[awsv1.AnnotationEC2NodeClassHash]
	planned, has := intake.Resources(claim.Status.Allocatable), told(node)
	if c.Book.Learn(name, image, string(node.UID), has[""]) {
		c.Log.Info("learned how much memory an instance type leaves its nodes", "instance_type", name, "image", image, "bytes", has[""], "node", node.Name)
	}
	delete(has, "")
	for _, r := range slices.Sorted(maps.Keys(has)) {
		if c.Book.LearnLeft(name, image, class, string(node.UID), r, has[r], planned[r]) {
			c.Log.Info("a node leaves less to pods than was planned; the next plan counts on that",
				"resource", r, "left", has[r], "planned", planned[r], "instance_type", name, "image", image, "node", node.Name)
		}
	}
}
