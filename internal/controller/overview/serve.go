package overview

import (
	"compress/gzip"
	"encoding/json"
	"io"
	"net/http"
	"strings"

	"github.com/kerf-sh/kerf/internal/engine/record"
)

// ProblemPath is where the problem of now is served, as a file that kerf replay reads.
const ProblemPath = Path + "/problem"

// Handler serves the overview under Path, and what decisions would be made of under ProblemPath. Who may ask is the business of
// whoever mounts it.
func Handler(o *Overview) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+ProblemPath, func(w http.ResponseWriter, r *http.Request) { serveProblem(w, r, o) })
	mux.HandleFunc("GET "+Path, func(w http.ResponseWriter, r *http.Request) {
		d := o.Document(r.Context(), r.URL.Query().Get("since"))
		h := w.Header()
		h.Set("Content-Type", "application/json")
		h.Set("Cache-Control", "no-store")
		var to io.Writer = w
		if strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
			h.Set("Content-Encoding", "gzip")
			z, _ := gzip.NewWriterLevel(w, gzip.BestSpeed) // the level exists
			defer func() { _ = z.Close() }()
			to = z
		}
		_ = json.NewEncoder(to).Encode(d) // a reader that went away is no concern
	})
	return mux
}

func serveProblem(w http.ResponseWriter, r *http.Request, o *Overview) {
	file, err := record.Encode(&record.Decision{Kerf: o.from.Kerf, Problem: o.Problem(r.Context())}, nil)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/octet-stream")
	_, _ = file.WriteTo(w)
}
