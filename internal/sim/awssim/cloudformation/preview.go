package cloudformation

import (
	"reflect"
	"slices"

	"github.com/kerf-sh/kerf/internal/awsmodel/cfn"
)

// difference is what an update would do to one resource.
type difference struct {
	action      string // Add, Modify, Remove
	logical     string
	kind        string
	physical    string
	replacement string   // True or False, for Modify
	scope       []string // Properties, Tags
	properties  []string // that differ
	fixed       []string // of those, which make the resource anew
}

// previewLocked works out what a plan would change. Values of resources that are not there yet are unknown, and so count as
// changed. It returns errNothing if all stays as it is. The mutex must be held.
func (svc *service) previewLocked(s *stack, p plan) ([]difference, error) {
	renewed := map[string]bool{}
	known := func(id string) *resource {
		if r := s.resources[id]; r != nil && !renewed[id] {
			return r
		}
		return nil
	}
	scope := svc.scope(s, p)
	scope.Import = svc.exportLocked
	scope.Ref = func(id string) (any, error) {
		if r := known(id); r != nil {
			return r.physical, nil
		}
		return cfn.Unknown{Text: "${" + id + "}", Why: id + " is to be made"}, nil
	}
	scope.GetAtt = func(id, attribute string) (any, error) {
		if r := known(id); r != nil && r.attributes[attribute] != nil {
			return r.attributes[attribute], nil
		}
		return cfn.Unknown{Text: "${" + id + "." + attribute + "}", Why: id + " is to be made"}, nil
	}
	eval, err := p.template.In(scope)
	if err != nil {
		return nil, invalid("Template error: %v", err)
	}
	order, err := eval.Order()
	if err != nil {
		return nil, invalid("Template format error: %s", title(err.Error()))
	}
	out := removed(s, order)
	for _, def := range order {
		d, err := svc.compare(s, p, eval, def)
		if err != nil {
			return nil, err
		}
		if d != nil {
			renewed[def.ID] = d.replacement == "True"
			out = append(out, *d)
		}
	}
	if len(out) == 0 && svc.sameOutputs(s, eval) && slices.Equal(s.plan.tags, p.tags) {
		return nil, errNothing
	}
	return out, nil
}

func removed(s *stack, order []*cfn.Resource) []difference {
	var out []difference
	for _, r := range s.inUse() {
		if !slices.ContainsFunc(order, func(def *cfn.Resource) bool { return def.ID == r.logical }) {
			out = append(out, difference{action: "Remove", logical: r.logical, kind: r.kind, physical: r.physical})
		}
	}
	return out
}

func (svc *service) compare(s *stack, p plan, eval *cfn.Evaluation, def *cfn.Resource) (*difference, error) {
	r := s.resources[def.ID]
	if r == nil {
		return &difference{action: "Add", logical: def.ID, kind: def.Type}, nil
	}
	if r.kind != def.Type {
		return nil, invalid("Update of resource type is not permitted. The new template modifies resource type of the following resources: [%s]", def.ID)
	}
	raw, err := eval.Properties(def)
	if err != nil {
		return nil, invalid("Template error: %v", err)
	}
	k := kinds[def.Type]
	properties, err := k.fit(def.ID, raw)
	if err != nil { // the update will say so; here it is a change
		return &difference{action: "Modify", logical: def.ID, kind: def.Type, physical: r.physical, replacement: "False", scope: []string{"Properties"}}, nil //nolint:nilerr // see above
	}
	tags := tagsOf(properties, s.stackTags(p.tags, def.ID))
	if r.same(properties, tags) {
		return nil, nil
	}
	d := &difference{action: "Modify", logical: def.ID, kind: def.Type, physical: r.physical, replacement: "False"}
	for name := range k.properties {
		if !reflect.DeepEqual(r.properties[name], properties[name]) && name != "Tags" {
			d.properties = append(d.properties, name)
		}
	}
	slices.Sort(d.properties)
	if d.fixed = k.replaced(r.properties, properties); len(d.fixed) > 0 {
		d.replacement = "True"
	}
	if len(d.properties) > 0 {
		d.scope = append(d.scope, "Properties")
	}
	if !slices.Equal(r.tags, tags) {
		d.scope = append(d.scope, "Tags")
	}
	return d, nil
}

func (svc *service) sameOutputs(s *stack, eval *cfn.Evaluation) bool {
	now, err := eval.Outputs()
	return err == nil && reflect.DeepEqual(now, s.outputs)
}
