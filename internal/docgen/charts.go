package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"strings"

	yamlv3 "go.yaml.in/yaml/v3"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/util/yaml"
	plain "sigs.k8s.io/yaml"

	"github.com/kerf-sh/kerf/api/crds"
	"github.com/kerf-sh/kerf/internal/setup/manifests"
	"github.com/kerf-sh/kerf/internal/setup/rbac"
)

// writtenInCharts begins the files of the charts that are made here.
const writtenInCharts = "# Written by `make generate`; do not edit.\n"

// writeCharts writes what the charts hold a second time: rights, CRDs, the page and the schema of values.
func writeCharts(root string) error {
	dir := filepath.Join(root, "charts", "kerf")
	files := map[string][]byte{}
	for name, roles := range map[string]struct {
		text []byte
		kind string
	}{
		"cluster": {rbac.YAML, "ClusterRole"}, "namespace": {rbac.YAML, "Role"}, "overlays": {rbac.Overlays, "ClusterRole"},
		"buffers": {rbac.Buffers, "ClusterRole"}, "spreads": {rbac.Spreads, "ClusterRole"},
	} {
		rules, err := rulesText(roles.text, roles.kind)
		if err != nil {
			return fmt.Errorf("rules of %s: %w", name, err)
		}
		files[filepath.Join(dir, "files", "rules", name+".yaml")] = rules
	}
	for name, text := range crds.YAML() {
		files[filepath.Join(dir, "crds", name)] = text
		kept, err := keptByHelm(text)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		files[filepath.Join(root, "charts", "kerf-crd", "templates", name)] = kept
	}
	values, err := os.ReadFile(filepath.Join(dir, "values.yaml"))
	if err != nil {
		return err
	}
	comments, err := readComments(values)
	if err != nil {
		return fmt.Errorf("values.yaml: %w", err)
	}
	if files[filepath.Join(dir, "README.md")], err = chartPage(comments); err != nil {
		return err
	}
	if files[filepath.Join(dir, "values.schema.json")], err = valuesSchema(comments); err != nil {
		return err
	}
	for path, text := range files {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, text, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// rulesText are the rules of the role of a kind, as a list in YAML.
func rulesText(text []byte, kind string) ([]byte, error) {
	decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(text), 4096)
	for {
		var role rbacv1.ClusterRole // a Role has rules as well
		if err := decoder.Decode(&role); err != nil {
			if errors.Is(err, io.EOF) {
				return nil, fmt.Errorf("there is no %s", kind)
			}
			return nil, err
		}
		if role.Kind == kind {
			out, err := plain.Marshal(role.Rules)
			return append([]byte(writtenInCharts), out...), err
		}
	}
}

// value is one of the values of the chart, as values.yaml tells of it.
type value struct {
	path, text string
	node       *yamlv3.Node
}

// readComments finds the values that values.yaml says something of, in their order.
func readComments(text []byte) ([]value, error) {
	var doc yamlv3.Node
	if err := yamlv3.Unmarshal(text, &doc); err != nil {
		return nil, err
	}
	var out []value
	var walk func(prefix string, n *yamlv3.Node)
	walk = func(prefix string, n *yamlv3.Node) {
		for i := 0; i+1 < len(n.Content); i += 2 {
			key, v := n.Content[i], n.Content[i+1]
			path := strings.TrimPrefix(prefix+"."+key.Value, ".")
			if _, says, ok := strings.Cut(key.HeadComment, "# -- "); ok {
				out = append(out, value{path, strings.Join(strings.Fields(strings.ReplaceAll(says, "\n#", " ")), " "), v})
				continue
			}
			walk(path, v)
		}
	}
	walk("", doc.Content[0])
	return out, nil
}

// keptByHelm marks a CRD so that "helm uninstall" leaves it where it is: with the CRD of NodeClaims would go every NodeClaim,
// and with these every node.
func keptByHelm(crd []byte) ([]byte, error) {
	const before, policy = "  annotations:\n", "    helm.sh/resource-policy: keep\n"
	if n := bytes.Count(crd, []byte("\n"+before)); n != 1 {
		return nil, fmt.Errorf("want one line %q, found %d", strings.TrimSpace(before), n)
	}
	return bytes.Replace(crd, []byte("\n"+before), []byte("\n"+before+policy), 1), nil
}

func chartPage(values []value) ([]byte, error) {
	b := bytes.NewBufferString("<!-- Written by `make generate`; do not edit. -->\n# Chart kerf\n\n" + `Installs the controller of Kerf: ServiceAccount, rights, Deployment, Service and PodDisruptionBudget.
[docs/install.md](../../docs/install.md) leads through an installation. Values have the names that they have in the Karpenter
chart.

    helm upgrade --install karpenter charts/kerf --namespace kube-system \
      --set settings.clusterName=demo --set settings.interruptionQueue=demo --wait

CRDs come with the first installation. Helm never upgrades them: the chart kerf-crd does.

## Values

`)
	head(b, "value", "default", "what it is")
	for _, v := range values {
		var tree any
		if err := v.node.Decode(&tree); err != nil {
			return nil, fmt.Errorf("value %s: %w", v.path, err)
		}
		text, err := json.Marshal(tree)
		if err != nil {
			return nil, fmt.Errorf("value %s: %w", v.path, err)
		}
		row(b, code(v.path), code(string(text)), v.text)
	}
	b.WriteString("\n## Resources\n\nWhat the controller takes that leads; [docs/install.md](../../docs/install.md#resources) says more.\n\n")
	table, err := resourcesTable()
	b.Write(table)
	return b.Bytes(), err
}

// valuesSchema is the JSON schema of the values, from the type that they are read into.
func valuesSchema(values []value) ([]byte, error) {
	says := map[string]string{}
	for _, v := range values {
		says[v.path] = v.text
	}
	schema := schemaOf(reflect.TypeFor[manifests.Values](), "", says)
	schema["$schema"] = "http://json-schema.org/draft-07/schema#"
	schema["title"] = "Values of the chart kerf"
	// Helm passes these to every chart.
	schema["properties"].(map[string]any)["global"] = map[string]any{"type": "object"}
	out, err := json.MarshalIndent(schema, "", "  ")
	return append(out, '\n'), err
}

// schemaOf describes a type. Of Kubernetes' own types only the kind is said: the API server judges the rest.
func schemaOf(t reflect.Type, path string, says map[string]string) map[string]any {
	out := map[string]any{}
	if text := says[path]; text != "" {
		out["description"] = text
	}
	kind := func(names ...string) map[string]any {
		out["type"] = names
		if len(names) == 1 {
			out["type"] = names[0]
		}
		return out
	}
	if t.Kind() == reflect.Pointer {
		e := t.Elem()
		if e.PkgPath() == "k8s.io/apimachinery/pkg/util/intstr" {
			return kind("integer", "string", "null")
		}
		if e.Kind() == reflect.Struct {
			return kind("object", "null")
		}
		return kind("integer", "null")
	}
	if path == "settings.kerf" {
		kind("object", "null")
		properties := map[string]any{}
		for name, help := range manifests.OwnSettings() {
			properties[name] = map[string]any{"type": []string{"boolean", "number", "string", "null"}, "description": help}
		}
		out["properties"], out["additionalProperties"] = properties, false
		return out
	}
	switch t.Kind() {
	case reflect.Struct:
		kind("object")
		if !strings.HasSuffix(t.PkgPath(), "internal/setup/manifests") {
			return out
		}
		properties := map[string]any{}
		for i := range t.NumField() {
			name, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
			properties[name] = schemaOf(t.Field(i).Type, strings.TrimPrefix(path+"."+name, "."), says)
		}
		out["properties"], out["additionalProperties"] = properties, false
		return out
	case reflect.Map:
		return kind("object", "null")
	case reflect.Slice:
		out["maxProperties"] = 0 // the Karpenter chart has {} where there is no list
		return kind("array", "object", "null")
	case reflect.Bool:
		return kind("boolean")
	case reflect.Int32, reflect.Int64:
		return kind("integer")
	case reflect.Float64:
		return kind("number")
	case reflect.String:
		return kind("string")
	}
	return kind("integer", "number", "string", "null") // any
}
