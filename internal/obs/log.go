// Package obs is how the controller is observed: the logger, the one table of metrics, the event recorder, and the
// recovery from panics at reconciler boundaries.
package obs

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"
	"time"
)

// NewLogger returns a JSON logger for the given level ("", debug, info, error) that writes to paths: stdout, stderr or
// files, separated by commas.
//
// Errors: a file that can't be opened for appending.
func NewLogger(level, paths string) (*slog.Logger, error) {
	var lvl slog.Level
	switch level {
	case "debug":
		lvl = slog.LevelDebug
	case "error":
		lvl = slog.LevelError
	}
	var out []io.Writer
	for path := range strings.SplitSeq(paths, ",") {
		switch path = strings.TrimSpace(path); path {
		case "", "stdout":
			out = append(out, os.Stdout)
		case "stderr":
			out = append(out, os.Stderr)
		default:
			f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
			if err != nil {
				return nil, fmt.Errorf("opening log output %q (LOG_OUTPUT_PATHS): %w", path, err)
			}
			out = append(out, f)
		}
	}
	return slog.New(slog.NewJSONHandler(io.MultiWriter(out...), &slog.HandlerOptions{Level: lvl, ReplaceAttr: rename})), nil
}

// Quieter returns a logger for libraries: what they call information is debug detail to an operator.
func Quieter(log *slog.Logger) *slog.Logger { return slog.New(quieter{log.Handler()}) }

type quieter struct{ slog.Handler }

func (q quieter) Enabled(ctx context.Context, level slog.Level) bool {
	return q.Handler.Enabled(ctx, demote(level))
}

func (q quieter) Handle(ctx context.Context, r slog.Record) error {
	r.Level = demote(r.Level)
	return q.Handler.Handle(ctx, r)
}

func (q quieter) WithAttrs(attrs []slog.Attr) slog.Handler {
	return quieter{q.Handler.WithAttrs(attrs)}
}

func (q quieter) WithGroup(name string) slog.Handler { return quieter{q.Handler.WithGroup(name)} }

func demote(level slog.Level) slog.Level {
	if level >= slog.LevelInfo && level < slog.LevelWarn {
		return slog.LevelDebug
	}
	return level
}

// rename gives the records the keys that users' log pipelines already parse: level, time (ISO 8601), message, logger.
func rename(groups []string, a slog.Attr) slog.Attr {
	if len(groups) > 0 {
		return a
	}
	switch a.Key {
	case slog.MessageKey:
		a.Key = "message"
	case slog.TimeKey:
		a.Value = slog.StringValue(a.Value.Time().UTC().Format("2006-01-02T15:04:05.000Z"))
	default:
		if d, ok := a.Value.Any().(time.Duration); ok {
			a.Value = slog.StringValue(d.Round(time.Microsecond).String())
		}
	}
	return a
}
