package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/kerf-sh/kerf/internal/controller/overview"
	"github.com/kerf-sh/kerf/internal/engine/floor"
	"github.com/kerf-sh/kerf/internal/guard"
	"github.com/kerf-sh/kerf/internal/status"
	"github.com/kerf-sh/kerf/internal/web"
)

type statusFlags struct {
	controller  controllerFlags
	output      form
	noFloor     bool
	floorWithin time.Duration
	verbose     bool
}

func newStatusCommand() *cobra.Command {
	f := &statusFlags{}
	c := &cobra.Command{
		Use:   "status",
		Short: "Say on one screen how the cluster is: what is wrong, what it costs, what waits, what blocks savings",
		Long: `Asks the controller that leads, once: problems with the object and what to do, the cost beside the least that these pods can
cost, pods that wait and why, moves under way, and savings that are blocked with what blocks them.

The floor is proved on this computer, from all nodes, pods and prices; it takes a second or so in a large cluster. --no-floor leaves
it out, and without an answer within --floor-timeout the rest is written without it. Warnings leave the exit code 0.`,
		Example: `  kerf status
  kerf status --quiet || echo "ended with $?"       # only what is wrong
  kerf status -o json | jq '.problems[] | .title, .remedy'
  kerf status --no-floor -o json | jq .cost.running  # in millionths of a dollar per hour`,
		Args: noArguments,
		RunE: func(c *cobra.Command, _ []string) error { return f.run(c.Context(), c.OutOrStdout()) },
	}
	f.controller.register(c)
	f.output.register(c, status.Report{}, checkFormats...)
	f.output.paint = statusPaint
	c.Flags().BoolVar(&f.noFloor, "no-floor", false, "leave out the least that the pods can cost")
	c.Flags().DurationVar(&f.floorWithin, "floor-timeout", 20*time.Second, "how long the floor is waited for")
	c.Flags().BoolVarP(&f.verbose, "verbose", "v", false, "list all lines and nodes, and the NodePools")
	return c
}

// statusWithin bounds finding the controller and its first answer.
const statusWithin = 30 * time.Second

func (f *statusFlags) run(ctx context.Context, out io.Writer) error {
	if f.floorWithin <= 0 {
		return &usageError{fmt.Errorf("--floor-timeout=%s: want more than 0, or --no-floor", f.floorWithin)}
	}
	link := overview.NewLink(f.controller.connect)
	defer link.Close()
	within, cancel := context.WithTimeout(ctx, statusWithin)
	defer cancel()
	d, err := link.Read(within)
	if err != nil {
		return err
	}
	var found *floor.Floor
	why := ""
	if !f.noFloor && !f.isBrief() {
		found, why = findFloor(ctx, link, f.floorWithin)
	}
	report := status.Of(d, found, why)
	f.output.brief = report.WriteProblems
	if err := f.output.writeChecked(out, report, func() *findings { return statusFindings(report) }, func(w io.Writer) error { return report.Write(w, f.verbose) }); err != nil {
		return err
	}
	if !report.Healthy {
		return &exitError{code: foundWrong}
	}
	return nil
}

// isBrief tells whether only problems are written, which need no floor.
func (f *statusFlags) isBrief() bool {
	return f.output.format == sarifFormat || f.output.format == junitFormat || f.output.format == textFormat && isQuiet(f.output.command)
}

// findFloor waits for the floor no longer than it may take; the search itself can't be broken off, and ends with the command.
func findFloor(ctx context.Context, link *overview.Link, within time.Duration) (*floor.Floor, string) {
	type answer struct {
		found *floor.Floor
		err   error
	}
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	answers := make(chan answer, 1)
	guard.Go("floor", func() {
		found, err := overview.FindFloor(ctx, link.Problem)
		answers <- answer{found, err}
	})
	select {
	case a := <-answers:
		if a.err == nil {
			return a.found, ""
		}
		if !errors.Is(a.err, context.DeadlineExceeded) {
			return nil, a.err.Error()
		}
	case <-ctx.Done():
	}
	return nil, fmt.Sprintf("it took longer than %s: see --floor-timeout", within)
}

// connect makes the connection of a link to the controller.
func (f *controllerFlags) connect(ctx context.Context) (overview.Connection, error) {
	c, err := f.reach(ctx)
	if err != nil {
		return overview.Connection{}, err
	}
	return web.To(c), nil
}

// statusPaint colours a report for people.
var statusPaint = []stroke{
	strokeOf(`^PROBLEM`, wrongColor...), strokeOf(`^WARNING`, doubtColor...), strokeOf(`^ {9}(fix:)`, remedyColor...),
	strokeOf(`^cluster .*: (healthy)`, rightColor...), strokeOf(`^cluster .*: (\d+ problem.*)`, wrongColor...),
	strokeOf(`^(cost|floor|nodes|pods) `, headingColor...), strokeOf(`^(waiting pods|moves|blocked savings.*|NodePools)$`, headingColor...),
}

// statusFindings are the problems as findings; a code without a problem held.
func statusFindings(r *status.Report) *findings {
	out := &findings{check: "kerf status", of: "cluster " + r.Cluster}
	for _, c := range overview.ProblemCodes() {
		out.rules = append(out.rules, rule{c.Code, "not: " + c.Means, c.Means})
	}
	add := func(p *overview.Problem) {
		x := finding{rule: p.Code, level: levelWarning, message: p.Title, remedy: p.Remedy}
		if p.Level == overview.Bad {
			x.level = levelError
		}
		if p.Object != "" {
			x.object = p.Kind + " " + p.Object
		}
		if p.Text != "" {
			x.evidence = []string{p.Text}
		}
		out.found = append(out.found, x)
	}
	for i := range r.Problems {
		add(&r.Problems[i])
		for j := range r.Problems[i].Follows {
			add(&r.Problems[i].Follows[j])
		}
	}
	return out
}
