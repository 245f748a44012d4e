// Package statemetrics shows the cluster's state as metrics: nodes, pods, conditions, costs and ages. It keeps nothing up to date.
// When metrics are asked for, it makes all of them in one pass over a view of the state that nobody changes, and holds no lock
// meanwhile; an event of the cluster costs it nothing.
//
// How many series there are follows from the cluster: docs/metrics.md has the numbers, and Options leaves the large families out.
package statemetrics

import (
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/kerf-sh/kerf/internal/controller/obs"
	"github.com/kerf-sh/kerf/internal/engine/cluster"
	"github.com/kerf-sh/kerf/internal/state/cache"
)

// State is the part of the cache that is shown.
type State interface{ View() *cache.View }

// Options of a Collector. State, Synced and Elected are required.
type Options struct {
	State State
	// Synced reports whether the first list of every kind is in.
	Synced func() bool
	// Elected is closed once this process leads. Others show only whether they are synced: series of two replicas would count
	// every node twice.
	Elected <-chan struct{}
	// Pools are the NodePools with the instance types and prices of the last time that they were read; nil tells no prices.
	Pools func() []*cluster.Pool
	// WithoutPods leaves out what has a series for each pod, WithoutNodes for each node, WithoutConditions for each condition
	// of each object.
	WithoutPods, WithoutNodes, WithoutConditions bool
	// Now is the clock; nil is time.Now.
	Now func() time.Time
}

// Collector makes the metrics.
//
// Concurrency: safe.
type Collector struct {
	o       Options
	started time.Time
	last    atomic.Int64 // how many metrics the last pass made
}

// New makes a Collector; Register has it asked.
func New(o Options) *Collector {
	if o.Now == nil {
		o.Now = time.Now
	}
	return &Collector{o: o, started: o.Now()}
}

// Register has the collector asked whenever somebody asks for the metrics.
//
// Errors: one of its metrics is registered already.
func (c *Collector) Register(m *obs.Metrics, log *slog.Logger) error {
	return m.Collect(log, "state", c)
}

// Describe implements obs.Collector.
func (c *Collector) Describe() []*prometheus.Desc {
	var out []*prometheus.Desc
	for _, f := range families {
		out = append(out, f.desc)
	}
	return out
}

// pass is one making of all metrics.
type pass struct {
	*Collector
	now    time.Time
	view   *cache.View
	out    []sample
	labels interner
}

// Collect implements obs.Collector.
//
// Cost: one look at every pod, node and condition; memory for as many metrics as there are, until they are written.
func (c *Collector) Collect() []prometheus.Metric {
	begun := time.Now()
	p := &pass{Collector: c, now: c.o.Now(), out: make([]sample, 0, c.last.Load()+64), labels: interner{}}
	if p.synced() && p.elected() {
		p.view = c.o.State.View()
		p.all()
	}
	p.add(passSeries, nil, float64(len(p.out)+2))
	p.add(passSeconds, nil, time.Since(begun).Seconds())
	c.last.Store(int64(len(p.out)))
	out := make([]prometheus.Metric, len(p.out))
	for i := range p.out {
		out[i] = &p.out[i]
	}
	return out
}

// synced tells whether the state is complete, on every replica. Half of it would look like a cluster that has shrunk.
func (p *pass) synced() bool {
	if p.o.Synced() {
		p.add(stateSynced, nil, 1)
		p.add(stateUnsynced, nil, 0)
		return true
	}
	p.add(stateSynced, nil, 0)
	p.add(stateUnsynced, nil, p.now.Sub(p.started).Seconds())
	return false
}

func (p *pass) elected() bool {
	select {
	case <-p.o.Elected:
		return true
	default:
		return false
	}
}

func (p *pass) all() {
	p.add(stateNodes, nil, float64(len(p.view.Snapshot.Nodes)))
	nodes := p.nodeLabels()
	sums := p.sumPods()
	p.nodes(nodes, sums)
	p.utilization(sums)
	p.costs()
	p.scheduler()
	p.starting()
	if !p.o.WithoutPods {
		p.pods(nodes)
	}
	p.conditions()
	p.ages()
}
