package workload_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kerf-sh/kerf/internal/setup/snapshot"
	"github.com/kerf-sh/kerf/internal/simulate/workload"
)

const manifests = `apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop}
spec:
  replicas: 3
  template:
    metadata: {labels: {app: web}}
    spec:
      priorityClassName: high
      nodeName: gone
      volumes: [{name: data, persistentVolumeClaim: {claimName: web}}]
      containers: [{name: web, image: x, env: [{name: KEY, value: secret}], resources: {requests: {cpu: 500m}}}]
---
apiVersion: v1
kind: List
items:
- {apiVersion: scheduling.k8s.io/v1, kind: PriorityClass, metadata: {name: high}, value: 100}
- {apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {name: web, namespace: shop}, spec: {minAvailable: 2, selector: {matchLabels: {app: web}}}}
- {apiVersion: batch/v1, kind: Job, metadata: {name: load}, spec: {parallelism: 2, completions: 3, template: {metadata: {annotations: {simulate.kerf.sh/runs-for: 90s}}, spec: {containers: [{name: a, image: x}]}}}}
- {apiVersion: apps/v1, kind: DaemonSet, metadata: {name: log, namespace: kube-system}, spec: {template: {spec: {containers: [{name: a, image: x}]}}}}
- {apiVersion: v1, kind: Service, metadata: {name: web}}
`

func TestManifestsBecomeAWorkload(t *testing.T) {
	w, err := workload.FromManifests("apps/", map[string][]byte{"apps/a.yaml": []byte(manifests)})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Check(); err != nil {
		t.Error(err)
	}
	want := []workload.Step{
		{Workload: "shop/web", Template: "shop/web", Replicas: 3},
		{Workload: "default/load", Template: "default/load", Replicas: 2, Duration: 90 * time.Second},
		{At: 90 * time.Second, Workload: "default/load", Template: "default/load", Replicas: 1, Duration: 90 * time.Second},
	}
	if d := cmp.Diff(want, w.Steps); d != "" {
		t.Error(d)
	}
	s := w.Templates["shop/web"].Spec
	if s.NodeName != "" || s.Volumes != nil || s.Containers[0].Env != nil || s.Priority == nil || *s.Priority != 100 {
		t.Errorf("the template is %+v", s)
	}
	if len(w.Daemons) != 1 || len(w.Objects) != 2 {
		t.Errorf("%d daemons, %d objects", len(w.Daemons), len(w.Objects))
	}
	said := ""
	for _, n := range w.Notes {
		said += n.What + " " + n.Example + "\n"
	}
	for _, want := range []string{"volumes are left out", "Service web", "nobody is preempted"} {
		if !strings.Contains(said, want) {
			t.Errorf("the notes do not say %q: %s", want, said)
		}
	}
}

func TestWrongManifests(t *testing.T) {
	for text, want := range map[string]string{
		"a: [":    "a.yaml: document 1 is no YAML: ",
		"kind: x": "a.yaml: document 1: it is no Kubernetes object: apiVersion or kind is missing",
		"# empty": "apps/: there is nothing that has pods",
		manifests[:strings.Index(manifests, "---")] + "  extra: 1\n": `a.yaml: Deployment "web": `,
		strings.Replace(manifests, "90s", "soon", 1):                 `a.yaml: Job "default/load": annotation simulate.kerf.sh/runs-for is "soon"; want a duration`,
	} {
		if _, err := workload.FromManifests("apps/", map[string][]byte{"a.yaml": []byte(text)}); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s\n got %v\nwant %s", text, err, want)
		}
	}
}

const pods = `{"apiVersion": "v1", "kind": "List", "items": [
{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web-1-a", "namespace": "shop", "ownerReferences": [{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web-1", "uid": "1", "controller": true}]}, "spec": {"nodeName": "n", "containers": [{"name": "web", "resources": {"requests": {"cpu": "1"}}}]}, "status": {"phase": "Running"}},
{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web-1-b", "namespace": "shop", "ownerReferences": [{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web-1", "uid": "1", "controller": true}]}, "spec": {"nodeName": "n", "containers": [{"name": "web", "resources": {"requests": {"cpu": "1"}}}]}, "status": {"phase": "Pending"}},
{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "old", "namespace": "shop"}, "spec": {"containers": [{"name": "web"}]}, "status": {"phase": "Succeeded"}},
{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "alone", "namespace": "shop"}, "spec": {"containers": [{"name": "web"}]}, "status": {"phase": "Running"}},
{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "log-x", "namespace": "shop", "ownerReferences": [{"apiVersion": "apps/v1", "kind": "DaemonSet", "name": "log", "uid": "2", "controller": true}]}, "spec": {"containers": [{"name": "web"}]}, "status": {"phase": "Running"}},
{"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": {"name": "web-1", "namespace": "shop", "uid": "1", "ownerReferences": [{"apiVersion": "apps/v1", "kind": "Deployment", "name": "web", "uid": "3", "controller": true}]}, "spec": {}}
]}`

func TestASnapshotBecomesAWorkload(t *testing.T) {
	s, err := snapshot.Read(strings.NewReader(pods))
	if err != nil {
		t.Fatal(err)
	}
	w, err := workload.FromSnapshot("cluster.json", s)
	if err != nil {
		t.Fatal(err)
	}
	want := []workload.Step{
		{Template: "pod/shop/alone", Replicas: 1},
		{Workload: "shop/web", Template: "shop/web", Replicas: 2},
	}
	if d := cmp.Diff(want, w.Steps); d != "" {
		t.Error(d)
	}
	if q := w.Templates["shop/web"].Spec.Containers[0].Resources.Requests.Cpu(); q.String() != "1" {
		t.Errorf("a pod requests %s", q)
	}
}

// What a vertical autoscaler, a LimitRange or a webhook made of a Deployment's pods is what they ask for. Pods of one owner that ask for
// different things each ask for theirs; what differs between all pods, such as a StatefulSet's labels, makes no difference.
func TestASnapshotsPodsAskForWhatTheyAskFor(t *testing.T) {
	pod := func(name, owner, kind, labels, requests string) string {
		return fmt.Sprintf(`{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": %q, "namespace": "shop", "labels": {%s}, "annotations": {"note": %[1]q}, "ownerReferences": [{"apiVersion": "apps/v1", "kind": %[4]q, "name": %[3]q, "uid": "1", "controller": true}]},
"spec": {"hostname": %[1]q, "containers": [{"name": "web", "resources": {"requests": %[5]s}}, {"name": "proxy", "resources": {"requests": {"cpu": "100m"}}}], "tolerations": [{"key": "node.kubernetes.io/not-ready", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300}]}, "status": {"phase": "Running"}}`, name, labels, owner, kind, requests)
	}
	list := strings.Join([]string{
		pod("web-1-a", "web-1", "ReplicaSet", `"app": "web", "pod-template-hash": "1"`, `{"cpu": "2"}`),
		pod("web-1-b", "web-1", "ReplicaSet", `"app": "web", "pod-template-hash": "1"`, `{"cpu": "1"}`),
		pod("web-2-c", "web-2", "ReplicaSet", `"app": "web", "pod-template-hash": "2"`, `{"cpu": "1"}`),
		pod("db-0", "db", "StatefulSet", `"app": "db", "statefulset.kubernetes.io/pod-name": "db-0"`, `{"cpu": "3"}`),
		pod("db-1", "db", "StatefulSet", `"app": "db", "statefulset.kubernetes.io/pod-name": "db-1"`, `{"cpu": "3"}`),
		`{"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": {"name": "web-1", "namespace": "shop", "ownerReferences": [{"apiVersion": "apps/v1", "kind": "Deployment", "name": "web", "uid": "3", "controller": true}]}, "spec": {}}`,
		`{"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": {"name": "web-2", "namespace": "shop", "ownerReferences": [{"apiVersion": "apps/v1", "kind": "Deployment", "name": "web", "uid": "3", "controller": true}]}, "spec": {}}`,
		`{"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web", "namespace": "shop"}, "spec": {"replicas": 3, "template": {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "web", "resources": {"requests": {"cpu": "100m"}}}]}}}}`,
	}, ",\n")
	s, err := snapshot.Read(strings.NewReader(`{"apiVersion": "v1", "kind": "List", "items": [` + list + `]}`))
	if err != nil {
		t.Fatal(err)
	}
	w, err := workload.FromSnapshot("cluster.json", s)
	if err != nil {
		t.Fatal(err)
	}
	want := []workload.Step{
		{Workload: "shop/web", Template: "shop/web", Replicas: 2},
		{Workload: "shop/web-2", Template: "shop/web-2", Replicas: 1},
		{Workload: "shop/db", Template: "shop/db", Replicas: 2},
	}
	if d := cmp.Diff(want, w.Steps); d != "" {
		t.Error(d)
	}
	for name, cpu := range map[string]string{"shop/web": "1", "shop/web-2": "2", "shop/db": "3"} {
		p := w.Templates[name]
		if p == nil || len(p.Spec.Containers) != 2 || p.Spec.Containers[0].Resources.Requests.Cpu().String() != cpu || p.Labels["app"] == "" || p.Labels["statefulset.kubernetes.io/pod-name"] != "" || p.Spec.Hostname != "" {
			t.Errorf("%s is %+v", name, p)
		}
	}
	if w.Templates["shop/web"].Labels["pod-template-hash"] == "" {
		t.Error("a label is gone by which affinity may select, as the API server has it for matchLabelKeys")
	}
	if !slices.ContainsFunc(w.Notes, func(n workload.Note) bool {
		return strings.Contains(n.What, "ask for something else") && n.Example == "shop/web-2" && n.Count == 1
	}) {
		t.Errorf("notes: %+v", w.Notes)
	}
}
