// Package ssm answers SSM parameter store requests from the simulated world.
package ssm

import (
	"context"
	"encoding/base64"
	"strconv"
	"strings"

	"github.com/kerf-sh/kerf/internal/sim/awssim/wire"
	"github.com/kerf-sh/kerf/internal/sim/awssim/world"
)

type service struct{ world *world.World }

// Register adds the operations to a server.
func Register(s *wire.Server, w *world.World) {
	svc := &service{world: w}
	s.Handle(wire.SSM, "GetParameter", svc.getParameter)
	s.Handle(wire.SSM, "GetParameters", svc.getParameters)
	s.Handle(wire.SSM, "GetParametersByPath", svc.getParametersByPath)
	s.Handle(wire.SSM, "PutParameter", svc.putParameter)
	s.Handle(wire.SSM, "DeleteParameter", svc.deleteParameter)
}

// Most names or results of one request.
const (
	maxNames   = 10
	maxResults = 10
)

// decryption is asked for by many a caller whatever the parameter's type; only secure strings are encrypted, and the
// simulator keeps those as they were put.
type decryption struct{ WithDecryption *bool }

type parameter struct {
	ARN              string  `json:"ARN"`
	DataType         string  `json:"DataType"`
	LastModifiedDate float64 `json:"LastModifiedDate"`
	Name             string  `json:"Name"`
	Selector         string  `json:"Selector,omitempty"`
	Type             string  `json:"Type"`
	Value            string  `json:"Value"`
	Version          int64   `json:"Version"`
}

func out(p world.Parameter, selector string) parameter {
	return parameter{
		ARN: p.ARN, DataType: p.DataType, LastModifiedDate: float64(p.Modified.UnixMilli()) / 1000, Name: p.Name,
		Selector: selector, Type: p.Type, Value: p.Value, Version: p.Version,
	}
}

// find looks a parameter up by name or ARN, with an optional :version behind the name.
func (s *service) find(name string) (parameter, error) {
	if p, ok := s.world.Parameter(name); ok {
		return out(p, ""), nil
	}
	colon := strings.LastIndexByte(name, ':')
	if colon < 0 {
		return parameter{}, wire.Errorf("ParameterNotFound", "")
	}
	p, ok := s.world.Parameter(name[:colon])
	if !ok {
		return parameter{}, wire.Errorf("ParameterNotFound", "")
	}
	if version, err := strconv.ParseInt(name[colon+1:], 10, 64); err != nil || version != p.Version {
		return parameter{}, wire.Errorf("ParameterVersionNotFound", "Systems Manager could not find version %s of %s.", name[colon+1:], p.Name)
	}
	return out(p, name[colon:]), nil
}

func (s *service) getParameter(_ context.Context, r *wire.Request) (any, error) {
	var in struct {
		Name string
		decryption
	}
	if err := r.Decode(&in); err != nil {
		return nil, err
	}
	if in.Name == "" {
		return nil, wire.Errorf("ValidationException", "1 validation error detected: Value at 'name' failed to satisfy constraint: Member must not be null")
	}
	r.Detail = in.Name
	p, err := s.find(in.Name)
	if err != nil {
		return nil, err
	}
	return map[string]any{"Parameter": p}, nil
}

func (s *service) getParameters(_ context.Context, r *wire.Request) (any, error) {
	var in struct {
		Names []string
		decryption
	}
	if err := r.Decode(&in); err != nil {
		return nil, err
	}
	if len(in.Names) == 0 || len(in.Names) > maxNames {
		return nil, wire.Errorf("ValidationException", "1 validation error detected: Value at 'names' must have length between 1 and %d", maxNames)
	}
	found, invalid := []parameter{}, []string{}
	for _, name := range in.Names {
		if p, err := s.find(name); err == nil {
			found = append(found, p)
		} else {
			invalid = append(invalid, name)
		}
	}
	return map[string]any{"Parameters": found, "InvalidParameters": invalid}, nil
}

func (s *service) getParametersByPath(_ context.Context, r *wire.Request) (any, error) {
	var in struct {
		Path, NextToken string
		Recursive       bool
		MaxResults      *int
		decryption
	}
	if err := r.Decode(&in); err != nil {
		return nil, err
	}
	if !strings.HasPrefix(in.Path, "/") {
		return nil, wire.Errorf("ValidationException", "The parameter path %q must begin with a slash.", in.Path)
	}
	limit := maxResults
	if in.MaxResults != nil {
		if limit = *in.MaxResults; limit < 1 || limit > maxResults {
			return nil, wire.Errorf("ValidationException", "MaxResults must be between 1 and %d, got %d", maxResults, limit)
		}
	}
	after, err := base64.RawURLEncoding.DecodeString(in.NextToken)
	if err != nil {
		return nil, wire.Errorf("InvalidNextToken", "The specified token is not valid.")
	}
	page := []parameter{}
	answer := map[string]any{}
	for _, p := range s.world.ParametersByPath(in.Path, in.Recursive) {
		if p.Name <= string(after) {
			continue
		}
		if len(page) == limit {
			answer["NextToken"] = base64.RawURLEncoding.EncodeToString([]byte(page[limit-1].Name))
			break
		}
		page = append(page, out(p, ""))
	}
	answer["Parameters"] = page
	return answer, nil
}
