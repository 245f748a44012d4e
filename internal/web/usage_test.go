package web_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"k8s.io/client-go/rest"

	"github.com/kerf-sh/kerf/internal/web"
)

// TestUsageIsShownWhereItMayBeRead: a cluster without the metrics API, or a user without the right, is no error.
func TestUsageIsShownWhereItMayBeRead(t *testing.T) {
	for name, tc := range map[string]struct {
		code       int
		text, want string
	}{
		"there":     {http.StatusOK, `{"items":[{"metadata":{"name":"n1"},"usage":{"cpu":"1500m","memory":"2Gi"}}]}`, `{"n1":{"cpu":1500,"memory":2147483648}}` + "\n"},
		"not there": {http.StatusNotFound, "404 page not found", "{}\n"},
		"forbidden": {http.StatusForbidden, `{"kind":"Status"}`, "{}\n"},
		"away":      {http.StatusInternalServerError, "no", "{}\n"},
		"broken":    {http.StatusOK, `<html>`, "{}\n"},
	} {
		t.Run(name, func(t *testing.T) {
			asked := 0
			api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path != "/apis/metrics.k8s.io/v1beta1/nodes" {
					t.Errorf("%s is asked", r.URL.Path)
				}
				asked++
				w.Header().Set("Content-Type", "application/json")
				w.WriteHeader(tc.code)
				_, _ = io.WriteString(w, tc.text)
			}))
			defer api.Close()
			at := controller(t).URL
			address, browser := serve(t, web.Options{
				Connect: func(context.Context) (web.Connection, error) { return web.Connection{URL: at}, nil },
				API:     func() (*rest.Config, error) { return &rest.Config{Host: api.URL}, nil },
			})
			for range 3 {
				if code, text := get(t, browser, address+"/api/usage"); code != http.StatusOK || text != tc.want {
					t.Errorf("%d %q, want %q", code, text, tc.want)
				}
			}
			if asked != 1 {
				t.Errorf("the API was asked %d times, want once", asked)
			}
		})
	}
	at := controller(t).URL
	address, browser := serve(t, web.Options{Connect: func(context.Context) (web.Connection, error) { return web.Connection{URL: at}, nil }})
	if code, text := get(t, browser, address+"/api/usage"); code != http.StatusOK || text != "{}\n" {
		t.Errorf("without a way to the API: %d %q", code, text)
	}
}
