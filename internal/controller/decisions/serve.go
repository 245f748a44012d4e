package decisions

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/kerf-sh/kerf/internal/engine/record"
)

// Path is where a controller serves its decisions.
const Path = "/debug/decisions"

var errNone = errors.New("no decision of that ID is kept (any more)")

// Handler serves the ring under Path: the list as JSON, a file under its ID or "latest" (with ?names=hashed the names of
// pods, namespaces and nodes replaced), nodes as they are now under NowPath, and
// pods under PodPath.
//
// Problems hold the names and labels of all pods: who serves the handler decides who may ask (controller/access).
func Handler(r *Ring) http.Handler {
	hashing := make(chan struct{}, 1)
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+Path, func(w http.ResponseWriter, _ *http.Request) { writeJSON(w, r.List()) })
	mux.HandleFunc("GET "+Path+"/{$}", func(w http.ResponseWriter, _ *http.Request) { writeJSON(w, r.List()) })
	mux.HandleFunc("GET "+KeptPath, func(w http.ResponseWriter, _ *http.Request) { serveKept(w, r) })
	mux.HandleFunc("GET "+NowPath+"{name}", func(w http.ResponseWriter, req *http.Request) { serveNow(w, req, r) })
	mux.HandleFunc("GET "+PodPath+"{name}", func(w http.ResponseWriter, req *http.Request) { servePod(w, req, r) })
	mux.HandleFunc("GET "+Path+"/{id}", func(w http.ResponseWriter, req *http.Request) { serveFile(w, req, r, hashing) })
	return mux
}

func serveFile(w http.ResponseWriter, req *http.Request, r *Ring, hashing chan struct{}) {
	id := strings.TrimSuffix(req.PathValue("id"), record.Extension)
	file, ok := r.File(id)
	if !ok && id == Latest {
		http.Error(w, "nothing has been decided since this controller began to lead: it decides when pods wait for a node, and keeps no decision over a restart", http.StatusNotFound)
		return
	}
	if !ok {
		http.Error(w, errNone.Error()+"; "+Path+" lists those that are", http.StatusNotFound)
		return
	}
	switch names := req.URL.Query().Get("names"); names {
	case "":
	case "hashed":
		hashed, code, err := hashNames(req.Context(), r, id, hashing)
		if err != nil {
			http.Error(w, err.Error(), code)
			return
		}
		file = hashed
	default:
		http.Error(w, "names="+names+": want hashed, or leave it out", http.StatusBadRequest)
		return
	}
	w.Header().Set("Content-Type", "application/octet-stream")
	w.Header().Set("Content-Disposition", `attachment; filename="decision-`+safe(id)+record.Extension+`"`)
	_, _ = file.WriteTo(w)
}

// hashNames writes a decision anew, without names. The whole of it is read into memory for that, which takes many times the size of its
// file: one request at a time does, the others wait for the place in hashing.
//
// Errors: each with the code of the answer.
func hashNames(ctx context.Context, r *Ring, id string, hashing chan struct{}) (*record.File, int, error) {
	select {
	case hashing <- struct{}{}:
		defer func() { <-hashing }()
	case <-ctx.Done():
		return nil, http.StatusServiceUnavailable, ctx.Err()
	}
	d, err := r.Decision(id)
	switch {
	case errors.Is(err, errNone):
		return nil, http.StatusNotFound, err // dropped meanwhile
	case err != nil:
		return nil, http.StatusInternalServerError, err
	case d.Asked != nil:
		return nil, http.StatusBadRequest, fmt.Errorf("decision %s is on which nodes go; names=hashed can't be had of those", safe(id))
	}
	file, err := record.Encode(record.HashNames(d), nil)
	return file, http.StatusInternalServerError, err
}

// safe keeps letters and digits.
func safe(id string) string {
	return strings.Map(func(r rune) rune {
		if (r >= '0' && r <= '9') || (r >= 'a' && r <= 'z') {
			return r
		}
		return -1
	}, id)
}

func writeJSON(w http.ResponseWriter, v any) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetIndent("", "  ")
	if err := e.Encode(v); err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(b.Bytes())
}
