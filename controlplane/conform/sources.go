package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/tools/txtar"
	chartcommon "helm.sh/helm/v4/pkg/chart/common"
	chartutil "helm.sh/helm/v4/pkg/chart/common/util"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	"helm.sh/helm/v4/pkg/engine"
	"k8s.io/apimachinery/pkg/util/yaml"
	plain "sigs.k8s.io/yaml"

	"github.com/kerf-sh/kerf/internal/setup/manifests"
)

// A source is a text with objects.
type source struct {
	name     string
	text     []byte
	fragment bool // fields may be left out
	objects  []map[string]any
}

// sources are all manifests of the tree: the charts with each set of values, what "kerf manifests" prints, the examples, and
// what docs show.
func sources(root string) ([]source, error) {
	var out []source
	archive, err := txtar.ParseFile(filepath.Join(root, "controlplane", "charts", "testdata", "values.txtar"))
	if err != nil {
		return nil, err
	}
	for _, f := range archive.Files {
		values := map[string]any{}
		if err := plain.Unmarshal(f.Data, &values); err != nil {
			return nil, fmt.Errorf("%s: %w", f.Name, err)
		}
		rendered, err := render(filepath.Join(root, "charts", "kerf"), values)
		if err != nil {
			return nil, fmt.Errorf("charts/kerf with %s: %w", f.Name, err)
		}
		printed, err := printed(values)
		if err != nil {
			return nil, fmt.Errorf("kerf manifests with %s: %w", f.Name, err)
		}
		out = append(out, source{name: "charts/kerf with " + f.Name, text: rendered}, source{name: "kerf manifests with " + f.Name, text: printed})
	}
	crds, err := render(filepath.Join(root, "charts", "kerf-crd"), nil)
	if err != nil {
		return nil, fmt.Errorf("charts/kerf-crd: %w", err)
	}
	out = append(out, source{name: "charts/kerf-crd", text: crds})
	examples, err := filepath.Glob(filepath.Join(root, "examples", "*.yaml"))
	if err != nil {
		return nil, err
	}
	for _, path := range examples {
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		out = append(out, source{name: "examples/" + filepath.Base(path), text: text})
	}
	pages, err := filepath.Glob(filepath.Join(root, "docs", "*.md"))
	if err != nil {
		return nil, err
	}
	for _, path := range append(pages, filepath.Join(root, "README.md")) {
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		for _, b := range blocks(string(text)) {
			out = append(out, source{name: fmt.Sprintf("%s:%d", filepath.Base(path), b.line), text: []byte(b.text), fragment: true})
		}
	}
	for i := range out {
		if out[i].objects, err = objects(out[i].text); err != nil {
			return nil, fmt.Errorf("%s: %w", out[i].name, err)
		}
		if len(out[i].objects) == 0 {
			return nil, fmt.Errorf("%s: there is no object in it", out[i].name)
		}
	}
	return out, nil
}

// render is what Helm makes of a chart.
func render(dir string, values map[string]any) ([]byte, error) {
	c, err := loader.LoadDir(dir)
	if err != nil {
		return nil, err
	}
	release := chartcommon.ReleaseOptions{Name: manifests.DefaultName, Namespace: manifests.DefaultNamespace, Revision: 1, IsInstall: true}
	all, err := chartutil.ToRenderValues(c, values, release, chartcommon.DefaultCapabilities)
	if err != nil {
		return nil, err
	}
	files, err := engine.Render(c, all)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	for name, text := range files {
		if strings.HasSuffix(name, ".yaml") {
			b.WriteString("---\n" + text + "\n")
		}
	}
	return b.Bytes(), nil
}

// printed is what "kerf manifests" prints.
func printed(values map[string]any) ([]byte, error) {
	v, err := manifests.Defaults().With(values)
	if err != nil {
		return nil, err
	}
	all, err := manifests.CRDs()
	if err != nil {
		return nil, err
	}
	rest, err := manifests.Objects(manifests.Release{Version: "v1"}, v)
	if err != nil {
		return nil, err
	}
	return manifests.YAML(append(all, rest...))
}

// objects reads a stream of YAML. A document of comments is none.
func objects(text []byte) ([]map[string]any, error) {
	var out []map[string]any
	decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(text), 4096)
	for {
		tree := map[string]any{}
		if err := decoder.Decode(&tree); errors.Is(err, io.EOF) {
			return out, nil
		} else if err != nil {
			return nil, err
		}
		if len(tree) > 0 {
			out = append(out, tree)
		}
	}
}

// A block is a piece of code on a page that begins with an apiVersion, but for comments.
type block struct {
	line int
	text string
}

// blocks finds manifests on a page: between fences of yaml, or indented by four.
func blocks(page string) (out []block) {
	var lines []string
	begin, fenced := 0, false
	end := func() {
		first := slices.IndexFunc(lines, func(line string) bool { return line != "" && !strings.HasPrefix(line, "#") })
		if first >= 0 && strings.HasPrefix(lines[first], "apiVersion:") {
			out = append(out, block{begin, strings.Join(lines, "\n")})
		}
		lines = nil
	}
	for n, line := range strings.Split(page, "\n") {
		indented, ok := strings.CutPrefix(line, "    ")
		switch {
		case fenced && line == "```":
			end()
			fenced = false
		case fenced:
			lines = append(lines, line)
		case line == "```yaml":
			end()
			begin, fenced = n+2, true
		case ok:
			if len(lines) == 0 {
				begin = n + 1
			}
			lines = append(lines, indented)
		case line == "" && len(lines) > 0:
			lines = append(lines, "") // a blank line does not end it
		default:
			end()
		}
	}
	end()
	return out
}
