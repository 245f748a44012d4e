package tagging

import (
	"context"
	"sync"
	"time"

	"k8s.io/utils/clock"
)

const (
	// firstGap is the distance between calls after the first refusal for their rate, lastGap the longest: EC2 lets an
	// account make ten such calls a second.
	//
	// Source: EC2 API reference, "Request throttling for the Amazon EC2 API".
	firstGap, lastGap = 20 * time.Millisecond, 200 * time.Millisecond
	// narrowing is how many calls in a row have to pass for the gap to become a tenth narrower.
	narrowing = 10
)

// pace spreads calls over time once they were too fast: the gap between them doubles with a refusal and narrows while
// they pass. Calls that were under way together count as one refusal.
//
// Concurrency: safe.
type pace struct {
	clock clock.Clock

	mu      sync.Mutex
	gap     time.Duration
	next    time.Time // when the next call may begin
	refused time.Time
	passed  int
}

// wait holds a call back until its turn.
func (p *pace) wait(ctx context.Context) error {
	p.mu.Lock()
	now := p.clock.Now()
	at := now
	if p.gap > 0 && p.next.After(now) {
		at = p.next
	}
	p.next = at.Add(p.gap)
	p.mu.Unlock()
	if at.Equal(now) {
		return ctx.Err()
	}
	t := p.clock.NewTimer(at.Sub(now))
	defer t.Stop()
	select {
	case <-t.C():
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// note learns from how a call ended.
func (p *pace) note(refused bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.clock.Now()
	switch {
	case refused:
		p.passed = 0
		if now.Sub(p.refused) >= time.Second {
			p.refused = now
			p.gap = min(max(2*p.gap, firstGap), lastGap)
		}
	case p.gap > 0:
		if p.passed++; p.passed%narrowing == 0 {
			if p.gap -= p.gap / 10; p.gap < time.Millisecond {
				p.gap = 0
			}
		}
	}
}
