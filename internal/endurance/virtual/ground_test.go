package virtual_test

import (
	"log/slog"
	"os"
	"testing"

	"github.com/kerf-sh/kerf/internal/endurance/trial"
	"github.com/kerf-sh/kerf/internal/endurance/virtual"
)

// handler writes the controller's log to the file that ENDURANCE_LOG names, if it names one.
func handler(t *testing.T) slog.Handler {
	path := os.Getenv("ENDURANCE_LOG")
	if path == "" {
		return nil
	}
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return slog.NewTextHandler(f, &slog.HandlerOptions{Level: slog.LevelInfo})
}

func TestStory(t *testing.T) {
	r, err := virtual.Play(t, trial.Story(), handler(t), t.Logf)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%s: %d calls counted, %+v, bill %d, floor %d", r.Took, len(r.Calls), r.Figures, r.Bill, r.Floor)
	for _, v := range r.Violations {
		t.Error(v)
	}
}
