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

// PodPath is where a controller serves what it knows of a pod now, under the pod's name and with its namespace as ?namespace=, or
// none. It serves an empty record.PodNow where it does not know.
const PodPath = Path + "/pods/"

// Pods finds a pod; known is false where it can't tell. An empty namespace stands for any.
type Pods func(ctx context.Context, namespace, name string) (now record.PodNow, known bool)

// SetPods tells the ring whom to ask for pods as they are now; until then it serves none.
func (r *Ring) SetPods(pods Pods) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.pods = pods
}

func servePod(w http.ResponseWriter, req *http.Request, r *Ring) {
	r.mu.Lock()
	pods := r.pods
	r.mu.Unlock()
	if pods == nil {
		http.Error(w, "this controller does not know its pods yet", http.StatusServiceUnavailable)
		return
	}
	now, known := pods(req.Context(), req.URL.Query().Get("namespace"), req.PathValue("name"))
	if !known {
		now = record.PodNow{}
	}
	writeJSON(w, now)
}
