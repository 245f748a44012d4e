package record

import "github.com/kerf-sh/kerf/internal/engine/cluster"

// Now is a node as the controller sees it at this moment.
type Now struct {
	Node *cluster.Node `json:"node"`
	// Why is what was written on its NodeClaim when it was launched; empty where Kerf did not launch it. It outlives the
	// decision, and the process.
	Why string `json:"why,omitempty"`
	// Launched is what was launched and its price beside the planned one, as its
	// NodeClaim says; empty where that is not known.
	Launched string `json:"launched,omitempty"`
	// Refused is why EC2 has not launched it yet; Stalled which pod its drain waits for, and why. Each is empty where that is not so.
	Refused string `json:"refused,omitempty"`
	Stalled string `json:"stalled,omitempty"`
}
