package overview_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kerf-sh/kerf/internal/controller/overview"
	"github.com/kerf-sh/kerf/internal/engine/cluster"
	"github.com/kerf-sh/kerf/internal/engine/pack"
)

// TestALinkFollowsTheLeader ends the controller that leads; the next read asks the one that leads then, and has its nodes only.
func TestALinkFollowsTheLeader(t *testing.T) {
	began := start
	serve := func(name string) *httptest.Server {
		w := &world{now: began, snapshot: &cluster.Snapshot{Nodes: []*cluster.Node{node(name, 10)}}}
		began = began.Add(time.Second)
		return httptest.NewServer(overview.Handler(w.overview()))
	}
	first, second := serve("of-the-first"), serve("of-the-second")
	defer second.Close()
	leaders, closed := []string{first.URL, second.URL}, 0
	link := overview.NewLink(func(context.Context) (overview.Connection, error) {
		if len(leaders) == 0 {
			return overview.Connection{}, errors.New("nobody leads")
		}
		at := leaders[0]
		leaders = leaders[1:]
		return overview.Connection{URL: at, Close: func() { closed++ }}, nil
	})
	read := func(want string) {
		t.Helper()
		d, err := link.Read(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if len(d.Nodes) != 1 || d.Nodes[0].Name != want {
			t.Errorf("read %s, want node %s", asJSON(t, d.Nodes), want)
		}
	}
	read("of-the-first")
	read("of-the-first")
	first.Close()
	read("of-the-second")
	if closed != 1 {
		t.Errorf("%d connections were closed, want the first", closed)
	}
	link.Close()
	if _, err := link.Read(t.Context()); err == nil || !strings.Contains(err.Error(), "nobody leads") {
		t.Errorf("with no leader: %v", err)
	}
}

// TestALinkAsksAnOlderControllerOnce: a controller without an overview is none that fails.
func TestALinkAsksAnOlderControllerOnce(t *testing.T) {
	asked := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { asked++; http.NotFound(w, r) }))
	defer server.Close()
	link := overview.NewLink(func(context.Context) (overview.Connection, error) { return overview.Connection{URL: server.URL}, nil })
	if _, err := link.Read(t.Context()); !errors.Is(err, overview.ErrNotServed) || asked != 1 {
		t.Errorf("asked %d times: %v", asked, err)
	}
}

// TestAnAnswerMayTakeAsLongAsItGoesOn: a large file over a slow connection, or to a slow reader, is no connection that hangs.
func TestAnAnswerMayTakeAsLongAsItGoesOn(t *testing.T) {
	for name, tc := range map[string]struct {
		headers, gap, reader time.Duration // until the headers come, until each part of the body, until a part of it is taken
		asked, parts         int
		fails                bool
	}{
		"slow":                     {19 * time.Second, 19 * time.Second, 0, 1, 10, false},
		"a slow reader":            {0, 0, time.Hour, 1, 10, false},
		"silent in the middle":     {0, 21 * time.Second, 0, 1, 0, true},
		"silent from the start on": {21 * time.Second, 0, 0, 2, 0, true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				asked := 0
				link := overview.NewLink(func(context.Context) (overview.Connection, error) {
					return overview.Connection{URL: "http://controller", HTTP: &http.Client{Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
						asked++
						if err := waits(r.Context(), tc.headers); err != nil {
							return nil, err
						}
						from, to := io.Pipe()
						go func() {
							for range 10 {
								if err := waits(r.Context(), tc.gap); err != nil {
									_ = to.CloseWithError(err)
									return
								}
								_, _ = to.Write([]byte("part"))
							}
							_ = to.Close()
						}()
						return &http.Response{StatusCode: http.StatusOK, Body: from}, nil
					})}}, nil
				})
				parts := 0
				err := link.Pass(t.Context(), "/file", nil, func(r *http.Response) error {
					for part := make([]byte, 4); ; parts++ {
						if _, err := r.Body.Read(part); errors.Is(err, io.EOF) {
							return nil
						} else if err != nil {
							return err
						}
						time.Sleep(tc.reader)
					}
				})
				if (err != nil) != tc.fails || err != nil && !strings.Contains(err.Error(), "nothing came for 20s") {
					t.Errorf("got %v", err)
				}
				if asked != tc.asked || parts != tc.parts {
					t.Errorf("asked %d times and got %d parts, want %d and %d", asked, parts, tc.asked, tc.parts)
				}
			})
		})
	}
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// waits for d, or until ctx ends.
func waits(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// TestFloorsAreFoundAnew: while somebody asks there is one search at a time, and a failure leaves the floor that was found.
func TestFloorsAreFoundAnew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asked := 0
		var fails error
		took := time.Duration(0)
		f := &overview.Floors{Problem: func(context.Context) (*pack.Problem, time.Duration, error) {
			asked++
			return &pack.Problem{Now: start, Nodes: []*cluster.Node{node("n", 70)}}, took, fails
		}}
		if now := f.Now(); now.Floor != nil {
			t.Errorf("before the first search: %+v", now)
		}
		synctest.Wait()
		if now := f.Now(); now.Floor == nil || now.Running != 70 || asked != 1 || len(now.Points) != 1 {
			t.Errorf("after the first search, asked %d times: %+v", asked, now)
		}
		fails = errors.New("away")
		found := f.Now().At
		time.Sleep(overview.FloorEvery)
		f.Now()
		synctest.Wait()
		if now := f.Now(); now.Floor == nil || !now.At.Equal(found) || now.Error != "away" || asked != 2 {
			t.Errorf("after a search that failed, asked %d times: %+v", asked, now)
		}
		fails, took = nil, 20*time.Millisecond // the controller is asked for a thousandth of its time
		for range 30 {
			time.Sleep(overview.FloorEvery)
			f.Now()
			synctest.Wait()
		}
		if asked < 9 || asked > 10 {
			t.Errorf("asked %d times in two and a half minutes, for 20 ms each time", asked)
		}
	})
}

// TestPodsAreCountedOnce: a node has in use what room is kept for.
func TestPodsAreCountedOnce(t *testing.T) {
	web := class("web", 100)
	w := &world{now: start, snapshot: &cluster.Snapshot{
		Nodes: []*cluster.Node{node("a", 1, pod(web, "web-1", "a"), pod(web, "web-2", ""))}, Pending: []*cluster.Pod{pod(class("giant", 9000), "giant-1", "")},
	}}
	if running, waiting := w.overview().Document(t.Context(), "").Pods(); running != 1 || waiting != 2 {
		t.Errorf("%d run and %d wait, want 1 and 2", running, waiting)
	}
}
