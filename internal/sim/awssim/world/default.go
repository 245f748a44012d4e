package world

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"slices"
	"strings"
	"time"

	"github.com/kerf-sh/kerf/internal/awsmodel/ec2facts"
)

// Options say what world to make. The zero value of each field means the default that is named with it.
type Options struct {
	Region      string // us-east-1
	Account     string // 123456789012
	ClusterName string // kerf
	Seed        uint64
	Clock       Clock           // the instance's
	Facts       *ec2facts.Facts // the embedded ones
	Types       []string        // instance types that exist; empty: all that the region offers

	// SubnetZones is how many zones have subnets (3; fewer if the region has fewer). PrivateBits and PublicBits are the
	// prefix lengths of those subnets (19 and 22).
	SubnetZones             int
	PrivateBits, PublicBits int

	KubernetesVersion string // minor version that images are published for, beside its neighbours: 1.36

	// PendingTime is how long an instance takes to run (2 s), BootTime how long from then until its kubelet is up (10 s),
	// ShutdownTime how long it takes to end (5 s); each varies by a fifth. TerminatedVisible is how long its record stays
	// after that (1 h). A negative duration means none at all.
	PendingTime, BootTime, ShutdownTime, TerminatedVisible time.Duration
	// ProfileDelay is how long a new instance profile takes until EC2 knows it (none).
	ProfileDelay time.Duration

	// NoIdentities leaves the roles of nodes and controller out, and with them DefaultAccessKey: a stack is to make them.
	// The administrator is there all the same.
	NoIdentities bool

	// SpotDepth and OnDemandDepth, if positive, are the stock of every pool, instead of one drawn from the seed.
	SpotDepth, OnDemandDepth int
	// Ordered has receivers that wait for one queue look one after the other, in the order in which they came: two runs of a seed are
	// alike then, whichever of them runs first. It takes a nanosecond each, and is for clocks that go on by themselves.
	Ordered bool
	// RateLimits switches the request rates of AccountRates on.
	RateLimits bool
}

// Values that the default account has.
const (
	DefaultAccount   = "123456789012"
	DefaultAccessKey = "AKIAKERFSIMCONTROLLR"
	DefaultSecretKey = "kerf-simulated-secret-key-of-controller0"

	// Of the user admin, who may do everything.
	DefaultAdminAccessKey = "AKIAKERFSIMADMINISTR"
	DefaultAdminSecretKey = "kerf-simulated-secret-key-of-administra0"
)

func (o *Options) setDefaults() error {
	o.Region = cmp.Or(o.Region, "us-east-1")
	o.Account = cmp.Or(o.Account, DefaultAccount)
	o.ClusterName = cmp.Or(o.ClusterName, "kerf")
	o.SubnetZones = cmp.Or(o.SubnetZones, 3)
	o.PrivateBits = cmp.Or(o.PrivateBits, 19)
	o.PublicBits = cmp.Or(o.PublicBits, 22)
	o.KubernetesVersion = cmp.Or(o.KubernetesVersion, "1.36")
	o.PendingTime = durationOr(o.PendingTime, 2*time.Second)
	o.BootTime = durationOr(o.BootTime, 10*time.Second)
	o.ShutdownTime = durationOr(o.ShutdownTime, 5*time.Second)
	o.TerminatedVisible = durationOr(o.TerminatedVisible, time.Hour)
	if o.Clock == nil {
		o.Clock = RealClock{}
	}
	if o.PrivateBits < 17 || o.PrivateBits > 28 || o.PublicBits < 17 || o.PublicBits > 28 {
		return fmt.Errorf("make simulated account: subnet sizes /%d and /%d are not between /17 and /28", o.PrivateBits, o.PublicBits)
	}
	if o.Facts == nil {
		f, err := ec2facts.Load()
		if err != nil {
			return fmt.Errorf("make simulated account: %w", err)
		}
		o.Facts = f
	}
	return nil
}

func durationOr(d, otherwise time.Duration) time.Duration {
	switch {
	case d < 0:
		return 0
	case d == 0:
		return otherwise
	}
	return d
}

// NewDefault makes an account as a user would have it after following the install guide: a network with a public and a
// private subnet in each of some zones and two security groups, tagged for discovery by the cluster's name; the images
// that EKS publishes; a role for nodes; an access key for the controller.
func NewDefault(o Options) (*World, error) {
	if err := o.setDefaults(); err != nil {
		return nil, err
	}
	w := newWorld(o)
	zones, _ := o.Facts.Zones(o.Region)
	for _, z := range zones {
		w.ec2.net.zones = append(w.ec2.net.zones, Zone{Name: z.Name, ID: z.ID, Type: "availability-zone", State: "available"})
	}
	if len(w.ec2.facts.names) == 0 {
		return nil, fmt.Errorf("make simulated account: the catalogue knows no instance type in region %q", o.Region)
	}
	if err := w.furnishNetwork(); err != nil {
		return nil, err
	}
	w.furnishImages()
	w.furnishIdentities()
	if err := w.furnishKeys(); err != nil {
		return nil, err
	}
	if o.RateLimits {
		for _, f := range AccountRates() {
			w.AddFault(f)
		}
	}
	return w, nil
}

// furnishNetwork lays the private subnets from the bottom of a /16 upwards and the public ones from its top three
// quarters on.
func (w *World) furnishNetwork() error {
	cluster := w.opts.ClusterName
	v, err := w.AddVPC("10.0.0.0/16", map[string]string{"Name": cluster, "kubernetes.io/cluster/" + cluster: "shared"})
	if err != nil {
		return err
	}
	discovery := "karpenter.sh/discovery"
	zones := w.subnetZones()
	for n, z := range zones {
		tags := map[string]string{
			discovery: cluster, "Name": cluster + "-private-" + z.Name,
			"kubernetes.io/role/internal-elb": "1", "kubernetes.io/cluster/" + cluster: "shared",
		}
		if _, err := w.AddSubnet(v.ID, z.Name, block(0, n, w.opts.PrivateBits), false, tags); err != nil {
			return err
		}
		tags = map[string]string{
			"Name": cluster + "-public-" + z.Name, "kubernetes.io/role/elb": "1", "kubernetes.io/cluster/" + cluster: "shared",
		}
		if _, err := w.AddSubnet(v.ID, z.Name, block(192, n, w.opts.PublicBits), true, tags); err != nil {
			return err
		}
	}
	if _, err := w.AddSecurityGroup(v.ID, "default", "default VPC security group", nil); err != nil {
		return err
	}
	for _, g := range []struct{ name, text string }{
		{"eks-cluster-sg-" + cluster, "control plane to nodes"}, {cluster + "-node", "between nodes"},
	} {
		tags := map[string]string{discovery: cluster, "Name": g.name, "kubernetes.io/cluster/" + cluster: "owned"}
		if _, err := w.AddSecurityGroup(v.ID, g.name, g.text, tags); err != nil {
			return err
		}
	}
	return nil
}

// block is the n-th range of a size from 10.0.<third>.0 on.
func block(third, n, bits int) string {
	offset := third<<8 + n<<(32-bits)
	return fmt.Sprintf("10.0.%d.%d/%d", offset>>8&0xff, offset&0xff, bits)
}

// subnetZones are the first zones with a full choice of types: zones that offer much less than the best come last.
func (w *World) subnetZones() []Zone {
	offered := map[string]int{}
	most := 0
	for _, zones := range w.ec2.facts.zones {
		for z := range zones {
			offered[z]++
			most = max(most, offered[z])
		}
	}
	zones := slices.Clone(w.ec2.net.zones)
	slices.SortStableFunc(zones, func(a, b Zone) int {
		poor := func(z Zone) int {
			if offered[z.Name]*4 < most*3 {
				return 1
			}
			return 0
		}
		return cmp.Compare(poor(a), poor(b))
	})
	return zones[:min(w.opts.SubnetZones, len(zones))]
}

func (w *World) furnishIdentities() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.iam.profileDelay = w.opts.ProfileDelay
	w.furnishAWSPoliciesLocked()
	w.furnishRolesLocked()
}

// stableID makes an identifier of AWS's look from a name.
func stableID(prefix, name string) string {
	const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"
	h := fnv.New64a()
	h.Write([]byte(prefix + name))
	x := h.Sum64()
	var b strings.Builder
	b.WriteString(prefix)
	for range 13 {
		b.WriteByte(letters[x&31])
		x >>= 4
	}
	return b.String()
}
