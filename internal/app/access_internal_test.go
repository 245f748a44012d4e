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

// TestNothingOfDecisionsIsServedWithoutAToken asks each page that the metrics port has beside metrics and profiles.
func TestNothingOfDecisionsIsServedWithoutAToken(t *testing.T) {
	log := slog.New(slog.DiscardHandler)
	readers, err := newReaders(&rest.Config{Host: "http://127.0.0.1:1"}, settings.Settings{}, log)
	if err != nil {
		t.Fatal(err)
	}
	asked := 0
	for path, page := range debugHandlers(settings.Settings{EnableProfiling: true}, decisions.NewRing(1, 1<<20, log), readers) {
		if strings.HasPrefix(path, "/debug/pprof") {
			continue // a switch of its own, off by default
		}
		asked++
		w := httptest.NewRecorder()
		page.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, http.NoBody))
		if w.Code != http.StatusUnauthorized || !strings.Contains(w.Body.String(), "-n kube-system") {
			t.Errorf("%s answers %d %s", path, w.Code, w.Body)
		}
	}
	if asked == 0 {
		t.Error("there is no page")
	}
	if got := debugHandlers(settings.Settings{}, nil, readers); len(got) != 0 {
		t.Errorf("without decisions there is %v", got)
	}
}
