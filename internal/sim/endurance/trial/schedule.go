// Package trial plays what may happen to a cluster (arrivals, departures, spot interruptions, price moves, shortages,
// trouble with either API, the death of the controller) and has a judge watch. A trial is data, drawn from a seed or
// written down; it is played on any ground that has a Kubernetes API, a simulated AWS and a controller that can be ended.
package trial

import (
	"encoding/json"
	"fmt"
	"os"
	"time"

	"github.com/kerf-sh/kerf/internal/sim/awssim/world"
	"github.com/kerf-sh/kerf/internal/sim/endurance/gate"
)

// Schedule is what happens in a trial. Its times are those of a cluster in its natural pace; a ground may play it faster.
type Schedule struct {
	Name string `json:"name,omitempty"`
	// Seed is what it was drawn from, if it was.
	Seed  uint64 `json:"seed,omitempty"`
	Pools []Pool `json:"pools"`
	Steps []Step `json:"steps"`
	// KillAt ends the controller at its so-many-th call, once, before or after the call takes effect; 0: not so.
	KillAt int         `json:"killAt,omitempty"`
	Moment gate.Moment `json:"moment,omitempty"`
	// EveryCall makes KillAt count calls that only read, too; NodeCalls only writes to Nodes and deletions of
	// NodeClaims.
	EveryCall bool `json:"everyCall,omitempty"`
	NodeCalls bool `json:"nodeCalls,omitempty"`
	// Kills is how often it is ended so, KillAt calls after the last time; 0 and 1: once.
	Kills int `json:"kills,omitempty"`
	// NoLease runs the controller without leader election.
	NoLease bool `json:"noLease,omitempty"`
	// Skew is by how much AWS's clock is ahead of the cluster's.
	Skew time.Duration `json:"skew,omitempty"`
}

// Pool is a NodePool, with an EC2NodeClass of its own.
type Pool struct {
	Name        string        `json:"name"`
	Budget      string        `json:"budget"`
	Spot        bool          `json:"spot,omitempty"` // spot only; else on-demand only
	ExpireAfter time.Duration `json:"expireAfter,omitempty"`
	Grace       time.Duration `json:"grace,omitempty"` // terminationGracePeriod
}

// Step is one thing that happens.
type Step struct {
	Wait time.Duration `json:"wait,omitempty"` // before it
	Do   Action        `json:"do"`

	App  *App   `json:"app,omitempty"`
	Name string `json:"name,omitempty"` // of an app or a pool
	// Pick chooses one of several, counted in the order of their names, as a remainder.
	Pick int `json:"pick,omitempty"`
	// For is how long it lasts.
	For     time.Duration `json:"for,omitempty"`
	Fault   *gate.Fault   `json:"fault,omitempty"`
	AWS     *world.Fault  `json:"aws,omitempty"`
	Percent int           `json:"percent,omitempty"` // of the present price
}

// Action is a kind of step.
type Action string

// The actions.
const (
	Deploy      Action = "deploy"       // App, or a change of it
	Remove      Action = "remove"       // the app Name
	Interrupt   Action = "interrupt"    // AWS takes a spot instance back, with two minutes' notice
	EndInstance Action = "end-instance" // somebody ends an instance in EC2
	Price       Action = "price"        // spot prices of a pool's types move
	Disturb     Action = "disturb"      // Fault or AWS, For a time
	Kill        Action = "kill"         // the controller dies, and comes back after For
	Restart     Action = "restart"      // the controller is replaced as a rollout does
	Drift       Action = "drift"        // the class of pool Name changes
	Taint       Action = "taint"        // a person taints a node
	DeleteNode  Action = "delete-node"  // a person does
	DeleteClaim Action = "delete-claim"
	ForceClaim  Action = "force-claim"  // a person takes a NodeClaim's finalizers off and deletes it; with an odd Pick its node's too
	Protect     Action = "protect"      // a person forbids to disrupt a node, or with an odd Pick the pods on it, For a time
	Balk        Action = "balk"         // a class changes, and a person objects when the controller has marked a node: see balk.go
	DeletePool  Action = "delete-pool"  // Name, and after it its class
	DeleteClass Action = "delete-class" // of pool Name
	Settle      Action = "settle"       // wait until nothing moves
)

// App is a Deployment.
type App struct {
	Name     string `json:"name"`
	Pool     string `json:"pool"`
	Replicas int    `json:"replicas"`
	MilliCPU int    `json:"milliCPU"`
	MiB      int    `json:"MiB"`
	// Held pods must not be disrupted. Guard is the maxUnavailable of a disruption budget; nil: there is none.
	Held  bool `json:"held,omitempty"`
	Guard *int `json:"guard,omitempty"`
	// Apart keeps its pods on nodes of their own.
	Apart bool `json:"apart,omitempty"`
}

func (s Step) String() string {
	text, _ := json.Marshal(s) // plain data: it can't fail
	return string(text)
}

// Write puts a schedule into a file that Read takes.
func (s *Schedule) Write(path string) error {
	text, err := json.MarshalIndent(s, "", " ")
	if err != nil {
		return fmt.Errorf("write schedule: %w", err)
	}
	return os.WriteFile(path, append(text, '\n'), 0o644)
}

// Read reads a schedule from a file.
func Read(path string) (*Schedule, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read schedule: %w", err)
	}
	s := &Schedule{}
	if err := json.Unmarshal(text, s); err != nil {
		return nil, fmt.Errorf("read schedule %s: %w", path, err)
	}
	return s, nil
}
