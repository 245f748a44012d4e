// Package readonly keeps a process that has to look only from changing anything, and counts what would have been changed.
//
// The guard sits below all clients, on the wire: whatever code is run above it, a call that changes something does not leave
// the process. That is the second lock; the first is a credential that may only read.
package readonly

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
)

// ErrRefused is in the chain of the error of every call that was not let out.
var ErrRefused = errors.New("this process reads only")

// Guard refuses calls and counts them. The zero value is ready for use.
//
// Concurrency: safe.
type Guard struct {
	// DryRuns lets calls to the Kubernetes API out that are marked as dry runs: they are judged there and never stored.
	DryRuns bool

	mu      sync.Mutex
	refused map[string]int
	told    func(what string)
}

// Tell has f called with each call that is refused. It must be set before the guard is used, and f must not block.
func (g *Guard) Tell(f func(what string)) { g.told = f }

// Refuse counts an attempt and gives the error for it.
func (g *Guard) Refuse(what string) error {
	g.mu.Lock()
	if g.refused == nil {
		g.refused = map[string]int{}
	}
	g.refused[what]++
	g.mu.Unlock()
	if g.told != nil {
		g.told(what)
	}
	return fmt.Errorf("%s: %w", what, ErrRefused)
}

// Refused is how often each call was refused.
func (g *Guard) Refused() map[string]int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return maps.Clone(g.refused)
}

// Total is how many calls were refused.
func (g *Guard) Total() int {
	sum := 0
	for _, n := range g.Refused() {
		sum += n
	}
	return sum
}

// Kubernetes wraps the transport of a client of the Kubernetes API; it is for rest.Config.Wrap.
func (g *Guard) Kubernetes(next http.RoundTripper) http.RoundTripper { return &transport{g, next} }

type transport struct {
	guard *Guard
	next  http.RoundTripper
}

// RoundTrip lets a request out that can't change anything.
func (t *transport) RoundTrip(r *http.Request) (*http.Response, error) {
	if !reads(r) && !(t.guard.DryRuns && dryRun(r)) {
		if r.Body != nil {
			_ = r.Body.Close()
		}
		return nil, t.guard.Refuse(r.Method + " " + kindOf(r.URL.Path))
	}
	return t.next.RoundTrip(r)
}

// reads tells of the verbs that change nothing. A connection that is upgraded, as by exec and port-forward, is a GET on the
// wire and no reading. Reviews are questions that are posted: nothing is stored.
func reads(r *http.Request) bool {
	switch r.Method {
	case http.MethodGet, http.MethodHead, http.MethodOptions:
		return r.Header.Get("Upgrade") == ""
	case http.MethodPost:
		return slices.Contains(questions, r.URL.Path)
	}
	return false
}

// questions are the paths at which the API server is asked who somebody is and what they may do.
var questions = []string{"/apis/authentication.k8s.io/v1/tokenreviews", "/apis/authorization.k8s.io/v1/subjectaccessreviews"}

// dryRun tells of a change that the API server judges and does not store.
func dryRun(r *http.Request) bool {
	stored := r.Method != http.MethodPost && r.Method != http.MethodPut && r.Method != http.MethodPatch
	return !stored && slices.Equal(r.URL.Query()["dryRun"], []string{"All"})
}

// kindOf is the kind of a request's path, without the names of objects: /api/v1/namespaces/a/pods/b is pods, and
// /apis/g/v1/xs/b/status is xs.g/status.
func kindOf(path string) string {
	parts := strings.Split(strings.Trim(path, "/"), "/")
	group := ""
	switch {
	case len(parts) > 2 && parts[0] == "api":
		parts = parts[2:]
	case len(parts) > 3 && parts[0] == "apis":
		group, parts = "."+parts[1], parts[3:]
	default:
		return path
	}
	if parts[0] == "namespaces" && len(parts) > 2 {
		parts = parts[2:]
	}
	if len(parts) > 2 {
		return parts[0] + group + "/" + strings.Join(parts[2:], "/")
	}
	return parts[0] + group
}
