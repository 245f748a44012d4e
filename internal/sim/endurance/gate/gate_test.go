package gate

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kerf-sh/kerf/internal/sim/endurance/invariant"
)

func request(t *testing.T, method, url, body string, header ...string) *http.Request {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	return r
}

func TestRead(t *testing.T) {
	form := []string{"Content-Type", "application/x-www-form-urlencoded; charset=utf-8"}
	for name, tc := range map[string]struct {
		read           func(*http.Request, []byte) invariant.Call
		method, target string
		body           string
		header         []string
		want           invariant.Call
		writes         bool
	}{
		"an eviction": {readKubernetes, "POST", "/api/v1/namespaces/a/pods/p/eviction", "{}", nil, invariant.Call{API: "kubernetes", Verb: "evict", Resource: "pods", Key: "a/p"}, true},
		"a deletion":  {readKubernetes, "DELETE", "/apis/karpenter.sh/v1/nodeclaims/c", "", nil, invariant.Call{API: "kubernetes", Verb: "delete", Resource: "nodeclaims", Key: "c"}, true},
		"a status":    {readKubernetes, "PATCH", "/apis/karpenter.sh/v1/nodeclaims/c/status", "{}", nil, invariant.Call{API: "kubernetes", Verb: "patch", Resource: "nodeclaims/status", Key: "c"}, true},
		"a creation": {
			readKubernetes, "POST", "/apis/karpenter.sh/v1/nodeclaims", `{"metadata":{"name":"c"}}`, nil, invariant.Call{API: "kubernetes", Verb: "create", Resource: "nodeclaims", Key: "c"}, true,
		},
		"a dry creation":    {readKubernetes, "POST", "/api/v1/nodes?dryRun=All", "{}", nil, invariant.Call{API: "kubernetes", Verb: "create", Resource: "nodes", Dry: true}, true},
		"an event":          {readKubernetes, "POST", "/api/v1/namespaces/a/events", "binary", nil, invariant.Call{API: "kubernetes", Verb: "create", Resource: "events"}, false},
		"a lease":           {readKubernetes, "PUT", "/apis/coordination.k8s.io/v1/namespaces/a/leases/l", "{}", nil, invariant.Call{API: "kubernetes", Verb: "update", Resource: "leases", Key: "a/l"}, false},
		"a list":            {readKubernetes, "GET", "/api/v1/pods", "", nil, invariant.Call{API: "kubernetes", Verb: "list", Resource: "pods"}, false},
		"a watch":           {readKubernetes, "GET", "/api/v1/pods?watch=true", "", nil, invariant.Call{API: "kubernetes", Verb: "watch", Resource: "pods"}, false},
		"a namespace":       {readKubernetes, "GET", "/api/v1/namespaces/kube-system", "", nil, invariant.Call{API: "kubernetes", Verb: "get", Resource: "namespaces", Key: "kube-system"}, false},
		"what there is":     {readKubernetes, "GET", "/apis", "", nil, invariant.Call{API: "kubernetes", Verb: "get", Resource: "discovery"}, false},
		"an end":            {readAWS, "POST", "/", "Action=TerminateInstances&InstanceId.1=i-1", form, invariant.Call{API: "aws", Verb: "TerminateInstances", Instances: []string{"i-1"}}, true},
		"a question of EC2": {readAWS, "POST", "/", "Action=DescribeInstances", form, invariant.Call{API: "aws", Verb: "DescribeInstances"}, false},
		"a dry fleet":       {readAWS, "POST", "/", "Action=CreateFleet&DryRun=true", form, invariant.Call{API: "aws", Verb: "CreateFleet", Dry: true}, false},
		"a target":          {readAWS, "POST", "/", "{}", []string{"X-Amz-Target", "AmazonSQS.DeleteMessage"}, invariant.Call{API: "aws", Verb: "DeleteMessage"}, true},
		"a path":            {readAWS, "GET", "/clusters/kerf", "", nil, invariant.Call{API: "aws", Verb: "Get/clusters/kerf"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			got := tc.read(request(t, tc.method, "http://api.example"+tc.target, tc.body, tc.header...), []byte(tc.body))
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Error(diff)
			}
			if w := Writes(&got); w != tc.writes {
				t.Errorf("writes: %v, want %v", w, tc.writes)
			}
		})
	}
}

// server counts what reaches an API.
func server(t *testing.T) (url string, reached *atomic.Int32) {
	t.Helper()
	reached = &atomic.Int32{}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Get("watch") == "true" {
			fmt.Fprintln(w, "first")
			w.(http.Flusher).Flush()
			<-r.Context().Done()
			return
		}
		body, _ := io.ReadAll(r.Body)
		reached.Add(1)
		fmt.Fprintf(w, "%s", body)
	}))
	t.Cleanup(s.Close)
	return s.URL, reached
}

func send(t *testing.T, w http.RoundTripper, method, url string) (string, error) {
	t.Helper()
	resp, err := w.RoundTrip(request(t, method, url, "text"))
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	return fmt.Sprint(resp.StatusCode, " ", string(text)), err
}

func TestTheControllerIsEndedAtItsCall(t *testing.T) {
	for _, tc := range []struct {
		moment  Moment
		reached int32
		seen    int
	}{{Before, 1, 1}, {After, 2, 2}} {
		t.Run(string(tc.moment), func(t *testing.T) {
			url, reached := server(t)
			kills, seen := 0, 0
			var g *Gate
			g = New(Options{KillAt: 2, Moment: tc.moment, See: func(invariant.Call) { seen++ }, Kill: func() {
				kills++
				if g.Calls()[1].Key != "b" {
					t.Errorf("ended at %v", g.Calls())
				}
			}})
			life := g.Begin()
			way := life.Kubernetes(http.DefaultTransport)
			if got, err := send(t, way, "PUT", url+"/api/v1/nodes/a"); got != "200 text" || err != nil {
				t.Errorf("the call before: %q, %v", got, err)
			}
			if got, err := send(t, way, "GET", url+"/api/v1/nodes/a"); err != nil {
				t.Errorf("a question: %q, %v", got, err)
			}
			reached.Add(-1)
			if got, err := send(t, way, "PUT", url+"/api/v1/nodes/b"); err == nil {
				t.Errorf("the call itself was answered: %q", got)
			}
			if got, err := send(t, way, "PUT", url+"/api/v1/nodes/c"); err == nil {
				t.Errorf("a call of the dead was answered: %q", got)
			}
			if n := reached.Load(); n != tc.reached || kills != 1 || seen != tc.seen || !g.Killed() {
				t.Errorf("%d calls reached the API, want %d; %d kills; %d seen, want %d", n, tc.reached, kills, seen, tc.seen)
			}
			second := g.Begin()
			if got, err := send(t, second.Kubernetes(http.DefaultTransport), "PUT", url+"/api/v1/nodes/d"); got != "200 text" || err != nil {
				t.Errorf("the next life: %q, %v", got, err)
			}
			if c := g.Calls(); c[len(c)-1].Number != 3 || c[len(c)-1].Life != 2 {
				t.Errorf("calls %v", c)
			}
		})
	}
}

func TestTheControllerIsEndedAgainAndAgain(t *testing.T) {
	url, _ := server(t)
	var g *Gate
	var at []int
	g = New(Options{KillAt: 3, Kills: 2, Moment: After, Counts: NodeWrites, Kill: func() { at = append(at, len(g.Calls())) }})
	for range 12 { // of two writes each that count
		way := g.Begin().Kubernetes(http.DefaultTransport)
		for _, path := range []string{"/api/v1/nodes/a", "/api/v1/namespaces/b/pods/c", "/apis/karpenter.sh/v1/nodeclaims/d"} {
			_, _ = send(t, way, "DELETE", url+path) // some are answered
		}
	}
	if diff := cmp.Diff([]int{3, 6}, at); diff != "" || len(g.Calls()) < 20 {
		t.Errorf("ended at these of %d calls: %s", len(g.Calls()), diff)
	}
}

func TestWatchesEnd(t *testing.T) {
	for name, end := range map[string]func(*Gate){
		"with their life": (*Gate).End,
		"by a fault":      func(g *Gate) { g.Add(Fault{Kind: WatchesEnd}) },
	} {
		t.Run(name, func(t *testing.T) {
			url, _ := server(t)
			g := New(Options{})
			resp, err := g.Begin().Kubernetes(http.DefaultTransport).RoundTrip(request(t, "GET", url+"/api/v1/pods?watch=true", ""))
			if err != nil {
				t.Fatal(err)
			}
			if _, err := io.ReadFull(resp.Body, make([]byte, len("first\n"))); err != nil {
				t.Fatal(err)
			}
			end(g)
			if _, err := resp.Body.Read(make([]byte, 1)); err == nil {
				t.Error("the watch goes on")
			}
		})
	}
}

func TestFaults(t *testing.T) {
	for name, tc := range map[string]struct {
		fault   Fault
		want    string // of the first call; empty: no answer
		second  string
		reached int32
	}{
		"throttling":          {Fault{Kind: Throttled, Count: 1}, "429 ", "200 text", 1},
		"an error":            {Fault{Kind: Failing, Resource: "nodes"}, "500 ", "500 ", 0},
		"another's fault":     {Fault{Kind: Failing, Resource: "pods"}, "200 text", "200 text", 2},
		"a conflict":          {Fault{Kind: Conflict, Count: 1}, "409 ", "200 text", 1},
		"a cut":               {Fault{Kind: Cut, Count: 1}, "", "200 text", 1},
		"a lost reply":        {Fault{Kind: LostReply, Count: 1}, "", "200 text", 2},
		"every second":        {Fault{Kind: Failing, Every: 2}, "200 text", "500 ", 1},
		"an AWS fault":        {Fault{Kind: Failing, API: "aws"}, "200 text", "200 text", 2},
		"a slow call":         {Fault{Kind: Slow, Delay: 1}, "200 text", "200 text", 2},
		"a verb that matches": {Fault{Kind: Failing, Verb: "up*"}, "500 ", "500 ", 0},
	} {
		t.Run(name, func(t *testing.T) {
			url, reached := server(t)
			g := New(Options{})
			remove := g.Add(tc.fault)
			way := g.Begin().Kubernetes(http.DefaultTransport)
			for i, want := range []string{tc.want, tc.second} {
				got, err := send(t, way, "PUT", url+"/api/v1/nodes/a")
				if (err != nil) != (want == "") || !strings.HasPrefix(got, want) {
					t.Errorf("call %d: %q, %v, want %q", i+1, got, err, want)
				}
			}
			if n := reached.Load(); n != tc.reached {
				t.Errorf("%d calls reached the API, want %d", n, tc.reached)
			}
			remove()
			if got, err := send(t, way, "PUT", url+"/api/v1/nodes/a"); got != "200 text" {
				t.Errorf("after the fault: %q, %v", got, err)
			}
		})
	}
}

func TestRefusalsOfAWSComeInTheProtocolOfTheRequest(t *testing.T) {
	g := New(Options{})
	g.Add(Fault{Kind: Throttled})
	way := g.Begin().AWS(http.DefaultTransport)
	for kind, want := range map[string]string{"application/x-www-form-urlencoded": "<Code>RequestLimitExceeded</Code>", "application/x-amz-json-1.1": `"__type":"RequestLimitExceeded"`} {
		resp, err := way.RoundTrip(request(t, "POST", "http://aws.example/", "Action=CreateFleet", "Content-Type", kind))
		if err != nil {
			t.Fatal(err)
		}
		text, _ := io.ReadAll(resp.Body)
		if !strings.Contains(string(text), want) {
			t.Errorf("%s: %s", kind, text)
		}
	}
}

func TestDoor(t *testing.T) {
	host := ""
	api := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { host = r.Host }))
	defer api.Close()
	to, err := url.Parse(api.URL)
	if err != nil {
		t.Fatal(err)
	}
	g := New(Options{})
	door := AWSDoor(to, http.DefaultTransport)
	front := httptest.NewServer(door)
	defer front.Close()
	if resp, err := http.Get(front.URL); err == nil {
		resp.Body.Close()
		t.Error("a door that was never opened lets calls pass")
	}
	door.Open(g.Begin())
	resp, err := http.Get(front.URL)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if host == to.Host || host == "" {
		t.Errorf("the API was called %q", host)
	}
	g.End()
	if resp, err := http.Get(front.URL); err == nil {
		resp.Body.Close()
		t.Error("a call of the dead was answered")
	}
}
