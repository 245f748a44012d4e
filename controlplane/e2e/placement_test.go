package e2e

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	awsv1 "github.com/kerf-sh/kerf/api/aws/v1"
	"github.com/kerf-sh/kerf/internal/setup/stack"
	"github.com/kerf-sh/kerf/internal/sim/awssim/world"
)

// TestPlacementGroups launches instances in placement groups.
func TestPlacementGroups(t *testing.T) {
	t.Parallel()
	e := up(t)
	e.mayBeDenied("ec2:DescribePlacementGroups", "*")
	e.mayBeDenied("ec2:CreateFleet", "*")
	e.mayBeDenied("ec2:RunInstances", "*")
	e.allowOptions(func(o *stack.Options) { o.PlacementGroups = true })
	for name, story := range map[string]func(*stage){
		"pods spread over partitions":   overPartitions,
		"a full spread group goes on":   fullSpreadGroup,
		"a cluster group has one zone":  oneZone,
		"a group that there is not yet": groupComesLater,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			story(e.stage(t))
		})
	}
}

// group makes a placement group of the stage's name.
func (s *stage) group(strategy string, partitions int32) world.PlacementGroup {
	s.Helper()
	g, err := s.cluster.Simulator.World.AddPlacementGroup(s.name, strategy, partitions, nil)
	if err != nil {
		s.Fatal(err)
	}
	return g
}

// grouped makes a class that selects the group of the stage's name, and a pool that launches on demand from it.
func (s *stage) grouped() {
	s.Helper()
	s.apply(fmt.Sprintf(`
apiVersion: karpenter.k8s.aws/v1
kind: EC2NodeClass
metadata: {name: %[1]s}
spec:
  amiSelectorTerms: [{alias: al2023@latest}]
  role: KarpenterNodeRole-${CLUSTER_NAME}
  subnetSelectorTerms: [{tags: {karpenter.sh/discovery: "${CLUSTER_NAME}"}}]
  securityGroupSelectorTerms: [{tags: {karpenter.sh/discovery: "${CLUSTER_NAME}"}}]
  placementGroupSelector: {name: %[1]s}
---
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: %[1]s}
spec:
  template:
    spec:
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: %[1]s}
      requirements:
      - {key: karpenter.k8s.aws/instance-family, operator: In, values: [m5]}
      - {key: karpenter.sh/capacity-type, operator: In, values: [on-demand]}
      taints: [{key: stage, value: %[1]s, effect: NoSchedule}]
  disruption: {consolidateAfter: Never, budgets: [{nodes: "100%%"}]}
`, s.name))
}

// stand checks that the labels of the stage's nodes say where their instances stand, and counts these by what of calls them.
func (s *stage) stand(g world.PlacementGroup, of func(world.Instance) string) map[string]int {
	s.Helper()
	out := map[string]int{}
	for _, n := range s.nodesOf() {
		i, ok := s.cluster.Simulator.World.Instance(n.Spec.ProviderID[strings.LastIndexByte(n.Spec.ProviderID, '/')+1:])
		partition := ""
		if i.Partition != 0 {
			partition = strconv.Itoa(int(i.Partition))
		}
		if !ok || i.PlacementGroupID != g.ID || n.Labels[awsv1.LabelPlacementGroupID] != g.ID || n.Labels[awsv1.LabelPlacementGroupPartition] != partition {
			s.Errorf("node %s has the labels %v; its instance stands in group %q, partition %d", n.Name, n.Labels, i.PlacementGroupID, i.Partition)
		}
		out[of(i)]++
	}
	return out
}

func byZone(i world.Instance) string { return i.Zone }

// overPartitions spreads pods over the partitions of a group.
func overPartitions(s *stage) {
	g := s.group(world.GroupPartition, 3)
	s.grouped()
	s.ready(s.name)
	s.deploy("kafka", 6, "1", apart("kafka")+`
topologySpreadConstraints:
- {topologyKey: karpenter.k8s.aws/placement-group-partition, maxSkew: 1, whenUnsatisfiable: DoNotSchedule, labelSelector: {matchLabels: {app: kafka}}}`)
	s.run(90*time.Second, 6)
	s.matched(20 * time.Second)
	for partition, n := range s.stand(g, func(i world.Instance) string { return fmt.Sprint(i.Partition) }) {
		if n != 2 {
			s.Errorf("%d of 6 instances stand in partition %s of 3", n, partition)
		}
	}
	if c := s.class(); c.Status.PlacementGroup == nil || c.Status.PlacementGroup.ID != g.ID || c.Status.PlacementGroup.PartitionCount != 3 {
		s.Errorf("the class says %+v", c.Status.PlacementGroup)
	}
}

// fullSpreadGroup asks for more instances than a spread group holds in a zone.
func fullSpreadGroup(s *stage) {
	g := s.group(world.GroupSpread, 0)
	s.grouped()
	s.ready(s.name)
	s.deploy("etcd", 9, "1", apart("etcd"))
	s.run(180*time.Second, 9)
	s.matched(20 * time.Second)
	for zone, n := range s.stand(g, byZone) {
		if n > 7 {
			s.Errorf("%d instances in %s", n, zone)
		}
	}
}

// oneZone asks for instances of a cluster group.
func oneZone(s *stage) {
	g := s.group(world.GroupCluster, 0)
	s.grouped()
	s.ready(s.name)
	s.deploy("mpi", 1, "1", apart("mpi"))
	s.run(60*time.Second, 1)
	s.scaleIn(s.name, "mpi", 3)
	s.run(180*time.Second, 3)
	s.matched(20 * time.Second)
	if zones := s.stand(g, byZone); len(zones) != 1 {
		s.Errorf("a cluster group stands in %v", zones)
	}
}

// groupComesLater makes the group after the class.
func groupComesLater(s *stage) {
	s.grouped()
	s.refuses(awsv1.ConditionTypePlacementGroupReady, awsv1.ReasonPlacementGroupNotFound, s.name, "spec.placementGroupSelector")
	g := s.group(world.GroupCluster, 0)
	s.ready(s.name)
	s.deploy("late", 1, "1", "")
	s.run(60*time.Second, 1)
	if n := len(s.stand(g, byZone)); n != 1 {
		s.Errorf("instances in %d zones", n)
	}
}
