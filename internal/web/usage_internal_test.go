package web

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"k8s.io/client-go/rest"
)

// TestUsageStaysKnownWhileItCantBeRead: an API that does not answer once, or a reader that goes away, hides nothing; one that has no
// metrics any more does.
func TestUsageStaysKnownWhileItCantBeRead(t *testing.T) {
	code := http.StatusOK
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(code)
		_, _ = io.WriteString(w, `{"items":[{"metadata":{"name":"n1"},"usage":{"cpu":"1","memory":"1Gi"}}]}`)
	}))
	defer api.Close()
	u := &usageReader{config: func() (*rest.Config, error) { return &rest.Config{Host: api.URL}, nil }}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	for _, tt := range []struct {
		what  string
		ctx   context.Context
		code  int
		known int
		again time.Duration
	}{
		{"a reader that goes away", gone, http.StatusOK, 1, usageEvery},
		{"no answer", t.Context(), http.StatusBadGateway, 1, usageEvery},
		{"no answer for long", t.Context(), http.StatusBadGateway, 0, usageEvery},
		{"known again", t.Context(), http.StatusOK, 1, usageEvery},
		{"no metrics any more", t.Context(), http.StatusNotFound, 0, usageAgain},
		{"not allowed", t.Context(), http.StatusForbidden, 0, usageAgain},
	} {
		code, u.next = tt.code, time.Time{}
		if tt.what == "no answer for long" {
			u.at = u.at.Add(-usageAgain)
		}
		if got := u.read(tt.ctx); len(got) != tt.known {
			t.Errorf("%s: %d nodes are known, want %d", tt.what, len(got), tt.known)
		}
		if wait := time.Until(u.next); wait > tt.again || wait < tt.again-time.Second {
			t.Errorf("%s: asked again in %s, want %s", tt.what, wait, tt.again)
		}
	}
}

// TestUsageIsSeldomAskedForWhereThereIsNone: most clusters of those without it never had it, so that nothing was ever known.
func TestUsageIsSeldomAskedForWhereThereIsNone(t *testing.T) {
	for code, again := range map[int]time.Duration{http.StatusNotFound: usageAgain, http.StatusForbidden: usageAgain, http.StatusBadGateway: usageEvery} {
		asked := 0
		api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			asked++
			w.WriteHeader(code)
		}))
		u := &usageReader{config: func() (*rest.Config, error) { return &rest.Config{Host: api.URL}, nil }}
		for range 2 {
			if got := u.read(t.Context()); got != nil {
				t.Errorf("%d: %v is known", code, got)
			}
		}
		api.Close()
		if wait := time.Until(u.next); asked != 1 || wait > again || wait < again-time.Second {
			t.Errorf("%d: asked %d times, and again in %s; want once, and %s", code, asked, wait, again)
		}
	}
}
