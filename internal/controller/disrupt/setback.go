package disrupt

import (
	"sync"
	"time"

	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/internal/engine/disrupt"
)

// leastPause is how long a node is left alone after a consolidation of it was taken back; twice as long each time that it
// happens again, up to mostPause. What could not be launched a moment ago can't be launched now either, as a rule.
const leastPause, mostPause = time.Minute, 30 * time.Minute

// Setbacks remembers consolidations that were taken back, by claim.
//
// Concurrency: safe. The zero value is ready for use.
type Setbacks struct {
	mu      sync.Mutex
	byClaim map[string]setback
}

type setback struct {
	until time.Time
	pause time.Duration
	why   string
}

// Finished notes how a command ended. Drift has pauses of its own.
func (s *Setbacks) Finished(c Command, failed string, now time.Time) {
	if c.Cause == karpv1.DisruptionReasonDrifted {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for claim, b := range s.byClaim {
		if now.Sub(b.until) >= mostPause {
			delete(s.byClaim, claim)
		}
	}
	for _, g := range c.Nodes {
		if failed == "" {
			delete(s.byClaim, g.Claim)
			continue
		}
		if s.byClaim == nil {
			s.byClaim = map[string]setback{}
		}
		pause := min(max(leastPause, 2*s.byClaim[g.Claim].pause), mostPause)
		s.byClaim[g.Claim] = setback{until: now.Add(pause), pause: pause, why: failed}
	}
}

// blocks says whether the claim's node is left alone, and until when.
func (s *Setbacks) blocks(claim string, now time.Time) (r disrupt.Reason, until time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	b, ok := s.byClaim[claim]
	if !ok || !now.Before(b.until) {
		return r, until
	}
	return disrupt.Reason{Code: disrupt.TakenBack, Want: b.pause.String(), Detail: b.why}, b.until
}
