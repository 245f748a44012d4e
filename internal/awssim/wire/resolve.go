package wire

import (
	"net/http"
	"net/url"
	"strings"
)

// guessService finds the service from all that can be seen without the body, so that even a request that is
// refused unread gets an envelope its client can read: the target header, the path, the scope of the signature.
func (s *Server) guessService(hr *http.Request) *Service {
	if target, _, ok := strings.Cut(hr.Header.Get("X-Amz-Target"), "."); ok {
		for _, svc := range services() {
			if svc.Target == target {
				return svc
			}
		}
	}
	if rt := s.route(hr); rt != nil {
		return rt.service
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

func (s *Server) route(hr *http.Request) *route {
	s.mu.RLock()
	defer s.mu.RUnlock()
	_, pattern := s.routes.Handler(hr)
	return s.rest[pattern]
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
	if rt := s.route(hr); rt != nil {
		r.Service, r.Operation, r.JSON, r.Query = rt.service, rt.operation, body, hr.URL.Query()
		r.Path = s.wildcards(hr, rt)
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

// wildcards reads the values of the route's wildcards from the path. ServeMux fills them in only for the
// handler it calls, so the request is passed through it once more with a handler that copies them.
func (s *Server) wildcards(hr *http.Request, rt *route) map[string]string {
	values := map[string]string{}
	s.mu.RLock()
	_, pattern := s.routes.Handler(hr)
	s.mu.RUnlock()
	mux := http.NewServeMux()
	mux.HandleFunc(pattern, func(_ http.ResponseWriter, in *http.Request) {
		for _, name := range rt.wildcards {
			values[name] = in.PathValue(name)
		}
	})
	mux.ServeHTTP(discard{}, hr.Clone(hr.Context()))
	return values
}

// discard is a response nobody reads.
type discard struct{}

func (discard) Header() http.Header         { return http.Header{} }
func (discard) Write(p []byte) (int, error) { return len(p), nil }
func (discard) WriteHeader(int)             {}
