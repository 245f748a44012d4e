// Package witness watches both APIs of a run and tells an invariant's judge what it sees. It uses connections of its own, so
// that trouble between the controller and the APIs does not blind it.
package witness

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/internal/sim/endurance/invariant"
)

// pause is how long a watch that ended waits for its successor.
const pause = 100 * time.Millisecond

// Kubernetes tells of nodeclaims, nodes, pods, nodepools and pod disruption budgets until ctx ends. see is called from
// several goroutines.
func Kubernetes(ctx context.Context, c client.WithWatch, see func(invariant.Event)) {
	budgets := newGuards()
	go follow(ctx, c, &karpv1.NodePoolList{}, func(o client.Object, gone bool) {
		see(invariant.Event{At: time.Now(), Gone: gone, Pool: pool(o.(*karpv1.NodePool))})
	})
	go follow(ctx, c, &policyv1.PodDisruptionBudgetList{}, func(o client.Object, gone bool) {
		g := o.(*policyv1.PodDisruptionBudget)
		budgets.keep(g, gone)
		see(invariant.Event{At: time.Now(), Gone: gone, Guard: &invariant.Guard{Key: g.Namespace + "/" + g.Name, Allowed: int(g.Status.DisruptionsAllowed)}})
	})
	go follow(ctx, c, &karpv1.NodeClaimList{}, func(o client.Object, gone bool) {
		see(invariant.Event{At: time.Now(), Gone: gone, Claim: claim(o.(*karpv1.NodeClaim))})
	})
	go follow(ctx, c, &corev1.NodeList{}, func(o client.Object, gone bool) {
		if n := o.(*corev1.Node); n.Spec.ProviderID != "" {
			see(invariant.Event{At: time.Now(), Gone: gone, Node: node(n)})
		}
	})
	go follow(ctx, c, &corev1.PodList{}, func(o client.Object, gone bool) {
		see(invariant.Event{At: time.Now(), Gone: gone, Pod: pod(o.(*corev1.Pod), budgets)})
	})
}

// follow lists and watches objects of a kind; what vanished between two watches is told as gone.
func follow(ctx context.Context, c client.WithWatch, list client.ObjectList, tell func(o client.Object, gone bool)) {
	known := map[types.UID]client.Object{}
	for ctx.Err() == nil {
		fresh := list.DeepCopyObject().(client.ObjectList)
		if err := c.List(ctx, fresh); err == nil {
			compare(fresh, known, tell)
			if w, err := c.Watch(ctx, fresh, from(fresh)); err == nil {
				drain(ctx, w, known, tell)
			}
		}
		select {
		case <-ctx.Done():
		case <-time.After(pause):
		}
	}
}

func compare(list client.ObjectList, known map[types.UID]client.Object, tell func(client.Object, bool)) {
	now := map[types.UID]bool{}
	for _, o := range objects(list) {
		now[o.GetUID()] = true
		if old := known[o.GetUID()]; old == nil || old.GetResourceVersion() != o.GetResourceVersion() {
			known[o.GetUID()] = o
			tell(o, false)
		}
	}
	for uid, o := range known {
		if !now[uid] {
			delete(known, uid)
			tell(o, true)
		}
	}
}

func drain(ctx context.Context, w watch.Interface, known map[types.UID]client.Object, tell func(client.Object, bool)) {
	defer w.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case e, ok := <-w.ResultChan():
			o, isObject := e.Object.(client.Object)
			switch {
			case !ok || e.Type == watch.Error:
				return
			case !isObject || e.Type == watch.Bookmark:
			case e.Type == watch.Deleted:
				delete(known, o.GetUID())
				tell(o, true)
			default:
				known[o.GetUID()] = o
				tell(o, false)
			}
		}
	}
}

// from makes a watch begin where a list ended.
func from(list client.ObjectList) client.ListOption {
	return &client.ListOptions{Raw: &metav1.ListOptions{ResourceVersion: list.GetResourceVersion()}}
}
