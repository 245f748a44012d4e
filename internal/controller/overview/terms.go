package overview

import (
	"context"
	"sync"
	"time"

	"github.com/kerf-sh/kerf/internal/engine/catalog"
	"github.com/kerf-sh/kerf/internal/engine/cluster"
	"github.com/kerf-sh/kerf/internal/guard"
)

const (
	// termsEvery is how often the pools and the prices are read while somebody looks.
	termsEvery = 5 * time.Second
	// termsPatience is how long the reader waits for them that has them read. They are at hand as a rule. Once they took longer, nobody
	// waits until they are at hand again: an AWS that does not answer must not hold up the page.
	termsPatience = time.Second
)

// terms are what nodes can be had on: the pools, and what their instances cost.
type terms struct {
	pools []*cluster.Pool
	types map[string]poolTypes
	// prices changes whenever a price may have changed.
	prices uint64
}

// poolTypes are the types of a pool by their names. all is the list that they are made of: a list is not changed once it was given out.
type poolTypes struct {
	all    []*catalog.Type
	byName map[string]*catalog.Type
}

// price is what a node costs; 0 where that is not known.
func (t *terms) price(n *cluster.Node) catalog.MicroUSD {
	if of := t.types[n.Pool].byName[n.InstanceType]; of != nil {
		if price, known := cluster.PriceOf(n, of, false); known {
			return price
		}
	}
	return n.Price
}

// with makes terms of pools. Types that are the same as before are not read again.
func (t *terms) with(pools []*cluster.Pool) *terms {
	out := &terms{pools: pools, types: make(map[string]poolTypes, len(pools)), prices: t.prices}
	for _, p := range pools {
		was, known := t.types[p.Name]
		if known && len(was.all) == len(p.Types) && (len(p.Types) == 0 || &was.all[0] == &p.Types[0]) {
			out.types[p.Name] = was
			continue
		}
		of := poolTypes{all: p.Types, byName: make(map[string]*catalog.Type, len(p.Types))}
		for _, x := range p.Types {
			of.byName[x.Name] = x
		}
		out.types[p.Name] = of
		out.prices = t.prices + 1
	}
	return out
}

// termsReader reads the terms in the background, once at a time.
//
// Concurrency: safe.
type termsReader struct {
	mu      sync.Mutex
	now     *terms // never nil
	at      time.Time
	reading bool
	slow    bool // the last reading took longer than anybody waits
}

// refresh has the terms read where they are old. The caller that has them read waits for a moment; nobody else waits. No lock may
// be held.
func (o *Overview) refresh(ctx context.Context) {
	if o.from.Pools == nil {
		return
	}
	r, now := &o.terms, o.from.Now()
	r.mu.Lock()
	age := now.Sub(r.at)
	fresh := r.reading || !r.at.IsZero() && age >= 0 && age < termsEvery
	r.reading = r.reading || !fresh
	slow := r.slow
	r.mu.Unlock()
	if fresh {
		return
	}
	read, began := make(chan struct{}), time.Now()
	outlives := context.WithoutCancel(ctx) // the answer is for those who come later, too
	guard.Go("overview.terms", func() {
		defer close(read)
		var pools []*cluster.Pool
		err := guard.Run("overview.terms", func() error {
			o.asking <- struct{}{}
			defer func() { <-o.asking }()
			pools = o.from.Pools(outlives, o.from.Snapshot())
			return nil
		})
		r.mu.Lock()
		defer r.mu.Unlock()
		r.reading, r.slow, r.at = false, time.Since(began) >= termsPatience, now
		if err == nil {
			r.now = r.now.with(pools)
		}
	})
	if slow {
		return
	}
	wait := time.NewTimer(termsPatience)
	defer wait.Stop()
	select {
	case <-read:
	case <-wait.C:
	case <-ctx.Done():
	}
}

func (r *termsReader) newest() *terms {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.now
}
