package decisions

import (
	"bytes"
	"encoding/json"
	"errors"
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
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+Path, func(w http.ResponseWriter, _ *http.Request) { writeJSON(w, r.List()) })
	mux.HandleFunc("GET "+Path+"/{$}", func(w http.ResponseWriter, _ *http.Request) { writeJSON(w, r.List()) })
	mux.HandleFunc("GET "+KeptPath, func(w http.ResponseWriter, _ *http.Request) { serveKept(w, r) })
	mux.HandleFunc("GET "+NowPath+"{name}", func(w http.ResponseWriter, req *http.Request) { serveNow(w, req, r) })
	mux.HandleFunc("GET "+PodPath+"{name}", func(w http.ResponseWriter, req *http.Request) { servePod(w, req, r) })
	mux.HandleFunc("GET "+Path+"/{id}", func(w http.ResponseWriter, req *http.Request) { serveFile(w, req, r) })
	return mux
}

func serveFile(w http.ResponseWriter, req *http.Request, r *Ring) {
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
		d, err := r.Decision(id)
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		if d.Asked != nil {
			http.Error(w, "decision "+safe(id)+" is on which nodes go; names=hashed can't be had of those", http.StatusBadRequest)
			return
		}
		if file, err = record.Encode(record.HashNames(d), nil); err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
	default:
		http.Error(w, "names="+names+": want hashed, or leave it out", http.StatusBadRequest)
		return
	}
	w.Header().Set("Content-Type", "application/octet-stream")
	w.Header().Set("Content-Disposition", `attachment; filename="decision-`+safe(id)+record.Extension+`"`)
	_, _ = file.WriteTo(w)
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
