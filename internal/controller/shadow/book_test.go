package shadow_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/kerf-sh/kerf/internal/controller/shadow"
	"github.com/kerf-sh/kerf/internal/engine/catalog"
	"github.com/kerf-sh/kerf/internal/engine/cluster"
	"github.com/kerf-sh/kerf/internal/engine/disrupt"
	"github.com/kerf-sh/kerf/internal/engine/pack"
	"github.com/kerf-sh/kerf/internal/engine/plan"
)

var noon = time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)

func node(name, pool string, price catalog.MicroUSD) *cluster.Node {
	return &cluster.Node{Name: name, Claim: "claim-" + name, Pool: pool, Price: price, CapacityType: catalog.OnDemand}
}

func launched(pool string, price catalog.MicroUSD, pods ...string) plan.NewNode {
	n := plan.NewNode{Pool: pool, Price: price, Types: []plan.TypeChoice{{Name: "m5.large", Price: price, Zone: "a", CapacityType: catalog.OnDemand}}}
	for _, p := range pods {
		n.Pods = append(n.Pods, cluster.PodRef{Namespace: "ns", Name: p, UID: "uid-" + p})
	}
	return n
}

func round(after time.Duration, nodes []*cluster.Node, p *plan.Plan, d *disrupt.Decision) *shadow.Round {
	return &shadow.Round{At: noon.Add(after), Cluster: &pack.Problem{Nodes: nodes}, Plan: p, Disruption: d}
}

func TestTheBillIsComparedPoolByPool(t *testing.T) {
	going := node("d", "b", 500_000)
	going.Deleting = true
	other := node("x", "", 900_000)
	other.Claim = "" // of somebody else
	nodes := []*cluster.Node{node("a", "a", 200_000), node("b", "a", 300_000), node("c", "b", 400_000), going, other, node("e", "b", 0)}
	b := shadow.NewBook(noon)
	b.Enter(round(0, nodes, &plan.Plan{NewNodes: []plan.NewNode{launched("b", 70_000, "p")}}, &disrupt.Decision{Moves: []disrupt.Move{
		{Cause: disrupt.Underutilized, Nodes: []string{"a", "b"}, NewNodes: []plan.NewNode{launched("a", 250_000)}, Saving: 250_000},
		{Cause: disrupt.Empty, Nodes: []string{"c"}, Saving: 400_000},
	}}))
	s := b.Summary()
	want := []shadow.Pool{
		{Name: "a", Nodes: 2, Running: 500_000, Saved: 500_000, Launched: 250_000, Kerf: 250_000},
		{Name: "b", Nodes: 2, Running: 400_000, Saved: 400_000, Launched: 70_000, Kerf: 70_000},
	}
	if len(s.Pools) != 2 || s.Pools[0] != want[0] || s.Pools[1] != want[1] {
		t.Errorf("pools %+v", s.Pools)
	}
	if s.Total != (shadow.Pool{Name: "all", Nodes: 4, Running: 900_000, Saved: 900_000, Launched: 320_000, Kerf: 320_000}) || s.Unpriced != 1 {
		t.Errorf("total %+v, %d without a price", s.Total, s.Unpriced)
	}
}

// AWS charges in yuan in China.
func TestAmountsAreInTheCurrencyOfTheRegion(t *testing.T) {
	r := round(0, []*cluster.Node{node("a", "a", 200_000)}, &plan.Plan{NewNodes: []plan.NewNode{launched("a", 70_000, "p")}}, &disrupt.Decision{Moves: []disrupt.Move{{Cause: disrupt.Empty, Nodes: []string{"a"}, Saving: 200_000}}})
	r.Cluster.Options.Currency = "CNY"
	b := shadow.NewBook(noon)
	b.Enter(r)
	s := b.Summary()
	text := s.String()
	for _, want := range []string{" ¥0.2000 ", "-¥0.1300", "costs ¥0.0700/h", "saves ¥0.2000/h", "cost +¥0.0000 more"} {
		if !strings.Contains(text, want) || strings.Contains(text, "$") {
			t.Errorf("without %q:\n%s", want, text)
		}
	}
}

// What is not carried out is found again each time. It must neither be counted again nor change what is decided next.
func TestAWishIsCountedOnceAsLongAsItStays(t *testing.T) {
	nodes := []*cluster.Node{node("a", "a", 200_000)}
	launch := &plan.Plan{NewNodes: []plan.NewNode{launched("a", 70_000, "p")}}
	empty := &disrupt.Decision{Moves: []disrupt.Move{{Cause: disrupt.Empty, Nodes: []string{"a"}, Saving: 200_000}}}
	b := shadow.NewBook(noon)
	fresh := 0
	for i := range 100 {
		fresh += len(b.Enter(round(time.Duration(i)*10*time.Second, nodes, launch, empty)))
	}
	if s := b.Summary(); fresh != 2 || len(s.Counts) != 2 || s.Counts[0].N != 1 || s.Counts[1].N != 1 || s.Rounds != 100 || s.Total.Kerf != 70_000 {
		t.Errorf("%d intents, summary %+v", fresh, s)
	}
	// The pod has company now: it is the same instance that it waits for. Another pod alone is another preference.
	more := &plan.Plan{NewNodes: []plan.NewNode{launched("a", 90_000, "p", "q")}}
	if got := b.Enter(round(1000*time.Second, nodes, more, nil)); len(got) != 0 {
		t.Errorf("company made an intent of its own: %+v", got)
	}
	if got := b.Enter(round(1010*time.Second, nodes, &plan.Plan{NewNodes: []plan.NewNode{launched("a", 70_000, "z")}}, nil)); len(got) != 1 {
		t.Errorf("another pod: %+v", got)
	}
	// Long after, the same preference is news again.
	if got := b.Enter(round(3*time.Hour, nodes, nil, empty)); len(got) != 1 || got[0].What != "delete" || got[0].Saving != 200_000 {
		t.Errorf("after a long time: %+v", got)
	}
}

func TestWhatWasMissedIsSummedOverTime(t *testing.T) {
	nodes := []*cluster.Node{node("a", "a", 200_000)}
	empty := &disrupt.Decision{Moves: []disrupt.Move{{Cause: disrupt.Empty, Nodes: []string{"a"}, Saving: 200_000}}}
	b := shadow.NewBook(noon.Add(-time.Hour)) // before the first decision nothing is known
	b.Enter(round(0, nodes, nil, empty))
	b.Enter(round(30*time.Minute, nodes, nil, empty))
	b.Enter(round(time.Hour, nil, nil, nil)) // the node is gone
	b.Enter(round(5*time.Hour, nil, nil, nil))
	if s := b.Summary(); s.Missed != 200_000 {
		t.Errorf("missed %d micro-USD, want one hour at 200000", s.Missed)
	}
}

func TestTheSummaryIsServed(t *testing.T) {
	b := shadow.NewBook(noon)
	b.Enter(round(time.Minute, []*cluster.Node{node("a", "web", 200_000)}, nil, &disrupt.Decision{Moves: []disrupt.Move{{Cause: disrupt.Empty, Nodes: []string{"a"}, Saving: 200_000, Why: "no pods need it"}}}))
	h := shadow.Handler(b.Summary)
	ask := func(query string) (int, string) {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, shadow.Path+query, nil))
		return w.Code, w.Body.String()
	}
	code, text := ask("")
	for _, want := range []string{"nothing was changed", "web", "$0.2", "-$0.2", "delete (Empty) in NodePool web: 1 times", "no pods need it"} {
		if code != http.StatusOK || !strings.Contains(text, want) {
			t.Errorf("%d, no %q in\n%s", code, want, text)
		}
	}
	if code, text := ask("?format=json"); code != http.StatusOK || !strings.Contains(text, `"kerf": 0`) {
		t.Errorf("%d\n%s", code, text)
	}
	if code, _ := ask("?format=xml"); code != http.StatusBadRequest {
		t.Errorf("another format: %d", code)
	}
}
