// Package top is the cluster in a terminal: nodes with what is on them and what they cost, what waits, what is under way, what went
// wrong. kerf top shows it.
//
// model.go holds what is known and what is shown of it, update.go what keys and news do to that, view.go and the files beside it how
// it looks. Update and View read no clock and ask nobody; commands.go has what they have asked.
package top

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"

	"github.com/kerf-sh/kerf/internal/controller/overview"
)

// Options of the view.
type Options struct {
	Link *overview.Link
	// First is the overview to begin with.
	First *overview.Document
	// Floors finds the floor; nil leaves it out.
	Floors *overview.Floors
	Nodes  NodeOptions
	// Unicode is whether the terminal shows more than ASCII, Color whether in colour.
	Unicode, Color bool
}

// Run shows the cluster until the user ends it or ctx is done.
func Run(ctx context.Context, o Options, in io.Reader, out io.Writer) error {
	m := New(o, time.Now())
	asking, stop := context.WithCancel(ctx)
	defer stop() // whoever quits does not wait for an answer
	options := []tea.ProgramOption{tea.WithContext(ctx), tea.WithInput(in), tea.WithOutput(out), tea.WithoutSignalHandler(), tea.WithFPS(framesPerSecond)}
	if !o.Color {
		options = append(options, tea.WithColorProfile(colorprofile.ASCII))
	}
	m.ctx = asking
	if _, err := tea.NewProgram(m, options...).Run(); err != nil && !errors.Is(err, tea.ErrProgramKilled) {
		return fmt.Errorf("showing the cluster in this terminal: %w", err)
	}
	return nil
}

// framesPerSecond is how often the terminal is written to at most: enough for keys to feel immediate, and little for slow lines.
const framesPerSecond = 20
