package simulate

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Week is how long a week is.
const Week = 7 * 24 * time.Hour

// monday is the Monday at midnight that starts are counted from. Virtual time begins on the Saturday before.
var monday = time.Date(2000, 1, 3, 0, 0, 0, 0, time.UTC)

// origin is when the workload starts.
func (s *Spec) origin() time.Time { return monday.Add(s.Start) }

// ParseStart reads a moment of the week, as how long it is after Monday 00:00: "09:00", "Tue", "Tue 09:00", "saturday 17:30".
//
// Errors: it can't be read.
func ParseStart(text string) (time.Duration, error) {
	fields := strings.Fields(strings.ToLower(text))
	out, rest := time.Duration(0), fields
	if len(fields) > 0 {
		for day := range 7 {
			name := strings.ToLower(monday.AddDate(0, 0, day).Weekday().String())
			if len(fields[0]) >= 2 && strings.HasPrefix(name, fields[0]) {
				out, rest = time.Duration(day)*24*time.Hour, fields[1:]
			}
		}
	}
	if len(rest) == 0 && len(fields) > 0 {
		return out, nil
	}
	if len(rest) == 1 {
		hour, minute, _ := strings.Cut(rest[0], ":")
		h, err := strconv.Atoi(hour)
		m, err2 := strconv.Atoi(minute)
		if err == nil && err2 == nil && len(minute) == 2 && h >= 0 && h < 24 && m >= 0 && m < 60 {
			return out + time.Duration(h)*time.Hour + time.Duration(m)*time.Minute, nil
		}
	}
	return 0, fmt.Errorf("%q: want a weekday, a time of day from 00:00 to 23:59, or both, as in Tue, 09:00 or \"Tue 09:00\"", text)
}

// StartText is a moment of the week, to the minute, as ParseStart reads it: "Tue 09:00".
func StartText(start time.Duration) string { return monday.Add(start).Format("Mon 15:04") }

// StartAt is the moment of the week of a time, to the minute; Monday 00:00 of no time.
func StartAt(t time.Time) time.Duration {
	if t.IsZero() {
		return 0
	}
	t = t.UTC()
	day := (int(t.Weekday()) + 6) % 7 // from Monday on
	return time.Duration(day)*24*time.Hour + time.Duration(t.Hour())*time.Hour + time.Duration(t.Minute())*time.Minute
}

// Hours are the hours of the week that a run of a length plays: "Monday 00:00 to 02:00 UTC".
func Hours(start, length time.Duration) string {
	from := monday.Add(start)
	to := from.Add(length)
	out := from.Format("Monday 15:04") + " to "
	if to.Second() != 0 {
		to = to.Truncate(time.Minute)
	}
	switch {
	case length > Week:
		return from.Format("Monday 15:04 UTC") + " and " + span(length) + " on"
	case to.YearDay() != from.YearDay():
		out += to.Format("Monday 15:04")
	default:
		out += to.Format("15:04")
	}
	return out + " UTC"
}
