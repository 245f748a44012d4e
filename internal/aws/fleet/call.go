package fleet

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/ec2"

	"github.com/kerf-sh/kerf/internal/aws/awserr"
	"github.com/kerf-sh/kerf/internal/guard"
	"github.com/kerf-sh/kerf/internal/state/cloud"
)

// call is one CreateFleet for one or more claims. Input and order of claims never change, so it can be sent again.
type call struct {
	orders []*order // sorted by UID
	token  string
	tags   map[string]string // of the instances
	settle func(launched map[string]int)
	input  *ec2.CreateFleetInput
	short  bool // none of its pools is open, and there is no input

	// sending has room for one at a time, who may then use lastTry and lastErr. It is held while EC2 is asked, so whoever
	// waits for it must be able to give up.
	sending  chan struct{}
	lastTry  time.Time
	lastErr  error
	resolved bool // guarded by Launcher.mu
}

// retryEvery keeps the claims of a call in doubt from sending it again one after the other.
const retryEvery = time.Second

// newCall is the call for some orders, which prepare makes ready.
func newCall(orders []*order) *call {
	return &call{orders: orders, settle: func(map[string]int) {}, sending: make(chan struct{}, 1)}
}

// prepare chooses subnets for the pools of a call that are open, and makes its request.
func (b *Launcher) prepare(c *call) {
	orders := c.orders
	c.token = token(orders)
	c.tags = instanceTags(orders, c.token)
	r := b.open(&orders[0].Request)
	if c.short = len(r.Templates) == 0; c.short {
		return
	}
	n := Need{Instances: len(orders), Each: r.demand(), Likely: r.minAddresses}
	for _, o := range orders {
		n.Planned += o.Addresses
	}
	place := b.opts.Place(r, n)
	c.settle = place.Settle
	c.input = r.input(place.Subnets, c.tags, c.token, len(orders))
}

// errNoSubnet is what claims are told when no zone that they could go to has a subnet left.
var errNoSubnet = &cloud.Error{
	Op: "choosing subnets", Class: cloud.Exhausted, Reason: awserr.ReasonInsufficientFreeAddresses,
	Err: errors.New("no zone in which an instance could be launched has a subnet with free addresses"),
}

// token identifies the claims of a call and their attempts.
func token(orders []*order) string {
	h := sha256.New()
	for _, o := range orders {
		h.Write([]byte(o.UID + "\x00" + strconv.Itoa(o.attempt) + "\x00"))
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}

// patience is how long each further request waits that EC2 refused for its rate alone. An account may ask for five fleets
// at once and two a second; a plan for several partitions, zones or pools needs more than that, and waiting here is quicker
// than sending every claim back to its queue.
var patience = []time.Duration{time.Second, 2 * time.Second, 3 * time.Second}

// once keeps the SDK from sending a request again by itself. It would tell only of its last attempt: a reply that was lost, after
// which a refusal came, would pass for a refusal of all.
func once(o *ec2.Options) { o.RetryMaxAttempts = 1 }

// ask sends a request, and again while it is refused for its rate only: the token makes it the same request each time. It is not
// sent once all its claims are being ended.
func (b *Launcher) ask(ctx context.Context, c *call) (*ec2.CreateFleetOutput, error) {
	for try := 0; ; try++ {
		if !b.wanted(c) {
			return nil, errUnwanted
		}
		out, err := b.api.CreateFleet(ctx, c.input, once)
		if err == nil || try == len(patience) || !awserr.Refused(err) || cloud.ClassOf(awserr.Wrap("", err)) != cloud.Throttled {
			return out, err
		}
		select {
		case <-ctx.Done():
			return out, err
		case <-b.opts.After(patience[try]):
		}
	}
}

// send makes the first request of a call and gives every order its outcome.
func (b *Launcher) send(ctx context.Context, c *call) {
	c.sending <- struct{}{} // nobody else has the call yet
	defer func() { <-c.sending }()
	var out *ec2.CreateFleetOutput
	err := error(errNoSubnet)
	switch {
	case c.short:
		err = errShort
	case len(c.input.LaunchTemplateConfigs) > 0:
		out, err = b.ask(ctx, c)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case errors.Is(err, errNoSubnet), errors.Is(err, errShort), errors.Is(err, errUnwanted):
		b.refusedLocked(c, err, false)
	case err == nil:
		b.dealLocked(c, out)
	case !awserr.Refused(err):
		f := refusal(&c.orders[0].Request, err)
		for _, o := range c.orders {
			b.claims[o.UID].doubt = c
			o.err = &cloud.Error{Op: "creating a fleet", Class: cloud.Unavailable, Reason: f.Reason, Err: fmt.Errorf("%w: %w", errDoubt, err)}
		}
		b.opts.Failed(f)
	default:
		b.failedLocked(c, []PoolError{refusal(&c.orders[0].Request, err)}, 0)
		b.refusedLocked(c, err, awserr.Code(err) == "IdempotentParameterMismatch")
	}
}

// errLost is what claims are told when a panic kept their call from an outcome.
var errLost = &cloud.Error{
	Op: "creating a fleet", Class: cloud.Unavailable, Reason: awserr.ReasonLaunchFailed,
	Err: errors.New("a defect of Kerf (the log has its panic); before the next try it is looked up whether an instance was launched"),
}

// end lets everybody have the outcomes of a call.
func (b *Launcher) end(c *call) {
	b.mu.Lock()
	defer b.mu.Unlock()
	defer func() {
		for _, o := range c.orders {
			b.stateLocked(o).running = nil
			close(o.done)
		}
	}()
	b.lostLocked(c, func(o *order) bool { return o.launched == nil && o.err == nil })
}

// lostLocked has the instances tell what came of those orders that a panic has left without an outcome.
func (b *Launcher) lostLocked(c *call, without func(*order) bool) {
	lost := false
	for _, o := range c.orders {
		if without(o) {
			lost = true
			b.refuseLocked(o, errLost, true)
		}
	}
	if lost {
		c.settle(nil)
	}
}

// settle sends a call again whose outcome is not known. It returns nil when it is known now, for the claim to see what
// that means for it. Who waits no longer than until ctx ends leaves the call to itself, and may ask for what came of it.
func (b *Launcher) settle(ctx context.Context, c *call, uid string) error {
	select {
	case c.sending <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	settled := make(chan error, 1)
	guard.Go("fleet.settle", func() {
		defer func() { <-c.sending }()
		settled <- guard.Run("fleet.settle", func() error { return b.sendAgain(context.WithoutCancel(ctx), c, uid) })
	})
	select {
	case err := <-settled:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// sendAgain is settle for the one who holds c.sending.
func (b *Launcher) sendAgain(ctx context.Context, c *call, uid string) error {
	b.mu.Lock()
	resolved := c.resolved
	b.mu.Unlock()
	if resolved {
		return b.told(c, uid)
	}
	if c.lastErr != nil && b.opts.Now().Sub(c.lastTry) < retryEvery {
		return c.lastErr
	}
	out, err := b.api.CreateFleet(ctx, c.input, once)
	if err != nil && (!awserr.Refused(err) || cloud.ClassOf(awserr.Wrap("", err)) == cloud.Throttled) {
		c.lastTry, c.lastErr = b.opts.Now(), awserr.Wrap("creating a fleet", fmt.Errorf("%w: %w", errDoubt, err))
		b.mu.Lock()
		defer b.mu.Unlock()
		b.releaseLocked(c)
		return c.lastErr
	}
	b.resolve(c, out, err)
	return b.told(c, uid)
}

// releaseLocked gives back the addresses that a call in doubt holds once all its claims are forgotten: nobody sends it again. Callers
// hold c.sending.
func (b *Launcher) releaseLocked(c *call) {
	for _, o := range c.orders {
		if st := b.claims[o.UID]; st != nil && st.doubt == c {
			return
		}
	}
	if !c.resolved {
		c.resolved = true
		_ = guard.Run("fleet.settle", func() error { c.settle(nil); return nil }) // a panic is told, and leaves the lock to others
	}
}

// resolve takes in the answer to a request that was sent again.
func (b *Launcher) resolve(c *call, out *ec2.CreateFleetOutput, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	defer b.lostLocked(c, func(o *order) bool { return b.stateLocked(o).doubt == c })
	if err != nil {
		// A refusal now says nothing of what became of the first request.
		b.refusedLocked(c, err, true)
		return
	}
	b.dealLocked(c, out)
}

// told is the error that a resolved call has for a claim that got nothing.
func (b *Launcher) told(c *call, uid string) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, o := range c.orders {
		if o.UID == uid && o.launched == nil && (b.claims[uid] == nil || b.claims[uid].lookFrom.IsZero()) {
			return o.err
		}
	}
	return nil
}

// refusedLocked notes that a call came to nothing. If look is set, that is not certain, and the instances have to tell.
func (b *Launcher) refusedLocked(c *call, err error, look bool) {
	c.resolved = true
	for _, o := range c.orders {
		b.refuseLocked(o, err, look)
	}
	c.settle(nil)
}

// refuseLocked is refusedLocked for one order.
func (b *Launcher) refuseLocked(o *order, err error, look bool) {
	o.err = awserr.Wrap("creating a fleet", err)
	st := b.stateLocked(o)
	st.doubt = nil
	st.attempt = o.attempt + 1
	if look {
		st.lookFrom = b.opts.Now().Add(b.opts.Settle)
	}
}

// dealLocked gives out what a fleet brought.
func (b *Launcher) dealLocked(c *call, out *ec2.CreateFleetOutput) {
	c.resolved = true
	got := instancesOf(out, c)
	failures := failuresOf(out.Errors, &c.orders[0].Request)
	b.failedLocked(c, failures, len(got))
	launched := map[string]int{}
	for _, m := range got {
		launched[m.SubnetID]++
	}
	c.settle(launched)
	for i, o := range c.orders {
		st := b.stateLocked(o)
		st.doubt = nil
		if i < len(got) {
			got[i].LaunchedAt = b.opts.Now()
			o.launched, o.err, st.launched = got[i], nil, got[i]
			continue
		}
		st.attempt = o.attempt + 1
		o.err = failure(failures)
	}
}

// stateLocked is the state of the claim of an order; it is there as long as the order runs, but may have been forgotten
// while a call was in doubt.
func (b *Launcher) stateLocked(o *order) *claim {
	st := b.claims[o.UID]
	if st == nil {
		st = &claim{touched: b.opts.Now()}
		b.claims[o.UID] = st
	}
	return st
}
