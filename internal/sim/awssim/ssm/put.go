package ssm

import (
	"cmp"
	"context"
	"regexp"
	"slices"
	"strings"

	"github.com/kerf-sh/kerf/internal/sim/awssim/wire"
)

// Limits of standard parameters.
//
// Source: Systems Manager API reference, PutParameter.
const (
	maxValue  = 4096
	maxLevels = 15
)

var names = regexp.MustCompile(`^[a-zA-Z0-9_./-]+$`)

func (s *service) putParameter(_ context.Context, r *wire.Request) (any, error) {
	var in struct {
		Name, Value, Type, DataType, Description, Tier string
		Overwrite                                      bool
	}
	if err := r.Decode(&in); err != nil {
		return nil, err
	}
	r.Detail = in.Name
	if err := checkName(in.Name); err != nil {
		return nil, err
	}
	old, there := s.world.OwnParameter(in.Name)
	kind := cmp.Or(in.Type, old.Type)
	switch {
	case in.Value == "":
		return nil, wire.Errorf("ValidationException", "1 validation error detected: Value at 'value' failed to satisfy constraint: Member must not be null")
	case len(in.Value) > maxValue:
		return nil, wire.Errorf("ValidationException", "Standard tier parameters support a maximum parameter value of %d characters.", maxValue)
	case kind == "":
		return nil, wire.Errorf("ValidationException", "A parameter type is required when you create a parameter.")
	case !slices.Contains([]string{"String", "StringList", "SecureString"}, kind):
		return nil, wire.Errorf("ValidationException", "1 validation error detected: Value '%s' at 'type' failed to satisfy constraint: Member must satisfy enum value set: [String, StringList, SecureString]", kind)
	case in.DataType != "" && in.DataType != "text":
		return nil, wire.Errorf("ValidationException", "Parameters of data type %s are not simulated; those of type text name images as well.", in.DataType)
	case in.Tier != "" && in.Tier != "Standard" && in.Tier != "Intelligent-Tiering":
		return nil, wire.Errorf("ValidationException", "Parameters of tier %s are not simulated.", in.Tier)
	case there && !in.Overwrite:
		return nil, wire.Errorf("ParameterAlreadyExists", "The parameter already exists. To overwrite this value, set the overwrite option in the request to true.")
	}
	p := s.world.PutParameter(in.Name, kind, in.Value)
	return map[string]any{"Version": p.Version, "Tier": "Standard"}, nil
}

func checkName(name string) error {
	lower := strings.ToLower(name)
	switch {
	case name == "":
		return wire.Errorf("ValidationException", "1 validation error detected: Value at 'name' failed to satisfy constraint: Member must not be null")
	case strings.HasPrefix(lower, "/aws"):
		return wire.Errorf("AccessDeniedException", "No access to reserved parameter name: %s.", name)
	case strings.HasPrefix(strings.TrimPrefix(lower, "/"), "ssm"), strings.HasPrefix(lower, "aws"):
		return wire.Errorf("ValidationException", "Parameter name: can't be prefixed with \"aws\" or \"ssm\" (case-insensitive).")
	case !names.MatchString(name), strings.Contains(name, "/") && !strings.HasPrefix(name, "/"):
		return wire.Errorf("ValidationException", "Parameter name must be a fully qualified name; it can consist of the letters a-z and A-Z, digits and the symbols _.-/ only.")
	case strings.Count(name, "/") > maxLevels:
		return wire.Errorf("HierarchyLevelLimitExceededException", "A parameter name can have %d levels at most.", maxLevels)
	}
	return nil
}

func (s *service) deleteParameter(_ context.Context, r *wire.Request) (any, error) {
	var in struct{ Name string }
	if err := r.Decode(&in); err != nil {
		return nil, err
	}
	r.Detail = in.Name
	if !s.world.DeleteParameter(in.Name) {
		return nil, wire.Errorf("ParameterNotFound", "")
	}
	return nil, nil
}
