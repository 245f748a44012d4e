package e2e

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kerf-sh/kerf/internal/local/kubelet"
)

// TestTheControllerRunsAsInAPod looks at what a kubelet would give the controller and do to it: a token of its service
// account, no right but those of the chart, and an end when it hangs.
func TestTheControllerRunsAsInAPod(t *testing.T) {
	t.Parallel()
	e := up(t)
	e.apply(classYAML)
	for _, story := range []struct {
		name string
		tell func(*testing.T, *env)
	}{
		{"it has the token of a pod", tokenOfAPod},
		{"it reads a new token", newToken},
		{"a rule is missing", missingRule},
		{"it hangs", hangs},
	} {
		t.Run(story.name, func(t *testing.T) { story.tell(t, e) })
	}
}

// token is what the controller's token file holds.
func (e *env) token() string {
	e.Helper()
	text, err := os.ReadFile(filepath.Join(e.cluster.Controller.Volume.Dir, kubelet.TokenFile))
	if err != nil {
		e.Fatal(err)
	}
	return string(text)
}

// as makes a client with nothing but a token.
func (e *env) as(token string) kubernetes.Interface {
	e.Helper()
	config, err := e.cluster.Config()
	if err != nil {
		e.Fatal(err)
	}
	config = rest.AnonymousClientConfig(config)
	config.BearerToken = token
	c, err := kubernetes.NewForConfig(config)
	if err != nil {
		e.Fatal(err)
	}
	return c
}

func tokenOfAPod(t *testing.T, e *env) {
	c := e.cluster.Controller
	environ, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", c.PID()))
	if err != nil {
		t.Fatal(err)
	}
	vars := strings.Split(string(environ), "\x00")
	kubeconfig := ""
	for _, v := range vars {
		if path, ok := strings.CutPrefix(v, "KUBECONFIG="); ok {
			kubeconfig = path
		}
	}
	text, err := os.ReadFile(kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(text), "client-") || !strings.Contains(string(text), "tokenFile: "+filepath.Join(c.Volume.Dir, kubelet.TokenFile)) {
		t.Errorf("its kubeconfig is\n%s", text)
	}
	for _, want := range []string{"HOME=/", "PATH=/", "LEADER_ELECTION_NAMESPACE=kube-system", "KUBERNETES_SERVICE_HOST=127.0.0.1", "KARPENTER_SERVICE_PORT_HTTP_METRICS=8080"} {
		if !slices.Contains(vars, want) {
			t.Errorf("%s is not in its environment %q", want, vars)
		}
	}

	who, err := e.as(e.token()).AuthenticationV1().SelfSubjectReviews().Create(t.Context(), &authenticationv1.SelfSubjectReview{}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if info := who.Status.UserInfo; info.Username != "system:serviceaccount:kube-system:karpenter" || !slices.Contains(info.Groups, "system:serviceaccounts:kube-system") {
		t.Errorf("it is %+v", info)
	}
	claims := claimsOf(t, e.token())
	if len(claims.Aud) != 1 || claims.Exp-claims.Iat != 3607 || claims.Kubernetes.Serviceaccount.Name != "karpenter" || claims.Kubernetes.Secret.Name != c.Pod+"-token" {
		t.Errorf("the token says %+v", claims)
	}
}

// newToken puts another token into the controller's file, as a kubelet does long before the old one expires. client-go reads
// the file once a minute, and from then on the controller's writes are made with the new token.
func newToken(t *testing.T, e *env) {
	s := e.stage(t)
	s.pool("default", "", "")
	c, old := s.cluster.Controller, s.token()
	if err := c.Volume.Rotate(t.Context()); err != nil {
		t.Fatal(err)
	}
	id := "JTI=" + claimsOf(t, s.token()).ID
	if id == "JTI="+claimsOf(t, old).ID {
		t.Fatalf("the token is the same, %s", id)
	}
	pods := 1
	s.deploy("web", pods, "1", apart("web"))
	s.run(60*time.Second, pods)
	s.eventually(60*time.Second, "a write with the new token", func() (bool, string) {
		text, err := os.ReadFile(s.audit)
		if err != nil {
			return false, err.Error()
		}
		for line := range strings.Lines(string(text)) {
			if strings.Contains(line, id) && strings.Contains(line, `"username":"system:serviceaccount:kube-system:karpenter"`) {
				return true, ""
			}
		}
		time.Sleep(5 * time.Second) // between instances that are launched to see with which token
		pods++
		s.scaleIn(s.name, "web", int32(pods))
		s.run(60*time.Second, pods)
		return false, fmt.Sprintf("none after %d instances", pods)
	})
	if n := c.Restarts(); n != 0 {
		t.Errorf("it was restarted %d times", n)
	}
	s.noneTwice(pods)
}

// tokenClaims are what a token says.
type tokenClaims struct {
	Aud        []string
	Exp, Iat   int64
	ID         string `json:"jti"`
	Kubernetes struct {
		Secret         struct{ Name string }
		Serviceaccount struct{ Name string }
	} `json:"kubernetes.io"`
}

func claimsOf(t *testing.T, token string) (out tokenClaims) {
	t.Helper()
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		t.Fatalf("the token has %d parts", len(parts))
	}
	payload, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err == nil {
		err = json.Unmarshal(payload, &out)
	}
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// missingRule takes one rule out of the chart's ClusterRole: the controller is refused that, and says so.
func missingRule(t *testing.T, e *env) {
	s := e.stage(t)
	s.pool("default", "", "")
	role := &rbacv1.ClusterRole{}
	if err := s.client.Get(t.Context(), client.ObjectKey{Name: "karpenter"}, role); err != nil {
		t.Fatal(err)
	}
	whole := role.DeepCopy()
	taken := false
	for i := range role.Rules {
		r := &role.Rules[i]
		if slices.Contains(r.Resources, "nodeclaims") && slices.Contains(r.Verbs, "create") {
			r.Verbs, taken = slices.DeleteFunc(slices.Clone(r.Verbs), func(v string) bool { return v == "create" }), true
		}
	}
	if !taken {
		t.Fatalf("no rule of %s lets NodeClaims be created", role.Name)
	}
	if err := s.client.Update(t.Context(), role); err != nil {
		t.Fatal(err)
	}
	s.deploy("web", 1, "1", "")
	s.logged(60*time.Second, "nodeclaims.karpenter.sh is forbidden", "system:serviceaccount:kube-system:karpenter", "create")
	if n := len(s.mine()); n != 0 {
		t.Errorf("%d NodeClaims were made without the right to", n)
	}
	whole.ResourceVersion = role.ResourceVersion
	if err := s.client.Update(t.Context(), whole); err != nil {
		t.Fatal(err)
	}
	s.run(90*time.Second, 1)
}

// hangs stops the process, which answers no probe then and ends by no SIGTERM.
func hangs(t *testing.T, e *env) {
	s := e.stage(t)
	s.pool("default", "", "")
	d, err := s.cluster.Deployment(port(s.cluster.Controller.MetricsURL), port(s.cluster.Controller.HealthURL))
	if err != nil {
		t.Fatal(err)
	}
	impatient(d)
	if err := s.cluster.Run(t.Context(), d); err != nil {
		t.Fatal(err)
	}
	s.deploy("web", 1, "1", apart("web"))
	s.run(60*time.Second, 1)
	first := s.cluster.Controller.PID()
	if err := syscall.Kill(first, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	s.scaleIn(s.name, "web", 3)
	s.eventually(60*time.Second, "another process runs and is ready", func() (bool, string) {
		c := s.cluster.Controller
		return c.PID() != first && c.PID() != 0 && c.Ready(), fmt.Sprintf("process %d, ready %v, %d restarts", c.PID(), c.Ready(), c.Restarts())
	})
	s.run(90*time.Second, 3)
	s.matched(20 * time.Second)
	s.noneTwice(3)
}

// impatient makes the probes of a Deployment fast.
func impatient(d *appsv1.Deployment) {
	d.Spec.Template.Spec.TerminationGracePeriodSeconds = new(int64(2))
	c := &d.Spec.Template.Spec.Containers[0]
	c.LivenessProbe.InitialDelaySeconds, c.LivenessProbe.PeriodSeconds, c.LivenessProbe.TimeoutSeconds, c.LivenessProbe.FailureThreshold = 5, 2, 5, 2
	c.ReadinessProbe.InitialDelaySeconds, c.ReadinessProbe.PeriodSeconds = 1, 1
}

// port is that of a URL.
func port(of string) int {
	u, err := url.Parse(of)
	if err != nil {
		return 0
	}
	n, _ := strconv.Atoi(u.Port()) // 0 without one
	return n
}
