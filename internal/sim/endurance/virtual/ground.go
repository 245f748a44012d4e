// Package virtual plays trials in a cluster, where time passes only while everybody waits: hours take seconds.
package virtual

import (
	"context"
	"log/slog"
	"net/http"
	"net/url"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	awsv1 "github.com/kerf-sh/kerf/api/aws/v1"
	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/internal/sim/awssim/world"
	"github.com/kerf-sh/kerf/internal/sim/endurance/gate"
	"github.com/kerf-sh/kerf/internal/sim/endurance/trial"
	"github.com/kerf-sh/kerf/internal/sim/simcluster"
)

// Where the doors are in the cluster's network.
const kubernetesDoor, awsDoor = "door-kubernetes:80", "door-aws:80"

// Types are the instance types that exist: few, for a cluster starts the faster the fewer it has to know.
var Types = []string{
	"m5.large", "m5.xlarge", "m5.2xlarge", "m6i.large", "m6i.xlarge", "m6i.2xlarge", "c5.large", "c5.xlarge", "c5.2xlarge",
}

// Ground is a cluster whose controller reaches both APIs through doors.
type Ground struct {
	testCluster     *simcluster.Cluster
	client          client.WithWatch
	kubernetes, aws *gate.Door
	clock           *trial.Clock
	logf            func(string, ...any)
	process         *simcluster.Process
}

// Options of Play.
type Options struct {
	// Log gets what the controller says (nothing is kept); Logf the course of the trial.
	Log  slog.Handler
	Logf func(format string, args ...any)
	// Stalled is called before the test binary gives up a trial that stands still; it returns what helps to play it again.
	// It may be nil.
	Stalled func() string
}

// Play plays a schedule in a cluster of its own, at the natural pace.
func Play(t *testing.T, s *trial.Schedule, options Options) (result *trial.Result, err error) {
	t.Helper()
	clock := &trial.Clock{}
	clock.Set(s.Skew)
	o := simcluster.Options{
		Seed: s.Seed, NoController: true, KubernetesAddress: kubernetesDoor, AWSAddress: awsDoor, Log: options.Log, Stalled: options.Stalled,
		World: func(o *world.Options) { o.Types, o.Clock = Types, clock },
	}
	if s.NoLease {
		o.Env = map[string]string{"DISABLE_LEADER_ELECTION": "true"}
	}
	simcluster.Run(t, o, func(h *simcluster.Cluster) {
		g := &Ground{testCluster: h, clock: clock, logf: options.Logf}
		if err = g.furnish(); err != nil {
			return
		}
		result, err = trial.Play(h.T.Context(), g, s, trial.Natural)
	})
	return result, err
}

func (g *Ground) furnish() error {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, karpv1.AddToScheme, awsv1.AddToScheme} {
		if err := add(scheme); err != nil {
			return err
		}
	}
	var err error
	config := &rest.Config{Host: "http://" + simcluster.KubernetesAddress, QPS: -1, Transport: g.transport()}
	config.ContentType = runtime.ContentTypeJSON
	if g.client, err = client.NewWithWatch(config, client.Options{Scheme: scheme}); err != nil {
		return err
	}
	g.kubernetes = gate.KubernetesDoor(&url.URL{Scheme: "http", Host: simcluster.KubernetesAddress}, g.transport())
	g.aws = gate.AWSDoor(&url.URL{Scheme: "http", Host: simcluster.AWSAddress}, g.transport())
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		collect(ctx, g.client)
	}()
	g.testCluster.T.Cleanup(func() { cancel(); <-done })
	g.serve(kubernetesDoor, g.kubernetes)
	g.serve(awsDoor, g.aws)
	return nil
}

func (g *Ground) transport() *http.Transport {
	t := &http.Transport{DialContext: g.testCluster.Network.Dial, MaxIdleConnsPerHost: 64}
	g.testCluster.T.Cleanup(t.CloseIdleConnections)
	return t
}

func (g *Ground) serve(address string, handler http.Handler) {
	l, err := g.testCluster.Network.Listen(address)
	if err != nil {
		g.testCluster.T.Fatal(err)
	}
	s := &http.Server{Handler: handler, ErrorLog: slog.NewLogLogger(slog.DiscardHandler, slog.LevelWarn)}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = s.Serve(l) // it ends when it is closed
	}()
	g.testCluster.T.Cleanup(func() {
		_ = s.Close()
		<-done
	})
}

// Client implements trial.Ground.
func (g *Ground) Client() client.WithWatch { return g.client }

// World implements trial.Ground.
func (g *Ground) World() *world.World { return g.testCluster.AWS.World }

// Cluster implements trial.Ground.
func (g *Ground) Cluster() string { return simcluster.ClusterName }

// Interrupt implements trial.Ground.
func (g *Ground) Interrupt(instance string, notice time.Duration) error {
	return g.testCluster.AWS.Bus.Interrupt(instance, notice)
}

// Doors implements trial.Ground.
func (g *Ground) Doors() (kubernetes, aws *gate.Door) { return g.kubernetes, g.aws }

// Logf implements trial.Ground.
func (g *Ground) Logf(format string, args ...any) { g.logf(format, args...) }

// Start implements trial.Ground.
func (g *Ground) Start(context.Context) (<-chan struct{}, error) {
	g.process = g.testCluster.StartController()
	return g.process.Done(), nil
}

// Kill implements trial.Ground.
func (g *Ground) Kill() {
	if g.process != nil {
		g.process.Kill()
		<-g.process.Done()
	}
}

// Stop implements trial.Ground.
func (g *Ground) Stop() {
	if g.process != nil {
		g.process.Stop()
	}
}
