// Package explain answers why: why a pod has no place, why a machine was bought, why a node stays. The answers come from
// the decisions that a controller recorded, or from a file, and are data as well as sentences.
package explain

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/kerf-sh/kerf/internal/cluster"
	"github.com/kerf-sh/kerf/internal/disrupt"
	"github.com/kerf-sh/kerf/internal/pack"
	"github.com/kerf-sh/kerf/internal/plan"
	"github.com/kerf-sh/kerf/internal/record"
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
	// Bought explains a machine.
	Bought *plan.Why `json:"bought,omitempty"`
	// Declined are preferences of a pod that were not honoured, because they cost more than they may.
	Declined []plan.Wish `json:"declined,omitempty"`
	// Kept says what keeps a node, Move what is to become of it; Computed tells that no such decision was recorded, and that
	// it was made now, of what the record holds.
	Kept     *disrupt.Kept `json:"kept,omitempty"`
	Move     *disrupt.Move `json:"move,omitempty"`
	Computed bool          `json:"computed,omitempty"`
}

// runnersUp is how many runner-up shapes are looked for.
const runnersUp = 3

func (a *Answer) say(format string, args ...any) {
	a.Said = append(a.Said, fmt.Sprintf(format, args...))
}

func (a *Answer) from(id string, d *record.Decision) {
	a.Found, a.Decision, a.At = true, id, d.Problem.Now
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
		return "no decision is recorded yet; decisions are made when pods wait, by the leader"
	}
	return fmt.Sprintf("the %s back to %s know nothing of it", plan.Count(n.seen, "recorded decision"), n.oldest.UTC().Format(time.RFC3339))
}

// Pod says why a pod has no place, or which it was given. A reference without a namespace is looked for in any.
//
// Errors: those of the source.
func Pod(ctx context.Context, src Source, namespace, name string) (*Answer, error) {
	a := &Answer{Kind: "Pod", Name: name}
	if namespace != "" {
		a.Name = namespace + "/" + name
	}
	var none nothing
	is := func(ref cluster.PodRef) bool {
		return ref.Name == name && (namespace == "" || ref.Namespace == namespace)
	}
	err := src.Decisions(ctx, func(id string, d *record.Decision) bool {
		none.saw(d)
		return !a.pod(id, d, is)
	})
	if err != nil {
		return nil, err
	}
	if !a.Found {
		a.say("%s; pods that the scheduler binds at once are never decided on", none.text())
	}
	return a, nil
}

func (a *Answer) pod(id string, d *record.Decision, is func(cluster.PodRef) bool) bool {
	if d.Plan == nil {
		return false
	}
	for i := range d.Plan.Unplaced {
		u := &d.Plan.Unplaced[i]
		if at := slices.IndexFunc(u.Pods, is); at >= 0 {
			a.from(id, d)
			a.Name = u.Pods[at].String()
			a.say("it has no place%s", others(", like %s of its class", len(u.Pods)-1))
			a.Unplaced = pack.Explain(d.Problem, d.Plan, u.ClassID)
			return true
		}
	}
	for i := range d.Plan.NewNodes {
		n := &d.Plan.NewNodes[i]
		if at := slices.IndexFunc(n.Pods, is); at >= 0 {
			a.from(id, d)
			a.Name = n.Pods[at].String()
			a.say("it goes to a new machine of NodePool %s%s: %s", n.Pool, others(", with %s", len(n.Pods)-1), claimText(d, i))
			a.Bought = pack.ExplainNewNode(d.Problem, d.Plan, i, runnersUp)
			a.declined(d, is)
			return true
		}
	}
	for _, x := range d.Plan.Placements {
		if at := slices.IndexFunc(x.Pods, is); at >= 0 {
			a.from(id, d)
			a.Name = x.Pods[at].String()
			a.say("it goes to %s, which has room for it", x.Node)
			a.declined(d, is)
			return true
		}
	}
	for _, n := range d.Problem.Nodes {
		for _, pod := range n.Pods {
			if is(pod.PodRef) {
				a.from(id, d)
				a.Name = pod.String()
				a.say("it runs on node %s", n.Name)
				return true
			}
		}
	}
	return false
}

// declined collects the preferences of the pod's class that were not honoured.
func (a *Answer) declined(d *record.Decision, is func(cluster.PodRef) bool) {
	at := slices.IndexFunc(d.Problem.Pending, func(pod *cluster.Pod) bool { return is(pod.PodRef) })
	if at < 0 {
		return
	}
	for _, w := range d.Plan.Declined {
		if w.ClassID == d.Problem.Pending[at].Class.ID {
			a.Declined = append(a.Declined, w)
		}
	}
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
	return "no NodeClaim was made for it, because the cluster had changed by then or the check refused it"
}

// NodeClaim says why a machine was bought, and what keeps it.
//
// Errors: those of the source.
func NodeClaim(ctx context.Context, src Source, name string) (*Answer, error) {
	return machine(ctx, src, &Answer{Kind: "NodeClaim", Name: name}, func(n *cluster.Node) bool { return n.Claim == name }, name)
}

// Node says why a node was bought, and what keeps it.
//
// Errors: those of the source.
func Node(ctx context.Context, src Source, name string) (*Answer, error) {
	return machine(ctx, src, &Answer{Kind: "Node", Name: name}, func(n *cluster.Node) bool { return n.Name == name }, "")
}

// machine follows a machine back from the node to the NodeClaim and to the decision that bought it.
func machine(ctx context.Context, src Source, a *Answer, is func(*cluster.Node) bool, claim string) (*Answer, error) {
	var none nothing
	var node *cluster.Node
	var last *disrupt.Decision // on consolidation
	var seen *record.Decision  // the newest that knows the node
	err := src.Decisions(ctx, func(id string, d *record.Decision) bool {
		none.saw(d)
		if last == nil {
			last = d.Consolidation()
		}
		if at := slices.IndexFunc(d.Problem.Nodes, is); at >= 0 && node == nil {
			node, seen = d.Problem.Nodes[at], d
			if claim == "" {
				claim = node.Claim
			}
			a.from(id, d)
		}
		return !a.bought(id, d, claim) && (node == nil || claim != "")
	})
	if err != nil {
		return nil, err
	}
	if k, ok := src.(Keeper); ok {
		now, err := k.Kept(ctx)
		if err != nil {
			return nil, err
		}
		if now != nil {
			last = now
		}
	}
	if node != nil {
		a.describe(node)
	}
	switch {
	case !a.Found:
		a.say("%s", none.text())
	case a.Bought == nil && claim == "":
		a.say("Kerf did not buy it")
	case a.Bought == nil:
		a.say("it was bought before the oldest decision that is kept; the annotation kerf.sh/why of NodeClaim %s holds what was said then", claim)
	}
	switch {
	case last != nil:
		a.kept(last, node)
	case node != nil && node.Claim != "":
		a.Computed = true
		a.kept(consolidate(seen.Problem), node)
	}
	return a, nil
}

func (a *Answer) bought(id string, d *record.Decision, claim string) bool {
	if claim == "" || d.Plan == nil {
		return false
	}
	at := slices.IndexFunc(d.Claims, func(c record.Claim) bool { return c.Name == claim })
	if at < 0 {
		return false
	}
	a.from(id, d)
	a.Bought = pack.ExplainNewNode(d.Problem, d.Plan, d.Claims[at].NewNode, runnersUp)
	return true
}

func (a *Answer) describe(n *cluster.Node) {
	var facts []string
	for _, x := range []string{n.InstanceType, n.Zone, n.CapacityType} {
		if x != "" {
			facts = append(facts, x)
		}
	}
	if n.Price > 0 {
		facts = append(facts, plan.Dollars(n.Price)+"/h")
	}
	pods, daemons := 0, 0
	for _, pod := range n.Pods {
		if pod.Daemon || pod.Mirror {
			daemons++
		} else {
			pods++
		}
	}
	a.say("%s; %s and %s on it", strings.Join(facts, " "), plan.Count(pods, "pod"), plan.Count(daemons, "daemon"))
}

func (a *Answer) kept(d *disrupt.Decision, node *cluster.Node) {
	name := a.Name
	if node != nil {
		name = node.Name
	}
	for i := range d.Kept {
		if d.Kept[i].Node == name {
			a.Kept = &d.Kept[i]
			a.Found = true
			return
		}
	}
	for i := range d.Moves {
		if slices.Contains(d.Moves[i].Nodes, name) {
			a.Move = &d.Moves[i]
			a.Found = true
			return
		}
	}
	if a.Computed {
		a.Computed = false
		a.say("why it stays: it is being deleted")
		return
	}
	a.say("why it stays: the last consolidation decision does not mention it")
}

// String is the answer for people.
func (a *Answer) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s", a.Kind, a.Name)
	if a.Decision != "" {
		fmt.Fprintf(&b, " (decision %s of %s)", a.Decision, a.At.UTC().Format(time.RFC3339))
	}
	b.WriteString("\n")
	for _, s := range a.Said {
		fmt.Fprintf(&b, "%s\n", s)
	}
	if a.Unplaced != nil {
		b.WriteString("\n" + a.Unplaced.String())
	}
	if a.Bought != nil {
		a.writeBought(&b)
	}
	for _, w := range a.Declined {
		fmt.Fprintf(&b, "a preference was not honoured: %s\n", w.Text())
	}
	if a.Computed {
		fmt.Fprintf(&b, "\n%s\n", computedNow)
	}
	if a.Kept != nil {
		b.WriteString("\nit stays because:\n")
		for _, r := range a.Kept.Reasons {
			fmt.Fprintf(&b, "  %s\n", r.Text())
		}
		if a.Kept.Saves > 0 {
			fmt.Fprintf(&b, "letting it go would save %s/h\n", plan.Dollars(a.Kept.Saves))
		}
	}
	if a.Move != nil {
		fmt.Fprintf(&b, "\nit is to go, which saves %s/h: %s\n", plan.Dollars(a.Move.Saving), a.Move.Why)
		if a.Move.Onto > 0 {
			fmt.Fprintf(&b, "it takes pods to a node that may go itself in %s, and waits until that is known\n", a.Move.Onto.Round(time.Second))
		}
		if a.Move.Wait > 0 {
			fmt.Fprintf(&b, "all that could be saved is little, so that it goes once that has stood for %s, and after the moves before it", a.Move.Wait)
			if a.Move.Stood > 0 {
				fmt.Fprintf(&b, "; it has for %s", a.Move.Stood.Round(time.Second))
			}
			b.WriteString("\n")
		}
	}
	return b.String()
}

func (a *Answer) writeBought(b *strings.Builder) {
	n := &a.Bought.Node
	if len(n.Types) == 0 {
		return
	}
	first := n.Types[0]
	fmt.Fprintf(b, "\nplanned as %s %s %s at %s/h for %s\n", first.Name, first.Zone, first.CapacityType, plan.Dollars(n.Price), plan.Count(len(n.Pods), "pod"))
	if n.Why != "" {
		fmt.Fprintf(b, "why: %s\n", n.Why)
	}
	if len(n.Types) > 1 {
		var others []string
		for _, t := range n.Types[1:min(4, len(n.Types))] {
			others = append(others, fmt.Sprintf("%s %s %s/h", t.Name, t.CapacityType, plan.Dollars(t.Price)))
		}
		fmt.Fprintf(b, "the launch may also take: %s", strings.Join(others, ", "))
		if more := len(n.Types) - 4; more > 0 {
			fmt.Fprintf(b, " and %d more", more)
		}
		b.WriteString("\n")
	}
	for i, r := range a.Bought.RunnersUp {
		if i == 0 {
			b.WriteString("for the same pods it would have been:\n")
		}
		fmt.Fprintf(b, "  without %s: %s\n", strings.Join(r.Without, ", "), r.Text())
	}
}
