package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/kerf-sh/kerf/internal/controller/decisions"
	"github.com/kerf-sh/kerf/internal/engine/disrupt"
	"github.com/kerf-sh/kerf/internal/engine/plan"
	"github.com/kerf-sh/kerf/internal/engine/record"
)

// toldDecision is what kerf explain decision answers: one decision, or the list of all that are kept.
type toldDecision struct {
	ID string    `json:"id,omitempty"`
	At time.Time `json:"at,omitzero"`
	// Commands are the command-ids of what was begun, where it was decided which nodes go.
	Commands   []string          `json:"commands,omitempty"`
	Pods       int               `json:"pods,omitempty"`       // that waited
	NodeClaims []string          `json:"nodeClaims,omitempty"` // that were made
	Plan       *plan.Plan        `json:"plan,omitempty"`
	Disruption *disrupt.Decision `json:"disruption,omitempty"`
	// Decisions are those that are kept, the newest first, where none was named.
	Decisions []decisions.Summary `json:"decisions,omitempty"`
}

func (f *explainFlags) decisionCommand() *cobra.Command {
	var output form
	var controller controllerFlags
	c := &cobra.Command{
		Use: "decision [ID]", Short: "Say what was decided, by the id of a log line; without one, list the decisions that are kept",
		Long: `The ID is the decision-id or the command-id of a line of the controller's log, the annotation kerf.sh/decision-id of a NodeClaim
or its Node, an ID of this list, of kerf top or of the page, or "latest". They are the same IDs everywhere.

A controller keeps the last decisions (KERF_DECISIONS); of those that repeat the one before, the newest.`,
		Example: "  kerf explain decision\n  kerf explain decision 5f0c3e1ab2d47c90\n  kerf explain decision latest -o json",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 1 {
				return &usageError{fmt.Errorf("name one decision; %d were given", len(args))}
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			told, err := f.decision(c.Context(), &controller, strings.Join(args, ""))
			if err != nil {
				return err
			}
			output.brief = told.write
			return output.write(c.OutOrStdout(), told, told.write)
		},
	}
	output.register(c, toldDecision{})
	controller.register(c)
	return c
}

// decision asks for one decision, or for the list where id is empty.
func (f *explainFlags) decision(ctx context.Context, controller *controllerFlags, id string) (*toldDecision, error) {
	if f.file != "" {
		d, err := decisions.ReadFile(f.file)
		if err == nil && id != "" && id != decisions.Latest && !d.Is(id) {
			err = fmt.Errorf("%s holds decision %s, not %s", f.file, d.ID, id)
		}
		if err != nil {
			return nil, &usageError{err}
		}
		return told(d), nil
	}
	to, err := controller.reach(ctx)
	if err != nil {
		return nil, err
	}
	defer to.Close()
	from := decisions.Server{URL: to.URL, Client: to.Client}
	if id == "" {
		list, err := from.List(ctx)
		return &toldDecision{Decisions: list}, err
	}
	d, err := from.Decision(ctx, id)
	if errors.Is(err, decisions.ErrGone) {
		return nil, &exitError{code: foundWrong, said: fmt.Sprintf("decision %q is not kept by the controller that leads, or not any more: kerf explain decision lists those that are, and --kerf-decisions says how many", id)}
	}
	if err != nil {
		return nil, err
	}
	return told(d), nil
}

func told(d *record.Decision) *toldDecision {
	out := &toldDecision{ID: d.ID, At: d.Problem.Now, Pods: len(d.Problem.Pending), Plan: d.Plan}
	for _, c := range d.Claims {
		out.NodeClaims = append(out.NodeClaims, c.Name)
	}
	if d.Asked != nil {
		out.Commands, out.Disruption = d.Asked.Commands, d.Disruption
	}
	return out
}

func (t *toldDecision) write(w io.Writer) error {
	if t.Plan == nil && t.Disruption == nil {
		return t.writeList(w)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "decision %s of %s", t.ID, t.At.UTC().Format(time.RFC3339))
	if t.Disruption != nil {
		b.WriteString(", on which nodes are removed")
	} else {
		fmt.Fprintf(&b, ", on %s without a node", plan.Count(t.Pods, "pod"))
	}
	b.WriteString("\n")
	if len(t.Commands) > 0 {
		fmt.Fprintf(&b, "commands that were begun: %s\n", strings.Join(t.Commands, ", "))
	}
	if len(t.NodeClaims) > 0 {
		fmt.Fprintf(&b, "NodeClaims that were made: %s\n", strings.Join(t.NodeClaims, ", "))
	}
	b.WriteString("\n")
	if t.Plan != nil {
		b.WriteString(t.Plan.String())
	} else {
		b.WriteString(t.Disruption.String())
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func (t *toldDecision) writeList(w io.Writer) error {
	if len(t.Decisions) == 0 {
		_, err := fmt.Fprintln(w, "no decision is kept yet: the controller that leads makes one when pods wait or nodes can go")
		return err
	}
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(tw, "ID\tTIME\tWHAT WAS DECIDED")
	for i := range t.Decisions {
		s := &t.Decisions[i]
		fmt.Fprintf(tw, "%s\t%s\t%s\n", s.ID, s.At.UTC().Format(time.RFC3339), s.Text())
	}
	return tw.Flush()
}
