package app

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"k8s.io/client-go/rest"

	"github.com/kerf-sh/kerf/internal/controller/decisions"
	"github.com/kerf-sh/kerf/internal/settings"
)

// TestNothingIsServedWithoutAToken asks each page that the metrics port has beside metrics, profiles included.
func TestNothingIsServedWithoutAToken(t *testing.T) {
	log := slog.New(slog.DiscardHandler)
	readers, err := newReaders(&rest.Config{Host: "http://127.0.0.1:1"}, settings.Settings{}, log)
	if err != nil {
		t.Fatal(err)
	}
	asked := 0
	for path, page := range debugHandlers(settings.Settings{EnableProfiling: true}, decisions.NewRing(1, 1<<20, log), readers) {
		asked++
		w := httptest.NewRecorder()
		page.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, http.NoBody))
		if w.Code != http.StatusUnauthorized || !strings.Contains(w.Body.String(), "-n kube-system") {
			t.Errorf("%s answers %d %s", path, w.Code, w.Body)
		}
	}
	if asked != 7 {
		t.Errorf("there are %d pages, want 2 of decisions and 5 of profiles", asked)
	}
	if got := debugHandlers(settings.Settings{}, nil, readers); len(got) != 0 {
		t.Errorf("without decisions there is %v", got)
	}
}
