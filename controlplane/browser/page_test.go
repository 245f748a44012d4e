//go:build browser

package browser

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/kerf-sh/kerf/internal/controller/decisions"
	"github.com/kerf-sh/kerf/internal/controller/overview"
)

// stand serves the page over a document that tests change; none is a controller that does not answer.
type stand struct {
	mu  sync.Mutex
	doc *overview.Document
}

func (s *stand) set(d *overview.Document) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.doc = d
}

func (s *stand) open(t *testing.T) *Browser {
	page := http.NewServeMux()
	page.Handle("/", http.FileServer(http.Dir("../../internal/web/page")))
	page.HandleFunc("/api/", func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		defer s.mu.Unlock()
		switch {
		case s.doc == nil:
			http.Error(w, `{"error": "connection refused"}`, http.StatusBadGateway)
		case r.URL.Path == "/api/overview":
			s.doc.At = time.Now()
			_ = json.NewEncoder(w).Encode(s.doc)
		case r.URL.Path == "/api/floor":
			_ = json.NewEncoder(w).Encode(map[string]any{"points": []int{}})
		default:
			_, _ = w.Write([]byte("{}"))
		}
	})
	server := httptest.NewServer(page)
	t.Cleanup(server.Close)
	b := open(t)
	must(t, b.Look(View{Width: 1440, Height: 900}))
	must(t, b.Go(server.URL))
	return b
}

// shop is a cluster of two nodes, between which a pod is being moved.
func shop() *overview.Document {
	node := func(name string, used int64, expected int) *overview.Node {
		return &overview.Node{
			Name: name, Claim: "claim-" + name, Pool: "default", InstanceType: "m7g.large", Zone: "us-east-1a", CapacityType: "spot", State: overview.Ready, Created: time.Now().Add(-time.Hour), Price: 40_000,
			CPU: overview.Amount{Has: 2000, Used: 1000}, Memory: overview.Amount{Has: 8 << 30, Used: 1 << 30}, Pods: overview.Amount{Has: 29, Used: used}, Expected: expected,
		}
	}
	return &overview.Document{
		Kerf: "test", Cluster: "shop", Full: true, Version: "1.1.1.1", Since: time.Now().Add(-time.Hour), Nodes: []*overview.Node{node("a", 3, 0), node("b", 2, 1)}, Bill: overview.Bill{Running: 80_000, Spot: 2},
		Problems: []overview.Problem{}, Waiting: []overview.Waiting{}, Blocked: []overview.Blocked{}, Moves: []overview.Move{}, Closures: []overview.Closure{}, Services: []overview.Service{}, Events: []overview.Event{}, Decisions: []decisions.Summary{},
	}
}

// TestPage is about what the page shows of a document: what is not known, and what is old, does not look as if all were well.
func TestPage(t *testing.T) {
	s := &stand{}
	s.set(shop())
	b := s.open(t)
	says := func(id, text string) {
		t.Helper()
		must(t, b.Await(20*time.Second, fmt.Sprintf(`document.getElementById(%q).innerText.includes(%q)`, id, text)))
	}
	says("health", "all well")
	says("f-pods", "4") // the one that is being moved counts once
	says("f-cost", "$0.080")

	starts := shop()
	starts.Bill = overview.Bill{Unpriced: 2, Spot: 2}
	starts.Problems = []overview.Problem{{Code: overview.JustStarted, Level: overview.Warn, Title: "Kerf has just started", Remedy: "none"}}
	starts.Waiting = []overview.Waiting{{Pod: "shop/a", Count: 21, Since: time.Now()}}
	for _, n := range starts.Nodes {
		n.Price = 0
	}
	s.set(starts)
	says("health", "just started, 21 pods wait")
	says("f-cost", "…")
	says("s-savings", "not known yet")
	if title := eval[string](t, b, `document.title`); strings.Contains(title, "$0") {
		t.Errorf("the title is %q", title)
	}

	s.set(shop())
	says("health", "all well")
	if words := eval[string](t, b, `document.querySelector('#chart svg').getAttribute('aria-label')`); !strings.Contains(words, "Cost $0.0800/h at the beginning, $0.0800/h now") {
		t.Errorf("the chart says %q", words)
	}
	if low := eval[int](t, b, `(() => { const y = document.querySelector('#chart path.cost').getAttribute('d').match(/V[0-9.]+/g) || []; return new Set(y).size; })()`); low > 1 {
		t.Error("the cost falls in the chart while it is not known")
	}

	found := shop()
	found.Moves = []overview.Move{{Cause: "Underutilized", Nodes: []string{"a"}, Why: "room elsewhere", Begins: time.Now().Add(5 * time.Minute), Waits: "a saving this small must last 5m28s first"}}
	found.Joining = &overview.Unjoined{Node: "c", Count: 2, Since: time.Now().Add(-80 * time.Second), Usual: 13}
	found.Waiting = []overview.Waiting{{Pod: "shop/a", Count: 19, Node: "c", Nodes: 2, Since: time.Now()}}
	s.set(found)
	says("s-moves", "found, begins in 4:")
	says("s-moves", "a saving this small must last 5m28s first")
	says("s-waiting", "room is kept on c and 1 more; 2 instances have not joined for")
	says("health", "19 pods on the way for")
	says("health", "(usually 13 s)")

	s.set(nil)
	says("health", "no data for")
	says("fresh", "Nothing new for")
	if text := eval[string](t, b, `document.body.innerText`); strings.Contains(text, "NaN") {
		t.Errorf("the page says NaN:\n%s", text)
	}
	s.set(shop())
	says("health", "all well")
}
