package pack

// Most machines that are bought are full. So that those can be passed over quickly, the room that is left on each stands
// in a list of its own.

// buy adds a machine to those bought.
func (s *solver) buy(m *machine) {
	s.listSpare()
	m.at = len(s.bought)
	s.bought = append(s.bought, m)
	s.spare = append(s.spare, s.spareOn(m))
}

// listSpare makes the list anew when machines were taken off those bought.
func (s *solver) listSpare() {
	if len(s.spare) == len(s.bought) {
		return
	}
	s.spare = s.spare[:0]
	for i, m := range s.bought {
		m.at = i
		s.spare = append(s.spare, s.spareOn(m))
	}
}

// noteSpare is called when what is on the machine, or its best type, has changed.
func (s *solver) noteSpare(m *machine) {
	if m.at < len(s.spare) {
		s.spare[m.at] = s.spareOn(m)
	}
}

// spareOn is how much cpu and memory the machine's best type has left.
func (s *solver) spareOn(m *machine) [2]int64 {
	net := m.pool.net[m.best]
	return [2]int64{net[s.lead[0]] - m.used[s.lead[0]], net[s.lead[1]] - m.used[s.lead[1]]}
}
