package snapshot_test

import (
	"slices"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/yaml"

	"github.com/kerf-sh/kerf/internal/setup/snapshot"
)

// The role allows to list each kind that is read, and nothing else.
func TestTheRoleIsWhatIsRead(t *testing.T) {
	var role rbacv1.ClusterRole
	if err := yaml.UnmarshalStrict(snapshot.Role, &role); err != nil {
		t.Fatal(err)
	}
	var allowed, read []string
	for _, r := range role.Rules {
		if len(r.Verbs) != 1 || r.Verbs[0] != "list" {
			t.Errorf("%v may be done with %v", r.Verbs, r.Resources)
		}
		for _, g := range r.APIGroups {
			for _, x := range r.Resources {
				allowed = append(allowed, x+"."+g)
			}
		}
	}
	for _, k := range snapshot.Kinds() {
		read = append(read, k.Resource+"."+k.Group)
	}
	slices.Sort(allowed)
	slices.Sort(read)
	if !slices.Equal(allowed, read) {
		t.Errorf("the role allows\n%v\nand read are\n%v", allowed, read)
	}
}
