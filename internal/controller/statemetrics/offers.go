package statemetrics

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/utils/clock"

	awsv1 "github.com/kerf-sh/kerf/api/aws/v1"
	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/internal/controller/obs"
	"github.com/kerf-sh/kerf/internal/engine/catalog"
	"github.com/kerf-sh/kerf/internal/engine/cluster"
	"github.com/kerf-sh/kerf/internal/engine/res"
	"github.com/kerf-sh/kerf/internal/state/cache"
)

// readOffers is how often prices and availability are read: as often as Karpenter does.
const readOffers = time.Minute

// Offers shows what the node classes of NodePools can launch and for how much, and keeps it for whoever asks what nodes cost. It reads
// beside whoever asks for metrics: what a class can launch may have to be asked of AWS.
type Offers struct {
	State interface {
		Pools() []*karpv1.NodePool
		NodeClass(name string) *awsv1.EC2NodeClass
		Listen(f func(cache.Change))
	}
	Types interface {
		Types(ctx context.Context, class *awsv1.EC2NodeClass) ([]*catalog.Type, error)
	}
	// Overlays change what types cost for a NodePool; nil for none.
	Overlays interface {
		Types(pool string, types []*catalog.Type) ([]*catalog.Type, error)
	}
	Metrics *obs.Metrics
	Log     *slog.Logger
	Clock   clock.Clock

	pools atomic.Pointer[[]*cluster.Pool]
	shown []listed
}

// listed is the list of types of a pool. Lists are shared and never change, so one at the same place is the same.
type listed struct {
	pool  string
	first **catalog.Type
	n     int
}

// Pools are the NodePools with their types as they were last read; nil before the first time.
func (o *Offers) Pools() []*cluster.Pool {
	if p := o.pools.Load(); p != nil {
		return *p
	}
	return nil
}

// NeedLeaderElection makes the manager start the loop on the leader only.
func (o *Offers) NeedLeaderElection() bool { return true }

// Start reads until ctx ends: every minute, and when a NodePool has changed.
func (o *Offers) Start(ctx context.Context) error {
	changed := make(chan struct{}, 1)
	o.State.Listen(func(c cache.Change) {
		if c.Kind == cache.PoolChanged {
			select {
			case changed <- struct{}{}:
			default:
			}
		}
	})
	return obs.Rounds{Metrics: o.Metrics, Log: o.Log, Clock: o.Clock, Name: "offers", Doing: "reading what could be launched, for metrics", Every: readOffers, Wake: changed}.Run(ctx, o.Round)
}

// Round reads once. A class whose types can't be read leaves out its pools only; it never fails.
func (o *Offers) Round(ctx context.Context) error {
	pools, now := []*cluster.Pool{}, []listed{}
	for _, pool := range o.State.Pools() {
		class := o.State.NodeClass(pool.Spec.Template.Spec.NodeClassRef.Name)
		if class == nil {
			continue
		}
		types, err := o.Types.Types(ctx, class)
		if err == nil && o.Overlays != nil {
			types, err = o.Overlays.Types(pool.Name, types)
		}
		if err != nil {
			o.Log.Debug("what a NodePool could launch is not known; metrics of offerings and costs leave it out", "nodepool", pool.Name, "error", err)
			continue
		}
		if len(types) == 0 {
			continue
		}
		pools, now = append(pools, &cluster.Pool{Name: pool.Name, Types: types}), append(now, listed{pool.Name, &types[0], len(types)})
	}
	o.pools.Store(&pools)
	if !slices.Equal(now, o.shown) {
		o.show(pools)
		o.shown = now
	}
	return nil
}

// offer is what metrics tell offerings apart by.
type offer struct{ instanceType, capacityType, zone string }

// show puts the metrics of types and offerings in the place of what they were, once somebody reads them. Pools may see a type at several
// prices; the lowest is shown.
func (o *Offers) show(pools []*cluster.Pool) {
	all := sync.OnceValue(func() *shownOffers { return offersOf(pools) })
	a := &o.Metrics.AWS
	o.Metrics.ReplaceOnRead(a.InstanceTypeCPU, func(set func(float64, ...string)) {
		for name, t := range all().types {
			set(float64(t.Capacity[res.CPU])/1000, name)
		}
	})
	o.Metrics.ReplaceOnRead(a.InstanceTypeMemory, func(set func(float64, ...string)) {
		for name, t := range all().types {
			set(float64(t.Capacity[res.Memory]), name)
		}
	})
	o.Metrics.ReplaceOnRead(a.OfferingPrice, func(set func(float64, ...string)) {
		for key, price := range all().prices {
			set(float64(price)/1e6, key.instanceType, key.capacityType, key.zone)
		}
	})
	o.Metrics.ReplaceOnRead(a.OfferingAvailable, func(set func(float64, ...string)) {
		for key := range all().prices {
			n := 0.0
			if all().available[key] {
				n = 1
			}
			set(n, key.instanceType, key.capacityType, key.zone)
		}
	})
}

// shownOffers are types by name, and offerings that have a price.
type shownOffers struct {
	types     map[string]*catalog.Type
	prices    map[offer]catalog.MicroUSD
	available map[offer]bool
}

func offersOf(pools []*cluster.Pool) *shownOffers {
	out := &shownOffers{map[string]*catalog.Type{}, map[offer]catalog.MicroUSD{}, map[offer]bool{}}
	for _, pool := range pools {
		for _, t := range pool.Types {
			out.types[t.Name] = t
			for i := range t.Offerings {
				x := &t.Offerings[i]
				if x.Price == catalog.NoPrice {
					continue
				}
				key := offer{t.Name, x.CapacityType, x.Zone}
				if known, ok := out.prices[key]; !ok || x.Price < known {
					out.prices[key] = x.Price
				}
				out.available[key] = out.available[key] || x.Available
			}
		}
	}
	return out
}
