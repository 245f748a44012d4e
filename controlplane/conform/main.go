// Command conform has kubeconform hold every manifest of the tree against the schemas of Kubernetes and of Kerf's CRDs, with
// fields that no schema names refused. It then breaks the manifests, one field at a time, and wants each of them refused: a
// check that lets everything pass would not be noticed otherwise.
//
// Schemas are made here, from the OpenAPI documents in the module k8s.io/kubernetes and from api/crds; nothing is downloaded.
package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	plain "sigs.k8s.io/yaml"
)

// skipped kinds are of CRDs that are not in this tree.
const skipped = "ServiceMonitor,PrometheusRule,Application,HelmRelease,GitRepository"

func main() {
	root := flag.String("root", "..", "folder of the tree")
	kubernetes := flag.String("kubernetes", "", "folder of the module k8s.io/kubernetes")
	program := flag.String("kubeconform", "", "kubeconform binary")
	flag.Parse()
	if err := run(*root, *kubernetes, *program); err != nil {
		fmt.Fprintln(os.Stderr, "conform:", err)
		os.Exit(1)
	}
}

func run(root, kubernetes, program string) error {
	s, err := readSchemas(kubernetes)
	if err != nil {
		return err
	}
	all, err := sources(root)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "kerf-conform-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	c := &checker{program: program, dir: dir, schemas: s}
	objects := 0
	var errs []error
	for i, from := range all {
		said, n, err := c.check(fmt.Sprint("good-", i), from.objects, from.fragment)
		if err != nil {
			return fmt.Errorf("%s: %w", from.name, err)
		}
		objects += n
		for _, r := range said {
			if r.Status != valid && r.Status != skippedStatus {
				errs = append(errs, fmt.Errorf("%s: %s %s: %s %s", from.name, r.Kind, r.Name, strings.TrimPrefix(r.Status, "status"), r.Msg))
			}
		}
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	broken := 0
	for i, from := range all {
		for how, worse := range breakings() {
			said, n, err := c.check(fmt.Sprint("broken-", i, "-", how), worse(from.objects), from.fragment)
			if err != nil {
				return fmt.Errorf("%s: %w", from.name, err)
			}
			broken += n
			for _, r := range said {
				if r.Status == valid {
					errs = append(errs, fmt.Errorf("%s: %s %s passes although %s", from.name, r.Kind, r.Name, how))
				}
			}
		}
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	fmt.Printf("%d objects of %d sources conform, and %d broken ones are refused (%s left out)\n", objects, len(all), broken, skipped)
	return nil
}

// A checker runs kubeconform.
type checker struct {
	program, dir string
	schemas      *schemas
}

// Statuses of kubeconform.
const (
	valid         = "statusValid"
	skippedStatus = "statusSkipped"
)

// result is what kubeconform says of one object.
type result struct {
	Kind, Name, Status, Msg string
}

// check returns what kubeconform says of objects, and how many it has judged.
func (c *checker) check(name string, objects []map[string]any, fragment bool) ([]result, int, error) {
	schemas := filepath.Join(c.dir, "schemas")
	if fragment {
		schemas += "-of-fragments"
	}
	var text bytes.Buffer
	for _, o := range objects {
		if err := c.schemas.write(schemas, fmt.Sprint(o["apiVersion"]), fmt.Sprint(o["kind"]), fragment); err != nil {
			return nil, 0, err
		}
		one, err := plain.Marshal(o)
		if err != nil {
			return nil, 0, err
		}
		text.WriteString("---\n")
		text.Write(one)
	}
	path := filepath.Join(c.dir, name+".yaml")
	if err := os.WriteFile(path, text.Bytes(), 0o600); err != nil {
		return nil, 0, err
	}
	cmd := exec.Command(c.program, "-strict", "-verbose", "-output", "json", "-skip", skipped, "-schema-location", location(schemas), path)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	var report struct{ Resources []result }
	if jerr := json.Unmarshal(out, &report); jerr != nil {
		return nil, 0, fmt.Errorf("%s: %w\n%s%s", c.program, errors.Join(err, jerr), out, stderr.Bytes())
	}
	judged := 0
	for _, r := range report.Resources {
		if r.Status != skippedStatus {
			judged++
		}
	}
	if len(report.Resources) != len(objects) {
		return nil, 0, fmt.Errorf("kubeconform speaks of %d objects of %d", len(report.Resources), len(objects))
	}
	return report.Resources, judged, nil
}
