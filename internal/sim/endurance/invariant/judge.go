package invariant

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// Options say how patient the judge is. All times are of the run's clock, without those in which it was disturbed.
type Options struct {
	// Grace is how long an instance may be without a nodeclaim (3 min).
	Grace time.Duration
	// Serve is how long a pod that fits may wait for its node (5 min).
	Serve time.Duration
	// Known is how long something must have been seen before a decision has to heed it: an API tells of changes late (5 s).
	Known time.Duration
}

// Violation is a rule that was broken.
type Violation struct {
	Rule Rule      `json:"rule"`
	At   time.Time `json:"at"`
	What string    `json:"what"`
	// Call is the call that did it, or the last one before it was seen.
	Call *Call `json:"call,omitempty"`
}

// Rule names an invariant.
type Rule string

// The rules.
const (
	Leaked        Rule = "no instance without a nodeclaim for longer than the grace"
	Twice         Rule = "no nodeclaim is launched twice"
	Forced        Rule = "no pod is deleted before its node's deadline, or evicted while it is protected"
	UnderPods     Rule = "no instance is ended under pods that have not left"
	Unasked       Rule = "no node is taken away against a pod's protection"
	OverBudget    Rule = "no disruption budget is exceeded"
	LeftBehind    Rule = "no taint, mark, finalizer or nodeclaim is left behind at rest"
	PersonsTaint  Rule = "no taint of a person is removed"
	Unserved      Rule = "every pod that fits is served in time"
	Restless      Rule = "what moves comes to rest"
	AboveTheFloor Rule = "the bill at rest is within its distance of the floor"
)

// Rules are all of them.
func Rules() []Rule {
	return []Rule{Leaked, Twice, Forced, UnderPods, Unasked, OverBudget, LeftBehind, PersonsTaint, Unserved, Restless, AboveTheFloor}
}

func (v Violation) String() string {
	text := fmt.Sprintf("%s: %s (at %s", v.Rule, v.What, v.At.UTC().Format("15:04:05.000"))
	if c := v.Call; c != nil {
		text += fmt.Sprintf(", call %d of life %d: %s", c.Number, c.Life, strings.Join(strings.Fields(c.Verb+" "+c.Resource+" "+c.Key+" "+strings.Join(c.Instances, ",")), " "))
	}
	return text + ")"
}

// Judge judges one run. It is not safe for concurrent use.
type Judge struct {
	o     Options
	now   time.Time
	quiet calm

	instances map[string]*instanceState
	claims    map[string]*claimState
	nodes     map[string]*nodeState
	pods      map[string]*podState // by UID
	guards    map[string]*guardState
	pools     map[string]*Pool
	sizes     map[string][]size // how many nodes a pool had lately

	last     *Call
	lastSaid map[string]bool
	out      []Violation
	figures  Figures
}

// Figures tell how much a run has tried.
type Figures struct {
	Calls, Instances, Claims, Evictions, Voluntary int
	// Orphans are instances that no nodeclaim ever stood for.
	Orphans int
	// LongestWait is how long a pod has waited for its node, disturbances left out.
	LongestWait time.Duration
}

// New makes a judge.
func New(o Options) *Judge {
	o.Grace, o.Serve, o.Known = cmp.Or(o.Grace, 3*time.Minute), cmp.Or(o.Serve, 5*time.Minute), cmp.Or(o.Known, 5*time.Second)
	return &Judge{
		o: o, instances: map[string]*instanceState{}, claims: map[string]*claimState{}, nodes: map[string]*nodeState{}, pods: map[string]*podState{},
		guards: map[string]*guardState{}, pools: map[string]*Pool{}, sizes: map[string][]size{}, lastSaid: map[string]bool{},
	}
}

// See judges one event. Times must not go back by much: an event that is older than one before counts as of now.
func (j *Judge) See(e Event) {
	if e.At.After(j.now) {
		j.now = e.At
	}
	j.quiet.pass(j.now)
	switch {
	case e.Instance != nil:
		j.seeInstance(e.Instance, e.Gone)
	case e.Claim != nil:
		j.seeClaim(e.Claim, e.Gone)
	case e.Node != nil:
		j.seeNode(e.Node, e.Gone)
	case e.Pod != nil:
		j.seePod(e.Pod, e.Gone)
	case e.Guard != nil:
		j.seeGuard(e.Guard, e.Gone)
	case e.Pool != nil:
		j.seePool(e.Pool, e.Gone)
	case e.Call != nil:
		j.seeCall(e.Call)
	}
	switch e.Said {
	case Disturbed:
		j.quiet.disturbed++
	case Calm:
		j.quiet.disturbed = max(0, j.quiet.disturbed-1)
	case Reclaimed:
		i := j.instance(e.About)
		i.reclaimed, i.lostAt = true, j.now
	case Removed:
		j.removed(e.About)
	case Rest:
		j.rest()
	}
	j.wait()
}

// Violations are what was found so far, in order.
func (j *Judge) Violations() []Violation { return slices.Clone(j.out) }

// Figures are the counts so far.
func (j *Judge) Figures() Figures {
	f := j.figures
	for _, i := range j.instances {
		if !i.claimed {
			f.Orphans++
		}
	}
	return f
}

// Broken adds what somebody else has found.
func (j *Judge) Broken(rule Rule, format string, args ...any) {
	j.broken(rule, "", nil, format, args...)
}

// broken notes a violation; of one subject a rule is broken once.
func (j *Judge) broken(rule Rule, subject string, call *Call, format string, args ...any) {
	if key := string(rule) + "\x00" + subject; subject != "" {
		if j.lastSaid[key] {
			return
		}
		j.lastSaid[key] = true
	}
	if call == nil {
		call = j.last
	}
	j.out = append(j.out, Violation{Rule: rule, At: j.now, What: fmt.Sprintf(format, args...), Call: call})
}

// calm is a clock that stands still while a run is disturbed.
type calm struct {
	last      time.Time
	disturbed int
	total     time.Duration
}

func (c *calm) pass(now time.Time) {
	if !c.last.IsZero() && c.disturbed == 0 {
		c.total += now.Sub(c.last)
	}
	c.last = now
}

// waiting measures how long something has been so, on the calm clock.
type waiting struct {
	on    bool
	since time.Duration
}

// is notes whether it is so now and says for how long it has been.
func (w *waiting) is(so bool, now time.Duration) time.Duration {
	switch {
	case !so:
		w.on = false
		return 0
	case !w.on:
		w.on, w.since = true, now
	}
	return now - w.since
}

// wait looks at everything that has to happen within a time.
func (j *Judge) wait() {
	for _, id := range slices.Sorted(maps.Keys(j.instances)) {
		j.waitForClaim(j.instances[id])
	}
	for _, name := range slices.Sorted(maps.Keys(j.nodes)) {
		j.waitForMark(j.nodes[name])
	}
	for _, uid := range slices.Sorted(maps.Keys(j.pods)) {
		j.waitForNode(j.pods[uid])
	}
}
