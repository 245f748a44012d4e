package top

import (
	"slices"
	"unicode/utf8"

	tea "charm.land/bubbletea/v2"

	"time"
)

// Update is part of tea.Model.
func (m *Model) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		m.width, m.height = msg.Width, msg.Height
	case tickMsg:
		m.now = time.Time(msg)
		return m, tick()
	case readMsg:
		if m.reading {
			return m, nil
		}
		m.reading = true
		return m, m.read()
	case newsMsg:
		m.reading = false
		m.take(msg)
		if msg.err != nil {
			return m, readAfter(retryEvery)
		}
		return m, readAfter(readEvery)
	case explainedMsg:
		for _, d := range m.details {
			if d.question == msg.question {
				d.take(msg.answer, msg.err)
			}
		}
	case tea.PasteMsg:
		if m.typing {
			m.setFilter(m.nodes.Filter + clean(msg.Content))
		}
	case tea.KeyPressMsg:
		return m, m.press(msg)
	}
	return m, nil
}

// press does what a key is for.
func (m *Model) press(k tea.KeyPressMsg) tea.Cmd {
	key := k.String()
	switch {
	case key == "ctrl+c":
		return tea.Quit
	case key == "ctrl+z":
		return tea.Suspend
	case m.typing:
		m.typeFilter(k)
		return nil
	case key == "?":
		if d := m.shownDetail(); d == nil || d.indent == 0 {
			return m.open(help())
		}
		return nil
	case m.shownDetail() != nil:
		return m.pressInDetail(key, m.shownDetail())
	}
	return m.pressInList(key)
}

func (m *Model) pressInDetail(key string, d *detail) tea.Cmd {
	d.fold(m.textWidth())
	switch key {
	case "esc", "q", "left", "backspace":
		m.details = m.details[:len(m.details)-1]
		return nil
	case "enter", "right":
		if next := d.openPod(); next != nil {
			return m.open(next)
		}
		return nil
	}
	if key == "p" {
		if first := slices.IndexFunc(d.lines, func(l detailLine) bool { return l.pod != "" }); first >= 0 {
			d.at = first
		}
		return nil
	}
	count := len(d.lines)
	if !d.hasPods() { // the text scrolls, and no further than its end
		count = max(1, count-m.detailHeight()+1)
	}
	if at, ok := moved(key, d.at, count, m.detailHeight()); ok {
		d.at = at
	}
	return nil
}

func (m *Model) pressInList(key string) tea.Cmd {
	if m.doc == nil {
		if key == "q" || key == "esc" {
			return tea.Quit
		}
		return nil
	}
	if at, ok := moved(key, m.places[m.tab].at, m.count(m.tab), m.listHeight()); ok {
		m.set(at)
		return nil
	}
	switch key {
	case "q":
		return tea.Quit
	case "esc":
		m.setFilter("")
	case "tab", "right", "l":
		m.tab = (m.tab + 1) % tabs
	case "shift+tab", "left", "h":
		m.tab = (m.tab + tabs - 1) % tabs
	case "1", "2", "3", "4", "5", "6", "7":
		m.tab = tab(key[0] - '1')
	case "/":
		m.tab, m.typing = nodesTab, true
	case "s", "S":
		at := max(0, slices.Index(Sorts, m.nodes.Sort))
		m.tab, m.nodes.Sort, m.nodes.Reverse = nodesTab, Sorts[(at+1)%len(Sorts)], false
		m.arrange()
	case "r":
		m.tab, m.nodes.Reverse = nodesTab, !m.nodes.Reverse
		m.arrange()
	case "g":
		m.tab, m.nodes.Group = nodesTab, !m.nodes.Group
		m.arrange()
	case "enter":
		return m.enter()
	}
	return nil
}

// enter opens what the cursor is on.
func (m *Model) enter() tea.Cmd {
	p := m.places[m.tab]
	if p.at >= m.count(m.tab) {
		return nil
	}
	if m.tab == nodesTab {
		if g := m.rows[p.at].pool; g != nil {
			m.closed[g.name] = !g.closed
			m.arrange()
			return nil
		}
	}
	if e := m.entry(m.tab, p.at); e.open != nil {
		return m.open(e.open())
	}
	return nil
}

func (m *Model) setFilter(filter string) {
	if filter == m.nodes.Filter {
		return
	}
	m.nodes.Filter = filter
	m.arrange()
}

// typeFilter is a key while the filter is typed. Nodes are narrowed down with each letter.
func (m *Model) typeFilter(k tea.KeyPressMsg) {
	switch key := k.String(); {
	case key == "enter" || key == "tab" || key == "down":
		m.typing = false
	case key == "esc":
		m.typing = false
		m.setFilter("")
	case key == "backspace":
		_, size := utf8.DecodeLastRuneInString(m.nodes.Filter)
		m.setFilter(m.nodes.Filter[:len(m.nodes.Filter)-size])
	case key == "ctrl+u":
		m.setFilter("")
	case k.Text != "":
		m.setFilter(m.nodes.Filter + k.Text)
	}
}

// moved is where a key takes a cursor; false where it is for something else.
func moved(key string, at, count, page int) (int, bool) {
	switch key {
	case "up", "k", "ctrl+p":
		at--
	case "down", "j", "ctrl+n":
		at++
	case "pgup", "ctrl+b":
		at -= max(1, page-1)
	case "pgdown", "space", "ctrl+f":
		at += max(1, page-1)
	case "home":
		at = 0
	case "end", "G":
		at = count - 1
	default:
		return at, false
	}
	return max(0, min(at, count-1)), true
}
