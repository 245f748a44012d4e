package simcluster_test

import (
	"context"
	"log/slog"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"

	"github.com/kerf-sh/kerf/internal/sim/simcluster"
)

// said keeps what a controller logs, a line of text for each record.
type said struct {
	slog.Handler // renders into text

	mu   sync.Mutex
	text strings.Builder
}

func listen() *said {
	s := &said{}
	s.Handler = slog.NewTextHandler(s, nil)
	return s
}

// Write implements io.Writer for the handler.
func (s *said) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.Write(b)
}

func (s *said) Enabled(context.Context, slog.Level) bool { return true }

// with lists the lines that contain all of the words.
func (s *said) with(words ...string) (out []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
lines:
	for line := range strings.Lines(s.text.String()) {
		for _, w := range words {
			if !strings.Contains(line, w) {
				continue lines
			}
		}
		out = append(out, strings.TrimSpace(line))
	}
	return out
}

// events lists the messages of the events of a reason on a kind of object.
func events(h *simcluster.Cluster, kind, reason string) (out []string) {
	h.T.Helper()
	var l corev1.EventList
	if err := h.Client.List(h.T.Context(), &l); err != nil {
		h.T.Fatal(err)
	}
	for _, e := range l.Items {
		if e.InvolvedObject.Kind == kind && e.Reason == reason {
			out = append(out, e.InvolvedObject.Name+": "+e.Message)
		}
	}
	return out
}
