// Package kubesim is a Kubernetes API over HTTP in a process: what a controller, a scheduler and kubelets need of it, with
// the behaviour that they rely on: resource versions, lists and watches that can be resumed or are told that they can't,
// optimistic locks, preconditions, patches, sub-resources, finalizers, graceful deletion, bindings, and evictions that
// heed disruption budgets. TokenReviews, SubjectAccessReviews and TokenRequests are answered. Custom resources are defaulted,
// pruned and validated by the schemas of their definitions; rules in CEL are not evaluated. It speaks JSON and, of built-in
// kinds, protobuf, and lets everybody do everything.
//
// It is for tests that need thousands of clusters, or years of one, on one instance. How true it is, a script tells that is
// played against it and against a real kube-apiserver.
package kubesim

import (
	"fmt"
	"log/slog"
	"net/http"
	"sync"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
)

// Options of a server. The zero value is a cluster without custom resources.
type Options struct {
	// Definitions are the custom resources that are served. Those that are created later are kept, but not served.
	Definitions []*Definition
	// Seed is what UIDs and generated names are drawn from.
	Seed uint64
	// History is how many changes of a resource are kept for watches that resume; an older version is answered with
	// 410 Gone (10,000).
	History int
	// Tokens are whose bearer tokens are, beside those of ServiceAccounts that were asked for here. They matter to TokenReview
	// only: calls need none.
	Tokens map[string]authenticationv1.UserInfo
	// Allow answers SubjectAccessReviews (everybody may do everything). It must not call the server.
	Allow func(*authorizationv1.SubjectAccessReviewSpec) bool
	// Hear, if set, is told of every change of an object, in order: before is nil for a creation, after for a deletion. path is
	// as Each has it. It must not call the server, and change nothing of what it is given.
	Hear func(path string, before, after map[string]any)
	// Now is the clock (time.Now).
	Now    func() time.Time
	Logger *slog.Logger
}

// Server is a cluster's API. It is an http.Handler.
//
// Concurrency: safe.
type Server struct {
	o      Options
	byPath map[string]*resource // group/version/plural
	groups []*groupVersion

	mu       sync.Mutex
	drawn    map[string]int // UIDs at drawnAt, by what they are of
	drawnAt  time.Time
	version  uint64
	shut     chan struct{}
	requests map[string]int // by verb and resource
	tokens   map[string]issued
}

// New makes a cluster with the namespaces that every cluster has.
//
// Errors: a definition that is given twice.
func New(o Options) (*Server, error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.History == 0 {
		o.History = 10_000
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	s := &Server{o: o, byPath: map[string]*resource{}, drawn: map[string]int{}, version: 1, shut: make(chan struct{}), requests: map[string]int{}}
	for _, r := range builtIn() {
		s.add(r)
	}
	for _, d := range o.Definitions {
		if err := s.define(d); err != nil {
			return nil, fmt.Errorf("define a custom resource: %w", err)
		}
	}
	for _, name := range []string{"default", "kube-system", "kube-public", "kube-node-lease"} {
		if err := s.furnish(name); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// furnish makes one of the namespaces that are there from the start.
func (s *Server) furnish(namespace string) error {
	_, err := s.create(s.byPath["/v1/namespaces"], "", sent{content: content{
		"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": namespace, "labels": map[string]any{"kubernetes.io/metadata.name": namespace}},
	}}, false)
	return err
}

// Close ends all watches; other calls are answered as before.
func (s *Server) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case <-s.shut:
	default:
		close(s.shut)
	}
}

// Requests counts the calls so far by verb and resource, such as "patch nodeclaims/status".
func (s *Server) Requests() map[string]int {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := make(map[string]int, len(s.requests))
	for k, n := range s.requests {
		out[k] = n
	}
	return out
}

// Forget drops the kept changes of all resources, so that watches that resume, and those that have not read everything,
// are told that they can't.
func (s *Server) Forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range s.byPath {
		r.forget(len(r.log), s.version)
	}
}

var _ http.Handler = (*Server)(nil)
