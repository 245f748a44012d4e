package decisions_test

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/kerf-sh/kerf/internal/controller/decisions"
)

func TestWhoAsksFromTheSameHost(t *testing.T) {
	h := decisions.SameHost(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}), "no")
	for name, tc := range map[string]struct {
		from, to, host string
		header         string
		code           int
	}{
		"a port-forward":                        {"127.0.0.1:40000", "127.0.0.1:8080", "127.0.0.1:8080", "", 200},
		"a port-forward from another port":      {"127.0.0.1:40000", "127.0.0.1:8080", "localhost:9999", "", 200},
		"a port-forward by IPv6":                {"[::1]:40000", "[::1]:8080", "[::1]:8080", "", 200},
		"another pod":                           {"10.0.0.7:40000", "10.0.0.9:8080", "10.0.0.9:8080", "", 403},
		"another pod, by the sidecar":           {"127.0.0.6:40000", "10.0.0.9:8080", "10.0.0.9:8080", "", 403},
		"another pod, that lies about the host": {"127.0.0.6:40000", "10.0.0.9:8080", "localhost", "", 403},
		"a sidecar that calls the host itself":  {"127.0.0.1:40000", "127.0.0.1:8080", "localhost", "X-Forwarded-Proto", 403},
		"the same of Envoy":                     {"127.0.0.1:40000", "127.0.0.1:8080", "localhost", "X-Envoy-External-Address", 403},
		"the same of Linkerd":                   {"127.0.0.1:40000", "127.0.0.1:8080", "localhost", "l5d-client-id", 403},
		"a page in a browser":                   {"127.0.0.1:40000", "127.0.0.1:8080", "evil.example:8080", "", 403},
		"an address of nonsense":                {"here", "127.0.0.1:8080", "localhost", "", 403},
		"nobody knows what was called":          {"127.0.0.1:40000", "", "localhost", "", 403},
	} {
		t.Run(name, func(t *testing.T) {
			req := httptest.NewRequest(http.MethodGet, "/", nil)
			req.RemoteAddr, req.Host = tc.from, tc.host
			if tc.header != "" {
				req.Header.Set(tc.header, "x")
			}
			if tc.to != "" {
				to, err := net.ResolveTCPAddr("tcp", tc.to)
				if err != nil {
					t.Fatal(err)
				}
				req = req.WithContext(context.WithValue(req.Context(), http.LocalAddrContextKey, to))
			}
			w := httptest.NewRecorder()
			if h.ServeHTTP(w, req); w.Code != tc.code {
				t.Errorf("got %d, want %d", w.Code, tc.code)
			}
		})
	}
}
