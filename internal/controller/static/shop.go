package static

import (
	"context"
	"fmt"
	"slices"

	"k8s.io/utils/clock"

	awsv1 "github.com/kerf-sh/kerf/api/aws/v1"
	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/internal/controller/apply"
	"github.com/kerf-sh/kerf/internal/engine/catalog"
	"github.com/kerf-sh/kerf/internal/engine/cluster"
	"github.com/kerf-sh/kerf/internal/engine/pack"
	"github.com/kerf-sh/kerf/internal/engine/plan"
	"github.com/kerf-sh/kerf/internal/state/intake"
)

// Types gives the instance types of a node class.
type Types interface {
	Types(ctx context.Context, class *awsv1.EC2NodeClass) ([]*catalog.Type, error)
}

// Overlays shows a pool its types as NodeOverlays leave them.
type Overlays interface {
	Types(pool string, types []*catalog.Type) ([]*catalog.Type, error)
}

// Classes gives node classes by name, nil when there is none.
type Classes interface {
	NodeClass(name string) *awsv1.EC2NodeClass
}

// Shop chooses instances that no pod has asked for. Overlays and Subnets may be nil.
//
// Concurrency: safe.
type Shop struct {
	Classes  Classes
	Types    Types
	Overlays Overlays
	// Subnets are those of a node class, sorted by ID, and what addresses they have left.
	Subnets func(*awsv1.EC2NodeClass) []cluster.Subnet
	Pack    pack.Options
	Clock   clock.PassiveClock
}

// Bare chooses n instances of a static pool, fewer where reasons say why, and gives the pool as it is offered.
//
// Errors: the pool's node class is gone, or its types can't be read.
func (s *Shop) Bare(ctx context.Context, pool *karpv1.NodePool, n int, snapshot *cluster.Snapshot) ([]plan.NewNode, []plan.Reason, *cluster.Pool, error) {
	class := s.Classes.NodeClass(pool.Spec.Template.Spec.NodeClassRef.Name)
	if class == nil {
		return nil, nil, nil, fmt.Errorf("nodepool %q: its EC2NodeClass is gone", pool.Name)
	}
	sold, err := s.Types.Types(ctx, class)
	if err == nil && s.Overlays != nil {
		sold, err = s.Overlays.Types(pool.Name, sold)
	}
	if err != nil {
		return nil, nil, nil, fmt.Errorf("nodepool %q: reading instance types: %w", pool.Name, err)
	}
	offered := intake.Pool(pool, class, sold)
	offered.Used = apply.Usage(snapshot)[pool.Name]
	offered.Subnets = s.scarce(class, offered, n, snapshot)
	bare, reasons := pack.Bare(offered, snapshot.Daemons, s.Clock.Now(), s.Pack, n)
	return bare, reasons, offered, nil
}

// scarce are the subnets of zones in which addresses may run short: where no subnet has enough for n instances more than
// those that are on their way. Instances are not bound to zones without need.
func (s *Shop) scarce(class *awsv1.EC2NodeClass, pool *cluster.Pool, n int, snapshot *cluster.Snapshot) []cluster.Subnet {
	if s.Subnets == nil {
		return nil
	}
	instances, each := int64(n), int64(1)
	for _, x := range snapshot.Nodes {
		if !x.Launched && !x.Deleting {
			instances++
		}
	}
	for _, t := range pool.Types {
		each = max(each, t.Addresses)
	}
	subnets, ample := slices.Clone(s.Subnets(class)), map[string]bool{}
	for _, x := range subnets {
		ample[x.Zone] = ample[x.Zone] || x.Free >= instances*each
	}
	return slices.DeleteFunc(subnets, func(x cluster.Subnet) bool { return ample[x.Zone] })
}
