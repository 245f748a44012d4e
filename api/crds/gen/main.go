// Command gen finishes the CRDs that controller-gen made: it adds what markers on Go types cannot
// say and writes the result where package crds embeds it.
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"
)

func main() {
	in := flag.String("in", "", "directory with the files of controller-gen")
	out := flag.String("out", "", "directory to write to")
	flag.Parse()
	if err := run(*in, *out); err != nil {
		fmt.Fprintln(os.Stderr, "gen:", err)
		os.Exit(1)
	}
}

func run(in, out string) error {
	files, err := filepath.Glob(filepath.Join(in, "*.yaml"))
	if err != nil {
		return err
	}
	if len(files) == 0 {
		return fmt.Errorf("no CRDs in %q", in)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		done, err := finish(text)
		if err != nil {
			return fmt.Errorf("finish %s: %w", file, err)
		}
		if err := os.WriteFile(filepath.Join(out, filepath.Base(file)), done, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// finish returns the CRD with its schema completed.
func finish(text []byte) ([]byte, error) {
	var crd apiextensionsv1.CustomResourceDefinition
	if err := yaml.UnmarshalStrict(text, &crd); err != nil {
		return nil, err
	}
	for i := range crd.Spec.Versions {
		root := crd.Spec.Versions[i].Schema.OpenAPIV3Schema
		walk(root, tightenQuantity)
		if err := complete(crd.Spec.Names.Kind, root); err != nil {
			return nil, err
		}
	}
	return marshal(&crd)
}

// marshal leaves out the status, which belongs to the API server.
func marshal(crd *apiextensionsv1.CustomResourceDefinition) ([]byte, error) {
	text, err := yaml.Marshal(crd)
	if err != nil {
		return nil, err
	}
	var object map[string]any
	if err := yaml.Unmarshal(text, &object); err != nil {
		return nil, err
	}
	delete(object, "status")
	text, err = yaml.Marshal(object)
	return append([]byte("---\n"), text...), err
}
