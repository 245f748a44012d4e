package app

import (
	"context"
	"log/slog"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	awsv1 "github.com/kerf-sh/kerf/api/aws/v1"
	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/internal/aws"
	"github.com/kerf-sh/kerf/internal/guard"
	"github.com/kerf-sh/kerf/internal/state/cloud"
)

// firstLook is how long launches and terminations wait for the first look at zonal shifts. Pods must not wait longer for a
// service that may not answer.
const firstLook = 15 * time.Second

// gate holds launches back until the provider knows which claims a predecessor may have launched, and which zones traffic is
// shifted away from. Until the latter is known, all instances are left alone.
type gate struct {
	*aws.Provider
	begin  func(ctx context.Context, unlaunched []string)
	reader client.Reader
	log    *slog.Logger
	// listed is closed when the NodeClaims that a predecessor left are known, begun when instances may be launched.
	listed, begun         chan struct{}
	listedOnce, begunOnce sync.Once // Start is called again after a panic
	// shifts is closed after the first look at zonal shifts, or firstLook after the start; nil where nobody looks.
	shifts     chan struct{}
	shiftsOnce sync.Once
}

func newGate(p *aws.Provider, reader client.Reader, log *slog.Logger, zonalShifts bool) *gate {
	g := &gate{Provider: p, begin: p.Begin, reader: reader, log: log, listed: make(chan struct{}), begun: make(chan struct{})}
	if zonalShifts {
		g.shifts = make(chan struct{})
	}
	return g
}

// looked is called after each look at zonal shifts.
func (g *gate) looked() { g.shiftsOnce.Do(func() { close(g.shifts) }) }

// Start tells the provider of the claims that are not launched, once this process leads.
func (g *gate) Start(ctx context.Context) error {
	if g.shifts != nil {
		defer guard.AfterFunc(firstLook, "app.gate", g.late).Stop()
	}
	var claims karpv1.NodeClaimList
	for {
		err := g.reader.List(ctx, &claims)
		if err == nil {
			break
		}
		if ctx.Err() != nil {
			return nil // being told to stop is no failure
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
		labels := claims.Items[i].Labels
		if zone, id := labels[corev1.LabelTopologyZone], labels[awsv1.LabelTopologyZoneID]; zone != "" && id != "" {
			g.LearnZone(zone, id)
		}
		if claims.Items[i].Status.ProviderID == "" {
			unlaunched = append(unlaunched, string(claims.Items[i].UID))
		}
	}
	g.listedOnce.Do(func() { close(g.listed) })
	g.begin(ctx, unlaunched)
	_ = g.awaitShifts(ctx) // ended: nothing comes any more that would be let through
	g.begunOnce.Do(func() { close(g.begun) })
	<-ctx.Done()
	return nil
}

// late ends the wait for the first look.
func (g *gate) late() {
	g.shiftsOnce.Do(func() {
		g.log.Warn("zonal shifts are not known yet; instances are launched and terminated in all zones until they are", "waited", firstLook)
		close(g.shifts)
	})
}

// awaitShifts waits until it is known which zones traffic is shifted away from, for a while.
//
// Errors: that of ctx.
func (g *gate) awaitShifts(ctx context.Context) error {
	if g.shifts == nil {
		return nil
	}
	select {
	case <-g.shifts:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// shiftsKnown reports whether nothing has to wait for the first look at zonal shifts.
func (g *gate) shiftsKnown() bool {
	if g.shifts == nil {
		return true
	}
	select {
	case <-g.shifts:
		return true
	default:
		return false
	}
}

// LeftAlone reports whether an instance must stay: traffic is shifted away from its zone, or that is not known yet.
func (g *gate) LeftAlone(providerID string) bool {
	return !g.shiftsKnown() || g.Provider.LeftAlone(providerID)
}

// ZoneShifts implements zoneshift.Shifts. It waits until the ids of the zones of all NodeClaims are known: provider IDs have
// names, shifts have ids.
func (g *gate) ZoneShifts(ctx context.Context) ([]cloud.ZoneShift, error) {
	select {
	case <-g.listed:
		return g.Provider.ZoneShifts(ctx)
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Terminate implements cloud.Provider.
func (g *gate) Terminate(ctx context.Context, providerID string) error {
	if err := g.awaitShifts(ctx); err != nil {
		return err
	}
	return g.Provider.Terminate(ctx, providerID)
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
