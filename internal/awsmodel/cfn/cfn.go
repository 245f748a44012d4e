// Package cfn reads CloudFormation templates, in YAML or JSON, and works out their values: intrinsic functions,
// parameters, conditions, the order of resources. Whoever deploys a template gives the values of resources as they come
// to be (Template.In); whoever only reads one has them predicted (Template.Static).
package cfn

import (
	"cmp"
	"fmt"
	"strings"
)

// Limits of CloudFormation.
const (
	MaxInlineBody   = 51200   // bytes of a template that comes with a request
	MaxStoredBody   = 1 << 20 // bytes of a template that is fetched from S3
	MaxResources    = 500
	MaxParameters   = 200
	MaxMappings     = 200
	MaxOutputs      = 200
	MaxDescription  = 1024 // bytes
	MaxLogicalID    = 255
	maxParameterLen = 4096 // bytes of a parameter's value
)

// Template is what a file says, with all names in it checked against each other.
type Template struct {
	Version     string // AWSTemplateFormatVersion
	Description string
	Metadata    *Node
	Parameters  []*Parameter
	Mappings    map[string]map[string]map[string]any // values are texts, numbers, truth values or lists of texts
	Conditions  []NamedNode
	Resources   []*Resource // in the order of the file
	Outputs     []*Output
	Notes       []Note // what was read and has no effect here

	parameters map[string]*Parameter
	conditions map[string]*Node
	resources  map[string]*Resource
}

// NamedNode is an entry of a section.
type NamedNode struct {
	Name string
	Node *Node
}

// Resource is one resource as the template has it.
type Resource struct {
	ID                  string // logical
	Type                string
	Properties          *Node // a map, or nil
	Metadata            *Node
	DependsOn           []string
	Condition           string // name, empty without
	DeletionPolicy      string // Delete, Retain, RetainExceptOnCreate or Snapshot; Delete when not given
	UpdateReplacePolicy string // Delete, Retain or Snapshot; Delete when not given
	Pos                 Pos
}

// Output is one output as the template has it.
type Output struct {
	Name        string
	Description string
	Condition   string
	Value       *Node
	Export      *Node // name, nil when not exported
	Pos         Pos
}

// Note tells of something that was read and has no effect.
type Note struct {
	Pos     Pos
	Message string
}

// Resource finds a resource by its logical id, nil if there is none.
func (t *Template) Resource(id string) *Resource { return t.resources[id] }

// Parameter finds a parameter by name, nil if there is none.
func (t *Template) Parameter(name string) *Parameter { return t.parameters[name] }

// Pos is a place in the file; lines and columns count from one.
type Pos struct{ Line, Column int }

// Error is something wrong at one place of a template.
type Error struct {
	Pos     Pos
	Path    string // Resources.Queue.Properties.QueueName, empty for the whole
	Message string
}

func (e *Error) Error() string {
	var where []string
	if e.Pos.Line > 0 {
		where = append(where, fmt.Sprintf("line %d", e.Pos.Line))
	}
	if e.Path != "" {
		where = append(where, e.Path)
	}
	if len(where) == 0 {
		return e.Message
	}
	return e.Message + " (" + strings.Join(where, ", ") + ")"
}

// Errors are all that is wrong with a template, in the order of its lines.
type Errors []*Error

func (e Errors) Error() string {
	texts := make([]string, len(e))
	for i, one := range e {
		texts[i] = one.Error()
	}
	return strings.Join(texts, "\n")
}

// Unwrap makes each of them visible to errors.As.
func (e Errors) Unwrap() []error {
	out := make([]error, len(e))
	for i, one := range e {
		out[i] = one
	}
	return out
}

func compareErrors(a, b *Error) int {
	return cmp.Or(cmp.Compare(a.Pos.Line, b.Pos.Line), cmp.Compare(a.Pos.Column, b.Pos.Column), strings.Compare(a.Path, b.Path))
}
