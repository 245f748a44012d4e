package record

import (
	"github.com/kerf-sh/kerf/internal/engine/catalog"
	"github.com/kerf-sh/kerf/internal/engine/cluster"
	"github.com/kerf-sh/kerf/internal/engine/disrupt"
	"github.com/kerf-sh/kerf/internal/engine/pack"
	"github.com/kerf-sh/kerf/internal/engine/plan"
)

// The documents hold the values of the lower packages as they are, and put numbers in place of what is written in a
// table. A field of an outer struct hides the one of the same JSON name in the struct it embeds; fields that are added
// to the embedded structs later are carried along by themselves.
//
// References count from 1; 0 is none.

// typesDocument is the first document.
type typesDocument struct {
	Types []*catalog.Type `json:"types"`
	// Lists are what pools refer to: indices into Types, from 0.
	Lists [][]int `json:"lists"`
}

// decisionDocument is the second document.
type decisionDocument struct {
	ID      string           `json:"id,omitempty"`
	Classes []*cluster.Class `json:"classes"`
	Problem problemDocument  `json:"problem"`
	// Choices are what new nodes may become; ChoiceLists refer to them by distance from the one before, from -1.
	Choices     []plan.TypeChoice  `json:"choices,omitempty"`
	ChoiceLists [][]int            `json:"choiceLists,omitempty"`
	Plan        *planDocument      `json:"plan,omitempty"`
	Claims      []Claim            `json:"claims,omitempty"`
	Dropped     []string           `json:"dropped,omitempty"`
	Left        []unplacedDocument `json:"left,omitempty"`
	Disruption  *disrupt.Decision  `json:"disruption,omitempty"`
	Asked       *Asked             `json:"asked,omitempty"`
}

// Types without methods, so that none of the values below can take over how it is written.
type (
	problemFields   pack.Problem
	nodeFields      cluster.Node
	podFields       cluster.Pod
	poolFields      cluster.Pool
	daemonFields    cluster.Daemon
	planFields      plan.Plan
	newNodeFields   plan.NewNode
	placementFields plan.Placement
	unplacedFields  plan.Unplaced
)

type problemDocument struct {
	problemFields
	Nodes   []nodeDocument   `json:"nodes,omitempty"`
	Pending []podDocument    `json:"pending"`
	Pools   []poolDocument   `json:"pools"`
	Daemons []daemonDocument `json:"daemons,omitempty"`
}

type nodeDocument struct {
	nodeFields
	Pods []podDocument `json:"pods,omitempty"`
}

type podDocument struct {
	podFields
	Class int `json:"class,omitempty"`
}

type poolDocument struct {
	poolFields
	Types int `json:"types,omitempty"`
}

type daemonDocument struct {
	daemonFields
	Class int `json:"class"`
}

type planDocument struct {
	planFields
	NewNodes   []newNodeDocument   `json:"newNodes,omitempty"`
	Placements []placementDocument `json:"placements,omitempty"`
	Unplaced   []unplacedDocument  `json:"unplaced,omitempty"`
}

// Pods of plans are references into the pending pods. Where that is 0, the next of Strangers is meant, which are not
// pending.

type newNodeDocument struct {
	newNodeFields
	Types     int              `json:"types,omitempty"`
	Pods      []int            `json:"pods"`
	Strangers []cluster.PodRef `json:"strangers,omitempty"`
}

type placementDocument struct {
	placementFields
	Pods      []int            `json:"pods"`
	Strangers []cluster.PodRef `json:"strangers,omitempty"`
}

type unplacedDocument struct {
	unplacedFields
	Pods      []int            `json:"pods"`
	Strangers []cluster.PodRef `json:"strangers,omitempty"`
}
