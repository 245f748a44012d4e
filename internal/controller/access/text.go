package access

import (
	"errors"
	"fmt"
	"strings"

	"al.essio.dev/pkg/shellescape"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// Viewer is the name of the ClusterRole that holds the right to read, and of the ServiceAccount that has it: whoever may create
// tokens of that account may read.
const Viewer = "kerf-viewer"

var errBusy = errors.New("too many requests wait for the API server's answer")

func (g *Gate) noToken(path string) string {
	return fmt.Sprintf(`%s wants a token: it is read with the right "get" on this nonResourceURL, which the ClusterRole %s holds.
kerf explain and kerf replay send a token by themselves. %s`, path, Viewer, g.how(path))
}

func (g *Gate) unknownToken(path, why string) string {
	return fmt.Sprintf("%s: the API server does not know the token: %s. It may have expired.\n%s", path, why, g.how(path))
}

// how says how to get a token.
func (g *Gate) how(path string) string {
	return fmt.Sprintf(`With curl, through kubectl port-forward:
  curl -H "Authorization: Bearer $(kubectl create token %s -n %s)" http://127.0.0.1:8080%s`, Viewer, g.o.Namespace, shellescape.Quote(path))
}

// denied names the user and the right, and says how it is granted.
func denied(path string, r right) string {
	subject := "--user=" + shellescape.Quote(r.name)
	if account, ok := strings.CutPrefix(r.name, "system:serviceaccount:"); ok {
		subject = "--serviceaccount=" + shellescape.Quote(account)
	}
	text := fmt.Sprintf("user %q may not get %s", r.name, path)
	if r.why != "" {
		text += " (" + r.why + ")"
	}
	holds := "it holds the names and labels of all pods"
	if strings.HasPrefix(path, "/debug/pprof/") {
		holds = "it shows what the controller does, and asking costs it time"
	}
	return text + fmt.Sprintf(`: %s. Who administers the cluster can grant it:
  kubectl create clusterrolebinding %s-of-one --clusterrole=%s %s`, holds, Viewer, Viewer, subject)
}

// unknown says that it could not be found out, and what helps.
func unknown(path string, err error) string {
	text := fmt.Sprintf("%s: whether you may read this could not be found out: %v.", path, err)
	if apierrors.IsForbidden(err) || apierrors.IsUnauthorized(err) {
		return text + "\nThe controller's ClusterRole lacks the right to create tokenreviews.authentication.k8s.io or subjectaccessreviews.authorization.k8s.io: " +
			"install the roles of this version (the chart kerf, or kerf manifests)."
	}
	return text + " Try again."
}

// NoToken is the error of a client that has no token to send.
type NoToken struct{ Why error }

// Error says why there is none, and what to do.
func (e *NoToken) Error() string { return e.Why.Error() }

// Unwrap is why there is none.
func (e *NoToken) Unwrap() error { return e.Why }
