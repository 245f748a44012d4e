package leader

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/url"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/kerf-sh/kerf/internal/controller/access"
	"github.com/kerf-sh/kerf/internal/setup/manifests"
)

// Controller is the way to the metrics port of a controller.
type Controller struct {
	URL string // such as http://127.0.0.1:40123, without a path
	// Client sends the user's token with each request. It asks nobody but URL, and follows no redirect.
	Client *http.Client

	stop func()
}

// Close ends the way.
func (c *Controller) Close() {
	c.Client.CloseIdleConnections()
	c.stop()
}

// Reach is the way to the controller that leads, until it is closed: a port of 127.0.0.1 that is forwarded to the pod. The
// namespace is where the controller is installed; it may be empty, as for Pod.
//
// The user's own token is sent to a pod in kube-system or in the namespace that is named. Whoever may make a Lease and a pod
// somewhere else must not get tokens of others by it: there a token of the ServiceAccount kerf-viewer of that namespace is sent.
//
// Errors: those of Pod and Forward; no token can be had, with the right that is missing.
func Reach(ctx context.Context, config *rest.Config, namespace string) (*Controller, error) {
	c, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("connecting to the Kubernetes API at %s: %w", config.Host, err)
	}
	pod, err := Pod(ctx, c, namespace)
	if err != nil {
		return nil, err
	}
	tokens := &tokens{config: config, own: namespace != "" || pod.Namespace == manifests.DefaultNamespace, namespace: func(context.Context) string { return pod.Namespace }}
	if _, err := tokens.get(ctx); err != nil {
		return nil, fmt.Errorf("asking pod %s/%s, which leads: %w", pod.Namespace, pod.Name, err)
	}
	at, gone, stop, err := Forward(ctx, config, pod)
	if err != nil {
		return nil, err
	}
	to, err := url.Parse(at)
	if err != nil {
		stop()
		return nil, fmt.Errorf("forwarding a port to pod %s/%s: %w", pod.Namespace, pod.Name, err)
	}
	return newController(to, stop, &sender{tokens: tokens, gone: gone, next: &http.Transport{}}), nil // not by a proxy
}

// At is the way to a controller at an address, and to nothing else.
type At struct {
	// Server is the address, such as http://127.0.0.1:8080; a path is left out.
	Server string
	// PlainHTTP lets the token go unencrypted to another host.
	PlainHTTP bool
	// Config leads to the API server of the controller's cluster, where tokens come from. Where it fails none is sent, which
	// matters to those who ask for one.
	Config func() (*rest.Config, error)
	// Namespace is where the controller is installed; empty: where its Lease is, or kube-system.
	Namespace string
}

// Reach checks the address. Nobody is asked yet.
//
// Errors: no URL; one to which the token would go unencrypted.
func (a At) Reach() (*Controller, error) {
	to, err := url.Parse(a.Server)
	if err != nil || to.Host == "" || to.Scheme != "http" && to.Scheme != "https" {
		return nil, fmt.Errorf("--server=%q is no URL; want one such as http://127.0.0.1:8080", a.Server)
	}
	if to.Scheme == "http" && !loopback(to.Hostname()) && !a.PlainHTTP {
		return nil, fmt.Errorf("--server=%q: your token would go to another host unencrypted: leave --server out, so that a port is forwarded through the Kubernetes API, name an https:// address, or accept it with --plain-http", a.Server)
	}
	s := &sender{next: http.DefaultTransport}
	config, err := a.Config()
	if err != nil {
		s.none = err
	} else {
		s.tokens = &tokens{config: config, own: true, namespace: func(ctx context.Context) string { return a.installed(ctx, config) }}
	}
	return newController(to, func() {}, s), nil
}

// installed is the namespace of the controller.
func (a At) installed(ctx context.Context, config *rest.Config) string {
	if a.Namespace != "" {
		return a.Namespace
	}
	if c, err := kubernetes.NewForConfig(config); err == nil {
		if lease, err := leaseIn(ctx, c, ""); err == nil {
			return lease.Namespace
		}
	}
	return manifests.DefaultNamespace
}

// loopback reports whether a name is of this host.
func loopback(name string) bool {
	ip := net.ParseIP(name)
	return name == "localhost" || ip != nil && ip.IsLoopback()
}

func newController(to *url.URL, stop func(), s *sender) *Controller {
	s.scheme, s.host = to.Scheme, to.Host
	return &Controller{URL: to.Scheme + "://" + to.Host, stop: stop, Client: &http.Client{
		Transport: s, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// sender sends a token with each request to one address.
type sender struct {
	scheme, host string
	tokens       *tokens
	none         error           // why there are no tokens
	gone         <-chan struct{} // closed when the address is of the controller no more; nil: it stays so
	next         http.RoundTripper
}

// RoundTrip sends a request with the token.
//
// Errors: a request to another address, or over a forward that has ended; access.NoToken.
func (s *sender) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL.Scheme != s.scheme || r.URL.Host != s.host {
		return nil, fmt.Errorf("%s is not asked: the token is for %s://%s", r.URL.Redacted(), s.scheme, s.host)
	}
	select {
	case <-s.gone:
		return nil, fmt.Errorf("%s is not asked: the connection to the controller's pod has ended, and the port may be somebody else's", r.URL.Redacted())
	default:
	}
	r = r.Clone(r.Context())
	none := s.none
	if none == nil {
		token, err := s.tokens.get(r.Context())
		if err == nil {
			r.Header.Set("Authorization", "Bearer "+token)
		}
		none = err
	}
	resp, err := s.next.RoundTrip(r)
	if err == nil && none != nil && resp.StatusCode == http.StatusUnauthorized {
		_ = resp.Body.Close()
		return nil, &access.NoToken{Why: fmt.Errorf("the controller wants a token, and there is none to send: %w", none)}
	}
	return resp, err
}

// CloseIdleConnections closes those of a forwarded port.
func (s *sender) CloseIdleConnections() {
	if t, ok := s.next.(*http.Transport); ok && t != http.DefaultTransport {
		t.CloseIdleConnections()
	}
}
