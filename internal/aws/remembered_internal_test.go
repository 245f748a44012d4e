package aws

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

func TestWhatIsRememberedOutlastsWhoKnowsIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := patience{age: 5 * time.Minute, pause: time.Minute, soon: 10 * time.Second}
		asked, refusal := 0, error(nil)
		r := &remembered[int]{}
		get := func() (int, error) {
			return r.get(t.Context(), time.Now, p, func(context.Context) (int, error) { asked++; return asked, refusal })
		}
		away := errors.New("away")
		for i, s := range []struct {
			after   time.Duration
			refusal error
			asked   int
			value   int
			err     error
		}{
			{0, away, 1, 0, away},                          // nothing is known
			{5 * time.Second, away, 1, 0, away},            // and it is not asked again at once
			{5 * time.Second, nil, 2, 2, nil},              // after a while it is
			{4 * time.Minute, nil, 2, 2, nil},              // what is known is believed
			{time.Minute, away, 3, 2, nil},                 // and serves when it is old
			{30 * time.Second, nil, 3, 2, nil},             // for a while without another question
			{30 * time.Second, nil, 4, 4, nil},             // and then with another
			{5 * time.Minute, context.Canceled, 5, 4, nil}, // whatever the failure
		} {
			time.Sleep(s.after)
			refusal = s.refusal
			v, err := get()
			if asked != s.asked || err == nil && v != s.value || !errors.Is(err, s.err) {
				t.Errorf("step %d: %d, %v after %d questions; want %d, %v after %d", i, v, err, asked, s.value, s.err, s.asked)
			}
		}
	})
}

func TestAQuestionWithoutAnAnswerHoldsUpNobodyLongerThanTheyWish(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := patience{age: time.Minute, pause: time.Minute, soon: 10 * time.Second}
		asked := 0
		hang := func(ctx context.Context) (int, error) { asked++; <-ctx.Done(); return 0, ctx.Err() }
		r := &remembered[int]{}
		long, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		go func() { _, _ = r.get(long, time.Now, p, hang) }() // its end is of no interest
		synctest.Wait()
		start := time.Now()
		short, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := r.get(short, time.Now, p, hang); !errors.Is(err, context.DeadlineExceeded) || time.Since(start) != time.Second || asked != 1 {
			t.Errorf("%v after %s and %d questions", err, time.Since(start), asked)
		}
		// Who gave up says nothing of who was asked: the next one asks at once.
		time.Sleep(time.Hour)
		synctest.Wait()
		answer := func(context.Context) (int, error) { return 7, nil }
		if v, err := r.get(t.Context(), time.Now, p, answer); v != 7 || err != nil {
			t.Errorf("%d, %v", v, err)
		}
		// With an old answer nobody waits at all.
		time.Sleep(time.Hour)
		go func() {
			_, _ = r.get(t.Context(), time.Now, p, func(context.Context) (int, error) { time.Sleep(time.Minute); return 8, nil })
		}()
		synctest.Wait()
		start = time.Now()
		if v, err := r.get(t.Context(), time.Now, p, answer); v != 7 || err != nil || time.Since(start) != 0 {
			t.Errorf("%d, %v after %s", v, err, time.Since(start))
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		if v, _ := r.get(t.Context(), time.Now, p, answer); v != 8 {
			t.Errorf("%d, want what was answered late", v)
		}
	})
}
