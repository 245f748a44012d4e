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
	fmt.Fprintf(v.out, "[%6.1f s] %s\n", time.Since(v.start).Seconds(), fmt.Sprintf(format, args...))
	v.draw()
}

// title begins a chapter.
func (v *view) title(format string, args ...any) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.clear()
	v.progress = ""
	fmt.Fprintf(v.out, "\n%s\n", fmt.Sprintf(format, args...))
}

// bar shows how far the present step is.
func (v *view) bar(done, of int, rest string) {
	const width = 28
	filled := width
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
