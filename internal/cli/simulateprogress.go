package cli

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/kerf-sh/kerf/internal/simulate"
)

// progressEvery is how often the bar is drawn at most.
const progressEvery = 200 * time.Millisecond

// barWidth is how many characters it has.
const barWidth = 30

// progress draws how far runs are, on a terminal; elsewhere it says nothing.
type progress struct {
	out   io.Writer // nil: nobody looks
	began time.Time
	drawn time.Time
	of    time.Duration // of all runs
	at    []time.Duration
}

func newProgress(c *cobra.Command, specs []*simulate.Spec) *progress {
	p := &progress{began: time.Now(), at: make([]time.Duration, len(specs))}
	for _, s := range specs {
		p.of += s.Horizon
	}
	if w := c.ErrOrStderr(); isTerminal(w) && !isQuiet(c) {
		p.out = w
		fmt.Fprintf(w, "simulating %s in %s", spanText(p.of), counted(len(specs), "run"))
	}
	return p
}

func counted(n int, what string) string {
	if n == 1 {
		return fmt.Sprintf("%d %s", n, what)
	}
	return fmt.Sprintf("%d %ss", n, what)
}

func spanText(d time.Duration) string {
	n, unit := d.Hours(), "hour"
	if d >= 48*time.Hour {
		n, unit = n/24, "day"
	}
	text := fmt.Sprintf("%.3g", n)
	if text != "1" {
		unit += "s"
	}
	return text + " " + unit
}

// told is what a run says of itself.
func (p *progress) told(run int, at simulate.Progress) {
	p.at[run] = at.At
	now := time.Now()
	if p.out == nil || now.Sub(p.drawn) < progressEvery {
		return
	}
	p.drawn = now
	var done time.Duration
	for _, d := range p.at {
		done += d
	}
	part := float64(done) / float64(p.of)
	left := "?"
	if spent := now.Sub(p.began); part > 0 {
		left = time.Duration(float64(spent) * (1 - part) / part).Round(time.Second).String()
	}
	full := int(part * barWidth)
	fmt.Fprintf(p.out, "\r\x1b[K%s%s %3.0f %%  %s of %s simulated, %s left (Ctrl-C reports what there is)",
		strings.Repeat("█", full), strings.Repeat("░", barWidth-full), part*100, spanText(done), spanText(p.of), left)
}

// done takes the bar away.
func (p *progress) done() {
	if p.out != nil {
		fmt.Fprint(p.out, "\r\x1b[K")
	}
}
