package manifests

import (
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kerf-sh/kerf/internal/controller/access"
	"github.com/kerf-sh/kerf/internal/setup/rbac"
)

// viewers are the objects by which somebody may read decisions: the ClusterRole with the right, a ServiceAccount that has it and
// whose tokens are for those who have none of their own, and a Role with what commands need to reach the controller. They have
// one name in every installation: commands ask for tokens of the account by it.
//
// The ClusterRole is aggregated into "admin", and not into "view": decisions hold the names, labels and requests of the pods of all
// namespaces, of nodes and pools, and "view" is given to many. A role that is bound in one namespace gives no right to a path, so
// that only who is admin of the whole cluster has it.
func (i *installation) viewers() []client.Object {
	const name = access.Viewer
	api := rbacGroup + "/v1"
	account := i.namespaced(name)
	right := i.meta(name)
	right.Labels["rbac.authorization.k8s.io/aggregate-to-admin"] = "true"
	people := i.people()
	out := []client.Object{
		&corev1.ServiceAccount{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ServiceAccount"}, ObjectMeta: account, AutomountServiceAccountToken: new(false)},
		&rbacv1.ClusterRole{TypeMeta: metav1.TypeMeta{APIVersion: api, Kind: "ClusterRole"}, ObjectMeta: right, Rules: rulesOf(rbac.Viewer, "ClusterRole")},
		&rbacv1.ClusterRoleBinding{
			TypeMeta: metav1.TypeMeta{APIVersion: api, Kind: "ClusterRoleBinding"}, ObjectMeta: i.meta(name),
			RoleRef:  rbacv1.RoleRef{APIGroup: rbacGroup, Kind: "ClusterRole", Name: name},
			Subjects: append([]rbacv1.Subject{{Kind: "ServiceAccount", Name: name, Namespace: i.Namespace}}, people...),
		},
		&rbacv1.Role{TypeMeta: metav1.TypeMeta{APIVersion: api, Kind: "Role"}, ObjectMeta: i.namespaced(name), Rules: rulesOf(rbac.Viewer, "Role")},
	}
	if len(people) > 0 {
		out = append(out, &rbacv1.RoleBinding{
			TypeMeta: metav1.TypeMeta{APIVersion: api, Kind: "RoleBinding"}, ObjectMeta: i.namespaced(name),
			RoleRef: rbacv1.RoleRef{APIGroup: rbacGroup, Kind: "Role", Name: name}, Subjects: people,
		})
	}
	return out
}

// people are the users and groups of the values.
func (i *installation) people() []rbacv1.Subject {
	var out []rbacv1.Subject
	for _, u := range i.v.Viewers.Users {
		out = append(out, rbacv1.Subject{APIGroup: rbacGroup, Kind: "User", Name: u})
	}
	for _, g := range i.v.Viewers.Groups {
		out = append(out, rbacv1.Subject{APIGroup: rbacGroup, Kind: "Group", Name: g})
	}
	return out
}
