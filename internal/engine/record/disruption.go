package record

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/kerf-sh/kerf/internal/engine/disrupt"
)

// Asked is what a decision on disruption was asked beyond the cluster: the fields of disrupt.Problem, and for nodes that
// have to go their cause and their order.
type Asked struct {
	Nodes         []disrupt.Node   `json:"nodes"`
	Pools         []disrupt.Pool   `json:"pools"`
	DeletionCosts map[string]int32 `json:"deletionCosts,omitempty"`
	Options       disrupt.Options  `json:"options"`
	// Cause and Due are those of disrupt.Replace; Cause is empty where disrupt.Decide was asked which nodes may go.
	Cause disrupt.Cause `json:"cause,omitempty"`
	Due   []string      `json:"due,omitempty"`
	// Begun are the moves that were begun, as indices into those of the decision; the others waited.
	Begun []int `json:"begun,omitempty"`
	// Commands are the IDs of what they were begun as, which log lines and NodeClaims bear.
	Commands []string `json:"commands,omitempty"`
}

// OnDisruption makes the record of a decision on which nodes go: Roll's for a cause with due nodes, Decide's for none.
// begun are those of its moves that were begun, ids those of their commands. The decision is named by the first of them.
func OnDisruption(kerf string, p *disrupt.Problem, cause disrupt.Cause, due []string, d *disrupt.Decision, begun []disrupt.Move, ids []string) *Decision {
	a := &Asked{Nodes: p.Nodes, Pools: p.Pools, DeletionCosts: p.DeletionCosts, Options: p.Options, Cause: cause, Due: due}
	for i := range d.Moves {
		at := slices.IndexFunc(begun, func(m disrupt.Move) bool { return slices.Equal(m.Nodes, d.Moves[i].Nodes) })
		if at < 0 {
			continue
		}
		a.Begun = append(a.Begun, i)
		if at < len(ids) {
			a.Commands = append(a.Commands, ids[at])
		}
	}
	out := &Decision{Kerf: kerf, Problem: p.Cluster, Disruption: d, Asked: a}
	if len(a.Commands) > 0 {
		out.ID = a.Commands[0]
	}
	return out
}

// Consolidation is what was decided, or decided last, about nodes that may go; nil when nothing is known of that.
func (d *Decision) Consolidation() *disrupt.Decision {
	if d.Asked != nil && d.Asked.Cause != "" {
		return nil
	}
	return d.Disruption
}

// ReplayDisruption asks again what a record with Asked was asked.
//
// Errors: the engine broke down on it, which is a defect worth reporting together with the file.
func ReplayDisruption(d *Decision) (out *disrupt.Decision, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("the engine broke down on this problem: %v; please report it, with the file", r)
		}
	}()
	a := d.Asked
	p := &disrupt.Problem{Cluster: d.Problem, Nodes: a.Nodes, Pools: a.Pools, DeletionCosts: a.DeletionCosts, Options: a.Options}
	if a.Cause != "" {
		return disrupt.Replace(p, a.Cause, a.Due), nil
	}
	return disrupt.Decide(p), nil
}

// DisruptionBytes is a decision on disruption as it is compared: indented JSON.
func DisruptionBytes(d *disrupt.Decision) ([]byte, error) {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetIndent("", "  ")
	if err := e.Encode(d); err != nil {
		return nil, fmt.Errorf("writing a decision on disruption as JSON: %w", err)
	}
	return []byte(b.String()), nil
}

// SameDisruption reports whether both decisions are written as the same bytes.
func SameDisruption(a, b *disrupt.Decision) bool {
	x, err := DisruptionBytes(a)
	y, err2 := DisruptionBytes(b)
	return err == nil && err2 == nil && string(x) == string(y)
}
