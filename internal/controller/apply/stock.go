package apply

import (
	"context"

	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/internal/controller/story"
	"github.com/kerf-sh/kerf/internal/engine/cluster"
	"github.com/kerf-sh/kerf/internal/engine/plan"
	"github.com/kerf-sh/kerf/internal/trace"
)

// Stock launches instances that no pod has asked for. Each is admitted by itself. The ID of ctx (trace.WithID) is that of the
// decision.
//
// Concurrency: safe.
func (a *Applier) Stock(ctx context.Context, nodes []plan.NewNode, pools []*cluster.Pool) Outcome {
	var out Outcome
	if !a.take(ctx) {
		return out
	}
	defer a.give()
	check := newChecker(a.o.State, pools, a.o.PriceBound)
	var launches []*launching
	for i := range nodes {
		launch, refusal := check.admit(&nodes[i], nil)
		if refusal != nil {
			out.Refused = append(out.Refused, *refusal)
			continue
		}
		launches = append(launches, launch)
	}
	a.create(ctx, launches)
	for _, b := range launches {
		if b.err != nil {
			out.Refused = append(out.Refused, Refusal{Action: b.action(), Code: WriteFailed, Err: b.err, Detail: b.err.Error()})
			continue
		}
		out.Created = append(out.Created, Created{
			Claim: b.claim.Name, Pool: b.pool.Name, Planned: b.node, Relaxed: b.claim.Annotations[karpv1.NodeClaimMinValuesRelaxedAnnotationKey] == "true",
		})
		a.said(b, "static.provisioning", nil, story.DecisionKey, trace.IDOf(ctx))
	}
	return out
}
