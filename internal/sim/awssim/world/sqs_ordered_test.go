package world

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

// Of several receivers that wait, the one that came first gets all that is sent at a moment, as many as it takes; the next has its turn after
// it, and one that has given up has none.
func TestReceiversHaveTheirTurnsInAnOrderedWorld(t *testing.T) {
	for range 20 {
		synctest.Test(t, func(t *testing.T) {
			w, err := NewDefault(Options{Types: []string{"m5.large"}, Seed: 1, Ordered: true})
			if err != nil {
				t.Fatal(err)
			}
			defer w.Close()
			if _, err := w.CreateQueue("q", nil); err != nil {
				t.Fatal(err)
			}
			const receivers = 4
			got := make([][]string, receivers)
			done := make(chan struct{}, receivers)
			for i := range receivers {
				wait := 10 * time.Second
				if i == 1 {
					wait = time.Second // over before anything is sent
				}
				go func() {
					defer func() { done <- struct{}{} }()
					all, err := w.ReceiveMessages(t.Context(), "q", Receive{Max: 3, Wait: wait, Visibility: time.Minute})
					if err != nil {
						t.Error(err)
					}
					for _, m := range all {
						got[i] = append(got[i], m.Body)
					}
				}()
				synctest.Wait() // they come in this order
			}
			time.Sleep(5 * time.Second)
			for _, body := range []string{"a", "b", "c", "d"} {
				put(t, w, body, 0)
			}
			for range receivers {
				<-done
			}
			if !slices.Equal(got[0], []string{"a", "b", "c"}) || got[1] != nil || !slices.Equal(got[2], []string{"d"}) || got[3] != nil {
				t.Errorf("received %q", got)
			}
			if q := w.sqs.queues["q"]; len(q.waiting) != 0 {
				t.Errorf("%v wait still", q.waiting)
			}
		})
	}
}
