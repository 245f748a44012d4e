// Package boot lets simulated instances start as real ones do. When an instance runs, the start-up code of its image is
// acted out: the user data is read in the format of that image, a kubelet is configured from it, and only if that
// kubelet would start, reach the cluster and be let in does a node object appear, with the labels, taints and
// resources which this user data gives on this instance. When the instance ends, its node ends the way it does in a
// real cluster: it is NotReady, and once the instance is gone the node is deleted. Its pods are left to who collects them.
package boot

import (
	"context"
	"fmt"
	"hash/fnv"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/client-go/kubernetes"

	"github.com/kerf-sh/kerf/internal/sim/awssim/world"
)

// Options of a Booter. World is required.
type Options struct {
	World  *world.World
	Client kubernetes.Interface // nil: instances boot but have no cluster to join
	// JoinJitter is the most that an instance boots later than World's boot time; the seed decides which does how much.
	JoinJitter time.Duration
	// ReadyDelay is how long a node stays NotReady after joining; none by default.
	ReadyDelay time.Duration
	// NodeGone is how long after an instance's end its node is deleted, as the cloud controller manager takes a while to
	// notice; a second by default.
	NodeGone time.Duration
	// Retry is the pause after a failed call to the Kubernetes API; a second by default.
	Retry  time.Duration
	Logger *slog.Logger // slog's default when nil
}

// Booter boots every instance of a world. It is a world.Lifecycle.
type Booter struct {
	opts   Options
	ctx    context.Context
	cancel context.CancelFunc
	work   sync.WaitGroup

	mu      sync.Mutex
	closed  bool
	records map[string]*record
}

// New makes a booter and lets it hear of the world's instances.
func New(o Options) *Booter {
	if o.NodeGone == 0 {
		o.NodeGone = time.Second
	}
	if o.Retry == 0 {
		o.Retry = time.Second
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	b := &Booter{opts: o, records: map[string]*record{}}
	b.ctx, b.cancel = context.WithCancel(context.Background())
	o.World.AddLifecycle(b)
	return b
}

// Close stops booting and waits for the calls under way.
func (b *Booter) Close() {
	b.mu.Lock()
	b.closed = true
	b.mu.Unlock()
	b.cancel()
	b.work.Wait()
}

// later runs f once d has passed by the world's clock, unless the booter is closed by then.
func (b *Booter) later(d time.Duration, f func()) {
	b.opts.World.Clock().AfterFunc(d, func() {
		b.mu.Lock()
		if b.closed {
			b.mu.Unlock()
			return
		}
		b.work.Add(1)
		b.mu.Unlock()
		defer b.work.Done()
		f()
	})
}

// OnRunning powers an instance on.
func (b *Booter) OnRunning(i world.Instance) {
	b.logf(i.ID, "powered on: %s from image %s in %s", i.Type, i.ImageID, i.Zone)
	b.later(b.opts.World.Options().BootTime+b.jitter(i.ID), func() { b.boot(i) })
}

func (b *Booter) jitter(id string) time.Duration {
	if b.opts.JoinJitter <= 0 {
		return 0
	}
	h := fnv.New64a()
	fmt.Fprintf(h, "%d/%s", b.opts.World.Options().Seed, id)
	return time.Duration(h.Sum64() % uint64(b.opts.JoinJitter))
}

// alive tells whether an instance still runs.
func (b *Booter) alive(id string) bool {
	state, ok := b.opts.World.StateOf(id)
	return ok && state == world.StateRunning
}

// boot acts out the start of one instance up to its node.
func (b *Booter) boot(i world.Instance) {
	if !b.alive(i.ID) {
		b.logf(i.ID, "ended before it had booted")
		return
	}
	image, ok := b.opts.World.Image(i.ImageID)
	if !ok {
		b.refuse(i.ID, fmt.Errorf("the image %s is not there any more", i.ImageID))
		return
	}
	k, err := Read(image, i.UserData())
	if err != nil {
		b.refuse(i.ID, err)
		return
	}
	if name, wrong := b.opts.World.WrongCluster(i); wrong {
		k.notef("a fault changes the cluster name from %q to %q", k.ClusterName, name)
		k.ClusterName = name
	}
	for _, note := range k.Notes {
		b.logf(i.ID, "%s", note)
	}
	if err := b.admit(i, k); err != nil {
		b.refuse(i.ID, err)
		return
	}
	t, ok := b.opts.World.Type(i.Type)
	if !ok {
		b.refuse(i.ID, fmt.Errorf("nothing is known of the instance type %s", i.Type))
		return
	}
	m := instanceOf(i, image, t, b.opts.World.GuestMemoryMiB(i.Type), k.RAID0)
	b.join(i, image, k, m)
}

// Read makes of user data what the start-up code of an image makes of it. The error is why no kubelet comes of it.
func Read(image world.Image, userData []byte) (*Kubelet, error) {
	if len(userData) == 0 {
		return nil, fmt.Errorf("the instance has no user data, so the %s image configures no kubelet", image.Family)
	}
	switch image.Family {
	case world.FamilyAL2:
		return readAL2(userData)
	case world.FamilyAL2023:
		return readAL2023(userData)
	case world.FamilyBottlerocket:
		return readBottlerocket(userData, image.Release)
	case world.FamilyWindows:
		return readWindows(userData)
	default:
		return nil, fmt.Errorf("images of the family %q have no start-up code that joins a cluster here", image.Family)
	}
}

// admit decides whether kubelet and cluster would come together.
func (b *Booter) admit(i world.Instance, k *Kubelet) error {
	if err := k.start(); err != nil {
		return err
	}
	if err := b.checkIdentity(i); err != nil {
		return err
	}
	c, ok := b.opts.World.Cluster(k.ClusterName)
	if !ok {
		return fmt.Errorf("the kubelet is Unauthorized: its token names the cluster %q, which is not this one", k.ClusterName)
	}
	if k.Endpoint == "" || k.CA == "" { // only the bootstrap script lets these be left out
		b.logf(i.ID, "endpoint or CA are not in the user data; the bootstrap script asks EKS for them")
		k.Endpoint, k.CA = c.Endpoint, c.CA
	}
	if !sameEndpoint(k.Endpoint, c.Endpoint) {
		return fmt.Errorf("the kubelet cannot reach %s: the endpoint of cluster %s is %s", k.Endpoint, c.Name, c.Endpoint)
	}
	if strip(k.CA) != strip(c.CA) {
		return fmt.Errorf("the kubelet does not trust the API server of cluster %s: the user data has another certificate authority", c.Name)
	}
	if k.GuessCIDR {
		k.ServiceCIDR = guessedCIDR(i)
		b.logf(i.ID, "-ServiceCIDR is not given with the endpoint and the CA; the bootstrap script guesses %s", k.ServiceCIDR)
		if k.ServiceCIDR != c.ServiceIPv4CIDR {
			return fmt.Errorf("pods reach no service: the bootstrap script guesses the service CIDR %s, cluster %s has %s", k.ServiceCIDR, c.Name, c.ServiceIPv4CIDR)
		}
	}
	if k.ServiceCIDR != "" && k.ServiceCIDR != c.ServiceIPv4CIDR && k.ServiceCIDR != c.ServiceIPv6CIDR {
		return fmt.Errorf("the user data has the service CIDR %s, cluster %s has %s%s", k.ServiceCIDR, c.Name, c.ServiceIPv4CIDR, c.ServiceIPv6CIDR)
	}
	return nil
}

// guessedCIDR is the service CIDR that EKS gives a cluster whose VPC has such addresses, if nobody chose another.
// Source: Amazon EKS User Guide, optimized Windows AMIs, bootstrap script configuration parameters.
func guessedCIDR(i world.Instance) string {
	if strings.HasPrefix(i.PrivateIP.String(), "10.") {
		return "172.20.0.0/16"
	}
	return "10.100.0.0/16"
}

func sameEndpoint(a, b string) bool {
	trim := func(s string) string { return strings.TrimSuffix(strings.TrimSuffix(strings.ToLower(s), "/"), ":443") }
	return trim(a) == trim(b)
}

func strip(s string) string { return strings.Join(strings.Fields(s), "") }

// checkIdentity makes sure that the instance has a role to prove itself with.
func (b *Booter) checkIdentity(i world.Instance) error {
	if i.ProfileARN == "" {
		return fmt.Errorf("the kubelet is Unauthorized: the instance has no instance profile and so no identity")
	}
	name := i.ProfileARN[strings.LastIndex(i.ProfileARN, "/")+1:]
	p, err := b.opts.World.InstanceProfile(name)
	if err != nil {
		return fmt.Errorf("the kubelet is Unauthorized: instance profile %s is gone", name)
	}
	r, err := b.opts.World.Role(p.Role)
	if p.Role == "" || err != nil || r.ID != p.RoleID || b.opts.World.StaleRole(p.Role) {
		return fmt.Errorf("the kubelet is Unauthorized: instance profile %s holds no role that exists", name)
	}
	// Without any access entry, the aws-auth ConfigMap is taken to map every role.
	cluster := b.opts.World.ClusterName()
	entries, err := b.opts.World.AccessEntries(cluster)
	if err == nil && len(entries) > 0 && !slices.ContainsFunc(entries, func(e world.AccessEntry) bool {
		return e.PrincipalARN == r.ARN && strings.HasPrefix(e.Type, "EC2_")
	}) {
		return fmt.Errorf("the kubelet is Unauthorized: role %s has no access entry of type EC2_LINUX or EC2_WINDOWS in cluster %s", r.ARN, cluster)
	}
	return nil
}
