package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kerf-sh/kerf/internal/controller/decisions"
	"github.com/kerf-sh/kerf/internal/engine/bound"
	"github.com/kerf-sh/kerf/internal/engine/catalog"
	"github.com/kerf-sh/kerf/internal/engine/disrupt"
	"github.com/kerf-sh/kerf/internal/engine/plan"
	"github.com/kerf-sh/kerf/internal/engine/record"
	"github.com/kerf-sh/kerf/internal/setup/leader"
	"github.com/kerf-sh/kerf/internal/version"
)

type replayFlags struct {
	controller       controllerFlags
	save             string
	output           form
	bound, hashNames bool
}

func newReplayCommand() *cobra.Command {
	f := &replayFlags{}
	c := &cobra.Command{
		Use:   "replay [FILE|ID|URL]",
		Short: "Make a recorded decision again and compare it byte for byte",
		Long: `Reads a recorded decision, solves its problem again, prints the plan, and says whether it is the same as the recorded one.
A controller records its last decisions (KERF_DECISIONS) and serves them as files under /debug/decisions on its metrics
port, to users who may get that path (ClusterRole kerf-viewer); a URL is fetched from there with your token, the latest decision
when it names none. An ID, such as the decision-id of a log line, is asked of the controller that leads the cluster; without an
argument it is its latest decision. A file comes first where there is one of that name.

--hash-names with --save writes a copy for a bug report in which names of pods, namespaces and nodes, and all UIDs, are
replaced. It is the same decision: it is solved before it is written, and refused if it came out otherwise. Labels, taints,
pools and instance types stay readable.`,
		Example: `  kerf replay decision.kerf
  kerf replay                                          # the latest, of the leader
  kerf replay 5f0c3e1ab2d47c90 --save decision.kerf    # the decision-id of a log line
  kerf replay decision.kerf --bound
  kerf replay http://127.0.0.1:8080/debug/decisions/latest --save decision.kerf
  kerf replay decision.kerf --hash-names --save for-the-report.kerf`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 1 {
				return &usageError{fmt.Errorf("name one file or URL; %d were given", len(args))}
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			from := ""
			if len(args) == 1 {
				from = args[0]
			}
			return f.run(c.Context(), c.OutOrStdout(), from)
		},
	}
	f.output.register(c, replayed{})
	f.output.paint = replayPaint
	f.controller.register(c)
	c.Flags().BoolVar(&f.bound, "bound", false, "compute the least that the new instances can cost, and the gap to it")
	c.Flags().StringVar(&f.save, "save", "", "write the decision to this file as well")
	c.Flags().BoolVar(&f.hashNames, "hash-names", false, "replace names in what --save writes")
	return c
}

func (f *replayFlags) run(ctx context.Context, out io.Writer, from string) error {
	switch {
	case f.hashNames && f.save == "":
		return &usageError{errors.New("--hash-names is about what is written; give --save FILE")}
	}
	d, err := f.decision(ctx, from)
	if err != nil {
		return err
	}
	if f.save != "" {
		if err := saveDecision(f.save, d, f.hashNames); err != nil {
			return err
		}
	}
	r, err := replay(d, f.bound)
	if err != nil {
		return &exitError{code: foundWrong, said: err.Error()}
	}
	f.output.brief = r.verdict
	if err := f.output.write(out, r, func(w io.Writer) error { return r.write(w, d) }); err != nil {
		return err
	}
	if r.Same != nil && !*r.Same {
		return &exitError{code: foundWrong}
	}
	return nil
}

// isID matches what stands for a decision in logs: 16 hexadecimal digits.
var isID = regexp.MustCompile(`^[0-9a-f]{16}$`)

// decision reads a file, or fetches from a controller: at a URL, or by an ID or where nothing is named from the one that leads.
func (f *replayFlags) decision(ctx context.Context, from string) (*record.Decision, error) {
	isURL := strings.HasPrefix(from, "http://") || strings.HasPrefix(from, "https://")
	named := from == decisions.Latest || isID.MatchString(from)
	if _, err := os.Stat(from); err == nil {
		named = false
	}
	if from != "" && !isURL && !named {
		d, err := decisions.ReadFile(from)
		if err != nil {
			return nil, &usageError{err}
		}
		return d, nil
	}
	id := decisions.Latest
	if named {
		id = from
	}
	if _, last, ok := strings.Cut(from, decisions.Path+"/"); ok && last != "" {
		id = last
	}
	var to *leader.Controller
	var err error
	if isURL {
		to, err = f.controller.at(from)
	} else {
		to, err = f.controller.reach(ctx)
	}
	if err != nil {
		return nil, err
	}
	defer to.Close()
	return decisions.Server{URL: to.URL, Client: to.Client}.Decision(ctx, id)
}

func saveDecision(name string, d *record.Decision, hashNames bool) error {
	if hashNames && d.Asked != nil {
		return fmt.Errorf("%s is not written: names in decisions on which nodes go can't be replaced; leave --hash-names out", name)
	}
	if hashNames {
		hashed := record.HashNames(d)
		p, err := record.Replay(d)
		if err != nil {
			return err
		}
		again, err := record.Replay(hashed)
		if err != nil {
			return err
		}
		if want := record.HashNames(&record.Decision{Problem: d.Problem, Plan: p}).Plan; !record.SamePlan(want, again) {
			return fmt.Errorf("%s is not written: with other names this problem is decided otherwise; leave --hash-names out", name)
		}
		d = hashed
	}
	var b bytes.Buffer
	if err := record.Write(&b, d); err != nil {
		return err
	}
	return writeWhole(name, b.Bytes())
}

// replayed is the outcome of a replay.
type replayed struct {
	RecordedBy string `json:"recordedBy"`
	ReplayedBy string `json:"replayedBy"`
	// Same is nil when no plan was recorded.
	Same       *bool      `json:"same,omitempty"`
	Difference []string   `json:"difference,omitempty"`
	Plan       *plan.Plan `json:"plan"`
	// Disruption is set in place of Plan where it was asked which nodes go.
	Disruption *disrupt.Decision `json:"disruption,omitempty"`
	Bound      *bound.Result     `json:"bound,omitempty"`
}

func replay(d *record.Decision, withBound bool) (*replayed, error) {
	if d.Asked != nil {
		return replayDisruption(d, withBound)
	}
	p, err := record.Replay(d)
	if err != nil {
		return nil, err
	}
	r := &replayed{RecordedBy: d.Kerf, ReplayedBy: version.Version, Plan: p}
	if d.Plan != nil {
		was, err := record.PlanBytes(d.Plan)
		if err != nil {
			return nil, err
		}
		is, err := record.PlanBytes(p)
		if err != nil {
			return nil, err
		}
		r.Same = new(bytes.Equal(was, is))
		r.Difference = difference(string(was), string(is))
	}
	if withBound {
		r.Bound = bound.Lower(d.Problem, p, bound.Budget{})
		if _, err := bound.Check(d.Problem, r.Bound.Certificate); err != nil {
			return nil, fmt.Errorf("the certificate of the floor does not hold: %w; please report it, with the file", err)
		}
	}
	return r, nil
}

// replayDisruption asks again which nodes go.
func replayDisruption(d *record.Decision, withBound bool) (*replayed, error) {
	if withBound {
		return nil, errors.New("--bound is about instances that are launched for pods; this decision is on which nodes are removed")
	}
	again, err := record.ReplayDisruption(d)
	if err != nil {
		return nil, err
	}
	was, err := record.DisruptionBytes(d.Disruption)
	if err != nil {
		return nil, err
	}
	is, err := record.DisruptionBytes(again)
	if err != nil {
		return nil, err
	}
	return &replayed{RecordedBy: d.Kerf, ReplayedBy: version.Version, Disruption: again, Same: new(bytes.Equal(was, is)), Difference: difference(string(was), string(is))}, nil
}

// replayPaint colours a replay for people.
var replayPaint = []stroke{
	strokeOf(`^same`, rightColor...), strokeOf(`^different`, wrongColor...), strokeOf(`^  \+ .*`, rightColor...), strokeOf(`^  - .*`, wrongColor...),
}

// verdict says whether the decision is the same.
func (r *replayed) verdict(out io.Writer) error {
	var err error
	switch {
	case r.Same == nil:
		_, err = io.WriteString(out, "no plan was recorded to compare with\n")
	case *r.Same:
		_, err = io.WriteString(out, "same: the "+r.what()+" is the recorded one, byte for byte\n")
	default:
		_, err = fmt.Fprintf(out, "different: recorded by kerf %s, replayed by kerf %s\n", r.RecordedBy, r.ReplayedBy)
	}
	return err
}

// write says first whether the decision is the same, then what it was about, then the decision.
func (r *replayed) write(out io.Writer, d *record.Decision) error {
	var b strings.Builder
	if err := r.verdict(&b); err != nil {
		return err
	}
	for _, line := range r.Difference {
		b.WriteString("  " + line + "\n")
	}
	fmt.Fprintf(&b, "%s on %s of %s, decided at %s by kerf %s\n", plan.Count(len(d.Problem.Pending), "pod"), plan.Count(len(d.Problem.Nodes), "node"),
		plan.Count(len(d.Problem.Pools), "pool"), d.Problem.Now.UTC().Format("2006-01-02T15:04:05Z"), d.Kerf)
	if r.Plan != nil {
		fmt.Fprintf(&b, "%s at %s/h, %s on existing nodes, %s without a place\n", plan.Count(len(r.Plan.NewNodes), "new node"), r.Plan.Currency.Amount(r.Plan.Price),
			plan.Count(placed(r.Plan), "pod"), plan.Count(unplaced(r.Plan), "pod"))
	}
	if r.Bound != nil {
		fmt.Fprintf(&b, "%s\n", boundText(r.Bound, d.Problem.Options.Currency))
	}
	b.WriteString("\n")
	if r.Disruption != nil {
		b.WriteString(r.Disruption.String())
	} else {
		b.WriteString(r.Plan.String())
	}
	_, err := io.WriteString(out, b.String())
	return err
}

func placed(p *plan.Plan) int {
	n := 0
	for _, x := range p.Placements {
		n += len(x.Pods)
	}
	return n
}

func unplaced(p *plan.Plan) int {
	n := 0
	for _, u := range p.Unplaced {
		n += len(u.Pods)
	}
	return n
}

// what is what was decided.
func (r *replayed) what() string {
	if r.Disruption != nil {
		return "decision"
	}
	return "plan"
}

// boundText words the floor and the gap.
func boundText(r *bound.Result, in catalog.Currency) string {
	text := fmt.Sprintf("floor %s/h, proven; price %s/h", in.Amount(r.Bound), in.Amount(r.Price))
	switch {
	case r.Gap < 0:
		text += "; the gap can't be told"
	default:
		text += fmt.Sprintf("; gap %.2f %%", 100*r.Gap)
	}
	if r.Stopped != "" {
		text += " (the search for a higher floor was stopped: " + r.Stopped + ")"
	}
	return text
}

// differenceMost is how many lines of each side are shown.
const differenceMost = 30

// difference is where two texts differ: their lines without those that they begin and end with in common.
func difference(was, is string) []string {
	if was == is {
		return nil
	}
	a, b := strings.Split(was, "\n"), strings.Split(is, "\n")
	at := 0
	for at < len(a) && at < len(b) && a[at] == b[at] {
		at++
	}
	end := 0
	for end < len(a)-at && end < len(b)-at && a[len(a)-1-end] == b[len(b)-1-end] {
		end++
	}
	out := []string{fmt.Sprintf("from line %d of the plan as JSON on:", at+1)}
	for _, side := range []struct {
		mark  string
		lines []string
	}{{"- ", a[at : len(a)-end]}, {"+ ", b[at : len(b)-end]}} {
		for i, line := range side.lines {
			if i == differenceMost {
				out = append(out, fmt.Sprintf("%sand %d lines more", side.mark, len(side.lines)-i))
				break
			}
			out = append(out, side.mark+line)
		}
	}
	return out
}
