package snapshot_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"k8s.io/client-go/rest"

	"github.com/kerf-sh/kerf/internal/setup/snapshot"
	"github.com/kerf-sh/kerf/internal/sim/kubesim"
)

// server is an API server; answer, if it does, answers before it.
func server(t *testing.T, answer func(http.ResponseWriter, *http.Request) bool) *rest.Config {
	t.Helper()
	sim, err := kubesim.New(kubesim.Options{})
	if err != nil {
		t.Fatal(err)
	}
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet {
			t.Errorf("%s %s: an audit reads only", r.Method, r.URL)
		}
		if !answer(w, r) {
			sim.ServeHTTP(w, r)
		}
	}))
	t.Cleanup(web.Close)
	return &rest.Config{Host: web.URL}
}

func refuse(w http.ResponseWriter, code int, reason string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	fmt.Fprintf(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":%q,"message":"no: %s","code":%d}`, reason, reason, code)
}

// pages answers lists of pods with one pod a page; the token of the second page is not valid any more the first time.
func pages(asked *[]string) func(http.ResponseWriter, *http.Request) bool {
	expired := false
	return func(w http.ResponseWriter, r *http.Request) bool {
		if r.URL.Path != "/api/v1/pods" {
			return false
		}
		limit, token := r.URL.Query().Get("limit"), r.URL.Query().Get("continue")
		*asked = append(*asked, limit+"/"+token)
		if token == "2" && !expired {
			expired = true
			refuse(w, http.StatusGone, "Expired")
			return true
		}
		w.Header().Set("Content-Type", "application/json")
		pod := func(n string) string { return `{"metadata":{"name":"p` + n + `","namespace":"x"}}` }
		switch {
		case limit == "":
			fmt.Fprintf(w, `{"kind":"PodList","apiVersion":"v1","items":[%s,%s,%s]}`, pod("1"), pod("2"), pod("3"))
		case token == "":
			fmt.Fprintf(w, `{"kind":"PodList","apiVersion":"v1","metadata":{"continue":"2"},"items":[%s]}`, pod("1"))
		}
		return true
	}
}

func TestListsAreReadInPagesAndBegunAnewWhenAPageIsGone(t *testing.T) {
	var asked []string
	s, err := snapshot.Collect(t.Context(), server(t, pages(&asked)), taken, nil)
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(asked, " "); got != "500/ 500/2 /" {
		t.Errorf("asked for %q, want two pages, and then all", got)
	}
	if len(s.Pods) != 3 || s.Pods[2].Name != "p3" || s.Missing("pods") || !s.TakenAt.Equal(taken) || s.KubernetesVersion == "" {
		t.Errorf("%d pods, taken at %s of Kubernetes %q", len(s.Pods), s.TakenAt, s.KubernetesVersion)
	}
}

func TestWhatMayNotBeListedIsAGap(t *testing.T) {
	s, err := snapshot.Collect(t.Context(), server(t, func(w http.ResponseWriter, r *http.Request) bool {
		switch r.URL.Path {
		case "/api/v1/nodes":
			refuse(w, http.StatusForbidden, "Forbidden")
		case "/apis/apps/v1/daemonsets":
			refuse(w, http.StatusInternalServerError, "InternalError")
		default:
			return false
		}
		return true
	}), taken, nil)
	if err != nil {
		t.Fatal(err)
	}
	if !s.Missing("nodes") || !s.Missing("daemonsets") || s.Missing("pods") || s.Missing("nodepools") {
		t.Errorf("gaps: %+v", s.Gaps)
	}
	for _, g := range s.Gaps {
		if g.Kind == "nodepools" && !g.Absent || g.Kind == "nodes" && g.Why != "you may not list them" {
			t.Errorf("%+v", g)
		}
	}
}

func TestWhoIsNotKnownAndWhoGivesUpGetAnError(t *testing.T) {
	unknown := server(t, func(w http.ResponseWriter, _ *http.Request) bool {
		refuse(w, http.StatusUnauthorized, "Unauthorized")
		return true
	})
	if _, err := snapshot.Collect(t.Context(), unknown, taken, nil); err == nil || !strings.Contains(err.Error(), "does not know you") {
		t.Errorf("%v", err)
	}
	if _, err := snapshot.Collect(t.Context(), &rest.Config{Host: "http://127.0.0.1:1"}, taken, nil); err == nil || !strings.Contains(err.Error(), "127.0.0.1:1") {
		t.Errorf("%v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	giving := server(t, func(_ http.ResponseWriter, r *http.Request) bool {
		if strings.HasPrefix(r.URL.Path, "/api/v1/") {
			cancel()
		}
		return false
	})
	if _, err := snapshot.Collect(ctx, giving, taken, nil); err == nil {
		t.Error("who gives up gets half a snapshot")
	}
}
