package app

import (
	"time"

	"github.com/kerf-sh/kerf/internal/aws/pricing"
)

// pricesSeen shows how old prices are. On-demand prices that AWS has not told yet are those embedded, of the region or of
// another one; spot prices are then estimates and have no age.
func (p *process) pricesSeen(s pricing.State) {
	age := func(kind, source string, at time.Time) {
		if !at.IsZero() {
			p.metrics.PriceAge.WithLabelValues(kind, source).Set(time.Since(at).Seconds())
		}
	}
	p.metrics.PriceAge.Reset()
	switch {
	case !s.OnDemandAt.IsZero():
		age("on-demand", "aws", s.OnDemandAt)
	case s.BorrowedFrom != "":
		age("on-demand", "embedded of "+s.BorrowedFrom, s.EmbeddedOf)
	default:
		age("on-demand", "embedded", s.EmbeddedOf)
	}
	age("spot", "aws", s.SpotAt)
}
