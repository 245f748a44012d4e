package aws

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	corev1 "k8s.io/api/core/v1"

	awsv1 "github.com/kerf-sh/kerf/api/aws/v1"
	"github.com/kerf-sh/kerf/internal/aws/awserr"
	"github.com/kerf-sh/kerf/internal/aws/fleet"
	"github.com/kerf-sh/kerf/internal/aws/image"
	"github.com/kerf-sh/kerf/internal/aws/instancetype"
	"github.com/kerf-sh/kerf/internal/aws/launchtemplate"
	"github.com/kerf-sh/kerf/internal/awsmodel/ec2facts"
	"github.com/kerf-sh/kerf/internal/engine/requirement"
	"github.com/kerf-sh/kerf/internal/state/intake"
)

// probe is a type that the class can run and the image that it boots, for dry runs, which need both.
type probe struct {
	instanceType types.InstanceType
	image        string
	ownImage     bool // whether the image is another than that of the first probe, which is the template's
}

// imageID is the image that a dry run has to name, nil where the template names it.
func (x *probe) imageID() *string {
	if x.ownImage {
		return &x.image
	}
	return nil
}

// maxProbes is how many types are tried where EC2 refuses one after the other. Policies that allow some types name families, and NodePools
// are made for what they allow: six are one for each NodePool of most classes, and further families. They cost little where nothing may be
// launched at all: the calls are made anew each retryDryRun.
const maxProbes = 6

// usualProbes are tried first: whoever wants something unusual is told of the unusual type in what EC2 says.
var usualProbes = []types.InstanceType{types.InstanceTypeM5Large, types.InstanceTypeM6gLarge}

// probes chooses the types that dry runs are made with, in the order in which they are tried; there is at least one. NodePools that
// reference the class say which: a policy may allow no others. Without such NodePools, and where they allow nothing that the class can
// run, it is one type of all. The type that passed last comes first, then ordinary types, then the smallest; those with accelerators, whose
// images ask for more of the disk than others, last. The image is the type's: those of a class are for several architectures, in no order
// of theirs. all tells that NodePools allow no other families, nor larger sizes of these where none was chosen.
//
// Errors: the NodePools or the types that they allow are not known.
func (p *Provider) probes(ctx context.Context, class *awsv1.EC2NodeClass) (list []probe, all bool, err error) {
	usual := probe{instanceType: types.InstanceTypeM5Large}
	if len(class.Status.AMIs) > 0 {
		usual.image = class.Status.AMIs[0].ID
		if slices.ContainsFunc(class.Status.AMIs[0].Requirements, func(r corev1.NodeSelectorRequirement) bool { return slices.Contains(r.Values, "arm64") }) {
			usual.instanceType = types.InstanceTypeM6gLarge
		}
	}
	pools, err := p.poolDemands(ctx, class)
	s := p.discovery.Snapshot()
	if err == nil && s == nil && len(pools) > 0 {
		err = p.Warm(ctx)
		s = p.discovery.Snapshot()
	}
	if err != nil {
		return []probe{usual}, true, err
	}
	config, err := instancetype.ConfigOf(class, p.shapeOptions(class))
	if s == nil || err != nil {
		return []probe{usual}, true, nil //nolint:nilerr // what is wrong with the class was said before
	}
	order := simplest(s, p.checks.passed(class))
	if len(pools) > 0 {
		if list, all = choose(class, s, config, order, pools, maxProbes); len(list) > 0 {
			return list, all, nil
		}
	}
	if list, _ = choose(class, s, config, order, nil, 1); len(list) > 0 {
		return list, true, nil
	}
	return []probe{usual}, true, nil
}

// poolDemands are the requirements of each NodePool that references the class, none where trials are not made.
func (p *Provider) poolDemands(ctx context.Context, class *awsv1.EC2NodeClass) ([][]requirement.Term, error) {
	if p.opts.NodePools == nil || p.opts.DisableDryRun || p.opts.ReadOnly {
		return nil, nil
	}
	pools, err := p.opts.NodePools(ctx)
	if err != nil {
		return nil, fmt.Errorf("reading NodePools: %w", err)
	}
	var out [][]requirement.Term
	for i := range pools {
		ref := pools[i].Spec.Template.Spec.NodeClassRef
		if intake.IsManaged(ref) && ref.Name == class.Name && pools[i].DeletionTimestamp == nil {
			out = append(out, intake.Pool(&pools[i], class, nil).Requirements)
		}
	}
	return out, nil
}

// choose takes the first types of an order that the class can run and one of the pools allows: one for each pool, then one of each
// further family, then the largest of these families, up to most: a policy may forbid small sizes. all tells that there are no more
// families, and that a larger size was taken if there is one. All types are allowed where pools is nil, and sizes do not count then.
func choose(class *awsv1.EC2NodeClass, s *instancetype.Snapshot, config instancetype.Config, order []int, pools [][]requirement.Term, most int) (list []probe, all bool) {
	var further []probe
	families, larger := map[string]bool{}, false
	waiting := slices.Clone(pools) // pools for which no type was taken yet
	runs := func(i int) (x probe, shape instancetype.Shape, ok bool) {
		t := &s.Types[i]
		if g := class.Status.PlacementGroup; g != nil && !slices.Contains(t.PlacementStrategies, g.Strategy) {
			return x, shape, false
		}
		if !slices.Contains(usualProbes, types.InstanceType(t.Name)) && !inZones(s.Zones[i], class.Status.Subnets) {
			return x, shape, false
		}
		shape = instancetype.NewShape(t, s.Zones[i], config)
		boots, ok := image.For(class.Status.AMIs, shape.Type.Requirements)
		return probe{instanceType: types.InstanceType(t.Name), image: boots.ID}, shape, ok && shape.Refused == ""
	}
	allowed := func(shape *instancetype.Shape) bool {
		return pools == nil || slices.ContainsFunc(pools, func(demands []requirement.Term) bool { return allows(demands, class, shape) })
	}
	for _, i := range order {
		family, _ := ec2facts.SplitName(s.Types[i].Name)
		if families[family] && len(waiting) == 0 {
			continue
		}
		x, shape, ok := runs(i)
		if !ok {
			continue
		}
		left := slices.DeleteFunc(slices.Clone(waiting), func(demands []requirement.Term) bool { return allows(demands, class, &shape) })
		switch {
		case len(left) < len(waiting):
			list, waiting = append(list, x), left
		case !families[family] && allowed(&shape):
			further = append(further, x)
		default:
			continue
		}
		families[family] = true
		if len(waiting) == 0 && len(list)+len(further) > most {
			break
		}
	}
	list = append(list, further...)
	all = len(list) <= most
	for k := len(order) - 1; k >= 0 && all && pools != nil; k-- {
		t := &s.Types[order[k]]
		family, _ := ec2facts.SplitName(t.Name)
		if !families[family] || t.BareMetal || slices.ContainsFunc(list, func(x probe) bool { return string(x.instanceType) == t.Name }) {
			continue
		}
		if x, shape, ok := runs(order[k]); ok && allowed(&shape) {
			families[family] = false // its largest is taken
			if len(list) == most {
				all = larger
				break
			}
			list, larger = append(list, x), true
		}
	}
	list = list[:min(most, len(list))]
	for i := range list {
		list[i].ownImage = list[i].image != list[0].image
	}
	return list, all
}

// allows reports whether demands allow a type in a zone in which the class has a subnet.
func allows(demands []requirement.Term, class *awsv1.EC2NodeClass, shape *instancetype.Shape) bool {
	return slices.ContainsFunc(class.Status.Subnets, func(sub awsv1.Subnet) bool {
		return slices.Contains(shape.Zones, sub.Zone) && fleet.Allows(demands, &shape.Type, sub.Zone, sub.ZoneID)
	})
}

// simplest is the order in which types are chosen for trials. passed is the type that comes first, empty if none does.
func simplest(s *instancetype.Snapshot, passed string) []int {
	var usual, others []int
	for _, name := range append([]types.InstanceType{types.InstanceType(passed)}, usualProbes...) {
		if i, ok := s.Find(string(name)); ok && !slices.Contains(usual, i) {
			usual = append(usual, i)
		}
	}
	for i := range s.Types {
		if !slices.Contains(usual, i) {
			others = append(others, i)
		}
	}
	slices.SortStableFunc(others, func(a, b int) int {
		switch {
		case simpler(&s.Types[a], &s.Types[b]):
			return -1
		case simpler(&s.Types[b], &s.Types[a]):
			return 1
		}
		return 0
	})
	return append(usual, others...)
}

// withEach makes a trial with one type after another until one is not refused, and puts that type first. What is not refused for the type
// is not asked for with another.
//
// Errors: that of the trial that was the last; if all types were refused, that of the first.
func withEach(probes []probe, try func(*probe) error) error {
	var refused error
	for i := range probes {
		err := try(&probes[i])
		if !typeRefused(err) {
			probes[0], probes[i] = probes[i], probes[0]
			return err
		}
		refused = cmp.Or(refused, err)
	}
	if len(probes) > 1 {
		return awserr.Wrap("none of the instance types "+strings.Join(names(probes), ", ")+" may be launched", refused)
	}
	return refused
}

// typeRefused reports whether EC2 refuses to launch instances of a type and may allow those of another.
func typeRefused(err error) bool {
	return awserr.LacksPermission(err) && awserr.RefusesInstance(awserr.Message(err))
}

// names are the types of probes.
func names(probes []probe) []string {
	out := make([]string, len(probes))
	for i := range probes {
		out[i] = string(probes[i].instanceType)
	}
	return out
}

// simpler reports whether a type has no accelerators where another has, or fewer vCPUs.
func simpler(a, b *ec2facts.Type) bool {
	if a.Accelerated() != b.Accelerated() {
		return b.Accelerated()
	}
	return a.VCPUs < b.VCPUs
}

func inZones(zones []string, subnets []awsv1.Subnet) bool {
	return slices.ContainsFunc(subnets, func(s awsv1.Subnet) bool { return slices.Contains(zones, s.Zone) })
}

// probeInterfaces are those of a template, in a subnet: one that has interfaces can't be told the subnet in another way.
func probeInterfaces(t *launchtemplate.Template, subnet string) []types.InstanceNetworkInterfaceSpecification {
	var out []types.InstanceNetworkInterfaceSpecification
	for _, n := range t.Data().NetworkInterfaces {
		out = append(out, types.InstanceNetworkInterfaceSpecification{
			SubnetId: &subnet, NetworkCardIndex: n.NetworkCardIndex, DeviceIndex: n.DeviceIndex, InterfaceType: n.InterfaceType, Groups: n.Groups,
			AssociatePublicIpAddress: n.AssociatePublicIpAddress, ConnectionTrackingSpecification: n.ConnectionTrackingSpecification,
			Ipv4PrefixCount: n.Ipv4PrefixCount, Ipv6PrefixCount: n.Ipv6PrefixCount, Ipv6AddressCount: n.Ipv6AddressCount, PrimaryIpv6: n.PrimaryIpv6,
		})
	}
	return out
}
