package fidelity

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kerf-sh/kerf/internal/engine/cluster"
)

// places are the nodes that the plan gives to pods.
func (r *Run) places() map[string]string {
	out := map[string]string{}
	put := func(node string, refs []cluster.PodRef) {
		for _, ref := range refs {
			out[ref.Namespace+"/"+ref.Name] = node
		}
	}
	for _, pl := range r.Plan.Placements {
		put(pl.Node, pl.Pods)
	}
	for i := range r.Plan.NewNodes {
		put(fmt.Sprintf("new-%d-%d", r.Case.Seed, i+1), r.Plan.NewNodes[i].Pods)
	}
	return out
}

// attempts is how many orders are tried in which the pods of a plan may come. Where pods spread over two kinds of domains, few
// orders may do: of seed 1786, one in five.
const attempts = 20

// guided lets the scheduler have the pods one after the other, each nominated to its node in the plan, and those that it
// refuses there again after the others. They come in any order at first; when some are refused for good, all begins again:
// with those first that others must not go before, then with those first whose like were refused. It reports whether all are
// bound where the plan puts them.
func (c *Cluster) guided(ctx context.Context, r *Run, pods, planned []*corev1.Pod) (bool, error) {
	order := slices.Clone(planned)
	rng := rand.New(rand.NewPCG(r.Case.Seed, 0x0d))
	rng.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
	tiers := [][]*corev1.Pod{order}
	for attempt := range attempts {
		if err := c.holdAll(ctx, r.Case, pods); err != nil {
			return false, err
		}
		left, err := c.inOrder(ctx, r, tiers)
		if err != nil {
			return false, err
		}
		if len(left) == 0 {
			switch {
			case attempt > 0:
				r.Outcome.Verdict = Ordered
			case r.Outcome.Verdict == "":
				r.Outcome.Verdict = Agreed
			}
			return true, nil
		}
		has := func(p *corev1.Pod) bool {
			return slices.ContainsFunc(left, func(q *corev1.Pod) bool { return alike(p, q) })
		}
		if attempt >= 2 {
			rng.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
		}
		if attempt == 0 {
			has = func(p *corev1.Pod) bool { return len(p.Spec.TopologySpreadConstraints) > 0 }
		}
		first := slices.DeleteFunc(slices.Clone(order), func(p *corev1.Pod) bool { return !has(p) })
		order = append(first, slices.DeleteFunc(order, has)...)
		tiers = [][]*corev1.Pod{order[:len(first)], order[len(first):]}
	}
	r.disagree("%d of %d planned pods are refused at their places: %s", len(r.Refused), len(planned), told(r.Refused, r.places()))
	return false, nil
}

// alike reports whether two pods look the same to each other's spreads and affinity.
func alike(a, b *corev1.Pod) bool {
	return a.Namespace == b.Namespace && maps.Equal(a.Labels, b.Labels) &&
		equality.Semantic.DeepEqual(a.Spec.TopologySpreadConstraints, b.Spec.TopologySpreadConstraints) &&
		equality.Semantic.DeepEqual(a.Spec.Affinity, b.Spec.Affinity)
}

// inOrder nominates the pods, each tier until none of it can be bound any more, and returns those that can't be bound at
// all. Those that were refused are tried again as soon as another is bound: the next one may take what that has made possible.
func (c *Cluster) inOrder(ctx context.Context, r *Run, tiers [][]*corev1.Pod) ([]*corev1.Pod, error) {
	places := r.places()
	r.Bound, r.Refused = map[string]string{}, map[string]string{}
	var left []*corev1.Pod
	for _, tier := range tiers {
		left = append(left, tier...)
		for at := 0; at < len(left); {
			p := left[at]
			refusal, err := c.nominate(ctx, r.Case, p, places[key(p)])
			if err != nil {
				return nil, err
			}
			if refusal != "" {
				r.Refused[key(p)] = refusal
				at++
				continue
			}
			r.Bound[key(p)] = places[key(p)]
			delete(r.Refused, key(p))
			left, at = slices.Delete(left, at, at+1), 0
		}
	}
	return left, nil
}

// told is what the scheduler says, in one paragraph.
func told(refused, places map[string]string) string {
	var out []string
	for _, k := range slices.Sorted(maps.Keys(refused)) {
		at := ""
		if places[k] != "" {
			at = " at " + places[k]
		}
		out = append(out, k+at+": "+refused[k])
		if len(out) == 4 && len(refused) > 4 {
			out = append(out, fmt.Sprintf("and %d more", len(refused)-4))
			break
		}
	}
	return strings.Join(out, "; ")
}

// nominate nominates one pod to the node and waits for the scheduler. When the pod is not bound there it is deleted and
// held again, and refusal says why.
func (c *Cluster) nominate(ctx context.Context, k *Case, pod *corev1.Pod, node string) (refusal string, err error) {
	if err := c.holdAll(ctx, k, []*corev1.Pod{pod}); err != nil {
		return "", err
	}
	patch, err := json.Marshal(map[string]any{"status": map[string]string{"nominatedNodeName": node}})
	if err != nil {
		return "", fmt.Errorf("nominate pod %s: %w", pod.Name, err)
	}
	made, err := c.client.CoreV1().Pods(pod.Namespace).Patch(ctx, pod.Name, types.MergePatchType, patch, metav1.PatchOptions{}, "status")
	if err != nil {
		return "", fmt.Errorf("nominate pod %s: %w", pod.Name, err)
	}
	if err := c.release(ctx, []*corev1.Pod{made}); err != nil {
		return "", err
	}
	bound, refused, err := c.bindings(ctx, []*corev1.Pod{made})
	if err != nil {
		return "", err
	}
	if bound[key(pod)] == node {
		return "", nil
	}
	refusal = refused[key(pod)]
	if at := bound[key(pod)]; at != "" {
		refusal = "the scheduler prefers " + at
	}
	// Left where it is, it would be tried again with whatever comes next.
	return refusal, c.holdAll(ctx, k, []*corev1.Pod{pod})
}

// holdAll makes all of the pods wait untried, those that the scheduler has had already as new pods.
func (c *Cluster) holdAll(ctx context.Context, k *Case, pods []*corev1.Pod) error {
	var stale, fresh []*corev1.Pod
	c.mu.Lock()
	for _, p := range pods {
		now := c.pods[key(p)]
		if now != nil && len(now.Spec.SchedulingGates) > 0 {
			continue
		}
		if now != nil {
			stale = append(stale, now)
		}
		fresh = append(fresh, k.pending(key(p)))
	}
	c.mu.Unlock()
	if len(fresh) == 0 {
		return nil
	}
	if err := c.remove(ctx, stale); err != nil {
		return err
	}
	if err := c.renewVolumes(ctx, k, stale); err != nil {
		return err
	}
	_, err := c.createPods(ctx, held(fresh))
	return err
}

// pending is the pod of this name as the case has it.
func (c *Case) pending(name string) *corev1.Pod {
	return c.Pending[slices.IndexFunc(c.Pending, func(p *corev1.Pod) bool { return key(p) == name })]
}
