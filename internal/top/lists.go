package top

import (
	"context"
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/kerf-sh/kerf/internal/controller/overview"
	"github.com/kerf-sh/kerf/internal/engine/catalog"
	"github.com/kerf-sh/kerf/internal/engine/disrupt"
)

// list is one tab: how many entries it has, and how one is written. Only entries that are on the screen are written.
type list struct {
	name    string
	none    string // what stands there when it is empty
	columns []column
	count   func(*Model) int
	entry   func(*Model, int) entry
}

// column of a list.
type column struct {
	title string
	width int // 0: what the others leave
	right bool
	from  int // the width of the screen from which on it is shown
}

// entry is one line of a list.
type entry struct {
	key   string // what the cursor follows
	cells []string
	level overview.Level // colours it
	quiet bool
	open  func() *detail // what Enter opens
}

// lists are the tabs but the nodes, which have columns of their own (nodelist.go).
var lists = [tabs]list{
	nodesTab: {name: "Nodes", count: func(m *Model) int { return len(m.rows) }, entry: (*Model).nodeEntry},
	waitingTab: {
		name: "Waiting", none: "No pod waits.", count: func(m *Model) int { return len(m.doc.Waiting) }, entry: (*Model).waitingEntry,
		columns: []column{{title: "PODS", width: 5, right: true}, {title: "WORKLOAD", width: 26}, {title: "FOR", width: 5, right: true}, {title: "WHERE TO, OR WHY NOT"}},
	},
	movesTab: {
		name: "Moves", none: "Nothing is under way.", count: func(m *Model) int { return len(m.doc.Moves) }, entry: (*Model).moveEntry,
		columns: []column{{title: "CAUSE", width: 14}, {title: "STATE", width: 11}, {title: "NODES", width: 5, right: true}, {title: "NEW", width: 3, right: true}, {title: "PODS", width: 5, right: true, from: 70}, {title: "SAVES/H", width: 8, right: true}, {title: "WHY"}},
	},
	blockedTab: {
		name: "Blocked", none: "No saving is blocked.", count: func(m *Model) int { return len(m.doc.Blocked) }, entry: (*Model).blockedEntry,
		columns: []column{{title: "SAVES/H", width: 8, right: true}, {title: "NODES", width: 5, right: true}, {title: "BY", width: 30, from: 110}, {title: "WHAT BLOCKS IT"}},
	},
	decisionsTab: {
		name: "Decisions", none: "No decision is kept yet.", count: func(m *Model) int { return len(m.doc.Decisions) }, entry: (*Model).decisionEntry,
		columns: []column{{title: "TIME", width: 8}, {title: "DECISION", width: 16}, {title: "WHAT WAS DECIDED"}},
	},
	eventsTab: {
		name: "Events", none: "No event yet.", count: func(m *Model) int { return len(m.doc.Events) }, entry: (*Model).eventEntry,
		columns: []column{{title: "TIME", width: 8}, {title: "REASON", width: 22}, {title: "OBJECT", width: 28, from: 100}, {title: "MESSAGE"}},
	},
	problemsTab: {
		name: "Problems", none: "Nothing is wrong.", count: func(m *Model) int { return len(m.doc.Problems) }, entry: (*Model).problemEntry,
		columns: []column{{title: "LEVEL", width: 7}, {title: "FOR", width: 5, right: true}, {title: "WHAT IS WRONG"}},
	},
}

func (m *Model) count(t tab) int {
	if m.doc == nil {
		return 0
	}
	return lists[t].count(m)
}

func (m *Model) entry(t tab, i int) entry { return lists[t].entry(m, i) }

func (m *Model) key(t tab, i int) string {
	switch t {
	case nodesTab:
		if r := m.rows[i]; r.node != nil {
			return r.node.Name
		}
		return "pool " + m.rows[i].pool.name
	case waitingTab:
		return m.doc.Waiting[i].Pod
	case decisionsTab:
		return m.doc.Decisions[i].ID
	case eventsTab:
		e := &m.doc.Events[i]
		return fmt.Sprint(e.At.UnixNano(), e.Object, e.Reason)
	case problemsTab:
		return m.doc.Problems[i].Title
	case movesTab:
		return strings.Join(m.doc.Moves[i].Nodes, " ")
	case blockedTab:
		return m.doc.Blocked[i].Code + m.doc.Blocked[i].By
	case tabs:
	}
	return ""
}

func (m *Model) workload(class int) string {
	if class < 0 || class >= len(m.doc.Classes) {
		return ""
	}
	return m.doc.Classes[class].Namespace + "/" + m.doc.Classes[class].Name
}

func (m *Model) waitingEntry(i int) entry {
	w := &m.doc.Waiting[i]
	e := entry{key: w.Pod}
	what := w.Why
	switch {
	case w.Node != "":
		what = "room is kept on " + short(w.Node)
		if w.Nodes > 1 {
			what += fmt.Sprintf(" and %d more", w.Nodes-1)
		}
		if j := m.doc.Joining; j != nil {
			what += "; " + j.Text(m.now)
		}
	case w.Why == "":
		what = "no decision has been made about them yet"
	default:
		e.level = overview.Bad
	}
	name := m.workload(w.Class)
	if name == "" {
		name = w.Pod
	}
	e.cells = []string{fmt.Sprint(w.Count), name, m.ago(w.Since), what}
	e.open = func() *detail {
		namespace, pod, _ := strings.Cut(w.Pod, "/")
		return &detail{
			title: "Pod " + w.Pod, head: []string{counted(w.Count, "pod") + " of " + name + " wait, the oldest for " + m.ago(w.Since)},
			ask: func(ctx context.Context, l *overview.Link) (*overview.Explanation, error) {
				return l.Pod(ctx, namespace, pod)
			},
		}
	}
	return e
}

func (m *Model) moveEntry(i int) entry {
	v := &m.doc.Moves[i]
	state, e := "found", entry{quiet: !v.Begun}
	held := m.held(v)
	switch {
	case v.Begun:
		state = "under way"
	case held != "":
		state = "paused"
	}
	e.cells = []string{v.Cause, state, fmt.Sprint(len(v.Nodes)), fmt.Sprint(len(v.New)), fmt.Sprint(v.Pods), m.saving(v.Saving), v.Why}
	e.open = func() *detail {
		d := &detail{title: v.Cause + ", " + state, head: []string{v.Why}}
		if !v.Begun {
			if left := v.Begins.Sub(m.now); held != "" {
				d.head = append(d.head, held)
			} else if left > 0 {
				d.head = append(d.head, "It begins in "+duration.HumanDuration(left)+" if that stays so.")
			} else {
				d.head = append(d.head, "It begins as soon as it has its turn.")
			}
			if v.Waits != "" {
				d.head = append(d.head, v.Waits)
			}
		}
		if v.Saving > 0 {
			d.head = append(d.head, "It saves "+m.perHour(v.Saving)+".")
		}
		if v.Pods > 0 {
			d.head = append(d.head, counted(v.Pods, "pod")+" move.")
		}
		d.head = append(d.head, "", "removed:")
		for _, n := range v.Nodes {
			d.head = append(d.head, "  "+n)
		}
		if len(v.New) > 0 {
			d.head = append(d.head, "", "launched in their place:")
			for _, n := range v.New {
				d.head = append(d.head, "  "+n)
			}
		}
		return d
	}
	return e
}

// held is why a move does not begin while consolidation that moves pods is paused; empty where it may. What moves none goes on.
func (m *Model) held(v *overview.Move) string {
	h := m.doc.Held
	if h == nil || v.Begun || v.Cause == string(disrupt.Empty) {
		return ""
	}
	text := "It is found, and paused"
	if left := h.Until.Sub(m.now); left > 0 {
		text += " for " + duration.HumanDuration(left)
	}
	return text + ", as is all consolidation that moves pods: " + h.Why
}

// saving is an amount; nothing where it is none.
func (m *Model) saving(s catalog.MicroUSD) string {
	if s == 0 {
		return ""
	}
	return m.money(s)
}

func (m *Model) blockedEntry(i int) entry {
	b := &m.doc.Blocked[i]
	by := b.By
	if by == "" {
		by = "each node"
	}
	return entry{
		cells: []string{m.money(b.Saves), fmt.Sprint(b.Count), by, b.Text},
		open: func() *detail {
			d := &detail{title: b.Text, head: []string{
				"Without this, removing or replacing " + counted(b.Count, "node") + " would save " + m.perHour(b.Saves) + ".", "reason: " + b.Code,
			}}
			if b.By != "" {
				d.head = append(d.head, "by: "+b.By)
			}
			d.head = append(d.head, "", "nodes:")
			for _, n := range b.Nodes {
				d.head = append(d.head, "  "+n)
			}
			if more := b.Count - len(b.Nodes); more > 0 {
				d.head = append(d.head, fmt.Sprintf("  and %d more", more))
			}
			return d
		},
	}
}

func (m *Model) decisionEntry(i int) entry {
	s := &m.doc.Decisions[i]
	e := entry{cells: []string{m.clock(s.At), s.ID, s.Text()}}
	switch {
	case s.Unplaced > 0:
		e.level = overview.Bad
	case s.Outcome != nil && s.Outcome.Refused > 0:
		e.level = overview.Warn
	}
	e.open = func() *detail {
		d := &detail{
			title: "Decision " + s.ID, head: []string{s.Text()},
			ask: func(ctx context.Context, l *overview.Link) (*overview.Explanation, error) {
				return l.Decision(ctx, s.ID)
			},
		}
		if s.Repeated > 0 {
			d.head = append(d.head, fmt.Sprintf("It was the same %d times since %s.", s.Repeated+1, m.clock(s.First)))
		}
		return d
	}
	return e
}

func (m *Model) eventEntry(i int) entry {
	v := &m.doc.Events[i]
	e := entry{cells: []string{m.clock(v.At), v.Reason, v.Kind + " " + short(v.Object), v.Message}}
	if m.width < 100 {
		e.cells[3] = short(v.Object) + ": " + v.Message
	}
	if v.Warning {
		e.level = overview.Warn
	}
	e.open = func() *detail {
		return &detail{title: v.Reason + ", " + v.Kind + " " + v.Object, head: []string{v.At.In(m.now.Location()).Format("2006-01-02 15:04:05 MST") + ", " + m.ago(v.At) + " ago", "", v.Message}}
	}
	return e
}

func (m *Model) problemEntry(i int) entry {
	p := &m.doc.Problems[i]
	text := p.Title
	if p.Text != "" {
		text += ": " + p.Text
	}
	if n := len(p.Follows); n > 0 {
		text = fmt.Sprintf("%s (+%d that follow): %s", p.Title, n, p.Text)
	}
	when := m.ago(p.Since)
	if left := p.Until.Sub(m.now); p.Since.IsZero() && left > 0 {
		when = "-" + duration.HumanDuration(left) // until it ends
	}
	return entry{
		level: p.Level, cells: []string{string(p.Level), when, text},
		open: func() *detail { return m.problemDetail(p) },
	}
}

// left is how long it is until then.
func left(d time.Duration) string {
	if d <= 0 {
		return ""
	}
	return ", in " + duration.HumanDuration(d)
}

func (m *Model) problemDetail(p *overview.Problem) *detail {
	d := &detail{title: p.Title}
	if p.Text != "" {
		d.head = append(d.head, p.Text, "")
	}
	if p.Object != "" {
		d.head = append(d.head, "object:  "+p.Kind+" "+p.Object)
	}
	if !p.Since.IsZero() {
		d.head = append(d.head, "since:   "+p.Since.In(m.now.Location()).Format("2006-01-02 15:04:05 MST")+", "+m.ago(p.Since))
	}
	if !p.Until.IsZero() {
		d.head = append(d.head, "until:   "+p.Until.In(m.now.Location()).Format("2006-01-02 15:04:05 MST")+left(p.Until.Sub(m.now)))
	}
	if !p.RetryAt.IsZero() {
		d.head = append(d.head, "asked again:  at about "+p.RetryAt.In(m.now.Location()).Format("15:04:05 MST")+left(p.RetryAt.Sub(m.now)))
	}
	d.head = append(d.head, "what to do:  "+p.Remedy)
	if len(p.Follows) > 0 {
		d.head = append(d.head, "", "what follows from it:")
		for i := range p.Follows {
			line := "  " + p.Follows[i].Title
			if text := p.Follows[i].Text; text != "" {
				line += ": " + text
			}
			d.head = append(d.head, line)
		}
	}
	switch p.Kind {
	case "Pod":
		namespace, pod, _ := strings.Cut(p.Object, "/")
		d.ask = func(ctx context.Context, l *overview.Link) (*overview.Explanation, error) {
			return l.Pod(ctx, namespace, pod)
		}
	case "Node":
		d.ask = func(ctx context.Context, l *overview.Link) (*overview.Explanation, error) {
			return l.Node(ctx, p.Object)
		}
	}
	return d
}
