// Package obs is how the controller is observed: the logger, the one table of metrics, the event recorder, and the
// recovery from panics at reconciler boundaries.
package obs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"
	"time"
)

// LogOptions say what a logger writes and where to.
type LogOptions struct {
	// Level is debug, info or error; empty means info.
	Level string
	// Paths are where lines go: stdout, stderr or files, separated by commas.
	Paths string
	// ErrorPaths are where it is reported that a line could not be written; written like Paths.
	ErrorPaths string
	// Commit stands on every line.
	Commit string
}

// NewLogger returns a logger that writes a JSON object a line, in the shape that log pipelines of the v1 API parse (see
// lines).
//
// Errors: a file that can't be opened for appending, by the variable that names it.
func NewLogger(o LogOptions) (*slog.Logger, error) {
	out, err := outputs(o.Paths, "LOG_OUTPUT_PATHS")
	if err != nil {
		return nil, err
	}
	failed, err := outputs(o.ErrorPaths, "LOG_ERROR_OUTPUT_PATHS")
	if err != nil {
		return nil, err
	}
	return slog.New(newLines(&reported{to: out, failed: failed}, o.Level, o.Commit)), nil
}

// outputs opens what a list of paths names. An empty list is nowhere.
func outputs(paths, variable string) (fanOut, error) {
	var out fanOut
	for path := range strings.SplitSeq(paths, ",") {
		switch path = strings.TrimPrefix(strings.TrimSpace(path), "file://"); path {
		case "":
		case "stdout":
			out = append(out, os.Stdout)
		case "stderr":
			out = append(out, os.Stderr)
		default:
			f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
			if err != nil {
				return nil, fmt.Errorf("opening log output %q (%s): %w", path, variable, err)
			}
			out = append(out, f)
		}
	}
	return out, nil
}

// fanOut writes to several; one that fails does not keep a line from the others.
type fanOut []io.Writer

// Write implements io.Writer.
func (f fanOut) Write(b []byte) (int, error) {
	var errs []error
	for _, w := range f {
		if _, err := w.Write(b); err != nil {
			errs = append(errs, err)
		}
	}
	return len(b), errors.Join(errs...)
}

// reported writes what could not be written to another place: a logger has nobody to return an error to.
type reported struct {
	to, failed io.Writer
}

// Write implements io.Writer.
func (r *reported) Write(b []byte) (int, error) {
	n, err := r.to.Write(b)
	if err != nil {
		_, _ = fmt.Fprintf(r.failed, "%s writing to the log: %v\n", time.Now().UTC().Format(timeFormat), err)
	}
	return n, err
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
