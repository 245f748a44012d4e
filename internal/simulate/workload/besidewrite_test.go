package workload_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kerf-sh/kerf/internal/setup/snapshot"
	"github.com/kerf-sh/kerf/internal/simulate/workload"
)

const clusterList = `{"apiVersion": "v1", "kind": "List", "items": [
{"apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": {"name": "log", "namespace": "kube-system", "labels": {"app": "log"}}, "spec": {"selector": {"matchLabels": {"app": "log"}}, "template": {"metadata": {"labels": {"app": "log"}},
  "spec": {"priorityClassName": "high", "tolerations": [{"operator": "Exists"}], "containers": [{"name": "log", "image": "x", "resources": {"requests": {"cpu": "200m"}}}]}}}},
{"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": "log", "namespace": "kube-system"}, "spec": {"maxUnavailable": "10%", "selector": {"matchLabels": {"app": "log"}}}},
{"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": "web", "namespace": "shop"}, "spec": {"minAvailable": 2, "selector": {"matchLabels": {"app": "web"}}}, "status": {"currentHealthy": 2, "desiredHealthy": 2, "disruptionsAllowed": 0, "expectedPods": 2}},
{"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "high"}, "value": 100},
{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web-1", "namespace": "shop", "labels": {"app": "web"}, "ownerReferences": [{"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "web", "uid": "u", "controller": true}]}, "spec": {"containers": [{"name": "web", "image": "x"}]}},
{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web-2", "namespace": "shop", "labels": {"app": "web"}, "ownerReferences": [{"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "web", "uid": "u", "controller": true}]}, "spec": {"containers": [{"name": "web", "image": "x"}]}}`

// writtenAndRead reads a cluster, and writes and reads its workload.
func writtenAndRead(t *testing.T, list string) (was, is *workload.Workload, idle []string) {
	t.Helper()
	s, err := snapshot.Read(strings.NewReader(list))
	if err != nil {
		t.Fatal(err)
	}
	if was, err = workload.FromSnapshot("cluster.json", s); err != nil {
		t.Fatal(err)
	}
	var trace, templates, manifests bytes.Buffer
	objects, idle := was.Beside()
	for _, err := range []error{was.Write(&trace), was.WriteTemplates(&templates), workload.WriteManifests(&manifests, objects)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	named, err := workload.ReadTemplates("o.templates.json", &templates)
	if err != nil {
		t.Fatal(err)
	}
	if is, err = workload.Read("o.csv", &trace, named); err != nil {
		t.Fatal(err)
	}
	if err := is.AddManifests("o.manifests.json", map[string][]byte{"o.manifests.json": manifests.Bytes()}); err != nil {
		t.Fatal(err)
	}
	return was, is, idle
}

// What a trace can't say stands in a file beside it, and is the same once it is read.
func TestWhatStandsBesideATraceIsReadAsItWasWritten(t *testing.T) {
	was, is, idle := writtenAndRead(t, clusterList+`]}`)
	if len(was.Daemons) != 1 || len(was.Objects) != 3 || len(idle) > 0 {
		t.Fatalf("%d daemons, %d objects, idle: %v", len(was.Daemons), len(was.Objects), idle)
	}
	if d := cmp.Diff(was.Daemons, is.Daemons); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff(was.Objects, is.Objects); d != "" {
		t.Error(d)
	}
}

// A cluster has budgets of pods that are not played, as of a controller's own. They hold nothing, and beside a trace they are refused.
func TestABudgetOfNoPodIsNotWritten(t *testing.T) {
	was, is, idle := writtenAndRead(t, clusterList+`,
{"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": "gone", "namespace": "shop"}, "spec": {"minAvailable": 1, "selector": {"matchLabels": {"app": "gone"}}}}]}`)
	if d := cmp.Diff([]string{"shop/gone"}, idle); d != "" || len(was.Objects) != 4 || len(is.Objects) != 3 {
		t.Errorf("%d objects became %d, idle: %s", len(was.Objects), len(is.Objects), d)
	}
}
