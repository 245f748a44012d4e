package kubelet

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/kerf-sh/kerf/internal/sim/memnet"
)

// tokens is an API server that gives out tokens, named for the second in which they were asked for.
type tokens struct {
	mu    sync.Mutex
	began time.Time
	asked []authenticationv1.TokenRequestSpec
	down  bool
}

func (s *tokens) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	var request authenticationv1.TokenRequest
	switch {
	case s.down:
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	case r.URL.Path != "/api/v1/namespaces/kube-system/serviceaccounts/karpenter/token":
		w.WriteHeader(http.StatusNotFound)
		_ = json.NewEncoder(w).Encode(metav1.Status{TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: metav1.StatusFailure, Reason: metav1.StatusReasonNotFound, Code: 404, Message: `serviceaccounts "absent" not found`})
		return
	}
	if err := json.NewDecoder(r.Body).Decode(&request); err != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	s.asked = append(s.asked, request.Spec)
	request.Status = authenticationv1.TokenRequestStatus{
		Token: fmt.Sprint("token of second ", int(time.Since(s.began).Seconds())), ExpirationTimestamp: metav1.NewTime(time.Now().Add(time.Duration(*request.Spec.ExpirationSeconds) * time.Second)),
	}
	_ = json.NewEncoder(w).Encode(request)
}

// A token is replaced when a fifth of its time is left; one that can't be had is asked for again each minute.
func TestATokenIsReplacedBeforeItExpires(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		api, network := &tokens{began: began}, &memnet.Network{}
		l, err := network.Listen("api:80")
		if err != nil {
			t.Fatal(err)
		}
		server := &http.Server{Handler: api}
		go server.Serve(l)
		defer server.Close()
		client, err := kubernetes.NewForConfig(&rest.Config{Host: "http://api:80", ContentConfig: rest.ContentConfig{ContentType: "application/json"}, Dial: network.Dial, Transport: nil})
		if err != nil {
			t.Fatal(err)
		}
		var said []string
		report := func(line string) { said = append(said, line) }
		_, err = Mount(t.Context(), client, t.TempDir(), Account{Namespace: "kube-system", Name: "absent"}, nil, report)
		if err == nil || !strings.Contains(err.Error(), "service account kube-system/absent") || !strings.Contains(err.Error(), "not found") {
			t.Errorf("got %v, want the account's name", err)
		}
		v, err := Mount(t.Context(), client, t.TempDir(), Account{Namespace: "kube-system", Name: "karpenter", Audiences: []string{"here"}, Expiry: 600 * time.Second}, []byte("ca"), report)
		if err != nil {
			t.Fatal(err)
		}
		holds := func(name, want string) {
			t.Helper()
			got, err := os.ReadFile(filepath.Join(v.Dir, name))
			if err != nil || string(got) != want {
				t.Errorf("after %s %s is %q, want %q (%v)", time.Since(began), name, got, want, err)
			}
		}
		at := func(seconds int) {
			time.Sleep(time.Until(began.Add(time.Duration(seconds)*time.Second + time.Millisecond)))
			synctest.Wait()
		}
		holds(TokenFile, "token of second 0")
		holds(NamespaceFile, "kube-system")
		holds(CAFile, "ca")
		at(479)
		holds(TokenFile, "token of second 0")
		at(480)
		holds(TokenFile, "token of second 480")
		api.mu.Lock()
		api.down = true
		api.mu.Unlock()
		at(480 + 480 + 59)
		holds(TokenFile, "token of second 480")
		api.mu.Lock()
		api.down = false
		api.mu.Unlock()
		at(480 + 480 + 61)
		holds(TokenFile, "token of second 1020")
		if len(said) != 1 || !strings.Contains(said[0], "service account kube-system/karpenter") || !strings.Contains(said[0], "trying again in 1m0s") {
			t.Errorf("said %q", said)
		}
		for _, spec := range api.asked {
			if len(spec.Audiences) != 1 || spec.Audiences[0] != "here" || *spec.ExpirationSeconds != 600 || spec.BoundObjectRef != nil {
				t.Errorf("asked for %+v", spec)
			}
		}
		v.Close()
		asked := len(api.asked)
		at(5000)
		if len(api.asked) != asked {
			t.Error("a volume that is closed asks for tokens")
		}
	})
}

func TestALongTokenIsReplacedEachDay(t *testing.T) {
	began := time.Now()
	v := &Volume{issued: began, until: began.Add(30 * 24 * time.Hour)}
	if got := v.refreshAt().Sub(began); got != 24*time.Hour {
		t.Errorf("after %s", got)
	}
}
