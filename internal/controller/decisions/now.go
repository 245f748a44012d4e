package decisions

import (
	"context"
	"net/http"

	"github.com/kerf-sh/kerf/internal/engine/record"
)

// NowPath is where a controller serves what it knows of a node now, under the node's or the NodeClaim's name. Decisions are
// of the past; a node that one of them launched may be gone, or hold other pods.
const NowPath = Path + "/nodes/"

// Nodes finds a node by its own name or that of its NodeClaim.
type Nodes func(name string) (record.Now, bool)

// SetNodes tells the ring whom to ask for nodes as they are now; until then it serves none.
func (r *Ring) SetNodes(nodes Nodes) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.nodes = nodes
}

func serveNow(w http.ResponseWriter, req *http.Request, r *Ring) {
	r.mu.Lock()
	nodes := r.nodes
	r.mu.Unlock()
	if nodes == nil {
		http.Error(w, "this controller does not know its nodes yet", http.StatusServiceUnavailable)
		return
	}
	now, ok := nodes(req.PathValue("name"))
	if !ok {
		http.Error(w, "there is no node and no NodeClaim of that name", http.StatusNotFound)
		return
	}
	writeJSON(w, now)
}

// PodPath is where a controller serves why a pod waits now that no decision is about, under the pod's name and with its
// namespace as ?namespace=, or none.
const PodPath = Path + "/pods/"

// Waiting is the answer.
type Waiting struct {
	// Why it waits and what will become of it; empty where that is not known.
	Why string `json:"why,omitempty"`
}

// Pods says why a pod waits; empty where it does not know. An empty namespace stands for any.
type Pods func(ctx context.Context, namespace, name string) string

// SetPods tells the ring whom to ask for pods that wait; until then it serves none.
func (r *Ring) SetPods(pods Pods) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.pods = pods
}

func serveWaiting(w http.ResponseWriter, req *http.Request, r *Ring) {
	r.mu.Lock()
	pods := r.pods
	r.mu.Unlock()
	if pods == nil {
		http.Error(w, "this controller does not know its pods yet", http.StatusServiceUnavailable)
		return
	}
	writeJSON(w, Waiting{Why: pods(req.Context(), req.URL.Query().Get("namespace"), req.PathValue("name"))})
}
