package app

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	awsv1 "github.com/kerf-sh/kerf/api/aws/v1"
	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/internal/aws"
	"github.com/kerf-sh/kerf/internal/state/cloud"
)

// firstLook is how long launches wait for the first look at zonal shifts. Pods must not wait longer for a service that may
// not answer.
const firstLook = 15 * time.Second

// gate holds launches back until the provider knows which claims a predecessor may have launched, and which zones traffic is
// shifted away from.
type gate struct {
	*aws.Provider
	begin  func(ctx context.Context, unlaunched []string)
	reader client.Reader
	log    *slog.Logger
	begun  chan struct{}
	// shifts is closed after the first look at zonal shifts; nil where nobody looks.
	shifts     chan struct{}
	shiftsOnce sync.Once
}

func newGate(p *aws.Provider, reader client.Reader, log *slog.Logger, zonalShifts bool) *gate {
	g := &gate{Provider: p, begin: p.Begin, reader: reader, log: log, begun: make(chan struct{})}
	if zonalShifts {
		g.shifts = make(chan struct{})
	}
	return g
}

// looked is called after each look at zonal shifts.
func (g *gate) looked() { g.shiftsOnce.Do(func() { close(g.shifts) }) }

// Start tells the provider of the claims that are not launched, once this process leads.
func (g *gate) Start(ctx context.Context) error {
	var claims karpv1.NodeClaimList
	for {
		err := g.reader.List(ctx, &claims)
		if err == nil {
			break
		}
		if ctx.Err() != nil {
			return nil //nolint:nilerr // being told to stop is no failure
		}
		g.log.Error("listing nodeclaims before the first launch", "error", err)
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(time.Second):
		}
	}
	var unlaunched []string
	for i := range claims.Items {
		if claims.Items[i].Status.ProviderID == "" {
			unlaunched = append(unlaunched, string(claims.Items[i].UID))
		}
	}
	g.begin(ctx, unlaunched)
	g.awaitShifts(ctx)
	close(g.begun)
	<-ctx.Done()
	return nil
}

// awaitShifts waits until it has been looked which zones traffic is shifted away from, for a while.
func (g *gate) awaitShifts(ctx context.Context) {
	if g.shifts == nil {
		return
	}
	late := time.NewTimer(firstLook)
	defer late.Stop()
	select {
	case <-g.shifts:
	case <-ctx.Done():
	case <-late.C:
		g.log.Warn("zonal shifts are not known yet; instances are launched in all zones until they are", "waited", firstLook)
	}
}

// Find implements cloud.Provider.
func (g *gate) Find(ctx context.Context, claim *karpv1.NodeClaim) (*cloud.Instance, error) {
	select {
	case <-g.begun:
		return g.Provider.Find(ctx, claim)
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Launch implements cloud.Provider.
func (g *gate) Launch(ctx context.Context, claim *karpv1.NodeClaim, class *awsv1.EC2NodeClass) (*cloud.Instance, error) {
	select {
	case <-g.begun:
		return g.Provider.Launch(ctx, claim, class)
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}
