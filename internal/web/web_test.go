package web_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/kerf-sh/kerf/internal/controller/decisions"
	"github.com/kerf-sh/kerf/internal/controller/overview"
	"github.com/kerf-sh/kerf/internal/engine/cluster"
	"github.com/kerf-sh/kerf/internal/engine/pack"
	"github.com/kerf-sh/kerf/internal/web"
)

// serve serves the page, and returns its address and a browser that has opened it.
func serve(t *testing.T, o web.Options) (address string, browser *http.Client) {
	t.Helper()
	page := web.New(o)
	t.Cleanup(page.Close)
	server := httptest.NewServer(page)
	t.Cleanup(server.Close)
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	browser = &http.Client{Jar: jar}
	if code, text := get(t, browser, page.Address(server.Listener.Addr())); code != http.StatusOK || !strings.Contains(text, "<title>kerf</title>") {
		t.Fatalf("opening the address: %d %s", code, text)
	}
	return server.URL, browser
}

func get(t *testing.T, c *http.Client, url string) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := c.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(text)
}

func controller(t *testing.T) *httptest.Server {
	o := overview.New(overview.Sources{
		Cluster: "shop", Snapshot: func() *cluster.Snapshot { return &cluster.Snapshot{} }, Now: time.Now,
		Problem: func(context.Context, *cluster.Snapshot) *pack.Problem { return &pack.Problem{} },
	})
	s := httptest.NewServer(overview.Handler(o))
	t.Cleanup(s.Close)
	return s
}

func TestOnlyWhoKnowsTheKeyLooks(t *testing.T) {
	c := controller(t)
	address, browser := serve(t, web.Options{Connect: func(context.Context) (web.Connection, error) { return web.Connection{URL: c.URL}, nil }})
	if code, text := get(t, browser, address+"/api/overview"); code != http.StatusOK || !strings.Contains(text, `"cluster":"shop"`) {
		t.Errorf("the one who opened the address gets %d %s", code, text)
	}
	for _, path := range []string{"/", "/main.js", "/api/overview", "/?key=wrong", "/api/overview?key=wrong"} {
		if code, text := get(t, &http.Client{}, address+path); code != http.StatusForbidden || !strings.Contains(text, "the address that kerf printed") {
			t.Errorf("another user of the host gets %d %s for %s", code, text, path)
		}
	}
	// A site whose name leads to this host.
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address+"/api/overview", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Host = "evil.example"
	resp, err := browser.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	if resp.StatusCode != http.StatusForbidden {
		t.Errorf("under another name the page answers %d", resp.StatusCode)
	}
}

// TestTheBrowsersKeyIsGoodForOneVisit: other users of the host can read it among the arguments of the program that opens it.
func TestTheBrowsersKeyIsGoodForOneVisit(t *testing.T) {
	page := web.New(web.Options{Connect: func(context.Context) (web.Connection, error) { return web.Connection{}, errors.New("no") }})
	t.Cleanup(page.Close)
	server := httptest.NewServer(page)
	t.Cleanup(server.Close)
	once := page.Once(server.Listener.Addr())
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{once, server.URL + "/", server.URL + "/main.js"} {
		if code, text := get(t, &http.Client{Jar: jar}, path); code != http.StatusOK {
			t.Errorf("the browser that came first gets %d %s for %s", code, text, path)
		}
	}
	if code, _ := get(t, &http.Client{}, once); code != http.StatusForbidden {
		t.Errorf("who comes with the same key later gets %d", code)
	}
}

func TestAnotherControllerIsFoundWhenOneIsGone(t *testing.T) {
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	c := controller(t)
	asked, closed := 0, 0
	address, browser := serve(t, web.Options{Connect: func(context.Context) (web.Connection, error) {
		asked++
		url := gone.URL
		if asked > 1 {
			url = c.URL
		}
		return web.Connection{URL: url, Close: func() { closed++ }}, nil
	}})
	if code, text := get(t, browser, address+"/api/overview"); code != http.StatusOK {
		t.Errorf("after the leader has changed the page gets %d %s", code, text)
	}
	if asked != 2 || closed != 1 {
		t.Errorf("%d connections were made and %d closed, want 2 and 1", asked, closed)
	}
}

func TestWhatIsWrongIsSaid(t *testing.T) {
	older := httptest.NewServer(http.NotFoundHandler())
	defer older.Close()
	refusing := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, `user "ann" may not get /debug/overview`, http.StatusForbidden)
	}))
	defer refusing.Close()
	for name, tc := range map[string]struct {
		connect func(context.Context) (web.Connection, error)
		code    int
		says    string
	}{
		"an older controller": {func(context.Context) (web.Connection, error) { return web.Connection{URL: older.URL}, nil }, 404, "serves no overview"},
		"no right":            {func(context.Context) (web.Connection, error) { return web.Connection{URL: refusing.URL}, nil }, 403, "may not get"},
		"no controller":       {func(context.Context) (web.Connection, error) { return web.Connection{}, errors.New("nobody leads") }, 502, "nobody leads"},
	} {
		t.Run(name, func(t *testing.T) {
			address, browser := serve(t, web.Options{Connect: tc.connect})
			code, text := get(t, browser, address+"/api/overview")
			var said struct {
				Error string `json:"error"`
			}
			if err := json.Unmarshal([]byte(text), &said); err != nil || code != tc.code || !strings.Contains(said.Error, tc.says) {
				t.Errorf("the page gets %d %s, want %d and an error with %q", code, text, tc.code, tc.says)
			}
		})
	}
}

// TestAnAnswerIsNoFailureOfTheConnection: what the controller does not have, or does not tell this user, another connection would not
// bring either, and closing this one would break off what else the page is reading.
func TestAnAnswerIsNoFailureOfTheConnection(t *testing.T) {
	kept := decisions.Handler(decisions.NewRing(1, 1<<20, slog.New(slog.DiscardHandler)))
	forbidding := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "no right", http.StatusForbidden) })
	for name, tc := range map[string]struct {
		controller http.Handler
		path       string
		code       int
		says       string
	}{
		"a decision that is not kept":  {kept, "/api/decisions/aaaa", 404, "not found: no decision of that ID is kept"},
		"its file":                     {kept, "/api/decisions/aaaa/file", 404, "no decision of that ID is kept"},
		"a decision without the right": {forbidding, "/api/decisions/aaaa", 403, "no right"},
		"a node without the right":     {forbidding, "/api/nodes/n", 403, "no right"},
		"a pod without the right":      {forbidding, "/api/pods/a/b", 403, "no right"},
		"no decisions at all":          {http.NotFoundHandler(), "/api/pods/a/b", 404, "keeps no decisions"},
	} {
		t.Run(name, func(t *testing.T) {
			made, closed := 0, 0
			c := httptest.NewServer(tc.controller)
			defer c.Close()
			address, browser := serve(t, web.Options{Connect: func(context.Context) (web.Connection, error) {
				made++
				return web.Connection{URL: c.URL, Close: func() { closed++ }}, nil
			}})
			if code, text := get(t, browser, address+tc.path); code != tc.code || !strings.Contains(text, tc.says) {
				t.Errorf("the page gets %d %s, want %d and %q", code, text, tc.code, tc.says)
			}
			if made != 1 || closed != 0 {
				t.Errorf("%d connections were made and %d closed, want 1 and 0", made, closed)
			}
		})
	}
}

// TestAFileThatBreaksOffIsNoWholeFile: the download fails, whether or not the controller said how long the file is.
func TestAFileThatBreaksOffIsNoWholeFile(t *testing.T) {
	const size = 1 << 20
	for name, tc := range map[string]struct {
		length string // as the controller says; empty: it does not
		sent   int
		breaks bool
	}{
		"whole":                       {"", size, false},
		"whole, of a known length":    {strconv.Itoa(size), size, false},
		"broken off":                  {"", size, true},
		"broken off at its beginning": {"", 10, true},
		"broken off, of known length": {strconv.Itoa(2 * size), size, true},
	} {
		t.Run(name, func(t *testing.T) {
			c := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				if tc.length != "" {
					w.Header().Set("Content-Length", tc.length)
				}
				_, _ = w.Write(make([]byte, tc.sent))
				if tc.breaks {
					_ = http.NewResponseController(w).Flush()
					panic(http.ErrAbortHandler)
				}
			}))
			defer c.Close()
			address, browser := serve(t, web.Options{Connect: func(context.Context) (web.Connection, error) { return web.Connection{URL: c.URL}, nil }})
			n, length, err := download(t, browser, address+"/api/decisions/x/file")
			if (err != nil) != tc.breaks || err == nil && n != tc.sent {
				t.Errorf("%d of %d bytes, %v", n, tc.sent, err)
			}
			if want, err := strconv.ParseInt(tc.length, 10, 64); err == nil && length != want {
				t.Errorf("its length is said to be %d, want %d", length, want)
			}
		})
	}
}

// download reads all of an answer: how many bytes came, and how many were to come.
func download(t *testing.T, c *http.Client, url string) (n int, length int64, err error) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Accept-Encoding", "identity")
	resp, err := c.Do(req)
	if err != nil {
		return 0, 0, err
	}
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(resp.Body)
	return len(text), resp.ContentLength, err
}
