package provision

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kerf-sh/kerf/internal/engine/cluster"
	"github.com/kerf-sh/kerf/internal/engine/plan"
	"github.com/kerf-sh/kerf/internal/state/cache"
)

const (
	// bootTime is about how long an instance takes until pods run on it (30 to 50 s on EKS): room for pods that come
	// meanwhile is not paid for before it is needed.
	bootTime = 40 * time.Second
	// mostOwners bounds how many objects are read for one decision.
	mostOwners = 10
	// mostFollow bounds how many pods are expected for each that came: a slip such as a million replicas must not fill the memory,
	// and what comes later than that is decided on later. With 10, pods that come one a second get five instances in place of three.
	mostFollow = 30
)

// expected knows which pods are likely to follow those of a batch. A batch that is part of something larger is decided on
// together with what is still to come: not to launch anything for pods that do not exist, but to launch for those that do
// what is cheapest for all. Without it, a burst that lasts longer than one wait, or pods that come one after the other,
// would get the small instances that fit each part best.
//
// What is to come is how many pods the owners are still going to create, while they do: those that they have stopped creating, for a
// ResourceQuota or a webhook that refuses them, do not come. Where no owner knows, a stream of pods is taken to
// last as long again as it has, but no longer than an instance takes to boot.
//
// Concurrency: not safe; decisions are made one after the other.
type expected struct {
	came []came
}

// came is how many pods of a shape came at a time.
type came struct {
	at     time.Time
	shape  string
	pods   int
	owners []types.UID // "" for a pod without
}

// kind are the pods of a batch that ask for the same amounts.
type kind struct {
	newest *cluster.Pod
	pods   int
	owners map[cache.Owner]bool
}

// pods are those that are expected after the batch, with names that no pod can have.
func (x *expected) pods(ctx context.Context, batch arrivals, pending []*cluster.Pod, now time.Time, missing func(context.Context, cache.Owner) (int, bool)) []*cluster.Pod {
	x.came = slices.DeleteFunc(x.came, func(c came) bool { return now.Sub(c.at) > bootTime })
	if len(batch.pods) == 0 {
		return nil
	}
	kinds := kindsOf(batch.pods, pending)
	var out []*cluster.Pod
	for _, shape := range slices.Sorted(maps.Keys(kinds)) {
		k := kinds[shape]
		uids := make([]types.UID, 0, len(k.owners))
		for o := range k.owners {
			uids = append(uids, o.UID)
		}
		x.came = append(x.came, came{now, shape, k.pods, uids})
		n := x.following(ctx, shape, k, batch, missing)
		for range n {
			p := *k.newest
			name := fmt.Sprintf("~expected %06d", len(out)) // comes last in every order
			p.PodRef = cluster.PodRef{Namespace: p.Namespace, Name: name, UID: name}
			p.CreatedAt = now
			out = append(out, &p)
		}
	}
	return out
}

// following is how many more pods of a shape are expected.
func (x *expected) following(ctx context.Context, shape string, k *kind, batch arrivals, missing func(context.Context, cache.Owner) (int, bool)) int {
	if !placedAlone(k.newest.Class) {
		return 0
	}
	recent, owners := 0, map[types.UID]bool{}
	for _, c := range x.came {
		if c.shape != shape {
			continue
		}
		recent += c.pods
		for _, uid := range c.owners {
			owners[uid] = true
		}
	}
	// Where each pod has an owner of its own, as those of many small jobs, no owner knows what is to come.
	if known := len(owners) == 1 || len(owners) < recent; known && !owners[""] && missing != nil && len(k.owners) <= mostOwners {
		if !batch.flows && !batch.stream && recent > 1 { // one by itself may be the first of many that come one after the other
			return 0
		}
		sum := 0
		for _, o := range slices.SortedFunc(maps.Keys(k.owners), func(a, b cache.Owner) int {
			return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name), cmp.Compare(a.UID, b.UID))
		}) {
			n, _ := missing(ctx, o)
			sum += max(n, 0)
		}
		return min(sum, mostFollow*recent)
	}
	if batch.stream {
		return recent
	}
	return 0
}

// kindsOf are the pods of a batch that still wait, by what they ask for.
func kindsOf(batch []arrival, pending []*cluster.Pod) map[string]*kind {
	waiting := make(map[types.NamespacedName]*cluster.Pod, len(pending))
	for _, p := range pending {
		waiting[types.NamespacedName{Namespace: p.Namespace, Name: p.Name}] = p
	}
	out := map[string]*kind{}
	for _, a := range batch {
		p := waiting[types.NamespacedName{Namespace: a.owner.Namespace, Name: a.name}]
		if p == nil || p.Class == nil {
			continue
		}
		shape := fmt.Sprint(p.Class.Requests)
		k := out[shape]
		if k == nil {
			k = &kind{owners: map[cache.Owner]bool{}}
			out[shape] = k
		}
		k.newest = p
		k.pods++
		k.owners[a.owner] = true
	}
	return out
}

// placedAlone reports whether where a pod may go does not depend on other pods: a plan that counts on some that never come
// would be wrong for one whose place does.
func placedAlone(c *cluster.Class) bool {
	return len(c.Spreads)+len(c.PodAffinity)+len(c.AntiAffinity)+len(c.HostPorts)+len(c.Volumes)+len(c.Attach)+len(c.Shared) == 0 && !c.Virtual && c.Unplaceable == ""
}

// withPending is a snapshot with more pods that wait.
func withPending(s *cluster.Snapshot, more []*cluster.Pod) *cluster.Snapshot {
	if len(more) == 0 {
		return s
	}
	out := *s
	out.Pending = append(slices.Clone(s.Pending), more...)
	return &out
}

// leavesOut reports whether a plan has no place for a pod that exists.
func leavesOut(p *plan.Plan, more []*cluster.Pod) bool {
	expected := refsOf(more)
	return slices.ContainsFunc(p.Unplaced, func(u plan.Unplaced) bool {
		return slices.ContainsFunc(u.Pods, func(ref cluster.PodRef) bool { return !expected[ref] })
	})
}

// without is the part of a plan that is for pods that exist.
func without(p *plan.Plan, more []*cluster.Pod) *plan.Plan {
	if len(more) == 0 {
		return p
	}
	expected := refsOf(more)
	existing := func(pods []cluster.PodRef) []cluster.PodRef {
		return slices.DeleteFunc(slices.Clone(pods), func(ref cluster.PodRef) bool { return expected[ref] })
	}
	out := *p
	out.NewNodes, out.Placements, out.Unplaced, out.Price = nil, nil, nil, 0
	for _, n := range p.NewNodes {
		if n.Pods = existing(n.Pods); len(n.Pods) > 0 {
			out.NewNodes = append(out.NewNodes, n)
			out.Price += n.Price
		}
	}
	for _, x := range p.Placements {
		if x.Pods = existing(x.Pods); len(x.Pods) > 0 {
			out.Placements = append(out.Placements, x)
		}
	}
	for _, u := range p.Unplaced {
		if u.Pods = existing(u.Pods); len(u.Pods) > 0 {
			out.Unplaced = append(out.Unplaced, u)
		}
	}
	return &out
}

func refsOf(pods []*cluster.Pod) map[cluster.PodRef]bool {
	out := make(map[cluster.PodRef]bool, len(pods))
	for _, p := range pods {
		out[p.PodRef] = true
	}
	return out
}
