package rbac_test

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/util/yaml"

	"github.com/kerf-sh/kerf/internal/setup/rbac"
)

// The controller patches, but for what only an update does: leases and the one ConfigMap, and owner references that block
// deletion, which the API server takes for a right to update finalizers.
func TestTheControllerUpdatesNothingThatItPatches(t *testing.T) {
	updates := []string{"configmaps", "leases", "nodeclaims/finalizers", "nodepools/finalizers"}
	decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(rbac.YAML), 4096)
	for {
		var role rbacv1.ClusterRole // a Role has rules as well
		err := decoder.Decode(&role)
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range role.Rules {
			for _, resource := range r.Resources {
				if slices.Contains(r.Verbs, "update") && !slices.Contains(updates, resource) {
					t.Errorf("%s: it may update %s", role.Kind, resource)
				}
				if resource == "*" || resource == "secrets" || resource == "customresourcedefinitions" || slices.Contains(r.Verbs, "*") {
					t.Errorf("%s: it may %v %s", role.Kind, r.Verbs, resource)
				}
				if resource == "configmaps" && slices.Contains(r.Verbs, "update") && len(r.ResourceNames) != 1 {
					t.Errorf("%s: it may update any ConfigMap", role.Kind)
				}
			}
		}
	}
}
