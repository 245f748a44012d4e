package decisions_test

import (
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kerf-sh/kerf/internal/controller/decisions"
	"github.com/kerf-sh/kerf/internal/engine/disrupt"
)

func TestTheLastDecisionOnNodesIsServed(t *testing.T) {
	ring := decisions.NewRing(1, 1<<20, slog.New(slog.DiscardHandler))
	ask := func() *httptest.ResponseRecorder {
		req := httptest.NewRequestWithContext(t.Context(), http.MethodGet, decisions.KeptPath, nil)
		w := httptest.NewRecorder()
		decisions.Handler(ring).ServeHTTP(w, req)
		return w
	}
	if w := ask(); w.Code != http.StatusNotFound {
		t.Errorf("before the first decision: %d", w.Code)
	}
	want := &disrupt.Decision{Kept: []disrupt.Kept{{Node: "n", Reasons: []disrupt.Reason{{Code: disrupt.DoNotDisrupt}}, Saves: 5}}}
	ring.SetDisruption(want)
	got := &disrupt.Decision{}
	if err := json.Unmarshal(ask().Body.Bytes(), got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	var none *decisions.Ring
	none.SetDisruption(want)
	if none.Disruption() != nil {
		t.Error("a ring that keeps nothing keeps something")
	}
}
