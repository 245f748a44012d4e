package disrupt

// heldUp is what holds up the replacement of drifted nodes: by node what stands against it, and by pool what all of its nodes wait for.
// It must not change once others read it.
type heldUp struct{ nodes, pools map[string]string }

// HeldUp says what holds up the replacement of a drifted node, as the last round found; empty where nothing is known to. Safe for concurrent use.
func (d *Drift) HeldUp(node, pool string) string {
	d.mu.Lock()
	defer d.mu.Unlock()
	if why := d.held.nodes[node]; why != "" {
		return why
	}
	return d.held.pools[pool]
}

// holds keeps what a round found. One that did not search for places adds to what the last search found.
func (d *Drift) holds(v *driftView, rests bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if rests {
		v.held.add(d.held)
	}
	d.held = v.held
}

func (h heldUp) add(older heldUp) {
	for name, why := range older.nodes {
		if h.nodes[name] == "" {
			h.nodes[name] = why
		}
	}
	for name, why := range older.pools {
		if h.pools[name] == "" {
			h.pools[name] = why
		}
	}
}
