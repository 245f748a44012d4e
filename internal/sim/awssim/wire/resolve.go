package wire

import (
	"context"
	"net/http"
	"net/url"
	"strings"
)

// guessService finds the service from all that can be seen without the body, so that even a request that is
// refused unread gets an envelope its client can read: the target header, the path, the scope of the signature.
func (s *Server) guessService(hr *http.Request) *Service {
	if target, _, ok := strings.Cut(hr.Header.Get("X-Amz-Target"), "."); ok {
		for _, svc := range services() {
			if svc.Target == target && svc.Protocol != RPCCBOR {
				return svc
			}
		}
	}
	if svc, _, ok := rpcPath(hr.URL.Path); ok {
		return svc
	}
	if m := s.route(hr); m.service != nil {
		return m.service
	}
	if sig, _ := parseSignature(hr); sig.service != "" {
		for _, svc := range services() {
			if svc.Name == sig.service {
				return svc
			}
		}
	}
	return EC2
}

// match is a REST operation found by its path.
type match struct {
	service   *Service
	operation string
	path      map[string]string
}

type matchKey struct{}

// matcher is the handler of a route: it notes which route it is and what its wildcards stand for, since
// ServeMux tells those only to the handler it calls.
func matcher(service *Service, operation, pattern string) http.HandlerFunc {
	var names []string
	for segment := range strings.SplitSeq(pattern, "/") {
		if name, ok := strings.CutPrefix(segment, "{"); ok {
			names = append(names, strings.TrimSuffix(strings.TrimSuffix(name, "}"), "..."))
		}
	}
	return func(_ http.ResponseWriter, hr *http.Request) {
		found, ok := hr.Context().Value(matchKey{}).(*match)
		if !ok {
			return
		}
		found.service, found.operation, found.path = service, operation, map[string]string{}
		for _, name := range names {
			found.path[name] = hr.PathValue(name)
		}
	}
}

// route finds the REST operation of a request; its service is nil when there is none.
func (s *Server) route(hr *http.Request) match {
	var found match
	s.routes.ServeHTTP(discard{}, hr.WithContext(context.WithValue(hr.Context(), matchKey{}, &found)))
	return found
}

// resolve finds service and operation and fills in the request's input.
func (s *Server) resolve(hr *http.Request, r *Request, body []byte) error {
	if target := hr.Header.Get("X-Amz-Target"); target != "" {
		prefix, operation, ok := strings.Cut(target, ".")
		if !ok || r.Service.Target != prefix {
			return Errorf("UnknownOperationException", "no service answers to the target %q", target)
		}
		r.Operation, r.JSON = operation, body
		return nil
	}
	if svc, operation, ok := rpcPath(hr.URL.Path); ok {
		r.Service = svc
		return resolveRPC(hr, r, operation, body)
	}
	if m := s.route(hr); m.service != nil {
		r.Service, r.Operation, r.Path, r.JSON, r.Query = m.service, m.operation, m.path, body, hr.URL.Query()
		return nil
	}
	if hr.URL.Path != "/" && hr.URL.Path != "" {
		return (&Error{Code: "UnknownOperationException", Message: "no operation at " + hr.Method + " " + hr.URL.Path}).
			WithStatus(http.StatusNotFound)
	}
	return resolveQuery(hr, r, body)
}

func resolveQuery(hr *http.Request, r *Request, body []byte) error {
	form, err := url.ParseQuery(string(body))
	if err != nil {
		return Errorf("MalformedQueryString", "The query string contains a syntax error: %v", err)
	}
	for k, v := range hr.URL.Query() {
		if _, set := form[k]; !set {
			form[k] = v
		}
	}
	r.Form, r.Operation = form, form.Get("Action")
	if r.Operation == "" {
		return Errorf("MissingAction", "The request must contain the parameter Action")
	}
	version := form.Get("Version")
	for _, svc := range services() {
		if svc.Version != "" && svc.Version == version {
			r.Service = svc
			return nil
		}
	}
	return Errorf("InvalidAction", "no service has the API version %q (Action %s)", version, r.Operation)
}

// discard is a response nobody reads.
type discard struct{}

func (discard) Header() http.Header         { return http.Header{} }
func (discard) Write(p []byte) (int, error) { return len(p), nil }
func (discard) WriteHeader(int)             {}
