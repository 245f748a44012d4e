package provision

import (
	"slices"

	awsv1 "github.com/kerf-sh/kerf/api/aws/v1"
	"github.com/kerf-sh/kerf/internal/engine/cluster"
)

// boundBySubnets tells pools the addresses of their subnets in zones where they may run short: where no subnet has enough
// for an instance for each pod that waits, each node that may be replaced and each instance that is on its way. Elsewhere they
// would make one problem look unlike the next whenever a pod comes or goes.
func (m *Problems) boundBySubnets(pools []*cluster.Pool, classes []*awsv1.EC2NodeClass, snapshot *cluster.Snapshot, replaced int) {
	instances, each := int64(len(snapshot.Pending)+replaced), int64(1)
	if m.Subnets == nil || instances == 0 {
		return
	}
	for _, n := range snapshot.Nodes {
		if !n.Launched && !n.Deleting {
			instances++
		}
	}
	for i, p := range pools {
		if classes[i] != nil && p.NotReady == "" {
			p.Subnets = m.Subnets(classes[i])
		}
		if len(p.Subnets) > 0 {
			for _, t := range p.Types {
				each = max(each, t.Addresses)
			}
		}
	}
	for _, p := range pools {
		ample := map[string]bool{}
		for _, x := range p.Subnets {
			ample[x.Zone] = ample[x.Zone] || x.Free >= instances*each
		}
		p.Subnets = slices.DeleteFunc(p.Subnets, func(x cluster.Subnet) bool { return ample[x.Zone] })
	}
}
