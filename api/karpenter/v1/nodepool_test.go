package v1_test

import (
	"encoding/json"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"

	v1 "github.com/kerf-sh/kerf/api/karpenter/v1"
)

// An empty list of budgets means no bound, and no list means 10%: a write that loses the
// difference changes what the user asked for. Empty labels and taints are part of the hash.
func TestEmptyListsOfANodePoolSurviveAWrite(t *testing.T) {
	const text = `{"spec":{"template":{"metadata":{"labels":{},"annotations":{}},"spec":{"taints":[],"startupTaints":[],"requirements":[],"nodeClassRef":{"group":"g","kind":"k","name":"n"}}},"disruption":{"budgets":[]}}}`
	var pool v1.NodePool
	if err := json.Unmarshal([]byte(text), &pool); err != nil {
		t.Fatal(err)
	}
	direct, err := json.Marshal(&pool)
	if err != nil {
		t.Fatal(err)
	}
	tree, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&pool)
	if err != nil {
		t.Fatal(err)
	}
	converted, err := json.Marshal(tree)
	if err != nil {
		t.Fatal(err)
	}
	for how, got := range map[string][]byte{"as JSON": direct, "by way of an unstructured object": converted} {
		for _, part := range []string{`"budgets":[]`, `"labels":{}`, `"annotations":{}`, `"taints":[]`, `"startupTaints":[]`} {
			if !strings.Contains(string(got), part) {
				t.Errorf("%s: %s is lost in %s", how, part, got)
			}
		}
		var again v1.NodePool
		if err := json.Unmarshal(got, &again); err != nil {
			t.Fatal(err)
		}
		if again.Hash() != pool.Hash() {
			t.Errorf("%s: the hash changed", how)
		}
	}
	for _, part := range []string{"consolidateAfter", "expireAfter"} {
		if strings.Contains(string(direct), part) {
			t.Errorf("%s appears from nothing in %s", part, direct)
		}
	}
}
