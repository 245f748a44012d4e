package provision

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	awsv1 "github.com/kerf-sh/kerf/api/aws/v1"
	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/internal/controller/apply"
	"github.com/kerf-sh/kerf/internal/engine/catalog"
	"github.com/kerf-sh/kerf/internal/engine/cluster"
	"github.com/kerf-sh/kerf/internal/engine/pack"
	"github.com/kerf-sh/kerf/internal/engine/res"
	"github.com/kerf-sh/kerf/internal/guard"
	"github.com/kerf-sh/kerf/internal/state/intake"
)

// Problems makes the input of decisions of snapshots: pools with their types, and nodes with their prices.
//
// Concurrency: one goroutine.
type Problems struct {
	// State, Types, Overlays and Subnets are as in Options.
	State    State
	Types    TypeSource
	Overlays Overlays
	Subnets  func(*awsv1.EC2NodeClass) []cluster.Subnet
	Pack     pack.Options
	// Currency is that of all prices; nil: not known.
	Currency func() catalog.Currency
	// Lasting prices everything for savings that have to last (cluster.Lasting).
	Lasting bool
	// Recover runs a function and turns its panic into an error; nil is a plain one.
	Recover func(name string, fn func() error) error
	Now     func() time.Time
	// Late is called when types have come that a decision did not wait for.
	Late func()

	reader  *typeReader
	prices  cluster.Pricer
	lasting cluster.Lasting
	stuck   standIns
}

// Problem makes the input of a decision of a snapshot, in which no nodes are replaced.
func (m *Problems) Problem(ctx context.Context, snapshot *cluster.Snapshot) *pack.Problem {
	return m.Replacing(ctx, snapshot, 0)
}

// Replacing makes the input of a decision of a snapshot, in which so many nodes may be replaced.
func (m *Problems) Replacing(ctx context.Context, snapshot *cluster.Snapshot, nodes int) *pack.Problem {
	now := m.Now().UTC()
	pools := m.pools(ctx, snapshot, apply.Usage(snapshot), nodes)
	priced := m.prices.Apply
	if m.Lasting {
		priced = m.lasting.Apply
	}
	options := m.Pack
	if m.Currency != nil {
		options.Currency = m.Currency()
	}
	return &pack.Problem{
		Now:        now,
		Generation: snapshot.Generation,
		Nodes:      withoutStuck(priced(snapshot.Nodes, pools), now, &m.stuck),
		Pending:    snapshot.Pending,
		Pools:      pools,
		Daemons:    snapshot.Daemons,
		Options:    options,
	}
}

// Pools are those of a problem alone, for somebody who only wants to know what there is and what it costs. Used is left out.
func (m *Problems) Pools(ctx context.Context, snapshot *cluster.Snapshot) []*cluster.Pool {
	return m.pools(ctx, snapshot, nil, 0)
}

// Problem makes the input of a decision of a snapshot.
func (c *Controller) Problem(ctx context.Context, snapshot *cluster.Snapshot) *pack.Problem {
	p := c.problems.Problem(ctx, snapshot)
	p.Nodes = withHeld(p.Nodes, p.Pending, &c.held)
	return p
}

// withoutStuck leaves instances that do not get ready with no room for more pods. The age doubles with each one of the NodePool that
// is stuck already: where it is the pool's fault (no device plugin, a startup taint that nobody takes off), another instance
// is no help, and one every half hour would be paid for until the pool's limit.
func withoutStuck(nodes []*cluster.Node, now time.Time, full *standIns) []*cluster.Node {
	full.turn()
	var late []int
	for i, n := range nodes {
		if n.Claim != "" && !n.Initialized && !n.Deleting && !n.CreatedAt.IsZero() && now.Sub(n.CreatedAt) >= apply.StuckAfter {
			late = append(late, i)
		}
	}
	if len(late) == 0 {
		return nodes
	}
	slices.SortFunc(late, func(a, b int) int {
		return cmp.Or(nodes[a].CreatedAt.Compare(nodes[b].CreatedAt), cmp.Compare(nodes[a].Name, nodes[b].Name))
	})
	out, stuck := slices.Clone(nodes), map[string]int{}
	for _, i := range late {
		n := *nodes[i]
		if now.Sub(n.CreatedAt) < apply.StuckAfter<<min(stuck[n.Pool], 16) {
			continue
		}
		stuck[n.Pool]++
		n.Allocatable = n.Used
		out[i] = full.put(nodes[i], &n)
	}
	return out
}

// pools converts the NodePools. A pool whose node class or types can't be had stays in the problem, not ready and with
// the reason, so that pods can be told; it never holds up the others.
func (m *Problems) pools(ctx context.Context, snapshot *cluster.Snapshot, used map[string]res.List, replaced int) []*cluster.Pool {
	if m.reader == nil {
		m.reader = newTypeReader(m.Types, m.Recover, m.Late)
	}
	var live []*karpv1.NodePool
	classes := map[string]*awsv1.EC2NodeClass{}
	for _, p := range m.State.Pools() {
		if p.IsStatic() || p.DeletionTimestamp != nil {
			continue
		}
		live = append(live, p)
		name := p.Spec.Template.Spec.NodeClassRef.Name
		if class := m.State.NodeClass(name); class != nil && class.DeletionTimestamp == nil && p.StatusConditions().IsTrue() {
			classes[name] = class
		}
	}
	listings := m.reader.read(ctx, classes)
	var out []*cluster.Pool
	var of []*awsv1.EC2NodeClass
	for _, p := range live {
		name := p.Spec.Template.Spec.NodeClassRef.Name
		l := m.overlaid(p.Name, listings[name])
		pool := intake.Pool(p, m.State.NodeClass(name), l.types)
		pool.Used = used[p.Name]
		if pool.NotReady == "" && l.err != nil {
			pool.NotReady = fmt.Sprintf("instance types of EC2NodeClass %q can't be read: %v", name, l.err)
		}
		intake.Restrain(pool, p, snapshot.Nodes, m.State.Claim)
		out, of = append(out, pool), append(of, classes[name])
	}
	m.boundBySubnets(out, of, snapshot, replaced)
	return out
}

// overlaid is a listing as a pool sees it.
func (m *Problems) overlaid(pool string, l listing) listing {
	if m.Overlays == nil || l.err != nil {
		return l
	}
	l.types, l.err = m.Overlays.Types(pool, l.types)
	return l
}

// typesPatience is how long a decision waits for a class whose types are not at hand.
const typesPatience = 3 * time.Second

// freshFor is how long a late answer is waited for to be taken in: who asks next does so in a moment, or not for long.
const freshFor = 10 * time.Second

// firstPatience is how long a decision waits until static NodePools have what they lack: they only save it an instance.
const firstPatience = 300 * time.Millisecond

type listing struct {
	types []*catalog.Type
	err   error
}

// typeReader asks for the types of all classes at once, and goes on without those that take too long: their answer is
// taken in when it comes.
//
// Concurrency: read is called by one goroutine.
type typeReader struct {
	source  TypeSource
	recover func(name string, fn func() error) error
	done    func() // called when a late answer has come

	mu      sync.Mutex
	running map[string]*reading
}

// reading is a call of the source, by whoever asked first for all who ask until it is collected.
type reading struct {
	class  *awsv1.EC2NodeClass
	done   chan struct{}
	late   bool
	result listing
	ended  time.Time
}

// serves reports whether what was read, or is being read, is an answer to who asks now. A late answer is collected by whoever asks
// next, who may come hours later, when prices and images are others.
func (r *reading) serves(class *awsv1.EC2NodeClass) bool {
	same := r.class.UID == class.UID && r.class.Generation == class.Generation
	return same && (r.ended.IsZero() || time.Since(r.ended) < freshFor)
}

func newTypeReader(source TypeSource, recoverer func(string, func() error) error, done func()) *typeReader {
	if recoverer == nil {
		recoverer = recoverPlainly
	}
	return &typeReader{source: source, recover: recoverer, done: done, running: map[string]*reading{}}
}

func (t *typeReader) read(ctx context.Context, classes map[string]*awsv1.EC2NodeClass) map[string]listing {
	asked := map[string]*reading{}
	for name, class := range classes {
		asked[name] = t.ask(ctx, name, class)
	}
	patience := time.NewTimer(typesPatience)
	defer patience.Stop()
	out := map[string]listing{}
	expired := false
	for name, r := range asked {
		if !expired {
			select {
			case <-r.done:
			case <-patience.C:
				expired = true
			}
		}
		out[name] = t.collect(name, r)
	}
	return out
}

// ask starts a reading, or finds the one that is still running. It goes on when the one who asked first has gone.
func (t *typeReader) ask(ctx context.Context, name string, class *awsv1.EC2NodeClass) *reading {
	t.mu.Lock()
	defer t.mu.Unlock()
	if r := t.running[name]; r != nil && r.serves(class) {
		return r
	}
	ctx = context.WithoutCancel(ctx)
	r := &reading{class: class, done: make(chan struct{})}
	t.running[name] = r
	guard.Go("provision.types", func() {
		defer func() {
			t.mu.Lock()
			late := r.late
			r.ended = time.Now()
			close(r.done)
			t.mu.Unlock()
			if late {
				t.done()
			}
		}()
		r.result.err = t.recover("provision.types", func() (err error) {
			r.result.types, err = t.source.Types(ctx, class)
			return err
		})
	})
	return r
}

func (t *typeReader) collect(name string, r *reading) listing {
	t.mu.Lock()
	defer t.mu.Unlock()
	select {
	case <-r.done:
		if t.running[name] == r {
			delete(t.running, name)
		}
		return r.result
	default:
		r.late = true
		return listing{err: fmt.Errorf("no answer after %s; the pool takes part again when there is one", typesPatience)}
	}
}
