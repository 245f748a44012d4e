package iampolicy

import (
	"fmt"
	"slices"
	"strings"
)

// maxNear bounds what a message has room for.
const maxNear = 5

// near says what stood between a refused call and an Allow: for each statement that matches but for one condition, or
// but for the resource, that one thing.
func near(c *Call, p *Policies, held bool) []string {
	var out []string
	add := func(name string, d *Document, resourcePolicy bool) {
		if d == nil {
			return
		}
		for i := range d.Statements {
			s := &d.Statements[i]
			if s.Effect != Allow || !s.forAction(c.Action) || resourcePolicy && s.forCaller(c.Caller) == notNamed {
				continue
			}
			if why := s.miss(c, d.Version, resourcePolicy); why != "" && len(out) < maxNear {
				out = append(out, place(s.Sid, i)+" of "+name+" "+why)
			}
		}
	}
	if held && p.Boundary != nil {
		out = append(out, "the "+BoundaryName+" does not allow "+c.Action+" on "+c.Resource+", though the policies of the caller do")
		add("the "+BoundaryName, p.Boundary, false)
	}
	for _, n := range p.Identity {
		add(n.Name, n.Document, false)
	}
	add("the "+ResourceName, p.Resource, true)
	return out
}

// miss says what one thing keeps a statement from matching; empty if nothing does, or more than one.
func (s *Statement) miss(c *Call, version string, resourcePolicy bool) string {
	here := s.forResource(c, version, resourcePolicy)
	var missed *Condition
	for i := range s.Conditions {
		if s.Conditions[i].holds(version, c.Context) {
			continue
		}
		if missed != nil {
			return ""
		}
		missed = &s.Conditions[i]
	}
	switch {
	case here && missed != nil:
		return missed.miss(c.Context)
	case !here && missed == nil && s.Resources != nil:
		return fmt.Sprintf("allows it on %s, not on %s", strings.Join(few(s.Resources), " or "), c.Resource)
	}
	return ""
}

func (c *Condition) miss(ctx Context) string {
	have := ctx.get(c.Key)
	has := "has no " + c.Key
	if len(have) > 0 {
		has = "has " + quoteAll(have, " and ")
	}
	return fmt.Sprintf("wants %s %s %s; the call %s", c.Key, c.Operator, quoteAll(c.Values, " or "), has)
}

func quoteAll(values []string, between string) string {
	quoted := make([]string, 0, len(values))
	for _, v := range values {
		quoted = append(quoted, fmt.Sprintf("%q", v))
	}
	return strings.Join(few(quoted), between)
}

// few cuts a list to what one reads.
func few(list []string) []string {
	const enough = 4
	if len(list) <= enough {
		return list
	}
	return append(slices.Clone(list[:enough-1]), fmt.Sprintf("%d more", len(list)-enough+1))
}
