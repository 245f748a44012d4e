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

// sayEvery is how often a line is written at most where there is no terminal.
const sayEvery = time.Minute

// progress says how far runs are: on a terminal as a bar, elsewhere in a plain line now and then.
type progress struct {
	out   io.Writer // nil: nobody looks
	bar   bool
	now   func() time.Time
	began time.Time
	said  time.Time
	of    []time.Duration // of each run
	at    []time.Duration
	names []string // of the runs
	// ending is set after an interrupt: what is waited for is said in place of the bar.
	ending bool
}

func newProgress(c *cobra.Command, specs []*simulate.Spec) *progress {
	var of []time.Duration
	var names []string
	for _, s := range specs {
		of = append(of, s.Horizon)
		name := fmt.Sprintf("seed %d", s.Seed)
		if s.Configuration != "" {
			name = s.Configuration + " with " + name
		}
		names = append(names, name)
	}
	out := c.ErrOrStderr()
	if isQuiet(c) {
		out = nil
	}
	p := progressTo(out, out != nil && isTerminal(out), of, time.Now)
	p.names = names
	return p
}

func progressTo(out io.Writer, bar bool, of []time.Duration, now func() time.Time) *progress {
	p := &progress{out: out, bar: bar, now: now, began: now(), of: of, at: make([]time.Duration, len(of))}
	if bar && out != nil {
		fmt.Fprintf(out, "simulating %s in %s", spanText(sum(of)), counted(len(of), "run"))
	} else {
		p.said = p.began
	}
	return p
}

func sum(all []time.Duration) time.Duration {
	var out time.Duration
	for _, d := range all {
		out += d
	}
	return out
}

func counted(n int, what string) string {
	if n == 1 {
		return fmt.Sprintf("%d %s", n, what)
	}
	return fmt.Sprintf("%d %ss", n, what)
}

func spanText(d time.Duration) string {
	n, unit := d.Hours(), "hour"
	switch {
	case d >= 48*time.Hour:
		n, unit = n/24, "day"
	case d < time.Hour:
		n, unit = d.Minutes(), "minute"
	}
	text := fmt.Sprintf("%.3g", n)
	if text != "1" {
		unit += "s"
	}
	return text + " " + unit
}

// told is what a run says of itself.
func (p *progress) told(run int, at simulate.Progress) {
	p.at[run] = max(at.At, 0)
	now, every := p.now(), sayEvery
	if p.bar {
		every = progressEvery
	}
	if p.out == nil || p.ending || now.Sub(p.said) < every {
		return
	}
	p.said = now
	done, all := sum(p.at), sum(p.of)
	if done == 0 && at.At < 0 {
		text := fmt.Sprintf("warming up: %s until anything is counted (--warmup)", spanText(-at.At))
		if p.bar {
			fmt.Fprint(p.out, "\r\x1b[K"+text)
		} else {
			fmt.Fprintln(p.out, text)
		}
		return
	}
	part := float64(done) / float64(all)
	left := "?"
	if spent := now.Sub(p.began); part > 0 {
		left = time.Duration(float64(spent) * (1 - part) / part).Round(time.Second).String()
	}
	if !p.bar {
		finished := 0
		for i := range p.at {
			if p.at[i] >= p.of[i] {
				finished++
			}
		}
		fmt.Fprintf(p.out, "%.0f %% simulated: %s of %s; %d of %s finished, about %s left\n", part*100, spanText(done), spanText(all), finished, counted(len(p.of), "run"), left)
		return
	}
	full := int(part * barWidth)
	fmt.Fprintf(p.out, "\r\x1b[K%s%s %3.0f %%  %s of %s simulated, %s left (Ctrl-C reports what there is)",
		strings.Repeat("█", full), strings.Repeat("░", barWidth-full), part*100, spanText(done), spanText(all), left)
}

// mostNamed is how many runs are named that are waited for.
const mostNamed = 3

// waits says after an interrupt which runs are waited for.
func (p *progress) waits(runs []int) {
	if p.out == nil || p.ending && !p.bar {
		return // elsewhere than on a terminal once is enough
	}
	p.ending = true
	var named []string
	for i, run := range runs {
		if i == mostNamed {
			named = append(named, fmt.Sprintf("%d more", len(runs)-i))
			break
		}
		named = append(named, fmt.Sprintf("%s, %.0f %%", p.names[run], 100*float64(p.at[run])/float64(p.of[run])))
	}
	text := fmt.Sprintf("ending: waiting for the results of %s (%s); interrupt again to leave them out", counted(len(runs), "run"), strings.Join(named, "; "))
	if p.bar {
		fmt.Fprintf(p.out, "\r\x1b[K%s", text)
		return
	}
	fmt.Fprintln(p.out, text)
}

// done takes the bar away.
func (p *progress) done() {
	if p.out != nil && p.bar {
		fmt.Fprint(p.out, "\r\x1b[K")
	}
}
