package demo

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/kerf-sh/kerf/internal/engine/cluster"
	"github.com/kerf-sh/kerf/internal/engine/disrupt"
	"github.com/kerf-sh/kerf/internal/engine/plan"
	"github.com/kerf-sh/kerf/internal/engine/record"
)

// keepDecisions takes along the decisions by which instances came or went, before newer ones push them out, and tells of
// those by which instances go.
func (r *run) keepDecisions(ctx context.Context) error {
	r.looked = time.Now()
	server := r.decisionsOf()
	list, err := server.List(ctx)
	if err != nil {
		return err
	}
	for _, summary := range slices.Backward(list) {
		if r.planned[summary.ID] != nil || r.moved[summary.ID] != nil || summary.NewNodes == 0 && summary.Moves == 0 {
			continue
		}
		d, err := server.Decision(ctx, summary.ID)
		if err != nil {
			return err
		}
		if d.Asked == nil {
			r.planned[summary.ID] = d
			continue
		}
		r.moved[summary.ID] = d
		for _, m := range together(d) {
			r.line("decision %s, %s", summary.ID, moveText(d, &m))
		}
	}
	return nil
}

// together are the moves that were begun, those of empty instances as one.
func together(d *record.Decision) []disrupt.Move {
	var out []disrupt.Move
	var empty *disrupt.Move
	for _, i := range d.Asked.Begun {
		m := d.Disruption.Moves[i]
		switch {
		case m.Cause != disrupt.Empty:
			out = append(out, m)
		case empty == nil:
			empty = &m
		default:
			empty.Nodes = append(slices.Clone(empty.Nodes), m.Nodes...)
			empty.Old, empty.Saving = empty.Old+m.Old, empty.Saving+m.Saving
			empty.Why = "no pods need them"
		}
	}
	if empty != nil {
		out = append([]disrupt.Move{*empty}, out...)
	}
	return out
}

// moveText tells what goes, what comes for it, what that saves, and why.
func moveText(d *record.Decision, m *disrupt.Move) string {
	nodes := map[string]*cluster.Node{}
	for _, n := range d.Problem.Nodes {
		nodes[n.Name] = n
	}
	var going []string
	for _, name := range m.Nodes {
		going = append(going, nodes[name].Claim+" ("+nodes[name].InstanceType+")")
	}
	verb := "goes"
	if len(going) > 1 {
		verb = "go"
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s %s", m.Cause, strings.Join(going, ", "), verb)
	moving := 0
	for _, pl := range m.Placements {
		moving += len(pl.Pods)
	}
	if moving > 0 {
		fmt.Fprintf(&b, "; %s to instances that are there", plan.Count(moving, "pod"))
	}
	for i := range m.NewNodes {
		n := &m.NewNodes[i]
		fmt.Fprintf(&b, "; a new %s %s at %s/h for %s", n.Types[0].Name, n.Types[0].CapacityType, dollars.Amount(n.Price), plan.Count(len(n.Pods), "pod"))
	}
	if m.Cause != disrupt.Drifted {
		fmt.Fprintf(&b, "; saves %s of %s/h", dollars.Amount(m.Saving), dollars.Amount(m.Old))
	}
	if m.Why != "" {
		fmt.Fprintf(&b, "; why: %s", m.Why)
	}
	return b.String()
}

// replayMoves makes the decisions by which instances went again.
func (r *run) replayMoves() error {
	moves, nodes := 0, 0
	for id, d := range r.moved {
		again, err := record.ReplayDisruption(d)
		if err != nil {
			return fmt.Errorf("replaying decision %s: %w", id, err)
		}
		if !record.SameDisruption(d.Disruption, again) {
			return fmt.Errorf("decision %s on which nodes go, replayed, is another one", id)
		}
		for _, i := range d.Asked.Begun {
			moves, nodes = moves+1, nodes+len(d.Disruption.Moves[i].Nodes)
		}
	}
	fmt.Fprintf(r.Out, "  nodes removed            %d by %s of %s; all replayed to the same bytes\n",
		nodes, plan.Count(moves, "command"), plan.Count(len(r.moved), "decision"))
	return nil
}
