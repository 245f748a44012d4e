package local

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kerf-sh/kerf/internal/local/kubelet"
	"github.com/kerf-sh/kerf/internal/setup/manifests"
)

func TestAPortThatIsSetIsTheContainersPort(t *testing.T) {
	c := &Cluster{Name: "demo", options: Options{ControllerEnv: []string{"METRICS_PORT=0", "METRICS_PORT=8081"}}}
	if _, err := c.Deployment(0, 0); err != nil {
		t.Errorf("for rights alone: %v", err)
	}
	d, err := c.Deployment(9080, 9081)
	if err != nil {
		t.Fatal(err)
	}
	env, err := kubelet.PodOf(d, "x").Environment()
	if err != nil || !slices.Contains(env, "METRICS_PORT=8081") || slices.Contains(env, "METRICS_PORT=0") || !slices.Contains(env, "HEALTH_PROBE_PORT=9081") {
		t.Errorf("got %q, %v", env, err)
	}
	for _, p := range d.Spec.Template.Spec.Containers[0].Ports {
		if p.Name == manifests.MetricsPort && p.ContainerPort != 8081 {
			t.Errorf("the container's port is %d, want 8081, where the controller listens", p.ContainerPort)
		}
	}
}

// The shipped Deployment needs nothing that a process of this instance can't be given.
func TestTheShippedDeploymentIsUnderstood(t *testing.T) {
	c := &Cluster{Name: "demo", options: Options{ControllerEnv: []string{"LOG_LEVEL=debug"}}}
	d, err := c.Deployment(9080, 9081)
	if err != nil {
		t.Fatal(err)
	}
	pod := kubelet.PodOf(d, "karpenter-x")
	env, err := pod.Environment()
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"LEADER_ELECTION_NAMESPACE=kube-system", "MEMORY_LIMIT=1073741824", "CPU_REQUESTS=500", "CLUSTER_NAME=demo", "METRICS_PORT=9080", "HEALTH_PROBE_PORT=9081"} {
		if !slices.Contains(env, want) {
			t.Errorf("%s is not in %q", want, env)
		}
	}
	if i := slices.Index(env, "LOG_LEVEL=debug"); i < slices.Index(env, "LOG_LEVEL=info") {
		t.Error("what the user sets does not come last")
	}
	if got := pod.Command(manifests.EntryPoint(), env); !slices.Equal(got, []string{"/kerf", "controller"}) {
		t.Errorf("it runs %q", got)
	}
	probes, err := kubelet.ProbesOf(&pod.Container, "127.0.0.1")
	if err != nil {
		t.Fatal(err)
	}
	if probes.Startup != nil || probes.Liveness.Delay != 30*time.Second || probes.Liveness.Timeout != 30*time.Second || probes.Readiness.Delay != 5*time.Second {
		t.Errorf("its probes are %+v %+v", probes.Liveness, probes.Readiness)
	}
	if pod.ServiceAccount != "karpenter" || pod.Namespace != "kube-system" {
		t.Errorf("it runs as %s/%s", pod.Namespace, pod.ServiceAccount)
	}
	other, err := kubelet.PodOf(withPorts(d, 1, 2), "x").Environment()
	if err != nil {
		t.Fatal(err)
	}
	if text := strings.Join(other, " "); !strings.Contains(text, "METRICS_PORT=1 ") || !strings.Contains(text, "HEALTH_PROBE_PORT=2 ") {
		t.Errorf("a second replica has %s", text)
	}
}
