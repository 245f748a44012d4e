// Package aws is the cloud.Provider for EC2. It joins the packages below it, each of which knows one concern, and keeps
// none of their knowledge itself: what to launch is decided in fleet, what it costs in pricing and offering, what an instance
// is in instancetype, what a class selects in network and image.
package aws

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"sync/atomic"
	"time"

	awsv1 "github.com/kerf-sh/kerf/api/aws/v1"
	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/internal/aws/awserr"
	"github.com/kerf-sh/kerf/internal/aws/fleet"
	"github.com/kerf-sh/kerf/internal/aws/guestmemory"
	"github.com/kerf-sh/kerf/internal/aws/image"
	"github.com/kerf-sh/kerf/internal/aws/instancestatus"
	"github.com/kerf-sh/kerf/internal/aws/instancetype"
	"github.com/kerf-sh/kerf/internal/aws/inventory"
	"github.com/kerf-sh/kerf/internal/aws/launchtemplate"
	"github.com/kerf-sh/kerf/internal/aws/network"
	"github.com/kerf-sh/kerf/internal/aws/offering"
	"github.com/kerf-sh/kerf/internal/aws/owntemplate"
	"github.com/kerf-sh/kerf/internal/aws/placement"
	"github.com/kerf-sh/kerf/internal/aws/podnetwork"
	"github.com/kerf-sh/kerf/internal/aws/pricing"
	"github.com/kerf-sh/kerf/internal/aws/profile"
	"github.com/kerf-sh/kerf/internal/aws/queue"
	"github.com/kerf-sh/kerf/internal/aws/reservation"
	"github.com/kerf-sh/kerf/internal/aws/session"
	"github.com/kerf-sh/kerf/internal/aws/zonalshift"
	"github.com/kerf-sh/kerf/internal/awsmodel/ec2facts"
	"github.com/kerf-sh/kerf/internal/state/cloud"
	"github.com/kerf-sh/kerf/internal/state/cloud/overlay"
)

// Options are the settings of the controller that the provider needs. Only ClusterName is required.
type Options struct {
	ClusterName string
	// ClusterUID is the UID of the cluster's namespace kube-system. Instances that carry another one are left alone; empty
	// takes every instance that bears the cluster's name for ours.
	ClusterUID string
	// ClusterEndpoint is the URL of the API server as nodes reach it; empty asks EKS.
	ClusterEndpoint string
	// ClusterCABundle gives what instances trust the API server by, base64 of PEM; nil for nothing.
	ClusterCABundle func() string
	// ClusterDNSIP gives the address of the cluster's DNS service; without one, after a failure, and where it is nil, the images choose.
	ClusterDNSIP func(context.Context) (string, error)
	// KubernetesVersion gives the API server's minor version, such as "1.36". nil asks EKS.
	KubernetesVersion func(context.Context) (string, error)

	IsolatedVPC    bool
	MemoryOverhead float64 // share; 0 means instancetype.DefaultMemoryOverhead
	ReservedENIs   int
	// LaunchPriceBound is by how many percent a type in a launch request may be dearer than the cheapest; 0 for any price.
	LaunchPriceBound int64
	// PriceFile is the path of a file with prices of the user's own, empty for none.
	PriceFile string
	// PricesSeen is told once a minute how good the prices are. It must not block.
	PricesSeen func(pricing.State)
	// Overlays are the NodeOverlays in use; nil for none.
	Overlays *overlay.Store
	// NodePools gives those that there are, which must not be changed; nil for none. They say which types a class is tried with.
	NodePools func(context.Context) ([]karpv1.NodePool, error)
	// PodNetwork gives the present settings of the cluster's network plug-in; nil stands for those of none.
	PodNetwork            func() podnetwork.Settings
	InterruptionQueue     string // name, ARN or URL; empty: none
	DisableDryRun         bool
	ReadOnly              bool // nothing is made and no trial is called: a class's instance profile is taken to be there
	ReservedCapacity      bool // launches out of the reservations that classes select, and keeps other instances out of open ones
	AMIRefreshInterval    time.Duration
	SubnetRefreshInterval time.Duration

	// BatchIdle and BatchMax bound how long identical launches wait for each other, Settle is how long EC2 may take to
	// show a new instance; zero values give the defaults of package fleet.
	BatchIdle, BatchMax, Settle time.Duration
	// LaunchFailed is told of every pool that could not be launched from, for metrics. It must not block.
	LaunchFailed func(fleet.PoolError)
	// Joined is told of calls that share one request to EC2: of which kind (create_fleet, describe_instances, terminate_instances), how
	// many, and how long the first waited for the others. TerminateFailed is told where an instance is that could not be terminated.
	// UserData is told how large the user data is with which an instance of a class is launched. None may block.
	Joined          func(batcher string, calls int, waited time.Duration)
	TerminateFailed func(zone, zoneID string)
	UserData        func(class string, bytes int)
	// ForeignInstances is told how many instances bear the cluster's name and another cluster's UID, by that UID, when that
	// has changed. It must not block.
	ForeignInstances func(byUID map[string]int)
	Logger           *slog.Logger
	Now              func() time.Time
}

// Provider implements cloud.Provider.
type Provider struct {
	opts    Options
	session *session.Session
	log     *slog.Logger
	now     func() time.Time

	discovery   *instancetype.Discovery
	prices      *pricing.Book
	unavailable *offering.Unavailable
	ledger      *network.Ledger
	networks    *network.Resolver
	images      *image.Resolver
	templates   *launchtemplate.Store
	own         *owntemplate.Reader
	profiles    *profile.Manager
	inventory   *inventory.Inventory
	launcher    *fleet.Launcher
	queue       *queue.Queue // nil without a queue
	statuses    *instancestatus.Reader
	memory      *guestmemory.Book
	held        *reservation.Ledger // what capacity reservations still hold
	reserved    *reservation.Resolver
	placements  *placement.Resolver
	partitions  *placement.Partitions
	catalogs    catalogs
	ownPrices   ownPrices
	plans       plans
	checks      checks
	shifts      shifts
	// spotUntagged is set while the controller may not tag spot requests; see learnSpotTags.
	spotUntagged atomic.Bool

	cluster remembered[*clusterFacts]
	version remembered[string]
	dns     remembered[string]
	warm    remembered[struct{}] // whether types and prices were read once

	account atomic.Pointer[string] // as the credentials of the first call tell it
}

var _ cloud.Provider = (*Provider)(nil)

// New makes a Provider. It calls nothing; see Start.
func New(s *session.Session, o Options) (*Provider, error) {
	if o.ClusterName == "" {
		return nil, errors.New("the name of the cluster is missing: set CLUSTER_NAME")
	}
	if u, err := url.Parse(o.ClusterEndpoint); o.ClusterEndpoint != "" && (err != nil || u.Host == "") {
		return nil, fmt.Errorf("CLUSTER_ENDPOINT %q is not a URL such as https://example.eks.amazonaws.com", o.ClusterEndpoint)
	}
	o.setDefaults()
	facts, err := ec2facts.Load()
	if err != nil {
		return nil, fmt.Errorf("making the AWS provider: %w", err)
	}
	p := &Provider{opts: o, session: s, log: o.Logger, now: o.Now}
	p.discovery = instancetype.NewDiscovery(s.EC2, facts, o.Now)
	p.prices = pricing.NewBook(s.Pricing, s.EC2, facts, pricing.Options{Region: s.Region, Isolated: o.IsolatedVPC, Now: o.Now})
	if err := p.ownPrices.read(o.PriceFile); err != nil {
		return nil, err
	}
	if from := p.prices.State().BorrowedFrom; from != "" {
		p.log.Warn("no on-demand prices of this region are embedded: those of another one stand in until the Price List API answers", "region", s.Region, "prices_of", from)
	}
	p.unavailable = offering.NewUnavailable(o.Now)
	p.held = reservation.NewLedger(o.Now)
	p.reserved = reservation.NewResolver(s.EC2, p.held, o.Now)
	p.placements = placement.NewResolver(s.EC2, o.Now)
	p.partitions = placement.NewPartitions(o.Now)
	p.shifts.reader = zonalshift.NewReader(s.Config, o.Now)
	p.ledger = network.NewLedger(o.Now)
	p.memory = guestmemory.NewBook(o.Now)
	p.networks = network.NewResolver(s.EC2, p.ledger, o.SubnetRefreshInterval, o.Now)
	p.images = image.NewResolver(s.EC2, s.SSM, o.AMIRefreshInterval, o.Now).Kept(func(parameter string, err error) {
		p.log.Warn("a parameter that names images could not be read, the image found before stays", "parameter", parameter, "error", err)
	})
	p.templates = launchtemplate.NewStore(s.EC2, o.ClusterName, o.Now)
	p.own = owntemplate.NewReader(s.EC2, o.ClusterName, o.Now)
	p.profiles = profile.NewManager(s.IAM, s.Region, o.ClusterName, o.Now)
	p.inventory = inventory.New(s.EC2, o.ClusterName, o.Now).For(o.ClusterUID, o.ForeignInstances).Joined(o.Joined)
	p.launcher = fleet.NewLauncher(s.EC2, p.inventory, fleet.Options{
		Idle: o.BatchIdle, Max: o.BatchMax, Settle: o.Settle, Now: o.Now, Place: p.place, Failed: p.launchFailed,
		Joined:  func(launches int, waited time.Duration) { o.Joined("create_fleet", launches, waited) },
		Refused: p.launchRefused, Closed: p.poolClosed, Sequential: p.shortLately,
	})
	p.statuses = instancestatus.New(s.EC2)
	if o.InterruptionQueue == "" {
		return p, nil
	}
	ref, err := queue.ParseReference(o.InterruptionQueue)
	if err == nil {
		err = ref.In(s.Region)
	}
	if err != nil {
		return nil, err
	}
	p.queue = queue.New(s.SQS, ref)
	return p, nil
}

func (o *Options) setDefaults() {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.LaunchFailed == nil {
		o.LaunchFailed = func(fleet.PoolError) {}
	}
	if o.Joined == nil {
		o.Joined = func(string, int, time.Duration) {}
	}
	if o.TerminateFailed == nil {
		o.TerminateFailed = func(string, string) {}
	}
	if o.UserData == nil {
		o.UserData = func(string, int) {}
	}
	if o.ClusterCABundle == nil {
		o.ClusterCABundle = func() string { return "" }
	}
	if o.ClusterDNSIP == nil {
		o.ClusterDNSIP = func(context.Context) (string, error) { return "", nil }
	}
	if o.PodNetwork == nil {
		o.PodNetwork = func() podnetwork.Settings { return podnetwork.Settings{} }
	}
	if o.PricesSeen == nil {
		o.PricesSeen = func(pricing.State) {}
	}
	if o.MemoryOverhead == 0 {
		o.MemoryOverhead = instancetype.DefaultMemoryOverhead
	}
	if o.AMIRefreshInterval == 0 {
		o.AMIRefreshInterval = time.Minute
	}
	if o.SubnetRefreshInterval == 0 {
		o.SubnetRefreshInterval = time.Minute
	}
}

func (p *Provider) clusterTag() launchtemplate.Cluster {
	return launchtemplate.Cluster{Name: p.opts.ClusterName, UID: p.opts.ClusterUID}
}

// Queue is the interruption queue, nil when none is set.
func (p *Provider) Queue() *queue.Queue { return p.queue }

// Statuses reads the health of instances.
func (p *Provider) Statuses() *instancestatus.Reader { return p.statuses }

// Memory is what was learned of the memory of nodes.
func (p *Provider) Memory() *guestmemory.Book { return p.memory }

// Region is the region that the provider works in.
func (p *Provider) Region() string { return p.session.Region }

// Account is the account that the provider works in; empty before the first call, and where its credentials do not say it.
func (p *Provider) Account() string {
	if a := p.account.Load(); a != nil {
		return *a
	}
	return ""
}

// Prices are the current prices.
func (p *Provider) Prices() *pricing.Table { return p.prices.Table() }

// Terminate implements cloud.Provider.
func (p *Provider) Terminate(ctx context.Context, providerID string) error {
	id, err := inventory.InstanceID(providerID)
	if err != nil {
		return err
	}
	if err := p.heldBack("terminating", providerID); err != nil {
		return p.unlessEnded(ctx, id, err)
	}
	m, err := p.inventory.Get(ctx, id)
	if err != nil {
		if cloud.IsNotFound(err) {
			p.held.Ended(id)
		}
		return awserr.Wrap("terminating "+providerID, err)
	}
	if m.ReservationID != "" {
		p.held.Ending(m.ReservationID, id)
	}
	if m.State != "shutting-down" {
		if err := p.inventory.Terminate(ctx, id); err != nil {
			if !cloud.IsNotFound(err) {
				p.opts.TerminateFailed(m.Zone, m.ZoneID)
			}
			return err
		}
	}
	p.unavailable.GroupFreed(m.PlacementGroup, m.Zone)
	return nil
}

// Get implements cloud.Provider.
func (p *Provider) Get(ctx context.Context, providerID string) (*cloud.Instance, error) {
	id, err := inventory.InstanceID(providerID)
	if err != nil {
		return nil, err
	}
	if err := p.heldBack("reading", providerID); err != nil {
		return nil, p.unlessEnded(ctx, id, err)
	}
	m, err := p.inventory.Get(ctx, id)
	if cloud.IsNotFound(err) {
		p.held.Ended(id)
	}
	return m, err
}

// List implements cloud.Provider.
func (p *Provider) List(ctx context.Context, maxAge time.Duration) ([]*cloud.Instance, error) {
	return p.inventory.List(ctx, maxAge)
}

// Tag implements cloud.Provider.
func (p *Provider) Tag(ctx context.Context, tags map[string]map[string]string) error {
	byID := make(map[string]map[string]string, len(tags))
	var errs []error
	for providerID, t := range tags {
		id, err := inventory.InstanceID(providerID)
		if err != nil {
			continue // nothing exists by that name
		}
		if err := p.heldBack("tagging", providerID); err != nil {
			errs = append(errs, err)
			continue
		}
		byID[id] = t
	}
	return errors.Join(append(errs, p.inventory.Tag(ctx, byID))...)
}

// Release implements cloud.Provider.
func (p *Provider) Release(ctx context.Context, class *awsv1.EC2NodeClass) error {
	p.catalogs.forget(class)
	p.checks.forget(class)
	err := p.templates.Release(ctx, class.Name)
	if p.opts.IsolatedVPC {
		return err // IAM can't be reached; the profiles were made by somebody else
	}
	unlisted, failed := p.profiles.Release(ctx, class)
	if unlisted != nil {
		p.log.Warn("the instance profiles of a class could not be listed; only that of its present role was deleted", "ec2nodeclass", class.Name, "error", unlisted)
	}
	return errors.Join(err, failed)
}

// MarkUnavailable implements cloud.Provider.
func (p *Provider) MarkUnavailable(capacityType, instanceType, zone, reason string) {
	p.log.Info("offering closed", "capacity_type", capacityType, "instance_type", instanceType, "zone", zone, "reason", reason)
	p.unavailable.MarkPool(offering.Pool{CapacityType: capacityType, InstanceType: instanceType, Zone: zone}, offering.Reclaimed)
}
