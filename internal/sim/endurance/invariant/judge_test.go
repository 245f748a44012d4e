package invariant

import (
	"slices"
	"strings"
	"testing"
	"time"
)

var start = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

// history is written in the order in which it was seen.
type history struct {
	now    time.Time
	events []Event
	calls  int
}

func (h *history) see(events ...Event) *history {
	for _, e := range events {
		e.At = h.now
		h.events = append(h.events, e)
	}
	return h
}

func (h *history) after(d time.Duration) *history {
	h.now = h.now.Add(d)
	return h.see(Event{})
}

func (h *history) call(verb, resource, key string, instances ...string) *history {
	h.calls++
	api := "kubernetes"
	if resource == "" {
		api = "aws"
	}
	return h.see(Event{Call: &Call{Number: h.calls, Life: 1, API: api, Verb: verb, Resource: resource, Key: key, Instances: instances, Code: 200}})
}

func claim(n string, change ...func(*Claim)) Event {
	c := &Claim{Name: "c" + n, UID: "uid-c" + n, Pool: "pool", Instance: "i-" + n, Created: start, Registered: true, Initialized: true, Finalizers: 1}
	for _, f := range change {
		f(c)
	}
	return Event{Claim: c}
}

func node(n string, change ...func(*Node)) Event {
	x := &Node{Name: "n" + n, UID: "uid-n" + n, Instance: "i-" + n, Pool: "pool", Ready: true, Finalizers: 1}
	for _, f := range change {
		f(x)
	}
	return Event{Node: x}
}

func pod(n, on string, change ...func(*Pod)) Event {
	p := &Pod{Key: "default/p" + n, UID: "uid-p" + n, Node: on, Phase: "Running", Grace: 30 * time.Second, Fits: true}
	if on == "" {
		p.Phase = "Pending"
	}
	for _, f := range change {
		f(p)
	}
	return Event{Pod: p}
}

func instance(n string, change ...func(*Instance)) Event {
	i := &Instance{ID: "i-" + n, State: "running", Claim: "c" + n}
	for _, f := range change {
		f(i)
	}
	return Event{Instance: i}
}

// settled is a pool of nodes that run, one pod on each, seen long ago.
func settled(budget string, names ...string) *history {
	h := &history{now: start}
	h.see(Event{Pool: &Pool{Name: "pool", Budgets: []Budget{{Nodes: budget}}}})
	for _, n := range names {
		h.see(claim(n), instance(n), node(n), pod(n, "n"+n))
	}
	return h.after(time.Minute)
}

func gone(e Event) Event { e.Gone = true; return e }

func TestJudge(t *testing.T) {
	deadline := func(in time.Duration) func(*Claim) {
		return func(c *Claim) { c.Deadline, c.Deleting = start.Add(time.Minute+in), true }
	}
	marked := func(n *Node) { n.Mark, n.Disrupted = "Underutilized", true }
	held := func(p *Pod) { p.Held = true }
	for name, tc := range map[string]struct {
		history *history
		want    []Rule // in order
		says    string
	}{
		"all is well": {history: settled("10%", "1", "2").see(Event{Said: Rest})},

		"an instance without a claim is given its time": {history: (&history{now: start}).see(instance("1", func(i *Instance) { i.Claim = "" })).after(170 * time.Second)},
		"an instance without a claim": {
			history: (&history{now: start}).see(instance("1", func(i *Instance) { i.Claim = "" })).after(181 * time.Second),
			want:    []Rule{Leaked}, says: "instance i-1 (running) has been without a nodeclaim for 3m1s",
		},
		"no time passes while the controller is down": {
			history: (&history{now: start}).see(instance("1", func(i *Instance) { i.Claim = "" }), Event{Said: Disturbed}).after(time.Hour).see(Event{Said: Calm}).after(time.Minute),
		},
		"an instance whose claim has not heard of it yet": {
			history: (&history{now: start}).see(instance("1"), claim("1", func(c *Claim) { c.Instance, c.Registered = "", false })).after(time.Hour),
		},

		"two instances of one claim": {
			history: settled("10%", "1").see(instance("2", func(i *Instance) { i.Claim = "c1" })),
			want:    []Rule{Twice}, says: "instances i-1 and i-2 are both tagged with nodeclaim c1",
		},
		"a claim that changes its instance": {
			history: settled("10%", "1").see(instance("2", func(i *Instance) { i.Claim = "" }), claim("1", func(c *Claim) { c.Instance = "i-2" })),
			want:    []Rule{Twice}, says: "had instance i-1 and now has i-2",
		},
		"two claims of one instance": {
			history: settled("10%", "1").see(claim("2", func(c *Claim) { c.Instance = "i-1" })),
			want:    []Rule{Twice}, says: "both have instance i-1",
		},
		"an instance that nobody ever had": {
			history: settled("10%", "1").see(instance("2", func(i *Instance) { i.Claim = "" })).after(time.Minute).see(instance("2", func(i *Instance) { i.Claim, i.State = "", "terminated" }), Event{Said: Rest}),
			want:    []Rule{Twice}, says: "[i-2]",
		},
		"an instance whose claim was given up before it heard of it": {
			history: settled("10%", "1").see(instance("2", func(i *Instance) { i.Claim, i.State = "", "terminated" }),
				gone(claim("2", func(c *Claim) { c.Instance, c.Registered = "", false })), Event{Said: Rest}),
		},

		"an eviction": {history: settled("10%", "1").call("evict", "pods", "default/p1")},
		"an eviction of a protected pod": {
			history: settled("10%", "1").see(pod("1", "n1", held)).after(time.Minute).call("evict", "pods", "default/p1"),
			want:    []Rule{Forced}, says: "call 1 of life 1: evict pods default/p1",
		},
		"an eviction of a pod that has just been protected": {
			history: settled("10%", "1").see(pod("1", "n1", held)).after(time.Second).call("evict", "pods", "default/p1"),
		},
		"an eviction of a protected pod before its time": {
			history: settled("10%", "1").see(pod("1", "n1", held), claim("1", deadline(2*time.Minute))).after(80*time.Second).call("evict", "pods", "default/p1"),
			want:    []Rule{Forced}, says: "evict pods default/p1",
		},
		"an eviction of a protected pod in time": {
			history: settled("10%", "1").see(pod("1", "n1", held), claim("1", deadline(2*time.Minute))).after(91*time.Second).call("evict", "pods", "default/p1"),
		},
		"a deletion past budgets without a deadline": {
			history: settled("10%", "1").call("delete", "pods", "default/p1"), want: []Rule{Forced}, says: "no deadline",
		},
		"a deletion past budgets before its time": {
			history: settled("10%", "1").see(claim("1", deadline(time.Minute))).after(20*time.Second).call("delete", "pods", "default/p1"),
			want:    []Rule{Forced}, says: "10s before it had to be",
		},
		"a deletion past budgets in time": {
			history: settled("10%", "1").see(claim("1", deadline(time.Minute))).after(31*time.Second).call("delete", "pods", "default/p1"),
		},

		"an instance ended under its pod": {
			history: settled("10%", "1").call("TerminateInstances", "", "", "i-1"), want: []Rule{UnderPods}, says: "while pod default/p1 ran on it",
		},
		"an instance ended that AWS takes back": {history: settled("10%", "1").see(Event{Said: Reclaimed, About: "i-1"}).call("TerminateInstances", "", "", "i-1")},
		"an instance ended at its deadline":     {history: settled("10%", "1").see(claim("1", deadline(time.Minute))).after(time.Minute).call("TerminateInstances", "", "", "i-1")},
		"an instance ended whose pod has left": {
			history: settled("10%", "1").see(pod("1", "n1", func(p *Pod) { p.Deleting = true })).after(time.Minute).see(gone(pod("1", "n1"))).call("TerminateInstances", "", "", "i-1"),
		},

		"a node taken from a protected pod": {
			history: settled("50%", "1", "2").see(pod("1", "n1", held)).after(time.Minute).see(node("1", marked)), want: []Rule{Unasked}, says: "pod default/p1 on it must not be disrupted",
		},
		"a node taken from a pod that another protects": {history: settled("50%", "1", "2").see(pod("1", "n1", held)).after(time.Minute).see(node("2", marked))},
		"a drifted node with a grace period": {
			history: settled("50%", "1", "2").see(pod("1", "n1", held), claim("1", func(c *Claim) { c.Grace = time.Hour })).after(time.Minute).
				see(node("1", func(n *Node) { n.Mark = "Drifted" })),
		},
		"a node taken against a disruption budget of pods": {
			history: settled("50%", "1", "2").see(Event{Guard: &Guard{Key: "default/web"}}, pod("1", "n1", func(p *Pod) { p.Guards = []string{"default/web"} })).after(time.Minute).call("delete", "nodeclaims", "c1"),
			want:    []Rule{Unasked}, says: "disruption budget default/web has let no pod go",
		},
		"a node of a protected pod that expires": {
			history: settled("0", "1").see(pod("1", "n1", held), claim("1", func(c *Claim) { c.ExpireAfter = 2 * time.Minute })).after(time.Minute).call("delete", "nodeclaims", "c1"),
		},

		"a node that goes long before it expires": {
			history: settled("0", "1").see(claim("1", func(c *Claim) { c.ExpireAfter = time.Hour })).after(50*time.Minute).call("delete", "nodeclaims", "c1"), want: []Rule{OverBudget},
		},
		"a node that expires a little early": {
			history: settled("0", "1").see(claim("1", func(c *Claim) { c.ExpireAfter = time.Hour })).after(54*time.Minute).call("delete", "nodeclaims", "c1"),
		},

		"two nodes where the budget allows one": {
			history: settled("1", "1", "2", "3").call("delete", "nodeclaims", "c1").call("delete", "nodeclaims", "c2"),
			want:    []Rule{OverBudget}, says: "2 nodes of pool pool go at a time (c1, c2), budget 1 allows 1 of 3",
		},
		"two of which one is seen to go before its call is": {
			history: settled("1", "1", "2", "3").call("delete", "nodeclaims", "c1").see(claim("2", func(c *Claim) { c.Deleting = true })).call("delete", "nodeclaims", "c2"), want: []Rule{OverBudget},
		},
		"one that has long been going": {
			history: settled("0", "1").see(claim("1", func(c *Claim) { c.Deleting = true })).after(time.Minute).call("delete", "nodeclaims", "c1"),
		},
		"one whose node and instance have gone takes no budget": {
			history: settled("1", "1", "2").call("delete", "nodeclaims", "c1").see(claim("1", func(c *Claim) { c.Deleting = true }), instance("1", func(i *Instance) { i.State = "terminated" }), gone(node("1"))).call("delete", "nodeclaims", "c2"),
		},
		"one whose node is there still does": {
			history: settled("1", "1", "2").call("delete", "nodeclaims", "c1").see(claim("1", func(c *Claim) { c.Deleting = true }), instance("1", func(i *Instance) { i.State = "shutting-down" })).call("delete", "nodeclaims", "c2"), want: []Rule{OverBudget},
		},
		"percentages round up":    {history: settled("34%", "1", "2", "3").call("delete", "nodeclaims", "c1").call("delete", "nodeclaims", "c2")},
		"a call that was refused": {history: settled("0", "1").see(Event{Call: &Call{Verb: "delete", Resource: "nodeclaims", Key: "c1", Code: 409}})},
		"one too many when another was lost after the mark": {
			history: settled("1", "1", "2").see(node("1", marked)).after(time.Minute).see(Event{Said: Reclaimed, About: "i-2"}, claim("2", func(c *Claim) { c.Deleting = true })).call("delete", "nodeclaims", "c1"),
		},
		"one too many when another was lost before the mark": {
			history: settled("1", "1", "2").see(Event{Said: Reclaimed, About: "i-2"}, claim("2", func(c *Claim) { c.Deleting = true })).after(time.Minute).see(node("1", marked)).call("delete", "nodeclaims", "c1"), want: []Rule{OverBudget},
		},
		"one too many when another came of age after the mark": {
			history: settled("1", "1", "2").see(node("1", marked)).after(time.Minute).see(claim("2", func(c *Claim) { c.Deleting, c.ExpireAfter = true, 90*time.Second })).call("delete", "nodeclaims", "c1"),
		},
		"one too many when another came of age before the mark": {
			history: settled("1", "1", "2").see(claim("2", func(c *Claim) { c.Deleting, c.ExpireAfter = true, 30*time.Second })).after(time.Second).see(node("1", marked)).after(time.Minute).call("delete", "nodeclaims", "c1"), want: []Rule{OverBudget},
		},
		"one too many when another went ahead of its age after the mark": {
			history: settled("1", "1", "2").see(node("1", marked)).after(time.Minute).see(claim("2", func(c *Claim) { c.Deleting, c.ExpireAfter = true, 125*time.Second })).call("delete", "nodeclaims", "c1"),
		},
		"one too many when another went ahead of its age before the mark": {
			history: settled("1", "1", "2").see(claim("2", func(c *Claim) { c.Deleting, c.ExpireAfter = true, 62*time.Second })).after(time.Second).see(node("1", marked)).after(time.Minute).call("delete", "nodeclaims", "c1"), want: []Rule{OverBudget},
		},
		"one too many when another goes before its age": {
			history: settled("1", "1", "2").see(node("1", marked)).after(time.Minute).see(claim("2", func(c *Claim) { c.Deleting, c.ExpireAfter = true, time.Hour })).call("delete", "nodeclaims", "c1"), want: []Rule{OverBudget},
		},
		"a call of which no answer came":      {history: settled("0", "1").see(Event{Call: &Call{Verb: "delete", Resource: "nodeclaims", Key: "c1"}}), want: []Rule{OverBudget}},
		"a person's deletion takes no budget": {history: settled("0", "1").see(Event{Said: Removed, About: "c1"}).call("delete", "nodeclaims", "c1")},
		"a node that is not ready takes budget": {
			history: settled("1", "1", "2").see(node("2", func(n *Node) { n.Ready = false })).after(time.Minute).call("delete", "nodeclaims", "c1"), want: []Rule{OverBudget},
		},

		"a person's taint that stays": {history: settled("1", "1").see(node("1", func(n *Node) { n.Persons = []string{"mine=:NoSchedule"} })).see(node("1", func(n *Node) { n.Persons = []string{"mine=:NoSchedule"} }))},
		"a person's taint that goes": {
			history: settled("1", "1").see(node("1", func(n *Node) { n.Persons = []string{"mine=:NoSchedule"} })).see(node("1")), want: []Rule{PersonsTaint}, says: "mine=:NoSchedule",
		},
		"a person's taint on a node that is deleted": {
			history: settled("1", "1").see(node("1", func(n *Node) { n.Persons = []string{"mine=:NoSchedule"} })).see(node("1", func(n *Node) { n.Deleting = true })),
		},
		"a person's taint on a node that goes": {
			history: settled("1", "1").see(node("1", func(n *Node) { n.Persons = []string{"mine=:NoSchedule"} })).see(gone(node("1"))),
		},

		"a pod that waits": {history: (&history{now: start}).see(pod("1", "")).after(301 * time.Second), want: []Rule{Unserved}, says: "5m1s"},
		"a pod that no pool can serve": {
			history: (&history{now: start}).see(pod("1", "", func(p *Pod) { p.Fits = false })).after(time.Hour),
		},

		"a mark at rest":                                {history: settled("1", "1").see(node("1", marked), Event{Said: Rest}), want: []Rule{LeftBehind}, says: "still has the mark"},
		"a disrupted taint at rest":                     {history: settled("1", "1").see(node("1", func(n *Node) { n.Disrupted = true }), Event{Said: Rest}), want: []Rule{LeftBehind}, says: "disrupted taint"},
		"a disrupted taint under a person's":            {history: settled("1", "1").see(node("1", func(n *Node) { n.Disrupted, n.Persons = true, []string{"a=b:NoSchedule"} }), Event{Said: Rest}), want: []Rule{LeftBehind}, says: "disrupted taint"},
		"a disrupted taint without a mark for long":     {history: settled("1", "1").see(node("1", func(n *Node) { n.Disrupted = true })).after(2 * time.Minute).see(node("1")), want: []Rule{LeftBehind}, says: "without a mark"},
		"a disrupted taint without a mark for a moment": {history: settled("1", "1").see(node("1", func(n *Node) { n.Disrupted = true })).after(20 * time.Second).see(node("1")).after(5 * time.Minute)},
		"a node without claim at rest":                  {history: settled("1", "1").see(gone(claim("1")), Event{Said: Rest}), want: []Rule{LeftBehind, Leaked}, says: "finalizer"},
		"a claim without node at rest":                  {history: settled("1", "1").see(gone(node("1")), Event{Said: Rest}), want: []Rule{LeftBehind}, says: "no node at rest"},
		"a claim of an instance that died":              {history: settled("1", "1").see(instance("1", func(i *Instance) { i.State = "terminated" }), Event{Said: Rest}), want: []Rule{LeftBehind, LeftBehind}, says: "terminated"},
		"a claim that never launched":                   {history: settled("1", "1").see(claim("2", func(c *Claim) { c.Instance, c.Registered = "", false }), Event{Said: Rest}), want: []Rule{LeftBehind}, says: "no instance"},
		"a reason of nothing":                           {history: settled("1", "1").see(claim("1", func(c *Claim) { c.Reason = "Drifted" }), Event{Said: Rest}), want: []Rule{LeftBehind}, says: "still says that it is disrupted"},
		"a pod without node at rest":                    {history: settled("1", "1").see(pod("2", ""), Event{Said: Rest}), want: []Rule{Unserved}},
		"a drain that a budget holds up":                {history: settled("1", "1").see(claim("1", func(c *Claim) { c.Deleting = true }), node("1", func(n *Node) { n.Deleting = true }), Event{Said: Rest})},
	} {
		t.Run(name, func(t *testing.T) {
			j := New(Options{})
			for _, e := range tc.history.events {
				j.See(e)
			}
			var got []Rule
			text := ""
			for _, v := range j.Violations() {
				got = append(got, v.Rule)
				text += v.String() + "\n"
			}
			if !slices.Equal(got, tc.want) || !strings.Contains(text, tc.says) {
				t.Errorf("broken: %q, want %q with %q\n%s", got, tc.want, tc.says, text)
			}
		})
	}
}

func TestWhatSomebodyElseHasFound(t *testing.T) {
	j := New(Options{})
	j.Broken(AboveTheFloor, "the bill is %d, the floor %d", 2, 1)
	if v := j.Violations(); len(v) != 1 || !strings.Contains(v[0].String(), "the bill is 2, the floor 1") {
		t.Error(v)
	}
}
