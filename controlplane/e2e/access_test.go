package e2e

import (
	"bytes"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/kerf-sh/kerf/internal/controller/access"
	"github.com/kerf-sh/kerf/internal/controller/decisions"
)

// TestWhoReadsDecisions runs "kerf explain" as several users, whom a real API server judges.
func TestWhoReadsDecisions(t *testing.T) {
	t.Parallel()
	e := up(t)
	e.apply(classYAML)
	s := e.stage(t)
	s.pool("default", "", "")
	s.deploy("giant", 1, "10000", "")
	var pods corev1.PodList
	s.eventually(30*time.Second, "there is a pod", func() (bool, string) {
		if err := s.client.List(t.Context(), &pods); err != nil {
			return false, err.Error()
		}
		for i := range pods.Items {
			if strings.HasPrefix(pods.Items[i].Name, "giant-") {
				pods.Items = pods.Items[i : i+1]
				return true, ""
			}
		}
		return false, "no pod"
	})
	pod := pods.Items[0].Namespace + "/" + pods.Items[0].Name

	config, err := s.cluster.Config()
	if err != nil {
		t.Fatal(err)
	}
	api, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := api.CoreV1().ServiceAccounts(s.name).Create(t.Context(), &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "reader"}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	token, err := api.CoreV1().ServiceAccounts(s.name).CreateToken(t.Context(), "reader", &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	account := s.kubeconfig("account", func(u *clientcmdapi.AuthInfo) { *u = clientcmdapi.AuthInfo{Token: token.Status.Token} })
	nobody := s.kubeconfig("nobody", func(u *clientcmdapi.AuthInfo) { u.Impersonate = "nobody@example.com" })

	// The administrator has a client certificate and no token.
	s.explained(s.cluster.Kubeconfig, pod, 0, "it has no place", "cheapest single change")
	s.explained(account, pod, 1, "403 Forbidden", `user "system:serviceaccount:`+s.name+`:reader" may not get `+decisions.Path, "--clusterrole="+access.Viewer+" --serviceaccount="+s.name+":reader")
	s.explained(nobody, pod, 1, `your kubeconfig acts as user "nobody@example.com"`, "cannot create resource \"serviceaccounts/token\"", "create serviceaccounts/token of kerf-viewer in namespace kube-system")

	// What the refusal says helps.
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: s.name}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: access.Viewer},
		Subjects: []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: s.name, Name: "reader"}},
	}
	if _, err := api.RbacV1().ClusterRoleBindings().Create(t.Context(), binding, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	s.explained(account, pod, 0, "it has no place")

	// Whoever comes from this host, as a sidecar does, is nobody without a token.
	for header, want := range map[string]int{"": http.StatusUnauthorized, "Bearer made-up": http.StatusUnauthorized, "Bearer " + s.token(): http.StatusForbidden, "Bearer " + token.Status.Token: http.StatusOK} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.server()+decisions.Path, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		if header != "" {
			req.Header.Set("Authorization", header)
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if resp.StatusCode != want || err != nil {
			t.Errorf("with %.20q it is %d, want %d: %.300s", header, resp.StatusCode, want, text)
		}
	}
}

// server is the address of the controller's metrics port.
func (e *env) server() string { return strings.TrimSuffix(e.cluster.Controller.MetricsURL, "/metrics") }

// kubeconfig is that of the administrator with another user in it.
func (e *env) kubeconfig(name string, change func(*clientcmdapi.AuthInfo)) string {
	e.Helper()
	c, err := clientcmd.LoadFromFile(e.cluster.Kubeconfig)
	if err != nil {
		e.Fatal(err)
	}
	for _, u := range c.AuthInfos {
		change(u)
	}
	path := filepath.Join(e.TempDir(), name)
	if err := clientcmd.WriteToFile(*c, path); err != nil {
		e.Fatal(err)
	}
	return path
}

// explained asks about a pod until the answer is the one that is wanted: the decision may not be made yet, and a right takes some
// seconds to be seen.
func (e *env) explained(kubeconfig, pod string, code int, wants ...string) {
	e.Helper()
	binary, err := kerf()
	if err != nil {
		e.Fatal(err)
	}
	e.eventually(30*time.Second, "kerf explain with "+filepath.Base(kubeconfig), func() (bool, string) {
		var out bytes.Buffer
		c := exec.CommandContext(e.Context(), binary, "explain", "pod", pod, "--kubeconfig", kubeconfig, "--server", e.server())
		c.Env, c.Stdout, c.Stderr = append(os.Environ(), "KUBECONFIG="), &out, &out
		_ = c.Run() // the code says it
		text := out.String()
		for _, want := range wants {
			if !strings.Contains(text, want) {
				return false, text
			}
		}
		return c.ProcessState.ExitCode() == code, text
	})
}
