package aws

import (
	"context"
	"errors"
	"time"
)

const (
	// refreshEvery is how often it is looked whether types and prices have become old.
	refreshEvery = time.Minute
	// collectEvery is how often launch templates are collected, templateIdle how long one may go unused.
	collectEvery = 30 * time.Minute
	templateIdle = 6 * time.Hour
	// listedLately is how old the list of instances may be that tells which templates other leaders launched from: young beside
	// templateIdle, and old enough for one that another loop has asked for.
	listedLately = time.Minute
)

// Refresh keeps types and prices fresh until ctx ends. Every replica runs it.
func (p *Provider) Refresh(ctx context.Context) {
	every(ctx, refreshEvery, func() { p.RefreshOnce(ctx) })
}

// RefreshOnce is one round of Refresh.
func (p *Provider) RefreshOnce(ctx context.Context) {
	if err := p.discovery.Refresh(ctx); err != nil {
		p.log.Warn("instance types could not be refreshed, older ones are used", "error", err)
	}
	if err := p.prices.Refresh(ctx); err != nil {
		p.log.Warn("prices could not be refreshed, older ones are used", "error", err)
	}
	p.rereadPrices()
	p.opts.PricesSeen(p.prices.State())
}

// CollectTemplates deletes launch templates that nobody uses, until ctx ends. Only the leader runs it.
func (p *Provider) CollectTemplates(ctx context.Context) {
	every(ctx, collectEvery, func() { p.CollectTemplatesOnce(ctx) })
}

// CollectTemplatesOnce is one round of CollectTemplates.
func (p *Provider) CollectTemplatesOnce(ctx context.Context) {
	n := 0
	instances, err := p.inventory.List(ctx, listedLately)
	if err == nil {
		n, err = p.templates.Collect(ctx, templateIdle, instances)
	}
	if err != nil {
		p.log.Warn("unused launch templates could not all be deleted", "error", err)
	}
	if n > 0 {
		p.log.Info("deleted unused launch templates", "count", n)
	}
}

// CollectProfiles deletes instance profiles of this cluster that inUse does not name, and returns their names. inUse must
// hold the profile of every class's status and of every NodeClaim's annotation.
func (p *Provider) CollectProfiles(ctx context.Context, inUse map[string]bool) ([]string, error) {
	if p.opts.IsolatedVPC {
		return nil, nil
	}
	return p.profiles.Collect(ctx, func(name string) bool { return inUse[name] })
}

// every calls f now and then every so often.
func every(ctx context.Context, period time.Duration, f func()) {
	t := time.NewTicker(period)
	defer t.Stop()
	for {
		f()
		select {
		case <-ctx.Done():
			return
		case <-t.C:
		}
		if errors.Is(ctx.Err(), context.Canceled) {
			return
		}
	}
}
