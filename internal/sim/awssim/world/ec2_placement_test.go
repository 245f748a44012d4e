package world

import (
	"strings"
	"testing"
)

// placed is launch data for a group; partition 0 leaves it to EC2.
func placed(w *World, g PlacementGroup, partition int32) LaunchData {
	data := w.Templates()[0].Versions[0].Data.merge(LaunchData{InstanceType: "m5.large"})
	data.Placement = &Placement{GroupID: g.ID}
	if partition != 0 {
		data.Placement.PartitionNumber = &partition
	}
	return data
}

func newGroup(t *testing.T, w *World, strategy string, partitions int32) PlacementGroup {
	t.Helper()
	g, err := w.AddPlacementGroup("group", strategy, partitions, nil)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func TestASpreadGroupHoldsSevenInAZone(t *testing.T) {
	w, _ := testWorld(t, nil)
	subnets := setUp(t, w)
	g := newGroup(t, w, GroupSpread, 0)
	run := func(n int, s Subnet) error {
		_, err := w.Run(RunRequest{Min: n, Max: n, Data: placed(w, g, 0), SubnetID: s.ID})
		return err
	}
	if err := run(7, subnets[0]); err != nil {
		t.Fatal(err)
	}
	if err := run(1, subnets[0]); err == nil || !strings.Contains(err.Error(), "spread placement group") {
		t.Errorf("the eighth: %v", err)
	}
	if err := run(1, subnets[1]); err != nil {
		t.Errorf("in another zone: %v", err)
	}
	if err := w.RemovePlacementGroup(g.ID); err == nil {
		t.Error("a group in use was deleted")
	}
}

func TestAClusterGroupStandsInOneZone(t *testing.T) {
	w, _ := testWorld(t, nil)
	subnets := setUp(t, w)
	g := newGroup(t, w, GroupCluster, 0)
	for n, s := range subnets[:2] {
		_, err := w.Run(RunRequest{Min: 1, Max: 1, Data: placed(w, g, 0), SubnetID: s.ID})
		if (err == nil) != (n == 0) {
			t.Errorf("instance %d: %v", n, err)
		}
	}
}

func TestPartitionsAreFilledEvenlyUnlessOneIsNamed(t *testing.T) {
	w, _ := testWorld(t, nil)
	s := setUp(t, w)[0]
	g := newGroup(t, w, GroupPartition, 3)
	count := map[int32]int{}
	for _, partition := range []int32{2, 2, 0, 0, 0, 0} {
		made, err := w.Run(RunRequest{Min: 1, Max: 1, Data: placed(w, g, partition), SubnetID: s.ID})
		if err != nil {
			t.Fatal(err)
		}
		count[made[0].Partition]++
	}
	if count[1] != 2 || count[2] != 2 || count[3] != 2 {
		t.Errorf("partitions hold %v", count)
	}
	if _, err := w.Run(RunRequest{Min: 1, Max: 1, Data: placed(w, g, 4), SubnetID: s.ID}); err == nil {
		t.Error("an instance was put into a partition that there is not")
	}
}
