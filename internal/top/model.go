package top

import (
	"context"
	"slices"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/kerf-sh/kerf/internal/controller/overview"
)

// Model is what is known, and what of it is shown.
type Model struct {
	ctx     context.Context
	options Options
	look    look

	width, height int
	now           time.Time
	doc           *overview.Document
	floor         overview.FloorNow
	heard         time.Time // when the last news came
	failed        string    // why there are no news since
	reading       bool

	tab    tab
	places [tabs]place
	nodes  NodeOptions
	typing bool // the filter
	closed map[string]bool
	rows   []row // of the nodes, by nodes
	moved  map[string]*overview.Move
	// longest and longestShort are the lengths of the longest names of nodes, with and without their domains.
	longest, longestShort int

	details   []*detail // the last one is shown
	questions int
}

// tab is one of the lists.
type tab int

// The tabs, in their order.
const (
	nodesTab tab = iota
	waitingTab
	movesTab
	blockedTab
	decisionsTab
	eventsTab
	problemsTab
	tabs
)

// place is where the cursor is in a list. It follows the entry when the list changes.
type place struct {
	key    string
	at     int
	offset int // of the first line that is shown
}

// New makes a model.
func New(o Options, now time.Time) *Model {
	m := &Model{ctx: context.Background(), options: o, look: newLook(o.Unicode), now: now, nodes: o.Nodes, closed: map[string]bool{}}
	if o.First != nil {
		m.take(newsMsg{doc: o.First, at: now})
	}
	return m
}

// Init is part of tea.Model.
func (m *Model) Init() tea.Cmd {
	m.reading = true
	return tea.Batch(m.read(), tick())
}

// take takes in news.
func (m *Model) take(n newsMsg) {
	m.now = n.at
	if n.err != nil {
		m.failed = n.err.Error()
		return
	}
	m.doc, m.floor, m.heard, m.failed = n.doc, n.floor, n.at, ""
	m.moved = map[string]*overview.Move{}
	for i := range n.doc.Moves {
		for _, name := range n.doc.Moves[i].Nodes {
			m.moved[name] = &n.doc.Moves[i]
		}
	}
	m.arrange()
}

// arrange puts the nodes in their order again.
func (m *Model) arrange() {
	if m.doc == nil {
		return
	}
	m.rows = arranged(m.doc, m.nodes, m.closed)
	m.longest, m.longestShort = 0, 0
	for _, r := range m.rows {
		if r.node != nil {
			m.longest, m.longestShort = max(m.longest, len(r.node.Name)), max(m.longestShort, len(short(r.node.Name)))
		}
	}
	m.follow(nodesTab)
	for t := nodesTab + 1; t < tabs; t++ {
		m.follow(t)
	}
}

// follow finds the entry of the cursor in its list again. One that is gone leaves the cursor where it was.
func (m *Model) follow(t tab) {
	p := &m.places[t]
	n := m.count(t)
	p.at = max(0, min(p.at, n-1))
	if n == 0 {
		p.key = ""
		return
	}
	if p.key != "" && m.key(t, p.at) != p.key {
		for i := range n {
			if m.key(t, i) == p.key {
				p.at = i
				return
			}
		}
	}
	p.key = m.key(t, p.at)
}

// set puts the cursor on an entry.
func (m *Model) set(at int) {
	p := &m.places[m.tab]
	n := m.count(m.tab)
	p.at = max(0, min(at, n-1))
	p.key = ""
	if n > 0 {
		p.key = m.key(m.tab, p.at)
	}
}

// shownDetail is the detail in front; nil where the lists are.
func (m *Model) shownDetail() *detail {
	if len(m.details) == 0 {
		return nil
	}
	return m.details[len(m.details)-1]
}

// open shows a detail, and has its question asked.
func (m *Model) open(d *detail) tea.Cmd {
	m.details = append(slices.Clip(m.details), d)
	if d.ask == nil {
		return nil
	}
	m.questions++
	d.question, d.asking = m.questions, true
	return m.ask(d.question, d.ask)
}
