package trial

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/internal/sim/endurance/invariant"
	"github.com/kerf-sh/kerf/internal/sim/endurance/witness"
)

// markedWithin is how long a person waits until the controller marks a node that has drifted.
const markedWithin = 5 * time.Minute

// balk has a person object to a disruption that the controller has begun, so that it has to be taken back. A node is
// chosen; with an even Pick the person has put a taint on it before that looks like the controller's own. Its class
// changes. When the controller has marked the node, the person adds a taint if there is none, and forbids the disruption:
// of the node, of the pods on it, or by deleting what was launched for them. After For the prohibition ends.
func (t *trial) balk(ctx context.Context, s Step, lasting *sync.WaitGroup) error {
	node, err := t.someNode(ctx, s.Pick, func(n *corev1.Node) bool {
		return len(n.Spec.Taints) == 0 && !t.closed(n.Labels[karpv1.NodePoolLabelKey])
	})
	if err != nil || node == nil {
		return err
	}
	before := s.Pick%2 == 0
	if before {
		taint := karpv1.DisruptedNoScheduleTaint()
		taint.Value = witness.Person
		if err := t.addTaint(ctx, node.Name, taint); err != nil {
			return err
		}
	}
	if err := t.drift(ctx, node.Labels[karpv1.NodePoolLabelKey]); err != nil {
		return err
	}
	t.lasts(lasting, func() error {
		if !t.getsMarked(ctx, string(node.UID)) {
			return nil
		}
		if !before {
			if err := t.addTaint(ctx, node.Name, corev1.Taint{Key: "example.com/mine", Value: witness.Person, Effect: corev1.TaintEffectNoSchedule}); err != nil {
				return err
			}
		}
		if s.Pick/2%3 == 2 {
			return t.deleteYoungest(ctx, node.Labels[karpv1.NodePoolLabelKey])
		}
		return t.forbid(ctx, node.Name, s.Pick/2%3 == 1, t.pace.of(s.For))
	})
	return nil
}

// protect has a person forbid the disruption of a node, or of the pods on it, for a time.
func (t *trial) protect(ctx context.Context, s Step, lasting *sync.WaitGroup) error {
	node, err := t.someNode(ctx, s.Pick, func(*corev1.Node) bool { return true })
	if err != nil || node == nil {
		return err
	}
	t.lasts(lasting, func() error { return t.forbid(ctx, node.Name, s.Pick%2 == 1, t.pace.of(s.For)) })
	return nil
}

// closed reports whether a pool never lets a node go.
func (t *trial) closed(pool string) bool {
	return slices.ContainsFunc(t.s.Pools, func(p Pool) bool { return p.Name == pool && p.Budget == "0" })
}

// lasts does something beside the steps that follow.
func (t *trial) lasts(lasting *sync.WaitGroup, do func() error) {
	lasting.Go(func() {
		if err := do(); err != nil {
			t.mu.Lock()
			defer t.mu.Unlock()
			t.errs = append(t.errs, err)
		}
	})
}

// lasted are the errors of what has lasted.
func (t *trial) lasted() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return errors.Join(t.errs...)
}

// someNode is one of the nodes that pass, nil if none does.
func (t *trial) someNode(ctx context.Context, n int, passes func(*corev1.Node) bool) (*corev1.Node, error) {
	nodes := &corev1.NodeList{}
	if err := t.kube.List(ctx, nodes, client.HasLabels{karpv1.NodePoolLabelKey}); err != nil {
		return nil, err
	}
	nodes.Items = slices.DeleteFunc(nodes.Items, func(n corev1.Node) bool { return !n.DeletionTimestamp.IsZero() || !passes(&n) })
	if len(nodes.Items) == 0 {
		return nil, nil
	}
	return &nodes.Items[n%len(nodes.Items)], nil
}

// getsMarked waits for the mark of a node, and says whether it came in time.
func (t *trial) getsMarked(ctx context.Context, uid string) bool {
	for began := time.Now(); !t.isMarked(uid); t.sleep(ctx, t.pace.Quiet/360) {
		if ctx.Err() != nil || time.Since(began) > t.pace.of(markedWithin) {
			return false
		}
	}
	return true
}

func (t *trial) isMarked(uid string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	n, ok := t.states["node "+uid].state.(invariant.Node)
	return ok && n.Mark != ""
}

// forbid annotates a node, or the pods that are on it now, and takes the annotation off after a time.
func (t *trial) forbid(ctx context.Context, node string, pods bool, d time.Duration) error {
	objects := []client.Object{&corev1.Node{}}
	objects[0].SetName(node)
	if pods {
		objects = nil
		list := &corev1.PodList{}
		if err := t.kube.List(ctx, list); err != nil {
			return err
		}
		for i := range list.Items {
			if p := &list.Items[i]; p.Spec.NodeName == node && p.Annotations[karpv1.DoNotDisruptAnnotationKey] == "" {
				objects = append(objects, p)
			}
		}
	}
	set := func(value string) error {
		var errs []error
		for _, o := range objects {
			errs = append(errs, t.edit(ctx, o, func() {
				annotations := o.GetAnnotations()
				if annotations == nil {
					annotations = map[string]string{}
				}
				if annotations[karpv1.DoNotDisruptAnnotationKey] = value; value == "" {
					delete(annotations, karpv1.DoNotDisruptAnnotationKey)
				}
				o.SetAnnotations(annotations)
			}))
		}
		return errors.Join(errs...)
	}
	if err := set("true"); err != nil {
		return err
	}
	t.sleep(ctx, d)
	return set("")
}

// edit changes an object as it is now; one that is gone is left at that.
func (t *trial) edit(ctx context.Context, o client.Object, change func()) error {
	for {
		if err := t.kube.Get(ctx, client.ObjectKeyFromObject(o), o); err != nil {
			return client.IgnoreNotFound(err)
		}
		change()
		if err := t.kube.Update(ctx, o); !apierrors.IsConflict(err) {
			return client.IgnoreNotFound(err)
		}
	}
}

func (t *trial) addTaint(ctx context.Context, node string, taint corev1.Taint) error {
	n := &corev1.Node{}
	n.Name = node
	return t.edit(ctx, n, func() { n.Spec.Taints = append(n.Spec.Taints, taint) })
}

// deleteYoungest deletes the claim of a pool that was made last, as long as it has no node.
func (t *trial) deleteYoungest(ctx context.Context, pool string) error {
	claims := &karpv1.NodeClaimList{}
	if err := t.kube.List(ctx, claims, client.MatchingLabels{karpv1.NodePoolLabelKey: pool}); err != nil {
		return err
	}
	var youngest *karpv1.NodeClaim
	for i := range claims.Items {
		if c := &claims.Items[i]; c.Status.NodeName == "" && (youngest == nil || c.CreationTimestamp.After(youngest.CreationTimestamp.Time)) {
			youngest = c
		}
	}
	if youngest == nil {
		return nil
	}
	t.say(invariant.Removed, youngest.Name)
	return t.gone(ctx, youngest)
}

// force deletes a claim past its finalizers, and with an odd number its node too: its instance is nobody's then.
func (t *trial) force(ctx context.Context, n int) error {
	claims := &karpv1.NodeClaimList{}
	if err := t.kube.List(ctx, claims, client.HasLabels{karpv1.NodePoolLabelKey}); err != nil || len(claims.Items) == 0 {
		return err
	}
	claim := &claims.Items[n%len(claims.Items)]
	node := &corev1.Node{}
	node.Name = claim.Status.NodeName
	t.say(invariant.Removed, claim.Name)
	for _, o := range []client.Object{claim, node} {
		if o == node && (n%2 == 0 || node.Name == "") {
			continue
		}
		if err := t.gone(ctx, o); err != nil {
			return err
		}
		if err := t.edit(ctx, o, func() { o.SetFinalizers(nil) }); err != nil {
			return err
		}
	}
	return nil
}
