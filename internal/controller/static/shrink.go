package static

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"

	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/internal/controller/deadline"
	"github.com/kerf-sh/kerf/internal/controller/events"
	"github.com/kerf-sh/kerf/internal/controller/index"
	"github.com/kerf-sh/kerf/internal/controller/story"
	"github.com/kerf-sh/kerf/internal/engine/cluster"
	"github.com/kerf-sh/kerf/internal/state/intake"
)

// Ranks of instances, in the order in which they are ended.
const (
	unlaunched = iota
	unready
	empty
	used
	protected
)

// candidate is an instance that may be ended.
type candidate struct {
	node  *cluster.Node
	claim *karpv1.NodeClaim
	rank  int
	cost  float64
}

// shrink ends instances that are too many: those that were not launched yet, then those that are not ready, then those
// that hold nothing, then those whose end disturbs least, and last those with pods that ask not to be disrupted. It asks no budgets, but what it ends
// counts against them; the pods leave as from any node that goes.
func (c *Controller) shrink(ctx context.Context, pool *karpv1.NodePool, n count, surplus int) error {
	now := c.o.Clock.Now()
	var list []candidate
	for _, node := range n.free {
		if claim := c.o.State.Claim(node.Claim); claim != nil {
			list = append(list, c.judge(node, claim, now))
		}
	}
	slices.SortFunc(list, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(a.rank, b.rank), cmp.Compare(a.cost, b.cost), cmp.Compare(a.node.Name, b.node.Name))
	})
	var errs []error
	for _, x := range list[:min(surplus, len(list))] {
		errs = append(errs, c.end(ctx, pool, x))
	}
	return errors.Join(errs...)
}

// judge ranks an instance and prices the disturbance: what its pods cost, times the part of its life that is left.
func (c *Controller) judge(node *cluster.Node, claim *karpv1.NodeClaim, now time.Time) candidate {
	out := candidate{node: node, claim: claim, rank: empty, cost: 1}
	if !node.Launched {
		out.rank = unlaunched
		return out
	}
	held := node.DoNotDisrupt
	if node.Virtual > 0 {
		out.rank = used
	}
	for _, p := range node.Pods {
		pod := c.o.State.Pod(p.PodRef)
		if pod == nil || p.Terminating {
			continue
		}
		if h, _ := intake.HeldUntil(pod, now); h {
			held = true
		}
		if p.Daemon || p.Mirror {
			continue
		}
		out.rank = used
		out.cost += max(0, podCost(pod))
	}
	switch {
	case held:
		out.rank = protected
	case !node.Initialized || !node.Ready:
		out.rank = unready
	}
	if life := claim.Spec.ExpireAfter.Duration; life != nil && *life > 0 {
		left := float64(claim.CreationTimestamp.Add(*life).Sub(now)) / float64(*life)
		out.cost *= min(max(left, 0), 1)
	}
	return out
}

// podCost is what the eviction of a pod costs, from -10 to 10.
//
// Source: the Karpenter v1 API's documentation of disruption costs.
func podCost(pod *corev1.Pod) float64 {
	cost := 1.0
	if v, err := strconv.ParseFloat(pod.Annotations[karpv1.PodDeletionCostAnnotationKey], 64); err == nil && !math.IsNaN(v) {
		cost += v / (1 << 27)
	}
	if pod.Spec.Priority != nil {
		cost += float64(*pod.Spec.Priority) / (1 << 25)
	}
	return min(max(cost, -10), 10)
}

func (c *Controller) end(ctx context.Context, pool *karpv1.NodePool, x candidate) error {
	if begun, err := deadline.Delete(ctx, c.o.Client, x.claim); err != nil || !begun {
		return err
	}
	c.ended[x.claim.UID] = true
	index.Tell(ctx, c.o.Client, c.o.Recorder, x.claim.DeepCopy(), corev1.EventTypeNormal, events.DisruptionTerminating, fmt.Sprintf("NodePool %s is to have %d nodes, and has more", pool.Name, *pool.Spec.Replicas))
	index.Disrupted(ctx, c.o.Client, c.o.Metrics, x.claim, "scale_down", index.TerminationMode(x.claim))
	c.o.Log.Info("ending a node of a static nodepool that has too many", append(story.Of(x.claim), "nodepool", pool.Name, "replicas", *pool.Spec.Replicas, "nodeclaim", x.claim.Name, "node", x.node.Name, "pods", len(x.node.Pods))...)
	return nil
}
