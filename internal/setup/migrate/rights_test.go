package migrate

import (
	"slices"
	"strings"
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	ktesting "k8s.io/client-go/testing"
)

// TestWhoMayNotEscalateIsAskedForEachRight: of paths as of resources, since the roles of those who read decisions are granted too.
func TestWhoMayNotEscalateIsAskedForEachRight(t *testing.T) {
	api := fake.NewClientset()
	api.PrependReactor("create", "selfsubjectaccessreviews", func(a ktesting.Action) (bool, runtime.Object, error) {
		r := a.(ktesting.CreateAction).GetObject().(*authorizationv1.SelfSubjectAccessReview).DeepCopy()
		at := r.Spec.ResourceAttributes
		if (at == nil) == (r.Spec.NonResourceAttributes == nil) {
			t.Errorf("asked for %+v", r.Spec)
		}
		r.Status.Allowed = at != nil && !slices.Contains([]string{"escalate", "bind"}, at.Verb) && at.Resource != "tokenreviews" && at.Name != "kerf-viewer"
		return true, r, nil
	})
	l := &look{o: Options{API: api}, Seen: healthy(t)}
	l.access(t.Context())
	if l.NoAccess != "" {
		t.Fatal(l.NoAccess)
	}
	var refused []string
	for _, a := range l.Refused {
		refused = append(refused, a.String())
	}
	for _, want := range []string{"get /debug/decisions", "get /debug/shadow", "create tokenreviews.authentication.k8s.io", "create serviceaccounts/token/kerf-viewer --namespace kube-system"} {
		if !slices.Contains(refused, want) {
			t.Errorf("%q is not among what is refused:\n%s", want, strings.Join(refused, "\n"))
		}
	}
	for _, a := range refused {
		if strings.Contains(a, "subjectaccessreviews") || strings.Contains(a, "nodepools") {
			t.Errorf("%q is refused", a)
		}
	}
}
