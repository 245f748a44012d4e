package overview

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/kerf-sh/kerf/internal/controller/decisions"
	controller "github.com/kerf-sh/kerf/internal/controller/disrupt"
	"github.com/kerf-sh/kerf/internal/engine/catalog"
	"github.com/kerf-sh/kerf/internal/engine/cluster"
	"github.com/kerf-sh/kerf/internal/engine/disrupt"
	"github.com/kerf-sh/kerf/internal/engine/pack"
	"github.com/kerf-sh/kerf/internal/engine/record"
)

// Sources are where the overview comes from. Snapshot and Now are required; whatever else is nil is left out.
type Sources struct {
	Kerf, Cluster, Region string
	Account               func() string           // of AWS; empty where it is not known
	Currency              func() catalog.Currency // of all prices
	Snapshot              func() *cluster.Snapshot
	// Pools are the NodePools with their types and what these cost, Problem is the input of a decision. Both may wait for AWS. One of
	// them is called at a time.
	Pools   func(context.Context, *cluster.Snapshot) []*cluster.Pool
	Problem func(context.Context, *cluster.Snapshot) *pack.Problem
	// Decision is the last decision of consolidation, UnderWay what of it and of others is carried out.
	Decision func() *disrupt.Decision
	UnderWay func() []controller.Command
	Held     func() (until time.Time, why string, held bool)
	Closures func() []Closure
	// Interrupted are the nodes that AWS takes back or works on, by their names; what is known of their pods is filled in.
	Interrupted func(*cluster.Snapshot) []Interruption
	// Usual are the prices that nodes would have had whose NodeClaims were made while EC2 was short of cheaper capacity, by NodeClaim.
	Usual func() map[string]catalog.MicroUSD
	// Joins is how long half of the nodes took from their NodeClaim to being ready; 0 where that is not known.
	Joins func(*cluster.Snapshot) time.Duration
	// GivesUp is after how long an instance is ended whose node has not joined (settings.RegistrationTimeout).
	GivesUp time.Duration
	// Stalls are the drains that wait for pods which may not be evicted.
	Stalls    func() []Stall
	Services  func() []Service
	Queue     func(context.Context) *Queue
	Troubles  func(context.Context) []Trouble
	Decisions func() []decisions.Summary
	Now       func() time.Time
}

// Overview answers readers.
//
// Concurrency: safe.
type Overview struct {
	from  Sources
	since time.Time // when this process began
	epoch uint64    // of this process: versions of another mean nothing
	// decides is since when this process decides which nodes are removed, as it was first seen; the zero time before. Guarded by mu.
	decides time.Time
	unplaced

	asking chan struct{} // has one place, for who asks Sources.Pools or Sources.Problem; never taken while mu is held
	terms  termsReader
	// encoded are the instance types of the last problem that was served, as they are written: most of it, and they seldom change.
	encoded atomic.Pointer[record.Types]

	mu      sync.Mutex // nothing that may wait for AWS is called while it is held
	version uint64     // of the last look that found something new
	usual   usual
	nodes   map[string]*known
	priced  map[string]*known // by their claims, those whose price was known at some time
	gone    map[string]uint64 // version in which a node went
	forgot  uint64            // readers of older versions get everything: not all that went since is known
	classes classes

	history history
	heard   heard
	over    over
	seen    look
}

// New makes an overview.
func New(from Sources) *Overview {
	now := from.Now()
	return &Overview{
		seen: look{blocked: []Blocked{}},
		from: from, since: now.UTC(), epoch: uint64(now.UnixNano()), asking: make(chan struct{}, 1), terms: termsReader{now: &terms{}},
		nodes: map[string]*known{}, priced: map[string]*known{}, gone: map[string]uint64{}, classes: newClasses(),
	}
}

// Document is the overview, or what has changed since the version that the reader names.
//
// Cost: one comparison for each node; more only for those that have changed.
func (o *Overview) Document(ctx context.Context, since string) *Document {
	o.refresh(ctx)
	return o.document(ctx, since)
}

// document is one of what is known now.
func (o *Overview) document(ctx context.Context, since string) *Document {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.look()
	after, ok := o.parse(since)
	events, heard := o.heard.since(after.events)
	out := &Document{
		Kerf: o.from.Kerf, Cluster: o.from.Cluster, Region: o.from.Region, At: o.from.Now().UTC(), Full: !ok,
		Currency: "USD", Nodes: []*Node{}, History: o.history.since(after.history), Since: o.since, Events: events,
	}
	if o.from.Currency != nil {
		out.Currency = o.from.Currency()
	}
	if !ok || after.version < o.version {
		o.changes(out, after, ok)
	}
	out.Pools, out.Bill = o.seen.pools, o.seen.bill
	if !ok || after.version < o.seen.blockedAt {
		out.Blocked = o.seen.blocked
	}
	out.Waiting, out.WaitingMore = o.waiting()
	out.Classes = o.classes.since(after.version) // after all that names one
	out.Moves = o.moves()
	o.rest(ctx, out)
	out.Interruptions = o.interruptions()
	out.decides = o.decidesSince(out)
	out.Joining = o.joining(out.At)
	out.Problems = problems(out, behind{unwell: o.seen.unwell, coming: o.seen.coming, stuck: o.stuck, pod: o.pending(), pools: o.seen.terms.pools, givesUp: o.from.GivesUp})
	out.Over = o.over.note(out.At, out.Problems)
	for i := range out.Waiting {
		if w := &out.Waiting[i]; w.Node == "" && w.Why == "" && out.undecided(w) >= waitsWithin {
			w.Why = whyUndecided(out)
		}
	}
	out.Version = fmt.Sprintf("%d.%d.%d.%d", o.epoch, o.version, o.history.serial, heard)
	return out
}

// changes are the nodes that have changed since a version, or all.
func (o *Overview) changes(out *Document, after position, ok bool) {
	for _, k := range o.seen.nodes {
		if !ok || k.version > after.version {
			out.Nodes = append(out.Nodes, k.shown)
		}
	}
	for name, version := range o.gone {
		if ok && version > after.version {
			out.Gone = append(out.Gone, name)
		}
	}
	slices.Sort(out.Gone)
}

// Problem is the input of a decision on the cluster of now; nil where there is none, or ctx has ended. It may wait for AWS.
func (o *Overview) Problem(ctx context.Context) *pack.Problem {
	if o.from.Problem == nil {
		return nil
	}
	select {
	case o.asking <- struct{}{}:
	case <-ctx.Done(): // whoever asked does not wait for AWS any more
		return nil
	}
	defer func() { <-o.asking }()
	p := *o.from.Problem(ctx, o.from.Snapshot())
	p.Nodes = o.withPrices(p.Nodes)
	return &p
}

// withPrices gives nodes the price that they had where none is known now: a class that can't be read any more, or a pool that is gone,
// tells of no types, and what runs costs all the same.
func (o *Overview) withPrices(nodes []*cluster.Node) []*cluster.Node {
	o.mu.Lock()
	defer o.mu.Unlock()
	out := nodes
	for i, n := range nodes {
		last := o.priced[n.Claim]
		if n.Price != 0 || last == nil {
			continue
		}
		if &out[0] == &nodes[0] {
			out = slices.Clone(nodes)
		}
		priced := *n
		priced.Price = last.price
		out[i] = &priced
	}
	return out
}

// position is what a reader has.
type position struct{ version, history, events uint64 }

// parse reads a version; false where it is none of this process, or too old.
func (o *Overview) parse(since string) (position, bool) {
	parts := strings.Split(since, ".")
	if len(parts) != 4 {
		return position{}, false
	}
	var n [4]uint64
	for i, part := range parts {
		var err error
		if n[i], err = strconv.ParseUint(part, 10, 64); err != nil {
			return position{}, false
		}
	}
	if n[0] != o.epoch || n[1] < o.forgot || n[1] > o.version || n[2] > o.history.serial {
		return position{}, false
	}
	return position{version: n[1], history: n[2], events: n[3]}, true
}

// rest fills in what is asked of others.
func (o *Overview) rest(ctx context.Context, out *Document) {
	if o.from.Account != nil {
		out.Account = o.from.Account()
	}
	out.Closures, out.Services, out.Troubles, out.Decisions = []Closure{}, []Service{}, []Trouble{}, []decisions.Summary{}
	if o.from.Held != nil {
		if until, why, held := o.from.Held(); held {
			out.Held = &Held{Until: until, Why: why}
		}
	}
	if o.from.Closures != nil {
		out.Closures = append(out.Closures, o.from.Closures()...)
	}
	if o.from.Stalls != nil {
		for _, s := range o.from.Stalls() {
			if k := o.nodes[s.Node]; k != nil {
				s.Price = k.price
				out.Stalls = append(out.Stalls, s)
			}
		}
	}
	if o.from.Services != nil {
		for _, s := range o.from.Services() {
			s.Error = withoutSDK(s.Error)
			out.Services = append(out.Services, s)
		}
	}
	if o.from.Queue != nil {
		out.Queue = o.from.Queue(ctx)
	}
	if o.from.Troubles != nil {
		out.Troubles = append(out.Troubles, o.from.Troubles(ctx)...)
	}
	if o.from.Decisions != nil {
		out.Decisions = append(out.Decisions, o.from.Decisions()...)
	}
}
