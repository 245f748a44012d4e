package shadow

import (
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/kerf-sh/kerf/internal/controller/decisions"
)

// Path is where a shadow run serves its summary: as text, with ?format=json as JSON.
const Path = "/debug/shadow"

// Handler serves a summary to callers on the same host, which is what a port-forward is: it names nodes and pools.
func Handler(summary func() Summary) http.Handler {
	return decisions.SameHost(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s := summary()
		switch format := r.URL.Query().Get("format"); format {
		case "", "text":
			w.Header().Set("Content-Type", "text/plain; charset=utf-8")
			fmt.Fprint(w, s.String())
		case "json":
			w.Header().Set("Content-Type", "application/json")
			e := json.NewEncoder(w)
			e.SetIndent("", "  ")
			_ = e.Encode(s) // a caller who has gone away
		default:
			http.Error(w, fmt.Sprintf("format %q: want text or json", format), http.StatusBadRequest)
		}
	}), "served to this host only; use kubectl port-forward to the pod and ask there")
}
