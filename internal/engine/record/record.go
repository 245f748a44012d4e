// Package record keeps decisions: a problem, the plan that answered it, and what became of it, as one compact file that
// can be carried away, read again by any Kerf of the same format, and run again to the same bytes.
//
// A file is one line of text (magic word, format, version of the Kerf that decided) followed by gzip members, which
// decompress to two JSON documents: the instance types, and the decision. What occurs often, such as pod classes, types
// and lists of types, is written once and referred to by number. The types come first and in a member of their own, so
// that many records of one process share them.
package record

import (
	"slices"

	"github.com/kerf-sh/kerf/internal/engine/cluster"
	"github.com/kerf-sh/kerf/internal/engine/disrupt"
	"github.com/kerf-sh/kerf/internal/engine/pack"
	"github.com/kerf-sh/kerf/internal/engine/plan"
)

const (
	// Magic is the first word of every file.
	Magic = "kerf-decision"
	// Format is the version of the format; files of another are refused.
	Format = 1
	// Extension is how names of files end.
	Extension = ".kerf"
)

// Decision is what is recorded. It is immutable once made.
type Decision struct {
	// ID is what log lines and NodeClaims name it by (story.NewID); empty where it has none.
	ID string
	// Kerf is the version that decided.
	Kerf    string
	Problem *pack.Problem
	// Plan is what the solver answered, before the independent check and before anything was carried out.
	Plan *plan.Plan
	// Claims are the NodeClaims that were made for new nodes of the plan.
	Claims []Claim
	// Dropped holds what the independent check found wrong, and which therefore was not carried out.
	Dropped []string
	// Left are the pods for which Plan has a place and that wait all the same, and why.
	Left []plan.Unplaced
	// Disruption is the last decision on consolidation that was made before, nil when there is none; or, where Asked is set,
	// what was decided.
	Disruption *disrupt.Decision
	// Asked is set where it was asked which nodes go. There is no Plan then.
	Asked *Asked
}

// Is reports whether the decision goes by an ID: its own, or that of one of its commands.
func (d *Decision) Is(id string) bool {
	return id != "" && (d.ID == id || d.Asked != nil && slices.Contains(d.Asked.Commands, id))
}

// WhyLeft is why a pod waits for which Plan has a place; ok is false where it does not.
func (d *Decision) WhyLeft(pod cluster.PodRef) (reasons []plan.Reason, ok bool) {
	for i := range d.Left {
		if slices.Contains(d.Left[i].Pods, pod) {
			return d.Left[i].Reasons, true
		}
	}
	return nil, false
}

// Claim says which NodeClaim stands for which new node.
type Claim struct {
	// NewNode is the index in Plan.NewNodes.
	NewNode int    `json:"newNode"`
	Name    string `json:"name"`
}

// ClaimFor is the name of the NodeClaim that was made for a new node; empty when none was.
func (d *Decision) ClaimFor(newNode int) string {
	for _, c := range d.Claims {
		if c.NewNode == newNode {
			return c.Name
		}
	}
	return ""
}
