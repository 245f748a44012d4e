package top

import (
	"fmt"
	"strings"
	"time"

	"github.com/charmbracelet/x/ansi"
	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/kerf-sh/kerf/internal/engine/catalog"
)

// money writes an amount in three or four digits.
func (m *Model) money(amount catalog.MicroUSD) string {
	d := float64(amount) / 1e6
	sign, symbol := "", m.doc.Currency.Symbol()
	if d < 0 {
		sign, d = "-", -d
	}
	switch {
	case d == 0:
		return symbol + "0"
	case d < 1:
		return fmt.Sprintf("%s%s%.4f", sign, symbol, d)
	case d < 100:
		return fmt.Sprintf("%s%s%.3f", sign, symbol, d)
	case d < 1000:
		return fmt.Sprintf("%s%s%.2f", sign, symbol, d)
	}
	return fmt.Sprintf("%s%s%.0f", sign, symbol, d)
}

func (m *Model) perHour(amount catalog.MicroUSD) string { return m.money(amount) + "/h" }

// cores writes thousandths of a core.
func cores(milli int64) string {
	if milli%1000 == 0 {
		return fmt.Sprint(milli / 1000)
	}
	return strings.TrimRight(fmt.Sprintf("%.2f", float64(milli)/1000), "0")
}

// bytes writes an amount of memory.
func bytes(b int64) string {
	switch g := float64(b) / (1 << 30); {
	case g >= 100:
		return fmt.Sprintf("%.0f GiB", g)
	case g >= 1:
		return strings.TrimSuffix(fmt.Sprintf("%.1f", g), ".0") + " GiB"
	}
	return fmt.Sprintf("%d MiB", b>>20)
}

// ago is the time since a moment, as kubectl writes ages.
func (m *Model) ago(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return duration.HumanDuration(max(0, m.now.Sub(t)))
}

// clock is a time of day, here, in 8 letters.
func (m *Model) clock(t time.Time) string {
	t = t.In(m.now.Location())
	if t.YearDay() != m.now.YearDay() || t.Year() != m.now.Year() {
		return t.Format("Jan 2 15:04")
	}
	return t.Format("15:04:05")
}

// short leaves out the domain of a node's name, which is the same for all.
func short(name string) string {
	first, rest, found := strings.Cut(name, ".")
	if found && (strings.HasSuffix(rest, ".internal") || strings.HasSuffix(rest, ".amazonaws.com")) {
		return first
	}
	return name
}

// clean takes from a text of the cluster what a terminal would obey.
func clean(text string) string {
	if strings.IndexFunc(text, isControl) < 0 {
		return text
	}
	return strings.Map(func(r rune) rune {
		if isControl(r) {
			return ' '
		}
		return r
	}, ansi.Strip(text))
}

func isControl(r rune) bool { return r < 0x20 || r >= 0x7f && r < 0xa0 }

// fit makes a text exactly as wide as it may be.
func fit(text string, width int) string {
	if width <= 0 {
		return ""
	}
	text = clean(text)
	have := ansi.StringWidth(text)
	if have > width {
		text = ansi.Truncate(text, width, "…")
		have = ansi.StringWidth(text)
	}
	return text + strings.Repeat(" ", max(0, width-have))
}

// fitRight is fit for figures, which end at the right.
func fitRight(text string, width int) string {
	text = clean(text)
	if have := ansi.StringWidth(text); have < width {
		return strings.Repeat(" ", width-have) + text
	}
	return fit(text, width)
}

// folded breaks a text into lines of a width. What a line goes on with is indented by hang more than its beginning.
func folded(text string, width, hang int) []string {
	var out []string
	for line := range strings.SplitSeq(strings.TrimRight(text, "\n"), "\n") {
		line = clean(line)
		indent := len(line) - len(strings.TrimLeft(line, " "))
		indent = min(indent, max(0, width-20))
		line = strings.TrimLeft(line, " ")
		first, rest, _ := strings.Cut(ansi.Wrap(line, max(1, width-indent), ""), "\n")
		out = append(out, strings.Repeat(" ", indent)+first)
		if rest == "" {
			continue
		}
		rest = strings.TrimLeft(line[min(len(line), len(first)):], " ")
		for part := range strings.SplitSeq(ansi.Wrap(rest, max(1, width-indent-hang), ""), "\n") {
			out = append(out, strings.Repeat(" ", indent+hang)+part)
		}
	}
	return out
}

// counted is a number with what it counts.
func counted(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
