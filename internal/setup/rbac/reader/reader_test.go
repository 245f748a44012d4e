package reader_test

import (
	"slices"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/yaml"

	"github.com/kerf-sh/kerf/internal/setup/rbac/reader"
)

func TestTheReaderMayReadAndNothingElse(t *testing.T) {
	var role rbacv1.ClusterRole
	if err := yaml.UnmarshalStrict(reader.YAML, &role); err != nil {
		t.Fatal(err)
	}
	if role.Kind != "ClusterRole" || len(role.Rules) == 0 {
		t.Fatalf("got %+v", role)
	}
	for _, r := range role.Rules {
		for _, verb := range r.Verbs {
			if verb == "create" && (slices.Equal(r.Resources, []string{"tokenreviews"}) || slices.Equal(r.Resources, []string{"subjectaccessreviews"})) {
				continue // a question
			}
			if !slices.Contains([]string{"get", "list", "watch"}, verb) {
				t.Errorf("it may %s %v", verb, r.Resources)
			}
		}
		if slices.Contains(r.Resources, "*") || slices.Contains(r.Resources, "secrets") {
			t.Errorf("it may read %v", r.Resources)
		}
	}
}
