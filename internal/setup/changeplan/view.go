package changeplan

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	awsv1 "github.com/kerf-sh/kerf/api/aws/v1"
	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/internal/engine/catalog"
	"github.com/kerf-sh/kerf/internal/engine/cluster"
	"github.com/kerf-sh/kerf/internal/state/cache"
	"github.com/kerf-sh/kerf/internal/state/intake"
)

// view is the cluster with the pools and classes of one time: as they are, or as they will be. It is a state that problems
// are made of.
type view struct {
	snapshot *cluster.Snapshot
	pools    map[string]*karpv1.NodePool
	classes  map[string]*awsv1.EC2NodeClass // with what they select at present
	// unready is why classes can't be launched by, by their names.
	unready map[string][]string
	// types are those that the classes could run, by class and name.
	types map[string]map[string]*catalog.Type
}

// Snapshot implements provision.State.
func (v *view) Snapshot() *cluster.Snapshot { return v.snapshot }

// Pools implements provision.State.
func (v *view) Pools() []*karpv1.NodePool {
	var out []*karpv1.NodePool
	for _, p := range v.pools {
		if intake.IsManaged(p.Spec.Template.Spec.NodeClassRef) {
			out = append(out, p)
		}
	}
	slices.SortFunc(out, func(a, b *karpv1.NodePool) int { return cmp.Compare(a.Name, b.Name) })
	return out
}

// NodeClass implements provision.State.
func (v *view) NodeClass(name string) *awsv1.EC2NodeClass { return v.classes[name] }

// Claim implements provision.State: of claims nothing is known.
func (v *view) Claim(string) *karpv1.NodeClaim { return nil }

// Listen implements provision.State: nothing changes any more.
func (v *view) Listen(func(cache.Change)) {}

// classOf is the class of a pool, nil when there is none.
func (v *view) classOf(pool string) *awsv1.EC2NodeClass {
	p := v.pools[pool]
	if p == nil || p.Spec.Template.Spec.NodeClassRef == nil {
		return nil
	}
	return v.classes[p.Spec.Template.Spec.NodeClassRef.Name]
}

// resolver finds what classes select, once for each spec.
type resolver struct {
	cloud    Cloud
	reserved bool // whether reserved capacity is launched
	gaps     []string
}

// resolve is a class with what it selects now, and why it can't be used. What could not be looked up is left as it was found
// last.
func (r *resolver) resolve(ctx context.Context, class *awsv1.EC2NodeClass) (*awsv1.EC2NodeClass, []string, error) {
	out := class.DeepCopy()
	got, err := r.cloud.Resolve(ctx, out.DeepCopy())
	if err != nil {
		return nil, nil, err
	}
	var unready []string
	unknown := map[string]bool{}
	conditions := out.StatusConditions(r.reserved)
	for _, f := range got.Findings {
		switch {
		case f.Unknown:
			unknown[f.Condition] = true
			// What was found before is believed, as a controller does.
			gap := fmt.Sprintf("EC2NodeClass %s: %s is not known: %s", class.Name, f.Condition, f.Message)
			if !slices.Contains(r.gaps, gap) {
				r.gaps = append(r.gaps, gap)
			}
			if conditions.Get(f.Condition).IsTrue() {
				continue
			}
			conditions.SetUnknownWithReason(f.Condition, f.Reason, f.Message)
		case f.OK:
			conditions.SetTrue(f.Condition)
		default:
			unready = append(unready, fmt.Sprintf("%s: %s", f.Condition, f.Message))
			conditions.SetFalse(f.Condition, f.Reason, f.Message)
		}
	}
	s := &out.Status
	if !unknown[awsv1.ConditionTypeSubnetsReady] {
		s.Subnets = got.Subnets
	}
	if !unknown[awsv1.ConditionTypeSecurityGroupsReady] {
		s.SecurityGroups = got.SecurityGroups
	}
	if !unknown[awsv1.ConditionTypeAMIsReady] || len(got.AMIs) > 0 {
		s.AMIs = got.AMIs
	}
	if !unknown[awsv1.ConditionTypeCapacityReservationsReady] {
		s.CapacityReservations = got.CapacityReservations
	}
	if !unknown[awsv1.ConditionTypePlacementGroupReady] {
		s.PlacementGroup = got.PlacementGroup
	}
	if !unknown[awsv1.ConditionTypeInstanceProfileReady] {
		s.InstanceProfile = got.InstanceProfile
	}
	s.LaunchTemplate = got.LaunchTemplate
	return out, unready, nil
}

// settle makes the pools ready whose class can be used, and the others not, and stamps them.
func (v *view) settle() {
	for name, p := range v.pools {
		p = p.DeepCopy()
		if p.Annotations == nil {
			p.Annotations = map[string]string{}
		}
		p.Annotations[karpv1.NodePoolHashAnnotationKey], p.Annotations[karpv1.NodePoolHashVersionAnnotationKey] = p.Hash(), karpv1.NodePoolHashVersion
		conditions := p.StatusConditions()
		if c := conditions.Get(karpv1.ConditionTypeValidationSucceeded); c == nil || !c.IsFalse() || c.Reason == karpv1.ReasonNoInstanceTypes { // what that says is found out anew
			conditions.SetTrue(karpv1.ConditionTypeValidationSucceeded)
		}
		class := v.classOf(name)
		switch {
		case class == nil:
			conditions.SetFalse(karpv1.ConditionTypeNodeClassReady, karpv1.ReasonNodeClassNotFound, "there is no such node class")
		case len(v.unready[class.Name]) > 0:
			conditions.SetFalse(karpv1.ConditionTypeNodeClassReady, "NodeClassNotReady", v.unready[class.Name][0])
		default:
			conditions.SetTrue(karpv1.ConditionTypeNodeClassReady)
		}
		v.pools[name] = p
	}
}
