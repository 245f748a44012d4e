package simulate

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"
)

// journal is where the controller's log goes: it learns of disruptions from it, and keeps it if it is asked for.
//
// Concurrency: safe.
type journal struct {
	pods *watcher
	keep bool
	zero time.Time

	mu   sync.Mutex
	said []entry
}

// entry is a line with its moment.
type entry struct {
	at   time.Time
	text string
}

// drawnAnew are attributes that say nothing to who reads the log later, or are different each time.
var drawnAnew = []string{"command-id", "decision-id", "trace_id", "controller", "version", "generation", "launch_id", "took"}

func (j *journal) Enabled(_ context.Context, level slog.Level) bool { return level >= slog.LevelInfo }
func (j *journal) WithGroup(string) slog.Handler                    { return j }

// WithAttrs leaves out what names the logger.
func (j *journal) WithAttrs([]slog.Attr) slog.Handler { return j }

func (j *journal) Handle(_ context.Context, r slog.Record) error {
	if r.Message == "disrupting node(s)" {
		var id, reason string
		r.Attrs(func(a slog.Attr) bool {
			switch a.Key {
			case "command-id":
				id = a.Value.String()
			case "reason":
				reason = a.Value.String()
			}
			return true
		})
		j.pods.command(id, reason)
	}
	if !j.keep {
		return nil
	}
	var args []any
	r.Attrs(func(a slog.Attr) bool {
		// The cache has the pods of a nomination in no order.
		if !slices.Contains(drawnAnew, a.Key) && (a.Key != "pod-names" || r.Message != "nominated pods") {
			v := a.Value.Any()
			if d, ok := v.(time.Duration); ok {
				v = d.Round(100 * time.Millisecond) // messages are delivered some nanoseconds apart
			}
			args = append(args, a.Key, v)
		}
		return true
	})
	j.say(time.Now(), r.Message, args...)
	return nil
}

// say adds a line: how long after the start, what, and with what.
func (j *journal) say(at time.Time, what string, args ...any) {
	if !j.keep {
		return
	}
	var b strings.Builder
	since := at.Sub(j.zero)
	sign := "+"
	if since < 0 {
		sign, since = "-", -since
	}
	since = since.Truncate(time.Second)
	fmt.Fprintf(&b, "%s%dd%02d:%02d:%02d %s", sign, int(since.Hours())/24, int(since.Hours())%24, int(since.Minutes())%60, int(since.Seconds())%60, what)
	for i := 0; i+1 < len(args); i += 2 {
		value := fmt.Sprint(args[i+1])
		if strings.ContainsAny(value, " \"\n") {
			value = fmt.Sprintf("%q", value)
		}
		fmt.Fprintf(&b, " %v=%s", args[i], value)
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	j.said = append(j.said, entry{at, b.String()})
}

// lines are all lines in the order of time. Who of several says something first at the same moment is the Go scheduler's choice, so
// those are in the order of the alphabet.
func (j *journal) lines() []string {
	j.mu.Lock()
	defer j.mu.Unlock()
	slices.SortStableFunc(j.said, func(a, b entry) int { return cmp.Or(a.at.Compare(b.at), strings.Compare(a.text, b.text)) })
	out := make([]string, len(j.said))
	for i := range j.said {
		out[i] = j.said[i].text
	}
	return out
}
