package explain

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/kerf-sh/kerf/internal/engine/conflict"

	"github.com/kerf-sh/kerf/internal/engine/cluster"
	"github.com/kerf-sh/kerf/internal/engine/disrupt"
	"github.com/kerf-sh/kerf/internal/engine/plan"
	"github.com/kerf-sh/kerf/internal/engine/record"
)

// NodeClaim says why an instance was launched, and what keeps its node.
//
// Errors: those of the source.
func NodeClaim(ctx context.Context, src Source, name string) (*Answer, error) {
	return node(ctx, src, &Answer{Kind: "NodeClaim", Name: name}, func(n *cluster.Node) bool { return n.Claim == name }, name)
}

// Node says why a node was launched, and what keeps it.
//
// Errors: those of the source.
func Node(ctx context.Context, src Source, name string) (*Answer, error) {
	return node(ctx, src, &Answer{Kind: "Node", Name: name}, func(n *cluster.Node) bool { return n.Name == name }, "")
}

// node follows a node to what it is now, back to the decision that launched it, and on to what is decided of it. Where it is
// there now, nothing is told of an earlier node of its name, which had another NodeClaim.
func node(ctx context.Context, src Source, a *Answer, is func(*cluster.Node) bool, claim string) (*Answer, error) {
	now, gone, err := a.now(ctx, src)
	if err != nil {
		return nil, err
	}
	if now.Node != nil {
		claim = now.Node.Claim
		named := is
		is = func(n *cluster.Node) bool { return named(n) && n.Claim == claim } // names of nodes are used again
	}
	seen, err := a.past(ctx, src, is, &claim)
	if err != nil {
		return nil, err
	}
	if k, ok := src.(Keeper); ok {
		last, err := k.Kept(ctx)
		if err != nil {
			return nil, err
		}
		if last != nil {
			seen.last = last
		}
	}
	a.launch(now, seen, claim)
	if !gone {
		a.future(now, seen)
	}
	return a, nil
}

// past is what recorded decisions know of a node.
type past struct {
	nothing
	node     *cluster.Node     // as the newest decision that knows it saw it
	decision *record.Decision  // that decision
	last     *disrupt.Decision // on which nodes are removed
}

// past walks through the decisions, the newest first, until it has found the launch and all else that it looks for. It
// learns the name of the claim where that is not known yet.
func (a *Answer) past(ctx context.Context, src Source, is func(*cluster.Node) bool, claim *string) (*past, error) {
	p := &past{}
	err := src.Decisions(ctx, func(id string, d *record.Decision) bool {
		p.saw(d)
		if p.last == nil {
			p.last = d.Consolidation()
		}
		if at := slices.IndexFunc(d.Problem.Nodes, is); at >= 0 && p.node == nil {
			p.node, p.decision = d.Problem.Nodes[at], d
			if *claim == "" {
				*claim = p.node.Claim
			}
			a.from(id, d)
		}
		return !a.launched(id, d, *claim) && (p.node == nil || *claim != "")
	})
	return p, err
}

// now asks a source that knows how things stand at this moment; gone tells that there is no such node any more.
func (a *Answer) now(ctx context.Context, src Source) (now record.Now, gone bool, err error) {
	w, ok := src.(Witness)
	if !ok {
		return record.Now{}, false, nil
	}
	now, known, err := w.Now(ctx, a.Name)
	switch {
	case err != nil || !known:
		return record.Now{}, false, err
	case now.Node == nil:
		a.say("it is not there any more, or never was: the controller knows no %s of this name", a.Kind)
		return now, true, nil
	}
	a.Found, a.Currency = true, now.Currency
	a.describe(now.Node)
	return now, false, nil
}

// launch says where it comes from.
func (a *Answer) launch(now record.Now, p *past, claim string) {
	if now.Node == nil && p.node != nil {
		a.describe(p.node)
	}
	a.Launched = now.Launched
	switch {
	case !a.Found:
		a.say("%s", p.text())
	case a.Launch != nil:
	case claim == "":
		a.say("Kerf did not launch it")
	case now.Why != "":
		a.Why = now.Why
	default:
		a.say("the decision that launched it is not kept any more; the annotation kerf.sh/why of NodeClaim %s holds what was said then", claim)
	}
}

// future says what is to become of it; state has no node where the source does not know how things stand.
func (a *Answer) future(state record.Now, p *past) {
	now := state.Node
	n := now
	if n == nil {
		n = p.node
	}
	switch {
	case now != nil && now.Claim == "": // it is not Kerf's to remove
	case now != nil && (now.Deleting || now.Leaving):
		a.say("it is being removed%s", after(state.Stalled))
	case now != nil && !now.Launched:
		a.say("its instance is not launched yet%s", after(state.Refused))
	case now != nil && !now.Registered:
		a.say("its instance is launched; the node has not joined yet")
	case now != nil && !now.Initialized:
		a.say("its node has joined and is not ready yet")
	case p.last != nil && a.Found:
		a.Drifted = state.Drifted
		a.kept(p.last, n)
	case p.last == nil && p.node != nil && p.node.Claim != "":
		a.Drifted, a.Computed = state.Drifted, true
		a.kept(consolidate(p.decision.Problem), p.node)
	case now != nil:
		a.Drifted = state.Drifted
		a.say("which nodes may be removed has not been decided since this controller started; only the leader decides, soon after its start: ask again")
	}
}

// after is why, as a clause; nothing for nothing.
func after(why string) string {
	if why == "" {
		return ""
	}
	return ": " + why
}

func (a *Answer) launched(id string, d *record.Decision, claim string) bool {
	if claim == "" || d.Plan == nil {
		return false
	}
	at := slices.IndexFunc(d.Claims, func(c record.Claim) bool { return c.Name == claim })
	if at < 0 {
		return false
	}
	a.from(id, d)
	a.Launch, a.Upkeep = conflict.RunnersUp(d.Problem, d.Plan, d.Claims[at].NewNode, runnersUp), d.Problem.Options.Upkeep
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
		facts = append(facts, a.Currency.Amount(n.Price)+"/h")
	}
	pods, daemons, expected := 0, 0, 0
	for _, pod := range n.Pods {
		switch {
		case pod.Node != n.Name:
			expected++
		case pod.Daemon || pod.Mirror:
			daemons++
		default:
			pods++
		}
	}
	var what []string
	if len(facts) > 0 {
		what = append(what, strings.Join(facts, " "))
	}
	if pods+daemons > 0 || expected == 0 {
		what = append(what, plan.Count(pods, "pod")+" and "+plan.Count(daemons, "daemon")+" on it")
	}
	if expected > 0 {
		what = append(what, "room is kept for "+plan.Count(expected, "pod"))
	}
	a.say("%s", strings.Join(what, "; "))
}

// kept finds the node in a decision on which nodes are removed.
func (a *Answer) kept(d *disrupt.Decision, node *cluster.Node) {
	name := a.Name
	if node != nil {
		name = node.Name
	}
	for i := range d.Kept {
		if d.Kept[i].Node == name {
			a.Kept = &d.Kept[i]
			a.Found, a.Currency = true, d.Currency
			return
		}
	}
	for i := range d.Moves {
		if slices.Contains(d.Moves[i].Nodes, name) {
			a.Move = &d.Moves[i]
			a.Found, a.Currency = true, d.Currency
			return
		}
	}
	if a.Computed {
		a.Computed = false
		a.say("it is being removed")
		return
	}
	a.say("the last decision on which nodes are removed does not mention it; the next one will, within some seconds")
}

// writeVerdict says what keeps the node, or that it is to be removed, when and why.
func (a *Answer) writeVerdict(b *strings.Builder) {
	by := "kept"
	if d := a.Drifted; d != nil {
		by = "kept by consolidation"
		fmt.Fprintf(b, "it drifted (%s%s): ", d.Reason, after(d.Message))
		if d.Held == "" {
			b.WriteString("it is replaced when its turn comes\n")
		} else {
			fmt.Fprintf(b, "it is to be replaced, and that is held up: %s\n", d.Held)
		}
	}
	if k := a.Kept; k != nil {
		for _, r := range k.Reasons {
			fmt.Fprintf(b, "%s: %s\n", by, r.Text())
		}
		if k.Saves > 0 {
			fmt.Fprintf(b, "removing it would save %s/h\n", a.Currency.Amount(k.Saves))
		}
	}
	if m := a.Move; m != nil {
		fmt.Fprintf(b, "will be removed%s: %s; saves %s/h\n", when(m), m.Why, a.Currency.Amount(m.Saving))
	}
}

// when says what a move waits for.
func when(m *disrupt.Move) string {
	var waits []string
	if left := m.Wait - m.Stood; m.Wait > 0 {
		waits = append(waits, fmt.Sprintf("in %s if that stays so until then (a small saving must last %s first)", max(left, 0).Round(time.Second), m.Wait))
	}
	if m.Onto > 0 {
		waits = append(waits, fmt.Sprintf("once it is known whether a node that its pods go to is removed itself, within %s", m.Onto.Round(time.Second)))
	}
	if len(waits) == 0 {
		return " as soon as it has its turn"
	}
	return " " + strings.Join(waits, ", and ")
}
