package top

import (
	"strings"
	"unicode/utf8"

	"charm.land/lipgloss/v2"

	"github.com/kerf-sh/kerf/internal/controller/overview"
)

// look is how things are drawn. Colours are the sixteen of the terminal, so that they suit its background.
type look struct {
	unicode                                      bool
	title, quiet, bad, warn, good, chosen, heads lipgloss.Style
	bar                                          bar
}

func newLook(unicode bool) look {
	plain := lipgloss.NewStyle()
	l := look{
		unicode: unicode,
		title:   plain.Bold(true), quiet: plain.Faint(true), heads: plain.Bold(true).Underline(true),
		bad: plain.Bold(true).Foreground(lipgloss.Red), warn: plain.Foreground(lipgloss.Yellow), good: plain.Foreground(lipgloss.Green),
		chosen: plain.Reverse(true),
		bar:    bar{pods: "█", daemons: "▒", free: "░"},
	}
	if !unicode {
		l.bar = bar{pods: "#", daemons: "=", free: "."}
	}
	return l
}

// bar has the signs of a bar, each one cell wide.
type bar struct{ pods, daemons, free string }

// draw draws how much of a resource pods and daemons ask for. What is not nothing gets a cell, and so does room that is left.
func (b bar) draw(a overview.Amount, width int) string {
	if width <= 0 {
		return ""
	}
	if a.Has <= 0 {
		return strings.Repeat(" ", width)
	}
	cells := func(part int64) int { return int((part*int64(width) + a.Has/2) / a.Has) }
	used := min(a.Used, a.Has)
	daemons, all := cells(min(a.Daemons, used)), cells(used)
	if all == 0 && used > 0 {
		all = 1
	}
	if all == width && used < a.Has-a.Has/50 { // two hundredths are as good as full
		all--
	}
	daemons = min(daemons, all)
	if a.Daemons >= used {
		daemons = all
	}
	if daemons == all && used > a.Daemons && all > 0 {
		daemons--
	}
	return strings.Repeat(b.daemons, daemons) + strings.Repeat(b.pods, all-daemons) + strings.Repeat(b.free, width-all)
}

// asciiOf has a letter of ASCII for each sign that is used; cells stay as wide as they are.
var asciiOf = map[rune]rune{
	'…': '~', '·': '-', '→': '>', '←': '<', '↑': '^', '↓': 'v', '▴': '^', '▾': 'v', '▸': '>', '×': 'x', '–': '-', '—': '-', '“': '"', '”': '"', '‘': '\'', '’': '\'',
	'─': '-', '│': '|', '█': '#', '▒': '=', '░': '.', '−': '-', '\u00a0': ' ', 'µ': 'u',
}

// ascii writes a screen for a terminal that shows nothing else.
func ascii(screen string) string {
	return strings.Map(func(r rune) rune {
		if r < utf8.RuneSelf {
			return r
		}
		if a, ok := asciiOf[r]; ok {
			return a
		}
		return '?'
	}, screen)
}
