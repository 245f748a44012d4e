package decisions

import (
	"net/http"

	"github.com/kerf-sh/kerf/internal/engine/disrupt"
)

// KeptPath is where a controller serves its last decision on which nodes go, with what keeps each of the others, whether
// or not anything came of it. It is not recorded: what it was asked is not kept.
const KeptPath = Path + "/kept"

// SetDisruption notes the last decision on which nodes go. It must not change any more.
func (r *Ring) SetDisruption(d *disrupt.Decision) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.kept = d
}

// Disruption is the last decision on which nodes go; nil before the first.
func (r *Ring) Disruption() *disrupt.Decision {
	if r == nil {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.kept
}

func serveKept(w http.ResponseWriter, r *Ring) {
	d := r.Disruption()
	if d == nil {
		http.Error(w, "nothing has been decided on which nodes go yet", http.StatusNotFound)
		return
	}
	writeJSON(w, d)
}
