package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	yamlv3 "go.yaml.in/yaml/v3"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/util/yaml"
	plain "sigs.k8s.io/yaml"

	"github.com/kerf-sh/kerf/api/crds"
	"github.com/kerf-sh/kerf/internal/setup/manifests"
	"github.com/kerf-sh/kerf/internal/setup/rbac"
	"github.com/kerf-sh/kerf/internal/setup/rbac/reader"
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
		"reader": {reader.YAML, "ClusterRole"}, "viewer": {rbac.Viewer, "ClusterRole"}, "viewer-namespace": {rbac.Viewer, "Role"},
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
		if strings.Contains(name, "capacitybuffers") { // Cluster Autoscaler has that one, too
			kept = fmt.Appendf(nil, "{{- if ne (toString .Values.capacityBuffers) \"false\" }}\n%s{{- end }}\n", bytes.TrimPrefix(kept, []byte("---\n")))
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
	unused, err := plain.Marshal(manifests.UnusedValues())
	if err != nil {
		return err
	}
	files[filepath.Join(dir, "files", "unused-values.yaml")] = append([]byte(writtenInCharts), unused...)
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
      --set settings.clusterName=demo --set settings.interruptionQueue=demo \
      --set controller.image.repository=111122223333.dkr.ecr.eu-west-1.amazonaws.com/kerf --set controller.image.tag=v0.1.0 --wait

No registry holds an image of Kerf yet: [build it, and push it to one of yours](../../docs/install.md#the-image).

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
	b.WriteString(`
## When Helm refuses a value

Helm compares values with the chart's schema before it changes anything, and words what it finds itself. ` + "`kerf manifests -f values.yaml`" + `
reads the same files and says the same in plainer words.

`)
	head(b, "Helm says", "what it means", "what to do")
	row(b, "`additional properties 'X' not allowed`", "no value has that name: a typing error, or a value of another chart", "correct the name; or remove it: from the file of values, or from the values that a release brings along by `--set PATH.X=null`")
	row(b, "`got number, want string`, and the like", "a value of another type", "put text in quotes; numbers may be in quotes as well")
	row(b, "`value must be one of …`, `does not match pattern …`", "the controller would not start with it", "[settings](../../docs/reference/settings.md) says what each setting takes")
	row(b, "`value controller.env: X is set from Y`", "the chart sets that variable already, and a Deployment can't have it twice", "set the value Y, and remove X from `controller.env`")
	b.WriteString(`
PATH is in Helm's line: ` + "`at '/settings/featureGates'`" + ` stands for ` + "`--set settings.featureGates.X=null`" + `, and ` + "`at ''`" + ` for ` + "`--set X=null`" + `.

## Values of Karpenter's charts without effect

A release that has them is upgraded all the same, and Helm's notes name those that are set. Remove them when it suits you.

`)
	head(b, "value", "why it has no effect, and what to set instead")
	for _, u := range manifests.UnusedValues() {
		row(b, code(u.Path), u.Why)
	}
	b.WriteString("\n## Resources\n\nWhat the controller takes that leads; [docs/install.md](../../docs/install.md#resources) says more.\n\n")
	table, err := resourcesTable()
	b.Write(table)
	return b.Bytes(), err
}
