package explain_test

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/kerf-sh/kerf/internal/controller/decisions"
	"github.com/kerf-sh/kerf/internal/engine/cluster"
	"github.com/kerf-sh/kerf/internal/engine/disrupt"
	"github.com/kerf-sh/kerf/internal/engine/explain"
	"github.com/kerf-sh/kerf/internal/engine/pack"
	"github.com/kerf-sh/kerf/internal/engine/record"
	"github.com/kerf-sh/kerf/internal/sim/scenario"
)

// story runs the commands of a scenario and returns the problem it comes to.
func story(t *testing.T, text string) *pack.Problem {
	t.Helper()
	steps, err := scenario.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	env := scenario.New()
	for _, s := range steps {
		if s.Head == "" {
			continue
		}
		if _, err := env.Run(s.Head, s.Input); err != nil {
			t.Fatal(err)
		}
	}
	return env.Problem
}

const shop = `
types
small cpu=2 memory=4Gi price=0.10
medium cpu=4 memory=8Gi price=0.19

pool default

node old cpu=2 memory=4Gi zone=a pool=default claim=default-old instance-type=small capacity-type=on-demand
pods busy count=2 cpu=1 memory=1Gi

node foreign cpu=1 memory=1Gi zone=a

pods web count=3 cpu=1 memory=1Gi

pods giant count=2 cpu=400 memory=1Gi

pods tiny cpu=500m memory=500Mi
select hostname In foreign
`

// source is a controller that recorded the shop.
func source(t *testing.T, d *disrupt.Decision) explain.Source {
	t.Helper()
	p := story(t, shop)
	for _, n := range p.Nodes {
		n.Labels["kubernetes.io/hostname"] = n.Name
	}
	out := pack.Solve(p)
	ring := decisions.NewRing(4, 1<<20, slog.New(slog.DiscardHandler))
	ring.Add(&record.Decision{Kerf: "test", Problem: p, Plan: out, Claims: []record.Claim{{NewNode: 0, Name: "default-new"}}})
	// A later decision, in which the new node is there.
	later := *p
	later.Generation = 2
	later.Nodes = append(later.Nodes, &cluster.Node{Name: "node-new", Claim: "default-new", InstanceType: "medium", Zone: "a", CapacityType: "on-demand", Price: 190_000, DoNotDisrupt: true,
		Pods: []*cluster.Pod{{PodRef: cluster.PodRef{Namespace: "default", Name: "web-1"}, Class: p.Pending[0].Class, Node: "node-new"}}})
	later.Pending = p.Pending[len(p.Pending)-1:]
	ring.Add(&record.Decision{Kerf: "test", Problem: &later, Plan: pack.Solve(&later), Disruption: d})
	server := httptest.NewServer(decisions.Handler(ring))
	t.Cleanup(server.Close)
	return decisions.Server{URL: server.URL}
}

func TestAnswers(t *testing.T) {
	src := source(t, nil)
	decided := source(t, &disrupt.Decision{
		Kept:  []disrupt.Kept{{Node: "node-new", Reasons: []disrupt.Reason{{Code: disrupt.DoNotDisrupt}}, Saves: 50_000}},
		Moves: []disrupt.Move{{Nodes: []string{"old"}, Saving: 100_000, Why: "its pods fit elsewhere", Wait: 12 * time.Minute, Stood: 200*time.Second + 3}},
	})
	pod := func(name string) func(explain.Source) (*explain.Answer, error) {
		return func(s explain.Source) (*explain.Answer, error) { return explain.Pod(t.Context(), s, "", name) }
	}
	node := func(name string) func(explain.Source) (*explain.Answer, error) {
		return func(s explain.Source) (*explain.Answer, error) { return explain.Node(t.Context(), s, name) }
	}
	claim := func(name string) func(explain.Source) (*explain.Answer, error) {
		return func(s explain.Source) (*explain.Answer, error) { return explain.NodeClaim(t.Context(), s, name) }
	}
	for name, tc := range map[string]struct {
		src   explain.Source
		ask   func(explain.Source) (*explain.Answer, error)
		found bool
		want  []string
	}{
		"a pod without a place": {src, pod("giant-1"), true, []string{"Pod default/giant-1 (decision ", "it has no place, like 1 other pod of its class",
			"pool default: asks for 400 cpu, daemons included; the largest of 2 types, medium, has 4", "cheapest single change: ask for at most 4 cpu, 396 less than now", "costs $0.1900/h", "2 of 2 pods found a place"}},
		"a pod that got an instance":              {src, pod("web-2"), true, []string{"new node of NodePool default", "NodeClaim default-new", "planned as medium", "without medium: 2 x small on-demand at $0.2000/h"}},
		"a pod that got room":                     {src, pod("tiny-1"), true, []string{"it goes to foreign, which has room for it"}},
		"a pod that runs":                         {src, pod("web-1"), true, []string{"it runs on node node-new\nit was to go to a new node of NodePool default, with 2 other pods: NodeClaim default-new", "planned as medium"}},
		"a pod nobody knows":                      {src, pod("stranger"), false, []string{"2 recorded decisions, from 2026-01-01T12:00:00Z on: none is about it"}},
		"an instance":                             {src, claim("default-new"), true, []string{"planned as medium", "without medium: 2 x small", "medium a on-demand $0.1900/h; 1 pod and 0 daemons on it", "computed now"}},
		"its node":                                {src, node("node-new"), true, []string{"planned as medium", "computed now", "kept: it is not initialized\nkept: its annotation asks not to disrupt it"}},
		"an instance launched earlier":            {src, claim("default-old"), true, []string{"the decision that launched it is not kept any more", "kerf.sh/why of NodeClaim default-old"}},
		"a node of others":                        {src, node("foreign"), true, []string{"Kerf did not launch it"}},
		"a node nobody knows":                     {src, node("nowhere"), false, []string{"none is about it"}},
		"why a node stays":                        {decided, node("node-new"), true, []string{"kept: its annotation asks not to disrupt it", "removing it would save $0.0500/h"}},
		"why a node goes":                         {decided, claim("default-old"), true, []string{"will be removed in 8m40s if that stays so until then (a small saving must last 12m0s first): its pods fit elsewhere; saves $0.1000/h"}},
		"a node that the decision does not know":  {decided, node("foreign"), true, []string{"does not mention it"}},
		"a pod by another namespace than its own": {src, func(s explain.Source) (*explain.Answer, error) { return explain.Pod(t.Context(), s, "other", "web-1") }, false, []string{"none is about it"}},
	} {
		t.Run(name, func(t *testing.T) {
			a, err := tc.ask(tc.src)
			if err != nil {
				t.Fatal(err)
			}
			if a.Found != tc.found {
				t.Errorf("found %v", a.Found)
			}
			for _, want := range tc.want {
				if !strings.Contains(a.String(), want) {
					t.Errorf("lacks %q:\n%s", want, a)
				}
			}
			if b, err := json.Marshal(a); err != nil || !json.Valid(b) {
				t.Errorf("as JSON: %v", err)
			}
		})
	}
}

func TestWhereDecisionsCanNotBeHad(t *testing.T) {
	serve := func(h http.HandlerFunc) string {
		s := httptest.NewServer(h)
		t.Cleanup(s.Close)
		return s.URL
	}
	closed := httptest.NewServer(nil)
	closed.Close()
	bad := filepath.Join(t.TempDir(), "bad.kerf")
	if err := os.WriteFile(bad, []byte("hello"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		src  explain.Source
		want string
	}{
		"nobody listens":   {decisions.Server{URL: closed.URL}, "kubectl -n kube-system port-forward pod/POD 8080"},
		"no such page":     {decisions.Server{URL: serve(http.NotFound)}, "--set settings.kerf.decisions=16"},
		"another host":     {decisions.Server{URL: serve(func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "this host only", http.StatusForbidden) })}, "403 Forbidden: this host only"},
		"something else":   {decisions.Server{URL: serve(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("<html>")) })}, "reading the answer"},
		"no URL":           {decisions.Server{URL: "8080"}, `--server="8080" is no URL`},
		"no such file":     {decisions.File("nothing.kerf"), "nothing.kerf"},
		"not such a file":  {decisions.File(bad), "no recorded decision"},
		"nothing recorded": {decisions.Server{URL: serve(decisions.Handler(decisions.NewRing(1, 1, slog.New(slog.DiscardHandler))).ServeHTTP)}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			a, err := explain.Pod(t.Context(), tc.src, "", "web-1")
			switch {
			case tc.want == "" && (err != nil || a.Found || !strings.Contains(a.String(), "no decision is recorded yet")):
				t.Errorf("got %v, %v", a, err)
			case tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)):
				t.Errorf("got %v, want %q", err, tc.want)
			}
		})
	}
}

func TestPreferencesThatWereNotHonouredAreTold(t *testing.T) {
	p := story(t, `
types
small cpu=2 memory=4Gi price=0.10
medium cpu=4 memory=8Gi price=0.19

pool default

pods web count=4 cpu=1 memory=1Gi
spread hostname soft
`)
	ring := decisions.NewRing(1, 1<<20, slog.New(slog.DiscardHandler))
	ring.Add(&record.Decision{Kerf: "test", Problem: p, Plan: pack.Solve(p)})
	server := httptest.NewServer(decisions.Handler(ring))
	defer server.Close()
	a, err := explain.Pod(t.Context(), decisions.Server{URL: server.URL}, "", "web-3")
	if err != nil {
		t.Fatal(err)
	}
	if len(a.Declined) != 1 || !strings.Contains(a.String(), "a preference was not honoured: 4 pods such as default/web-1") || !strings.Contains(a.String(), "honouring it would cost") {
		t.Errorf("told %v:\n%s", a.Declined, a)
	}
}

func TestAFileAnswersToo(t *testing.T) {
	p := story(t, shop)
	name := filepath.Join(t.TempDir(), "shop.kerf")
	var b bytes.Buffer
	if err := record.Write(&b, &record.Decision{Kerf: "test", Problem: p, Plan: pack.Solve(p)}); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	a, err := explain.Pod(t.Context(), decisions.File(name), "default", "giant-2")
	if err != nil || a.Unplaced == nil || a.Unplaced.Best == nil {
		t.Fatalf("got %v, %v", a, err)
	}
	n, err := explain.Node(t.Context(), decisions.File(name), "old")
	if err != nil || !strings.Contains(n.String(), "computed now") {
		t.Errorf("got %v, %v", n, err)
	}
}

// TestNodesAreTakenAsTheyAreNow: a controller knows more of a node than its decisions, which are of the past.
func TestNodesAreTakenAsTheyAreNow(t *testing.T) {
	pods := []*cluster.Pod{{PodRef: cluster.PodRef{Namespace: "default", Name: "web-1"}, Node: "node-new"}, {PodRef: cluster.PodRef{Namespace: "default", Name: "web-2"}, Node: "node-new"}}
	nodes := map[string]record.Now{
		"node-new":    {Node: &cluster.Node{Name: "node-new", Claim: "default-new", InstanceType: "medium", Launched: true, Registered: true, Initialized: true, Pods: pods}},
		"node-old":    {Node: &cluster.Node{Name: "node-old", Claim: "default-drift", Launched: true, Registered: true, Initialized: true}, Why: "it replaces default-before, which drifted", Launched: "spot m7g.large in us-east-1a for $0.0400/h, planned at $0.0390/h"},
		"default-way": {Node: &cluster.Node{Name: "default-way", Claim: "default-way", Launched: true}},
		"node-leaves": {Node: &cluster.Node{Name: "node-leaves", Claim: "default-leaves", Launched: true, Registered: true, Initialized: true, Deleting: true}, Stalled: "pod default/api can't be evicted: its PodDisruptionBudget api allows no disruption now"},
		"node-drifts": {Node: &cluster.Node{Name: "node-drifts", Claim: "default-drifts", Launched: true, Registered: true, Initialized: true}, Drifted: &record.Drift{Reason: "NodePoolDrifted", Message: "labels"}},
		"node-waits":  {Node: &cluster.Node{Name: "node-waits", Claim: "default-waits", Launched: true, Registered: true, Initialized: true}, Drifted: &record.Drift{Reason: "AMIDrift", Held: "the disruption budget is used up"}},
		"refused":     {Node: &cluster.Node{Name: "refused", Claim: "refused", Pods: []*cluster.Pod{{PodRef: cluster.PodRef{Namespace: "default", Name: "web-3"}}}}, Refused: "creating a fleet: missing permission ec2:CreateFleet"},
	}
	ring := decisions.NewRing(4, 1<<20, slog.New(slog.DiscardHandler))
	p := story(t, shop)
	ring.Add(&record.Decision{Kerf: "test", Problem: p, Plan: pack.Solve(p), Claims: []record.Claim{{NewNode: 0, Name: "default-new"}}})
	kept := func(node string, code disrupt.Code) disrupt.Kept {
		return disrupt.Kept{Node: node, Reasons: []disrupt.Reason{{Code: code}}}
	}
	ring.SetDisruption(&disrupt.Decision{Kept: []disrupt.Kept{kept("node-drifts", disrupt.NotInitialized), kept("node-old", disrupt.DoNotDisrupt), kept("node-waits", disrupt.NotInitialized)}})
	server := httptest.NewServer(decisions.Handler(ring))
	defer server.Close()
	src := decisions.Server{URL: server.URL}

	if a, err := explain.Node(t.Context(), src, "node-new"); err != nil || a.Found || strings.Contains(a.String(), "there any more") {
		t.Errorf("a controller that does not know its nodes yet: %v, %v", a, err)
	}
	ring.SetNodes(func(name string) (record.Now, bool) { now, ok := nodes[name]; return now, ok })
	for name, tc := range map[string]struct {
		found       bool
		want, lacks []string
	}{
		"node-new":    {true, []string{"2 pods and 0 daemons on it", "planned as medium", "does not mention it; the next one will"}, []string{"not kept any more"}},
		"node-old":    {true, []string{"launched: spot m7g.large in us-east-1a for $0.0400/h, planned at $0.0390/h", "why it was launched, as its NodeClaim says: it replaces default-before, which drifted", "kept: its annotation asks not to disrupt it"}, []string{"not kept any more"}},
		"default-way": {true, []string{"its instance is launched; the node has not joined yet"}, []string{"kept:", "mention"}},
		"refused":     {true, []string{"\nroom is kept for 1 pod\n", "its instance is not launched yet: creating a fleet: missing permission ec2:CreateFleet"}, []string{"\n;", "on it"}},
		"node-leaves": {true, []string{"it is being removed: pod default/api can't be evicted: its PodDisruptionBudget api allows no disruption now"}, []string{"kept:", "mention"}},
		"node-drifts": {true, []string{"it drifted (NodePoolDrifted: labels): it is replaced when its turn comes\nkept by consolidation: it is not initialized"}, []string{"\nkept:"}},
		"node-waits":  {true, []string{"it drifted (AMIDrift): it is to be replaced, and that is held up: the disruption budget is used up\nkept by consolidation: "}, []string{"\nkept:"}},
		"nowhere":     {false, []string{"the controller knows no Node of this name", "1 recorded decision, from 2026-01-01T12:00:00Z on: none is about it"}, []string{"kept", "stays"}},
	} {
		t.Run(name, func(t *testing.T) {
			a, err := explain.Node(t.Context(), src, name)
			if err != nil {
				t.Fatal(err)
			}
			says(t, a, tc.found, tc.want, tc.lacks)
		})
	}
}

// TestANodeIsNotTakenForAnEarlierOneOfItsName: names follow the IP address, which AWS gives again.
func TestANodeIsNotTakenForAnEarlierOneOfItsName(t *testing.T) {
	const name = "ip-10-0-1-7"
	p := story(t, shop)
	ring := decisions.NewRing(4, 1<<20, slog.New(slog.DiscardHandler))
	ring.Add(&record.Decision{Kerf: "test", Problem: p, Plan: pack.Solve(p), Claims: []record.Claim{{NewNode: 0, Name: "default-first"}}})
	later := *p
	later.Generation = 2
	later.Nodes = append(later.Nodes, &cluster.Node{Name: name, Claim: "default-first", InstanceType: "medium", Zone: "a", CapacityType: "on-demand", Price: 190_000})
	later.Pending = p.Pending[len(p.Pending)-1:]
	ring.Add(&record.Decision{Kerf: "test", Problem: &later, Plan: pack.Solve(&later)})
	server := httptest.NewServer(decisions.Handler(ring))
	defer server.Close()
	for what, tc := range map[string]struct {
		claim       string
		launch      bool
		want, lacks []string
	}{
		"the same":          {"default-first", true, []string{"(decision ", "planned as medium", "computed now"}, nil},
		"one of others":     {"", false, []string{"c5.xlarge; ", "Kerf did not launch it"}, []string{"(decision ", "computed now"}},
		"another of Kerf's": {"default-second", false, []string{"c5.xlarge; ", "kerf.sh/why of NodeClaim default-second", "has not been decided"}, []string{"(decision ", "computed now"}},
	} {
		t.Run(what, func(t *testing.T) {
			now := record.Now{Node: &cluster.Node{Name: name, Claim: tc.claim, InstanceType: "c5.xlarge", Launched: true, Registered: true, Initialized: true}}
			ring.SetNodes(func(string) (record.Now, bool) { return now, true })
			a, err := explain.Node(t.Context(), decisions.Server{URL: server.URL}, name)
			if err != nil {
				t.Fatal(err)
			}
			if (a.Launch != nil) != tc.launch {
				t.Errorf("launch: %+v", a.Launch)
			}
			says(t, a, true, tc.want, tc.lacks)
		})
	}
}

// TestAPodWithRoomKeptDoesNotRun: a later decision knows the room that an earlier one gave it, on a NodeClaim that EC2 has refused since.
func TestAPodWithRoomKeptDoesNotRun(t *testing.T) {
	p := story(t, shop)
	ring := decisions.NewRing(4, 1<<20, slog.New(slog.DiscardHandler))
	ring.Add(&record.Decision{Kerf: "test", Problem: p, Plan: pack.Solve(p), Claims: []record.Claim{{NewNode: 0, Name: "default-new"}}})
	later := *p
	later.Generation = 2
	web := p.Pending[0]
	later.Nodes = append(later.Nodes, &cluster.Node{Name: "default-new", Claim: "default-new", Pods: []*cluster.Pod{web}})
	later.Pending = p.Pending[len(p.Pending)-1:]
	ring.Add(&record.Decision{Kerf: "test", Problem: &later, Plan: pack.Solve(&later)})
	nodes := map[string]record.Now{"default-new": {Node: &cluster.Node{Name: "default-new", Claim: "default-new"}, Refused: "no permission"}}
	ring.SetNodes(func(name string) (record.Now, bool) { now, ok := nodes[name]; return now, ok })
	server := httptest.NewServer(decisions.Handler(ring))
	defer server.Close()
	for _, want := range []string{"the instance of default-new is not launched yet: no permission", "default-new is not there any more: EC2 refused it, or it was deleted"} {
		a, err := explain.Pod(t.Context(), decisions.Server{URL: server.URL}, web.Namespace, web.Name)
		if err != nil {
			t.Fatal(err)
		}
		if text := a.String(); strings.Contains(text, "it runs on") || !strings.Contains(text, "NodeClaim default-new") || !strings.Contains(text, want) {
			t.Errorf("lacks %q:\n%s", want, text)
		}
		delete(nodes, "default-new")
	}
}

// says tells where an answer differs from what it should find and say.
func says(t *testing.T, a *explain.Answer, found bool, wants, lacks []string) {
	t.Helper()
	if a.Found != found {
		t.Errorf("found %v", a.Found)
	}
	for _, want := range wants {
		if !strings.Contains(a.String(), want) {
			t.Errorf("lacks %q:\n%s", want, a)
		}
	}
	for _, lack := range lacks {
		if strings.Contains(a.String(), lack) {
			t.Errorf("says %q:\n%s", lack, a)
		}
	}
}
