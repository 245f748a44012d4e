package disrupt

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"golang.org/x/time/rate"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/internal/controller/events"
	"github.com/kerf-sh/kerf/internal/engine/cluster"
	"github.com/kerf-sh/kerf/internal/engine/disrupt"
	"github.com/kerf-sh/kerf/internal/engine/disrupt/confirmation"
	"github.com/kerf-sh/kerf/internal/state/intake"
)

// sayAgain is the least time between two events that say the same of one node.
const sayAgain = 15 * time.Minute

// reporter tells nodes and claims why they stay, and pools and pods what concerns them. An event is a write to the API, and a decision about a thousand nodes must
// not become a thousand writes: each sentence is said once in a while, and only so many in a second. In a cluster of more nodes than
// that allows, each has its turn. The rest is in the decision, which kerf explain shows.
//
// Concurrency: none; each loop has its own.
type reporter struct {
	queue *Queue // by which it tells
	// said is when sentences were said: one that is true every other time is no news.
	said map[sentence]time.Time
	// timed are the pods that were held for a time when it was last looked.
	timed map[cluster.PodRef]bool
	// stays limits sentences on nodes that stay, limit all others: what moves is told however many nodes stay.
	stays, limit *rate.Limiter
	// last is the node of which it was said last why it stays: the next decision is told from there on.
	last string
}

// sentence is one about a node, by its name, or about a pool or a pod, by its UID. Those of an event's reason with the same gist
// are the same.
type sentence struct{ about, reason, gist string }

func newReporter(q *Queue) *reporter {
	return &reporter{queue: q, said: map[sentence]time.Time{}, stays: rate.NewLimiter(5, 50), limit: rate.NewLimiter(5, 50)}
}

// eventReason is the reason of the event that says why a node stays; "" for what needs no event: it passes by itself, or
// says more about others than about the node.
func eventReason(code disrupt.Code) string {
	switch code {
	case disrupt.DoNotDisrupt, disrupt.DisruptionBudget, disrupt.NoPool, disrupt.NotReady, disrupt.Other:
		return events.DisruptionBlocked
	case disrupt.NoConsolidation, disrupt.PolicyForbids, disrupt.PodHasNoPlace, disrupt.NotCheaper, disrupt.SavesTooLittle, disrupt.NotPaidBack, disrupt.NotBalanced,
		disrupt.SpotToSpotOff, disrupt.Held, disrupt.FewSpotTypes, disrupt.FewValues, disrupt.PoolLimit, disrupt.OthersFollow, disrupt.PriceUnknown:
		return events.Unconsolidatable
	}
	return ""
}

// about tells of what stays, of budgets that are used up, and of annotations that can't be read.
func (t *reporter) about(v *view, d *disrupt.Decision) {
	held := map[string]bool{} // pools whose budgets are used up
	from := max(0, slices.IndexFunc(d.Kept, func(k disrupt.Kept) bool { return k.Node > t.last }))
	for i := range d.Kept {
		k := &d.Kept[(from+i)%len(d.Kept)]
		for _, r := range k.Reasons {
			if r.Code == disrupt.BudgetUsed {
				held[v.nodes[k.Node].Pool] = true
			}
			if reason := eventReason(r.Code); reason != "" {
				t.node(v, k.Node, reason, "it stays", r)
				break
			}
		}
	}
	for name, s := range v.spending {
		switch pool := v.pools[name]; {
		case s.Err != nil:
			t.other(pool, corev1.EventTypeWarning, events.DisruptionBlocked, "budget", s.Err.Error())
		case held[name]:
			t.other(pool, corev1.EventTypeNormal, events.DisruptionBlocked, "held", s.nothingLeft("nodes that could go stay"))
		}
	}
	for _, p := range v.standing.Invalid {
		value := p.Annotations[karpv1.DoNotDisruptAnnotationKey]
		t.other(p, corev1.EventTypeWarning, events.InvalidDoNotDisruptAnnotation, value, fmt.Sprintf("%q is neither true nor a duration; it is ignored", value))
	}
	now := t.queue.Clock.Now()
	for _, p := range v.standing.Timed {
		if held, until := intake.HeldUntil(p, now); held {
			end := until.UTC().Format(time.RFC3339)
			t.other(p, corev1.EventTypeNormal, events.DoNotDisruptUntil, end, "its annotation keeps it and its node from disruption until "+end)
		}
	}
	t.elapsed(v.standing.Timed, now)
	t.forget()
}

// elapsed tells of pods that were held for a time when it was last looked, and are there and held no longer.
func (t *reporter) elapsed(held []*corev1.Pod, now time.Time) {
	before := t.timed
	t.timed = make(map[cluster.PodRef]bool, len(held))
	for _, p := range held {
		t.timed[intake.PodRef(p)] = true
	}
	for ref := range before {
		if t.timed[ref] {
			continue
		}
		p := t.queue.State.Pod(ref)
		if p == nil || p.DeletionTimestamp != nil {
			continue
		}
		if on, end := intake.HeldUntil(p, now); !on && !end.IsZero() {
			t.other(p, corev1.EventTypeNormal, events.DoNotDisruptGracePeriodElapsed, "elapsed", "the time of its annotation "+karpv1.DoNotDisruptAnnotationKey+" has passed: it and its node may be disrupted")
		}
	}
}

// candidates tells of nodes whose pods are to go elsewhere if it looks like that for long enough.
func (t *reporter) candidates(v *view, moves []disrupt.Move) {
	for i := range moves {
		if m := &moves[i]; m.Cause == disrupt.Underutilized {
			for _, name := range m.Nodes {
				t.say(v, name, events.ConsolidationCandidate, fmt.Sprintf("it goes when that has been so for %s: %s", confirmation.Asked(m), m.Why))
			}
		}
	}
}

// approved tells of a consolidation that has begun where the policy Balanced had to accept it: on the pools that lose nodes,
// and on the nodes.
func (t *reporter) approved(v *view, m *disrupt.Move) {
	for _, name := range m.Nodes {
		n := v.nodes[name]
		pool := v.pools[n.Pool]
		if pool == nil || pool.Spec.Disruption.ConsolidationPolicy != karpv1.ConsolidationPolicyBalanced {
			continue
		}
		text := "the policy Balanced accepts a consolidation that saves " + v.problem.Cluster.Options.Currency.Amount(m.Saving) + "/h: " + m.Why
		t.say(v, name, events.ConsolidationApproved, text)
		t.other(pool, corev1.EventTypeNormal, events.ConsolidationApproved, text, text)
	}
}

// other says a sentence about a pool or a pod, unless it was said lately.
func (t *reporter) other(o client.Object, eventType, reason, gist, message string) {
	if t.news(t.limit, sentence{string(o.GetUID()), reason, gist}, 1) {
		t.queue.Recorder.Event(o, eventType, reason, message)
	}
}

// news reports whether a sentence was not said lately and may be said now, by so many events; then it is taken to be said.
func (t *reporter) news(limit *rate.Limiter, what sentence, events int) bool {
	now := t.queue.Clock.Now()
	if last, ok := t.said[what]; ok && now.Sub(last) < sayAgain || !limit.AllowN(now, events) {
		return false
	}
	t.said[what] = now
	return true
}

// forget drops what may be said again.
func (t *reporter) forget() {
	now := t.queue.Clock.Now()
	maps.DeleteFunc(t.said, func(_ sentence, last time.Time) bool { return now.Sub(last) >= sayAgain })
}

// node says why a node stays, on it and on its claim, unless it was said lately.
func (t *reporter) node(v *view, name, reason, stays string, why disrupt.Reason) {
	if t.news(t.stays, sentence{name, reason, string(why.Code) + why.Pod}, 2) {
		t.last = name
		t.both(v, name, reason, stays+": "+why.Text())
	}
}

// say tells of what is to become of a node, unless the same was told lately.
func (t *reporter) say(v *view, name, reason, message string) {
	if t.news(t.limit, sentence{name, reason, reason}, 2) {
		t.both(v, name, reason, message)
	}
}

func (t *reporter) both(v *view, name, reason, message string) {
	t.queue.tell(GoingNode(v.nodes[name]), corev1.EventTypeNormal, reason, message)
}

// tell writes an event to a node and to its claim, as far as they are there.
func (q *Queue) tell(g Going, eventType, reason, message string) {
	on := func(name string, o client.Object) {
		if err := q.Client.Get(context.Background(), client.ObjectKey{Name: name}, o); err == nil {
			q.Recorder.Event(o, eventType, reason, message)
		}
	}
	on(g.Node, &corev1.Node{})
	on(g.Claim, &karpv1.NodeClaim{})
}

// dropped tells of nodes that were to go and are not any more.
func (t *reporter) dropped(v *view, d *disrupt.Decision, nodes []string) {
	for _, name := range nodes {
		i := slices.IndexFunc(d.Kept, func(k disrupt.Kept) bool { return k.Node == name })
		if n := v.nodes[name]; i >= 0 && n != nil && !n.Deleting && !n.Leaving {
			t.rejected(v, name, "single", d.Kept[i].Reasons[0].Text())
		}
	}
}

// rejected tells why a node stays that was to go by a move of a kind, and counts it.
func (t *reporter) rejected(v *view, name, kind, why string) {
	t.queue.Metrics.Disruption.FailedValidations.WithLabelValues(kind).Inc()
	if t.limit.AllowN(t.queue.Clock.Now(), 2) {
		t.both(v, name, events.ConsolidationRejected, "it was to go, and stays: "+why)
	}
}
