package aws

import (
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	corev1 "k8s.io/api/core/v1"

	awsv1 "github.com/kerf-sh/kerf/api/aws/v1"
	"github.com/kerf-sh/kerf/internal/aws/image"
	"github.com/kerf-sh/kerf/internal/aws/instancetype"
	"github.com/kerf-sh/kerf/internal/aws/launchtemplate"
	"github.com/kerf-sh/kerf/internal/awsmodel/ec2facts"
)

// probe is a type that the class can run and the image that it boots, for dry runs, which need both.
type probe struct {
	instanceType types.InstanceType
	image        string
}

// usualProbes are tried first: whoever wants something unusual is told of the unusual type in what EC2 says.
var usualProbes = []types.InstanceType{types.InstanceTypeM5Large, types.InstanceTypeM6gLarge}

// probe chooses an ordinary type, or the smallest there is where the class asks for what those lack; one with accelerators, whose
// images ask for more of the disk than others, only where there is no other. The image is the type's: those of a class are for several
// architectures, in no order of theirs.
func (p *Provider) probe(class *awsv1.EC2NodeClass) probe {
	usual := probe{types.InstanceTypeM5Large, ""}
	if len(class.Status.AMIs) > 0 {
		usual.image = class.Status.AMIs[0].ID
		if slices.ContainsFunc(class.Status.AMIs[0].Requirements, func(r corev1.NodeSelectorRequirement) bool { return slices.Contains(r.Values, "arm64") }) {
			usual.instanceType = types.InstanceTypeM6gLarge
		}
	}
	s := p.discovery.Snapshot()
	config, err := instancetype.ConfigOf(class, p.shapeOptions(class))
	if s == nil || err != nil {
		return usual
	}
	// with is the probe with a type; ok is false if the class can't run it.
	with := func(t *ec2facts.Type) (out probe, ok bool) {
		if g := class.Status.PlacementGroup; g != nil && !slices.Contains(t.PlacementStrategies, g.Strategy) {
			return out, false
		}
		shape := instancetype.NewShape(t, nil, config)
		boots, ok := image.For(class.Status.AMIs, shape.Type.Requirements)
		return probe{types.InstanceType(t.Name), boots.ID}, ok && shape.Refused == ""
	}
	for _, name := range usualProbes {
		if i, ok := s.Find(string(name)); ok {
			if out, ok := with(&s.Types[i]); ok {
				return out
			}
		}
	}
	best := -1
	for i := range s.Types {
		if (best < 0 || simpler(&s.Types[i], &s.Types[best])) && inZones(s.Zones[i], class.Status.Subnets) {
			if out, ok := with(&s.Types[i]); ok {
				usual, best = out, i
			}
		}
	}
	return usual
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
