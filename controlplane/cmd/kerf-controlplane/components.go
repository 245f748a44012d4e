package main

import (
	"embed"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// A component is one child process of the control plane.
type component struct {
	name string   // also its role and the name of its log file
	args []string // after the role
	env  []string // beyond the environment of the supervisor
}

func etcdComponent(l layout) component {
	return component{name: "etcd", args: []string{"--dir=" + l.etcdDir}}
}

func apiserverComponent(l layout, o options) component {
	args := []string{
		"--etcd-servers=unix://" + filepath.Join(l.etcdDir, etcdSocket),
		"--bind-address=127.0.0.1",
		// Without an advertised address the apiserver looks for a network
		// interface, and a laptop may be offline.
		"--advertise-address=127.0.0.1",
		"--endpoint-reconciler-type=none",
		"--secure-port=" + strconv.Itoa(l.apiserverPort),
		"--tls-cert-file=" + l.servingCert(),
		"--tls-private-key-file=" + l.servingKey(),
		"--client-ca-file=" + l.caFile(),
		"--authorization-mode=Node,RBAC",
		"--service-account-issuer=https://kubernetes.default.svc",
		"--service-account-signing-key-file=" + l.tokenKey(),
		"--service-account-key-file=" + l.tokenKey(),
		"--service-cluster-ip-range=" + l.serviceCIDR.String(),
		// Nothing runs in the pods, so nothing needs a token.
		"--disable-admission-plugins=ServiceAccount",
		"--allow-privileged=true",
		"--profiling=false",
		// Simulators and benchmarks are the only users; the limits that keep
		// one client from starving others would only throttle them.
		"--max-requests-inflight=3000",
		"--max-mutating-requests-inflight=1000",
		"--v=" + strconv.Itoa(o.verbosity),
	}
	if o.auditLog != "" {
		args = append(args,
			"--audit-policy-file="+filepath.Join(l.configDir(), "audit-policy.yaml"),
			"--audit-log-path="+o.auditLog,
			"--audit-log-mode=batch",
		)
	}
	return component{name: "apiserver", args: args}
}

// controllers are those of the controller-manager that matter to a node
// autoscaler: what makes pods, evicts them, and deletes what is left over.
// node-lifecycle is needed even for instances that do not exist, because only
// it lifts the not-ready taint that every new node gets.
var controllers = []string{
	"clusterrole-aggregation-controller",
	"cronjob-controller",
	"daemonset-controller",
	"deployment-controller",
	"disruption-controller",
	"ephemeral-volume-controller",
	"garbage-collector-controller",
	"job-controller",
	"namespace-controller",
	"node-lifecycle-controller",
	"persistentvolume-attach-detach-controller",
	"persistentvolume-binder-controller",
	"pod-garbage-collector-controller",
	"replicaset-controller",
	"replicationcontroller-controller",
	"statefulset-controller",
	"taint-eviction-controller",
	"ttl-after-finished-controller",
}

func controllerManagerComponent(l layout, o options) component {
	return component{name: "controller-manager", args: []string{
		"--kubeconfig=" + l.kubeconfig("controller-manager"),
		"--bind-address=127.0.0.1",
		"--secure-port=" + strconv.Itoa(l.controllerManagerPort),
		"--tls-cert-file=" + l.servingCert(),
		"--tls-private-key-file=" + l.servingKey(),
		"--authorization-always-allow-paths=/healthz,/readyz,/livez,/metrics",
		"--leader-elect=false",
		"--controllers=" + strings.Join(controllers, ","),
		"--kube-api-qps=1000",
		"--kube-api-burst=2000",
		"--concurrent-deployment-syncs=20",
		"--concurrent-replicaset-syncs=20",
		"--concurrent-job-syncs=20",
		"--concurrent-statefulset-syncs=10",
		// Twice the lease: one renewal may be lost, or late on a busy instance,
		// without a node being called dead.
		fmt.Sprintf("--node-monitor-grace-period=%ds", 2*o.nodeLeaseSeconds),
		"--profiling=false",
		"--v=" + strconv.Itoa(o.verbosity),
	}}
}

func schedulerComponent(l layout, o options) component {
	return component{name: "scheduler", args: []string{
		"--config=" + filepath.Join(l.configDir(), "scheduler.yaml"),
		"--bind-address=127.0.0.1",
		"--secure-port=" + strconv.Itoa(l.schedulerPort),
		"--tls-cert-file=" + l.servingCert(),
		"--tls-private-key-file=" + l.servingKey(),
		"--authorization-always-allow-paths=/healthz,/readyz,/livez,/metrics",
		"--profiling=false",
		"--v=" + strconv.Itoa(o.verbosity),
	}}
}

func kwokComponent(l layout) component {
	return component{
		name: "kwok",
		args: []string{
			"--config=" + filepath.Join(l.configDir(), "kwok.yaml"),
			"--kubeconfig=" + l.kubeconfig("kwok"),
			"--manage-nodes-with-annotation-selector=kwok.x-k8s.io/node=fake",
			"--server-address=127.0.0.1:" + strconv.Itoa(l.kwokPort),
		},
		// A ~/.kwok/kwok.yaml of the user must not be read.
		env: []string{"HOME=" + l.configDir(), "KWOK_WORKDIR=" + l.configDir()},
	}
}

// The default client rate of the scheduler would bind 50 pods a second.
const schedulerConfig = `apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
clientConnection:
  kubeconfig: %s
  qps: 2000
  burst: 4000
leaderElection:
  leaderElect: false
`

const kwokConfig = `apiVersion: config.kwok.x-k8s.io/v1alpha1
kind: KwokConfiguration
options:
  cidr: 10.64.0.0/12
  nodeLeaseDurationSeconds: %d
  nodeLeaseParallelism: 8
  nodePlayStageParallelism: 8
  podPlayStageParallelism: 16
  podsOnNodeSyncParallelism: 4
  enableDebuggingHandlers: false
`

// auditPolicy records one line for each write, and none for reads.
const auditPolicy = `apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- level: None
  verbs: [get, list, watch]
- level: None
  resources:
  - group: coordination.k8s.io
    resources: [leases]
- level: Metadata
`

//go:embed stages/*.yaml
var stages embed.FS

// writeConfigs writes the configuration files that the components read.
func writeConfigs(l layout, o options) error {
	kwok := []string{fmt.Sprintf(kwokConfig, o.nodeLeaseSeconds)}
	entries, err := stages.ReadDir("stages")
	if err != nil {
		return err
	}
	for _, entry := range entries {
		stage, err := stages.ReadFile("stages/" + entry.Name())
		if err != nil {
			return err
		}
		kwok = append(kwok, string(stage))
	}
	for name, content := range map[string]string{
		"scheduler.yaml":    fmt.Sprintf(schedulerConfig, strconv.Quote(l.kubeconfig("scheduler"))),
		"kwok.yaml":         strings.Join(kwok, "---\n"),
		"audit-policy.yaml": auditPolicy,
	} {
		if err := os.WriteFile(filepath.Join(l.configDir(), name), []byte(content), 0o600); err != nil {
			return err
		}
	}
	return nil
}
