package actors

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
)

// orphanTime is how long a node must be gone before its pods are taken for lost.
const orphanTime = 40 * time.Second

// ownerEvery is how often it is looked whether the NodeClaims of nodes are there.
const ownerEvery = 30 * time.Second

// collect deletes pods and replica sets whose owner is gone, nodes whose NodeClaim is, and pods whose node is. What others
// own is left to them.
//
// It looks for them when an owner or a node has gone, and now and then: one may have made a pod while it was going.
func (c *Actors) collect(ctx context.Context) (time.Duration, error) {
	var next soonest
	var errs []error
	if time.Since(c.ownersSeen) >= ownerEvery {
		c.ownersSeen = time.Now()
		errs = append(errs, c.collectNodes(ctx))
	}
	next.in(ownerEvery - time.Since(c.ownersSeen))
	if c.lost.Swap(false) || len(c.orphans) > 0 || time.Since(c.lostSeen) >= ownerEvery {
		c.lostSeen = time.Now()
		wait, err := c.collectLost(ctx)
		if errs = append(errs, err); wait > 0 {
			next.in(wait)
		}
	}
	return time.Duration(next), errors.Join(errs...)
}

// collectLost deletes pods and replica sets whose owner is gone, and pods whose node is.
func (c *Actors) collectLost(ctx context.Context) (time.Duration, error) {
	sets, err := c.replicaSets.List(labels.Everything())
	if err != nil {
		return 0, err
	}
	known := map[types.UID]bool{} // owners that are missing, and those that are not
	lost := func(o metav1.Object) bool {
		owner := metav1.GetControllerOfNoCopy(o)
		if owner == nil || o.GetDeletionTimestamp() != nil {
			return false
		}
		gone, ok := known[owner.UID]
		if !ok {
			gone = c.missing(o.GetNamespace(), owner)
			known[owner.UID] = gone
		}
		return gone
	}
	sets, _ = inOrder(slices.DeleteFunc(sets, func(rs *appsv1.ReplicaSet) bool { return !lost(rs) }), nil)
	var errs []error
	for _, rs := range sets {
		errs = append(errs, passed(c.o.Client.AppsV1().ReplicaSets(rs.Namespace).Delete(ctx, rs.Name, metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &rs.UID}})))
	}
	pods, err := c.allPods()
	if err != nil {
		return 0, err
	}
	clear(known) // the writes took time
	orphans := map[types.UID]time.Time{}
	pods, _ = inOrder(slices.DeleteFunc(pods, func(p *corev1.Pod) bool {
		since, homeless := c.homeless(p)
		if homeless {
			orphans[p.UID] = since
		}
		return !homeless && !lost(p)
	}), nil)
	c.orphans = orphans
	var next soonest
	for _, p := range pods {
		if lost(p) {
			errs = append(errs, passed(c.o.Client.CoreV1().Pods(p.Namespace).Delete(ctx, p.Name, metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &p.UID}})))
		}
		if since, homeless := orphans[p.UID]; !homeless {
			continue
		} else if wait := time.Until(since.Add(orphanTime)); wait > 0 {
			next.in(wait)
		} else {
			errs = append(errs, passed(c.erase(ctx, p)))
		}
	}
	return time.Duration(next), errors.Join(errs...)
}

// missing tells of an owner that it knows and that is not there.
func (c *Actors) missing(namespace string, o *metav1.OwnerReference) bool {
	var found metav1.Object
	var err error
	switch o.Kind {
	case "ReplicaSet":
		found, err = c.replicaSets.ReplicaSets(namespace).Get(o.Name)
	case "Deployment":
		found, err = c.deployments.Deployments(namespace).Get(o.Name)
	case "DaemonSet":
		found, err = c.daemonSets.DaemonSets(namespace).Get(o.Name)
	default:
		return false
	}
	return err != nil || found.GetUID() != o.UID
}

// homeless tells whether a pod's node is gone, and since when that is known.
func (c *Actors) homeless(p *corev1.Pod) (since time.Time, gone bool) {
	if p.Spec.NodeName == "" {
		return time.Time{}, false
	}
	if _, err := c.nodes.Get(p.Spec.NodeName); err == nil {
		return time.Time{}, false
	}
	since, ok := c.orphans[p.UID]
	if !ok {
		since = time.Now()
	}
	return since, true
}

// collectNodes deletes the nodes whose NodeClaim is gone.
func (c *Actors) collectNodes(ctx context.Context) error {
	nodes, err := inOrder(c.nodes.List(labels.Everything()))
	if err != nil {
		return err
	}
	owned := slices.DeleteFunc(nodes, func(n *corev1.Node) bool { return n.DeletionTimestamp != nil || claimOf(n) == nil })
	if len(owned) == 0 {
		return nil
	}
	// The actors's client knows the built-in kinds; of these others it needs no more than their metadata.
	text, err := c.o.Client.CoreV1().RESTClient().Get().AbsPath("/apis/karpenter.sh/v1/nodeclaims").DoRaw(ctx)
	if err != nil {
		return fmt.Errorf("list nodeclaims: %w", err)
	}
	there := uidsIn(text)
	var errs []error
	for _, n := range owned {
		if there[string(claimOf(n).UID)] {
			continue
		}
		errs = append(errs, passed(c.o.Client.CoreV1().Nodes().Delete(ctx, n.Name, metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &n.UID}})))
	}
	return errors.Join(errs...)
}

// uidsIn are the UIDs in an answer of the API, those of the owners of its objects among them. Nothing else of them is wanted, and to decode a
// list of claims would cost more than all else that is collected.
func uidsIn(text []byte) map[string]bool {
	out, field := map[string]bool{}, []byte(`"uid":"`)
	for {
		_, rest, found := bytes.Cut(text, field)
		uid, left, ends := bytes.Cut(rest, []byte(`"`))
		if !found || !ends {
			return out
		}
		out[string(uid)], text = true, left
	}
}

// claimOf is the only owner of a node, if that is a NodeClaim.
func claimOf(n *corev1.Node) *metav1.OwnerReference {
	if len(n.OwnerReferences) != 1 || n.OwnerReferences[0].Kind != "NodeClaim" {
		return nil
	}
	return &n.OwnerReferences[0]
}
