// Package simcluster runs a whole cluster in virtual time, in one process: the real controller with its real clients, against
// a simulated AWS and a simulated Kubernetes API over connections in memory, with the actors that make a cluster live: a
// scheduler, the owners of pods, budgets, kubelets. It lives in a testing/synctest bubble, where time passes only while
// everybody waits; a day takes as long as the work of that day takes to compute.
package simcluster

import (
	"encoding/base64"
	"log/slog"
	"net/http"
	"os"
	"runtime/debug"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	kruntime "k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/client-go/kubernetes"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	autoscalingv1beta1 "github.com/kerf-sh/kerf/api/autoscaling/v1beta1"
	awsv1 "github.com/kerf-sh/kerf/api/aws/v1"
	"github.com/kerf-sh/kerf/api/crds"
	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/api/karpenter/v1alpha1"
	"github.com/kerf-sh/kerf/internal/controller/overview"
	"github.com/kerf-sh/kerf/internal/sim/awssim"
	"github.com/kerf-sh/kerf/internal/sim/awssim/world"
	"github.com/kerf-sh/kerf/internal/sim/kubesim"
	"github.com/kerf-sh/kerf/internal/sim/memnet"
	"github.com/kerf-sh/kerf/internal/sim/simcluster/actors"
	"github.com/kerf-sh/kerf/internal/trace"
)

// Where both APIs answer in the cluster's network. A proxy can listen elsewhere in it, pass calls on to these, and be where
// the controller is led to by Options.KubernetesAddress and Options.AWSAddress.
const (
	KubernetesAddress = "kubernetes:80"
	AWSAddress        = "aws:80"
)

// ClusterName is the name of the cluster and of its interruption queue.
const ClusterName = "kerf"

// afterglow is how long goroutines of a process that has ended may go on trying to write an event.
const afterglow = 5 * time.Minute

// Options of a cluster. The zero value is a good default.
type Options struct {
	// Seed is what everything is drawn from that is drawn at all. Who runs first among those who could run at the same
	// moment is the Go scheduler's choice, so one seed is one schedule of what happens to the cluster, not of every
	// instruction.
	Seed uint64
	// World changes the account before it is made: instance types, depth of pools, times.
	World func(*world.Options)
	// Env are settings of the controller, by the names of its environment variables.
	Env map[string]string
	// KubernetesAddress and AWSAddress are where the controller is led to (KubernetesAddress, AWSAddress).
	KubernetesAddress, AWSAddress string
	// NoController leaves it to the caller to call StartController.
	NoController bool
	// Log gets what the controller says (nothing is kept).
	Log slog.Handler
	// Trace makes what records the controller's spans, in the bubble (nothing does).
	Trace func(h *Cluster) *trace.Tracer
	// History is how many changes of a resource the API keeps (kubesim's default).
	History int
	// Ordered makes runs of one seed alike, as far as messages decide (memnet.Network). It takes longer.
	Ordered bool
	// Hear is told of every change of an object (kubesim.Options).
	Hear func(path string, before, after map[string]any)
	// Overview gets what people look at the cluster through, of each life of the controller.
	Overview func(*overview.Overview)
	// Actors changes how pods behave.
	Actors actors.Options
	// Without are mechanisms that the controller does without (disrupt.Mechanisms): what each of them earns is measured so.
	Without []string
	// Stalled, if set, is called outside the bubble before the test binary gives up a cluster that stands still. It returns
	// what helps to play it again.
	Stalled func() string
}

// Cluster is a running cluster.
type Cluster struct {
	T       *testing.T
	Network *memnet.Network
	API     *kubesim.Server
	AWS     *awssim.Server
	// Client and Kubernetes may do everything, past any proxy and without a rate limit.
	Client     client.Client
	Kubernetes kubernetes.Interface
	// Actors may be stopped; nothing is scheduled, run or collected from then on.
	Actors *actors.Actors

	o       Options
	moments moments
	pods    seen[corev1.Pod]
	nodes   seen[corev1.Node]
	claims  seen[karpv1.NodeClaim]

	mu      sync.Mutex
	process *Process
}

// Run starts a cluster in a bubble of its own, lets story play in it, and ends it.
func Run(t *testing.T, o Options, story func(h *Cluster)) {
	t.Helper()
	signs := &pulse{}
	defer signs.watch(patience, giveUp(t.Name(), o))()
	synctest.Test(t, func(t *testing.T) {
		signs.beat(t)
		story(Start(t, o))
	})
}

// Start starts a cluster inside a bubble. It ends with the test.
func Start(t *testing.T, o Options) *Cluster {
	t.Helper()
	quiet()
	h := &Cluster{T: t, Network: &memnet.Network{Ordered: o.Ordered}, o: o}
	// Whoever tries something again a few times after its process's end gives up in this time; a bubble has to be empty.
	t.Cleanup(func() { time.Sleep(afterglow) })
	definitions, err := definitions()
	if err != nil {
		t.Fatal(err)
	}
	if h.API, err = kubesim.New(kubesim.Options{Definitions: definitions, Seed: o.Seed, History: o.History, Hear: o.Hear}); err != nil {
		t.Fatal(err)
	}
	h.Serve(KubernetesAddress, h.API)
	t.Cleanup(h.API.Close)
	config := h.config(KubernetesAddress, h.transport(h.Network.Dial))
	compact := rest.CopyConfig(config) // as all others have it who ask for built-in kinds: objects are encoded once for all
	compact.ContentType, compact.AcceptContentTypes = kruntime.ContentTypeProtobuf, kruntime.ContentTypeProtobuf+","+kruntime.ContentTypeJSON
	if h.Kubernetes, err = kubernetes.NewForConfig(compact); err != nil {
		t.Fatal(err)
	}
	if h.Client, err = client.New(config, client.Options{Scheme: scheme()}); err != nil {
		t.Fatal(err)
	}
	if err := h.startAWS(); err != nil {
		t.Fatal(err)
	}
	if err := h.startActors(); err != nil {
		t.Fatal(err)
	}
	if !o.NoController {
		h.StartController()
	}
	t.Cleanup(h.StopController)
	return h
}

// quiet takes out what assumes that there is one clock in a process: client-go makes who reports errors more often than
// once a millisecond wait, and counts from the last report, which may have been in another bubble, years ahead.
//
// What libraries say goes to loggers of the whole process; the lives of the controller have their own.
var quiet = sync.OnceFunc(func() {
	utilruntime.ErrorHandlers = utilruntime.ErrorHandlers[:1]
	klog.SetLogger(logr.Discard())
	ctrl.SetLogger(logr.Discard())
	// A cluster is small and makes much that is soon of no use: collecting that as often as usual takes a quarter of the time.
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(400)
	}
})

var definitions = sync.OnceValues(func() ([]*kubesim.Definition, error) {
	all, err := crds.All()
	if err != nil {
		return nil, err
	}
	var out []*kubesim.Definition
	for _, d := range all {
		one, err := kubesim.Define(d)
		if err != nil {
			return nil, err
		}
		out = append(out, one)
	}
	return out, nil
})

var scheme = sync.OnceValue(func() *kruntime.Scheme {
	out := kruntime.NewScheme()
	for _, add := range []func(*kruntime.Scheme) error{clientgoscheme.AddToScheme, karpv1.AddToScheme, awsv1.AddToScheme, autoscalingv1beta1.AddToScheme, v1alpha1.AddToScheme} {
		utilruntime.Must(add(out))
	}
	return out
})

// Serve answers at an address until the cluster ends.
func (h *Cluster) Serve(address string, handler http.Handler) {
	l, err := h.Network.Listen(address)
	if err != nil {
		h.T.Fatal(err)
	}
	s := &http.Server{Handler: handler, ErrorLog: slog.NewLogLogger(slog.DiscardHandler, slog.LevelWarn)}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = s.Serve(l) // it ends when it is closed
	}()
	h.T.Cleanup(func() {
		_ = s.Close()
		<-done
	})
}

// transport makes connections by dial; those that are idle are closed when the cluster ends.
func (h *Cluster) transport(dial dialer) *http.Transport {
	t := &http.Transport{DialContext: dial, MaxIdleConnsPerHost: 64}
	h.T.Cleanup(t.CloseIdleConnections)
	return t
}

// config leads a client to the Kubernetes API at an address.
func (h *Cluster) config(address string, transport http.RoundTripper) *rest.Config {
	c := &rest.Config{Host: "http://" + address, QPS: -1, Transport: transport}
	return c
}

// authority is what instances trust the cluster by.
var authority = base64.StdEncoding.EncodeToString([]byte("the certificate authority of the cluster"))

func (h *Cluster) startAWS() error {
	l, err := h.Network.Listen(AWSAddress)
	if err != nil {
		return err
	}
	o := world.Options{ClusterName: ClusterName, Seed: h.o.Seed, Ordered: h.o.Ordered}
	if h.o.World != nil {
		h.o.World(&o)
	}
	h.AWS, err = awssim.New(awssim.Options{
		World: o, Listener: l, Kubernetes: h.Kubernetes, Cluster: world.Cluster{CA: authority}, Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		return err
	}
	h.AWS.Start()
	h.T.Cleanup(func() {
		if err := h.AWS.Close(); err != nil {
			h.T.Errorf("end the simulated AWS: %v", err)
		}
	})
	return nil
}

func (h *Cluster) startActors() error {
	o := h.o.Actors
	o.Client = h.Kubernetes
	c, err := actors.Start(h.T.Context(), o)
	if err != nil {
		return err
	}
	h.Actors = c
	h.T.Cleanup(c.Stop)
	return nil
}

// Pass lets virtual time pass.
func (h *Cluster) Pass(d time.Duration) { time.Sleep(d) }

// Eventually waits, in virtual time, until ok returns true.
func (h *Cluster) Eventually(timeout time.Duration, what string, ok func() (bool, string)) {
	h.T.Helper()
	for began := time.Now(); ; time.Sleep(time.Second) {
		done, seen := ok()
		if done {
			return
		}
		if time.Since(began) > timeout {
			h.T.Fatalf("after %s: not %s: %s", timeout, what, seen)
		}
	}
}
