package terminate

import (
	"context"
	"errors"

	"k8s.io/utils/clock"

	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/internal/state/cloud"
)

// Outcome is how far an instance is that was asked to end.
type Outcome int

// Outcomes of Terminator.End.
const (
	Ending    Outcome = iota // it is shutting down
	Gone                     // there is no such instance (any more)
	NoneNamed                // the provider ID names no instance: none was asked to end
	Asked                    // the cloud has not answered yet; only those who ask beside their work get to see it
)

// Terminator ends instances. Whoever ends one does it here: the finalizers of Nodes and of NodeClaims, the launch whose claim
// went meanwhile (package lifecycle), and the search for instances without a claim (package garbagecollection).
type Terminator struct {
	Cloud cloud.Provider
	Clock clock.PassiveClock
}

// End asks the cloud to end an instance, and may be called again until it is Gone. While it is Ending, the condition
// InstanceTerminating is set on the claim, which may be nil; the caller writes it. Nothing else sets that condition.
//
// Errors: those of the cloud, without the name of the object, which the caller adds.
func (t Terminator) End(ctx context.Context, providerID string, claim *karpv1.NodeClaim) (Outcome, error) {
	err := t.Cloud.Terminate(ctx, providerID)
	switch {
	case err == nil:
		t.note(claim)
		return Ending, nil
	case errors.Is(err, cloud.ErrProviderID):
		return NoneNamed, nil
	case cloud.IsNotFound(err):
		return Gone, nil
	}
	return Ending, err
}

// note sets the condition of a claim whose instance is ending.
func (t Terminator) note(claim *karpv1.NodeClaim) {
	if claim != nil {
		claim.StatusConditions().WithClock(t.Clock.Now).SetTrue(karpv1.ConditionTypeInstanceTerminating)
	}
}
