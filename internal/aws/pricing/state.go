package pricing

import "time"

// State is how good the prices are.
type State struct {
	// OnDemandAt and SpotAt are when AWS last answered with prices of the kind; zero when it has not yet.
	OnDemandAt, SpotAt time.Time
	// EmbeddedOf is the day of the oldest embedded on-demand price, which count until AWS has answered; zero when it is not
	// known.
	EmbeddedOf time.Time
	// BorrowedFrom is the region whose embedded on-demand prices stand in while AWS has not answered, empty when they are
	// the region's own or not of use any more.
	BorrowedFrom string
}

// State tells how good the prices are now.
func (b *Book) State() State {
	b.mu.Lock()
	defer b.mu.Unlock()
	t := b.table.Load()
	s := State{OnDemandAt: b.onDemandAt, SpotAt: b.spotAt}
	if day, err := time.Parse(time.DateOnly, t.oldest); err == nil {
		s.EmbeddedOf = day
	}
	if !t.OnDemandLive {
		s.BorrowedFrom = t.borrowedFrom
	}
	return s
}
