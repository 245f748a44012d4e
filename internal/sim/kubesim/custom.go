package kubesim

import (
	"fmt"
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// custom is what a definition says of its objects. Without a schema anything goes.
type custom struct {
	schema *node
	ruled  bool     // it has rules in CEL
	fields []string // that can be selected by
}

// Definition is a definition whose schemas have been read. It can be served by many servers.
type Definition struct {
	text  content
	serve []resource
}

// Define reads a definition.
//
// Errors: a pattern that is no regular expression, a default that is no JSON.
func Define(d *apiextensionsv1.CustomResourceDefinition) (*Definition, error) {
	out := &Definition{}
	for i := range d.Spec.Versions {
		v := &d.Spec.Versions[i]
		if !v.Served {
			continue
		}
		c := &custom{}
		for _, f := range v.SelectableFields {
			c.fields = append(c.fields, f.JSONPath[1:])
		}
		if v.Schema != nil && v.Schema.OpenAPIV3Schema != nil {
			var err error
			if c.schema, err = newNode(v.Schema.OpenAPIV3Schema); err != nil {
				return nil, fmt.Errorf("read the schema of %s %s: %w", d.Name, v.Name, err)
			}
			c.ruled = c.schema.ruled()
		}
		out.serve = append(out.serve, resource{
			group: d.Spec.Group, version: v.Name, plural: d.Spec.Names.Plural, kind: d.Spec.Names.Kind,
			namespaced: d.Spec.Scope == apiextensionsv1.NamespaceScoped, status: v.Subresources != nil && v.Subresources.Status != nil, generation: true, custom: c,
		})
	}
	var err error
	if out.text, err = runtime.DefaultUnstructuredConverter.ToUnstructured(d); err != nil {
		return nil, fmt.Errorf("encode %s: %w", d.Name, err)
	}
	out.text["apiVersion"], out.text["kind"] = "apiextensions.k8s.io/v1", "CustomResourceDefinition"
	out.text["status"] = map[string]any{"conditions": []any{
		map[string]any{"type": "NamesAccepted", "status": "True", "reason": "NoConflicts"}, map[string]any{"type": "Established", "status": "True", "reason": "InitialNamesAccepted"},
	}}
	return out, nil
}

// define serves the versions of a definition, and the definition itself.
func (s *Server) define(d *Definition) error {
	for i := range d.serve {
		r := d.serve[i]
		s.add(&r)
	}
	_, err := s.create(s.byPath["apiextensions.k8s.io/v1/customresourcedefinitions"], "", sent{content: runtime.DeepCopyJSON(d.text)}, false)
	return err
}

// normal sets defaults and drops what the schema does not know.
func (c *custom) normal(o content) content {
	if c.schema != nil {
		c.schema.prune(o, true)
		c.schema.fill(o)
	}
	return o
}

// validate judges an object by the schema. Fields that it shares with the old one, which may be nil, have been judged.
func (c *custom) validate(now, old content) field.ErrorList {
	if c.schema == nil {
		return nil
	}
	errs := c.schema.judgeBut(now, nil, func(name string) bool { return shared(now[name], old[name]) })
	// Rules are not asked about a value that has not even the right form.
	if c.ruled && slices.ContainsFunc(errs, func(e *field.Error) bool {
		return slices.Contains([]field.ErrorType{field.ErrorTypeRequired, field.ErrorTypeTypeInvalid, field.ErrorTypeNotSupported, field.ErrorTypeTooLong, field.ErrorTypeTooMany}, e.Type)
	}) {
		errs = append(errs, field.Invalid(nil, nil, "some validation rules were not checked because the object was invalid; correct the existing errors to complete validation"))
	}
	return errs
}
