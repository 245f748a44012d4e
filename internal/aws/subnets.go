package aws

import (
	awsv1 "github.com/kerf-sh/kerf/api/aws/v1"
	"github.com/kerf-sh/kerf/internal/engine/cluster"
)

// Subnets are those in which instances of a class are launched, sorted by ID, with the addresses that are left once all that
// was launched has its own. Zones of which a subnet was never counted are left out: EC2 decides there.
func (p *Provider) Subnets(class *awsv1.EC2NodeClass) []cluster.Subnet {
	return p.ledger.Left(p.networks.ForLaunches(class.Status.Subnets))
}
