package local

import (
	"encoding/json"
	"io"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"al.essio.dev/pkg/shellescape"

	"github.com/kerf-sh/kerf/internal/local/kubelet"
)

// Env is what tools need in their environment to work with the cluster, as KEY=value: kubectl, the AWS CLI as the
// account's administrator, and Kerf's own commands.
func (c *Cluster) Env() []string {
	env := append([]string{"KUBECONFIG=" + c.Kubeconfig}, c.Simulator.EnvFor(c.Administrator())...)
	env = append(env, "AWS_DEFAULT_REGION="+c.Region, "CLUSTER_NAME="+c.Name, "KERF_SIMULATOR="+c.AWS+"/_kerf")
	if server := c.Server(); server != "" {
		env = append(env, "KERF_SERVER="+server)
	}
	return env
}

// Server is the address of the controller, or one that leads to the leader of what is installed; empty where there is none.
func (c *Cluster) Server() string {
	if c.Controller != nil {
		return strings.TrimSuffix(c.Controller.MetricsURL, "/metrics")
	}
	return c.installed.server
}

// Exports writes an environment as lines that a shell can evaluate. A profile and a session token of the user's own are unset:
// the one would lead to another account, the other is refused beside these keys.
func Exports(env []string) string {
	var b strings.Builder
	b.WriteString("unset AWS_PROFILE AWS_SESSION_TOKEN\n")
	for _, pair := range env {
		key, value, _ := strings.Cut(pair, "=")
		b.WriteString("export " + key + "=" + shellescape.Quote(value) + "\n")
	}
	return b.String()
}

// ports are those that a cluster had, so that it has them again when it is started anew and nobody took them meanwhile. Where somebody has,
// another is chosen.
type ports struct {
	Kubernetes, AWS, Metrics, Health int
}

const portsName = "ports.json"

// readPorts returns the ports of the last cluster in a folder that nobody has now, and 0 for the others. They are claimed until release is
// called: it takes a while until the cluster listens on them.
func readPorts(dir string) (p ports, release func()) {
	var claims []io.Closer
	release = func() {
		for _, c := range claims {
			_ = c.Close()
		}
	}
	text, err := os.ReadFile(filepath.Join(dir, portsName))
	if err != nil || json.Unmarshal(text, &p) != nil {
		return ports{}, release
	}
	for _, port := range []*int{&p.Kubernetes, &p.AWS, &p.Metrics, &p.Health} {
		if *port == 0 {
			continue
		}
		claim, err := kubelet.ClaimPort(*port)
		if err != nil {
			*port = 0
			continue
		}
		claims = append(claims, claim)
	}
	return p, release
}

func free(port int) bool {
	l, err := net.Listen("tcp4", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	if err != nil {
		return false
	}
	return l.Close() == nil
}

// writePorts notes the ports of a running cluster. Without the note the next one has other ports, which is no harm.
func (c *Cluster) writePorts() {
	p := ports{Kubernetes: portOf(c.Kube.Server), AWS: portOf(c.AWS)}
	if c.Controller != nil {
		p.Metrics, p.Health = portOf(c.Controller.MetricsURL), portOf(c.Controller.HealthURL)
	}
	if text, err := json.Marshal(p); err == nil {
		_ = os.WriteFile(filepath.Join(c.StateDir, portsName), text, 0o600) // see above
	}
}

// portOf is the port of a URL, 0 if it has none.
func portOf(address string) int {
	u, err := url.Parse(address)
	if err != nil {
		return 0
	}
	port, _ := strconv.Atoi(u.Port()) // 0 without one
	return port
}
