// Package awssim is an AWS account in a process: EC2, IAM, STS, SSM, SQS, EventBridge, KMS, CloudWatch, EKS, ARC zonal shift and Pricing
// answer over HTTP in their own protocols from one shared world, instances boot from their user data and join a Kubernetes
// cluster, and faults can be switched on. It is for development and tests on one instance.
//
// What an operation does is in package world, which knows no HTTP; how it is asked and answered is in the package of its
// service, which registers it with package wire; what a caller must be allowed to for it is in package authz; how long it
// takes is in latency.go. An operation that is missing in authz is refused, so that it can't be forgotten.
package awssim

import (
	"cmp"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/kerf-sh/kerf/internal/sim/awssim/arc"
	"github.com/kerf-sh/kerf/internal/sim/awssim/authz"
	"github.com/kerf-sh/kerf/internal/sim/awssim/boot"
	"github.com/kerf-sh/kerf/internal/sim/awssim/cloudformation"
	"github.com/kerf-sh/kerf/internal/sim/awssim/cloudwatch"
	"github.com/kerf-sh/kerf/internal/sim/awssim/control"
	"github.com/kerf-sh/kerf/internal/sim/awssim/ec2"
	"github.com/kerf-sh/kerf/internal/sim/awssim/eks"
	"github.com/kerf-sh/kerf/internal/sim/awssim/event"
	"github.com/kerf-sh/kerf/internal/sim/awssim/events"
	"github.com/kerf-sh/kerf/internal/sim/awssim/iam"
	"github.com/kerf-sh/kerf/internal/sim/awssim/kms"
	"github.com/kerf-sh/kerf/internal/sim/awssim/pricing"
	"github.com/kerf-sh/kerf/internal/sim/awssim/sqs"
	"github.com/kerf-sh/kerf/internal/sim/awssim/ssm"
	"github.com/kerf-sh/kerf/internal/sim/awssim/sts"
	"github.com/kerf-sh/kerf/internal/sim/awssim/wire"
	"github.com/kerf-sh/kerf/internal/sim/awssim/world"
)

// Options of a simulator. The zero value of each field means the default that is named with it.
type Options struct {
	// World says what account to make: region, cluster name, seed, clock, timing, stock.
	World  world.Options
	Listen string // address, on the loopback interface: 127.0.0.1:0
	// Listener answers instead of a port at Listen, such as one in memory.
	Listener net.Listener

	// KubeConfig leads to the cluster that instances join; without it, and without Kubernetes, they never join. Kubernetes
	// is a client to use instead.
	KubeConfig *rest.Config
	Kubernetes kubernetes.Interface
	// Cluster is the EKS record. Name, Endpoint and CA come from World.ClusterName and KubeConfig when empty, Version from
	// World.KubernetesVersion, the service range is 10.100.0.0/16.
	Cluster world.Cluster

	Queue        string        // interruption queue (the cluster's name), made with the rules that send to it
	NoQueue      bool          // make neither queue nor rules: a stack will
	SpotNotice   time.Duration // between warning and reclaim (2 min)
	JoinJitter   time.Duration // most that an instance boots later than World.BootTime (none)
	ReadyDelay   time.Duration // between joining and Ready (none)
	NodeGoneTime time.Duration // between an instance's end and that of its node (1 s)

	Faults     []world.Fault   // switched on from the start
	Authorizer wire.Authorizer // allows everything when nil; Enforce sets it
	Logger     *slog.Logger    // slog's default

	// Latency makes each call take as long as at AWS, times this factor; 0 answers at once.
	Latency float64

	// Enforce judges every call by the policies of its caller.
	Enforce bool

	// CAFile, if set, gets the certificate by which clients can trust the simulator; Env then leads them to it by TLS,
	// without which policies that demand aws:SecureTransport refuse them.
	CAFile string
}

const (
	defaultServiceCIDR = "10.100.0.0/16"
	defaultSpotNotice  = 2 * time.Minute
	shutdownTime       = 2 * time.Second
)

// Server is a simulator.
type Server struct {
	World *world.World
	Boot  *boot.Booter
	Bus   *event.Bus
	// Permissions keeps what was allowed and refused; nil without Options.Enforce.
	Permissions *authz.Authorizer

	front    *wire.Server
	logger   *slog.Logger
	listener net.Listener
	caFile   string
	http     *http.Server
	served   chan error
}

// New makes a simulator and opens its port; Start lets it answer.
func New(o Options) (*Server, error) {
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	w, err := world.NewDefault(o.World)
	if err != nil {
		return nil, err
	}
	for _, f := range o.Faults {
		w.AddFault(f)
	}
	if err := setCluster(w, o); err != nil {
		return nil, err
	}
	queue := cmp.Or(o.Queue, w.ClusterName())
	if !o.NoQueue {
		if err := w.FurnishInterruption(queue); err != nil {
			return nil, err
		}
	}
	kube, err := kubeClient(o)
	if err != nil {
		return nil, err
	}
	listener, err := listenSecure(o)
	if err != nil {
		return nil, err
	}
	s := &Server{World: w, Bus: event.NewBus(w, queue), logger: o.Logger, listener: listener, caFile: o.CAFile, served: make(chan error, 1)}
	s.Boot = boot.New(boot.Options{
		World: w, Client: kube, JoinJitter: o.JoinJitter, ReadyDelay: o.ReadyDelay, NodeGone: o.NodeGoneTime, Logger: o.Logger,
	})
	w.AddStateWatcher(s.Bus)
	if o.Enforce {
		s.Permissions = authz.New(w, o.Logger)
		o.Authorizer = s.Permissions
	}
	s.http = &http.Server{Handler: s.routes(o), ReadHeaderTimeout: 10 * time.Second, ErrorLog: slog.NewLogLogger(o.Logger.Handler(), slog.LevelWarn)}
	return s, nil
}

// routes puts all services and the control interface on one server.
func (s *Server) routes(o Options) http.Handler {
	w := s.World
	front := wire.New(wire.Options{
		Region: w.Region(), Seed: w.Options().Seed, Keys: keys{w}, Authorizer: o.Authorizer, Faults: faults{w},
		Recorder: recorder{w}, Errors: refusal, Logger: o.Logger, Hold: newPace(w, o.Latency).hold,
	})
	ec2.Register(front, w)
	iam.Register(front, w)
	sts.Register(front, w)
	ssm.Register(front, w)
	sqs.Register(front, w)
	events.Register(front, w)
	kms.Register(front, w)
	cloudwatch.Register(front, w)
	eks.Register(front, w)
	arc.Register(front, w)
	pricing.Register(front, w)
	cloudformation.Register(front, w)
	page := control.New(w, s.Boot, s.Bus, cmp.Or(o.SpotNotice, defaultSpotNotice))
	page.Permissions = s.Permissions
	front.Mount(control.Prefix, page)
	s.front = front
	return front
}

// Actions names every operation that the simulator answers, as IAM policies do.
func (s *Server) Actions() []string { return s.front.Actions() }

// listen opens the port. The simulator trusts whoever reaches its control page, so it stays on the instance.
func listen(address string) (net.Listener, error) {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil, fmt.Errorf("listen for simulated AWS on %q: %w", address, err)
	}
	if ip := net.ParseIP(host); host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return nil, fmt.Errorf("listen for simulated AWS on %q: it must be a loopback address such as 127.0.0.1:0", address)
	}
	l, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("listen for simulated AWS on %q: %w", address, err)
	}
	return l, nil
}

// listenSecure opens the port for both, plain and TLS.
func listenSecure(o Options) (net.Listener, error) {
	cert, authority, err := certificate()
	if err != nil {
		return nil, err
	}
	if o.CAFile != "" {
		if err := os.WriteFile(o.CAFile, authority, 0o600); err != nil {
			return nil, fmt.Errorf("write the certificate of the simulated AWS: %w", err)
		}
	}
	l := o.Listener
	if l == nil {
		if l, err = listen(cmp.Or(o.Listen, "127.0.0.1:0")); err != nil {
			return nil, err
		}
	}
	return listenEither(l, cert), nil
}

func kubeClient(o Options) (kubernetes.Interface, error) {
	if o.Kubernetes != nil || o.KubeConfig == nil {
		return o.Kubernetes, nil
	}
	c := rest.CopyConfig(o.KubeConfig)
	c.QPS, c.UserAgent = -1, "kerf-awssim"
	client, err := kubernetes.NewForConfig(c)
	if err != nil {
		return nil, fmt.Errorf("make the client by which instances join: %w", err)
	}
	return client, nil
}

// setCluster writes the EKS record of the cluster that instances join.
func setCluster(w *world.World, o Options) error {
	c := o.Cluster
	c.Name = cmp.Or(c.Name, w.ClusterName())
	c.Version = cmp.Or(c.Version, w.Options().KubernetesVersion)
	if c.ServiceIPv4CIDR == "" && c.ServiceIPv6CIDR == "" {
		c.ServiceIPv4CIDR = defaultServiceCIDR
	}
	if k := o.KubeConfig; k != nil {
		c.Endpoint = cmp.Or(c.Endpoint, k.Host)
		if c.CA == "" {
			ca := k.CAData
			if len(ca) == 0 && k.CAFile != "" {
				var err error
				if ca, err = os.ReadFile(k.CAFile); err != nil {
					return fmt.Errorf("read the cluster's certificate authority: %w", err)
				}
			}
			c.CA = base64.StdEncoding.EncodeToString(ca)
		}
	}
	c.Endpoint = cmp.Or(c.Endpoint, "https://"+c.Name+".eks.invalid")
	c.CA = cmp.Or(c.CA, base64.StdEncoding.EncodeToString([]byte("simulated certificate authority of "+c.Name)))
	if vpcs := w.VPCs(); c.VPCID == "" && len(vpcs) > 0 {
		c.VPCID = vpcs[0].ID
	}
	w.SetCluster(c)
	return nil
}

// Start answers requests until Close.
func (s *Server) Start() {
	go func() { s.served <- s.http.Serve(s.listener) }()
	s.logger.Info("simulated AWS answers", "url", s.URL(), "region", s.World.Region(), "cluster", s.World.ClusterName())
}

// URL is the endpoint for all services and the control page, without encryption.
func (s *Server) URL() string { return "http://" + s.listener.Addr().String() }

// SecureURL is the same endpoint with TLS, trusted by Options.CAFile.
func (s *Server) SecureURL() string { return "https://" + s.listener.Addr().String() }

// Credentials is the access key that the controller is to use.
func (s *Server) Credentials() (accessKeyID, secretAccessKey string) {
	return world.DefaultAccessKey, world.DefaultSecretKey
}

// CAFile is the file with the certificate by which clients can trust the simulator; empty if none was asked for.
func (s *Server) CAFile() string { return s.caFile }

// Env is what a process needs in its environment to take this simulator for AWS, as KEY=value.
func (s *Server) Env() []string {
	id, secret := s.Credentials()
	return s.EnvFor(world.AccessKey{ID: id, Secret: secret})
}

// EnvFor is Env for another identity.
func (s *Server) EnvFor(key world.AccessKey) []string {
	env := []string{"AWS_REGION=" + s.World.Region(), "AWS_ACCESS_KEY_ID=" + key.ID, "AWS_SECRET_ACCESS_KEY=" + key.Secret, "AWS_ACCOUNT_ID=" + s.World.Account(), "AWS_EC2_METADATA_DISABLED=true"}
	if key.SessionToken != "" {
		env = append(env, "AWS_SESSION_TOKEN="+key.SessionToken)
	}
	if s.caFile == "" {
		return append(env, "AWS_ENDPOINT_URL="+s.URL())
	}
	return append(env, "AWS_ENDPOINT_URL="+s.SecureURL(), "AWS_CA_BUNDLE="+s.caFile)
}

// Close ends the simulator: waiting calls are woken, boots under way are waited for.
func (s *Server) Close() error {
	s.World.Close()
	s.Boot.Close()
	ctx, cancel := context.WithTimeout(context.Background(), shutdownTime)
	defer cancel()
	err := s.http.Shutdown(ctx)
	if errors.Is(err, context.DeadlineExceeded) {
		err = s.http.Close()
	}
	_ = s.listener.Close() // closed by Shutdown if it was served
	if err != nil {
		return fmt.Errorf("close simulated AWS: %w", err)
	}
	return nil
}
