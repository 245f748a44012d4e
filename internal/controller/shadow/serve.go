package shadow

import (
	"encoding/json"
	"fmt"
	"net/http"
)

// Path is where a shadow run serves its summary: as text, with ?format=json as JSON.
const Path = "/debug/shadow"

// Handler serves a summary, which names nodes and pools: who serves the handler decides who may ask (controller/access).
func Handler(summary func() Summary) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
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
	})
}
