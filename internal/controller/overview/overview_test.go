package overview_test

import (
	"cmp"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	controller "github.com/kerf-sh/kerf/internal/controller/disrupt"
	"github.com/kerf-sh/kerf/internal/controller/overview"
	"github.com/kerf-sh/kerf/internal/engine/catalog"
	"github.com/kerf-sh/kerf/internal/engine/cluster"
	"github.com/kerf-sh/kerf/internal/engine/disrupt"
	"github.com/kerf-sh/kerf/internal/engine/pack"
	"github.com/kerf-sh/kerf/internal/engine/plan"
	"github.com/kerf-sh/kerf/internal/engine/res"
)

var start = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// world is a cluster that tests change by hand.
type world struct {
	now      time.Time
	snapshot *cluster.Snapshot
	pools    []*cluster.Pool
	decision *disrupt.Decision
	underWay []controller.Command

	currency    catalog.Currency
	interrupted func(*cluster.Snapshot) []overview.Interruption
	asked       int // how often the pools were read
}

func (w *world) overview() *overview.Overview {
	return overview.New(overview.Sources{
		Kerf: "test", Cluster: "shop",
		Snapshot: func() *cluster.Snapshot { return w.snapshot },
		Pools:    func(context.Context, *cluster.Snapshot) []*cluster.Pool { w.asked++; return w.pools },
		Problem: func(_ context.Context, s *cluster.Snapshot) *pack.Problem {
			return &pack.Problem{Now: w.now, Nodes: s.Nodes, Pending: s.Pending, Pools: w.pools}
		},
		Decision: func() *disrupt.Decision { return w.decision },
		Currency: func() catalog.Currency { return cmp.Or(w.currency, "USD") },
		UnderWay: func() []controller.Command { return w.underWay }, Interrupted: w.interrupted,
		Now: func() time.Time { return w.now },
	})
}

func (w *world) later(d time.Duration) { w.now = w.now.Add(d) }

func class(name string, cpu int64) *cluster.Class {
	c := &cluster.Class{Namespace: "shop", Labels: map[string]string{"app": name}, Requests: res.List{res.CPU: cpu, res.Memory: cpu << 20, res.Pods: 1}}
	c.ID = c.Hash()
	return c
}

func pod(c *cluster.Class, name, node string) *cluster.Pod {
	return &cluster.Pod{PodRef: cluster.PodRef{Namespace: c.Namespace, Name: name, UID: name}, Class: c, Node: node, CreatedAt: start}
}

func node(name string, price catalog.MicroUSD, pods ...*cluster.Pod) *cluster.Node {
	n := &cluster.Node{
		Name: name, Claim: "claim-" + name, Pool: "default", InstanceType: "m7g.large", Zone: "us-east-1a", CapacityType: catalog.Spot, Price: price, Pods: pods,
		Allocatable: res.List{res.CPU: 4000, res.Memory: 8 << 30, res.Pods: 50}, Used: res.List{}, CreatedAt: start, Launched: true, Registered: true, Initialized: true, Ready: true,
	}
	for _, p := range pods {
		n.Used.Add(p.Class.Requests)
	}
	return n
}

// TestChangesAddUpToTheWhole reads with one client from the beginning and with a new one after each of many random changes: both
// must know the same.
func TestChangesAddUpToTheWhole(t *testing.T) {
	seed := rand.Uint64()
	r := rand.New(rand.NewPCG(seed, 1))
	t.Logf("seed %d", seed)
	w := &world{now: start, snapshot: &cluster.Snapshot{}, pools: []*cluster.Pool{{Name: "batch"}, {Name: "default", Limits: res.List{res.CPU: 1 << 20, res.Nodes: 100}}}}
	o := w.overview()
	server := httptest.NewServer(overview.Handler(o))
	defer server.Close()
	steady := &overview.Client{URL: server.URL}
	nodes := map[string]*cluster.Node{}
	for step := range 200 {
		for range r.IntN(4) {
			name := fmt.Sprintf("n%d", r.IntN(12))
			if nodes[name] != nil && r.IntN(3) == 0 {
				delete(nodes, name)
				continue
			}
			var pods []*cluster.Pod
			for i := range r.IntN(4) {
				pods = append(pods, pod(class(fmt.Sprintf("app%d", r.IntN(30)), int64(100+r.IntN(3))), fmt.Sprintf("p%d-%d", step, i), name))
			}
			nodes[name] = node(name, catalog.MicroUSD(1+r.IntN(100)), pods...)
			nodes[name].Pool = []string{"default", "batch", "gone"}[r.IntN(3)]
			nodes[name].Deleting = r.IntN(4) == 0
			nodes[name].CapacityType = []string{catalog.Spot, catalog.OnDemand, catalog.Reserved}[r.IntN(3)]
			nodes[name].Capacity = res.List{res.CPU: int64(r.IntN(8000)), res.Memory: int64(r.IntN(1 << 30))}
		}
		w.snapshot = &cluster.Snapshot{Generation: uint64(step)}
		w.decision = &disrupt.Decision{}
		for _, n := range nodes {
			w.snapshot.Nodes = append(w.snapshot.Nodes, n)
			if r.IntN(2) == 0 {
				w.decision.Kept = append(w.decision.Kept, disrupt.Kept{Node: n.Name, Reasons: []disrupt.Reason{{Code: disrupt.NotCheaper}}})
			}
		}
		slices.SortFunc(w.snapshot.Nodes, func(a, b *cluster.Node) int { return strings.Compare(a.Name, b.Name) })
		if r.IntN(3) == 0 {
			o.Heard(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1"}}, "Normal", "Tested", fmt.Sprint(step))
		}
		w.later(time.Second)
		if r.IntN(4) == 0 {
			continue // the reader misses this one
		}
		got, err := steady.Read(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		fresh := &overview.Client{URL: server.URL}
		want, err := fresh.Read(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if len(got.Nodes) != len(w.snapshot.Nodes) {
			t.Fatalf("step %d: %d nodes, want %d", step, len(got.Nodes), len(w.snapshot.Nodes))
		}
		if g, f := asJSON(t, got), asJSON(t, want); g != f {
			t.Fatalf("step %d: what adds up\n%s\nis not what is\n%s", step, g, f)
		}
		anew := w.overview().Document(t.Context(), "") // it has seen nothing of what was before
		if g, f := asJSON(t, []any{got.Bill, got.Pools}), asJSON(t, []any{anew.Bill, anew.Pools}); g != f {
			t.Fatalf("step %d: the sums that were kept up\n%s\nare not those of the nodes\n%s", step, g, f)
		}
	}
}

func asJSON(t *testing.T, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestAReaderWhoKnowsEverythingIsToldNothing(t *testing.T) {
	c := class("web", 500)
	w := &world{now: start, snapshot: &cluster.Snapshot{Nodes: []*cluster.Node{node("a", 10, pod(c, "web-1", "a")), node("b", 20)}}}
	o := w.overview()
	first := o.Document(t.Context(), "")
	if !first.Full || len(first.Nodes) != 2 || len(first.Classes) != 1 {
		t.Fatalf("the first answer: %s", asJSON(t, first))
	}
	w.later(time.Second)
	second := o.Document(t.Context(), first.Version)
	if second.Full || len(second.Nodes)+len(second.Gone) != 0 {
		t.Errorf("nothing has changed, and it is told of %s", asJSON(t, second))
	}
	if w.asked != 1 {
		t.Errorf("for a cluster that is the same the pools were read %d times, want once", w.asked)
	}
	w.later(time.Minute)
	w.snapshot = &cluster.Snapshot{Nodes: []*cluster.Node{w.snapshot.Nodes[0]}}
	third := o.Document(t.Context(), second.Version)
	if !reflect.DeepEqual(third.Gone, []string{"b"}) || len(third.Nodes) != 0 {
		t.Errorf("b has gone, and it is told of %s", asJSON(t, third))
	}
	for _, version := range []string{"", "1.2.3", "nonsense", "1.1.1.1", first.Version + "1"} {
		if d := o.Document(t.Context(), version); version != first.Version+"1" && !d.Full {
			t.Errorf("since=%q is answered by changes only", version)
		}
	}
}

func TestWhatIsShown(t *testing.T) {
	web, api := class("web", 500), class("api", 250)
	full, spare, coming := node("full", 100, pod(web, "web-1", "full")), node("spare", 50), node("coming", 70, pod(api, "api-1", ""))
	coming.Registered, coming.Initialized, coming.Ready = false, false, false
	foreign := node("foreign", 0)
	foreign.Claim, foreign.Pool = "", ""
	stuck := class("stuck", 9000)
	w := &world{now: start.Add(time.Minute), snapshot: &cluster.Snapshot{
		Nodes: []*cluster.Node{coming, foreign, full, spare}, Pending: []*cluster.Pod{pod(stuck, "stuck-1", ""), pod(stuck, "stuck-2", "")},
	}}
	w.decision = &disrupt.Decision{
		Before: 150, After: 120, Spare: 20,
		Kept:  []disrupt.Kept{{Node: "full", Saves: 3000, Reasons: []disrupt.Reason{{Code: disrupt.DisruptionBudget, Pod: "shop/web-1"}}}},
		Moves: []disrupt.Move{{Cause: disrupt.Empty, Nodes: []string{"spare"}, Saving: 50, Why: "it is empty"}},
	}
	o := w.overview()
	o.Planned(&plan.Plan{Unplaced: []plan.Unplaced{{ClassID: stuck.ID, Reasons: []plan.Reason{{Code: plan.NoPools}}}}})
	d := o.Document(t.Context(), "")
	if d.Bill.Running != 220 || d.Bill.Planned != 120 || d.Bill.Worth != 100 || d.Bill.Spot != 3 {
		t.Errorf("the bill is %+v", d.Bill)
	}
	states := map[string]overview.State{}
	for _, n := range d.Nodes {
		states[n.Name] = n.State
	}
	if want := map[string]overview.State{"coming": overview.Joining, "foreign": overview.Ready, "full": overview.Ready, "spare": overview.Ready}; !reflect.DeepEqual(states, want) {
		t.Errorf("states %v, want %v", states, want)
	}
	if len(d.Waiting) != 2 {
		t.Fatalf("waiting: %s", asJSON(t, d.Waiting))
	}
	for _, l := range d.Waiting {
		switch {
		case l.Node == "" && (l.Count != 2 || l.Why == "" || l.Pod != "shop/stuck-1"):
			t.Errorf("pods without a place: %+v", l)
		case l.Node != "" && (l.Count != 1 || l.Node != "coming"):
			t.Errorf("pods whose node is on its way: %+v", l)
		}
	}
	if len(d.Blocked) != 1 || d.Blocked[0].By != "shop/web-1" || d.Blocked[0].Saves != 3000 || d.Blocked[0].Count != 1 {
		t.Errorf("blocked: %+v", d.Blocked)
	}
	if len(d.Moves) != 1 || d.Moves[0].Begun {
		t.Errorf("moves that are found: %+v", d.Moves)
	}
	w.underWay = []controller.Command{{Cause: "Empty", Nodes: []controller.Going{{Node: "spare"}}, Why: "it is empty"}}
	w.later(time.Second)
	if d = o.Document(t.Context(), ""); len(d.Moves) != 1 || !d.Moves[0].Begun {
		t.Errorf("a move that has begun is shown as %+v", d.Moves)
	}
}

func TestAnOlderControllerIsNamed(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	defer server.Close()
	c := &overview.Client{URL: server.URL}
	if _, err := c.Read(t.Context()); err == nil || !strings.Contains(err.Error(), overview.ErrNotServed.Error()) {
		t.Errorf("reading from a controller that serves none: %v", err)
	}
}

func TestWorkloadsAreNamed(t *testing.T) {
	for name, want := range map[string]string{
		"web-7d9f8b6c5d-x2k9p": "web", "db-0": "db", "batch-2xkvj": "batch", "single": "single", "a-b-c": "a-b-c", "migrate-28491234-zk4pd": "migrate",
	} {
		c := class("", 1)
		c.Labels = nil
		w := &world{now: start, snapshot: &cluster.Snapshot{Nodes: []*cluster.Node{node("n", 1, pod(c, name, "n"))}}}
		if d := w.overview().Document(t.Context(), ""); d.Classes[0].Name != want {
			t.Errorf("pod %s is said to be part of %q, want %q", name, d.Classes[0].Name, want)
		}
	}
}

func TestWhatBecomesOfThePodsOfAnInterruptedNode(t *testing.T) {
	web := class("web", 500)
	leaving := node("a", 10, pod(web, "web-1", "a"), pod(web, "web-2", "a"))
	leaving.Deleting = true
	w := &world{now: start, decision: &disrupt.Decision{}, snapshot: &cluster.Snapshot{Nodes: []*cluster.Node{leaving, node("b", 20)}}}
	room := overview.RoomComing
	w.interrupted = func(s *cluster.Snapshot) (out []overview.Interruption) {
		for _, n := range s.Nodes {
			if n.Name == "a" {
				out = append(out, overview.Interruption{Node: "a", Claim: n.Claim, Kind: overview.SpotTaken, Until: start.Add(2 * time.Minute), Room: room})
			}
		}
		return out
	}
	o := w.overview()
	d := o.Document(t.Context(), "")
	if len(d.Interruptions) != 1 || d.Interruptions[0].Pods != 2 {
		t.Fatalf("interruptions: %s", asJSON(t, d.Interruptions))
	}
	if len(d.Problems) != 1 || d.Problems[0].Code != overview.TakenBack || !d.Problems[0].Until.Equal(start.Add(2*time.Minute)) || !strings.Contains(d.Problems[0].Text, "a: 2 pods still on it; the node that replaces it is on its way") {
		t.Errorf("problems: %s", asJSON(t, d.Problems))
	}
	if len(d.Moves) != 1 || d.Moves[0].Cause != "Interruption" || !slices.Equal(d.Moves[0].Nodes, []string{"a"}) {
		t.Errorf("moves: %s", asJSON(t, d.Moves))
	}
	w.snapshot = &cluster.Snapshot{Nodes: w.snapshot.Nodes[1:]}
	w.later(time.Second)
	if d = o.Document(t.Context(), ""); len(d.Interruptions)+len(d.Problems)+len(d.Moves) != 0 {
		t.Errorf("the node is gone, and there are %s", asJSON(t, d))
	}
}

// A class that can't be read any more tells of no prices.
func TestANodeKeepsTheLastPriceThatWasKnown(t *testing.T) {
	w := &world{now: start, snapshot: &cluster.Snapshot{Nodes: []*cluster.Node{node("a", 10)}}}
	o := w.overview()
	if d := o.Document(t.Context(), ""); d.Bill.Running != 10 {
		t.Fatalf("the bill is %+v", d.Bill)
	}
	w.snapshot = &cluster.Snapshot{Nodes: []*cluster.Node{node("a", 0)}}
	w.later(time.Minute)
	if d := o.Document(t.Context(), ""); d.Bill.Running != 10 || d.Bill.Unpriced != 0 || d.Nodes[0].Price != 10 {
		t.Errorf("the bill is %+v, the node costs %d", d.Bill, d.Nodes[0].Price)
	}
}

// TestReadersAreGivenTheSameBytes: what was made for one is not made again for others.
func TestReadersAreGivenTheSameBytes(t *testing.T) {
	w := &world{now: start, snapshot: &cluster.Snapshot{Nodes: []*cluster.Node{node("a", 10)}}}
	o := w.overview()
	server := httptest.NewServer(overview.Handler(o))
	defer server.Close()
	read := func(since, encoding string) (string, string) {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL+overview.Path+"?since="+since, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Accept-Encoding", encoding)
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = resp.Body.Close() }()
		var in io.Reader = resp.Body
		if resp.Header.Get("Content-Encoding") == "gzip" {
			if in, err = gzip.NewReader(in); err != nil {
				t.Fatal(err)
			}
		}
		text, err := io.ReadAll(in)
		if err != nil {
			t.Fatal(err)
		}
		d := overview.Document{}
		if err := json.Unmarshal(text, &d); err != nil {
			t.Fatal(err)
		}
		return strings.TrimSpace(string(text)), d.Version
	}
	w.currency, w.decision = "CNY", &disrupt.Decision{Kept: []disrupt.Kept{{Node: "a", Reasons: []disrupt.Reason{{Code: disrupt.NotCheaper, Want: "¥0.0010", Have: "¥0.0020"}}}}}
	whole, version := read("", "gzip")
	if !strings.Contains(whole, `"currency":"CNY"`) || !strings.Contains(whole, "¥0.0020") || strings.Contains(whole, "$") {
		t.Errorf("in China: %s", whole)
	}
	for _, encoding := range []string{"gzip", "identity", "gzip"} {
		if again, _ := read("", encoding); again != whole {
			t.Errorf("with the encoding %s the answer is\n%s\nand not\n%s", encoding, again, whole)
		}
	}
	o.Heard(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1"}}, "Normal", "Tested", "it is new")
	if same, _ := read("", "gzip"); same != whole {
		t.Errorf("within a second another answer is made: %s", same)
	}
	w.later(2 * time.Second)
	if news, _ := read(version, "gzip"); !strings.Contains(news, "it is new") || strings.Contains(news, `"name":"a"`) {
		t.Errorf("what is new is %s", news)
	}
}
