package top

import (
	"fmt"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"
	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/x/ansi"

	"github.com/kerf-sh/kerf/internal/controller/overview"
	"github.com/kerf-sh/kerf/internal/engine/catalog"
)

// The lines around a list: two of figures, tabs, titles of columns; three on what the cursor is on, and keys.
const (
	linesAbove = 4
	linesBelow = 4
	// leastHeight is the height from which on all of them are shown; below, those below the list give way.
	leastHeight = 14
)

// View is part of tea.Model.
func (m *Model) View() tea.View {
	v := tea.NewView(m.screen())
	v.AltScreen = true
	v.WindowTitle = "kerf top"
	if m.doc != nil {
		v.WindowTitle = "kerf top: " + clean(m.doc.Cluster)
	}
	return v
}

// screen is what is shown: as many lines as there are, none wider than it may be.
func (m *Model) screen() string {
	if m.width <= 0 || m.height <= 0 {
		return ""
	}
	var lines []string
	switch d := m.shownDetail(); {
	case m.doc == nil:
		lines = []string{"asking the controller …", m.failed}
	case d != nil:
		lines = m.detailLines(d)
	default:
		lines = m.listLines()
	}
	lines = lines[:min(len(lines), m.height)]
	for i, line := range lines {
		line = m.shown(line)
		lines[i] = line
		if ansi.StringWidth(line) > m.width {
			lines[i] = ansi.Truncate(line, m.width, "")
		}
	}
	screen := strings.Join(lines, "\n")
	if !m.look.unicode {
		screen = ascii(screen)
	}
	return screen
}

// ofCurrency are the symbols of currencies as a terminal without Unicode shows them.
var ofCurrency = strings.NewReplacer("¥", "CNY ", "€", "EUR ")

// shown is a text with currencies as the terminal shows them.
func (m *Model) shown(text string) string {
	if m.look.unicode {
		return text
	}
	return ofCurrency.Replace(text)
}

func (m *Model) below() int {
	if m.height < leastHeight {
		return 1
	}
	return linesBelow
}

// listHeight is how many entries of a list are shown.
func (m *Model) listHeight() int { return max(1, m.height-linesAbove-m.below()) }

// detailHeight is how many lines of a detail are shown.
func (m *Model) detailHeight() int { return max(1, m.height-3) }

func (m *Model) textWidth() int { return max(1, m.width-2) }

func (m *Model) listLines() []string {
	lines := []string{m.firstLine(), m.figures(), m.tabLine()}
	l := &lists[m.tab]
	columns := l.columns
	if m.tab == nodesTab {
		columns = m.nodeColumns()
	}
	widths := m.widths(columns)
	lines = append(lines, m.titles(columns, widths))
	height := m.listHeight()
	p := &m.places[m.tab]
	n := m.count(m.tab)
	p.offset = scrolled(p.offset, p.at, n, height)
	for i := p.offset; i < min(n, p.offset+height); i++ {
		lines = append(lines, m.line(m.entry(m.tab, i), columns, widths, i == p.at))
	}
	if n == 0 {
		lines = append(lines, "", "  "+m.none())
	}
	for len(lines) < linesAbove+height {
		lines = append(lines, "")
	}
	if m.below() == linesBelow {
		lines = append(lines, m.about()...)
	}
	return append(lines, m.keyLine())
}

func (m *Model) none() string {
	switch {
	case m.tab != nodesTab:
		return lists[m.tab].none
	case m.nodes.Filter != "":
		return "No node has that in its name, NodePool, type, zone or workloads."
	}
	return "The cluster has no nodes yet. Pods that wait get some."
}

// scrolled is the first line to show so that the cursor is on the screen.
func scrolled(offset, at, count, height int) int {
	return max(0, min(max(offset, at-height+1), at, count-height))
}

// firstLine says which cluster it is, how it is, and how old that is.
func (m *Model) firstLine() string {
	bad, warnings := 0, 0
	for _, p := range m.doc.Problems {
		if p.Level == overview.Bad {
			bad++
		} else {
			warnings++
		}
	}
	health := m.look.good.Render("healthy")
	switch {
	case bad > 0:
		health = m.look.bad.Render(counted(bad, "problem"))
		if warnings > 0 {
			health += ", " + m.look.warn.Render(counted(warnings, "warning"))
		}
	case overview.Started(m.doc.Problems):
		health = m.look.warn.Render("just started")
	default:
		if warnings > 0 {
			health = m.look.warn.Render(counted(warnings, "warning"))
		}
		if _, waiting := m.doc.Pods(); waiting > 0 { // kerf status says the same
			health += ", " + m.look.warn.Render(counted(waiting, "pod")+" on the way")
		}
	}
	left := m.look.title.Render(clean(m.doc.Cluster)) + "  " + health
	room := m.width - ansi.StringWidth(left) - 2
	if room < 8 {
		return left
	}
	right := m.look.quiet.Render(fitRight("kerf "+m.doc.Kerf+"  "+m.clock(m.now), room))
	if m.failed != "" {
		right = m.look.bad.Render(fitRight(oneLine("nothing new for "+m.ago(m.heard)+": "+m.failed), room))
	} else if age := m.now.Sub(m.heard); age > 5*readEvery {
		right = m.look.warn.Render(fitRight("nothing new for "+m.ago(m.heard), room))
	}
	return left + "  " + right
}

func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

// figures are what matters, as far as it fits; what matters most comes first.
func (m *Model) figures() string {
	managed := 0
	pods, waits := m.doc.Pods()
	for _, n := range m.doc.Nodes {
		if n.Claim != "" {
			managed++
		}
	}
	stuck := false
	for i := range m.doc.Waiting {
		stuck = stuck || m.doc.Waiting[i].Node == "" && m.doc.Waiting[i].Why != ""
	}
	waiting := counted(waits, "pod") + " waiting"
	switch {
	case stuck:
		waiting = m.look.bad.Render(waiting)
	case waits > 0:
		waiting = m.look.warn.Render(waiting)
	}
	nodes := counted(managed, "node")
	if others := len(m.doc.Nodes) - managed; others > 0 {
		nodes += fmt.Sprintf(" + %d", others)
	}
	cost := m.perHour(m.doc.Bill.Running)
	if m.doc.Bill.Running == 0 && m.doc.Bill.Unpriced > 0 {
		cost = "cost …" // no price is read yet
	}
	parts := []string{m.look.title.Render(cost), m.floorText(), nodes, waiting, counted(pods, "pod") + " running", m.mix()}
	line := ""
	for i, part := range parts {
		if part == "" {
			continue
		}
		if i > 0 {
			part = "   " + part
		}
		if ansi.StringWidth(line)+ansi.StringWidth(part) > m.width {
			break
		}
		line += part
	}
	return line
}

// floorOld is how old a floor is whose age is said: it is found again every five seconds, and less often in large clusters.
const floorOld = time.Minute

func (m *Model) floorText() string {
	f := m.floor
	age := ""
	if !f.At.IsZero() && m.now.Sub(f.At) > floorOld {
		age = ", " + m.ago(f.At) + " old"
	}
	switch {
	case f.Floor != nil && f.Bound > 0 && m.doc.Bill.Unpriced > 0:
		return "floor " + m.perHour(f.Bound) + age
	case f.Floor != nil && f.Bound > 0:
		return "floor " + m.perHour(f.Bound) + fmt.Sprintf(" (+%.1f%%)", max(0, 100*float64(f.Running-f.Bound)/float64(f.Bound))) + age // of the same moment
	case f.Floor != nil:
		return "floor " + m.perHour(0) + age
	case f.Error != "":
		return m.look.quiet.Render("floor not found")
	case m.options.Floors == nil:
		return ""
	}
	return m.look.quiet.Render("floor …")
}

func (m *Model) mix() string {
	b := m.doc.Bill
	text := fmt.Sprintf("%d on-demand, %d spot", b.OnDemand, b.Spot)
	if b.Reserved > 0 {
		text += fmt.Sprintf(", %d reserved", b.Reserved)
	}
	return text
}

// tabLine names the lists with how much is in them, as far as there is room.
func (m *Model) tabLine() string {
	for _, style := range []int{tabsWhole, tabsUrgent, tabsNames, tabsNumbers} {
		line := ""
		for t := nodesTab; t < tabs; t++ {
			line += m.tabText(t, style)
		}
		if ansi.StringWidth(line) <= m.width || style == tabsNumbers {
			return line
		}
	}
	return ""
}

// How much of the tabs is written.
const (
	tabsWhole  = iota
	tabsUrgent // counts of pods that wait and of problems only
	tabsNames
	tabsNumbers
)

func (m *Model) tabText(t tab, style int) string {
	text := fmt.Sprintf("%d %s", t+1, lists[t].name)
	n := m.count(t)
	counts := n > 0 && t != nodesTab && t != eventsTab && t != decisionsTab
	if t == waitingTab {
		_, n = m.doc.Pods()
	}
	switch {
	case style == tabsNumbers && t != m.tab:
		text = fmt.Sprint(int(t) + 1)
	case counts && (style != tabsNames && style != tabsUrgent || style == tabsUrgent && (t == waitingTab || t == problemsTab)):
		text += fmt.Sprintf(" %d", n)
	}
	text = " " + text + " "
	switch {
	case t == m.tab:
		return m.look.chosen.Render(text)
	case t == problemsTab && m.count(t) > 0 && m.doc.Problems[0].Level == overview.Bad:
		return m.look.bad.Render(text)
	}
	return text
}

// widths are those of the columns: 0 for one that is not shown.
func (m *Model) widths(columns []column) []int {
	out := make([]int, len(columns))
	left, flexible := m.width-2, -1
	for i, c := range columns {
		if c.from > m.width {
			continue
		}
		if c.width == 0 {
			flexible = i
		}
		out[i] = c.width
		left -= c.width + 1
	}
	left++
	if flexible >= 0 {
		out[flexible] = max(1, left)
	}
	return out
}

func (m *Model) titles(columns []column, widths []int) string {
	var cells []string
	for i, c := range columns {
		if widths[i] == 0 {
			continue
		}
		title := c.title
		if m.tab == nodesTab && title != "" && title == m.sorted() {
			title += m.arrow()
		}
		title = m.shown(title)
		if c.right {
			cells = append(cells, fitRight(title, widths[i]))
		} else {
			cells = append(cells, fit(title, widths[i]))
		}
	}
	return "  " + m.look.heads.Render(fit(strings.Join(cells, " "), m.width-2))
}

func (m *Model) arrow() string {
	down := m.nodes.Sort == byPrice || m.nodes.Sort == bySaving
	if down != m.nodes.Reverse {
		return "▾"
	}
	return "▴"
}

// line is one entry.
func (m *Model) line(e entry, columns []column, widths []int, chosen bool) string {
	var cells []string
	for i, c := range columns {
		if widths[i] == 0 {
			continue
		}
		if c.right {
			cells = append(cells, fitRight(e.cells[i], widths[i]))
		} else {
			cells = append(cells, fit(e.cells[i], widths[i]))
		}
	}
	text := strings.Join(cells, " ")
	if chosen {
		return m.look.chosen.Render("> " + fit(text, m.width-2))
	}
	return "  " + m.style(e).Render(strings.TrimRight(text, " "))
}

func (m *Model) style(e entry) lipgloss.Style {
	switch {
	case e.level == overview.Bad:
		return m.look.bad
	case e.level == overview.Warn:
		return m.look.warn
	case e.quiet:
		return m.look.quiet
	}
	return lipgloss.NewStyle()
}

// about are three lines on what the cursor is on, or on why there are no news.
func (m *Model) about() []string {
	out := make([]string, linesBelow-1)
	if m.failed != "" {
		for i, line := range folded(oneLine(m.failed), m.width, 0) {
			if i < len(out) {
				out[i] = m.look.bad.Render(line)
			}
		}
		return out
	}
	at := m.places[m.tab].at
	if at >= m.count(m.tab) {
		return out
	}
	var lines []string
	switch m.tab {
	case nodesTab:
		lines = m.aboutRow(m.rows[at])
	case problemsTab:
		lines = []string{"what to do: " + m.doc.Problems[at].Remedy, m.doc.Problems[at].Text}
	case blockedTab:
		var sum catalog.MicroUSD
		for _, b := range m.doc.Blocked {
			sum += b.Saves
		}
		lines = []string{m.doc.Blocked[at].Text, "all together, each counted by itself: " + m.perHour(sum)}
	case waitingTab, movesTab, decisionsTab, eventsTab:
		e := m.entry(m.tab, at)
		lines = []string{e.cells[len(e.cells)-1]}
	case tabs:
	}
	var all []string
	for _, text := range lines {
		all = append(all, folded(oneLine(text), m.width, 0)...)
	}
	for i := range min(len(out), len(all)) {
		if i == len(out)-1 && len(all) > len(out) {
			all[i] = strings.Join(all[i:], " ") // fit says that there is more
		}
		out[i] = m.look.quiet.Render(strings.TrimRight(fit(all[i], m.width), " "))
	}
	return out
}

func (m *Model) aboutRow(r row) []string {
	if r.node == nil {
		return m.poolText(r.pool.name)
	}
	n := r.node
	about := ""
	if m.width >= whyFrom {
		about = n.Name + ": "
	}
	for _, text := range []string{n.CapacityType, n.Zone, n.Pool} {
		if text != "" {
			about += text + ", "
		}
	}
	return []string{about + m.amounts(n), m.why(n)}
}

// keyLine is the line at the bottom.
func (m *Model) keyLine() string {
	if m.typing {
		return m.look.title.Render("/"+clean(m.nodes.Filter)) + m.look.chosen.Render(" ") + "  " + m.look.quiet.Render(fmt.Sprintf("%d of %s   Enter keep   Esc clear", m.listed(), counted(len(m.doc.Nodes), "node")))
	}
	var parts []string
	if m.tab == nodesTab {
		parts = []string{"Enter open", "/ filter", "s sort:" + string(m.sort()), "r reverse", "g group"}
		if m.nodes.Filter != "" {
			parts = append([]string{"filter: " + clean(m.nodes.Filter) + " (Esc clears)"}, parts...)
		}
	} else {
		parts = []string{"Enter open"}
	}
	return m.keysOf(append(parts, "Tab list", "? help", "q quit"))
}

func (m *Model) sort() Sort {
	if m.nodes.Sort == "" {
		return byName
	}
	return m.nodes.Sort
}

// listed counts the nodes that are listed.
func (m *Model) listed() (n int) {
	for _, r := range m.rows {
		switch {
		case r.node != nil:
			n++
		case r.pool.closed:
			n += r.pool.nodes
		}
	}
	return n
}

// keysOf writes keys as far as they fit; those for help and the way out stay.
func (m *Model) keysOf(parts []string) string {
	for len(parts) > 2 && ansi.StringWidth(strings.Join(parts, "  ")) > m.width {
		parts = append(parts[:len(parts)-3:len(parts)-3], parts[len(parts)-2:]...)
	}
	return m.look.quiet.Render(strings.Join(parts, "  "))
}

func (m *Model) detailLines(d *detail) []string {
	d.fold(m.textWidth())
	height := m.detailHeight()
	d.at = max(0, min(d.at, len(d.lines)-1))
	d.offset = max(0, min(d.at, len(d.lines)-height)) // the text scrolls until its end is there; then the cursor moves
	lines := []string{m.look.title.Render(strings.TrimRight(fit(d.title, m.width), " ")), ""}
	for i := d.offset; i < min(len(d.lines), d.offset+height); i++ {
		l := d.lines[i]
		switch {
		case i == d.at && l.pod != "":
			lines = append(lines, m.look.chosen.Render("> "+fit(l.text, m.width-2)))
		case i == d.at && d.hasPods():
			lines = append(lines, "> "+l.text)
		case l.head:
			lines = append(lines, "  "+m.look.title.Render(l.text))
		default:
			lines = append(lines, "  "+l.text)
		}
	}
	for len(lines) < height+2 {
		lines = append(lines, "")
	}
	parts := []string{"Esc back"}
	switch {
	case d.at < len(d.lines) && d.lines[d.at].pod != "":
		parts = append(parts, "Enter open pod")
	case d.hasPods():
		parts = append(parts, "p pods")
	}
	if len(d.lines) > height {
		parts = append(parts, fmt.Sprintf("lines %d to %d of %d", d.offset+1, min(len(d.lines), d.offset+height), len(d.lines)))
	}
	return append(lines, m.keysOf(append(parts, "? help", "Ctrl-C quit")))
}
