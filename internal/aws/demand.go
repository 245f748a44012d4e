package aws

import (
	awsv1 "github.com/kerf-sh/kerf/api/aws/v1"
	"github.com/kerf-sh/kerf/internal/aws/launchtemplate"
	"github.com/kerf-sh/kerf/internal/aws/network"
	"github.com/kerf-sh/kerf/internal/engine/catalog"
)

// demand is what an instance of a group takes of its subnet as it is launched. User's own templates say nothing of
// interfaces.
func demand(class *awsv1.EC2NodeClass, g *group, ipv6 bool) network.Demand {
	if class.Spec.LaunchTemplate != nil {
		return network.Demand{Addresses: 1}
	}
	return launchtemplate.Demand(launchtemplate.Input{Class: class, IPv6: ipv6, EFAs: int(g.efas), PlainFirst: g.plainFirst})
}

// mostDemand is the most that instances of a class may take of their subnets, by type: what they take with all their EFA
// interfaces, which are there for those who ask for them.
func (p *Provider) mostDemand(class *awsv1.EC2NodeClass) func(*catalog.Type) network.Demand {
	ipv6 := p.ipv6()
	return func(t *catalog.Type) network.Demand {
		g := group{}
		if len(class.Spec.NetworkInterfaces) == 0 {
			g.efas = t.Capacity[awsv1.ResourceEFA]
			g.plainFirst = p.plainFirst(t.Name, g.efas)
		}
		return demand(class, &g, ipv6)
	}
}

// plainFirst reports whether the first network card of a type is none of those that have so many EFA interfaces.
func (p *Provider) plainFirst(instanceType string, efas int64) bool {
	return efas > 0 && p.cards(instanceType) > int(efas)
}

// ipv6 reports whether the cluster is known to be one of IPv6 addresses.
func (p *Provider) ipv6() bool {
	c, ok := p.cluster.peek()
	return ok && c.ipv6
}
