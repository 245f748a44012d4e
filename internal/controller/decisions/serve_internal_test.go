package decisions

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"

	"github.com/kerf-sh/kerf/internal/engine/record"
)

// TestNamesAreHashedForOneAtATime: each takes memory, and whoever may read decisions may ask as often as they like.
func TestNamesAreHashedForOneAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := NewRing(1, 1<<20, slog.New(slog.DiscardHandler))
		r.Add(launch(1))
		r.File(Latest) // waits until it is written
		hashing := make(chan struct{}, 1)
		ask := func(ctx context.Context, query string) (answer *httptest.ResponseRecorder, done chan struct{}) {
			req := httptest.NewRequestWithContext(ctx, http.MethodGet, Path+"/latest"+query, nil)
			req.SetPathValue("id", Latest)
			answer, done = httptest.NewRecorder(), make(chan struct{})
			go func() {
				defer close(done)
				serveFile(answer, req, r, hashing)
			}()
			synctest.Wait()
			return answer, done
		}
		over := func(done chan struct{}) bool {
			select {
			case <-done:
				return true
			default:
				return false
			}
		}
		hashing <- struct{}{} // somebody else's turn
		waiting, answered := ask(t.Context(), "?names=hashed")
		if over(answered) {
			t.Fatal("a second request does not wait")
		}
		if plain, answered := ask(t.Context(), ""); !over(answered) || plain.Code != http.StatusOK {
			t.Error("a file as it is has to wait")
		}
		gone, leave := context.WithCancel(t.Context())
		_, left := ask(gone, "?names=hashed")
		leave()
		synctest.Wait()
		if !over(left) {
			t.Error("who has gone still waits")
		}
		<-hashing
		synctest.Wait()
		if !over(answered) || waiting.Code != http.StatusOK || len(hashing) != 0 {
			t.Fatalf("answered with %d %s, %d turns taken", waiting.Code, waiting.Body, len(hashing))
		}
		if _, err := record.Read(waiting.Body); err != nil {
			t.Error(err)
		}
	})
}
