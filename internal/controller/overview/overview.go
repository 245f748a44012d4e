package overview

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	awsv1 "github.com/kerf-sh/kerf/api/aws/v1"
	"github.com/kerf-sh/kerf/internal/controller/decisions"
	controller "github.com/kerf-sh/kerf/internal/controller/disrupt"
	"github.com/kerf-sh/kerf/internal/engine/catalog"
	"github.com/kerf-sh/kerf/internal/engine/cluster"
	"github.com/kerf-sh/kerf/internal/engine/disrupt"
	"github.com/kerf-sh/kerf/internal/engine/pack"
	"github.com/kerf-sh/kerf/internal/engine/plan"
)

// Sources are where the overview comes from. Snapshot, Problem and Now are required; whatever else is nil is left out.
type Sources struct {
	Kerf, Cluster, Region string
	Account               func() string // of AWS; empty where it is not known
	Snapshot              func() *cluster.Snapshot
	// Problem gives the nodes of a snapshot their prices, and the pools. It is called by one goroutine at a time.
	Problem func(context.Context, *cluster.Snapshot) *pack.Problem
	// Decision is the last decision of consolidation, UnderWay what of it and of others is carried out.
	Decision func() *disrupt.Decision
	UnderWay func() []controller.Command
	Held     func() (until time.Time, why string, held bool)
	Closures func() []Closure
	// Interrupted are the nodes that AWS takes back or works on, by their names; what is known of their pods is filled in.
	Interrupted func(*cluster.Snapshot) []Interruption
	Services    func() []Service
	Queue       func(context.Context) *Queue
	Troubles    func(context.Context) []Trouble
	Decisions   func() []decisions.Summary
	Now         func() time.Time
}

// Overview answers readers.
//
// Concurrency: safe.
type Overview struct {
	from  Sources
	epoch uint64 // of this process: versions of another mean nothing
	unplaced

	mu      sync.Mutex
	version uint64 // of the last look that found something new
	nodes   map[string]*known
	coming  []string          // nodes that pods wait for, sorted
	gone    map[string]uint64 // version in which a node went
	forgot  uint64            // readers of older versions get everything: not all that went since is known
	classes classes
	prices  prices

	blockers blockers
	history  history
	heard    heard
	seen     look
}

// known is a node as it was last served.
type known struct {
	from    *cluster.Node
	kept    disrupt.Kept
	version uint64
	shown   *Node
	waiting []*cluster.Pod // that are to come once it is ready
}

// look is what the controller knew when somebody last asked.
type look struct {
	snapshot *cluster.Snapshot
	problem  *pack.Problem
	decision *disrupt.Decision
	at       time.Time

	pools   []Pool
	bill    Bill
	blocked []Blocked
	unwell  []*Node

	interrupted []Interruption
}

const (
	// freshFor is for how long a look serves all who ask: several readers cost as much as one.
	freshFor = 500 * time.Millisecond
	// staleAfter is after which time prices and pools are read again though the cluster is the same.
	staleAfter = 10 * time.Second
)

// goneMost bounds the names of nodes that are remembered as gone.
const goneMost = 10_000

// New makes an overview.
func New(from Sources) *Overview {
	return &Overview{from: from, epoch: uint64(from.Now().UnixNano()), nodes: map[string]*known{}, gone: map[string]uint64{}, classes: newClasses()}
}

// Document is the overview, or what has changed since the version that the reader names.
//
// Cost: one comparison for each node; more only for those that have changed.
func (o *Overview) Document(ctx context.Context, since string) *Document {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.look(ctx)
	after, ok := o.parse(since)
	p, d := o.seen.problem, o.seen.decision
	events, heard := o.heard.since(after.events)
	out := &Document{
		Kerf: o.from.Kerf, Cluster: o.from.Cluster, Region: o.from.Region, At: o.from.Now().UTC(), Full: !ok,
		Nodes: []*Node{}, History: o.history.since(after.history), Events: events,
	}
	if !ok || after.version < o.version {
		o.changes(out, after, ok)
	}
	out.Pools, out.Bill, out.Blocked = o.seen.pools, o.seen.bill, o.seen.blocked
	out.Waiting, out.WaitingMore = o.waiting(p)
	out.Classes = o.classes.since(after.version) // after all that names one
	out.Moves = o.moves(d)
	o.rest(ctx, out)
	out.Interruptions = o.interruptions()
	out.Problems = problems(out, behind{unwell: o.seen.unwell, stuck: o.stuck, launching: func(name string) bool { return o.nodes[name] != nil && o.nodes[name].shown.State == Launching }})
	for i := range out.Waiting {
		if w := &out.Waiting[i]; w.Node == "" && w.Why == "" && out.At.Sub(w.Since) >= waitsWithin {
			w.Why = undecided(out)
		}
	}
	out.Version = fmt.Sprintf("%d.%d.%d.%d", o.epoch, o.version, o.history.serial, heard)
	return out
}

// changes are the nodes that have changed since a version, or all.
func (o *Overview) changes(out *Document, after position, ok bool) {
	for _, n := range o.seen.problem.Nodes {
		if k := o.nodes[n.Name]; !ok || k.version > after.version {
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

// unwell are the nodes that may be a problem.
func (o *Overview) unwell(p *pack.Problem) (out []*Node) {
	for _, n := range p.Nodes {
		switch shown := o.nodes[n.Name].shown; shown.State {
		case Joining, Starting, NotReady:
			out = append(out, shown)
		case Launching, Ready, Leaving, Draining:
		}
	}
	return out
}

// Problem is the input of a decision on the cluster of now.
func (o *Overview) Problem(ctx context.Context) *pack.Problem {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.look(ctx)
	return o.seen.problem
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

// look takes in what the controller knows now.
func (o *Overview) look(ctx context.Context) {
	now := o.from.Now()
	age := now.Sub(o.seen.at)
	if o.seen.problem != nil && age >= 0 && age < freshFor {
		return
	}
	snapshot := o.from.Snapshot()
	var d *disrupt.Decision
	if o.from.Decision != nil {
		d = o.from.Decision()
	}
	if snapshot == o.seen.snapshot && d == o.seen.decision && age >= 0 && age < staleAfter {
		return
	}
	p := o.prices.fill(o.from.Problem(ctx, snapshot))
	o.seen = look{snapshot: snapshot, problem: p, decision: d, at: now, pools: pools(p), bill: billOf(p, d), blocked: o.blockers.lines(d, p, now)}
	next := o.version + 1
	changed := o.classes.refit(p)
	if changed {
		o.forgot, o.nodes = next, map[string]*known{} // numbers of classes mean others now
	}
	kept := keptBy(d)
	present := make(map[string]bool, len(p.Nodes))
	for _, n := range p.Nodes {
		present[n.Name] = true
		k, hold := o.nodes[n.Name], kept[n.Name]
		if k != nil && k.from == n && sameHold(k.kept, hold) {
			continue
		}
		o.nodes[n.Name] = &known{from: n, kept: hold, version: next, shown: o.show(n, hold), waiting: toCome(n)}
		delete(o.gone, n.Name)
		changed = true
	}
	o.coming = o.coming[:0]
	for _, n := range p.Nodes {
		if len(o.nodes[n.Name].waiting) > 0 {
			o.coming = append(o.coming, n.Name)
		}
	}
	o.seen.unwell = o.unwell(p)
	if o.from.Interrupted != nil {
		o.seen.interrupted = o.from.Interrupted(snapshot)
	}
	for name := range o.nodes {
		if !present[name] {
			delete(o.nodes, name)
			o.gone[name] = next
			changed = true
		}
	}
	if len(o.gone) > goneMost {
		o.gone, o.forgot = map[string]uint64{}, next
	}
	if changed {
		o.version = next
	}
}

// prices are the last that were known of nodes, by their claim. A class that can't be read any more, or a pool that is gone, tells of
// no types, and what runs costs all the same.
type prices map[string]catalog.MicroUSD

// fill returns a problem in which nodes have the price that they had where none is known now.
func (last *prices) fill(p *pack.Problem) *pack.Problem {
	known := make(prices, len(p.Nodes))
	nodes := p.Nodes
	for i, n := range p.Nodes {
		price := n.Price
		if price == 0 && (*last)[n.Claim] > 0 {
			price = (*last)[n.Claim]
			if &nodes[0] == &p.Nodes[0] {
				nodes = slices.Clone(p.Nodes)
			}
			priced := *n
			priced.Price = price
			nodes[i] = &priced
		}
		if n.Claim != "" && price > 0 {
			known[n.Claim] = price
		}
	}
	*last = known
	q := *p
	q.Nodes = nodes
	return &q
}

func keptBy(d *disrupt.Decision) map[string]disrupt.Kept {
	if d == nil {
		return nil
	}
	out := make(map[string]disrupt.Kept, len(d.Kept))
	for _, k := range d.Kept {
		out[k.Node] = k
	}
	return out
}

// sameHold leaves out how much time is left of something, or every node would be another one each second.
func sameHold(a, b disrupt.Kept) bool {
	if a.Saves != b.Saves || len(a.Reasons) == 0 != (len(b.Reasons) == 0) {
		return false
	}
	return len(a.Reasons) == 0 || a.Reasons[0].Code == b.Reasons[0].Code && a.Reasons[0].Pod == b.Reasons[0].Pod && a.Reasons[0].Want == b.Reasons[0].Want
}

// billOf is what the managed nodes cost.
func billOf(p *pack.Problem, d *disrupt.Decision) Bill {
	var out Bill
	for _, n := range p.Nodes {
		if n.Claim == "" {
			continue
		}
		out.Running += n.Price
		switch n.CapacityType {
		case catalog.Spot:
			out.Spot++
		case catalog.Reserved:
			out.Reserved++
		case catalog.OnDemand:
			out.OnDemand++
		}
		if n.Price == 0 && n.Launched && n.CapacityType != catalog.Reserved {
			out.Unpriced++
		}
	}
	if d != nil {
		out.Planned, out.Worth = d.After, max(0, d.After-d.Spare)
	}
	return out
}

func pools(p *pack.Problem) []Pool {
	out := []Pool{}
	at := map[string]int{}
	for _, pool := range p.Pools {
		at[pool.Name] = len(out)
		shown := Pool{Name: pool.Name, Class: pool.Labels[awsv1.LabelNodeClass], NotReady: pool.NotReady}
		for resource, limit := range pool.Limits {
			if shown.Limits == nil {
				shown.Limits, shown.Used = map[string]int64{}, map[string]int64{}
			}
			shown.Limits[resource], shown.Used[resource] = limit, pool.Used[resource]
		}
		out = append(out, shown)
	}
	for _, n := range p.Nodes {
		if n.Claim == "" {
			continue
		}
		i, ok := at[n.Pool]
		if !ok {
			i, at[n.Pool] = len(out), len(out)
			out = append(out, Pool{Name: n.Pool})
		}
		out[i].Nodes++
		out[i].Price += n.Price
	}
	return out
}

// movesMost is how many moves are served.
const movesMost = 100

// moves are those under way, and those that the last decision found.
func (o *Overview) moves(d *disrupt.Decision) []Move {
	out := []Move{}
	busy := map[string]bool{}
	if o.from.UnderWay != nil {
		for _, c := range o.from.UnderWay() {
			m := Move{Cause: string(c.Cause), Begun: true, Saving: c.Saving, Why: c.Why}
			for _, n := range c.Nodes {
				name := n.Node
				if name == "" {
					name = n.Claim
				}
				busy[name] = true
				m.Nodes = append(m.Nodes, name)
			}
			m.with(c.NewNodes, c.Placements)
			out = append(out, m)
		}
	}
	var taken []string
	for _, i := range o.seen.interrupted {
		if k := o.nodes[i.Node]; k != nil && (k.from.Deleting || k.from.Leaving) && !busy[i.Node] && !busy[i.Claim] {
			busy[i.Node] = true
			taken = append(taken, i.Node)
		}
	}
	if len(taken) > 0 {
		out = append(out, Move{Cause: "Interruption", Begun: true, Nodes: taken, Why: "AWS takes them back or works on them; their pods move first"})
	}
	if gone := o.going(busy); len(gone) > 0 {
		out = append(out, Move{Cause: "Draining", Begun: true, Nodes: gone, Why: "their pods are being evicted, or they wait for that; kerf explain node says why each is removed"})
	}
	if d == nil {
		return out
	}
	for i := range d.Moves {
		found := &d.Moves[i]
		if len(out) >= movesMost || slices.ContainsFunc(found.Nodes, func(n string) bool { return busy[n] }) {
			continue
		}
		m := Move{Cause: string(found.Cause), Nodes: found.Nodes, Saving: found.Saving, Why: found.Why}
		m.with(found.NewNodes, found.Placements)
		out = append(out, m)
	}
	return out
}

// going are the nodes on their way out that no command is about: it is over once they are deleted, and other loops have none.
func (o *Overview) going(busy map[string]bool) (out []string) {
	for _, n := range o.seen.problem.Nodes {
		if (n.Deleting || n.Leaving) && !busy[n.Name] && !busy[n.Claim] {
			busy[n.Name] = true
			out = append(out, n.Name)
		}
	}
	return out
}

func (m *Move) with(launched []plan.NewNode, placed []plan.Placement) {
	for i := range launched {
		n := &launched[i]
		m.Pods += len(n.Pods)
		if len(n.Types) > 0 {
			m.New = append(m.New, strings.Join([]string{n.Types[0].Name, n.Types[0].Zone, n.Types[0].CapacityType}, " "))
		}
	}
	for i := range placed {
		m.Pods += len(placed[i].Pods)
	}
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
	if o.from.Services != nil {
		out.Services = append(out.Services, o.from.Services()...)
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
