package cli

import (
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/client-go/rest"

	"github.com/kerf-sh/kerf/internal/controller/access"
	"github.com/kerf-sh/kerf/internal/controller/decisions"
	"github.com/kerf-sh/kerf/internal/sim/kubesim"
)

// TestCommandsShowTheirUsersToken asks a controller that lets ann and the account kerf-viewer read, of an API server.
func TestCommandsShowTheirUsersToken(t *testing.T) {
	sim, err := kubesim.New(kubesim.Options{
		Tokens: map[string]authenticationv1.UserInfo{"tok-ann": {Username: "ann"}, "tok-bob": {Username: "bob"}},
		Allow: func(s *authorizationv1.SubjectAccessReviewSpec) bool {
			return s.User == "ann" || s.User == "system:serviceaccount:kube-system:kerf-viewer"
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	api := httptest.NewTLSServer(sim) // over plain HTTP, client-go leaves the token of a kubeconfig out
	t.Cleanup(api.Close)
	resp, err := api.Client().Post(api.URL+"/api/v1/namespaces/kube-system/serviceaccounts", "application/json", strings.NewReader(`{"metadata":{"name":"kerf-viewer"}}`))
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	down := httptest.NewServer(nil)
	down.Close()

	file := recorded(t, nil)
	d, err := decisions.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	serve := func(api string) string {
		gate, err := access.New(&rest.Config{Host: api, TLSClientConfig: rest.TLSClientConfig{Insecure: strings.HasPrefix(api, "https")}}, access.Options{Namespace: "kube-system", Now: time.Now, Log: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		ring := decisions.NewRing(4, 1<<20, slog.New(slog.DiscardHandler))
		ring.Add(d)
		web := httptest.NewServer(gate.Guard(decisions.Handler(ring)))
		t.Cleanup(web.Close)
		return web.URL
	}
	controller, cutOff := serve(api.URL), serve(down.URL)
	kubeconfig := func(user string) string {
		path := filepath.Join(t.TempDir(), "kubeconfig")
		text := fmt.Sprintf("apiVersion: v1\nkind: Config\ncurrent-context: x\nclusters: [{name: c, cluster: {server: %q, insecure-skip-tls-verify: true}}]\ncontexts: [{name: x, context: {cluster: c, user: u}}]\nusers: [{name: u, user: {%s}}]\n", api.URL, user)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	pod := []string{"explain", "pod", "default/pod-0"}
	for name, tc := range map[string]struct {
		args   []string
		server string
		user   string // of the kubeconfig
		code   int
		wants  []string
	}{
		"a user with the right":       {pod, controller, "token: tok-ann", 0, []string{"it has no place"}},
		"a user without a token":      {pod, controller, "", 0, []string{"it has no place"}}, // kubesim takes everybody for an administrator, as by a client certificate
		"replay of the latest":        {[]string{"replay"}, controller, "token: tok-ann", 0, []string{"same: "}},
		"replay of a URL":             {[]string{"replay", controller + "/debug/decisions/latest"}, "", "token: tok-ann", 0, []string{"same: "}},
		"a user without the right":    {pod, controller, "token: tok-bob", 1, []string{"403 Forbidden", `user "bob" may not get /debug/decisions`, "--clusterrole=kerf-viewer --user=bob"}},
		"a token that nobody knows":   {pod, controller, "token: made-up", 1, []string{"401 Unauthorized", "does not know the token", "kubectl create token kerf-viewer -n kube-system"}},
		"no account for tokens":       {append(pod, "--controller-namespace", "default"), controller, "", 1, []string{"your kubeconfig yields no token", "ServiceAccount default/kerf-viewer can't be had", "not found"}},
		"an API server that is down":  {pod, cutOff, "token: tok-ann", 1, []string{"503 Service Unavailable", "whether you may read this could not be found out"}},
		"another host, unencrypted":   {pod, "http://10.0.0.7:8080", "token: tok-ann", 2, []string{"would go to another host unencrypted", "--plain-http"}},
		"a cluster that is named":     {pod, "", "token: tok-ann", 1, []string{"there is no Lease"}}, // whatever KERF_SERVER says
		"a node, of whom nobody asks": {[]string{"explain", "node", "n"}, controller, "token: tok-bob", 1, []string{"403 Forbidden"}},
	} {
		t.Run(name, func(t *testing.T) {
			args := append([]string{}, tc.args...)
			if tc.server != "" {
				args = append(args, "--server", tc.server)
			}
			t.Setenv("KERF_SERVER", controller)
			var out, errs bytes.Buffer
			code := Main(append(args, "--kubeconfig", kubeconfig(tc.user)), &out, &errs)
			said := out.String() + errs.String()
			if code != tc.code {
				t.Errorf("exit code %d, want %d", code, tc.code)
			}
			for _, want := range tc.wants {
				if !strings.Contains(said, want) {
					t.Errorf("lacks %q", want)
				}
			}
			if t.Failed() {
				_, _ = io.WriteString(t.Output(), said)
			}
		})
	}
}
