package overview_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kerf-sh/kerf/internal/controller/overview"
	"github.com/kerf-sh/kerf/internal/engine/catalog"
	"github.com/kerf-sh/kerf/internal/engine/cluster"
	"github.com/kerf-sh/kerf/internal/engine/pack"
)

// TestAnAWSThatHangsHoldsUpNobody: the one who has the types read waits for a moment, others don't, and all are shown the cluster of
// now with the prices that were known.
func TestAnAWSThatHangsHoldsUpNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		answers := make(chan struct{})
		var price atomic.Int64
		var hanging atomic.Bool
		price.Store(70)
		s := &cluster.Snapshot{Nodes: []*cluster.Node{node("a", 0)}}
		read := func() []*cluster.Pool {
			if hanging.Load() {
				<-answers
			}
			of := &catalog.Type{Name: "m7g.large", Offerings: []catalog.Offering{{Zone: "us-east-1a", CapacityType: catalog.Spot, Price: catalog.MicroUSD(price.Load()), Available: true}}}
			return []*cluster.Pool{{Name: "default", Types: []*catalog.Type{of}}}
		}
		o := overview.New(overview.Sources{
			Snapshot: func() *cluster.Snapshot { return s }, Now: time.Now,
			Pools: func(context.Context, *cluster.Snapshot) []*cluster.Pool { return read() },
			Problem: func(_ context.Context, s *cluster.Snapshot) *pack.Problem {
				return &pack.Problem{Nodes: s.Nodes, Pools: read()}
			},
		})
		within := func(most time.Duration, nodes int, running catalog.MicroUSD) {
			t.Helper()
			began := time.Now()
			d := o.Document(t.Context(), "")
			if took := time.Since(began); took > most {
				t.Errorf("it took %s, want at most %s", took, most)
			}
			if len(d.Nodes) != nodes || d.Bill.Running != running {
				t.Errorf("%d nodes for %d, want %d for %d", len(d.Nodes), d.Bill.Running, nodes, running)
			}
		}
		within(0, 1, 70)
		hanging.Store(true)
		time.Sleep(time.Minute)
		s = &cluster.Snapshot{Nodes: []*cluster.Node{s.Nodes[0], node("b", 0)}}
		within(time.Second, 2, 140)
		go o.Problem(t.Context()) // the floor is found of it
		gone, leave := context.WithTimeout(t.Context(), time.Second)
		if p := o.Problem(gone); p != nil || gone.Err() == nil {
			t.Error("a problem was made for somebody who went away")
		}
		leave()
		for range 3 {
			time.Sleep(10 * time.Second)
			within(0, 2, 140)
		}
		hanging.Store(false)
		price.Store(50)
		close(answers)
		synctest.Wait()
		time.Sleep(10 * time.Second)
		within(0, 2, 100)
	})
}
