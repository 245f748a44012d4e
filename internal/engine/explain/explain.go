// Package explain answers why: why a pod has no place, why an instance was launched, why a node is kept. The answers come from
// the decisions that a controller recorded, or from a file, and are data as well as sentences.
package explain

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/kerf-sh/kerf/internal/engine/catalog"
	"github.com/kerf-sh/kerf/internal/engine/disrupt"
	"github.com/kerf-sh/kerf/internal/engine/plan"
	"github.com/kerf-sh/kerf/internal/engine/record"
)

// Answer says why.
type Answer struct {
	// Kind is Pod, Node or NodeClaim.
	Kind string `json:"kind"`
	Name string `json:"name"`
	// Found is false when no recorded decision knows the object.
	Found bool `json:"found"`
	// Decision that the answer comes from.
	Decision string    `json:"decision,omitempty"`
	At       time.Time `json:"at,omitzero"`
	// Said are sentences on where it stands.
	Said []string `json:"said"`
	// Unplaced explains a pod without a place.
	Unplaced *plan.Explanation `json:"unplaced,omitempty"`
	// Launch explains a launch.
	Launch *plan.Why `json:"launch,omitempty"`
	// Upkeep is what each node counts an hour besides its instance, in micro-USD, when prices were compared for Launch.
	Upkeep catalog.MicroUSD `json:"upkeep,omitempty"`
	// Why is what was written on the NodeClaim at its launch, where the decision is not kept any more.
	Why string `json:"why,omitempty"`
	// Launched is what EC2 chose of the types that the plan allowed, and its price beside the planned one.
	Launched string `json:"launched,omitempty"`
	// Declined are preferences of a pod that were not honoured, because they cost more than they may.
	Declined []plan.Preference `json:"declined,omitempty"`
	// Drifted is that the node is not what is asked for now: it is replaced whatever consolidation finds.
	Drifted *record.Drift `json:"drifted,omitempty"`
	// Currency of all prices; empty is USD.
	Currency catalog.Currency `json:"currency,omitempty"`
	// Kept says what keeps a node, Move what is to become of it; Computed tells that no such decision was recorded, and that
	// it was made now, of what the record holds.
	Kept     *disrupt.Kept `json:"kept,omitempty"`
	Move     *disrupt.Move `json:"move,omitempty"`
	Computed bool          `json:"computed,omitempty"`

	to string // the node or NodeClaim that a pod is to go to
}

// runnersUp is how many runner-up shapes are looked for.
const runnersUp = 3

func (a *Answer) say(format string, args ...any) {
	a.Said = append(a.Said, fmt.Sprintf(format, args...))
}

func (a *Answer) from(id string, d *record.Decision) {
	a.Found, a.Decision, a.At, a.Currency = true, id, d.Problem.Now, d.Problem.Options.Currency
}

// nothing says what was looked at in vain.
type nothing struct {
	seen   int
	oldest time.Time
}

func (n *nothing) saw(d *record.Decision) {
	n.seen++
	n.oldest = d.Problem.Now
}

func (n *nothing) text() string {
	if n.seen == 0 {
		return "no decision is recorded yet; the leader makes one when pods wait, within a second or so: ask again, and ask the leader"
	}
	return fmt.Sprintf("%s, from %s on: none is about it; what has just come is decided on within a second or so, so ask again", plan.Count(n.seen, "recorded decision"), n.oldest.UTC().Format(time.RFC3339))
}

// others tells of more pods than the one asked about, if there are any.
func others(format string, n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf(format, plan.Count(n, "other pod"))
}

func claimText(d *record.Decision, newNode int) string {
	if name := d.ClaimFor(newNode); name != "" {
		return "NodeClaim " + name
	}
	if pods := d.Plan.NewNodes[newNode].Pods; len(pods) > 0 {
		if why, left := d.WhyLeft(pods[0]); left {
			return "no NodeClaim was made for it: " + reasonsText(why)
		}
	}
	return "no NodeClaim was made for it, because the cluster had changed by then or the check refused it"
}

func reasonsText(reasons []plan.Reason) string {
	var out []string
	for _, c := range plan.Summary(reasons) {
		out = append(out, c.Text)
	}
	return strings.Join(out, "; ")
}

// String is the answer for people.
func (a *Answer) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s", a.Kind, a.Name)
	if a.Decision != "" {
		fmt.Fprintf(&b, " (decision %s of %s)", a.Decision, a.At.UTC().Format(time.RFC3339))
	}
	b.WriteString("\n")
	a.writeVerdict(&b)
	for _, s := range a.Said {
		fmt.Fprintf(&b, "%s\n", s)
	}
	if a.Unplaced != nil {
		b.WriteString("\n" + a.Unplaced.String())
	}
	if a.Launched != "" {
		fmt.Fprintf(&b, "launched: %s\n", a.Launched)
	}
	if a.Launch != nil {
		a.writeLaunched(&b)
	}
	for _, w := range a.Declined {
		fmt.Fprintf(&b, "a preference was not honoured: %s\n", w.Text(a.Currency))
	}
	if a.Why != "" {
		fmt.Fprintf(&b, "\nwhy it was launched, as its NodeClaim says: %s\n", a.Why)
	}
	if a.Computed {
		fmt.Fprintf(&b, "\n%s\n", computedNow)
	}
	return b.String()
}

// WriteVerdict writes what the answer comes to, and nothing else: what keeps a node or when it is removed, or where a pod stands.
func (a *Answer) WriteVerdict(w io.Writer) error {
	var b strings.Builder
	a.writeVerdict(&b)
	if b.Len() == 0 {
		for _, s := range a.Said {
			b.WriteString(s + "\n")
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func (a *Answer) writeLaunched(b *strings.Builder) {
	n := &a.Launch.Node
	if len(n.Types) == 0 {
		return
	}
	first := n.Types[0]
	fmt.Fprintf(b, "\nplanned as %s %s %s at %s/h for %s\n", first.Name, first.Zone, first.CapacityType, a.Currency.Amount(n.Price), plan.Count(len(n.Pods), "pod"))
	if n.Why != "" {
		fmt.Fprintf(b, "why: %s\n", n.Why)
	}
	if len(n.Types) > 1 {
		var others []string
		for _, t := range n.Types[1:min(4, len(n.Types))] {
			others = append(others, fmt.Sprintf("%s %s %s/h", t.Name, t.CapacityType, a.Currency.Amount(t.Price)))
		}
		fmt.Fprintf(b, "its pods fit as well on: %s", strings.Join(others, ", "))
		if more := len(n.Types) - 4; more > 0 {
			fmt.Fprintf(b, " and %d more", more)
		}
		b.WriteString("\n")
	}
	for i, r := range a.Launch.RunnersUp {
		if i == 0 {
			b.WriteString("for the same pods it would have been:\n")
		}
		fmt.Fprintf(b, "  without %s: %s\n", strings.Join(r.Without, ", "), r.Text(a.Currency))
	}
	if len(a.Launch.RunnersUp) > 0 && a.Upkeep > 0 {
		fmt.Fprintf(b, "each node counts %s/h more, for its disk (--kerf-node-upkeep)\n", a.Currency.Amount(a.Upkeep))
	}
}
