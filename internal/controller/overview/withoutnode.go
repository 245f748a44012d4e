package overview

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/kerf-sh/kerf/internal/engine/cluster"
)

// group are pods that wait for the same cause.
type group struct {
	pods   int
	pod    string // the one that waits longest
	since  time.Time
	why    string
	short  []Closure // of types in zones, for a lack of capacity
	wants  []want
	act    string // what to do; empty where that is not known
	causes []object
}

func (g *group) add(pods int, pod string, since time.Time, why string) {
	g.pods += pods
	if g.pod == "" || since.Before(g.since) {
		g.pod, g.since, g.why = pod, since, why
	}
}

// withoutNode is about pods for which no node is on its way: one problem for each cause, and one for all that have none.
func (f *found) withoutNode(d *Document, b *behind) {
	var order []object
	groups := map[object]*group{}
	of := func(causes []object) *group {
		key := object{}
		if len(causes) > 0 {
			key = causes[0]
		}
		if groups[key] == nil {
			groups[key], order = &group{causes: causes}, append(order, key)
		}
		return groups[key]
	}
	for i := range d.Waiting {
		w := &d.Waiting[i]
		if w.Node != "" || w.Why == "" && d.undecided(w) < waitsWithin {
			continue
		}
		stuck := b.stuck(w.Class)
		causes, short := f.known(stuck.causes(d.Closures, w.Why)), stuck.short(d.Closures, w.Why)
		if len(causes) == 0 && len(short) > 0 {
			causes = []object{shortage}
		}
		g := of(causes)
		g.add(w.Count, w.Pod, w.Since, w.Why)
		g.act = cmp.Or(g.act, stuck.act)
		g.short, g.wants = append(g.short, short...), append(g.wants, want{b.pod(w.Class), stuck.pools})
	}
	if short := (stuck{}).short(d.Closures, ""); len(short) > 0 && len(f.known([]object{{kindAWS, "ec2"}})) == 0 {
		var wants []want
		pods, oldest := b.waitFor(func(n *cluster.Node, pod *cluster.Pod) bool {
			tried := stateOf(n) == Launching && n.CreatedAt.Sub(pod.CreatedAt) >= waitsWithin // it is not the first that was tried
			if tried && (len(wants) == 0 || wants[len(wants)-1].pod.Class != pod.Class) {
				wants = append(wants, want{pod, []string{n.Pool}})
			}
			return tried
		})
		if pods > 0 {
			g := of([]object{shortage})
			g.wants = append(g.wants, wants...)
			g.add(pods, oldest.String(), oldest.CreatedAt.UTC(), "")
			g.short = append(g.short, short...)
		}
	}
	for i, key := range order {
		g := groups[key]
		if i == 0 {
			g.pods += d.WaitingMore
		}
		p := Problem{
			Code: NoNodeComing, Level: Bad, Title: counted(g.pods, "pod waits", "pods wait") + " and no node is on its way", Text: cmp.Or(g.why, "no decision has been made about them yet"),
			Since: g.since, Kind: "Pod", Object: g.pod, Remedy: "kerf explain pod " + g.pod,
		}
		if key == (object{}) && g.act != "" {
			p.Remedy = g.act + "; " + p.Remedy
		}
		switch {
		case key == shortage:
			p.Title = counted(g.pods, "pod waits", "pods wait") + ": EC2 has no " + g.lacks() + " for " + them(g.pods)
			p.Text = cmp.Or(g.why, asked(d.Closures))
			p.RetryAt = g.opens()
			p.Remedy = "wait, or " + cmp.Or(b.instead(g.lacking(), g.wants, d.Closures), "allow more instance types or zones in the NodePool") + "; " + p.Remedy
		case key.kind == kindPool:
			p.Text = "" // the pool's own line says it
		}
		f.add(p, g.causes...)
	}
}

// undecided is for how long this process could have made a decision about pods that wait, and has not. Before its first decision it
// is given the time that a start may take.
func (d *Document) undecided(w *Waiting) time.Duration {
	from := d.decides
	if from.IsZero() {
		from = d.Since.Add(startsWithin - waitsWithin)
	}
	if from.After(w.Since) {
		return d.At.Sub(from)
	}
	return d.At.Sub(w.Since)
}

// whyUndecided says why there may be no decision about pods, or why it was tried in vain.
func whyUndecided(d *Document) string {
	return cmp.Or(asked(d.Closures), "no decision has been made about them yet")
}

// asked says how much of what was asked for EC2 does not have; empty for nothing.
func asked(closures []Closure) string {
	n := 0
	for _, c := range closures {
		if c.Scope == scopeOffering {
			n += c.Count
		}
	}
	if n == 0 {
		return ""
	}
	return "EC2 has no capacity now for " + counted(n, "instance type in a zone", "instance types in their zones") + " that Kerf asked for; it asks for others, and for these again later"
}

// waitingFor are the pods that a closure keeps without a node.
func (b *behind) waitingFor(d *Document, c *Closure) (out []want) {
	for i := range d.Waiting {
		if w := &d.Waiting[i]; w.Node == "" {
			if s := b.stuck(w.Class); slices.ContainsFunc(s.refused, c.stops) {
				out = append(out, want{b.pod(w.Class), s.pools})
			}
		}
	}
	return out
}

// lacking is the capacity type that is short; empty where several are.
func (g *group) lacking() string {
	if len(g.short) == 0 || slices.ContainsFunc(g.short, func(c Closure) bool { return c.CapacityType != g.short[0].CapacityType }) {
		return ""
	}
	return g.short[0].CapacityType
}

// lacks names the capacity that is short.
func (g *group) lacks() string {
	var types []string
	for _, c := range g.short {
		if c.CapacityType != "" && !slices.Contains(types, c.CapacityType) {
			types = append(types, c.CapacityType)
		}
	}
	slices.Sort(types)
	return strings.TrimSpace(strings.Join(types, " or ") + " capacity")
}

// opens is when the first of the capacity that is short may be asked for again.
func (g *group) opens() (at time.Time) {
	for _, c := range g.short {
		if at.IsZero() || c.Opens.Before(at) {
			at = c.Opens
		}
	}
	return at
}

// scopeOffering is the scope of closures that are about an instance type in a zone.
const scopeOffering = "pool"

// scopePolicy is the scope of closures that are about instance types in zones which a policy forbids.
const scopePolicy = "policy"

// unlaunched is about pods for which room is kept on nodes that can't be launched as long as EC2 does not answer.
func (f *found) unlaunched(b *behind) {
	causes := f.known([]object{{kindAWS, "ec2"}})
	if len(causes) == 0 {
		return
	}
	pods, oldest := b.waitFor(func(n *cluster.Node, _ *cluster.Pod) bool { return stateOf(n) == Launching })
	if pods == 0 {
		return
	}
	f.add(Problem{
		Code: NoNodeComing, Level: Bad, Title: counted(pods, "pod waits", "pods wait") + " for instances that are not launched", Text: "they are launched as soon as EC2 answers",
		Since: oldest.CreatedAt.UTC(), Kind: "Pod", Object: oldest.String(), Remedy: "kerf explain pod " + oldest.String(),
	}, causes...)
}
