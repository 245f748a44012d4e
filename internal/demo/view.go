package demo

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"
)

// view writes the story: lines with the time since the start, and below them one line of progress that is rewritten in
// place on a terminal and left out elsewhere until something has changed for good.
//
// Concurrency: safe.
type view struct {
	mu       sync.Mutex
	out      io.Writer
	terminal bool
	start    time.Time
	progress string
	printed  time.Time
}

func newView(out io.Writer, terminal bool) *view {
	return &view{out: out, terminal: terminal, start: time.Now()}
}

// line tells something that happened.
func (v *view) line(format string, args ...any) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.clear()
	at := fmt.Sprintf("[%6.1f s] ", time.Since(v.start).Seconds())
	fmt.Fprintln(v.out, at+wrap(fmt.Sprintf(format, args...), len(at)))
	v.draw()
}

// columns is how wide lines are.
const columns = 100

// wrap breaks a text that begins at a column into lines, each but the first indented to that column and a little more.
func wrap(text string, from int) string {
	words := strings.Fields(text)
	lead := text[:len(text)-len(strings.TrimLeft(text, " "))]
	indent := strings.Repeat(" ", from) + lead + "  "
	var b strings.Builder
	b.WriteString(lead)
	at := from + len(lead)
	for i, word := range words {
		switch n := len([]rune(word)); {
		case i == 0:
			at += n
		case at+1+n > columns:
			b.WriteString("\n" + indent)
			at = len(indent) + n
		default:
			b.WriteString(" ")
			at += 1 + n
		}
		b.WriteString(word)
	}
	return b.String()
}

// title begins a chapter.
func (v *view) title(format string, args ...any) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.clear()
	v.progress = ""
	fmt.Fprintf(v.out, "\n%s\n", fmt.Sprintf(format, args...))
}

// bar shows how far the present step is. It is empty where there is nothing to do.
func (v *view) bar(done, of int, rest string) {
	const width = 28
	filled := 0
	if of > 0 {
		filled = min(width, width*done/of)
	}
	text := fmt.Sprintf("  [%s%s] %d/%d %s", strings.Repeat("#", filled), strings.Repeat(".", width-filled), done, of, rest)
	v.mu.Lock()
	defer v.mu.Unlock()
	if text == v.progress {
		return
	}
	v.progress = text
	if v.terminal {
		v.clear()
		v.draw()
	} else if time.Since(v.printed) > 2*time.Second {
		v.printed = time.Now()
		fmt.Fprintln(v.out, "          "+text)
	}
}

func (v *view) clear() {
	if v.terminal {
		fmt.Fprint(v.out, "\r\033[K")
	}
}

func (v *view) draw() {
	if v.terminal && v.progress != "" {
		fmt.Fprint(v.out, v.progress)
	}
}
