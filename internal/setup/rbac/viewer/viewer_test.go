package viewer_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/kerf-sh/kerf/internal/controller/access"
	"github.com/kerf-sh/kerf/internal/controller/decisions"
	"github.com/kerf-sh/kerf/internal/controller/shadow"
	"github.com/kerf-sh/kerf/internal/setup/rbac"

	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/yaml"
)

func roles(t *testing.T) (cluster, own rbacv1.ClusterRole) {
	t.Helper()
	parts := strings.Split(strings.TrimPrefix(string(rbac.Viewer), "---\n"), "\n---\n")
	if len(parts) != 2 {
		t.Fatalf("there are %d roles", len(parts))
	}
	for i, into := range []*rbacv1.ClusterRole{&cluster, &own} {
		if err := yaml.Unmarshal([]byte(parts[i]), into); err != nil {
			t.Fatal(err)
		}
	}
	return cluster, own
}

// The right is for each page that the controller guards, and for nothing else.
func TestViewersMayReadEachPage(t *testing.T) {
	cluster, own := roles(t)
	if cluster.Name != access.Viewer || own.Name != access.Viewer || len(cluster.Rules) != 1 {
		t.Fatalf("got %+v, %+v", cluster, own)
	}
	r := cluster.Rules[0]
	if !slices.Equal(r.Verbs, []string{"get"}) || len(r.Resources) != 0 {
		t.Errorf("got %+v", r)
	}
	for _, path := range []string{decisions.Path, decisions.Path + "/*", shadow.Path} {
		if !slices.Contains(r.NonResourceURLs, path) {
			t.Errorf("%s may not be read", path)
		}
	}
	for _, r := range own.Rules {
		if slices.Contains(r.Resources, "serviceaccounts/token") && !slices.Equal(r.ResourceNames, []string{access.Viewer}) {
			t.Errorf("tokens of %v may be made", r.ResourceNames)
		}
		if slices.Contains(r.Resources, "*") || slices.Contains(r.Resources, "secrets") || slices.Contains(r.Verbs, "*") {
			t.Errorf("it may %v %v", r.Verbs, r.Resources)
		}
	}
}
