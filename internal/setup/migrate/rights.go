package migrate

import (
	"context"
	"fmt"
	"slices"
	"strings"

	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/component-helpers/auth/rbac/validation"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kerf-sh/kerf/internal/controller/access"
)

// Access is something that a person may or may not do.
type Access struct {
	// Resource may be a path, such as /debug/decisions.
	Verb, Group, Resource, Namespace string
	// Name is the one object that it is about; empty: any.
	Name string
	// For says what of a swap needs it.
	For string
}

// String is the access as kubectl auth can-i takes it.
func (a Access) String() string {
	out := a.Verb + " " + a.Resource
	if a.Group != "" {
		out += "." + a.Group
	}
	if a.Name != "" {
		out += "/" + a.Name
	}
	if a.Namespace != "" {
		out += " --namespace " + a.Namespace
	}
	return out
}

// roles reads the rules that are bound to the controller's ServiceAccount.
func (l *look) roles(ctx context.Context) {
	var (
		bindings     rbacv1.ClusterRoleBindingList
		roles        rbacv1.ClusterRoleList
		ownBindings  rbacv1.RoleBindingList
		ownRoles     rbacv1.RoleList
		in           = client.InNamespace(l.Deployment.Namespace)
		account      = l.serviceAccountName()
		rules        = map[string][]rbacv1.PolicyRule{}
		ownNamespace = map[string][]rbacv1.PolicyRule{}
	)
	for _, kind := range []struct {
		what string
		list client.ObjectList
		in   []client.ListOption
	}{
		{"clusterrolebindings", &bindings, nil}, {"clusterroles", &roles, nil}, {"rolebindings", &ownBindings, []client.ListOption{in}}, {"roles", &ownRoles, []client.ListOption{in}},
	} {
		if err := l.o.Reader.List(ctx, kind.list, kind.in...); err != nil {
			l.NoRoles = fmt.Sprintf("%s could not be listed: %v", kind.what, err)
			return
		}
	}
	for i := range roles.Items {
		rules[roles.Items[i].Name] = roles.Items[i].Rules
	}
	for i := range ownRoles.Items {
		ownNamespace[ownRoles.Items[i].Name] = ownRoles.Items[i].Rules
	}
	bound := func(subjects []rbacv1.Subject) bool {
		return slices.ContainsFunc(subjects, func(s rbacv1.Subject) bool {
			return s.Kind == "ServiceAccount" && s.Name == account && s.Namespace == l.Deployment.Namespace ||
				s.Kind == "Group" && (s.Name == "system:serviceaccounts" || s.Name == "system:serviceaccounts:"+l.Deployment.Namespace || s.Name == "system:authenticated")
		})
	}
	for i := range bindings.Items {
		if b := &bindings.Items[i]; bound(b.Subjects) {
			l.Granted = append(l.Granted, rules[b.RoleRef.Name]...)
		}
	}
	for i := range ownBindings.Items {
		b := &ownBindings.Items[i]
		switch {
		case !bound(b.Subjects):
		case b.RoleRef.Kind == "ClusterRole":
			l.GrantedInNamespace = append(l.GrantedInNamespace, rules[b.RoleRef.Name]...)
		default:
			l.GrantedInNamespace = append(l.GrantedInNamespace, ownNamespace[b.RoleRef.Name]...)
		}
	}
}

// foreign finds objects of the names that Kerf's chart uses which are not of the release: Helm refuses to change them.
func (l *look) foreign(ctx context.Context) {
	if l.Owner.Release == "" {
		return
	}
	objects, err := l.installation()
	if err != nil {
		return // said by identity
	}
	for _, o := range objects {
		m := &metav1.PartialObjectMetadata{}
		m.SetGroupVersionKind(o.GetObjectKind().GroupVersionKind())
		if err := l.o.Reader.Get(ctx, client.ObjectKeyFromObject(o), m); err != nil {
			if !apierrors.IsNotFound(err) {
				l.gap(m.Kind+" "+o.GetName(), err)
			}
			continue
		}
		if m.Annotations[helmRelease] != l.Owner.Release || m.Annotations[helmNamespace] != l.Owner.ReleaseNamespace {
			l.Foreign = append(l.Foreign, m.Kind+" "+o.GetName())
		}
	}
}

// access asks what the person may do, of what a swap does.
func (l *look) access(ctx context.Context) {
	if l.o.API == nil {
		l.NoAccess = "the API server was not asked"
		return
	}
	at := l.release().Namespace
	wanted := []Access{
		{Verb: "create", Group: "apiextensions.k8s.io", Resource: "customresourcedefinitions", For: "the CRDs"}, {Verb: "patch", Group: "apiextensions.k8s.io", Resource: "customresourcedefinitions", For: "the CRDs"},
		{Verb: "create", Group: rbacv1.GroupName, Resource: "clusterroles", For: "the controller's rights"}, {Verb: "patch", Group: rbacv1.GroupName, Resource: "clusterroles", For: "the controller's rights"},
		{Verb: "create", Group: rbacv1.GroupName, Resource: "clusterrolebindings", For: "the controller's rights"}, {Verb: "create", Group: rbacv1.GroupName, Resource: "roles", Namespace: at, For: "the controller's rights"},
		{Verb: "create", Group: rbacv1.GroupName, Resource: "rolebindings", Namespace: at, For: "the controller's rights"}, {Verb: "patch", Group: "apps", Resource: "deployments", Namespace: at, For: "the controller"},
		{Verb: "patch", Resource: "serviceaccounts", Namespace: at, For: "the controller"}, {Verb: "patch", Resource: "services", Namespace: at, For: "the controller"}, {Verb: "patch", Group: "policy", Resource: "poddisruptionbudgets", Namespace: at, For: "the controller"},
	}
	if l.Owner.Release != "" {
		wanted = append(wanted, Access{Verb: "create", Resource: "secrets", Namespace: at, For: "Helm's record of the release"})
	}
	for _, a := range wanted {
		if !l.ask(ctx, a) {
			return
		}
	}
	l.escalation(ctx)
}

// ask notes what may not be done. It returns false when the API server does not tell.
func (l *look) ask(ctx context.Context, a Access) bool {
	allowed, err := l.may(ctx, a)
	if err != nil {
		l.NoAccess = err.Error()
		return false
	}
	if !allowed && !slices.ContainsFunc(l.Refused, func(r Access) bool { return r == a }) {
		l.Refused = append(l.Refused, a)
	}
	return true
}

func (l *look) may(ctx context.Context, a Access) (bool, error) {
	resource, sub, _ := strings.Cut(a.Resource, "/")
	var question authorizationv1.SelfSubjectAccessReviewSpec
	if resource == "" { // a path
		question.NonResourceAttributes = &authorizationv1.NonResourceAttributes{Verb: a.Verb, Path: a.Resource}
	} else {
		question.ResourceAttributes = &authorizationv1.ResourceAttributes{Verb: a.Verb, Group: a.Group, Resource: resource, Subresource: sub, Namespace: a.Namespace, Name: a.Name}
	}
	answer, err := l.o.API.AuthorizationV1().SelfSubjectAccessReviews().Create(ctx, &authorizationv1.SelfSubjectAccessReview{Spec: question}, metav1.CreateOptions{})
	if err != nil {
		return false, fmt.Errorf("asking what you may do: %w", err)
	}
	return answer.Status.Allowed, nil
}

// escalation asks whether the person may grant the controller's rights: who may not escalate has to have each of them.
func (l *look) escalation(ctx context.Context) {
	for _, a := range []Access{{Verb: "escalate", Group: rbacv1.GroupName, Resource: "clusterroles"}, {Verb: "bind", Group: rbacv1.GroupName, Resource: "clusterroles"}} {
		allowed, err := l.may(ctx, a)
		if err != nil {
			l.NoAccess = err.Error()
			return
		}
		if !allowed {
			l.eachRule(ctx)
			return
		}
	}
}

func (l *look) eachRule(ctx context.Context) {
	objects, err := l.installation()
	if err != nil {
		return // said by identity
	}
	cluster, own := needed(objects, func(string) bool { return true })
	for _, set := range []struct {
		rules     []rbacv1.PolicyRule
		namespace string
	}{{cluster, ""}, {own, l.release().Namespace}} {
		for _, r := range set.rules {
			for _, one := range validation.BreakdownRule(r) {
				a := Access{Verb: one.Verbs[0], Namespace: set.namespace, For: granting}
				if len(one.NonResourceURLs) == 1 {
					a.Resource = one.NonResourceURLs[0]
				} else {
					a.Group, a.Resource = one.APIGroups[0], one.Resources[0]
				}
				if len(one.ResourceNames) == 1 {
					a.Name = one.ResourceNames[0]
				}
				if !l.ask(ctx, a) {
					return
				}
			}
		}
	}
}

// granting is what the rights of the controller, and of those who read its decisions, are for: who may not escalate may only
// grant what they have.
const granting = "granting the controller what it needs, and others to read its decisions"

// ofController tells the controller's own roles from those of people.
func ofController(role string) bool { return role != access.Viewer }

// needed are the rules of Kerf's roles of some names: for the cluster, and for the controller's namespace.
func needed(objects []client.Object, of func(role string) bool) (cluster, own []rbacv1.PolicyRule) {
	for _, o := range objects {
		if !of(o.GetName()) {
			continue
		}
		switch o := o.(type) {
		case *rbacv1.ClusterRole:
			if !strings.HasSuffix(o.Name, "-admin") {
				cluster = append(cluster, o.Rules...)
			}
		case *rbacv1.Role:
			own = append(own, o.Rules...)
		}
	}
	return cluster, own
}

// clusterRights compares what Kerf needs with what the ServiceAccount has: that matters to those who keep their own roles.
func (e *examination) clusterRights() {
	if e.Deployment == nil {
		return
	}
	object := "ServiceAccount " + e.Deployment.Namespace + "/" + e.serviceAccountName()
	if e.NoRoles != "" {
		e.unknown(object, "its rights are not known: %s", e.NoRoles).why("Kerf's chart brings roles of its own")
		return
	}
	objects, err := e.installation()
	if err != nil {
		return // said by identity
	}
	cluster, own := needed(objects, ofController)
	_, lacks := validation.Covers(e.Granted, cluster)
	_, lacksOwn := validation.Covers(append(slices.Clone(e.Granted), e.GrantedInNamespace...), own)
	var lines []string
	for _, r := range append(lacks, lacksOwn...) {
		lines = append(lines, ruleText(r))
	}
	slices.Sort(lines)
	if lines = slices.Compact(lines); len(lines) == 0 {
		e.fine(object, "its roles allow all that Kerf needs")
		return
	}
	e.differs(object, "its roles lack %d rights that Kerf needs", len(lines)).with(lines...).
		why("the roles of Kerf's chart and of kerf manifests have them; only roles of your own have to be extended").
		fix("kerf manifests --cluster-name " + orWord(e.ClusterName, "CLUSTER_NAME") + " --name " + e.Deployment.Name + " --namespace " + e.Deployment.Namespace + "   # prints Kerf's roles among the rest")
}

func ruleText(r rbacv1.PolicyRule) string {
	resource := strings.Join(r.Resources, ",")
	if g := strings.Join(r.APIGroups, ","); g != "" {
		resource += "." + g
	}
	if len(r.ResourceNames) > 0 {
		resource += "/" + strings.Join(r.ResourceNames, ",")
	}
	return strings.Join(r.Verbs, ",") + " " + resource
}

// ownRights are those of the person who asks.
func (e *examination) ownRights() {
	const you = "you"
	switch {
	case e.NoAccess != "":
		e.unknown(you, "whether you may make the swap is not known: %s", e.NoAccess)
	case len(e.Refused) == 0:
		e.fine(you, "you may change all that the swap changes")
	default:
		f := e.blocks(you, "you may not make %d of the changes of a swap", len(e.Refused)).
			why("the swap stops at the first of them; a GitOps tool has rights of its own").
			fix("kubectl auth can-i --list --namespace "+e.release().Namespace+"   # what you may do",
				"kubectl create clusterrolebinding swap --clusterrole cluster-admin --user USER   # by an administrator, for the time of the swap; or the swap is made by one")
		var grants []string
		for _, a := range e.Refused {
			if a.For == granting {
				grants = append(grants, a.String())
				continue
			}
			f.with(a.String() + " (" + a.For + ")")
		}
		if len(grants) > 0 {
			f.with(fmt.Sprintf("%s: you may not escalate roles, and lack %d rights of the controller yourself: %s", granting, len(grants), few(grants)))
		}
	}
}

func orWord(value, word string) string {
	if value == "" {
		return word
	}
	return value
}
