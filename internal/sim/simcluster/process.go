package simcluster

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"net"
	"runtime/pprof"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/spf13/pflag"

	"github.com/kerf-sh/kerf/internal/app"
	"github.com/kerf-sh/kerf/internal/aws/session"
	"github.com/kerf-sh/kerf/internal/settings"
)

type dialer = func(ctx context.Context, network, address string) (net.Conn, error)

// ProfileLabel is the label by which a profile of the processor tells what the controller takes from what the cluster does:
// its value is "controller" for all goroutines of a controller, and theirs.
const ProfileLabel = "part"

// Process is one life of the controller.
type Process struct {
	// Metrics are this life's.
	Metrics *prometheus.Registry

	line   line
	cancel context.CancelFunc
	done   chan struct{}
	err    error
}

// Done is closed when the process has ended.
func (p *Process) Done() <-chan struct{} { return p.done }

// Err is why it ended; nil when it was stopped. It is known once Done is closed.
func (p *Process) Err() error { return p.err }

// Kill ends the process as SIGKILL would: from this moment nothing that it does reaches any API, not even what it does
// because it ends, such as giving the lease back. It does not wait for Done, so it may be called by what answers the
// process's calls.
func (p *Process) Kill() {
	p.line.cut()
	p.cancel()
}

// Stop ends the process as SIGTERM would, and waits for it.
func (p *Process) Stop() {
	p.cancel()
	<-p.done
	p.line.cut()
}

// StartController starts a life of the controller. Another that runs goes on, and the two elect a leader.
func (h *Cluster) StartController() *Process {
	h.T.Helper()
	s, _, err := settings.Load(pflag.NewFlagSet("controller", pflag.ContinueOnError), func(name string) (string, bool) {
		v, ok := h.env()[name]
		return v, ok
	})
	if err != nil {
		h.T.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	p := &Process{Metrics: prometheus.NewRegistry(), cancel: cancel, done: make(chan struct{})}
	p.line.dial = h.Network.Dial
	log := h.o.Log
	if log == nil {
		log = slog.DiscardHandler
	}
	id, secret := h.AWS.Credentials()
	transport := h.transport(p.line.connect)
	around := app.Surroundings{
		Kubernetes: h.config(or(h.o.KubernetesAddress, KubernetesAddress), transport),
		AWS: session.Options{Dial: p.line.connect, Explicit: &session.Explicit{
			Region: h.AWS.World.Region(), Endpoint: "http://" + or(h.o.AWSAddress, AWSAddress), AccessKeyID: id, SecretAccessKey: secret,
		}},
		Metrics: p.Metrics, Log: slog.New(log), Without: h.o.Without, Overview: h.o.Overview,
	}
	if h.o.Ordered {
		around.Clock = h.moments.clock
	}
	if h.o.Trace != nil {
		around.Trace = h.o.Trace(h)
	}
	go func() {
		defer close(p.done)
		pprof.Do(ctx, pprof.Labels(ProfileLabel, "controller"), func(ctx context.Context) { p.err = app.RunIn(ctx, s, around) })
		p.line.cut()
		transport.CloseIdleConnections()
	}()
	h.mu.Lock()
	h.process = p
	h.mu.Unlock()
	return p
}

// Controller is the life that was started last; nil if none was.
func (h *Cluster) Controller() *Process {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.process
}

// StopController stops the life that was started last.
func (h *Cluster) StopController() {
	p := h.Controller()
	if p == nil {
		return
	}
	p.Stop()
	if p.err != nil {
		h.T.Errorf("the controller ended with: %v", p.err)
	}
}

// env are the controller's settings.
func (h *Cluster) env() map[string]string {
	out := map[string]string{
		"CLUSTER_NAME": ClusterName, "INTERRUPTION_QUEUE": ClusterName, "CLUSTER_CA_BUNDLE": authority,
		"METRICS_PORT": "0", "HEALTH_PROBE_PORT": "0", "LEADER_ELECTION_NAMESPACE": "kube-system",
	}
	maps.Copy(out, h.o.Env)
	return out
}

func or(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

// line is all connections of a process, so that they can be cut.
type line struct {
	dial dialer

	mu    sync.Mutex
	dead  bool
	conns map[*conn]struct{}
}

var errDead = errors.New("the process that made this call is dead")

func (l *line) connect(ctx context.Context, network, address string) (net.Conn, error) {
	l.mu.Lock()
	dead := l.dead
	l.mu.Unlock()
	if dead {
		return nil, errDead
	}
	c, err := l.dial(ctx, network, address)
	if err != nil {
		return nil, err
	}
	out := &conn{Conn: c, line: l}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.dead {
		c.Close()
		return nil, errDead
	}
	if l.conns == nil {
		l.conns = map[*conn]struct{}{}
	}
	l.conns[out] = struct{}{}
	return out, nil
}

// cut ends all connections, and lets none be made any more.
func (l *line) cut() {
	l.mu.Lock()
	l.dead = true
	all := l.conns
	l.conns = nil
	l.mu.Unlock()
	for c := range all {
		c.Conn.Close()
	}
}

// conn is a connection of a process.
type conn struct {
	net.Conn
	line *line
}

func (c *conn) Close() error {
	c.line.mu.Lock()
	delete(c.line.conns, c)
	c.line.mu.Unlock()
	return c.Conn.Close()
}
