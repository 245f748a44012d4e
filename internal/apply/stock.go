package apply

import (
	"context"

	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/internal/cluster"
	"github.com/kerf-sh/kerf/internal/plan"
)

// Stock buys machines that no pod has asked for. Each is admitted by itself.
//
// Concurrency: safe.
func (a *Applier) Stock(ctx context.Context, nodes []plan.NewNode, pools []*cluster.Pool) Outcome {
	var out Outcome
	if !a.take(ctx) {
		return out
	}
	defer a.give()
	check := newChecker(a.o.State, pools)
	var buys []*purchase
	for i := range nodes {
		buy, refusal := check.admit(&nodes[i], nil)
		if refusal != nil {
			out.Refused = append(out.Refused, *refusal)
			continue
		}
		buys = append(buys, buy)
	}
	a.create(ctx, buys)
	for _, b := range buys {
		if b.err != nil {
			out.Refused = append(out.Refused, Refusal{Action: b.action(), Code: WriteFailed, Err: b.err, Detail: b.err.Error()})
			continue
		}
		out.Created = append(out.Created, Created{
			Claim: b.claim.Name, Pool: b.pool.Name, Planned: b.node, Relaxed: b.claim.Annotations[karpv1.NodeClaimMinValuesRelaxedAnnotationKey] == "true",
		})
		a.o.Log.Info("created nodeclaim", "nodeclaim", b.claim.Name, "nodepool", b.pool.Name, "pods", 0,
			"instance_type", b.node.Types[0].Name, "types", len(b.node.Types), "price_micro_usd_per_hour", int64(b.node.Price), "why", b.node.Why)
	}
	return out
}
