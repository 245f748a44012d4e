package kubesim_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/kerf-sh/kerf/internal/sim/kubesim"
)

func TestEventsEndAnHourAfterTheyWereLastWritten(t *testing.T) {
	now := time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)
	s := server(t, kubesim.Options{Now: func() time.Time { return now }})
	call := func(method, path, kind, body string) int {
		r := httptest.NewRequestWithContext(t.Context(), method, "/api/v1/namespaces/default/events"+path, strings.NewReader(body))
		r.Header.Set("Content-Type", kind)
		w := httptest.NewRecorder()
		s.ServeHTTP(w, r)
		return w.Code
	}
	write := func(name string) {
		t.Helper()
		if code := call(http.MethodPost, "", "application/json", fmt.Sprintf(`{"apiVersion":"v1","kind":"Event","metadata":{"name":%q,"namespace":"default"},"count":1}`, name)); code != http.StatusCreated {
			t.Fatalf("creating %s gives %d", name, code)
		}
	}
	write("once")
	write("again")
	now = now.Add(40 * time.Minute)
	if code := call(http.MethodPatch, "/again", "application/merge-patch+json", `{"count":2}`); code != http.StatusOK {
		t.Fatalf("writing again gives %d", code)
	}
	now = now.Add(30 * time.Minute)
	write("other")
	for name, want := range map[string]int{"once": http.StatusNotFound, "again": http.StatusOK, "other": http.StatusOK} {
		if code := call(http.MethodGet, "/"+name, "", ""); code != want {
			t.Errorf("after 70 minutes %s gives %d, want %d", name, code, want)
		}
	}
}
