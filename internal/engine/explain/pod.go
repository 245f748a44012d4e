package explain

import (
	"context"
	"slices"

	"github.com/kerf-sh/kerf/internal/engine/cluster"
	"github.com/kerf-sh/kerf/internal/engine/conflict"
	"github.com/kerf-sh/kerf/internal/engine/plan"
	"github.com/kerf-sh/kerf/internal/engine/record"
)

// Pod says why a pod has no place, which it was given, or where it runs. A reference without a namespace is looked for in any.
//
// How the pod stands now comes first, where the source knows it: a decision is of the past, and none is made about a pod that runs.
//
// Errors: those of the source.
func Pod(ctx context.Context, src Source, namespace, name string) (*Answer, error) {
	q := podQuestion{Answer: &Answer{Kind: "Pod", Name: name}, namespace: namespace, name: name}
	if namespace != "" {
		q.Name = namespace + "/" + name
	}
	if err := q.stands(ctx, src); err != nil || q.now.Why != "" {
		return q.Answer, err
	}
	decided := false
	err := src.Decisions(ctx, func(id string, d *record.Decision) bool {
		q.none.saw(d)
		if q.on == "" && q.runs(id, d) {
			return true // an earlier decision tells why it runs there
		}
		decided = q.on == "" && (q.unplaced(id, d) || q.left(id, d)) || q.placed(id, d)
		if !decided && !q.Found {
			q.expected(id, d) // an earlier decision gave it that place, and says more
		}
		return !decided
	})
	if err != nil {
		return nil, err
	}
	switch {
	case q.on != "":
		if !decided {
			q.say("no recorded decision gave it that place; why the node is there: kerf explain node %s", q.on)
		}
		return q.Answer, nil
	case q.now.Gone:
		switch {
		case !q.Found:
			q.say("no recorded decision is about it")
		case !decided:
			q.say("room was kept for it on %s", q.to)
		}
		return q.Answer, nil
	case q.Found:
		if !decided {
			q.say("room is kept for it on %s", q.to)
		}
		return q.Answer, q.since(ctx, src)
	case q.now.Nominated != "":
		q.Found = true
		q.say("it waits for room on node %s, to which it is nominated (status.nominatedNodeName): as a rule pods of lower priority end there first, or its volume or device is being prepared", q.now.Nominated)
	case q.now.Name != "":
		q.say("%s", q.none.text())
	default:
		q.say("%s; pods that the scheduler binds at once are never decided on", q.none.text())
	}
	return q.Answer, nil
}

// podQuestion is what is asked of a pod, with what is known so far.
type podQuestion struct {
	*Answer
	namespace, name string
	now             record.PodNow // zero where the source can't tell
	// on is the node that the pod runs on and claim its NodeClaim, if there is one; empty where it waits.
	on, claim string
	none      nothing
}

// is reports whether a decision means the pod. One of the same name that is gone is another.
func (q *podQuestion) is(ref cluster.PodRef) bool {
	return ref.Name == q.name && (q.namespace == "" || ref.Namespace == q.namespace) && (q.now.UID == "" || ref.UID == "" || ref.UID == q.now.UID)
}

// stands says how the pod stands now, where the source knows it.
func (q *podQuestion) stands(ctx context.Context, src Source) error {
	w, ok := src.(PodWitness)
	if !ok {
		return nil
	}
	now, known, err := w.PodNow(ctx, q.namespace, q.name)
	if err != nil || !known {
		return err
	}
	q.now = now
	if now.Namespace != "" {
		q.namespace, q.Name = now.Namespace, now.Namespace+"/"+now.Name
	}
	switch {
	case now.Gone:
		q.say("there is no such pod now: it has ended or was deleted, or never was")
	case now.Why != "":
		q.Found = true
		q.say("%s", now.Why)
	case now.Node != "":
		q.Found, q.on = true, now.Node
		q.say("it runs on node %s", now.Node)
		if w, ok := src.(Witness); ok {
			node, known, err := w.Now(ctx, now.Node)
			if err != nil {
				return err
			}
			if known && node.Node != nil {
				q.claim = node.Node.Claim
			}
		}
	}
	return nil
}

// runs finds the pod where it ran when a decision was made. That one is past what the source knows of the pod now.
func (q *podQuestion) runs(id string, d *record.Decision) bool {
	if q.now != (record.PodNow{}) {
		return false
	}
	for _, n := range d.Problem.Nodes {
		for _, pod := range n.Pods {
			if q.is(pod.PodRef) && pod.Node == n.Name {
				q.from(id, d)
				q.Name, q.on, q.claim = pod.String(), n.Name, n.Claim
				q.say("it runs on node %s", n.Name)
				return true
			}
		}
	}
	return false
}

// unplaced finds the pod among those that a decision had no place for.
func (q *podQuestion) unplaced(id string, d *record.Decision) bool {
	if d.Plan == nil {
		return false
	}
	for i := range d.Plan.Unplaced {
		u := &d.Plan.Unplaced[i]
		if at := slices.IndexFunc(u.Pods, q.is); at >= 0 {
			q.from(id, d)
			q.Name = u.Pods[at].String()
			q.say("it %s no place%s", q.tense("has", "had"), others(", like %s of its class", len(u.Pods)-1))
			q.Unplaced = conflict.Explain(d.Problem, d.Plan, u.ClassID)
			return true
		}
	}
	return false
}

// left finds the pod among those that wait though the plan has a place for them.
func (q *podQuestion) left(id string, d *record.Decision) bool {
	for i := range d.Left {
		u := &d.Left[i]
		if at := slices.IndexFunc(u.Pods, q.is); at >= 0 {
			q.from(id, d)
			q.Name = u.Pods[at].String()
			q.say("it %s no place%s: %s", q.tense("has", "had"), others(", like %s of its class", len(u.Pods)-1), reasonsText(u.Reasons))
			return true
		}
	}
	return false
}

// placed finds the place that a decision gave the pod.
func (q *podQuestion) placed(id string, d *record.Decision) bool {
	if d.Plan == nil || slices.ContainsFunc(d.Left, func(u plan.Unplaced) bool { return slices.ContainsFunc(u.Pods, q.is) }) {
		return false
	}
	for i := range d.Plan.NewNodes {
		n := &d.Plan.NewNodes[i]
		if at := slices.IndexFunc(n.Pods, q.is); at >= 0 {
			q.Name, q.to = n.Pods[at].String(), d.ClaimFor(i)
			if q.elsewhere(id) {
				return true
			}
			q.from(id, d)
			q.say("it %s to a new node of NodePool %s%s: %s", q.tense("goes", "was to go"), n.Pool, others(", with %s", len(n.Pods)-1), claimText(d, i))
			q.Launch, q.Upkeep = conflict.RunnersUp(d.Problem, d.Plan, i, runnersUp), d.Problem.Options.Upkeep
			q.declined(d)
			return true
		}
	}
	for _, x := range d.Plan.Placements {
		if at := slices.IndexFunc(x.Pods, q.is); at >= 0 {
			q.Name, q.to = x.Pods[at].String(), x.Node
			if q.elsewhere(id) {
				return true
			}
			q.from(id, d)
			q.say("it %s to %s, which %s room for it", q.tense("goes", "was to go"), x.Node, q.tense("has", "had"))
			q.declined(d)
			return true
		}
	}
	return false
}

// tense chooses by whether the pod still waits.
func (q *podQuestion) tense(waits, past string) string {
	if q.on != "" || q.now.Gone {
		return past
	}
	return waits
}

// elsewhere says where the pod was to go, if it runs somewhere else.
func (q *podQuestion) elsewhere(id string) bool {
	if q.on == "" || q.to == q.on || q.to != "" && q.to == q.claim {
		return false
	}
	where := q.to
	if where == "" {
		where = "a new node"
	}
	q.say("decision %s had a place for it on %s; kube-scheduler bound it elsewhere. Why its node is there: kerf explain node %s", id, where, q.on)
	return true
}

// expected finds the node or NodeClaim on which a decision knew room to be kept for the pod.
func (q *podQuestion) expected(id string, d *record.Decision) {
	for _, n := range d.Problem.Nodes {
		for _, pod := range n.Pods {
			if q.is(pod.PodRef) && pod.Node != n.Name {
				q.from(id, d)
				q.Name, q.to = pod.String(), n.Name
				return
			}
		}
	}
}

// since says what has become of the node that the pod is to go to, where the source knows it.
func (q *podQuestion) since(ctx context.Context, src Source) error {
	w, ok := src.(Witness)
	if !ok || q.to == "" {
		return nil
	}
	now, known, err := w.Now(ctx, q.to)
	switch {
	case err != nil || !known:
		return err
	case now.Node == nil:
		q.say("%s is not there any more: EC2 refused it, or it was deleted; if the pod still waits, the next decision is about it", q.to)
	case now.Refused != "":
		q.say("the instance of %s is not launched yet: %s", q.to, now.Refused)
	}
	return nil
}

// declined collects the preferences of the pod's class that were not honoured.
func (q *podQuestion) declined(d *record.Decision) {
	at := slices.IndexFunc(d.Problem.Pending, func(pod *cluster.Pod) bool { return q.is(pod.PodRef) })
	if at < 0 {
		return
	}
	for _, w := range d.Plan.Declined {
		if w.ClassID == d.Problem.Pending[at].Class.ID {
			q.Declined = append(q.Declined, w)
		}
	}
}
