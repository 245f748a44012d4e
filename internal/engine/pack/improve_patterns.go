package pack

// stock is columns to choose from. What a look at the price of all of them reads lies side by side.
type stock struct {
	patterns []pattern
	heads    []head
	parts    []entry // of all columns in turn
}

// head is a column's price, and where its portions end.
type head struct {
	price float64
	end   int
}

// entry is so many pods of a row.
type entry struct {
	row int
	n   float64
}

func (s *stock) clear() {
	s.patterns, s.heads, s.parts = s.patterns[:0], s.heads[:0], s.parts[:0]
}

func (s *stock) add(columns ...pattern) {
	s.patterns = append(s.patterns, columns...)
	for i := range columns {
		c := &columns[i]
		for k, r := range c.rows {
			s.parts = append(s.parts, entry{r, c.n[k]})
		}
		s.heads = append(s.heads, head{c.price, len(s.parts)})
	}
}

// cheapest is the column that saves most for its price, where pods are worth so much; nil if none saves anything.
func (s *stock) cheapest(dual []float64) *pattern {
	// A division is only made where it may tell a new best one.
	const nearly = 1 - 1e-12
	best, most := -1, 1e-6
	limit := float64(most * nearly)
	from := 0
	for i, h := range s.heads {
		worth := 0.0
		for _, q := range s.parts[from:h.end] {
			worth += float64(dual[q.row] * q.n)
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
	return &s.patterns[best]
}
