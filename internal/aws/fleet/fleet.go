// Package fleet decides what to ask EC2 for when a NodeClaim is launched, asks for it, and makes sure that a claim never
// gets two instances, whatever is lost on the way.
//
// # Why nothing is launched twice
//
// Claims with identical requests that come within a few milliseconds of each other are one CreateFleet of type instant
// for N instances. Three rules make that safe:
//
//  1. The request itself records for whom it launches. It tags every instance, from its birth, with kerf.sh/launch (the
//     client token) and kerf.sh/claims-0, -1, … (a short hash of the UID of each claim, sorted by UID); a request for one
//     claim adds karpenter.sh/nodeclaim. There is no moment at which an instance exists and this is not known.
//  2. Who gets which instance is a function of those tags: the i-th claim of the list gets the i-th instance of the
//     launch, instances sorted by id. Every process works out the same, so nothing has to be written down before the
//     NodeClaim's status is.
//  3. The client token is a hash of the claims and of how often each was tried. A request whose outcome is not known
//     (lost reply, time-out, fault of the service) is kept and sent again, with the same bytes, until it is: EC2 answers
//     a known token with the first outcome. Until then no claim in it is put into another request. When all its claims are
//     being ended it is not sent again, for what it had not launched would be launched to be terminated.
//
// What that gives, by where a process may die or a message be lost:
//
//	before the request arrives        nothing was launched; it is launched by the next try
//	before the reply arrives          same process: rule 3. Next process: rules 1 and 2
//	before the status is written      same process: the outcome is remembered. Next process: rules 1 and 2
//	after the status is written       the claim has a provider ID; nobody launches it again
//	the claim is deleted meanwhile    whoever ends the claim finds the instance, see Found; where the claim is gone before
//	                                  that, the instance belongs to none and is garbage collected by its age
//
// A process that begins does not know what its predecessor sent. Claims that existed when it began are therefore looked
// for among the instances first, in a listing begun no earlier than Options.Settle after the process did, which is
// longer than EC2 takes to show a new instance and its tags. Claims made later can't have been launched by anybody else
// and need no look. The same look, Settle later, decides when EC2 says that a token was used with other parameters, or
// refuses a repeated request whose first outcome is unknown, and when such a request is not sent again.
//
// Fewer instances than asked: the claims at the end of the list get none and are told why; their next try has another
// token. Should an instance and its claim still miss each other (EC2 showing it later than Settle), the claim holds the
// second one, and the first, named by no claim, is garbage collected.
package fleet

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/ec2"

	"github.com/kerf-sh/kerf/internal/aws/awserr"
	"github.com/kerf-sh/kerf/internal/aws/batch"
	"github.com/kerf-sh/kerf/internal/aws/network"
	"github.com/kerf-sh/kerf/internal/guard"
	"github.com/kerf-sh/kerf/internal/state/cloud"
)

const (
	// maxBatch is how many claims share a request at most: a thousand claims are four requests, of which an account may
	// make five at once, and two a second. Their hashes must fit into tags.
	maxBatch = 250
	// remember is how long the outcome for a claim is kept.
	remember = time.Hour
	// clockSkew is by how much the clocks of API server and controller may differ when it has to be guessed whether a
	// claim existed at the start.
	clockSkew = 2 * time.Second
)

// API is what Launcher calls.
type API interface {
	CreateFleet(context.Context, *ec2.CreateFleetInput, ...func(*ec2.Options)) (*ec2.CreateFleetOutput, error)
}

// Instances lists instances for recovery; see inventory.Inventory.Since.
type Instances interface {
	Since(ctx context.Context, begun time.Time) ([]*cloud.Instance, error)
}

// Options of a Launcher. Zero values give the defaults.
type Options struct {
	// Idle and Max bound how long identical requests are waited for: 35 ms and 1 s.
	Idle, Max time.Duration
	// Settle is how long EC2 may take to show a new instance with its tags: 10 s.
	Settle time.Duration
	// Place chooses the subnets of a request, and holds addresses in them until Settle.
	Place func(r *Request, n Need) Placement
	// Failed is told of every pool that EC2 could not serve. It must not block.
	Failed func(PoolError)
	// Joined is told of each request how many launches it is for, and how long the first of them waited for the others; nil is
	// told nothing. It must not block.
	Joined func(launches int, waited time.Duration)
	// Refused is told what EC2 could not serve of a request that brought nothing. It must not block.
	Refused func(*Request, []PoolError)
	// Closed reports whether a pool was found short since the request was made; it is left out then.
	Closed func(*Request, *Override) bool
	// Sequential reports whether requests for the same pools are to be made one after the other, for what the first one is told
	// to be known to the next.
	Sequential func(*Request) bool
	Now        func() time.Time
	// After is time.After by the clock of Now.
	After func(time.Duration) <-chan time.Time
}

// Need is what instances take of the subnet that they are launched in.
type Need struct {
	Instances int
	// Each is what an instance demands by itself, at most.
	Each network.Demand
	// Planned is how many addresses the pods take that the instances are launched for, those of all instances together.
	Planned int
	// Likely is how many addresses the pods of one instance in a zone take in the end.
	Likely func(zone string) int
}

// Placement is the subnet chosen in each zone.
type Placement struct {
	Subnets map[string]string // zone to subnet
	// Settle is told how many instances came to be in each subnet.
	Settle func(launched map[string]int)
}

// Order is one claim that wants an instance.
type Order struct {
	UID, Name string
	Created   time.Time
	Request   Request
	// Addresses is how many addresses of the instance's subnet the pods take that it is launched for.
	Addresses int
}

// Launched is the instance that a claim got.
type Launched struct {
	InstanceID   string
	InstanceType string
	ImageID      string
	Zone         string
	SubnetID     string
	CapacityType string
	// ReservationID is what the instance was launched out of, empty where the capacity is not reserved.
	ReservationID string
	// Group is the placement group that the instance stands in, empty for none, and Partition its partition, 0 in groups without
	// partitions and where it is not known.
	Group      string
	Partition  int32
	LaunchedAt time.Time
	// Tags that the instance was born with.
	Tags map[string]string
}

// Launcher launches instances for claims, one for each.
//
// Concurrency: safe. Calls for one claim share one outcome.
type Launcher struct {
	api       API
	instances Instances
	opts      Options
	batches   *batch.Batcher[string, *order, struct{}]

	mu     sync.Mutex
	begun  time.Time
	before map[string]bool // claims that existed when the process began; nil when that has to be guessed
	claims map[string]*claim
	swept  time.Time
	asking asking
}

// claim is what is known of one claim, guarded by Launcher.mu.
type claim struct {
	touched  time.Time
	attempt  int
	launched *Launched
	lookFrom time.Time // zero: no need to look among the instances
	running  *order    // a try that is under way
	doubt    *call     // a request whose outcome is not known
	ending   bool      // it is being ended, so it wants no instance
}

// order is one try for one claim.
type order struct {
	Order
	attempt  int
	done     chan struct{}
	launched *Launched
	err      error
}

// NewLauncher makes a Launcher.
func NewLauncher(api API, instances Instances, opts Options) *Launcher {
	if opts.Idle == 0 {
		opts.Idle = 35 * time.Millisecond
	}
	if opts.Max == 0 {
		opts.Max = time.Second
	}
	if opts.Settle == 0 {
		opts.Settle = 10 * time.Second
	}
	if opts.Now == nil {
		opts.Now = time.Now
	}
	if opts.After == nil {
		opts.After = time.After
	}
	if opts.Place == nil {
		opts.Place = firstSubnets
	}
	if opts.Failed == nil {
		opts.Failed = func(PoolError) {}
	}
	b := &Launcher{api: api, instances: instances, opts: opts, claims: map[string]*claim{}}
	b.batches = batch.New(batch.Options{Idle: opts.Idle, Max: opts.Max, Items: maxBatch, Joined: opts.Joined}, b.launchBatch)
	return b
}

// Begin says that this process launches from now on, and which claims (by UID) exist already and may have been launched by
// another process. Without it the first Launch begins, and creation times have to tell.
func (b *Launcher) Begin(existing []string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.begun = b.opts.Now()
	b.before = make(map[string]bool, len(existing))
	for _, uid := range existing {
		b.before[uid] = true
	}
}

// Launch gets the instance of a claim: the one that it has already, or a new one.
//
// Errors: *cloud.Error. Class Unavailable means that the outcome may be unknown; call again with the same claim.
func (b *Launcher) Launch(ctx context.Context, o Order) (*Launched, error) {
	op := fmt.Sprintf("launching an instance for NodeClaim %q", o.Name)
	for {
		b.mu.Lock()
		c := b.claimLocked(o)
		switch {
		case c.launched != nil:
			defer b.mu.Unlock()
			return c.launched, nil
		case c.running != nil:
			running := c.running
			b.mu.Unlock()
			return b.wait(ctx, running, op)
		case c.doubt != nil:
			doubt := c.doubt
			b.mu.Unlock()
			if err := b.settle(ctx, doubt, o.UID); err != nil {
				return nil, awserr.Wrap(op, err)
			}
		case !c.lookFrom.IsZero():
			from := c.lookFrom
			b.mu.Unlock()
			if err := b.look(ctx, o, from); err != nil {
				return nil, awserr.Wrap(op, err)
			}
		default:
			running := &order{Order: o, attempt: c.attempt, done: make(chan struct{})}
			c.running = running
			b.mu.Unlock()
			// Detached from the caller: the outcome is noted even when nobody waits for it any more.
			detached, key := context.WithoutCancel(ctx), o.Request.key()
			guard.Go("aws.fleet", func() { _, _ = b.batches.Do(detached, key, running) })
			return b.wait(ctx, running, op)
		}
	}
}

func (b *Launcher) wait(ctx context.Context, o *order, op string) (*Launched, error) {
	select {
	case <-o.done:
		b.mu.Lock() // a request whose reply was lost may be answered now
		defer b.mu.Unlock()
		return o.launched, awserr.Wrap(op, o.err)
	case <-ctx.Done():
		return nil, awserr.Wrap(op, ctx.Err())
	}
}

// Forget drops what is remembered of a claim, once it is gone.
func (b *Launcher) Forget(uid string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if c := b.claims[uid]; c != nil && c.running == nil {
		b.forgetLocked(uid)
	}
}

func (b *Launcher) claimLocked(o Order) *claim {
	now := b.opts.Now()
	if b.begun.IsZero() {
		b.begun = now
	}
	b.sweepLocked(now)
	c := b.claims[o.UID]
	if c == nil {
		c = &claim{}
		b.claims[o.UID] = c
		existed := b.before[o.UID]
		if b.before == nil {
			existed = !o.Created.After(b.begun.Add(clockSkew))
		}
		if existed {
			c.lookFrom = b.begun.Add(b.opts.Settle)
		}
	}
	c.touched = now
	return c
}

// sweepLocked forgets claims that nobody has asked for in a long time.
func (b *Launcher) sweepLocked(now time.Time) {
	if now.Sub(b.swept) < remember/10 {
		return
	}
	b.swept = now
	for uid, c := range b.claims {
		if c.running == nil && now.Sub(c.touched) > remember {
			b.forgetLocked(uid)
		}
	}
}

// forgetLocked forgets a claim, and what its request holds if nobody else can learn what became of that.
func (b *Launcher) forgetLocked(uid string) {
	c := b.claims[uid].doubt
	delete(b.claims, uid)
	if c == nil {
		return
	}
	select {
	case c.sending <- struct{}{}:
		b.releaseLocked(c)
		<-c.sending
	default: // whoever sends it now releases it
	}
}

// look finds the instance that a claim may have been launched already, and if there is none clears the way for launching one.
func (b *Launcher) look(ctx context.Context, o Order, from time.Time) error {
	if err := b.sleepUntil(ctx, from); err != nil {
		return err
	}
	instances, err := b.instances.Since(ctx, from)
	if err != nil {
		return awserr.Wrap("looking for an instance that was launched before", err)
	}
	found, spent := find(instances, o, b.opts.Now())
	b.mu.Lock()
	defer b.mu.Unlock()
	c := b.claimLocked(o)
	if !c.lookFrom.Equal(from) {
		return nil // somebody else has looked
	}
	c.lookFrom, c.launched = time.Time{}, found
	// Tokens of launches that came to nothing must not be used again.
	c.attempt += spent
	return nil
}

func (b *Launcher) sleepUntil(ctx context.Context, at time.Time) error {
	d := at.Sub(b.opts.Now())
	if d <= 0 {
		return nil
	}
	select {
	case <-b.opts.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// launchBatch turns the orders of a batch into one request, or into several when their hashes do not fit into one's tags.
func (b *Launcher) launchBatch(ctx context.Context, _ string, orders []*order) []batch.Result[struct{}] {
	slices.SortFunc(orders, func(x, y *order) int { return strings.Compare(x.UID, y.UID) })
	var g guard.Group
	for part := range slices.Chunk(orders, room(orders[0].Request.Tags)) {
		g.Go("aws.fleet", func() error {
			c, r := newCall(part), &part[0].Request
			defer b.end(c)
			defer b.asking.enter(r, b.opts.Sequential != nil && b.opts.Sequential(r))()
			b.prepare(c)
			b.send(ctx, c)
			return nil
		})
	}
	_ = g.Wait() // each order has its own
	return make([]batch.Result[struct{}], len(orders))
}

// firstSubnets takes the first subnet of each zone.
func firstSubnets(r *Request, _ Need) Placement {
	p := Placement{Subnets: map[string]string{}, Settle: func(map[string]int) {}}
	for _, s := range r.Subnets {
		if _, ok := p.Subnets[s.Zone]; !ok {
			p.Subnets[s.Zone] = s.ID
		}
	}
	return p
}

// errDoubt is what claims are told while the outcome of their request is not known.
var errDoubt = errors.New("EC2 has not said what became of the request; it is sent again with the same client token, by which EC2 launches nothing twice")
