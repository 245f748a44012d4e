// Package access lets those read what the controller serves beside metrics whom the API server lets: a request bears a token,
// TokenReview says whose it is, and SubjectAccessReview whether that user may get the path. Where a request comes from says
// nothing: the sidecar of a service mesh delivers what other pods ask from an address of this host.
package access

import (
	"context"
	"crypto/sha256"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

const (
	// allowedFor is how long an answer that lets somebody in is used. "kerf explain" reads up to 20 pages in some seconds, a page
	// in a browser asks every few seconds; a right that is taken away, or a token that is, still works for so long.
	allowedFor = 30 * time.Second
	// refusedFor is the same of a refusal: short, because somebody is about to grant the right and try again.
	refusedFor = 5 * time.Second
	// answersMost bounds the answers that are kept, some 200 bytes each: 50 people with 20 pages.
	answersMost = 1000
	// askTimeout bounds both questions together. An API server that is fine answers in milliseconds; the webhook that knows the
	// tokens of EKS may take seconds.
	askTimeout = 10 * time.Second
	// askingMost is how many requests may wait for the API server at once. Others are told to come back: without a bound, anybody
	// who reaches the port could have the controller hold any number of connections.
	askingMost = 16
	// askQPS and askBurst are the pace of the questions: "kerf explain" asks 20 in a burst. They bound what a flood of made-up
	// tokens costs the API server, and are apart from the pace of the controller's other calls.
	askQPS, askBurst = 20, 60
	// tokenMost is the longest token that is asked about, in bytes. Those of EKS have some 2,000, those of identity providers with
	// many groups up to 12,000; net/http takes 1 MiB.
	tokenMost = 16 << 10
)

// Options of a Gate.
type Options struct {
	// Namespace of the ServiceAccount Viewer; refusals name it.
	Namespace string
	Now       func() time.Time
	Log       *slog.Logger
}

// Gate asks the API server who a caller is and whether that user may read, and remembers the answers for a short time.
//
// Concurrency: safe. Requests with the same token for the same path that come while it is asked share the answer.
type Gate struct {
	o       Options
	api     kubernetes.Interface
	asking  chan struct{}
	flights singleflight.Group

	mu        sync.Mutex
	users     answers[user]
	rights    answers[right]
	complains time.Time // when the next failure is logged
}

// New makes a gate that asks at an API server with a pace of its own.
//
// Errors: a configuration that client-go refuses.
func New(config *rest.Config, o Options) (*Gate, error) {
	config = rest.CopyConfig(config)
	config.QPS, config.Burst, config.RateLimiter = askQPS, askBurst, nil
	api, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("making the client that asks who may read decisions: %w", err)
	}
	return &Gate{o: o, api: api, asking: make(chan struct{}, askingMost)}, nil
}

// user is whose a token is.
type user struct {
	info    authenticationv1.UserInfo
	unknown string // why the token is nobody's; empty: it is the user's
}

// right is whether a user may read a path.
type right struct {
	name    string // of the user
	allowed bool
	why     string // the API server's reason for a refusal; may be empty
}

// Guard hands on what the API server lets through: GET and HEAD of a user who may get the path.
//
// Everything else is answered here: 405 another method, 401 no token or an unknown one, 403 a user without the right, 503 an
// API server that does not answer. Each says what to do about it.
func (g *Gate) Guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			w.Header().Set("Allow", "GET, HEAD")
			g.refuse(w, http.StatusMethodNotAllowed, r.Method+" "+r.URL.Path+": this page is read only; use GET")
			return
		}
		token, ok := bearer(r.Header)
		switch {
		case !ok:
			g.refuse(w, http.StatusUnauthorized, g.noToken(r.URL.Path))
			return
		case len(token) > tokenMost:
			g.refuse(w, http.StatusUnauthorized, g.unknownToken(r.URL.Path, fmt.Sprintf("it has %d bytes, more than any token", len(token))))
			return
		}
		code, text := g.judge(r.Context(), token, r.URL.Path)
		if code != http.StatusOK {
			g.refuse(w, code, text)
			return
		}
		w.Header().Set("Cache-Control", "no-store") // it is for this user
		next.ServeHTTP(w, r)
	})
}

// Header is in every answer of a Gate that is no page, with the code: a page may answer with the same code for reasons of its own.
const Header = "Kerf-Access"

func (g *Gate) refuse(w http.ResponseWriter, code int, text string) {
	w.Header().Set(Header, "refused")
	switch code {
	case http.StatusUnauthorized:
		w.Header().Set("WWW-Authenticate", `Bearer realm="kerf"`)
	case http.StatusServiceUnavailable:
		w.Header().Set("Retry-After", "1")
	}
	http.Error(w, text, code)
}

// bearer is the token of a request.
func bearer(h http.Header) (string, bool) {
	scheme, token, _ := strings.Cut(h.Get("Authorization"), " ")
	token = strings.TrimSpace(token)
	return token, strings.EqualFold(scheme, "Bearer") && token != ""
}

// verdict is what a request is answered with.
type verdict struct {
	code int
	text string
}

// judge tells whether who has a token may read a path: 200, or another code and why.
func (g *Gate) judge(ctx context.Context, token, path string) (code int, text string) {
	whose := sha256.Sum256([]byte(token)) // tokens themselves are not kept
	out, err, _ := g.flights.Do(string(whose[:])+path, func() (any, error) {
		// Who asked first may leave; others wait for the same answer.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), askTimeout)
		defer cancel()
		return g.ask(ctx, token, path, whose)
	})
	if err != nil {
		g.complain(err)
		return http.StatusServiceUnavailable, unknown(path, err)
	}
	v := out.(verdict)
	return v.code, v.text
}

// ask answers out of what is remembered, or of what the API server says.
func (g *Gate) ask(ctx context.Context, token, path string, whose key) (verdict, error) {
	u, ok := recall(g, &g.users, whose)
	what := sha256.Sum256(append(whose[:], path...))
	may, known := recall(g, &g.rights, what)
	if !ok || !known && u.unknown == "" {
		select {
		case g.asking <- struct{}{}:
			defer func() { <-g.asking }()
		default:
			return verdict{}, errBusy
		}
	}
	if !ok {
		var err error
		if u, err = g.whose(ctx, token); err != nil {
			return verdict{}, err
		}
		remember(g, &g.users, whose, u, u.unknown == "")
	}
	if u.unknown != "" {
		return verdict{http.StatusUnauthorized, g.unknownToken(path, u.unknown)}, nil
	}
	if !known {
		var err error
		if may, err = g.may(ctx, u.info, path); err != nil {
			return verdict{}, err
		}
		remember(g, &g.rights, what, may, may.allowed)
	}
	if !may.allowed {
		return verdict{http.StatusForbidden, denied(path, may)}, nil
	}
	return verdict{code: http.StatusOK}, nil
}

// whose asks whose a token is.
func (g *Gate) whose(ctx context.Context, token string) (user, error) {
	answer, err := g.api.AuthenticationV1().TokenReviews().Create(ctx, &authenticationv1.TokenReview{Spec: authenticationv1.TokenReviewSpec{Token: token}}, metav1.CreateOptions{})
	switch {
	case err != nil:
		return user{}, fmt.Errorf("asking whose the token is: %w", err)
	case answer.Status.Authenticated:
		return user{info: answer.Status.User}, nil
	case answer.Status.Error != "":
		return user{unknown: answer.Status.Error}, nil
	}
	return user{unknown: "it is nobody's"}, nil
}

// may asks whether a user may get a path.
func (g *Gate) may(ctx context.Context, u authenticationv1.UserInfo, path string) (right, error) {
	extra := map[string]authorizationv1.ExtraValue{}
	for k, v := range u.Extra {
		extra[k] = authorizationv1.ExtraValue(v)
	}
	answer, err := g.api.AuthorizationV1().SubjectAccessReviews().Create(ctx, &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
		User: u.Username, UID: u.UID, Groups: u.Groups, Extra: extra,
		NonResourceAttributes: &authorizationv1.NonResourceAttributes{Path: path, Verb: "get"},
	}}, metav1.CreateOptions{})
	if err != nil {
		return right{}, fmt.Errorf("asking whether user %q may get %s: %w", u.Username, path, err)
	}
	why := answer.Status.Reason
	if answer.Status.EvaluationError != "" {
		why = answer.Status.EvaluationError
	}
	return right{name: u.Username, allowed: answer.Status.Allowed && !answer.Status.Denied, why: why}, nil
}

// complainEvery is how often it is logged that the API server was asked in vain: anybody who reaches the port can have it asked.
const complainEvery = time.Minute

func (g *Gate) complain(err error) {
	g.mu.Lock()
	now := g.o.Now()
	quiet := now.Before(g.complains)
	if !quiet {
		g.complains = now.Add(complainEvery)
	}
	g.mu.Unlock()
	if !quiet {
		g.o.Log.Warn("could not ask the API server who may read decisions; readers are refused", "error", err)
	}
}

// recall finds an answer that still holds.
func recall[V any](g *Gate, in *answers[V], k key) (V, bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return in.get(k, g.o.Now())
}

// remember keeps an answer for its time.
func remember[V any](g *Gate, in *answers[V], k key, v V, allowed bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	now, holds := g.o.Now(), refusedFor
	if allowed {
		holds = allowedFor
	}
	in.put(k, v, now, now.Add(holds))
}
