package kubelet

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"sigs.k8s.io/yaml"
)

// testPod is a pod whose container is given in YAML.
func testPod(t *testing.T, container string) *Pod {
	t.Helper()
	p := &Pod{
		Namespace: "kube-system", Name: "karpenter-x", UID: "u", ServiceAccount: "karpenter", Node: "n", Address: "127.0.0.1",
		Labels: map[string]string{"app.kubernetes.io/name": "karpenter"}, Allocatable: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("8")},
		Data: func(kind, name string) (map[string]string, error) {
			if name != "there" {
				return nil, errors.New(kind + " " + name + " not found")
			}
			return map[string]string{"A": "of " + kind, "B": "b"}, nil
		},
	}
	if err := yaml.UnmarshalStrict([]byte(container), &p.Container); err != nil {
		t.Fatal(err)
	}
	return p
}

func TestEnvironment(t *testing.T) {
	p := testPod(t, `
name: controller
resources: {limits: {memory: 1Gi, ephemeral-storage: 1M}, requests: {cpu: 250m, memory: 512Mi}}
envFrom: [{prefix: CM_, configMapRef: {name: there}}, {secretRef: {name: absent, optional: true}}]
env:
- {name: PLAIN, value: "1"}
- {name: REFERS, value: "$(PLAIN)-$(CM_A)-$(LATER)-$$(PLAIN)-$x-$(open"}
- {name: LATER, value: "2"}
- {name: NAMESPACE, valueFrom: {fieldRef: {fieldPath: metadata.namespace}}}
- {name: POD, valueFrom: {fieldRef: {fieldPath: metadata.name}}}
- {name: ACCOUNT, valueFrom: {fieldRef: {fieldPath: spec.serviceAccountName}}}
- {name: LABEL, valueFrom: {fieldRef: {fieldPath: "metadata.labels['app.kubernetes.io/name']"}}}
- {name: MEMORY_LIMIT, valueFrom: {resourceFieldRef: {containerName: controller, resource: limits.memory, divisor: "0"}}}
- {name: MEMORY_MIB, valueFrom: {resourceFieldRef: {resource: requests.memory, divisor: 1Mi}}}
- {name: CPU_MILLI, valueFrom: {resourceFieldRef: {resource: requests.cpu, divisor: 1m}}}
- {name: CPU, valueFrom: {resourceFieldRef: {resource: requests.cpu}}}
- {name: CPU_LIMIT, valueFrom: {resourceFieldRef: {resource: limits.cpu}}}
- {name: DISK_KI, valueFrom: {resourceFieldRef: {resource: limits.ephemeral-storage, divisor: 1Ki}}}
- {name: SECRET, valueFrom: {secretKeyRef: {name: there, key: A}}}
- {name: ABSENT, valueFrom: {configMapKeyRef: {name: there, key: C, optional: true}}}
`)
	got, err := p.Environment()
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"HOSTNAME=karpenter-x", "CM_A=of ConfigMap", "CM_B=b", "PLAIN=1", "REFERS=1-of ConfigMap-$(LATER)-$(PLAIN)-$x-$(open", "LATER=2", "NAMESPACE=kube-system", "POD=karpenter-x",
		"ACCOUNT=karpenter", "LABEL=karpenter", "MEMORY_LIMIT=1073741824", "MEMORY_MIB=512", "CPU_MILLI=250", "CPU=1", "CPU_LIMIT=8", "DISK_KI=977", "SECRET=of Secret",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestAVariableThatCanNotBeReadIsNamed(t *testing.T) {
	for env, words := range map[string][]string{
		`{name: A, valueFrom: {fieldRef: {fieldPath: status.phase}}}`:                                 {"variable A", "status.phase"},
		`{name: A, valueFrom: {resourceFieldRef: {resource: limits.memory}}}`:                         {"variable A", "no such limit"},
		`{name: A, valueFrom: {resourceFieldRef: {containerName: sidecar, resource: limits.memory}}}`: {"variable A", `"sidecar"`},
		`{name: A, valueFrom: {secretKeyRef: {name: absent, key: k}}}`:                                {"variable A", "Secret absent not found"},
		`{name: A, valueFrom: {configMapKeyRef: {name: there, key: k}}}`:                              {"variable A", "ConfigMap kube-system/there", `"k"`},
	} {
		_, err := testPod(t, "name: controller\nenv: ["+env+"]").Environment()
		for _, w := range words {
			if err == nil || !strings.Contains(err.Error(), w) {
				t.Errorf("%s: got %v, want %s", env, err, w)
			}
		}
	}
}

func TestServicesOfTheNamespaceAreInTheEnvironment(t *testing.T) {
	p := testPod(t, `{name: controller, env: [{name: METRICS_PORT, value: "8080"}, {name: TO, value: "$(KUBERNETES_SERVICE_HOST)"}]}`)
	service := func(name, ip string, ports ...corev1.ServicePort) corev1.Service {
		s := corev1.Service{Spec: corev1.ServiceSpec{ClusterIP: ip, Ports: ports}}
		s.Name = name
		return s
	}
	p.Services = []corev1.Service{
		service("kubernetes", "10.0.0.1", corev1.ServicePort{Name: "https", Port: 443}),
		service("metrics", "10.0.0.2", corev1.ServicePort{Name: "dns", Port: 53, Protocol: corev1.ProtocolUDP}),
		service("headless", corev1.ClusterIPNone, corev1.ServicePort{Port: 1}),
	}
	got, err := p.Environment()
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"KUBERNETES_SERVICE_HOST=10.0.0.1", "KUBERNETES_SERVICE_PORT=443", "KUBERNETES_SERVICE_PORT_HTTPS=443", "KUBERNETES_PORT=tcp://10.0.0.1:443",
		"KUBERNETES_PORT_443_TCP=tcp://10.0.0.1:443", "KUBERNETES_PORT_443_TCP_PROTO=tcp", "KUBERNETES_PORT_443_TCP_PORT=443", "KUBERNETES_PORT_443_TCP_ADDR=10.0.0.1",
		"METRICS_SERVICE_HOST=10.0.0.2", "METRICS_SERVICE_PORT=53", "METRICS_SERVICE_PORT_DNS=53", "METRICS_PORT=udp://10.0.0.2:53",
		"METRICS_PORT_53_UDP=udp://10.0.0.2:53", "METRICS_PORT_53_UDP_PROTO=udp", "METRICS_PORT_53_UDP_PORT=53", "METRICS_PORT_53_UDP_ADDR=10.0.0.2",
		"HOSTNAME=karpenter-x", "METRICS_PORT=8080", "TO=10.0.0.1", // the container's own come last and count
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestCommand(t *testing.T) {
	entryPoint := []string{"/kerf", "controller"}
	for container, want := range map[string][]string{
		`{name: c}`: {"/kerf", "controller"},
		`{name: c, args: ["--log-level=$(LEVEL)"]}`:       {"/kerf", "controller", "--log-level=debug"},
		`{name: c, command: [/kerf], args: [version]}`:    {"/kerf", "version"},
		`{name: c, command: [/kerf, "$$(LEVEL)", "$(X"]}`: {"/kerf", "$(LEVEL)", "$(X"},
	} {
		if got := testPod(t, container).Command(entryPoint, []string{"LEVEL=info", "LEVEL=debug"}); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", container, got, want)
		}
	}
}
