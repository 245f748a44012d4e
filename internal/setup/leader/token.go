package leader

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/transport"

	"github.com/kerf-sh/kerf/internal/controller/access"
)

// tokenLife is how long a token of kerf-viewer is asked for: the least that the API server gives. Commands end sooner; what
// lasts longer asks again.
const tokenLife = 10 * time.Minute

// tokenTimeout bounds the wait for a token. A plugin of the kubeconfig may ask an identity provider first.
const tokenTimeout = 30 * time.Second

// tokens are what a user shows to the controller: the token that the kubeconfig yields, or one of the ServiceAccount
// kerf-viewer where it yields none, as with client certificates.
//
// Concurrency: safe.
type tokens struct {
	config    *rest.Config
	own       bool // whether the user's own token may be sent
	namespace func(context.Context) string

	mu      sync.Mutex
	capture http.RoundTripper
	viewer  string // token of kerf-viewer
	renew   time.Time
}

// get is a token that holds now.
//
// Errors: access.NoToken, with the right that is missing.
func (t *tokens) get(ctx context.Context) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, tokenTimeout)
	defer cancel()
	t.mu.Lock()
	defer t.mu.Unlock()
	// Who acts as somebody else has no token of that user's.
	if t.own && t.config.Impersonate.UserName == "" {
		token, err := t.ofKubeconfig(ctx)
		if err != nil || token != "" {
			return token, err
		}
	}
	if t.viewer != "" && time.Now().Before(t.renew) {
		return t.viewer, nil
	}
	return t.ofViewer(ctx)
}

// ofKubeconfig is the token that client-go would send to the API server; empty where it would send none. A request is made and
// not sent, so that every way to a token works: a plugin such as "aws eks get-token", a file, an auth provider.
func (t *tokens) ofKubeconfig(ctx context.Context) (string, error) {
	if t.capture == nil {
		config := rest.CopyConfig(t.config)
		config.WrapTransport = transport.Wrappers(func(http.RoundTripper) http.RoundTripper { return unsent{} }, config.WrapTransport)
		capture, err := rest.TransportFor(config)
		if err != nil {
			return "", &access.NoToken{Why: fmt.Errorf("reading the credentials of the kubeconfig: %w", err)}
		}
		t.capture = capture
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://kubernetes.invalid/", http.NoBody)
	if err != nil {
		return "", fmt.Errorf("making a request: %w", err)
	}
	resp, err := t.capture.RoundTrip(r)
	if err != nil {
		return "", &access.NoToken{Why: fmt.Errorf("asking the kubeconfig for your token: %w", err)}
	}
	_ = resp.Body.Close()
	scheme, token, _ := strings.Cut(resp.Request.Header.Get("Authorization"), " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return "", nil // a password
	}
	return token, nil
}

// unsent answers requests with themselves.
type unsent struct{}

func (unsent) RoundTrip(r *http.Request) (*http.Response, error) {
	return &http.Response{Status: "200 OK", StatusCode: http.StatusOK, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Header: http.Header{}, Body: http.NoBody, Request: r}, nil
}

// ofViewer asks the API server for a token of the ServiceAccount kerf-viewer.
func (t *tokens) ofViewer(ctx context.Context) (string, error) {
	api, err := kubernetes.NewForConfig(t.config)
	if err != nil {
		return "", &access.NoToken{Why: fmt.Errorf("connecting to the Kubernetes API at %s: %w", t.config.Host, err)}
	}
	namespace := t.namespace(ctx)
	answer, err := api.CoreV1().ServiceAccounts(namespace).CreateToken(ctx, access.Viewer, &authenticationv1.TokenRequest{
		Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: new(int64(tokenLife / time.Second))},
	}, metav1.CreateOptions{})
	if err != nil {
		return "", &access.NoToken{Why: fmt.Errorf("%s, and a token of the ServiceAccount %s/%s can't be had: %w%s", t.whyViewer(namespace), namespace, access.Viewer, err, t.remedy(namespace, err))}
	}
	now := time.Now()
	t.viewer, t.renew = answer.Status.Token, now.Add(answer.Status.ExpirationTimestamp.Sub(now)*3/4)
	return t.viewer, nil
}

// whyViewer says why the user's own token is not sent.
func (t *tokens) whyViewer(namespace string) string {
	switch {
	case !t.own:
		return fmt.Sprintf("your own token is not sent to a pod in namespace %s unless you name it (--controller-namespace %s)", namespace, namespace)
	case t.config.Impersonate.UserName != "":
		return fmt.Sprintf("your kubeconfig acts as user %q, of whom it has no token", t.config.Impersonate.UserName)
	}
	return "your kubeconfig yields no token (it has a client certificate or nothing)"
}

// remedy says what to do about an error.
func (t *tokens) remedy(namespace string, err error) string {
	switch {
	case apierrors.IsForbidden(err):
		return fmt.Sprintf("\nYou need the right to create serviceaccounts/token of %s in namespace %s, which its Role %s holds. Who administers the cluster can grant it:\n"+
			"  kubectl create rolebinding %s-of-one -n %s --role=%s --user=NAME", access.Viewer, namespace, access.Viewer, access.Viewer, namespace, access.Viewer)
	case apierrors.IsNotFound(err):
		return "\nThe installation of this version brings the account (the chart kerf, or kerf manifests)."
	case errors.Is(err, context.DeadlineExceeded):
		return fmt.Sprintf("\nThe Kubernetes API at %s did not answer.", t.config.Host)
	}
	return ""
}
