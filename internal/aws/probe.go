package aws

import (
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	awsv1 "github.com/kerf-sh/kerf/api/aws/v1"
	"github.com/kerf-sh/kerf/internal/aws/instancetype"
	"github.com/kerf-sh/kerf/internal/aws/launchtemplate"
	"github.com/kerf-sh/kerf/internal/awsmodel/ec2facts"
)

// probeType is a type that the class can run, for dry runs, which need one: an ordinary one of the first image's
// architecture, or the smallest there is where the class asks for what that lacks.
func (p *Provider) probeType(class *awsv1.EC2NodeClass) types.InstanceType {
	usual := types.InstanceTypeM5Large
	for _, r := range class.Status.AMIs[0].Requirements {
		if slices.Contains(r.Values, "arm64") {
			usual = types.InstanceTypeM6gLarge
		}
	}
	s := p.discovery.Snapshot()
	config, err := instancetype.ConfigOf(class, p.shapeOptions(class))
	if s == nil || err != nil {
		return usual
	}
	runs := func(t *ec2facts.Type) bool {
		g := class.Status.PlacementGroup
		return config.Runs(t) && (g == nil || slices.Contains(t.PlacementStrategies, g.Strategy))
	}
	if i, ok := s.Find(string(usual)); ok && runs(&s.Types[i]) {
		return usual
	}
	best := -1
	for i := range s.Types {
		if (best < 0 || s.Types[i].VCPUs < s.Types[best].VCPUs) && inZones(s.Zones[i], class.Status.Subnets) && runs(&s.Types[i]) {
			best = i
		}
	}
	if best < 0 {
		return usual
	}
	return types.InstanceType(s.Types[best].Name)
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
