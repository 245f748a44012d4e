package cloudformation

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/kerf-sh/kerf/internal/sim/awssim/wire"
)

// exporterLocked is the stack that exports a name, nil if none does.
func (svc *service) exporterLocked(name any) *stack {
	for _, s := range svc.stacks {
		for _, o := range s.outputs {
			if s.live() && o.Export == name {
				return s
			}
		}
	}
	return nil
}

// exportLocked is the value that is exported under a name.
func (svc *service) exportLocked(name string) (any, error) {
	if s := svc.exporterLocked(name); s != nil {
		for _, o := range s.outputs {
			if o.Export == name {
				return o.Value, nil
			}
		}
	}
	return nil, fmt.Errorf("No export named %s found.", name)
}

func (svc *service) export(name string) (any, error) {
	svc.mu.Lock()
	defer svc.mu.Unlock()
	return svc.exportLocked(name)
}

// importersLocked says why a stack's exports cannot go, empty if they can.
func (svc *service) importersLocked(s *stack) string {
	for _, o := range s.outputs {
		name, _ := o.Export.(string)
		if users := svc.usersLocked(name); name != "" && len(users) > 0 {
			return fmt.Sprintf("Export %s cannot be deleted as it is in use by %s", name, strings.Join(users, ", "))
		}
	}
	return ""
}

func (svc *service) usersLocked(export string) []string {
	var out []string
	for _, s := range svc.stacks {
		if s.live() && slices.Contains(s.imports, export) {
			out = append(out, s.name)
		}
	}
	return out
}

type exportOut struct {
	ExportingStackID string `xml:"ExportingStackId"`
	Name             string `xml:"Name"`
	Value            string `xml:"Value"`
}

func (svc *service) listExports(context.Context, *wire.Request) (any, error) {
	svc.mu.Lock()
	defer svc.mu.Unlock()
	var out struct {
		Exports []exportOut `xml:"Exports>member"`
	}
	for _, s := range svc.stacks {
		for _, o := range s.outputs {
			if s.live() && o.Export != nil {
				out.Exports = append(out.Exports, exportOut{s.id, fmt.Sprint(o.Export), fmt.Sprint(o.Value)})
			}
		}
	}
	return out, nil
}

func (svc *service) listImports(_ context.Context, r *wire.Request) (any, error) {
	svc.mu.Lock()
	defer svc.mu.Unlock()
	name := r.Form.Get("ExportName")
	var out struct {
		Imports []string `xml:"Imports>member"`
	}
	if out.Imports = svc.usersLocked(name); len(out.Imports) == 0 {
		return nil, invalid("Export '%s' is not imported by any stack.", name)
	}
	return out, nil
}
