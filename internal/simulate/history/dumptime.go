package history

import (
	"path/filepath"
	"regexp"
	"strconv"
	"time"
)

// What the time of a dump is taken from.
const (
	timeFromSnap    = "the snapshot"
	timeFromName    = "the file's name"
	timeFromFile    = "when the file was written"
	timeFromContent = "the newest entry in it"
)

// fresh is how long after the newest entry in it a dump may have been taken to be believed the file's own time: the
// kubelets of any cluster that is in use change something every few minutes. A file that was copied later is older than that.
const fresh = 10 * time.Minute

var (
	dateInName = regexp.MustCompile(`(20\d\d)-?(\d\d)-?(\d\d)[T_. -]?(\d\d)[-:_.]?(\d\d)(?:[-:_.]?(\d\d))?(Z|[+-]\d\d:?\d\d)?`)
	unixInName = regexp.MustCompile(`(?:^|\D)(1\d{9})(\d{3})?(?:\D|$)`)
)

// nameTime is the time in a file's name, in UTC unless the name says otherwise, and whether it says so.
func nameTime(path string) (t time.Time, zoned, ok bool) {
	name := filepath.Base(path)
	if m := dateInName.FindStringSubmatch(name); m != nil {
		if m[6] == "" {
			m[6] = "00"
		}
		zone, layout := m[7], "Z07:00"
		if zone == "" {
			zone = "Z"
		} else if len(zone) == 5 {
			layout = "Z0700"
		}
		t, err := time.Parse("20060102150405"+layout, m[1]+m[2]+m[3]+m[4]+m[5]+m[6]+zone)
		return t.UTC(), m[7] != "", err == nil
	}
	if m := unixInName.FindStringSubmatch(name); m != nil {
		s, err := strconv.ParseInt(m[1], 10, 64)
		return time.Unix(s, 0).UTC(), true, err == nil
	}
	return time.Time{}, false, false
}

// dumpTime is when a dump was taken. A name that speaks of a time before the newest entry is of another zone, or of something
// else.
func dumpTime(path string, written, newest time.Time) (time.Time, string) {
	near := !written.Before(newest) && written.Sub(newest) <= fresh
	if t, zoned, ok := nameTime(path); ok && !t.Before(newest.Add(-time.Minute)) && (zoned || !near || written.Sub(t).Abs() <= fresh) {
		return t, timeFromName
	}
	if near {
		return written.UTC(), timeFromFile
	}
	return newest.UTC(), timeFromContent
}

// date gives what was read of a dump the time of the dump.
func (r *reading) date() {
	defer func() { r.undated = nil }()
	if len(r.undated) == 0 && !r.isDump || r.newest.IsZero() && r.in.changed.IsZero() && r.taken.IsZero() {
		return
	}
	if r.At, r.TimeFrom = r.taken, timeFromSnap; r.At.IsZero() {
		r.At, r.TimeFrom = dumpTime(r.Path, r.in.changed, r.newest)
	}
	if r.At.IsZero() {
		return
	}
	if r.TimeFrom == timeFromContent {
		r.notes.add(noteUnsureTime, r.Path)
	}
	for _, f := range r.undated {
		f(r.At)
	}
	if !r.isDump {
		return
	}
	r.covers(fromDumps, r.At)
	r.seen[dumps][r.At.UnixMilli()] = true
	r.dumped++
	for _, p := range r.dump {
		if p.ended.IsZero() || p.ended.After(r.At) {
			r.count(p, dumps, r.At)
		}
	}
}
