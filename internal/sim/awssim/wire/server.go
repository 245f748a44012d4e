package wire

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Options of a Server. Only Keys is required.
type Options struct {
	Region     string             // regional services refuse credentials scoped elsewhere; empty accepts all
	Seed       uint64             // request ids follow from it
	Keys       Keys               // who holds which access key
	Authorizer Authorizer         // nil allows everything
	Faults     Faults             // nil lets nothing go wrong
	Recorder   Recorder           // nil keeps no log
	Errors     func(error) *Error // turns errors of other packages into answers; may return nil
	Now        func() time.Time   // the clock signatures are judged by; nil is the instance's
	Logger     *slog.Logger       // nil is slog's default
	// Hold, if set, is called when a request is understood and before anything is done about it: it takes as long as the
	// call is to take.
	Hold func(ctx context.Context, r *Request)
}

// soonest is the least time between the end of a request and the beginning of its answer. Go's AWS SDK closes the body of a
// request as soon as an answer begins, and net/http, having sent the last byte, then looks whether the body has ended; if it
// is closed by then, it takes that for a failure and closes the connection, under the answer if that is a long one. No
// network is as fast as that, but a server on the same instance is, and nothing that it can read tells it when the client is
// done. It is enough for a client that gets a processor within that time; as long as at AWS (Hold) is enough on a busy instance.
const soonest = 2 * time.Millisecond

// Server answers the requests of all registered services. It is an http.Handler.
type Server struct {
	opts Options

	mu       sync.RWMutex
	handlers map[*Service]map[string]Handler
	unsigned map[*Service]map[string]bool // operations that carry their own proof of who calls
	routes   *http.ServeMux               // REST operations
	mounts   map[string]http.Handler

	requests atomic.Uint64
}

// New makes a server without operations.
func New(opts Options) *Server {
	if opts.Now == nil {
		opts.Now = time.Now
	}
	if opts.Logger == nil {
		opts.Logger = slog.Default()
	}
	return &Server{
		opts: opts, handlers: map[*Service]map[string]Handler{}, unsigned: map[*Service]map[string]bool{}, routes: http.NewServeMux(),
		mounts: map[string]http.Handler{},
	}
}

// Handle registers the handler of an operation; a later one replaces an earlier one.
func (s *Server) Handle(service *Service, operation string, h Handler) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.handlers[service] == nil {
		s.handlers[service] = map[string]Handler{}
	}
	s.handlers[service][operation] = h
}

// HandleUnsigned registers the handler of an operation whose callers have no credentials yet: nobody signs, and nobody's
// policies are asked.
func (s *Server) HandleUnsigned(service *Service, operation string, h Handler) {
	s.Handle(service, operation, h)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.unsigned[service] == nil {
		s.unsigned[service] = map[string]bool{}
	}
	s.unsigned[service][operation] = true
}

func (s *Server) takesUnsigned(r *Request) bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.unsigned[r.Service][r.Operation]
}

// HandleREST registers the handler of an operation that is addressed by method and path, such as
// "GET /clusters/{name}"; the wildcards arrive in Request.Path. query names the parameters that it takes in the query
// string; others are refused.
func (s *Server) HandleREST(service *Service, operation, pattern string, h Handler, query ...string) {
	s.Handle(service, operation, func(ctx context.Context, r *Request) (any, error) {
		if err := refuseUnknown(r.Query, func(name string) bool { return slices.Contains(query, name) }); err != nil {
			return nil, err
		}
		return h(ctx, r)
	})
	s.routes.Handle(pattern, matcher(service, operation, pattern))
}

// Actions names every registered operation as IAM policies do, such as ec2:RunInstances, sorted.
func (s *Server) Actions() []string {
	s.mu.RLock()
	defer s.mu.RUnlock()
	var out []string
	for service, operations := range s.handlers {
		for operation := range maps.Keys(operations) {
			out = append(out, service.Name+":"+operation)
		}
	}
	slices.Sort(out)
	return out
}

// Mount hands every path below prefix to h, unsigned and unlogged.
func (s *Server) Mount(prefix string, h http.Handler) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mounts[prefix] = h
}

func (s *Server) mounted(path string) http.Handler {
	s.mu.RLock()
	defer s.mu.RUnlock()
	for prefix, h := range s.mounts {
		if strings.HasPrefix(path, prefix) {
			return h
		}
	}
	return nil
}

// ServeHTTP answers one request.
func (s *Server) ServeHTTP(w http.ResponseWriter, hr *http.Request) {
	if h := s.mounted(hr.URL.Path); h != nil {
		h.ServeHTTP(w, hr)
		return
	}
	start := s.opts.Now()
	began := time.Now()
	r := &Request{
		ID: s.requestID(), Service: s.guessService(hr), Form: url.Values{}, Header: hr.Header, Host: hr.Host,
		Received: start, authorizer: s.opts.Authorizer, TLS: hr.TLS != nil,
	}
	r.Remote, _, _ = net.SplitHostPort(hr.RemoteAddr)
	result, err := s.serve(hr, r)
	if early := soonest - time.Since(r.read); early > 0 {
		time.Sleep(early)
	}
	call := Call{Time: start, RequestID: r.ID, Service: r.Service.Name, Operation: r.Operation,
		Principal: r.Principal.PrincipalARN, DryRun: r.DryRun(), UserAgent: hr.UserAgent(),
		RequestBytes: r.Size, Fault: r.fault, Detail: r.Detail, Input: r.Input}
	// Recorded before the client knows: who has its answer finds the call among the others.
	recorded := func() {
		call.Duration = time.Since(began)
		if s.opts.Recorder != nil {
			s.opts.Recorder.Record(call)
		}
	}
	if r.dropReply {
		call.ErrorCode = "NoReply"
		recorded()
		hangUp(w)
		return
	}
	a := s.encode(r, result, err, &call)
	call.Status, call.ResponseBytes = a.status, len(a.body)
	recorded()
	s.send(w, r, a)
}

// encode turns the outcome into bytes; an outcome that cannot be encoded is the server's own failure.
func (s *Server) encode(r *Request, result any, err error, call *Call) answer {
	if err == nil {
		a, encodeErr := encodeResult(r, result)
		if encodeErr == nil {
			return a
		}
		err = fmt.Errorf("encode the answer of %s: %w", r.Action(), encodeErr)
	}
	e, ok := errors.AsType[*Error](err)
	if !ok && s.opts.Errors != nil {
		e = s.opts.Errors(err)
	}
	if e == nil {
		s.opts.Logger.Error("simulated operation failed", "action", r.Action(), "request_id", r.ID, "error", err)
		e = Internal(r, err.Error())
	}
	call.ErrorCode = e.Code
	return encodeError(r.Service, r.ID, e)
}

func (s *Server) send(w http.ResponseWriter, r *Request, a answer) {
	h := w.Header()
	for k, v := range a.header {
		h[k] = v
	}
	h.Set("X-Amzn-Requestid", r.ID)
	h.Set("Date", s.opts.Now().UTC().Format(http.TimeFormat))
	h.Set("Content-Length", strconv.Itoa(len(a.body)))
	h.Set("Content-Type", a.contentType)
	w.WriteHeader(a.status)
	_, _ = w.Write(a.body) // a caller that has gone away is no concern of ours
}

// hangUp closes the connection without a byte.
func hangUp(w http.ResponseWriter) {
	if hj, ok := w.(http.Hijacker); ok {
		if conn, _, err := hj.Hijack(); err == nil {
			_ = conn.Close()
			return
		}
	}
	panic(http.ErrAbortHandler)
}

// serve takes a request from its bytes to the handler's outcome.
func (s *Server) serve(hr *http.Request, r *Request) (any, error) {
	body, err := readBody(hr, r.Service.MaxBody)
	r.Size, r.read = len(body), time.Now()
	if err != nil {
		return nil, err
	}
	if err := s.resolve(hr, r, body); err != nil {
		return nil, err
	}
	if s.opts.Hold != nil {
		s.opts.Hold(hr.Context(), r)
	}
	unsigned := s.takesUnsigned(r)
	if !unsigned {
		if err := s.authenticate(hr, r, body); err != nil {
			return nil, err
		}
	}
	handler := s.handler(r.Service, r.Operation)
	if handler == nil {
		return nil, unknownOperation(r.Service, r.Operation)
	}
	if !unsigned {
		if err := r.Authorize(r.Action()); err != nil {
			return nil, err
		}
	}
	if s.opts.Faults != nil {
		in := s.opts.Faults.Intercept(hr.Context(), r)
		r.fault = in.Note
		if in.Err != nil {
			return nil, in.Err
		}
		r.dropReply = in.DropReply
	}
	return s.run(hr.Context(), r, handler)
}

// run calls the handler; a panic in it costs that one request only.
func (s *Server) run(ctx context.Context, r *Request, h Handler) (result any, err error) {
	defer func() {
		if p := recover(); p != nil {
			result, err = nil, fmt.Errorf("%s panicked: %v", r.Action(), p)
		}
	}()
	return h(ctx, r)
}

func (s *Server) handler(service *Service, operation string) Handler {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.handlers[service][operation]
}

func readBody(hr *http.Request, limit int64) ([]byte, error) {
	body, err := io.ReadAll(io.LimitReader(hr.Body, limit+1))
	if err != nil {
		return nil, Errorf("RequestTimeout", "the body could not be read: %v", err)
	}
	if int64(len(body)) > limit {
		return body[:limit], &Error{Code: "RequestEntityTooLarge", Status: http.StatusRequestEntityTooLarge,
			Message: fmt.Sprintf("the body is larger than %d bytes", limit)}
	}
	return body, nil
}

func (s *Server) authenticate(hr *http.Request, r *Request, body []byte) error {
	sig, problem := parseSignature(hr)
	if problem != nil {
		return authError(r.Service, problem.problem, problem.detail)
	}
	r.Region = sig.region
	id, ok := s.opts.Keys.Identity(sig.keyID)
	if !ok {
		return authError(r.Service, authUnknownKey, "unknown access key")
	}
	if sig.service != r.Service.Name {
		return authError(r.Service, authScope, fmt.Sprintf("Credential should be scoped to correct service: '%s'.", r.Service.Name))
	}
	if r.Service.Regional && s.opts.Region != "" && sig.region != s.opts.Region {
		return authError(r.Service, authScope, fmt.Sprintf("Credential should be scoped to a valid region, not '%s'.", sig.region))
	}
	if problem := sig.verify(hr, body, id, s.opts.Now()); problem != nil {
		return authError(r.Service, problem.problem, problem.detail)
	}
	r.Principal = id
	return nil
}

// requestID makes the next id; the same seed gives the same ids.
func (s *Server) requestID() string {
	sum := sha256.Sum256(fmt.Appendf(nil, "request %d %d", s.opts.Seed, s.requests.Add(1)))
	return fmt.Sprintf("%x-%x-%x-%x-%x", sum[0:4], sum[4:6], sum[6:8], sum[8:10], sum[10:16])
}
