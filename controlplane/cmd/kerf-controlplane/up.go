package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"github.com/spf13/pflag"
	"k8s.io/component-base/version"
)

// options are the flags of "up".
type options struct {
	stateDir         string
	port             int
	serviceCIDR      string
	auditLog         string
	nodeLeaseSeconds int
	verbosity        int
	timeout          time.Duration
}

func (o *options) register(flags *pflag.FlagSet) {
	flags.StringVar(&o.stateDir, "state-dir", "", "folder for certificates, kubeconfigs and logs; empty takes a temporary one that is removed at the end")
	flags.IntVar(&o.port, "port", 0, "port of the apiserver on 127.0.0.1; 0 takes a free one")
	flags.StringVar(&o.serviceCIDR, "service-cidr", "10.100.0.0/16", "IPv4 range of cluster IPs")
	flags.StringVar(&o.auditLog, "audit-log", "", "file that gets one line of JSON for each write to the API")
	flags.IntVar(&o.nodeLeaseSeconds, "node-lease-seconds", 60, "how long a lease of a simulated node lasts; a node that does not renew is NotReady after twice this time")
	flags.IntVarP(&o.verbosity, "verbosity", "v", 0, "log verbosity of the Kubernetes components")
	flags.DurationVar(&o.timeout, "timeout", 3*time.Minute, "how long the start may take")
}

func (o *options) validate() error {
	switch {
	case o.port < 0 || o.port > 65535:
		return fmt.Errorf("--port %d: want 0 to 65535", o.port)
	case o.nodeLeaseSeconds < 25:
		// The node monitor refuses a grace period under the 45 seconds in
		// which a lost HTTP/2 connection is noticed.
		return fmt.Errorf("--node-lease-seconds %d: want at least 25", o.nodeLeaseSeconds)
	case o.timeout <= 0:
		return fmt.Errorf("--timeout %s: want more than 0", o.timeout)
	}
	return nil
}

// readiness is the line that "up" prints when every component answers.
type readiness struct {
	Kubeconfig     string            `json:"kubeconfig"` // of the admin
	Kubeconfigs    map[string]string `json:"kubeconfigs"`
	CA             string            `json:"ca"`
	Server         string            `json:"server"`
	ServiceCIDR    string            `json:"serviceCIDR"`
	ClusterDNS     string            `json:"clusterDNS"`
	Version        string            `json:"version"`
	StateDir       string            `json:"stateDir"`
	Logs           string            `json:"logs"`
	PID            int               `json:"pid"`
	PIDs           map[string]int    `json:"pids"`
	Metrics        map[string]string `json:"metrics"` // URL per component
	StartupSeconds float64           `json:"startupSeconds"`
}

var errOrphaned = errors.New("the process that started the control plane is gone")

func runUp(args []string) int {
	var o options
	flags := pflag.NewFlagSet("kerf-controlplane up", pflag.ContinueOnError)
	o.register(flags)
	if err := flags.Parse(args); errors.Is(err, pflag.ErrHelp) {
		return 0
	} else if err != nil {
		fmt.Fprintln(os.Stderr, "kerf-controlplane up:", err)
		return 2
	}
	if flags.NArg() > 0 {
		fmt.Fprintf(os.Stderr, "kerf-controlplane up: unexpected argument %q\n", flags.Arg(0))
		return 2
	}
	whenOrphaned(func() {}) // up watches the channel and cleans up
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	if err := up(ctx, o); err != nil {
		fmt.Fprintln(os.Stderr, "kerf-controlplane up:", err)
		return 1
	}
	return 0
}

// up runs the control plane until the context ends, the parent is gone or a
// component ends by itself, which is an error.
func up(ctx context.Context, o options) error {
	begin := time.Now()
	if err := o.validate(); err != nil {
		return err
	}
	release, err := prepareStateDir(&o)
	if err != nil {
		return err
	}
	defer release()
	l, err := newLayout(o)
	if err != nil {
		return err
	}
	defer closeAll(l.portClaims)
	defer l.removeEtcdDir()
	if err := errors.Join(writePKI(l), writeConfigs(l, o)); err != nil {
		return fmt.Errorf("prepare %s: %w", l.stateDir, err)
	}
	s, err := newSupervisor(l)
	if err != nil {
		return err
	}
	defer s.stop()
	if err := startAll(ctx, s, o, begin.Add(o.timeout)); err != nil {
		if ctx.Err() != nil {
			return nil
		}
		return err
	}
	line, err := json.Marshal(describe(s, time.Since(begin)))
	if err != nil {
		return err
	}
	fmt.Println(string(line))
	select {
	case err := <-s.exited:
		return err
	case <-orphaned:
		return errOrphaned
	case <-ctx.Done():
		return nil
	}
}

// prepareStateDir makes the state folder absolute, makes it and locks it. The
// returned function removes what is of no use once the control plane is gone:
// everything in a temporary folder, all but the logs in one that was named.
func prepareStateDir(o *options) (func(), error) {
	temporary := o.stateDir == ""
	var err error
	if temporary {
		o.stateDir, err = os.MkdirTemp("", "kerf-controlplane-")
	} else if o.stateDir, err = filepath.Abs(o.stateDir); err == nil {
		err = os.MkdirAll(o.stateDir, 0o700)
	}
	if err != nil {
		return nil, fmt.Errorf("make the state folder: %w", err)
	}
	lock, err := lockFile(filepath.Join(o.stateDir, "controlplane.lock"))
	if err != nil {
		return nil, fmt.Errorf("another control plane uses %s: %w", o.stateDir, err)
	}
	dir := o.stateDir
	return func() {
		if temporary {
			os.RemoveAll(dir)
		} else {
			l := layout{stateDir: dir}
			os.RemoveAll(l.pkiDir())
			os.RemoveAll(l.configDir())
			for _, id := range identities {
				os.Remove(l.kubeconfig(id.name))
			}
			os.Remove(lock.Name())
		}
		lock.Close()
	}, nil
}

// startAll starts the components in the order of their needs and returns when
// all of them work.
func startAll(ctx context.Context, s *supervisor, o options, deadline time.Time) error {
	l := s.layout
	if err := s.start(etcdComponent(l)); err != nil {
		return err
	}
	awaitReady := func(what string, ready func() error) error {
		return s.await(ctx, what, deadline, ready)
	}
	if err := awaitReady("etcd", func() error {
		conn, err := net.Dial("unix", filepath.Join(l.etcdDir, etcdSocket))
		if err == nil {
			conn.Close()
		}
		return err
	}); err != nil {
		return err
	}
	if err := s.start(apiserverComponent(l, o)); err != nil {
		return err
	}
	client, err := adminHTTP(l)
	if err != nil {
		return err
	}
	if err := awaitReady("the apiserver", func() error { return probe(client, l.serverURL()+"/readyz") }); err != nil {
		return err
	}
	for _, c := range []component{controllerManagerComponent(l, o), schedulerComponent(l, o), kwokComponent(l)} {
		if err := s.start(c); err != nil {
			return err
		}
	}
	if err := awaitReady("the first objects", func() error { return bootstrap(ctx, l) }); err != nil {
		return err
	}
	for _, endpoint := range []struct{ what, url string }{
		{"the controller-manager", "https://" + local(l.controllerManagerPort) + "/healthz"},
		{"the scheduler", "https://" + local(l.schedulerPort) + "/readyz"},
		{"kwok", "http://" + local(l.kwokPort) + "/healthz"},
	} {
		if err := awaitReady(endpoint.what, func() error { return probe(client, endpoint.url) }); err != nil {
			return err
		}
	}
	return nil
}

func local(port int) string {
	return net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
}

// adminHTTP returns a client that trusts only this control plane's authority,
// so that a stranger behind one of its ports is never taken for it.
func adminHTTP(l layout) (*http.Client, error) {
	ca, err := os.ReadFile(l.caFile())
	if err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(ca)
	return &http.Client{
		Timeout:   10 * time.Second,
		Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}, DisableKeepAlives: true},
	}, nil
}

func probe(client *http.Client, url string) error {
	resp, err := client.Get(url)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("%s answers %s", url, resp.Status)
	}
	return nil
}

func describe(s *supervisor, took time.Duration) readiness {
	l := s.layout
	r := readiness{
		Kubeconfig:  l.kubeconfig("admin"),
		Kubeconfigs: map[string]string{},
		CA:          l.caFile(),
		Server:      l.serverURL(),
		ServiceCIDR: l.serviceCIDR.String(),
		ClusterDNS:  l.dnsIP.String(),
		Version:     version.Get().GitVersion,
		StateDir:    l.stateDir,
		Logs:        l.logDir(),
		PID:         os.Getpid(),
		PIDs:        s.pids(),
		Metrics: map[string]string{
			"apiserver":          l.serverURL() + "/metrics",
			"controller-manager": "https://" + local(l.controllerManagerPort) + "/metrics",
			"scheduler":          "https://" + local(l.schedulerPort) + "/metrics",
		},
		StartupSeconds: took.Seconds(),
	}
	for _, id := range identities {
		r.Kubeconfigs[id.name] = l.kubeconfig(id.name)
	}
	return r
}
