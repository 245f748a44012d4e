// Package local runs the whole thing on one instance with no AWS account: a real Kubernetes control plane, a simulated
// AWS, and the unmodified controller as a process of its own that knows nothing of either but what its Deployment, its
// service account and the SDK's ordinary settings say.
//
// The process that calls Up holds the simulated AWS and, by pipes and death signals, the life of all others: whatever
// becomes of it, nothing of it stays behind but log files.
package local

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/kerf-sh/kerf/internal/local/kube"
	"github.com/kerf-sh/kerf/internal/local/kubelet"
	"github.com/kerf-sh/kerf/internal/sim/awssim/world"
)

// Options say what to start. The zero value is a good default.
type Options struct {
	ClusterName string   // kerf; also the name of the interruption queue
	StateDir    string   // logs, kubeconfigs, state file; DefaultStateDir
	Region      string   // us-east-1
	Seed        uint64   // of everything that the simulated AWS draws
	Types       []string // instance types that exist; all that the region offers

	// BootTime is how long a simulated instance takes from running to a kubelet (the simulator's default; negative: none).
	BootTime time.Duration
	// AWSLatency makes each call of the simulated AWS take this many times as long as at AWS (1; negative: no time at all).
	AWSLatency float64
	// SpotNotice is how long a spot instance lives after its warning (the simulator's default).
	SpotNotice time.Duration

	// Stack is a file with the CloudFormation template to deploy in place of the rendered one, StackParameters are its
	// parameters as KEY=VALUE.
	Stack           string
	StackParameters []string

	// Faults that the simulated AWS has from its start.
	Faults []world.Fault

	Port    int // of the Kubernetes API on 127.0.0.1; 0: a free one
	AWSPort int // of the simulated AWS on 127.0.0.1; 0: a free one

	Bare bool // install nothing of the controller, neither CRDs nor rights, and start none
	// SystemNodes is how many nodes of a managed node group there are. They run the pods of an installation that somebody else
	// makes: those whose image is Kerf's or in Programs. It goes with Bare. 0: none.
	SystemNodes int

	NoController  bool     // start everything but the controller
	Replicas      int      // of the controller; 0: one
	ControllerEnv []string // KEY=VALUE, on top of what every controller gets
	Binary        string   // that has the controller subcommand; the running one
	// Programs are what runs in place of images of others, by their repository; an empty one is Kerf. Every other image is taken
	// for Kerf's, but by SystemNodes.
	Programs     map[string]string
	ControlPlane string // kerf-controlplane binary; found beside Binary or by $KERF_CONTROLPLANE

	Examples  bool     // apply the NodePool and EC2NodeClass named default
	Manifests []string // files of manifests to apply, in this order, after the examples

	AuditLog         string // file for one line of JSON per write to the Kubernetes API; empty: none
	NodeLeaseSeconds int    // see kube.Options

	// Report is told what is going on, one line a call. It may be nil.
	Report func(line string)
}

func (o *Options) setDefaults() error {
	o.ClusterName = cmp.Or(o.ClusterName, DefaultName)
	o.Region = cmp.Or(o.Region, "us-east-1")
	o.AWSLatency = max(0, cmp.Or(o.AWSLatency, 1))
	if o.Report == nil {
		o.Report = func(string) {}
	}
	if o.Replicas < 0 {
		return fmt.Errorf("%d replicas of the controller: want one or more", o.Replicas)
	}
	if err := o.checkInput(); err != nil {
		return err
	}
	if err := o.checkNodes(); err != nil {
		return err
	}
	if o.StateDir == "" {
		dir, err := DefaultStateDir(o.ClusterName)
		if err != nil {
			return err
		}
		o.StateDir = dir
	}
	dir, err := filepath.Abs(o.StateDir)
	if err != nil {
		return fmt.Errorf("find the state folder: %w", err)
	}
	o.StateDir = dir
	if o.Binary == "" {
		if o.Binary, err = os.Executable(); err != nil {
			return fmt.Errorf("find the own binary: %w", err)
		}
	}
	if o.ControlPlane == "" {
		if o.ControlPlane, err = kube.FindBinary(); err != nil {
			return err
		}
	}
	return nil
}

// A Cluster is a running local cluster.
type Cluster struct {
	Name       string
	StateDir   string
	Kubeconfig string // file, of a user who may do everything
	AWS        string // URL of the simulated AWS
	Region     string
	Kube       *kube.ControlPlane
	Simulator  *Simulator
	Controller *Controller   // the first replica; nil with Options.NoController
	Replicas   []*Controller // the others

	rollouts   int // so far; they number the logs
	options    Options
	deployment *appsv1.Deployment // that runs
	volumes    []*kubelet.Volume  // of AsController
	nodes      []*kubelet.Node    // Options.SystemNodes
	installed  installed          // what they run
	ports      ports              // of the last cluster in the folder, where they are free
	releases   []func()           // of the ports that controllers listen on
	key        world.AccessKey    // the controller's
	lock       io.Closer
	ended      chan error
	close      sync.Once
	closeErr   error
}

// Up starts a local cluster and returns when all of it works. The context bounds the start only; Close ends the cluster.
//
// Errors: kube.ErrNoBinary; ErrRunning when the state folder is in use; otherwise what did not start, with the end of
// its log.
func Up(ctx context.Context, o Options) (*Cluster, error) {
	if err := o.setDefaults(); err != nil {
		return nil, fmt.Errorf("start the local cluster: %w", err)
	}
	lock, err := claimState(o.StateDir)
	if err != nil {
		return nil, err
	}
	c := &Cluster{Name: o.ClusterName, StateDir: o.StateDir, Region: o.Region, options: o, lock: lock, ended: make(chan error, 1)}
	if err := c.start(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("start the local cluster: %w", err), c.Close())
	}
	go c.watch()
	return c, nil
}

// start does the steps of Up. What has been started is in c, so that Close can end it when a later step fails.
func (c *Cluster) start(ctx context.Context) error {
	o := c.options
	begin := time.Now()
	var release func()
	c.ports, release = readPorts(c.StateDir)
	c.releases = append(c.releases, release)
	o.Report("starting etcd, kube-apiserver, kube-controller-manager, kube-scheduler and kwok")
	var err error
	if c.Kube, err = c.startKube(ctx, cmp.Or(o.Port, c.ports.Kubernetes)); err != nil && o.Port == 0 && c.ports.Kubernetes != 0 && !free(c.ports.Kubernetes) {
		c.Kube, err = c.startKube(ctx, 0) // somebody took it since, and nobody asked for it
	}
	if err != nil {
		return err
	}
	c.Kubeconfig = c.Kube.Kubeconfig
	o.Report(fmt.Sprintf("Kubernetes %s answers at %s after %.1f s", c.Kube.Version, c.Kube.Server, c.Kube.StartupSeconds))
	o.Report("starting the simulated AWS, region " + c.Region)
	if c.Simulator, err = c.startSimulator(); err != nil {
		return err
	}
	c.AWS = c.Simulator.URL()
	if err := c.deployStack(ctx); err != nil {
		return err
	}
	if !o.Bare {
		if err := c.install(ctx); err != nil {
			return err
		}
	}
	if o.SystemNodes > 0 {
		if err := c.startNodes(ctx); err != nil {
			return err
		}
	}
	if !o.Bare && !o.NoController {
		o.Report("starting the controller against " + c.AWS)
		if err := c.startController(ctx); err != nil {
			return err
		}
	}
	if err := c.applyManifests(ctx); err != nil {
		return err
	}
	if o.Examples && c.Controller != nil {
		if err := c.awaitPool(ctx); err != nil {
			return err
		}
	}
	if err := writeState(c); err != nil {
		return err
	}
	c.writePorts()
	o.Report(fmt.Sprintf("ready after %.1f s", time.Since(begin).Seconds()))
	return nil
}

// startKube starts the control plane on a port; 0: a free one.
func (c *Cluster) startKube(ctx context.Context, port int) (*kube.ControlPlane, error) {
	return kube.Start(ctx, kube.Options{
		Binary: c.options.ControlPlane, StateDir: filepath.Join(c.StateDir, "kubernetes"), Port: port,
		AuditLog: c.options.AuditLog, NodeLeaseSeconds: c.options.NodeLeaseSeconds,
	})
}

// Config returns client settings of a user who may do everything, without a client-side rate limit.
func (c *Cluster) Config() (*rest.Config, error) { return c.ConfigFor(kube.Admin) }

// ConfigFor returns client settings for one of the control plane's identities, without a client-side rate limit.
func (c *Cluster) ConfigFor(id kube.Identity) (*rest.Config, error) {
	cfg, err := clientcmd.BuildConfigFromFlags("", c.Kube.Kubeconfigs[id])
	if err != nil {
		return nil, fmt.Errorf("read the kubeconfig of %s: %w", id, err)
	}
	cfg.QPS = -1
	return cfg, nil
}

// Ended gets an error when the cluster can no longer work because a part of it that is not restarted has ended.
func (c *Cluster) Ended() <-chan error { return c.ended }

func (c *Cluster) watch() {
	<-c.Kube.Done()
	if err := c.Kube.Err(); err != nil {
		c.ended <- err
	}
}

// Close ends everything that Up started and waits until it is gone. Log files stay. It may be called more than once.
func (c *Cluster) Close() error {
	c.close.Do(func() { c.closeErr = c.end() })
	return c.closeErr
}

func (c *Cluster) end() error {
	var errs []error
	errs = append(errs, c.stopControllers(), c.stopNodes())
	for _, v := range c.volumes {
		v.Close()
	}
	if c.Simulator != nil {
		errs = append(errs, c.Simulator.Close())
	}
	if c.Kube != nil {
		_ = c.Kube.Close() // its error is that it ended before, which Ended reports
	}
	for _, release := range c.releases {
		release()
	}
	removeState(c.StateDir)
	_ = os.Truncate(filepath.Join(c.StateDir, lockName), 0) // nobody is starting here; the next one writes its own number
	c.lock.Close()
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("end the local cluster: %w", err)
	}
	return nil
}
