package app

import (
	"time"

	"github.com/kerf-sh/kerf/internal/aws/pricing"
)

// pricesSeen shows how old prices are. On-demand prices that AWS has not told yet are those embedded, of the region or of
// another one; spot prices are then estimates and have no age.
func (d *deps) pricesSeen(s pricing.State) {
	d.metrics.Replace(d.metrics.PriceAge, func(set func(float64, ...string)) {
		age := func(kind, source string, at time.Time) {
			if !at.IsZero() {
				set(time.Since(at).Seconds(), kind, source)
			}
		}
		switch {
		case !s.OnDemandAt.IsZero():
			age("on-demand", "aws", s.OnDemandAt)
		case s.BorrowedFrom != "":
			age("on-demand", "embedded of "+s.BorrowedFrom, s.EmbeddedOf)
		default:
			age("on-demand", "embedded", s.EmbeddedOf)
		}
		age("spot", "aws", s.SpotAt)
	})
}
