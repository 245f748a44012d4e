package record

import (
	"github.com/kerf-sh/kerf/internal/engine/catalog"
	"github.com/kerf-sh/kerf/internal/engine/cluster"
)

// Now is a node as the controller sees it at this moment.
type Now struct {
	Node *cluster.Node `json:"node"`
	// Currency of its price; empty is USD.
	Currency catalog.Currency `json:"currency,omitempty"`
	// Why is what was written on its NodeClaim when it was launched; empty where Kerf did not launch it. It outlives the
	// decision, and the process.
	Why string `json:"why,omitempty"`
	// Launched is what was launched and its price beside the planned one, as its
	// NodeClaim says; empty where that is not known.
	Launched string `json:"launched,omitempty"`
	// Refused is why EC2 has not launched it yet; Stalled which pod its drain waits for, and why. Each is empty where that is not so.
	Refused string `json:"refused,omitempty"`
	Stalled string `json:"stalled,omitempty"`
	// Drifted is set if its NodeClaim is marked Drifted.
	Drifted *Drift `json:"drifted,omitempty"`
}

// Drift is that a node is not what is asked for now.
type Drift struct {
	// Reason and Message are those of the condition Drifted.
	Reason  string `json:"reason"`
	Message string `json:"message,omitempty"`
	// Held is what holds up its replacement; empty where nothing is known to.
	Held string `json:"held,omitempty"`
}

// PodNow is a pod as the controller sees it at this moment.
type PodNow struct {
	// Namespace, Name and UID are empty where there is no such pod, and then Gone is true.
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name,omitempty"`
	UID       string `json:"uid,omitempty"`
	Gone      bool   `json:"gone,omitempty"`
	// Node is the one that it is bound to, Nominated one that it waits for room on; each is empty where that is not so.
	Node      string `json:"node,omitempty"`
	Nominated string `json:"nominated,omitempty"`
	// Why is why it waits, of a pod that no decision is about; empty where decisions are about it.
	Why string `json:"why,omitempty"`
}
