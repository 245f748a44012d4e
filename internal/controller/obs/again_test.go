package obs

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"
)

// saidOver writes each line at its time and returns what the log has.
func saidOver(t *testing.T, lines ...func(*slog.Record)) []string {
	t.Helper()
	var out bytes.Buffer
	handler := newLines(&out, "debug", "c").WithAttrs([]slog.Attr{slog.String("controller", "nodeclaim.lifecycle")})
	for _, fill := range lines {
		r := slog.NewRecord(time.Time{}, slog.LevelInfo, "", 0)
		fill(&r)
		if err := handler.Handle(context.Background(), r); err != nil {
			t.Fatal(err)
		}
	}
	return strings.Split(strings.TrimSpace(out.String()), "\n")
}

func TestALineThatSaysTheSameIsSaidOnceWithACount(t *testing.T) {
	began := time.Date(2026, 3, 2, 8, 0, 0, 0, time.UTC)
	failed := func(claim, why string, after time.Duration, wait time.Duration) func(*slog.Record) {
		return func(r *slog.Record) {
			r.Time, r.Message, r.Level = began.Add(after), "failed launching nodeclaim", slog.LevelError
			r.AddAttrs(slog.String("nodeclaim", claim), slog.Any("error", errors.New(why)), slog.Duration("retry_in", wait))
		}
	}
	for name, tc := range map[string]struct {
		lines []func(*slog.Record)
		want  int
		last  string
	}{
		"the same again":             {[]func(*slog.Record){failed("a", "no", 0, 1), failed("a", "no", time.Second, 2), failed("a", "no", time.Minute, 3)}, 1, ""},
		"another object":             {[]func(*slog.Record){failed("a", "no", 0, 1), failed("b", "no", 0, 1)}, 2, ""},
		"another error":              {[]func(*slog.Record){failed("a", "no", 0, 1), failed("a", "never", time.Second, 1)}, 2, ""},
		"another request, no news":   {[]func(*slog.Record){failed("a", "no, RequestID: 1", 0, 1), failed("a", "no, RequestID: 2", time.Second, 1)}, 1, ""},
		"the same a while later":     {[]func(*slog.Record){failed("a", "no", 0, 1), failed("a", "no", time.Minute, 1), failed("a", "no", quietFor, 1)}, 2, `"repeated":1`},
		"nothing was left out":       {[]func(*slog.Record){failed("a", "no", 0, 1), failed("a", "no", quietFor, 1)}, 2, `"retry-in":"0s"}`},
		"it may be said every while": {[]func(*slog.Record){failed("a", "no", 0, 1), failed("a", "no", quietFor, 1), failed("a", "no", quietFor+time.Second, 1)}, 2, ""},
	} {
		t.Run(name, func(t *testing.T) {
			got := saidOver(t, tc.lines...)
			if len(got) != tc.want || !strings.Contains(got[len(got)-1], tc.last) {
				t.Errorf("got %d lines, want %d, the last with %q:\n%s", len(got), tc.want, tc.last, strings.Join(got, "\n"))
			}
		})
	}
}

func TestALineAboutNoObjectIsAlwaysSaid(t *testing.T) {
	decided := func(r *slog.Record) {
		r.Message = "decided on pending pods"
		r.AddAttrs(slog.String("decision-id", "1"))
	}
	if got := saidOver(t, decided, decided); len(got) != 2 {
		t.Errorf("got %d lines, want 2", len(got))
	}
}

func TestWhatIsRememberedOfLinesIsBounded(t *testing.T) {
	a := &again{}
	now := time.Unix(0, 0)
	for i := range 3 * againMost {
		if _, say := a.see(fmt.Sprint(i), now); !say {
			t.Fatalf("line %d was left out", i)
		}
	}
	if len(a.lines) > againMost {
		t.Errorf("%d lines are remembered, want at most %d", len(a.lines), againMost)
	}
	if a.see("x", now.Add(3*quietFor)); len(a.lines) != 1 {
		t.Errorf("%d lines are remembered after a while, want 1", len(a.lines))
	}
}

func BenchmarkALineThatIsLeftOut(b *testing.B) {
	l := slog.New(newLines(&bytes.Buffer{}, "info", "c"))
	for b.Loop() {
		l.Error("failed launching nodeclaim", "nodeclaim", "a", "error", errFailed)
	}
}

var errFailed = errors.New("it failed")
