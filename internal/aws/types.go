package aws

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"sync"
	"time"

	awsv1 "github.com/kerf-sh/kerf/api/aws/v1"
	"github.com/kerf-sh/kerf/internal/aws/awserr"
	"github.com/kerf-sh/kerf/internal/aws/guestmemory"
	"github.com/kerf-sh/kerf/internal/aws/instancetype"
	"github.com/kerf-sh/kerf/internal/aws/offering"
	"github.com/kerf-sh/kerf/internal/aws/pricing"
	"github.com/kerf-sh/kerf/internal/engine/catalog"
	"github.com/kerf-sh/kerf/internal/state/cloud"
	"github.com/kerf-sh/kerf/internal/state/cloud/overlay"
	"github.com/kerf-sh/kerf/internal/state/pricefile"
)

// catalogs keeps, per node class, the types as they were last put together and what from. There is no other cache on the
// way: what one class sees can't depend on who asked before. A process that does not lead is not told that a class is gone, so
// what nobody has asked for in catalogIdle is forgotten.
type catalogs struct {
	mu      sync.Mutex
	classes map[string]*classCatalog // by UID
}

// catalogIdle is far longer than the time between two questions for a class that exists: minutes.
const catalogIdle = time.Hour

type classCatalog struct {
	asked time.Time // last; guarded by catalogs.mu

	mu   sync.Mutex
	held heldBack

	// What the shapes depend on.
	generation int64
	template   string // version of the user's own launch template
	images     []awsv1.AMI
	discovered uint64
	options    instancetype.Options
	learned    *guestmemory.Snapshot
	config     instancetype.Config
	shapes     []instancetype.Shape

	// What the offerings depend on besides.
	subnets     []awsv1.Subnet
	full        []string // of the subnets, those without addresses
	ipv6        bool
	priced      *pricing.Table
	unavailable *offering.Snapshot
	reserved    []offering.Reservation
	group       *awsv1.PlacementGroup
	types       []*catalog.Type

	// What the user's own prices make of types.
	rules *pricefile.Rules
	own   *overlay.Layer
}

func (c *catalogs) of(class *awsv1.EC2NodeClass, now time.Time) *classCatalog {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.classes == nil {
		c.classes = map[string]*classCatalog{}
	}
	key := classKey(class)
	if c.classes[key] == nil {
		maps.DeleteFunc(c.classes, func(_ string, old *classCatalog) bool { return now.Sub(old.asked) > catalogIdle })
		c.classes[key] = &classCatalog{}
	}
	c.classes[key].asked = now
	return c.classes[key]
}

func (c *catalogs) forget(class *awsv1.EC2NodeClass) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.classes, classKey(class))
}

func classKey(class *awsv1.EC2NodeClass) string { return class.Name + "/" + string(class.UID) }

// Types implements cloud.Provider.
func (p *Provider) Types(ctx context.Context, class *awsv1.EC2NodeClass) ([]*catalog.Type, error) {
	op := fmt.Sprintf("listing the instance types for EC2NodeClass %q", class.Name)
	snapshot := p.discovery.Snapshot()
	if snapshot == nil {
		if err := p.Warm(ctx); err != nil {
			return nil, &cloud.Error{Op: op, Class: cloud.Unavailable, Reason: reasonTypes, Err: err}
		}
		if snapshot = p.discovery.Snapshot(); snapshot == nil {
			return nil, &cloud.Error{Op: op, Class: cloud.Unavailable, Reason: reasonTypes, Err: errors.New("they are not known yet")}
		}
	}
	seen, err := p.effective(ctx, class)
	if err != nil {
		return nil, awserr.Wrap(op, err)
	}
	p.shifts.learn(class.Status.Subnets)
	learned := p.memory.Snapshot()
	c := p.catalogs.of(class, p.now())
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.shape(seen, snapshot, p.shapeOptions(class), learned); err != nil {
		return nil, &cloud.Error{Op: op, Class: cloud.Invalid, Reason: awsv1.ReasonSpecInvalid, Err: err}
	}
	grown := c.relearn(snapshot, learned)
	prices, closed, subnets := p.prices.Table(), p.unavailable.Snapshot(), p.networks.ForLaunches(class.Status.Subnets)
	c.offer(offering.Input{
		Subnets: subnets, Full: p.ledger.Full(subnets, demand(class, &group{}, p.ipv6())),
		Demand: p.mostDemand(class), Prices: prices, Unavailable: closed, Reservations: p.reservationsOf(class),
		Group: class.Status.PlacementGroup,
	}, prices, p.ipv6(), grown)
	return c.held.back(c.withOwnPrices(p.ownPrices.rules(), p.session.Region), closed.ClassClosed(classState(class))), nil
}

// offer puts the types together anew if anything that they depend on has changed: only those that changed, where that is
// known. reshaped are the types with another shape than the last time. The list is another one then, so that readers can
// tell by its address, and the types that did not change are the same.
func (c *classCatalog) offer(in offering.Input, prices *pricing.Table, ipv6 bool, reshaped []string) {
	known := c.types != nil && c.ipv6 == ipv6 && slices.Equal(c.subnets, in.Subnets) && slices.Equal(c.full, in.Full) && reflect.DeepEqual(c.group, in.Group)
	var changed []string
	if known {
		dearer, all := prices.Changed(c.priced)
		shut, single := in.Unavailable.Changed(c.unavailable)
		changed, known = slices.Concat(reshaped, dearer, shut, offering.ReservationsChanged(c.reserved, in.Reservations)), all && single
	}
	if known {
		c.types = offering.Update(c.types, c.shapes, in, changed)
	} else {
		c.types = offering.Assemble(c.shapes, in)
	}
	c.subnets, c.full, c.ipv6, c.priced, c.unavailable, c.reserved, c.group = in.Subnets, in.Full, ipv6, prices, in.Unavailable, in.Reservations, in.Group
}

// reasonTypes is why a launch fails while instance types are not known.
const reasonTypes = "InstanceTypeResolutionFailed"

func (p *Provider) shapeOptions(class *awsv1.EC2NodeClass) instancetype.Options {
	return instancetype.Options{
		SharedTenancy: class.Spec.LaunchTemplate != nil, Region: p.session.Region, MemoryOverhead: p.opts.MemoryOverhead,
		ReservedENIs: p.opts.ReservedENIs, PodNetwork: p.opts.PodNetwork(), OwnUserData: class.Spec.LaunchTemplate != nil,
	}
}

// shape works the shapes out anew if anything that they depend on has changed, and drops the types made from old ones.
func (c *classCatalog) shape(class *awsv1.EC2NodeClass, s *instancetype.Snapshot, o instancetype.Options, learned *guestmemory.Snapshot) error {
	template := class.Status.LaunchTemplate.Ref()
	same := c.shapes != nil && c.template == template && c.generation == class.Generation && c.config.Class == class.Annotations[awsv1.AnnotationEC2NodeClassHash] && c.discovered == s.Generation && c.options == o && reflect.DeepEqual(c.images, class.Status.AMIs)
	if same {
		return nil
	}
	config, err := instancetype.ConfigOf(class, o)
	if err != nil {
		return err
	}
	config.Learned = learned
	config.Extra = instancetype.ExtraOf(s, config)
	c.shapes, c.types, c.config, c.learned = instancetype.Shapes(s, config), nil, config, learned
	c.template, c.generation, c.discovered, c.options, c.images = template, class.Generation, s.Generation, o, class.Status.AMIs
	return nil
}

// relearn works out anew the shapes of types of whose nodes another amount of memory is known since they were made, and
// names them. Where nodes keep something else than their class says, that is all types.
func (c *classCatalog) relearn(s *instancetype.Snapshot, learned *guestmemory.Snapshot) []string {
	changed := learned.Changed(c.learned)
	c.learned, c.config.Learned = learned, learned
	if len(changed) == 0 {
		return nil
	}
	if extra := instancetype.ExtraOf(s, c.config); !reflect.DeepEqual(extra, c.config.Extra) {
		c.config.Extra = extra
		c.shapes, c.types = instancetype.Shapes(s, c.config), nil
		return nil
	}
	for _, name := range changed {
		if i, ok := s.Find(name); ok {
			c.shapes[i] = instancetype.NewShape(&s.Types[i], s.Zones[i], c.config)
		}
	}
	return changed
}
