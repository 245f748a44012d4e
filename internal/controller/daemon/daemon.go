// Package daemon tells of pods of DaemonSets that wait because their node is full. Such a pod can run on that node only, so
// that no launch helps it, and a DaemonSet that is added to a cluster whose nodes are full waits in silence otherwise.
package daemon

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/kerf-sh/kerf/internal/controller/backoff"
	"github.com/kerf-sh/kerf/internal/controller/events"
	"github.com/kerf-sh/kerf/internal/controller/obs"
	"github.com/kerf-sh/kerf/internal/engine/cluster"
	"github.com/kerf-sh/kerf/internal/engine/res"
	"github.com/kerf-sh/kerf/internal/state/intake"
)

// Repeat is how often it is told again while the pod waits.
const Repeat = 5 * time.Minute

// State knows the nodes.
type State interface{ Snapshot() *cluster.Snapshot }

// Controller writes an event on each such pod.
type Controller struct {
	Client client.Client
	State  State
	// Recorder leaves out what it has recorded within Repeat: the scheduler tries such a pod again and again.
	Recorder *obs.Recorder
	Metrics  *obs.Metrics
	Log      *slog.Logger
}

// Register adds the controller to mgr.
func (c *Controller) Register(mgr ctrl.Manager) error {
	waits := predicate.NewPredicateFuncs(func(o client.Object) bool {
		pod, ok := o.(*corev1.Pod)
		return ok && intake.IsDaemon(pod) && intake.Refused(pod)
	})
	return ctrl.NewControllerManagedBy(mgr).Named("pod.daemon").
		For(&corev1.Pod{}, builder.WithPredicates(waits)).
		WithOptions(controller.Options{RateLimiter: backoff.Usual()}).
		Complete(c.Metrics.Guard(c.Log, "pod.daemon", c))
}

// Reconcile tells of one pod.
func (c *Controller) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	pod := &corev1.Pod{}
	if err := c.Client.Get(ctx, req.NamespacedName, pod); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	text := Waits(pod, c.State.Snapshot())
	if text == "" {
		return reconcile.Result{}, nil
	}
	c.Recorder.Event(pod, corev1.EventTypeWarning, events.FailedScheduling, text)
	return reconcile.Result{RequeueAfter: Repeat}, nil
}

// Waits says why a pod of a DaemonSet waits and what will become of it, if what it lacks is room on its node and the node is
// one of Kerf's; else it is empty.
func Waits(pod *corev1.Pod, snapshot *cluster.Snapshot) string {
	if !intake.IsDaemon(pod) || !intake.Refused(pod) {
		return ""
	}
	name := nodeOf(pod)
	at := slices.IndexFunc(snapshot.Nodes, func(n *cluster.Node) bool { return n.Name == name })
	if name == "" || at < 0 {
		return ""
	}
	node := snapshot.Nodes[at]
	if node.Claim == "" || node.Deleting || node.Leaving {
		return ""
	}
	lacks := short(intake.PodRequests(pod), node)
	if lacks == "" {
		return ""
	}
	return fmt.Sprintf("the pod of DaemonSet %s can run on node %s only, which has no room for it: %s. Nothing is launched for it. It starts once pods leave the node, or on the node that comes in its place; "+
		"nodes that are launched from now on have room for it. With a priorityClassName above that of other pods the scheduler makes room at once; kubectl delete nodeclaim %s replaces the node",
		intake.DaemonSetName(pod), name, lacks, node.Claim)
}

// nodeOf is the node that the DaemonSet controller has tied the pod to.
func nodeOf(pod *corev1.Pod) string {
	a := pod.Spec.Affinity
	if a == nil || a.NodeAffinity == nil || a.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution == nil {
		return ""
	}
	for _, term := range a.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms {
		for _, f := range term.MatchFields {
			if f.Key == "metadata.name" && f.Operator == corev1.NodeSelectorOpIn && len(f.Values) == 1 {
				return f.Values[0]
			}
		}
	}
	return ""
}

// short is what a node has too little of.
func short(want res.List, node *cluster.Node) string {
	var out []string
	for _, resource := range slices.Sorted(maps.Keys(want)) {
		free := node.Allocatable[resource] - node.Used[resource]
		if want[resource] > max(0, free) {
			out = append(out, fmt.Sprintf("it asks for %s of %s, and %s of %s are free",
				res.Format(resource, want[resource]), resource, res.Format(resource, max(0, free)), res.Format(resource, node.Allocatable[resource])))
		}
	}
	return strings.Join(out, "; ")
}
