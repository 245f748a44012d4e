package kerf_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	networkingv1 "k8s.io/api/networking/v1"
	"sigs.k8s.io/yaml"
)

var (
	// helmInstall is a command that installs the chart, with the lines that go on with it.
	helmInstall  = regexp.MustCompile(`(?m)^ *helm (?:upgrade --install|install) \S+ charts/kerf (?:.*\\\n)*.*$`)
	localSection = regexp.MustCompile(`(?s)\n## Try the installation on a laptop\n.*?\n## `)
)

// TestEveryInstallationNamesAnImage fails where a page installs the chart with the image of its defaults, which no registry holds. A
// local cluster needs none.
func TestEveryInstallationNamesAnImage(t *testing.T) {
	names, err := filepath.Glob("docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, name := range append(names, "README.md", "charts/kerf/README.md") {
		page, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, command := range helmInstall.FindAllString(localSection.ReplaceAllString(string(page), "\n## "), -1) {
			found++
			if !strings.Contains(command, "-f values.yaml") && !strings.Contains(command, "controller.image.repository=") {
				t.Errorf("%s names no image:\n%s", name, command)
			}
		}
	}
	if found < 4 {
		t.Errorf("found %d commands only", found)
	}
}

var yamlBlock = regexp.MustCompile("(?s)```yaml\n(.*?)```")

// TestTheYAMLOfInstall reads the objects of docs/install.md and docs/egress.md. Flux takes a new chart of a Git repository only with
// reconcileStrategy: Revision, as the version in Chart.yaml does not change with each commit.
func TestTheYAMLOfInstall(t *testing.T) {
	var pages []byte
	for _, name := range []string{"docs/install.md", "docs/egress.md"} {
		page, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		pages = append(pages, page...)
	}
	releases := map[string]bool{}
	for _, block := range yamlBlock.FindAllStringSubmatch(string(pages), -1) {
		for _, text := range strings.Split(block[1], "\n---\n") {
			var object struct {
				Kind     string
				Metadata struct{ Name string }
				Spec     struct {
					Chart struct {
						Spec struct{ Chart, ReconcileStrategy string }
					}
				}
			}
			if err := yaml.Unmarshal([]byte(text), &object); err != nil {
				t.Errorf("%v\n%s", err, text)
				continue
			}
			if object.Kind == "NetworkPolicy" {
				if err := yaml.UnmarshalStrict([]byte(text), &networkingv1.NetworkPolicy{}); err != nil {
					t.Errorf("%v\n%s", err, text)
				}
			}
			if object.Kind != "HelmRelease" {
				continue
			}
			chart := object.Spec.Chart.Spec
			releases[object.Metadata.Name] = true
			if chart.ReconcileStrategy != "Revision" {
				t.Errorf("HelmRelease %s has reconcileStrategy %q, want Revision", object.Metadata.Name, chart.ReconcileStrategy)
			}
			if _, err := os.Stat(filepath.Join(chart.Chart, "Chart.yaml")); err != nil {
				t.Errorf("HelmRelease %s: %v", object.Metadata.Name, err)
			}
		}
	}
	if !releases["karpenter"] || !releases["kerf-crd"] {
		t.Errorf("the page has the HelmReleases %v, want karpenter and kerf-crd", releases)
	}
}
