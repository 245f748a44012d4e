// Package endurance plays trials on a real control plane: real etcd, apiserver, scheduler and controller manager, the
// simulated AWS, and the controller as a process of its own that is killed for good.
package endurance

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	awsv1 "github.com/kerf-sh/kerf/api/aws/v1"
	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/internal/local"
	"github.com/kerf-sh/kerf/internal/sim/awssim/world"
	"github.com/kerf-sh/kerf/internal/sim/endurance/gate"
)

// Ground is a local cluster whose controller reaches both APIs through doors.
type Ground struct {
	cluster         *local.Cluster
	client          client.WithWatch
	kubernetes, aws *gate.Door
	binary          string
	env             []string
	logf            func(string, ...any)
	// Log is the file with the output of all lives of the controller.
	Log  string
	ends []func() error

	mu      sync.Mutex
	process *exec.Cmd
	done    chan struct{} // closed when the process has ended
}

// New starts a cluster in a folder. controlPlane and binary are the two programs.
//
// Errors: what did not start.
func New(ctx context.Context, dir, controlPlane, binary string, logf func(string, ...any)) (*Ground, error) {
	cluster, err := local.Up(ctx, local.Options{
		ClusterName: "endurance", StateDir: dir, ControlPlane: controlPlane, Binary: binary, BootTime: 500 * time.Millisecond, AWSLatency: -1, Seed: 1, NoController: true,
	})
	if err != nil {
		return nil, err
	}
	g := &Ground{cluster: cluster, binary: binary, logf: logf, Log: filepath.Join(dir, "controller.log"), ends: []func() error{cluster.Close}}
	if err := g.furnish(dir); err != nil {
		return nil, errors.Join(err, g.Close())
	}
	return g, nil
}

// furnish makes clients, doors and the controller's environment.
func (g *Ground) furnish(dir string) error {
	config, err := g.cluster.Config()
	if err != nil {
		return err
	}
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, karpv1.AddToScheme, awsv1.AddToScheme} {
		if err := add(scheme); err != nil {
			return err
		}
	}
	if g.client, err = client.NewWithWatch(config, client.Options{Scheme: scheme}); err != nil {
		return err
	}
	toKubernetes, err := g.kubernetesDoor()
	if err != nil {
		return err
	}
	toAWS, err := g.awsDoor()
	if err != nil {
		return err
	}
	kubeconfig := filepath.Join(dir, "door.kubeconfig")
	text := fmt.Sprintf("apiVersion: v1\nkind: Config\ncurrent-context: door\nclusters: [{name: door, cluster: {server: %q}}]\ncontexts: [{name: door, context: {cluster: door, user: door}}]\nusers: [{name: door, user: {}}]\n", toKubernetes)
	if err := os.WriteFile(kubeconfig, []byte(text), 0o600); err != nil {
		return err
	}
	ca, err := os.ReadFile(g.cluster.Kube.CA)
	if err != nil {
		return err
	}
	for _, pair := range g.cluster.Simulator.EnvFor(g.cluster.ControllerKey()) {
		if !strings.HasPrefix(pair, "AWS_ENDPOINT_URL=") && !strings.HasPrefix(pair, "AWS_CA_BUNDLE=") {
			g.env = append(g.env, pair)
		}
	}
	g.env = append(g.env, "AWS_ENDPOINT_URL="+toAWS, "PATH="+os.Getenv("PATH"), "HOME="+dir, "KUBECONFIG="+kubeconfig, "CLUSTER_NAME="+g.cluster.Name,
		"INTERRUPTION_QUEUE="+g.cluster.Name, "METRICS_PORT=0", "HEALTH_PROBE_PORT=0", "DISABLE_LEADER_ELECTION=true",
		"CLUSTER_CA_BUNDLE="+base64.StdEncoding.EncodeToString(ca), "CLUSTER_ENDPOINT="+g.cluster.Kube.Server)
	return nil
}

func (g *Ground) kubernetesDoor() (string, error) {
	kubeconfig, err := g.cluster.AsController(context.Background())
	if err != nil {
		return "", err
	}
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return "", err
	}
	config.QPS = -1
	transport, err := rest.TransportFor(config)
	if err != nil {
		return "", err
	}
	to, err := url.Parse(config.Host)
	if err != nil {
		return "", err
	}
	g.kubernetes = gate.KubernetesDoor(to, transport)
	return g.serve(g.kubernetes)
}

func (g *Ground) awsDoor() (string, error) {
	ca, err := os.ReadFile(g.cluster.Simulator.CAFile())
	if err != nil {
		return "", err
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(ca)
	to, err := url.Parse(g.cluster.Simulator.SecureURL())
	if err != nil {
		return "", err
	}
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}, MaxIdleConnsPerHost: 64}
	g.ends = append(g.ends, func() error { transport.CloseIdleConnections(); return nil })
	g.aws = gate.AWSDoor(to, transport)
	return g.serve(g.aws)
}

// serve answers on a free port.
func (g *Ground) serve(h http.Handler) (string, error) {
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	s := &http.Server{Handler: h, ReadHeaderTimeout: 10 * time.Second, ErrorLog: nil}
	go func() { _ = s.Serve(l) }() // it ends when it is closed
	g.ends = append(g.ends, s.Close)
	return "http://" + l.Addr().String(), nil
}

// Close ends everything.
func (g *Ground) Close() error {
	g.Kill()
	var errs []error
	for i := range g.ends {
		errs = append(errs, g.ends[len(g.ends)-1-i]())
	}
	return errors.Join(errs...)
}

// Client implements trial.Ground.
func (g *Ground) Client() client.WithWatch { return g.client }

// World implements trial.Ground.
func (g *Ground) World() *world.World { return g.cluster.Simulator.World }

// Cluster implements trial.Ground.
func (g *Ground) Cluster() string { return g.cluster.Name }

// Interrupt implements trial.Ground.
func (g *Ground) Interrupt(instance string, notice time.Duration) error {
	return g.cluster.Simulator.Bus.Interrupt(instance, notice)
}

// Doors implements trial.Ground.
func (g *Ground) Doors() (kubernetes, aws *gate.Door) { return g.kubernetes, g.aws }

// Logf implements trial.Ground.
func (g *Ground) Logf(format string, args ...any) { g.logf(format, args...) }

// Start implements trial.Ground.
func (g *Ground) Start(context.Context) (<-chan struct{}, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.process != nil {
		return nil, errors.New("the controller runs already")
	}
	log, err := os.OpenFile(g.Log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	_, _ = io.WriteString(log, "--- a life begins\n")
	cmd := exec.Command(g.binary, "controller")
	cmd.Env, cmd.Stdout, cmd.Stderr = g.env, log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	g.process, g.done = cmd, make(chan struct{})
	go func(done chan struct{}) {
		_ = cmd.Wait() // how it ended is in the log
		close(done)
	}(g.done)
	return g.done, nil
}

// Kill implements trial.Ground.
func (g *Ground) Kill() { g.end(syscall.SIGKILL) }

// Stop implements trial.Ground.
func (g *Ground) Stop() { g.end(syscall.SIGTERM) }

// patience is how long a controller has to end when it is asked to.
const patience = 20 * time.Second

func (g *Ground) end(how syscall.Signal) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.process == nil {
		return
	}
	_ = g.process.Process.Signal(how) // it may have ended by itself
	select {
	case <-g.done:
	case <-time.After(patience):
		_ = g.process.Process.Kill()
		<-g.done
	}
	g.process = nil
}
