package top

import (
	"context"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/kerf-sh/kerf/internal/controller/overview"
)

const (
	// readEvery is how often the overview is read, retryEvery how often after a failure, tickEvery how often ages are renewed.
	readEvery  = 2 * time.Second
	retryEvery = 3 * time.Second
	tickEvery  = time.Second
)

// newsMsg is an overview, or why there is none.
type newsMsg struct {
	doc   *overview.Document
	floor overview.FloorNow
	err   error
	at    time.Time
}

// explainedMsg is the answer to a question that a detail asked.
type explainedMsg struct {
	question int
	answer   *overview.Explanation
	err      error
}

// readMsg says that it is time to read, tickMsg what time it is.
type (
	readMsg struct{}
	tickMsg time.Time
)

// question asks the controller.
type question func(context.Context, *overview.Link) (*overview.Explanation, error)

func (m *Model) read() tea.Cmd {
	ctx, link, floors := m.ctx, m.options.Link, m.options.Floors
	return func() tea.Msg {
		d, err := link.Read(ctx)
		news := newsMsg{doc: d, err: err, at: time.Now()}
		if err == nil && floors != nil {
			news.floor = floors.Now()
		}
		return news
	}
}

func (m *Model) ask(number int, q question) tea.Cmd {
	ctx, link := m.ctx, m.options.Link
	return func() tea.Msg {
		a, err := q(ctx, link)
		return explainedMsg{number, a, err}
	}
}

func readAfter(d time.Duration) tea.Cmd {
	return tea.Tick(d, func(time.Time) tea.Msg { return readMsg{} })
}

func tick() tea.Cmd { return tea.Tick(tickEvery, func(t time.Time) tea.Msg { return tickMsg(t) }) }
