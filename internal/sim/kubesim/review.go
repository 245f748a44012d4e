package kubesim

import (
	"fmt"
	"net/http"
	"strings"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Questions that are posted, answered, and not stored: whose a token is, what a user may do, and a token of a ServiceAccount.
// Everybody may ask.

// tokenLife is how long a token of a ServiceAccount holds of which nobody says it, as in a real cluster.
const tokenLife = time.Hour

// issued is a token that was given out.
type issued struct {
	user authenticationv1.UserInfo
	ends time.Time
}

// review answers a question. It returns false for all other requests.
func (s *Server) review(w http.ResponseWriter, r *http.Request) bool {
	path := strings.Trim(r.URL.Path, "/")
	var answer func(*http.Request) (any, error)
	parts := strings.Split(path, "/")
	switch {
	case r.Method != http.MethodPost:
		return false
	case path == "apis/authentication.k8s.io/v1/tokenreviews":
		answer = s.reviewToken
	case path == "apis/authorization.k8s.io/v1/subjectaccessreviews":
		answer = s.reviewAccess
	case len(parts) == 7 && strings.HasPrefix(path, "api/v1/namespaces/") && parts[4] == "serviceaccounts" && parts[6] == "token":
		answer = func(r *http.Request) (any, error) { return s.issueToken(r, parts[3], parts[5]) }
	default:
		return false
	}
	out, err := answer(r)
	if err != nil {
		refuse(w, err)
		return true
	}
	writeJSON(w, http.StatusCreated, out)
	return true
}

func (s *Server) reviewToken(r *http.Request) (any, error) {
	s.tally("create tokenreviews")
	in := &authenticationv1.TokenReview{}
	if err := readReview(r, in); err != nil {
		return nil, err
	}
	in.TypeMeta = metav1.TypeMeta{APIVersion: "authentication.k8s.io/v1", Kind: "TokenReview"}
	s.mu.Lock()
	defer s.mu.Unlock()
	user, ok := s.o.Tokens[in.Spec.Token]
	if given, found := s.tokens[in.Spec.Token]; found && s.o.Now().Before(given.ends) {
		user, ok = given.user, true
	}
	if !ok {
		in.Status = authenticationv1.TokenReviewStatus{Error: "[invalid bearer token, unknown]"}
		return in, nil
	}
	in.Status = authenticationv1.TokenReviewStatus{Authenticated: true, User: user, Audiences: in.Spec.Audiences}
	return in, nil
}

func (s *Server) reviewAccess(r *http.Request) (any, error) {
	s.tally("create subjectaccessreviews")
	in := &authorizationv1.SubjectAccessReview{}
	if err := readReview(r, in); err != nil {
		return nil, err
	}
	in.TypeMeta = metav1.TypeMeta{APIVersion: "authorization.k8s.io/v1", Kind: "SubjectAccessReview"}
	if (in.Spec.ResourceAttributes == nil) == (in.Spec.NonResourceAttributes == nil) {
		return nil, apierrors.NewInvalid(schema.GroupKind{Group: "authorization.k8s.io"}, "", field.ErrorList{
			field.Invalid(field.NewPath("spec", "resourceAttributes"), nil, "exactly one of nonResourceAttributes or resourceAttributes must be specified"),
		})
	}
	in.Status.Allowed = s.o.Allow == nil || s.o.Allow(&in.Spec)
	return in, nil
}

func (s *Server) issueToken(r *http.Request, namespace, name string) (any, error) {
	s.tally("create serviceaccounts/token")
	in := &authenticationv1.TokenRequest{}
	if err := readReview(r, in); err != nil {
		return nil, err
	}
	if _, err := s.get(s.byPath["/v1/serviceaccounts"], namespace, name); err != nil {
		return nil, err
	}
	in.TypeMeta = metav1.TypeMeta{APIVersion: "authentication.k8s.io/v1", Kind: "TokenRequest"}
	in.Namespace, in.Name = namespace, name
	life := tokenLife
	if n := in.Spec.ExpirationSeconds; n != nil {
		life = seconds(*n)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	ends := s.o.Now().Add(life)
	token := fmt.Sprintf("%s.%s.%d", namespace, name, len(s.tokens)+1)
	if s.tokens == nil {
		s.tokens = map[string]issued{}
	}
	s.tokens[token] = issued{ends: ends, user: authenticationv1.UserInfo{
		Username: "system:serviceaccount:" + namespace + ":" + name,
		Groups:   []string{"system:serviceaccounts", "system:serviceaccounts:" + namespace, "system:authenticated"},
	}}
	in.Status = authenticationv1.TokenRequestStatus{Token: token, ExpirationTimestamp: metav1.NewTime(ends)}
	return in, nil
}

// readReview reads the question of a request.
func readReview(r *http.Request, into runtime.Object) error {
	got, err := readObject(r, "")
	if err != nil {
		return err
	}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(got.content, into); err != nil {
		return apierrors.NewBadRequest(err.Error())
	}
	return nil
}

// tally counts a request.
func (s *Server) tally(what string) {
	s.mu.Lock()
	s.requests[what]++
	s.mu.Unlock()
}
