package index

import (
	"context"

	"k8s.io/client-go/tools/record"
	"sigs.k8s.io/controller-runtime/pkg/client"

	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
)

// Tell records an event on a claim and on its nodes: people look at either. When the nodes can't be listed, the claim
// has it.
func Tell(ctx context.Context, c client.Reader, recorder record.EventRecorder, claim *karpv1.NodeClaim, eventType, reason, text string) {
	recorder.Event(claim, eventType, reason, text)
	nodes, err := NodesOfClaim(ctx, c, claim)
	if err != nil {
		return
	}
	for _, n := range nodes {
		recorder.Event(n, eventType, reason, text)
	}
}
