package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// change is an edit of the part of a schema that a path leads to.
type change struct {
	path string
	edit func(*schema)
}

// at names a change. In a path, [] is the items of a list and {} the values of a map.
func at(path string, f func(*schema)) change { return change{path, f} }

// edit makes the changes. A path that leads nowhere is an error, so that a renamed field cannot
// lose its rules unseen.
func edit(root *schema, changes ...change) error {
	for _, c := range changes {
		if err := descend(root, strings.Split(c.path, "."), c.edit); err != nil {
			return fmt.Errorf("schema path %s: %w", c.path, err)
		}
	}
	return nil
}

func descend(s *schema, path []string, f func(*schema)) error {
	if len(path) == 0 {
		f(s)
		return nil
	}
	switch step := path[0]; {
	case step == "[]" && s.Items != nil && s.Items.Schema != nil:
		return descend(s.Items.Schema, path[1:], f)
	case step == "{}" && s.AdditionalProperties != nil && s.AdditionalProperties.Schema != nil:
		return descend(s.AdditionalProperties.Schema, path[1:], f)
	default:
		p, found := s.Properties[step]
		if !found {
			return fmt.Errorf("no %s", step)
		}
		if err := descend(&p, path[1:], f); err != nil {
			return err
		}
		s.Properties[step] = p
		return nil
	}
}

// walk calls f for s and every schema below it.
func walk(s *schema, f func(*schema)) {
	f(s)
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		p := s.Properties[name]
		walk(&p, f)
		s.Properties[name] = p
	}
	for _, below := range []*schema{items(s.Items), values(s.AdditionalProperties)} {
		if below != nil {
			walk(below, f)
		}
	}
}

func items(i *apiextensionsv1.JSONSchemaPropsOrArray) *schema {
	if i == nil {
		return nil
	}
	return i.Schema
}

func values(v *apiextensionsv1.JSONSchemaPropsOrBool) *schema {
	if v == nil {
		return nil
	}
	return v.Schema
}
