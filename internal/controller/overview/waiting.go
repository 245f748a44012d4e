package overview

import (
	"cmp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/kerf-sh/kerf/internal/engine/cluster"
	"github.com/kerf-sh/kerf/internal/engine/plan"
)

// unplaced is why pods of a class found no place in the last decision, by the class's ID.
type unplaced struct {
	mu    sync.Mutex
	why   map[string]stuck
	since time.Time // of the first such decision of this process
}

// Planned takes in what a decision on pending pods left without a place, beside those that wait though the plan has one for them.
func (o *Overview) Planned(p *plan.Plan, left ...plan.Unplaced) {
	if o == nil || p == nil {
		return
	}
	why := make(map[string]stuck, len(p.Unplaced)+len(left))
	for i := range left {
		why[left[i].ClassID] = stuckBy(&left[i])
	}
	for i := range p.Unplaced {
		why[p.Unplaced[i].ClassID] = stuckBy(&p.Unplaced[i])
	}
	o.unplaced.mu.Lock()
	defer o.unplaced.mu.Unlock()
	o.why = why
	if o.unplaced.since.IsZero() {
		o.unplaced.since = o.from.Now()
	}
}

// decidesSince is since when this process decides on what is shown: on the pods that wait, if there are some without a place, else on
// which nodes are removed. The zero time before.
func (o *Overview) decidesSince(d *Document) time.Time {
	o.unplaced.mu.Lock()
	defer o.unplaced.mu.Unlock()
	waits := func(w Waiting) bool { return w.Node == "" && w.Why == "" }
	if !o.unplaced.since.IsZero() || o.from.Decision != nil && slices.ContainsFunc(d.Waiting, waits) {
		return o.unplaced.since
	}
	return o.decides
}

// stuck is why the pods of a class, by its number, found no place.
func (o *Overview) stuck(class int) stuck {
	o.unplaced.mu.Lock()
	defer o.unplaced.mu.Unlock()
	return o.why[o.classes.id(class)]
}

const (
	// clauses is how many reasons a line gives; kerf explain gives all.
	clauses = 3
	// waitingMost is how many lines are served.
	waitingMost = 200
)

// waiting joins the pods that wait by class and by where they are to go.
func (o *Overview) waiting() (lines []Waiting, more int) {
	o.unplaced.mu.Lock()
	why := o.why
	o.unplaced.mu.Unlock()
	type key struct {
		class  int
		placed bool
	}
	out := []Waiting{}
	at := map[key]int{}
	add := func(pod *cluster.Pod, node string) {
		k := key{o.classes.number(pod, o.version+1), node != ""}
		i, ok := at[k]
		if !ok {
			i, at[k] = len(out), len(out)
			out = append(out, Waiting{Class: k.class, Pod: pod.String(), Since: pod.CreatedAt.UTC(), Node: node})
			if node == "" {
				out[i].Why = cmp.Or(pod.Class.Unplaceable, why[pod.Class.ID].why)
			}
		}
		out[i].Count++
		if pod.CreatedAt.Before(out[i].Since) {
			out[i].Since, out[i].Pod = pod.CreatedAt.UTC(), pod.String()
		}
	}
	for _, pod := range o.seen.snapshot.Pending {
		if !pod.Class.Virtual {
			add(pod, "")
		}
	}
	for _, k := range o.seen.coming {
		here := map[int]bool{} // lines that have this node
		for _, pod := range k.waiting {
			add(pod, k.from.Name)
			if i := at[key{o.classes.number(pod, o.version+1), true}]; !here[i] {
				here[i] = true
				out[i].Nodes++
			}
		}
	}
	slices.SortStableFunc(out, func(a, b Waiting) int {
		return cmp.Or(strings.Compare(min(a.Node, "x"), min(b.Node, "x")), a.Since.Compare(b.Since), cmp.Compare(a.Class, b.Class))
	})
	for _, w := range out[min(len(out), waitingMost):] {
		more += w.Count
	}
	return out[:min(len(out), waitingMost)], more
}

// toCome are the pods that a node is kept for and that are not bound yet.
func toCome(n *cluster.Node) (out []*cluster.Pod) {
	for _, pod := range n.Pods {
		if pod.Node == "" && !pod.Daemon && !pod.Mirror && !pod.Terminating {
			out = append(out, pod)
		}
	}
	return out
}

// waitingPods counts the pods that wait without a place, and those that wait for a node that is on its way.
func (o *Overview) waitingPods() (without, coming int) {
	for _, pod := range o.seen.snapshot.Pending {
		if !pod.Class.Virtual {
			without++
		}
	}
	for _, k := range o.seen.coming {
		coming += len(k.waiting)
	}
	return without, coming
}
