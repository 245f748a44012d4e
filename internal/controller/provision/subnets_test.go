package provision

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	awsv1 "github.com/kerf-sh/kerf/api/aws/v1"
	"github.com/kerf-sh/kerf/internal/engine/catalog"
	"github.com/kerf-sh/kerf/internal/engine/cluster"
)

func TestPoolsAreBoundBySubnetsThatMayRunShort(t *testing.T) {
	all := []cluster.Subnet{{ID: "s1", Zone: "a", Free: 3}, {ID: "s2", Zone: "b", Free: 4}, {ID: "s3", Zone: "c", Free: 3}, {ID: "s4", Zone: "c", Free: 100}}
	waiting := make([]*cluster.Pod, 3)
	arriving, arrived, leaving := &cluster.Node{}, &cluster.Node{Launched: true}, &cluster.Node{Deleting: true}
	for name, c := range map[string]struct {
		snapshot cluster.Snapshot
		replaced int
		takes    int64
		notReady string
		want     []string
	}{
		"enough for an instance for each pod":      {snapshot: cluster.Snapshot{Pending: waiting}},
		"nothing waits":                            {snapshot: cluster.Snapshot{Nodes: []*cluster.Node{arriving}}, takes: 50},
		"an instance on its way":                   {snapshot: cluster.Snapshot{Pending: waiting, Nodes: []*cluster.Node{arriving, arrived, leaving}}, want: []string{"s1"}},
		"two instances on their way":               {snapshot: cluster.Snapshot{Pending: waiting, Nodes: []*cluster.Node{arriving, arriving}}, want: []string{"s1", "s2"}},
		"nothing waits, and nodes are replaced":    {replaced: 4, want: []string{"s1"}},
		"pods wait, and a node is replaced":        {snapshot: cluster.Snapshot{Pending: waiting}, replaced: 1, want: []string{"s1"}},
		"enough for an instance for each node":     {replaced: 3},
		"instances that take several":              {snapshot: cluster.Snapshot{Pending: waiting}, takes: 2, want: []string{"s1", "s2"}},
		"all subnets of a zone, once one is short": {snapshot: cluster.Snapshot{Pending: waiting}, takes: 50, want: []string{"s1", "s2", "s3", "s4"}},
		"a pool that is not ready":                 {snapshot: cluster.Snapshot{Pending: waiting}, takes: 50, notReady: "no"},
	} {
		t.Run(name, func(t *testing.T) {
			h := newTestCluster(t, func(o *Options) {
				o.Subnets = func(*awsv1.EC2NodeClass) []cluster.Subnet { return slices.Clone(all) }
			})
			pool := &cluster.Pool{NotReady: c.notReady, Types: []*catalog.Type{{}, {Addresses: c.takes}}}
			without := &cluster.Pool{}
			h.problems.boundBySubnets([]*cluster.Pool{pool, without}, []*awsv1.EC2NodeClass{{}, nil}, &c.snapshot, c.replaced)
			var got []string
			for _, x := range pool.Subnets {
				got = append(got, x.ID)
			}
			if diff := cmp.Diff(c.want, got); diff != "" || len(without.Subnets) > 0 {
				t.Errorf("(-want +got):\n%s%v", diff, without.Subnets)
			}
		})
	}
}
