package pack

// Most new nodes that are launched are full. So that those can be passed over quickly, the room that is left on each stands
// in a list of its own.

// launch adds a new node to those launched.
func (s *solver) addNewNode(m *newNode) {
	s.listSpare()
	m.at = len(s.newNodes)
	s.newNodes = append(s.newNodes, m)
	s.spare = append(s.spare, s.spareOn(m))
}

// listSpare makes the list anew when new nodes were taken off those launched.
func (s *solver) listSpare() {
	if len(s.spare) == len(s.newNodes) {
		return
	}
	s.spare = s.spare[:0]
	for i, m := range s.newNodes {
		m.at = i
		s.spare = append(s.spare, s.spareOn(m))
	}
}

// noteSpare is called when what is on the new node, or its best type, has changed.
func (s *solver) noteSpare(m *newNode) {
	if m.at < len(s.spare) {
		s.spare[m.at] = s.spareOn(m)
	}
}

// spareOn is how much cpu and memory the new node's best type has left.
func (s *solver) spareOn(m *newNode) [2]int64 {
	net := m.pool.net[m.best]
	return [2]int64{net[s.lead[0]] - m.used[s.lead[0]], net[s.lead[1]] - m.used[s.lead[1]]}
}
