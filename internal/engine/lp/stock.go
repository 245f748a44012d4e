package lp

// Stock is columns to choose from. What a look at the price of all of them reads lies side by side.
type Stock struct {
	Columns []Column

	heads []head
	parts []Share // of all columns in turn
}

// head is a column's price, and where its parts end.
type head struct {
	price float64
	end   int
}

// Clear forgets all columns.
func (s *Stock) Clear() {
	s.Columns, s.heads, s.parts = s.Columns[:0], s.heads[:0], s.parts[:0]
}

// Add makes columns known.
func (s *Stock) Add(columns ...Column) {
	s.Columns = append(s.Columns, columns...)
	for i := range columns {
		s.parts = append(s.parts, columns[i].Parts...)
		s.heads = append(s.heads, head{columns[i].Price, len(s.parts)})
	}
}

// Cheapest is the column that saves most for its price, where pods are worth so much; nil if none saves anything.
func (s *Stock) Cheapest(dual []float64) *Column {
	// A division is only made where it may tell a new best one.
	const nearly = 1 - 1e-12
	best, most := -1, 1e-6
	limit := float64(most * nearly)
	from := 0
	for i, h := range s.heads {
		worth := 0.0
		for _, q := range s.parts[from:h.end] {
			worth += float64(dual[q.Row] * q.Amount)
		}
		from = h.end
		if saving := worth - h.price; saving > limit*h.price {
			if rate := saving / h.price; rate > most {
				best, most = i, rate
				limit = float64(most * nearly)
			}
		}
	}
	if best < 0 {
		return nil
	}
	return &s.Columns[best]
}
