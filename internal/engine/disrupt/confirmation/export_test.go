package confirmation

// Len is how many nodes are remembered.
func (r *Tracker) Len() int { return len(r.nodes) }
