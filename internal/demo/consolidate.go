package demo

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/internal/engine/bound"
	"github.com/kerf-sh/kerf/internal/engine/catalog"
	"github.com/kerf-sh/kerf/internal/engine/cluster"
	"github.com/kerf-sh/kerf/internal/engine/pack"
	"github.com/kerf-sh/kerf/internal/engine/plan"
	"github.com/kerf-sh/kerf/internal/engine/record"
)

// atRest is how long nothing must happen until consolidation is held to have ended: longer than the pool's
// consolidateAfter and the time for which a saving must last before it is taken.
const atRest = 12 * time.Second

// consolidate takes most of the work away and tells what becomes of the instances.
func (r *run) consolidate(ctx context.Context) error {
	r.title("5. Most of the work goes: pods move together, instances are terminated or replaced by smaller ones")
	before, paid, moved := r.state.count().claims, r.price(), len(r.moved)
	if err := r.scale(ctx, map[string]int32{"web": 9, "api": 6}); err != nil {
		return err
	}
	p := &karpv1.NodePool{}
	if err := r.client.Get(ctx, client.ObjectKey{Name: "demo"}, p); err != nil {
		return fmt.Errorf("reading NodePool demo: %w", err)
	}
	was := p.DeepCopy()
	p.Spec.Disruption.ConsolidationPolicy = karpv1.ConsolidationPolicyWhenEmptyOrUnderutilized
	if err := r.client.Patch(ctx, p, client.MergeFrom(was)); err != nil {
		return fmt.Errorf("setting the consolidation policy of NodePool demo: %w", err)
	}
	r.line("web is scaled from 30 to 9 pods, api from 20 to 6; NodePool demo may consolidate (WhenEmptyOrUnderutilized); its %d instances cost $%.3f/h", before, paid)
	if err := r.await(ctx, "consolidation comes to rest", func(c counts) bool {
		return c.pods == r.want() && c.running == c.pods && c.terminating == 0 && r.going() == 0 && r.marked("") == 0 && r.state.quiet() > atRest
	}); err != nil {
		return err
	}
	now := r.price()
	r.line("%d instances have become %d; the bill fell from $%.3f/h to $%.3f/h", before, r.state.count().claims, paid, now)
	if len(r.moved) == moved || now >= paid {
		return errors.New("nothing was consolidated")
	}
	if err := r.floor(now); err != nil {
		return err
	}
	return r.whyTheyStay(ctx)
}

// marked counts instances that are to go, or go, for a cause; "" is any.
func (r *run) marked(cause karpv1.DisruptionReason) int {
	r.state.mu.Lock()
	defer r.state.mu.Unlock()
	n := 0
	for _, claim := range r.state.claims {
		if toGo(claim, cause) {
			n++
		}
	}
	return n
}

func toGo(claim *karpv1.NodeClaim, cause karpv1.DisruptionReason) bool {
	c := claim.StatusConditions().Get(karpv1.ConditionTypeDisruptionReason)
	return c.IsTrue() && (cause == "" || c.Reason == string(cause))
}

// floor compares the bill with the least that any instances for these pods could cost.
func (r *run) floor(bill float64) error {
	var last *record.Decision
	for _, d := range r.moved {
		if last == nil || d.Problem.Now.After(last.Problem.Now) {
			last = d
		}
	}
	fresh := *last.Problem
	fresh.Nodes, fresh.Pending = nil, nil
	for _, n := range last.Problem.Nodes {
		for _, p := range n.Pods {
			if pack.Movable(p) {
				fresh.Pending = append(fresh.Pending, unbound(p))
			}
		}
	}
	for _, p := range last.Problem.Pending {
		if !p.Class.Virtual {
			fresh.Pending = append(fresh.Pending, unbound(p))
		}
	}
	slices.SortFunc(fresh.Pending, func(a, b *cluster.Pod) int { return strings.Compare(a.PodRef.String(), b.PodRef.String()) })
	b := bound.Lower(&fresh, pack.Solve(&fresh), bound.Budget{Work: boundWork})
	if _, err := bound.Check(&fresh, b.Certificate); err != nil {
		return fmt.Errorf("the floor of the bill is not proven: %w", err)
	}
	r.line("for these %s no instances could cost less than %s/h, which is proven; the gap is %s",
		plan.Count(len(fresh.Pending), "pod"), fresh.Options.Currency.Amount(b.Bound), percent(catalog.MicroUSD(bill*1e6+.5), b.Bound))
	return nil
}

func unbound(p *cluster.Pod) *cluster.Pod {
	out := *p
	out.Node = ""
	return &out
}

// whyTheyStay tells what the events of the nodes that are left say.
func (r *run) whyTheyStay(ctx context.Context) error {
	var events corev1.EventList
	if err := r.client.List(ctx, &events); err != nil {
		return fmt.Errorf("listing events: %w", err)
	}
	said := map[string]*corev1.Event{}
	for i := range events.Items {
		e := &events.Items[i]
		if e.InvolvedObject.Kind != "Node" || e.Reason != "Unconsolidatable" && e.Reason != "DisruptionBlocked" {
			continue
		}
		if last := said[e.InvolvedObject.Name]; last == nil || !e.LastTimestamp.Before(&last.LastTimestamp) {
			said[e.InvolvedObject.Name] = e
		}
	}
	r.state.mu.Lock()
	staying := make([]*karpv1.NodeClaim, 0, len(r.state.claims))
	for _, claim := range r.state.claims {
		staying = append(staying, claim)
	}
	r.state.mu.Unlock()
	slices.SortFunc(staying, func(a, b *karpv1.NodeClaim) int { return cmp.Compare(a.Name, b.Name) })
	r.line("why the others stay, as their events say (kubectl describe node):")
	for _, claim := range staying {
		text := "no event says why"
		if e := said[claim.Status.NodeName]; e != nil {
			text = e.Message
		}
		r.line("  %s, %s %s at $%.4f/h, %s: %s", claim.Name, claim.Labels[corev1.LabelInstanceTypeStable], claim.Labels[karpv1.CapacityTypeLabelKey], r.priceOf(claim),
			plan.Count(r.podsOn(claim.Status.NodeName), "pod"), text)
	}
	return nil
}
