package workload_test

import (
	"strings"
	"testing"
	"time"

	"github.com/kerf-sh/kerf/internal/simulate/workload"
)

const besideTrace = `arrival_s,workload,replicas,duration_s,cpu_millicores,memory_mib,template
0,shop/web,6,,,,web
0,shop/cache,2,,500,1024,
600,,4,300,500,1024,
`

const besideTemplates = `{apiVersion: apps/v1, kind: Deployment, metadata: {name: web}, spec: {template: {metadata: {labels: {app: web}}, spec: {priorityClassName: high, containers: [{name: web, image: x, resources: {requests: {cpu: 1}}}]}}}}`

const besideObjects = `apiVersion: v1
kind: List
items:
- {apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {name: web, namespace: shop}, spec: {minAvailable: 80%, selector: {matchLabels: {app: web}}}}
- {apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {name: cache, namespace: shop}, spec: {maxUnavailable: 1, selector: {matchLabels: {simulate.kerf.sh/workload: cache}}}}
- {apiVersion: scheduling.k8s.io/v1, kind: PriorityClass, metadata: {name: high}, value: 100}
- {apiVersion: apps/v1, kind: DaemonSet, metadata: {name: log, namespace: kube-system}, spec: {template: {spec: {containers: [{name: a, image: x}]}}}}
- {apiVersion: apps/v1, kind: Deployment, metadata: {name: other, namespace: shop}, spec: {template: {spec: {containers: [{name: a, image: x}]}}}}
- {apiVersion: argoproj.io/v1alpha1, kind: Rollout, metadata: {name: other, namespace: shop}, spec: {template: {spec: {containers: [{name: a, image: x}]}}}}
`

func traceWith(t *testing.T, objects string) (*workload.Workload, error) {
	t.Helper()
	templates, err := workload.ReadTemplates("templates.yaml", strings.NewReader(besideTemplates))
	if err != nil {
		t.Fatal(err)
	}
	w, err := workload.Read("trace.csv", strings.NewReader(besideTrace), templates)
	if err != nil {
		t.Fatal(err)
	}
	return w, w.AddManifests("beside/", map[string][]byte{"beside/a.yaml": []byte(objects)})
}

// A trace says which pods there are, and manifests beside it what it has no columns for. A budget of pods of one part of the trace is there
// in all parts.
func TestBudgetsStandBesideATrace(t *testing.T) {
	w, err := traceWith(t, besideObjects)
	if err != nil {
		t.Fatal(err)
	}
	var kinds []string
	for _, o := range w.Objects {
		kinds = append(kinds, o.GetKind()+"/"+o.GetName())
	}
	if got := strings.Join(kinds, " "); got != "PodDisruptionBudget/web PodDisruptionBudget/cache PriorityClass/high" || len(w.Daemons) != 1 || len(w.Steps) != 3 {
		t.Errorf("%s, %d daemons, %d steps", got, len(w.Daemons), len(w.Steps))
	}
	for name, template := range w.Templates {
		if p := template.Spec.Priority; strings.HasPrefix(name, "web") && (p == nil || *p != 100) {
			t.Errorf("template %s has the priority %v", name, p)
		}
	}
	if n := w.Notes[len(w.Notes)-1]; w.Source != "trace.csv, with beside/" || !strings.Contains(notesOf(w), "Deployments, StatefulSets, ReplicaSets, Jobs and Pods beside a trace are left out") || !strings.Contains(notesOf(w), "objects of other kinds are left out") {
		t.Errorf("%s: %+v", w.Source, n)
	}
	if part := w.Window(10*time.Minute, 0, 1); len(part.Objects) != 3 {
		t.Errorf("%d objects beside a part of the trace", len(part.Objects))
	}
}

func notesOf(w *workload.Workload) string {
	var b strings.Builder
	for _, n := range w.Notes {
		b.WriteString(n.What + "\n")
	}
	return b.String()
}

// A budget that would hold nothing is a mistake in its labels or its namespace, and both are said with the way out.
func TestABudgetOfNoPodIsRefused(t *testing.T) {
	budget := func(namespace, selector string) string {
		return "apiVersion: policy/v1\nkind: PodDisruptionBudget\nmetadata: {name: b, namespace: " + namespace + "}\nspec: {minAvailable: 1" + selector + "}\n"
	}
	for objects, want := range map[string]string{
		budget("shop", ", selector: {matchLabels: {app: wbe}}"): `beside/: PodDisruptionBudget "b" selects no pod of trace.csv: none in the namespace shop has labels that match "app=wbe"; pods have the labels of the template that their row names, and simulate.kerf.sh/workload=cache: select that`,
		budget("chop", ", selector: {matchLabels: {app: web}}"): `beside/: PodDisruptionBudget "b" selects no pod of trace.csv: none is in the namespace chop (there are default, shop)`,
		budget("shop", ""): `beside/: PodDisruptionBudget "b" selects no pod`,
		budget("shop", ", selector: {matchExpressions: [{key: app, operator: Is, values: [web]}]}"): `beside/: PodDisruptionBudget "b" selects no pod of trace.csv: its selector can't be read: "Is" is not a valid label selector operator`,
		budget("shop", ", maxUnavailable: 1, selector: {}"):                                         `beside/: PodDisruptionBudget "b" is invalid: minAvailable and maxUnavailable exclude each other`,
		budget("shop", ", selector: {matchLabels: {app: log}}") + "---\napiVersion: apps/v1\nkind: DaemonSet\nmetadata: {name: log, namespace: shop}\nspec: {selector: {matchLabels: {app: log}}, template: {metadata: {labels: {app: log}}, spec: {containers: [{name: a, image: x}]}}}\n": "",
		budget("shop", ", selector: {}"):    "",
		budget("default", ", selector: {}"): "",
	} {
		_, err := traceWith(t, objects)
		if want == "" && err == nil {
			continue
		}
		if err == nil || want == "" || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s\n got %v\nwant %s", objects, err, want)
		}
	}
}
