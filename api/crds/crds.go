// Package crds holds the CustomResourceDefinitions of Kerf's API, as text and as objects.
package crds

import (
	"embed"
	"fmt"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"
)

// files are named group_plural.yaml.
//
//go:embed *.yaml
var files embed.FS

// YAML returns the definitions as they are to be applied, by file name.
func YAML() map[string][]byte {
	texts := map[string][]byte{}
	for _, name := range names() {
		text, err := files.ReadFile(name)
		if err != nil {
			panic(fmt.Sprintf("embedded file %s cannot be read: %v", name, err))
		}
		texts[name] = text
	}
	return texts
}

// All returns the definitions as objects, in the order of their file names. Each call makes new
// ones, which the caller may change.
//
// Errors: an embedded file that does not parse, which the tests of this package rule out.
func All() ([]*apiextensionsv1.CustomResourceDefinition, error) {
	texts := YAML()
	var all []*apiextensionsv1.CustomResourceDefinition
	for _, name := range names() {
		crd := &apiextensionsv1.CustomResourceDefinition{}
		if err := yaml.UnmarshalStrict(texts[name], crd); err != nil {
			return nil, fmt.Errorf("read embedded definition %s: %w", name, err)
		}
		all = append(all, crd)
	}
	return all, nil
}

func names() []string {
	entries, err := files.ReadDir(".")
	if err != nil {
		panic(fmt.Sprintf("embedded files cannot be listed: %v", err))
	}
	var list []string
	for _, e := range entries {
		list = append(list, e.Name())
	}
	return list
}
