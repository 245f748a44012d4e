package record_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/kerf-sh/kerf/internal/catalog"
	"github.com/kerf-sh/kerf/internal/cluster"
	"github.com/kerf-sh/kerf/internal/disrupt"
	"github.com/kerf-sh/kerf/internal/pack"
	"github.com/kerf-sh/kerf/internal/plan"
	"github.com/kerf-sh/kerf/internal/record"
	"github.com/kerf-sh/kerf/internal/scenario"
)

func decision(generation uint64, types []*catalog.Type, pods int) *record.Decision {
	p := &pack.Problem{Now: scenario.Start, Generation: generation, Pending: scenario.GeneratePods(pods, 1), Options: pack.Options{WellKnown: scenario.WellKnown()},
		Pools: []*cluster.Pool{{Name: "default", Types: types}}}
	return &record.Decision{Kerf: "test", Problem: p, Plan: pack.Solve(p), Claims: []record.Claim{{NewNode: 0, Name: fmt.Sprintf("default-%d", generation)}}}
}

func TestTheRingKeepsTheLastAndSharesTypes(t *testing.T) {
	types := scenario.GenerateTypes(50, 1)
	r := record.NewRing(3, 1<<20, slog.New(slog.DiscardHandler))
	for g := range uint64(5) {
		r.Add(decision(g+1, types, 10))
		r.List() // each is written before the next comes
	}
	list := r.List()
	if len(list) != 3 || list[0].Generation != 5 || list[2].Generation != 3 || list[0].ID != "5" {
		t.Fatalf("kept %+v", list)
	}
	if got := list[0]; got.Pods != 10 || got.NewNodes == 0 || got.NodeClaims[0] != "default-5" || got.Price == 0 || got.Bytes == 0 {
		t.Errorf("summed up as %+v", got)
	}
	d, err := r.Decision(record.Latest)
	if err != nil || d.Problem.Generation != 5 || len(d.Problem.Pools[0].Types) != 50 {
		t.Errorf("latest: %v", err)
	}
	if _, err := r.Decision("1"); err == nil {
		t.Error("the first should be gone")
	}
}

func TestTheRingIsBoundedByBytes(t *testing.T) {
	types := scenario.GenerateTypes(10, 1)
	one := record.NewRing(1, 1<<30, slog.New(slog.DiscardHandler))
	one.Add(decision(1, types, 500))
	size := one.List()[0].Bytes
	r := record.NewRing(100, 3*size, slog.New(slog.DiscardHandler))
	for g := range uint64(10) {
		r.Add(decision(g+1, types, 500))
		r.List()
	}
	if n := len(r.List()); n < 2 || n > 4 {
		t.Errorf("keeps %d decisions of %d bytes in %d", n, size, 3*size)
	}
	tiny := record.NewRing(100, 10, slog.New(slog.DiscardHandler))
	tiny.Add(decision(1, types, 5))
	if n := len(tiny.List()); n != 0 {
		t.Errorf("keeps %d decisions in 10 bytes", n)
	}
}

func TestWhatIsSaidAgainTakesThePlaceOfWhatWasSaid(t *testing.T) {
	r := record.NewRing(4, 1<<20, slog.New(slog.DiscardHandler))
	r.Add(decision(1, scenario.GenerateTypes(5, 1), 3))
	for g := uint64(2); g < 8; g++ {
		d := decision(g, nil, 3)
		d.Claims = nil
		r.Add(d)
		r.List()
	}
	list := r.List()
	if len(list) != 2 || list[0].Generation != 7 || list[0].Repeated != 5 || list[0].Unplaced != 3 || list[1].NewNodes == 0 {
		t.Errorf("kept %+v", list)
	}
}

func TestARingOfNothingKeepsNothing(t *testing.T) {
	r := record.NewRing(0, 1<<20, nil)
	r.Add(decision(1, nil, 1))
	if n := len(r.List()); n != 0 {
		t.Errorf("keeps %d", n)
	}
	if _, ok := r.File(record.Latest); ok {
		t.Error("has a file")
	}
}

func TestDecisionsAreServedToThisHostOnly(t *testing.T) {
	r := record.NewRing(3, 1<<20, slog.New(slog.DiscardHandler))
	d := decision(1, scenario.GenerateTypes(5, 1), 3)
	d.Problem.Pending[0].Name = "secret-name"
	d.Plan = pack.Solve(d.Problem)
	r.Add(d)
	h := record.Handler(r)
	get := func(path, from string) *httptest.ResponseRecorder {
		req := httptest.NewRequest(http.MethodGet, path, nil)
		req.RemoteAddr, req.Host = from, "localhost:8080"
		req = req.WithContext(context.WithValue(req.Context(), http.LocalAddrContextKey, &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 8080}))
		w := httptest.NewRecorder()
		h.ServeHTTP(w, req)
		return w
	}
	for name, tc := range map[string]struct {
		path, from string
		code       int
		want       string
	}{
		"the list":                    {"/debug/decisions", "127.0.0.1:4000", 200, `"id": "1"`},
		"the list, with a slash":      {"/debug/decisions/", "[::1]:4000", 200, `"id": "1"`},
		"a file":                      {"/debug/decisions/1", "127.0.0.1:4000", 200, "kerf-decision 1 test\n"},
		"a file by its name":          {"/debug/decisions/1.kerf", "127.0.0.1:4000", 200, "kerf-decision 1 test\n"},
		"the latest":                  {"/debug/decisions/latest", "127.0.0.1:4000", 200, "kerf-decision 1 test\n"},
		"hashed":                      {"/debug/decisions/latest?names=hashed", "127.0.0.1:4000", 200, "kerf-decision 1 test\n"},
		"hashed in another way":       {"/debug/decisions/latest?names=md5", "127.0.0.1:4000", 400, "want hashed"},
		"one that is not there":       {"/debug/decisions/7", "127.0.0.1:4000", 404, "/debug/decisions lists"},
		"from another host":           {"/debug/decisions", "10.0.0.7:4000", 403, "kubectl port-forward"},
		"a file, from another host":   {"/debug/decisions/latest", "[2001:db8::1]:4000", 403, "kubectl port-forward"},
		"from an address of nonsense": {"/debug/decisions", "here", 403, "kubectl port-forward"},
	} {
		t.Run(name, func(t *testing.T) {
			w := get(tc.path, tc.from)
			if w.Code != tc.code || !strings.Contains(w.Body.String(), tc.want) {
				t.Errorf("%d %.200q, want %d with %q", w.Code, w.Body.String(), tc.code, tc.want)
			}
		})
	}
	plain, err := record.Read(get("/debug/decisions/1", "127.0.0.1:1").Body)
	if err != nil || plain.Problem.Pending[0].Name != "secret-name" {
		t.Errorf("read back: %v", err)
	}
	hashed, err := record.Read(get("/debug/decisions/1?names=hashed", "127.0.0.1:1").Body)
	if err != nil || strings.Contains(asJSON(t, hashed.Problem), "secret-name") || strings.Contains(asJSON(t, hashed.Plan), "secret-name") {
		t.Errorf("the name is still there: %v", err)
	}
}

// TestHashedDecisionsAreTheSameDecisions hashes the names of every story, solves again, and compares with the hashed plan.
func TestHashedDecisionsAreTheSameDecisions(t *testing.T) {
	stories(t, func(name string, p *pack.Problem) {
		t.Run(name, func(t *testing.T) {
			d := &record.Decision{Kerf: "v1", Problem: p, Plan: pack.Solve(p)}
			before := asJSON(t, d.Problem)
			hashed := record.HashNames(d)
			if asJSON(t, d.Problem) != before {
				t.Fatal("hashing changed the original")
			}
			if again := pack.Solve(hashed.Problem); !record.SamePlan(again, hashed.Plan) {
				t.Errorf("solved to another plan:\n%s\nwant:\n%s", asJSON(t, again), asJSON(t, hashed.Plan))
			}
			if hashed.Plan.Price != d.Plan.Price {
				t.Errorf("price %d, want %d", hashed.Plan.Price, d.Plan.Price)
			}
			text := asJSON(t, hashed.Problem)
			for _, pod := range p.Pending {
				if strings.Contains(text, `"`+pod.Name+`"`) {
					t.Errorf("pod name %s is still there", pod.Name)
				}
			}
			var file bytes.Buffer
			if err := record.Write(&file, hashed); err != nil {
				t.Fatal(err)
			}
		})
	})
}

func TestNamesAreHashedWhereverTheyStand(t *testing.T) {
	class := &cluster.Class{Namespace: "shop", Labels: map[string]string{"statefulset.kubernetes.io/pod-name": "db-0"}, Unplaceable: `persistentvolumeclaim "data-db-0" does not exist; create it`}
	class.Selector = scenarioTerms("kubernetes.io/hostname", "ip-10-0-0-1")
	class.Shared = []cluster.SharedVolume{{Driver: "efs", Volume: "pv-secret"}}
	class.AntiAffinity = []cluster.PodAffinity{{Key: "zone", Namespaces: []string{"shop", "bank"}}}
	d := &record.Decision{
		Problem: &pack.Problem{
			Pending: []*cluster.Pod{{PodRef: cluster.PodRef{Namespace: "shop", Name: "db-0", UID: "u-1"}, Class: class}},
			Nodes: []*cluster.Node{{Name: "ip-10-0-0-1", Hostname: "ip-10-0-0-1", Claim: "default-x", ProviderID: "aws:///a/i-1", Labels: map[string]string{"kubernetes.io/hostname": "ip-10-0-0-1"},
				Pods: []*cluster.Pod{{PodRef: cluster.PodRef{Namespace: "bank", Name: "till-1", UID: "u-2"}, Class: class, Node: "ip-10-0-0-1"}}}},
			Daemons: []cluster.Daemon{{Name: "shop/logs", Class: &cluster.Class{Namespace: "shop"}}},
		},
		Plan: &plan.Plan{
			Placements: []plan.Placement{{Node: "ip-10-0-0-1", Pods: []cluster.PodRef{{Namespace: "shop", Name: "db-0", UID: "u-1"}}}},
			Unplaced: []plan.Unplaced{{ClassID: class.Hash(), Pods: []cluster.PodRef{{Namespace: "shop", Name: "db-0", UID: "u-1"}}, Reasons: []plan.Reason{
				{Code: plan.NodesFull, Nearest: "ip-10-0-0-1"}, {Code: plan.Unplaceable, Detail: class.Unplaceable},
				{Code: plan.LabelMismatch, Key: "kubernetes.io/hostname", Want: "kubernetes.io/hostname In ip-10-0-0-1"}}}},
		},
		Claims: []record.Claim{}, Dropped: []string{"resources: ip-10-0-0-1: too much"}, Disruption: &disrupt.Decision{Kept: []disrupt.Kept{{Node: "ip-10-0-0-1"}}},
	}
	out := record.HashNames(d)
	text := asJSON(t, out)
	for _, name := range []string{"shop", "bank", "db-0", "till", "ip-10", "default-x", "i-1", "u-1", "u-2", "logs", "secret", class.Hash()} {
		if strings.Contains(text, name) {
			t.Errorf("%s is still there: %s", name, text)
		}
	}
	if got, want := out.Plan.Placements[0].Node, out.Problem.Nodes[0].Name; got != want || out.Problem.Pending[0].Class.Selector[0].Values[0] != want {
		t.Errorf("node is %s here and %s there", got, want)
	}
	if got, want := out.Plan.Unplaced[0].Reasons[1].Detail, out.Problem.Pending[0].Class.Unplaceable; got != want || !strings.Contains(got, "does not exist") {
		t.Errorf("reason %q, class %q", got, want)
	}
	if asJSON(t, out.Problem.Pending[0].PodRef) != asJSON(t, out.Plan.Unplaced[0].Pods[0]) {
		t.Error("the pod has two names")
	}
}

// TestTheRingKeepsWhatIsAskedAbout: pods that come and find room, a second apart, push no launch out.
func TestTheRingKeepsWhatIsAskedAbout(t *testing.T) {
	types := scenario.GenerateTypes(10, 1)
	r := record.NewRing(4, 1<<30, slog.New(slog.DiscardHandler))
	launch := func(generation uint64) { r.Add(decision(generation, types, 5)); r.List() }
	waits := func(generation uint64, pod string) {
		d := decision(generation, types, 5)
		d.Plan = &plan.Plan{Unplaced: []plan.Unplaced{{Pods: []cluster.PodRef{{Namespace: "default", Name: pod}}}}}
		d.Claims = nil
		r.Add(d)
		r.List()
	}
	room := func(generation uint64, pod string) {
		d := decision(generation, types, 5)
		d.Plan = &plan.Plan{Placements: []plan.Placement{{Node: "n", Pods: []cluster.PodRef{{Namespace: "default", Name: pod}}}}}
		d.Claims = nil
		r.Add(d)
		r.List()
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
