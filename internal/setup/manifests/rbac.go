package manifests

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/yaml"

	"github.com/kerf-sh/kerf/internal/setup/rbac"
	"github.com/kerf-sh/kerf/internal/setup/rbac/reader"
)

const rbacGroup = "rbac.authorization.k8s.io"

// rulesOf are the rules of the role of a kind in generated YAML.
func rulesOf(text []byte, kind string) []rbacv1.PolicyRule {
	decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(text), 4096)
	for {
		var role rbacv1.ClusterRole // a Role has rules as well
		err := decoder.Decode(&role)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			panic(fmt.Sprintf("the generated roles, which are embedded, can't be read: %v", err))
		}
		if role.Kind == kind {
			return role.Rules
		}
	}
}

// shadow tells whether the controller changes nothing. It needs the rights of a reader then, and no budget.
func (i *installation) shadow() bool {
	on, err := strconv.ParseBool(scalar(i.v.Settings.Kerf["shadow"]))
	return err == nil && on
}

// clusterRole has what the controller needs with the features that are switched on.
func (i *installation) clusterRole() *rbacv1.ClusterRole {
	rules := rulesOf(rbac.YAML, "ClusterRole")
	if i.shadow() {
		rules = rulesOf(reader.YAML, "ClusterRole")
	}
	for _, f := range []struct {
		on   bool
		text []byte
	}{
		{i.v.Settings.FeatureGates.NodeOverlay, rbac.Overlays},
		{i.v.Settings.FeatureGates.CapacityBuffer, rbac.Buffers},
		{i.v.Settings.SchedulerConfig != "", rbac.Spreads},
	} {
		if f.on && !i.shadow() {
			rules = append(rules, rulesOf(f.text, "ClusterRole")...)
		}
	}
	for _, r := range i.v.AdditionalClusterRoleRules {
		rules = append(rules, rbacv1.PolicyRule{APIGroups: r.APIGroups, Resources: r.Resources, ResourceNames: r.ResourceNames, NonResourceURLs: r.NonResourceURLs, Verbs: r.Verbs})
	}
	return &rbacv1.ClusterRole{TypeMeta: metav1.TypeMeta{APIVersion: rbacGroup + "/v1", Kind: "ClusterRole"}, ObjectMeta: i.meta(i.fullname), Rules: rules}
}

// adminRole lets those who administer namespaces by the role "admin" work with Kerf's objects.
func (i *installation) adminRole() *rbacv1.ClusterRole {
	m := i.meta(i.fullname + "-admin")
	m.Labels["rbac.authorization.k8s.io/aggregate-to-admin"] = "true"
	verbs := []string{"get", "list", "watch", "create", "delete", "patch"}
	return &rbacv1.ClusterRole{TypeMeta: metav1.TypeMeta{APIVersion: rbacGroup + "/v1", Kind: "ClusterRole"}, ObjectMeta: m, Rules: []rbacv1.PolicyRule{
		{APIGroups: []string{"karpenter.sh"}, Resources: []string{"nodepools", "nodepools/status", "nodeclaims", "nodeclaims/status", "nodeoverlays", "nodeoverlays/status"}, Verbs: verbs},
		{APIGroups: []string{"karpenter.k8s.aws"}, Resources: []string{"ec2nodeclasses"}, Verbs: verbs},
	}}
}

func (i *installation) clusterRoleBinding() *rbacv1.ClusterRoleBinding {
	return &rbacv1.ClusterRoleBinding{
		TypeMeta: metav1.TypeMeta{APIVersion: rbacGroup + "/v1", Kind: "ClusterRoleBinding"}, ObjectMeta: i.meta(i.fullname),
		RoleRef: rbacv1.RoleRef{APIGroup: rbacGroup, Kind: "ClusterRole", Name: i.fullname}, Subjects: i.subjects(),
	}
}

// role has the rights in the controller's own namespace: its Lease, and what it learned of nodes' memory.
func (i *installation) role() *rbacv1.Role {
	return &rbacv1.Role{TypeMeta: metav1.TypeMeta{APIVersion: rbacGroup + "/v1", Kind: "Role"}, ObjectMeta: i.namespaced(i.fullname), Rules: rulesOf(rbac.YAML, "Role")}
}

func (i *installation) roleBinding() *rbacv1.RoleBinding {
	return &rbacv1.RoleBinding{
		TypeMeta: metav1.TypeMeta{APIVersion: rbacGroup + "/v1", Kind: "RoleBinding"}, ObjectMeta: i.namespaced(i.fullname),
		RoleRef: rbacv1.RoleRef{APIGroup: rbacGroup, Kind: "Role", Name: i.fullname}, Subjects: i.subjects(),
	}
}

func (i *installation) subjects() []rbacv1.Subject {
	return []rbacv1.Subject{{Kind: "ServiceAccount", Name: i.serviceAccountName(), Namespace: i.Namespace}}
}

// meta is what objects without a namespace have.
func (i *installation) meta(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Name: name, Labels: i.labels(), Annotations: copied(i.v.AdditionalAnnotations)}
}

func (i *installation) namespaced(name string) metav1.ObjectMeta {
	m := i.meta(name)
	m.Namespace = i.Namespace
	return m
}

// copied is a map of its own; nil where there is nothing in it.
func copied(maps ...map[string]string) map[string]string {
	var out map[string]string
	for _, m := range maps {
		for k, v := range m {
			if out == nil {
				out = map[string]string{}
			}
			out[k] = v
		}
	}
	return out
}
