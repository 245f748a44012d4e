package access_test

import (
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/client-go/rest"

	"github.com/kerf-sh/kerf/internal/controller/access"
	"github.com/kerf-sh/kerf/internal/sim/kubesim"
)

// api is an API server that knows the tokens of two people, of whom one may read decisions.
type api struct {
	*kubesim.Server
	url     string
	refuse  atomic.Int32  // answers everything with this code; 0 answers
	lawless atomic.Bool   // everybody may read
	hold    chan struct{} // if set, questions wait until it is closed
	came    chan struct{} // if set, gets one for each question that waits
}

func newAPI(t *testing.T) *api {
	t.Helper()
	a := &api{}
	var err error
	a.Server, err = kubesim.New(kubesim.Options{
		Tokens: map[string]authenticationv1.UserInfo{"tok-viewer": {Username: "ann", UID: "7", Groups: []string{"readers"}, Extra: map[string]authenticationv1.ExtraValue{"from": {"here"}}}, "tok-other": {Username: "bob"}},
		Allow: func(s *authorizationv1.SubjectAccessReviewSpec) bool {
			at := s.NonResourceAttributes
			return at != nil && at.Verb == "get" && strings.HasPrefix(at.Path, "/debug/decisions") &&
				(a.lawless.Load() || s.User == "ann" && s.UID == "7" && slices.Contains(s.Groups, "readers") && slices.Equal(s.Extra["from"], []string{"here"}))
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if code := int(a.refuse.Load()); code != 0 {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(code)
			fmt.Fprintf(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":%q,"code":%d,"message":"User \"kerf\" cannot create resource"}`,
				map[int]string{403: "Forbidden", 500: "InternalError"}[code], code)
			return
		}
		if a.came != nil {
			a.came <- struct{}{}
		}
		if a.hold != nil {
			<-a.hold
		}
		a.ServeHTTP(w, r)
	}))
	t.Cleanup(web.Close)
	a.url = web.URL
	return a
}

// questions is how often the API server was asked.
func (a *api) questions() int {
	n := a.Requests()
	return n["create tokenreviews"] + n["create subjectaccessreviews"]
}

// guarded is a page behind a gate, with a clock that the test moves.
func guarded(t *testing.T, url string) (page http.Handler, clock *atomic.Int64) {
	t.Helper()
	clock = &atomic.Int64{}
	g, err := access.New(&rest.Config{Host: url}, access.Options{
		Namespace: "kerf", Log: slog.New(slog.DiscardHandler), Now: func() time.Time { return time.Unix(1_800_000_000, 0).Add(time.Duration(clock.Load())) },
	})
	if err != nil {
		t.Fatal(err)
	}
	return g.Guard(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "names of all pods") })), clock
}

func ask(page http.Handler, method, path string, header ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, path, nil)
	r.RemoteAddr, r.Host = "127.0.0.1:40000", "127.0.0.1:8080" // where a request comes from counts for nothing
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	page.ServeHTTP(w, r)
	return w
}

func TestWhoMayRead(t *testing.T) {
	const path = "/debug/decisions/latest"
	for name, tc := range map[string]struct {
		method, path string
		header       []string
		refuse       int32
		code         int
		wants        []string
		asked        int // questions to the API server
	}{
		"a user with the right":              {"GET", path, []string{"Authorization", "Bearer tok-viewer"}, 0, 200, []string{"names of all pods"}, 2},
		"the same, in another spelling":      {"GET", path, []string{"Authorization", "bearer  tok-viewer "}, 0, 200, []string{"names of all pods"}, 2},
		"only the head":                      {"HEAD", path, []string{"Authorization", "Bearer tok-viewer"}, 0, 200, nil, 2},
		"a user without the right":           {"GET", path, []string{"Authorization", "Bearer tok-other"}, 0, 403, []string{`user "bob" may not get ` + path, "--clusterrole=kerf-viewer --user=bob"}, 2},
		"another page than the right is for": {"GET", "/debug/shadow", []string{"Authorization", "Bearer tok-viewer"}, 0, 403, []string{`user "ann" may not get /debug/shadow`}, 2},
		"nobody's token":                     {"GET", path, []string{"Authorization", "Bearer made-up"}, 0, 401, []string{"invalid bearer token", "kubectl create token kerf-viewer -n kerf"}, 1},
		"a token that is none":               {"GET", path, []string{"Authorization", "Bearer " + strings.Repeat("x", 17<<10)}, 0, 401, []string{"more than any token"}, 0},
		"no token, from this host":           {"GET", path, nil, 0, 401, []string{`right "get" on this nonResourceURL`, "ClusterRole kerf-viewer", "kubectl create token kerf-viewer -n kerf", "http://127.0.0.1:8080" + path}, 0},
		"a sidecar, from this host":          {"GET", path, []string{"X-Forwarded-Client-Cert", "By=spiffe://cluster.local/ns/x", "X-Envoy-External-Address", "10.0.0.7"}, 0, 401, []string{"wants a token"}, 0},
		"a password":                         {"GET", path, []string{"Authorization", "Basic dG9rLXZpZXdlcg=="}, 0, 401, []string{"wants a token"}, 0},
		"an empty token":                     {"GET", path, []string{"Authorization", "Bearer "}, 0, 401, []string{"wants a token"}, 0},
		"somebody who would write":           {"POST", path, []string{"Authorization", "Bearer tok-viewer"}, 0, 405, []string{"read only"}, 0},
		"the API server fails":               {"GET", path, []string{"Authorization", "Bearer tok-viewer"}, 500, 503, []string{"could not be found out", "Try again"}, 0},
		"the controller may not ask":         {"GET", path, []string{"Authorization", "Bearer tok-viewer"}, 403, 503, []string{"lacks the right to create tokenreviews.authentication.k8s.io", "kerf manifests"}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			a := newAPI(t)
			a.refuse.Store(tc.refuse)
			page, _ := guarded(t, a.url)
			w := ask(page, tc.method, tc.path, tc.header...)
			if w.Code != tc.code {
				t.Errorf("got %d, want %d", w.Code, tc.code)
			}
			for _, want := range tc.wants {
				if !strings.Contains(w.Body.String(), want) {
					t.Errorf("lacks %q", want)
				}
			}
			if got := a.questions(); got != tc.asked {
				t.Errorf("the API server was asked %d times, want %d", got, tc.asked)
			}
			if refused := w.Header().Get(access.Header) != ""; refused != (tc.code != 200) {
				t.Errorf("the header of refusals: %v", refused)
			}
			if (tc.code == 401) != (w.Header().Get("WWW-Authenticate") != "") {
				t.Errorf("WWW-Authenticate is %q", w.Header().Get("WWW-Authenticate"))
			}
			if tc.code != 200 && strings.Contains(w.Body.String(), "names of all pods") {
				t.Error("the page was served")
			}
			if t.Failed() {
				t.Log(w.Body)
			}
		})
	}
}

func TestNobodyReadsWhileTheAPIServerIsDown(t *testing.T) {
	web := httptest.NewServer(nil)
	web.Close()
	page, _ := guarded(t, web.URL)
	w := ask(page, "GET", "/debug/decisions", "Authorization", "Bearer tok-viewer")
	if w.Code != http.StatusServiceUnavailable || !strings.Contains(w.Body.String(), "could not be found out") || w.Header().Get("Retry-After") == "" {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

// TestNoMoreThanSomeWaitForTheAPIServer: as many as may ask wait for an API server that hangs; one more is told to come back.
func TestNoMoreThanSomeWaitForTheAPIServer(t *testing.T) {
	const most = 16
	a := newAPI(t)
	a.hold, a.came = make(chan struct{}), make(chan struct{}, most+1)
	release := sync.OnceFunc(func() { close(a.hold) })
	defer release()
	page, _ := guarded(t, a.url)
	var all sync.WaitGroup
	for i := range most {
		all.Go(func() { ask(page, "GET", "/debug/decisions", "Authorization", fmt.Sprintf("Bearer %d", i)) })
	}
	for range most {
		<-a.came
	}
	w := ask(page, "GET", "/debug/decisions", "Authorization", "Bearer one-more")
	if w.Code != http.StatusServiceUnavailable || !strings.Contains(w.Body.String(), "too many requests") {
		t.Errorf("one more is answered %d %s", w.Code, w.Body)
	}
	release()
	all.Wait()
}

// TestAnswersAreRememberedForAShortTime: a user's second page costs one question, the same page none; a refusal is forgotten
// after 5 seconds, a right after 30.
func TestAnswersAreRememberedForAShortTime(t *testing.T) {
	a := newAPI(t)
	page, clock := guarded(t, a.url)
	for _, step := range []struct {
		at          time.Duration
		path, token string
		lawless     bool
		code, asked int
	}{
		{0, "/debug/decisions", "tok-viewer", false, 200, 2},
		{time.Second, "/debug/decisions", "tok-viewer", false, 200, 2},
		{time.Second, "/debug/decisions/1", "tok-viewer", false, 200, 3},
		{time.Second, "/debug/decisions", "tok-other", false, 403, 5},
		{5 * time.Second, "/debug/decisions", "tok-other", true, 403, 5},
		{6 * time.Second, "/debug/decisions", "tok-other", true, 200, 6}, // who it is, is known for longer
		{6 * time.Second, "/debug/decisions", "made-up", false, 401, 7},
		{7 * time.Second, "/debug/decisions/1", "made-up", false, 401, 7},
		{11 * time.Second, "/debug/decisions", "made-up", false, 401, 8},
		{29 * time.Second, "/debug/decisions", "tok-viewer", false, 200, 8},
		{30 * time.Second, "/debug/decisions", "tok-viewer", false, 200, 10},
		{36 * time.Second, "/debug/decisions", "tok-other", false, 403, 12}, // taken away
	} {
		clock.Store(int64(step.at))
		a.lawless.Store(step.lawless)
		w := ask(page, "GET", step.path, "Authorization", "Bearer "+step.token)
		if w.Code != step.code || a.questions() != step.asked {
			t.Errorf("at %s, %s asks for %s: %d after %d questions, want %d after %d", step.at, step.token, step.path, w.Code, a.questions(), step.code, step.asked)
		}
	}
}

// TestRequestsThatComeAtOnceAreOneQuestion holds the API server until all have come.
func TestRequestsThatComeAtOnceAreOneQuestion(t *testing.T) {
	a := newAPI(t)
	a.hold = make(chan struct{})
	page, _ := guarded(t, a.url)
	const many = 50 // more than may ask at once
	var all sync.WaitGroup
	var allowed atomic.Int32
	for range many {
		all.Go(func() {
			if ask(page, "GET", "/debug/decisions", "Authorization", "Bearer tok-viewer").Code == http.StatusOK {
				allowed.Add(1)
			}
		})
	}
	close(a.hold)
	all.Wait()
	if allowed.Load() != many || a.questions() != 2 {
		t.Errorf("%d of %d are let in, by %d questions", allowed.Load(), many, a.questions())
	}
}
