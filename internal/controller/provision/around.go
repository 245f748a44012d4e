package provision

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kerf-sh/kerf/internal/engine/cluster"
	"github.com/kerf-sh/kerf/internal/engine/pack"
	"github.com/kerf-sh/kerf/internal/engine/plan"
	"github.com/kerf-sh/kerf/internal/guard"
)

// firstAside and lastAside bound the pause after which pods that could not be decided on take part again.
const (
	firstAside = 5 * time.Second
	lastAside  = 5 * time.Minute
)

// aside are pods on which deciding panicked, by UID. They wait, and say so; the others are served.
type aside map[types.UID]*pause

type pause struct {
	until time.Time
	last  time.Duration
	why   string
}

// solve decides on a problem. Where that panics, the classes of pods that cause it are found by halving and set aside for a
// time that doubles. solved is the problem without them, waits says why they have no place.
//
// Errors: that of the panic, where it does not depend on which pods are decided on.
func (c *Controller) solve(problem *pack.Problem) (out *plan.Plan, solved *pack.Problem, waits []plan.Unplaced, err error) {
	now := c.o.Clock.Now()
	waiting := c.aside.split(problem.Pending, now)
	left := c.doubts.split(waiting.in, now)
	solved = withPods(problem, left.in)
	out, err = c.trySolve(solved)
	var p *guard.Panic
	if errors.As(err, &p) {
		bad := c.culprits(solved, classesOf(solved.Pending))
		in := slices.DeleteFunc(slices.Clone(solved.Pending), func(pod *cluster.Pod) bool { return bad[pod.Class.ID] })
		if len(in) == 0 {
			if _, always := c.trySolve(withPods(problem, nil)); always != nil {
				return nil, solved, nil, err // it is not the pods
			}
		}
		for _, pod := range solved.Pending {
			if bad[pod.Class.ID] {
				c.aside.add(types.UID(pod.UID), now, p.Error())
				waiting.out = append(waiting.out, pod)
			}
		}
		solved = withPods(problem, in)
		out, err = c.trySolve(solved)
	}
	if err == nil && out == nil {
		err = fmt.Errorf("deciding on %d pods: the solver returned no plan", len(solved.Pending))
	}
	return out, solved, append(c.aside.unplaced(waiting.out), c.doubts.unplaced(left.out)...), err
}

func (c *Controller) trySolve(problem *pack.Problem) (out *plan.Plan, err error) {
	err = guard.Run("provision.solve", func() error { out = c.o.Solve(problem); return nil })
	if err != nil && c.renew != nil {
		c.renew() // what the engine remembers may be half of something
	}
	return out, err
}

// culprits are the classes without which the problem can be solved: halves that fail are halved again.
//
// Cost: two solutions for each halving; a defect in one of a thousand classes takes some twenty.
func (c *Controller) culprits(problem *pack.Problem, classes []string) map[string]bool {
	_, err := c.trySolve(withPods(problem, podsOf(problem.Pending, classes)))
	switch {
	case err == nil:
		return nil
	case len(classes) == 1:
		return map[string]bool{classes[0]: true}
	}
	bad := c.culprits(problem, classes[:len(classes)/2])
	for id := range c.culprits(problem, classes[len(classes)/2:]) {
		if bad == nil {
			bad = map[string]bool{}
		}
		bad[id] = true
	}
	if bad == nil { // each half can be solved by itself: leave the smaller one out for now
		bad = map[string]bool{}
		for _, id := range classes[:len(classes)/2] {
			bad[id] = true
		}
	}
	return bad
}

func classesOf(pods []*cluster.Pod) []string {
	var out []string
	for _, p := range pods {
		out = append(out, p.Class.ID)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func podsOf(pods []*cluster.Pod, classes []string) []*cluster.Pod {
	var out []*cluster.Pod
	for _, p := range pods {
		if _, ok := slices.BinarySearch(classes, p.Class.ID); ok {
			out = append(out, p)
		}
	}
	return out
}

func withPods(problem *pack.Problem, pods []*cluster.Pod) *pack.Problem {
	if len(pods) == len(problem.Pending) {
		return problem
	}
	out := *problem
	out.Pending = pods
	return &out
}

// withUnplaced is a plan that tells of more pods without a place.
func withUnplaced(p *plan.Plan, more []plan.Unplaced) *plan.Plan {
	if len(more) == 0 {
		return p
	}
	out := *p
	out.Unplaced = append(slices.Clone(p.Unplaced), more...)
	return &out
}

// parted are pods that take part and pods that wait.
type parted struct{ in, out []*cluster.Pod }

// split parts pods, and forgets those that are not pending any more.
func (a aside) split(pods []*cluster.Pod, now time.Time) parted {
	if len(a) == 0 {
		return parted{in: pods}
	}
	var p parted
	here := map[types.UID]bool{}
	for _, pod := range pods {
		uid := types.UID(pod.UID)
		here[uid] = true
		if x := a[uid]; x != nil && now.Before(x.until) {
			p.out = append(p.out, pod)
		} else {
			p.in = append(p.in, pod)
		}
	}
	for uid := range a {
		if !here[uid] {
			delete(a, uid)
		}
	}
	return p
}

func (a aside) add(uid types.UID, now time.Time, why string) {
	x := a[uid]
	if x == nil {
		x = &pause{}
		a[uid] = x
	}
	x.last = min(max(2*x.last, firstAside), lastAside)
	x.until, x.why = now.Add(x.last), why
}

// unplaced tells of the pods that wait, class by class.
func (a aside) unplaced(pods []*cluster.Pod) []plan.Unplaced {
	byClass := map[string]*plan.Unplaced{}
	for _, p := range pods {
		u := byClass[p.Class.ID]
		if u == nil {
			x := a[types.UID(p.UID)]
			u = &plan.Unplaced{ClassID: p.Class.ID, Reasons: []plan.Reason{{Code: plan.Unplaceable,
				Detail: fmt.Sprintf("deciding on it failed, tried again at %s: %s", x.until.UTC().Format(time.TimeOnly), x.why)}}}
			byClass[p.Class.ID] = u
		}
		u.Pods = append(u.Pods, p.PodRef)
	}
	var out []plan.Unplaced
	for _, id := range classesOf(pods) {
		out = append(out, *byClass[id])
	}
	return out
}
