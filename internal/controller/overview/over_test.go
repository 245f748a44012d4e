package overview

import (
	"fmt"
	"testing"
	"time"
)

// TestAProblemThatEndedIsToldOf: for how long it lasted, unless it was a moment, and not while it is back.
func TestAProblemThatEndedIsToldOf(t *testing.T) {
	start := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	waits := func(n int, pod string) Problem {
		return Problem{Code: NoNodeComing, Title: fmt.Sprint(n, " pods wait"), Kind: "Pod", Object: pod, Since: start.Add(-time.Minute)}
	}
	var o over
	at := func(after time.Duration, problems ...Problem) string {
		out := ""
		for _, x := range o.note(start.Add(after), problems) {
			out += fmt.Sprintf("%s for %s until %s; ", x.Title, x.Ended.Sub(x.Since), x.Ended.Format(time.TimeOnly))
		}
		return out
	}
	for _, step := range []struct{ got, want string }{
		{at(0, waits(2, "a/b"), Problem{Code: Paused, Title: "paused"}), ""},
		{at(5*time.Second, waits(3, "a/c")), ""}, // another pod is the first; the pause was a moment
		{at(20 * time.Second), "3 pods wait for 1m20s until 12:00:20; "},
		{at(30*time.Second, waits(3, "a/c")), ""},                 // it is back
		{at(time.Hour), "3 pods wait for 1m30s until 12:00:30; "}, // nobody looked in between
	} {
		if step.got != step.want {
			t.Errorf("got %q, want %q", step.got, step.want)
		}
	}
	for i := range 9 {
		at(2*time.Hour+time.Duration(i)*30*time.Second, Problem{Code: Paused, Object: fmt.Sprint(i), Title: fmt.Sprint(i)})
	}
	if n := len(o.ended); n != overMost {
		t.Errorf("%d are kept, want %d", n, overMost)
	}
}
