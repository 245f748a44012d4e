package setupfile

import "fmt"

// PlannedSetup is a Terraform plan whose resources can be asked for by what their attributes will be.
type PlannedSetup struct{ r *resolver }

// PlannedResource is an instance of a resource of a plan.
type PlannedResource struct {
	Address, Type string

	c *planned
	r *resolver
}

// ParsePlan reads a plan as JSON. where completes what the plan leaves open.
//
// Errors: what is no plan, or one of an unknown version.
func ParsePlan(data []byte, where Place) (*PlannedSetup, error) {
	p, err := parsePlan(data)
	if err != nil {
		return nil, err
	}
	return &PlannedSetup{&resolver{p: p, where: where}}, nil
}

// Managed are the resources of a type that the configuration manages, data sources left out.
func (p *PlannedSetup) Managed(kind string) []PlannedResource {
	var out []PlannedResource
	for _, c := range p.r.p.all {
		if c.Type == kind && c.Mode == "managed" {
			out = append(out, PlannedResource{Address: c.Address, Type: c.Type, c: c, r: p.r})
		}
	}
	return out
}

// Value is the one value of an attribute, predicted if need be; empty when it is not known.
func (r PlannedResource) Value(attr string) string {
	v, _ := r.r.values(r.c, attr)
	if len(v) == 0 {
		return ""
	}
	return fmt.Sprint(v[0])
}

// HasBlock reports whether there is a nested block of a name.
func (r PlannedResource) HasBlock(name string) bool {
	blocks, _ := r.c.Values[name].([]any)
	return len(blocks) > 0
}

// ResourceName is the last part of a resource's address, without an index.
func ResourceName(address string) string {
	steps := splitReference(address)
	return steps[len(steps)-1].name
}
