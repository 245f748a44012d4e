package changeplan

import (
	"errors"
	"strings"
	"testing"
	"time"

	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
)

func TestWhatFilesHoldAndWhereTheyAreWrong(t *testing.T) {
	for sentence, tt := range map[string]struct {
		text    string
		found   string // kinds and names with lines
		skipped string
		err     string
	}{
		"several objects": {"apiVersion: karpenter.sh/v1\nkind: NodePool\nmetadata: {name: a}\n---\napiVersion: karpenter.k8s.aws/v1\nkind: EC2NodeClass\nmetadata: {name: b}\n",
			"NodePool a 1, EC2NodeClass b 5", "", ""},
		"JSON":                 {`{"apiVersion": "karpenter.sh/v1", "kind": "NodePool", "metadata": {"name": "a"}}`, "NodePool a 1", "", ""},
		"a list":               {"apiVersion: v1\nkind: List\nitems:\n- {apiVersion: karpenter.sh/v1, kind: NodePool, metadata: {name: a}}\n", "NodePool a 4", "", ""},
		"other kinds":          {"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\n", "", "f.yaml:1: ConfigMap c", ""},
		"nothing but comments": {"# nothing\n---\n# here\n", "", "", ""},
		"no YAML":              {"a: b\nc: [d\n", "", "", "f.yaml:"},
		"an old version":       {"apiVersion: karpenter.sh/v1beta1\nkind: NodePool\nmetadata: {name: a}\n", "", "", `f.yaml:1: NodePool a of apiVersion "karpenter.sh/v1beta1": want karpenter.sh/v1`},
		"an older kind":        {"apiVersion: karpenter.sh/v1alpha5\nkind: Provisioner\nmetadata: {name: a}\n", "", "", "f.yaml:2: Provisioner a is of an older API"},
		"no name":              {"\nkind: NodePool\napiVersion: karpenter.sh/v1\n", "", "", "f.yaml:2: NodePool has no metadata.name"},
		"no object":            {"- a\n", "", "", "f.yaml:1: this is no object of Kubernetes"},
		"a template of Helm":   {"name: {{ .Release.Name }}\n{{- if x }}\n", "", "", "it has {{, as a template of Helm: give what this writes in place of the folder: helm template CHART > all.yaml"},
	} {
		t.Run(sentence, func(t *testing.T) {
			documents, skipped, err := Parse(File{Name: "f.yaml", Data: []byte(tt.text)})
			var found []string
			for _, d := range documents {
				found = append(found, title(d.Kind, d.Name)+" "+strings.TrimPrefix(d.from(), "f.yaml:"))
			}
			text := ""
			if err != nil {
				text = err.Error()
			}
			if strings.Join(found, ", ") != tt.found || strings.Join(skipped, ", ") != tt.skipped || (err != nil) != (tt.err != "") || !strings.Contains(text, tt.err) {
				t.Errorf("found %q, skipped %q, error %v", found, skipped, err)
			}
		})
	}
}

func TestFilesThatObjectsAreMadeOfNameTheWayOut(t *testing.T) {
	for name, want := range map[string]string{"d/kustomization.yaml": "kustomize build", "d/Chart.yaml": "helm template", "d/values-prod.yaml": "helm template", "d/other.yaml": ""} {
		_, _, err := Parse(File{Name: name, Data: []byte("resources: []\n")})
		const begin = ":1: this is no object of Kubernetes: it has no apiVersion and no kind"
		if err == nil || !strings.HasPrefix(err.Error(), name+begin) || !strings.Contains(err.Error(), want) || want == "" && err.Error() != name+begin {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestAFieldThatThereIsNotHasOneThatWasMeant(t *testing.T) {
	for path, want := range map[string]string{"spec.amiFamilie": "amiFamily", "spec.blockDeviceMappings[0].ebs.volumeSice": "volumeSize", "spec.entirelyOfAnother": "", "spec.nothing.here": ""} {
		if got := (&Document{Kind: KindClass}).meant(path); got != want {
			t.Errorf("%s: got %q, want %q", path, got, want)
		}
	}
}

func TestAFieldHasItsLine(t *testing.T) {
	documents, _, err := Parse(File{Name: "f.yaml", Data: []byte(`apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: a}
spec:
  template:
    metadata:
      labels:
        example.com/team: a
    spec:
      requirements:
      - key: kubernetes.io/arch
        operator: In
      - key: x
        operator: Is
`)})
	if err != nil {
		t.Fatal(err)
	}
	for path, line := range map[string]int{
		"spec.template.spec.requirements[1].operator":       14,
		"spec.template.spec.requirements[1].values":         13,
		"spec.template.spec.requirements":                   10,
		"spec.template.metadata.labels[example.com/team]":   8,
		"spec.disruption.budgets[0].nodes":                  4,
		"":                                                  1,
		"spec.template.spec.requirements[7]":                10,
		`spec.template.metadata.labels["example.com/team"]`: 8,
	} {
		e, ok := errors.AsType[*At](documents[0].where(path, "no"))
		if !ok || e.Line != line {
			t.Errorf("%s: line %d, want %d", path, e.Line, line)
		}
	}
}

func TestABudgetThatCannotBeReadIsRefused(t *testing.T) {
	for name, tt := range map[string]struct {
		budget karpv1.Budget
		err    string
	}{
		"every night":               {karpv1.Budget{Nodes: "10%", Schedule: new("0 1 * * *"), Duration: new(karpv1.NewDuration(time.Hour))}, ""},
		"a minute that is not":      {karpv1.Budget{Nodes: "10%", Schedule: new("61 25 * * *"), Duration: new(karpv1.NewDuration(time.Hour))}, `f.yaml:7: spec.disruption.budgets[1]: schedule "61 25 * * *"`},
		"a schedule without an end": {karpv1.Budget{Nodes: "10%", Schedule: new("0 1 * * *")}, "schedule and duration go together"},
	} {
		documents, _, err := Parse(File{Name: "f.yaml", Data: []byte("apiVersion: karpenter.sh/v1\nkind: NodePool\nmetadata: {name: web}\nspec:\n  disruption:\n    budgets: [{nodes: 1},\n      {nodes: 10%}]\n")})
		if err != nil {
			t.Fatal(err)
		}
		pool := newPlace().pool
		pool.Spec.Disruption.Budgets = append(pool.Spec.Disruption.Budgets, tt.budget)
		if err := documents[0].judge(pool); (err != nil) != (tt.err != "") || err != nil && !strings.Contains(err.Error(), tt.err) {
			t.Errorf("%s: %v, want %q", name, err, tt.err)
		}
	}
}
