package simulate

import (
	"reflect"
	"strings"
	"testing"
)

// hearMove lets a watcher hear that a pod of a node that is being removed is evicted.
func hearMove(w *watcher, pod, workload string) {
	node := map[string]any{"metadata": map[string]any{"name": "n"}, "spec": map[string]any{"taints": []any{map[string]any{"key": "karpenter.sh/disrupted"}}}}
	w.hear("/v1/nodes", nil, node)
	meta := map[string]any{"namespace": "shop", "name": pod, "labels": map[string]any{"simulate.kerf.sh/workload": workload}}
	of := map[string]any{"metadata": meta, "spec": map[string]any{"nodeName": "n"}, "status": map[string]any{"phase": "Running"}}
	w.hear("/v1/pods", nil, of)
	meta["deletionTimestamp"] = "now"
	w.hear("/v1/pods", of, of)
}

// Who asks whether a service was moved is told, for each pod and in all.
func TestMovedPodsHaveAWorkload(t *testing.T) {
	w := newWatcher()
	var said []string
	w.told = func(pod, workload, node, reason string) {
		said = append(said, strings.Join([]string{pod, workload, node, reason}, " "))
	}
	hearMove(w, "web-1", "web")
	hearMove(w, "api-1", "api")
	hearMove(w, "web-2", "web")
	if len(said) != 3 || said[1] != "shop/api-1 shop/api n other" {
		t.Errorf("%q", said)
	}
	reasons, workloads := movedOf(w.moved)
	want := []MovedWorkload{{"shop/web", 2, []Count{{"other", 2}}}, {"shop/api", 1, []Count{{"other", 1}}}}
	if !reflect.DeepEqual(workloads, want) || !reflect.DeepEqual(reasons, []Count{{"other", 3}}) {
		t.Errorf("%+v %+v", reasons, workloads)
	}
	a, b := runsOf("a", 1), runsOf("b", 1)
	a[0].MovedWorkloads = workloads
	text, data, page := written(t, &Report{Runs: a})
	if !strings.Contains(text, "  workloads  shop/web 2, shop/api 1\n") || !strings.Contains(page, "Pods moved, by workload") || !strings.Contains(data, `"movedWorkloads":[{"workload":"shop/web","count":2,"reasons":[{"reason":"other","count":2}]}`) {
		t.Error(text, data)
	}
	c, err := Compare([]string{"a", "b"}, [][]*Result{a, b})
	if err != nil {
		t.Fatal(err)
	}
	text, _, page = written(t, &Report{Compared: []string{"a", "b"}, Comparison: c})
	if !strings.Contains(text, "a moved most: shop/web 2, shop/api 1\n") || strings.Contains(text, "b moved most") || !strings.Contains(page, "shop/web") {
		t.Error(text)
	}
}

// Of several seeds every form has the reasons of moves and the workloads as means, and says so.
func TestWhyPodsWereMovedIsSaidAsMeans(t *testing.T) {
	a, b := runsOf("a", 1, 1), runsOf("b", 1, 1)
	for i, n := range []int{300, 500} {
		a[i].Moved = []Count{{"Underutilized", n}, {"Drifted", 60 * i}}
		a[i].MovedWorkloads = []MovedWorkload{{"shop/web", n + 60*i, a[i].Moved}}
	}
	c, err := Compare([]string{"a", "b"}, [][]*Result{a, b})
	if err != nil {
		t.Fatal(err)
	}
	const why, most, means = "moved, by why: 400 Underutilized, 30 Drifted", "moved most: shop/web 430", " (means over 2 seeds)\n"
	for of, r := range map[string]*Report{"\n": {Runs: a}, "\na ": {Compared: []string{"a", "b"}, Comparison: c}} {
		text, _, page := written(t, r)
		if !strings.Contains(text, of+why+means) || !strings.Contains(text, strings.TrimPrefix(of, "\n")+most+means) || strings.Contains(text, "b moved, by why") {
			t.Errorf("no means in\n%s", text)
		}
		if !strings.Contains(page, "Pods moved (means over 2 seeds)") || !strings.Contains(page, ">400<") || strings.Contains(page, ">800<") {
			t.Error("the page has no means")
		}
	}
}
