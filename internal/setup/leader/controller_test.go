package leader

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/kerf-sh/kerf/internal/controller/access"
	"github.com/kerf-sh/kerf/internal/sim/kubesim"
)

// api is an API server with the ServiceAccount kerf-viewer in the namespaces; refuse, if set, answers first.
func api(t *testing.T, refuse func(http.ResponseWriter, *http.Request) bool, namespaces ...string) *rest.Config {
	t.Helper()
	sim, err := kubesim.New(kubesim.Options{})
	if err != nil {
		t.Fatal(err)
	}
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if refuse == nil || !refuse(w, r) {
			sim.ServeHTTP(w, r)
		}
	}))
	t.Cleanup(web.Close)
	config := &rest.Config{Host: web.URL}
	c, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	for _, ns := range namespaces {
		if _, err := c.CoreV1().ServiceAccounts(ns).Create(t.Context(), &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: access.Viewer}}, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	return config
}

func in(namespace string) func(context.Context) string {
	return func(context.Context) string { return namespace }
}

// plugin is a command that gives a token, as "aws eks get-token" does.
func plugin(t *testing.T, script string) *clientcmdapi.ExecConfig {
	t.Helper()
	path := filepath.Join(t.TempDir(), "plugin")
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+script), 0o700); err != nil {
		t.Fatal(err)
	}
	return &clientcmdapi.ExecConfig{Command: path, APIVersion: "client.authentication.k8s.io/v1", InteractiveMode: clientcmdapi.NeverExecInteractiveMode}
}

const credential = `echo '{"kind":"ExecCredential","apiVersion":"client.authentication.k8s.io/v1","status":{"token":"of-the-plugin"}}'`

func TestTheTokenIsThatOfTheKubeconfig(t *testing.T) {
	file := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(file, []byte("of-the-file\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	forbidden := func(w http.ResponseWriter, r *http.Request) bool {
		if !strings.HasSuffix(r.URL.Path, "/token") {
			return false
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusForbidden)
		_, _ = io.WriteString(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Forbidden","code":403,"message":"serviceaccounts \"kerf-viewer\" is forbidden: User \"eve\" cannot create resource \"serviceaccounts/token\""}`)
		return true
	}
	for name, tc := range map[string]struct {
		change    func(*rest.Config)
		stranger  bool // the pod is in a namespace that nobody named
		namespace string
		refuse    func(http.ResponseWriter, *http.Request) bool
		want      string   // the token
		errs      []string // parts of the error
	}{
		"a token":             {change: func(c *rest.Config) { c.BearerToken = "of-the-user" }, want: "of-the-user"},
		"a file":              {change: func(c *rest.Config) { c.BearerTokenFile = file }, want: "of-the-file"},
		"a plugin":            {change: func(c *rest.Config) { c.ExecProvider = plugin(t, credential) }, want: "of-the-plugin"},
		"a plugin that fails": {change: func(c *rest.Config) { c.ExecProvider = plugin(t, "echo 'sign in first' >&2; exit 1") }, errs: []string{"asking the kubeconfig for your token", "exit code 1"}},
		"a transport of the caller": {change: func(c *rest.Config) {
			c.Wrap(func(next http.RoundTripper) http.RoundTripper { return next })
			c.BearerToken = "of-the-user"
		}, want: "of-the-user"},
		"none, as with a client certificate":     {want: "kube-system.kerf-viewer.1"},
		"a password":                             {change: func(c *rest.Config) { c.Username, c.Password = "ann", "secret" }, want: "kube-system.kerf-viewer.1"},
		"another user is acted as":               {change: func(c *rest.Config) { c.BearerToken, c.Impersonate.UserName = "of-the-user", "bob" }, want: "kube-system.kerf-viewer.1"},
		"a pod where nobody vouches for it":      {change: func(c *rest.Config) { c.BearerToken = "of-the-user" }, stranger: true, namespace: "default", want: "default.kerf-viewer.1"},
		"the same, without the account":          {change: func(c *rest.Config) { c.BearerToken = "of-the-user" }, stranger: true, namespace: "kube-public", errs: []string{"your own token is not sent to a pod in namespace kube-public unless you name it (--controller-namespace kube-public)"}},
		"a client certificate, no account":       {namespace: "kube-public", errs: []string{"your kubeconfig yields no token", "ServiceAccount kube-public/kerf-viewer can't be had", "The installation of this version brings the account"}},
		"a client certificate without the right": {refuse: forbidden, errs: []string{`User "eve" cannot create`, "create serviceaccounts/token of kerf-viewer in namespace kube-system", "kubectl create rolebinding"}},
	} {
		t.Run(name, func(t *testing.T) {
			config := api(t, tc.refuse, "kube-system", "default")
			if tc.change != nil {
				tc.change(config)
			}
			if tc.namespace == "" {
				tc.namespace = "kube-system"
			}
			got, err := (&tokens{config: config, own: !tc.stranger, namespace: in(tc.namespace)}).get(t.Context())
			if got != tc.want || (err != nil) != (tc.errs != nil) {
				t.Fatalf("got %q, %v; want %q", got, err, tc.want)
			}
			if err == nil {
				return
			}
			if _, ok := errors.AsType[*access.NoToken](err); !ok {
				t.Errorf("%T is no access.NoToken", err)
			}
			for _, want := range tc.errs {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%q lacks %q", err, want)
				}
			}
		})
	}
}

func TestATokenIsAskedForOnceAndRenewed(t *testing.T) {
	tok := &tokens{config: api(t, nil, "kube-system"), own: true, namespace: in("kube-system")}
	for range 3 {
		if got, err := tok.get(t.Context()); err != nil || got != "kube-system.kerf-viewer.1" {
			t.Fatalf("%q, %v", got, err)
		}
	}
	if left := time.Until(tok.renew); left < 7*time.Minute || left > 8*time.Minute {
		t.Errorf("a token for 10 minutes is renewed after %s", left)
	}
	tok.renew = time.Now()
	if got, err := tok.get(t.Context()); err != nil || got != "kube-system.kerf-viewer.2" {
		t.Fatalf("%q, %v", got, err)
	}
}

// TestATokenGoesToOneAddress asks others with the client.
func TestATokenGoesToOneAddress(t *testing.T) {
	var elsewhere []string
	other := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		elsewhere = append(elsewhere, r.Header.Get("Authorization"))
	}))
	defer other.Close()
	controller := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/away" {
			http.Redirect(w, r, other.URL+"/x", http.StatusTemporaryRedirect)
			return
		}
		_, _ = io.WriteString(w, r.Header.Get("Authorization"))
	}))
	defer controller.Close()
	c, err := At{Server: controller.URL + "/debug/decisions", Config: func() (*rest.Config, error) { return &rest.Config{BearerToken: "mine"}, nil }}.Reach()
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	get := func(url string) (int, string, error) {
		resp, err := c.Client.Get(url)
		if err != nil {
			return 0, "", err
		}
		defer resp.Body.Close()
		b, err := io.ReadAll(resp.Body)
		return resp.StatusCode, string(b), err
	}
	if code, text, err := get(c.URL + "/x"); code != 200 || text != "Bearer mine" || err != nil {
		t.Errorf("%d %q %v", code, text, err)
	}
	if code, _, err := get(c.URL + "/away"); code != http.StatusTemporaryRedirect || err != nil {
		t.Errorf("a redirect: %d, %v", code, err)
	}
	if _, _, err := get(other.URL); err == nil || !strings.Contains(err.Error(), "is not asked: the token is for "+controller.URL) {
		t.Errorf("another address: %v", err)
	}
	if len(elsewhere) != 0 {
		t.Errorf("another host got %q", elsewhere)
	}
}

func TestAddresses(t *testing.T) {
	none := func() (*rest.Config, error) { return nil, errors.New("no kubeconfig was found") }
	for server, tc := range map[string]struct {
		plain bool
		want  string // URL, or a part of the error
	}{
		"http://127.0.0.1:8080":                        {want: "http://127.0.0.1:8080"},
		"http://127.0.0.1:8080/debug/decisions/latest": {want: "http://127.0.0.1:8080"},
		"http://localhost:8080":                        {want: "http://localhost:8080"},
		"http://[::1]:8080":                            {want: "http://[::1]:8080"},
		"https://kerf.example.com":                     {want: "https://kerf.example.com"},
		"http://karpenter.kube-system:8080":            {want: "would go to another host unencrypted"},
		"http://10.0.0.7:8080":                         {plain: true, want: "http://10.0.0.7:8080"},
		"http://127.0.0.1.example.com":                 {want: "would go to another host unencrypted"},
		"8080":                                         {want: `--server="8080" is no URL`},
		"ftp://127.0.0.1":                              {want: "is no URL"},
	} {
		c, err := At{Server: server, PlainHTTP: tc.plain, Config: none}.Reach()
		if err != nil && !strings.Contains(err.Error(), tc.want) || err == nil && c.URL != tc.want {
			t.Errorf("%s: got %v, %v, want %q", server, c, err, tc.want)
		}
	}
}

// TestWithoutAKubeconfigNoTokenIsSent: that is fine with who wants none; else it is said why there is none.
func TestWithoutAKubeconfigNoTokenIsSent(t *testing.T) {
	code := http.StatusOK
	controller := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "" {
			t.Error("a token is sent")
		}
		w.WriteHeader(code)
	}))
	defer controller.Close()
	c, err := At{Server: controller.URL, Config: func() (*rest.Config, error) { return nil, errors.New("no kubeconfig was found") }}.Reach()
	if err != nil {
		t.Fatal(err)
	}
	resp, err := c.Client.Get(c.URL)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	code = http.StatusUnauthorized
	_, err = c.Client.Get(c.URL) //nolint:bodyclose // there is none
	none, ok := errors.AsType[*access.NoToken](err)
	if !ok || none.Error() != "the controller wants a token, and there is none to send: no kubeconfig was found" {
		t.Errorf("got %v", err)
	}
}

// TestAKubeconfigWithAPluginYieldsItsToken reads one as commands do.
func TestAKubeconfigWithAPluginYieldsItsToken(t *testing.T) {
	c := clientcmdapi.NewConfig()
	c.Clusters["c"] = &clientcmdapi.Cluster{Server: "https://127.0.0.1:1"}
	c.AuthInfos["u"] = &clientcmdapi.AuthInfo{Exec: plugin(t, credential)}
	c.Contexts["x"] = &clientcmdapi.Context{Cluster: "c", AuthInfo: "u"}
	c.CurrentContext = "x"
	config, err := clientcmd.NewDefaultClientConfig(*c, nil).ClientConfig()
	if err != nil {
		t.Fatal(err)
	}
	if got, err := (&tokens{config: config, own: true, namespace: in("x")}).get(t.Context()); err != nil || got != "of-the-plugin" {
		t.Errorf("%q, %v", got, err)
	}
}

// TestNoTokenGoesToAPortThatIsForwardedNoMore: when the connection to the pod has ended, the port may be another user's.
func TestNoTokenGoesToAPortThatIsForwardedNoMore(t *testing.T) {
	asked := 0
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked++ }))
	t.Cleanup(server.Close)
	gone := make(chan struct{})
	s := &sender{scheme: "http", host: strings.TrimPrefix(server.URL, "http://"), none: errors.New("none"), gone: gone, next: http.DefaultTransport}
	for _, want := range []int{1, 1} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL, nil)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := s.RoundTrip(req)
		if err == nil {
			_ = resp.Body.Close()
		}
		select {
		case <-gone:
			if err == nil || !strings.Contains(err.Error(), "may be somebody else's") {
				t.Errorf("over an ended forward: %v", err)
			}
		default:
			close(gone)
		}
		if asked != want {
			t.Errorf("asked %d times, want %d", asked, want)
		}
	}
}
