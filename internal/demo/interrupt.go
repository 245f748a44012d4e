package demo

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/internal/engine/plan"
)

func (r *run) interrupt(ctx context.Context) error {
	victim, pods := r.spotInstance()
	if victim == nil {
		return errors.New("no spot instance holds pods, so none can be interrupted")
	}
	r.title("4. AWS takes spot instance %s back in two minutes; %d pods run on it", victim.Name, pods)
	id := victim.Status.ProviderID[strings.LastIndexByte(victim.Status.ProviderID, '/')+1:]
	notified := time.Now()
	if err := r.aws.Interrupt(ctx, id, 2*time.Minute); err != nil {
		return fmt.Errorf("interrupting %s: %w", id, err)
	}
	r.line("the notice is on the queue")
	before := r.names()
	if err := r.await(ctx, "pods of the interrupted instance run elsewhere", func(c counts) bool {
		return c.pods == r.want() && c.running == r.want() && c.terminating == 0 && r.podsOn(victim.Status.NodeName) == 0
	}); err != nil {
		return err
	}
	moved := time.Since(notified)
	if moved >= 2*time.Minute {
		return fmt.Errorf("the pods of %s moved only %.0f s after the notice, when the instance was already gone", victim.Name, moved.Seconds())
	}
	replacements := 0
	for name := range r.names() {
		if !before[name] {
			replacements++
		}
	}
	if asked, ok := r.askedOfEC2(ctx, notified); ok {
		r.line("a replacement was asked of EC2 %.2f s after the notice", asked.Seconds())
	}
	r.line("its pods run elsewhere (%s launched for them) %.1f s after the notice, %.0f s before AWS would have taken the instance",
		plan.Count(replacements, "instance"), moved.Seconds(), (2*time.Minute - moved).Seconds())
	return r.await(ctx, "the interrupted instance is terminated", func(counts) bool { return r.going() == 0 })
}

// askedOfEC2 is how long after a moment the first instance was asked for.
func (r *run) askedOfEC2(ctx context.Context, since time.Time) (time.Duration, bool) {
	calls, err := r.aws.Calls(ctx, "CreateFleet")
	if err != nil {
		return 0, false
	}
	for _, c := range calls {
		if c.At.After(since) && !c.DryRun {
			return c.At.Sub(since), true
		}
	}
	return 0, false
}

// spotInstance picks the spot instance with the most pods.
func (r *run) spotInstance() (*karpv1.NodeClaim, int) {
	r.state.mu.Lock()
	defer r.state.mu.Unlock()
	on := map[string]int{}
	for _, life := range r.state.pods {
		if life.pod != nil {
			on[life.pod.Spec.NodeName]++
		}
	}
	var best *karpv1.NodeClaim
	for _, claim := range r.state.claims {
		if claim.Labels[karpv1.CapacityTypeLabelKey] != karpv1.CapacityTypeSpot || on[claim.Status.NodeName] == 0 {
			continue
		}
		if best == nil || cmp.Or(cmp.Compare(on[claim.Status.NodeName], on[best.Status.NodeName]), cmp.Compare(best.Name, claim.Name)) > 0 {
			best = claim
		}
	}
	if best == nil {
		return nil, 0
	}
	return best, on[best.Status.NodeName]
}

func (r *run) names() map[string]bool {
	r.state.mu.Lock()
	defer r.state.mu.Unlock()
	out := map[string]bool{}
	for name := range r.state.claims {
		out[name] = true
	}
	return out
}

func (r *run) podsOn(node string) int {
	r.state.mu.Lock()
	defer r.state.mu.Unlock()
	n := 0
	for _, life := range r.state.pods {
		if life.pod != nil && life.pod.Spec.NodeName == node {
			n++
		}
	}
	return n
}
