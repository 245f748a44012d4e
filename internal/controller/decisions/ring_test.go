package decisions_test

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/kerf-sh/kerf/internal/controller/decisions"
	"github.com/kerf-sh/kerf/internal/engine/catalog"
	"github.com/kerf-sh/kerf/internal/engine/cluster"
	"github.com/kerf-sh/kerf/internal/engine/pack"
	"github.com/kerf-sh/kerf/internal/engine/plan"
	"github.com/kerf-sh/kerf/internal/engine/record"
	"github.com/kerf-sh/kerf/internal/sim/scenario"
)

func decision(generation uint64, types []*catalog.Type, pods int) *record.Decision {
	p := &pack.Problem{Now: scenario.Start, Generation: generation, Pending: scenario.GeneratePods(pods, 1), Options: pack.Options{WellKnown: scenario.WellKnown()},
		Pools: []*cluster.Pool{{Name: "default", Types: types}}}
	return &record.Decision{Kerf: "test", Problem: p, Plan: pack.Solve(p), Claims: []record.Claim{{NewNode: 0, Name: fmt.Sprintf("default-%d", generation)}}}
}

// write waits until the last decision is written.
func write(r *decisions.Ring) { r.File(decisions.Latest) }

func TestTheRingKeepsTheLastAndSharesTypes(t *testing.T) {
	types := scenario.GenerateTypes(50, 1)
	r := decisions.NewRing(3, 1<<20, slog.New(slog.DiscardHandler))
	for g := range uint64(5) {
		r.Add(decision(g+1, types, 10))
		write(r) // before the next comes
	}
	list := r.List()
	if len(list) != 3 || list[0].Generation != 5 || list[2].Generation != 3 || list[0].ID != "5" {
		t.Fatalf("kept %+v", list)
	}
	if got := list[0]; got.Pods != 10 || got.NewNodes == 0 || got.NodeClaims[0] != "default-5" || got.Price == 0 || got.Bytes == 0 {
		t.Errorf("summed up as %+v", got)
	}
	d, err := r.Decision(decisions.Latest)
	if err != nil || d.Problem.Generation != 5 || len(d.Problem.Pools[0].Types) != 50 {
		t.Errorf("latest: %v", err)
	}
	if _, err := r.Decision("1"); err == nil {
		t.Error("the first should be gone")
	}
}

func TestTheRingIsBoundedByBytes(t *testing.T) {
	types := scenario.GenerateTypes(10, 1)
	one := decisions.NewRing(1, 1<<30, slog.New(slog.DiscardHandler))
	one.Add(decision(1, types, 500))
	write(one)
	size := one.List()[0].Bytes
	r := decisions.NewRing(100, 3*size, slog.New(slog.DiscardHandler))
	for g := range uint64(10) {
		r.Add(decision(g+1, types, 500))
		write(r)
	}
	if n := len(r.List()); n < 2 || n > 4 {
		t.Errorf("keeps %d decisions of %d bytes in %d", n, size, 3*size)
	}
	tiny := decisions.NewRing(100, 10, slog.New(slog.DiscardHandler))
	tiny.Add(decision(1, types, 5))
	write(tiny)
	if n := len(tiny.List()); n != 0 {
		t.Errorf("keeps %d decisions in 10 bytes", n)
	}
}

func TestWhatIsSaidAgainTakesThePlaceOfWhatWasSaid(t *testing.T) {
	r := decisions.NewRing(4, 1<<20, slog.New(slog.DiscardHandler))
	r.Add(decision(1, scenario.GenerateTypes(5, 1), 3))
	for g := uint64(2); g < 8; g++ {
		d := decision(g, nil, 3)
		d.Claims, d.ID = nil, fmt.Sprintf("00000000000000%02d", g)
		r.Add(d)
		write(r)
	}
	list := r.List()
	if len(list) != 2 || list[0].Generation != 7 || list[0].Repeated != 5 || list[0].Unplaced != 3 || list[1].NewNodes == 0 {
		t.Errorf("kept %+v", list)
	}
	// Each of them has a line in the log, whose ID leads to the newest.
	for g := uint64(2); g < 8; g++ {
		if d, err := r.Decision(fmt.Sprintf("00000000000000%02d", g)); err != nil || d.Problem.Generation != 7 {
			t.Errorf("decision %d: %v", g, err)
		}
	}
}

func TestARingOfNothingKeepsNothing(t *testing.T) {
	r := decisions.NewRing(0, 1<<20, nil)
	r.Add(decision(1, nil, 1))
	if n := len(r.List()); n != 0 {
		t.Errorf("keeps %d", n)
	}
	if _, ok := r.File(decisions.Latest); ok {
		t.Error("has a file")
	}
}

func TestDecisionsAreServed(t *testing.T) {
	r := decisions.NewRing(3, 1<<20, slog.New(slog.DiscardHandler))
	d := decision(1, scenario.GenerateTypes(5, 1), 3)
	d.Problem.Pending[0].Name = "secret-name"
	d.Plan = pack.Solve(d.Problem)
	r.Add(d)
	h := decisions.Handler(r)
	get := func(path string) *httptest.ResponseRecorder {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
		return w
	}
	for name, tc := range map[string]struct {
		path string
		code int
		want string
	}{
		"the list":               {"/debug/decisions", 200, `"id": "1"`},
		"the list, with a slash": {"/debug/decisions/", 200, `"id": "1"`},
		"a file":                 {"/debug/decisions/1", 200, "kerf-decision 1 test\n"},
		"a file by its name":     {"/debug/decisions/1.kerf", 200, "kerf-decision 1 test\n"},
		"the latest":             {"/debug/decisions/latest", 200, "kerf-decision 1 test\n"},
		"hashed":                 {"/debug/decisions/latest?names=hashed", 200, "kerf-decision 1 test\n"},
		"hashed in another way":  {"/debug/decisions/latest?names=md5", 400, "want hashed"},
		"one that is not there":  {"/debug/decisions/7", 404, "/debug/decisions lists"},
	} {
		t.Run(name, func(t *testing.T) {
			w := get(tc.path)
			if w.Code != tc.code || !strings.Contains(w.Body.String(), tc.want) {
				t.Errorf("%d %.200q, want %d with %q", w.Code, w.Body.String(), tc.code, tc.want)
			}
		})
	}
	plain, err := record.Read(get("/debug/decisions/1").Body)
	if err != nil || plain.Problem.Pending[0].Name != "secret-name" {
		t.Errorf("read back: %v", err)
	}
	hashed, err := record.Read(get("/debug/decisions/1?names=hashed").Body)
	if err != nil || strings.Contains(asJSON(t, hashed.Problem), "secret-name") || strings.Contains(asJSON(t, hashed.Plan), "secret-name") {
		t.Errorf("the name is still there: %v", err)
	}
}

// A controller that has just started has no latest decision, and nobody has asked for an ID.
func TestTheLatestOfNoneIsNoMissingID(t *testing.T) {
	req := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/debug/decisions/latest", nil)
	w := httptest.NewRecorder()
	decisions.Handler(decisions.NewRing(1, 1<<20, slog.New(slog.DiscardHandler))).ServeHTTP(w, req)
	if said := w.Body.String(); w.Code != http.StatusNotFound || !strings.HasPrefix(said, "nothing has been decided since this controller began to lead") || strings.Contains(said, "ID") {
		t.Errorf("%d %s", w.Code, said)
	}
}

// TestTheRingKeepsWhatIsAskedAbout: pods that come and find room, a second apart, push no launch out.
func TestTheRingKeepsWhatIsAskedAbout(t *testing.T) {
	types := scenario.GenerateTypes(10, 1)
	r := decisions.NewRing(4, 1<<30, slog.New(slog.DiscardHandler))
	launch := func(generation uint64) { r.Add(decision(generation, types, 5)); write(r) }
	waits := func(generation uint64, pod string) {
		d := decision(generation, types, 5)
		d.Plan = &plan.Plan{Unplaced: []plan.Unplaced{{Pods: []cluster.PodRef{{Namespace: "default", Name: pod}}}}}
		d.Claims = nil
		r.Add(d)
		write(r)
	}
	room := func(generation uint64, pod string) {
		d := decision(generation, types, 5)
		d.Plan = &plan.Plan{Placements: []plan.Placement{{Node: "n", Pods: []cluster.PodRef{{Namespace: "default", Name: pod}}}}}
		d.Claims = nil
		r.Add(d)
		write(r)
	}
	generations := func() (out []uint64) {
		for _, s := range r.List() {
			out = append(out, s.Generation)
		}
		return out
	}
	launch(1)
	waits(2, "a")
	for g := range uint64(20) {
		room(3+g, fmt.Sprint("room-", g))
	}
	if got, want := generations(), []uint64{22, 21, 2, 1}; !slices.Equal(got, want) {
		t.Errorf("kept %v, want %v", got, want)
	}
	for g := range uint64(3) {
		launch(30 + g)
	}
	room(40, "last")
	if got, want := generations(), []uint64{40, 32, 31, 30}; !slices.Equal(got, want) {
		t.Errorf("kept %v, want %v: the newest always, then launches", got, want)
	}
}

func asJSON(t testing.TB, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestASummaryIsInTheCurrencyOfItsPlan(t *testing.T) {
	for currency, want := range map[catalog.Currency]string{"": " for $", "USD": " for $", "CNY": " for ¥"} {
		d := decision(1, scenario.GenerateTypes(50, 1), 10)
		d.Problem.Options.Currency = currency
		d.Plan = pack.Solve(d.Problem)
		r := decisions.NewRing(1, 1<<20, slog.New(slog.DiscardHandler))
		r.Add(d)
		if got := r.List()[0]; got.Currency != currency || !strings.Contains(got.Text(), want) {
			t.Errorf("%q: %s", currency, got.Text())
		}
	}
}
