package wire

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
)

// Input is what a call from within brings along: a form for query services, JSON for the others, with the wildcards and
// the query string for REST.
type Input struct {
	Form  url.Values
	JSON  []byte
	Path  map[string]string
	Query url.Values
}

// Do calls an operation from within, as one service does on behalf of who called it: nothing is signed, judged or logged,
// and no fault strikes. It returns the answer as it would have been sent. The error is an *Error.
func (s *Server) Do(ctx context.Context, caller Identity, service *Service, operation string, in Input) ([]byte, error) {
	r := &Request{
		ID: s.requestID(), Service: service, Operation: operation, Form: in.Form, JSON: in.JSON, Path: in.Path, Query: in.Query,
		Header: http.Header{}, Principal: caller, Region: s.opts.Region, TLS: true, Received: s.opts.Now(),
	}
	if r.Form == nil {
		r.Form = url.Values{}
	}
	h := s.handler(service, operation)
	if h == nil {
		return nil, unknownOperation(service, operation)
	}
	result, err := s.run(ctx, r, h)
	if err == nil {
		if service.Protocol == RPCCBOR { // callers from within speak JSON
			return json.Marshal(result)
		}
		var a answer
		if a, err = encodeResult(r, result); err == nil {
			return a.body, nil
		}
	}
	e, ok := errors.AsType[*Error](err)
	if !ok && s.opts.Errors != nil {
		e = s.opts.Errors(err)
	}
	if e == nil {
		e = Internal(r, fmt.Sprintf("%s: %v", r.Action(), err))
	}
	return nil, e
}

// ServiceNamed finds a service by its signing name, nil if there is none.
func ServiceNamed(name string) *Service {
	for _, s := range services() {
		if s.Name == name {
			return s
		}
	}
	return nil
}
