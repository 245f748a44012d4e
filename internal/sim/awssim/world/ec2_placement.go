package world

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
)

// Strategies of placement groups.
const (
	GroupCluster   = "cluster"
	GroupPartition = "partition"
	GroupSpread    = "spread"
)

// Limits of placement groups.
//
// Source: EC2 User Guide, "Placement strategies for your placement groups".
const (
	maxPartitions = 7
	maxSpread     = 7 // running instances of a spread group in one zone
)

// PlacementGroup says how instances are to stand to each other.
type PlacementGroup struct {
	ID, Name   string
	Strategy   string // cluster, partition, spread
	Partitions int32
	State      string // available
	Tags       map[string]string
}

// AddPlacementGroup makes a placement group. A partition group without a number of partitions has two.
func (w *World) AddPlacementGroup(name, strategy string, partitions int32, tags map[string]string) (PlacementGroup, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !slices.Contains([]string{GroupCluster, GroupPartition, GroupSpread}, strategy) {
		return PlacementGroup{}, fmt.Errorf("make placement group %q: there is no strategy %q", name, strategy)
	}
	if strategy == GroupPartition {
		partitions = cmp.Or(partitions, 2)
	}
	if partitions < 0 || partitions > maxPartitions || strategy != GroupPartition && partitions > 0 {
		return PlacementGroup{}, fmt.Errorf("make placement group %q: %d partitions with strategy %s", name, partitions, strategy)
	}
	for _, g := range w.ec2.groups {
		if g.Name == name {
			return PlacementGroup{}, Errorf("InvalidPlacementGroup.Duplicate", "The Placement Group '%s' already exists.", name)
		}
	}
	g := &PlacementGroup{ID: w.newIDLocked("pg"), Name: name, Strategy: strategy, Partitions: partitions, State: "available", Tags: maps.Clone(tags)}
	w.ec2.groups[g.ID] = g
	return *g, nil
}

// RemovePlacementGroup deletes a placement group, which must be empty.
func (w *World) RemovePlacementGroup(id string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	g := w.ec2.groups[id]
	if g == nil {
		return Errorf("InvalidPlacementGroup.Unknown", "The Placement Group '%s' is unknown.", id)
	}
	if len(w.placedLocked(g)) > 0 {
		return Errorf("InvalidPlacementGroup.InUse", "The placement group '%s' is in use and may not be deleted.", g.Name)
	}
	delete(w.ec2.groups, id)
	return nil
}

// PlacementGroups returns all placement groups by id.
func (w *World) PlacementGroups() []PlacementGroup {
	w.mu.Lock()
	defer w.mu.Unlock()
	return sorted(w.ec2.groups, func(g *PlacementGroup) PlacementGroup { c := *g; c.Tags = maps.Clone(g.Tags); return c })
}

func (w *World) checkPlacementLocked(l *launch) *Error {
	p := l.data.Placement
	if p == nil || p.GroupID == "" && p.GroupName == "" {
		return nil
	}
	for _, g := range w.ec2.groups {
		if g.ID == p.GroupID || p.GroupID == "" && g.Name == p.GroupName {
			if !slices.Contains(l.facts.PlacementStrategies, g.Strategy) {
				return Errorf("InvalidParameterCombination", "The instance type %s cannot be used in a placement group of strategy %s.", l.facts.Name, g.Strategy)
			}
			if p.PartitionNumber != nil && (g.Strategy != GroupPartition || *p.PartitionNumber < 1 || *p.PartitionNumber > g.Partitions) {
				return Errorf("InvalidParameterValue", "The placement group %s has no partition %d.", g.ID, *p.PartitionNumber)
			}
			l.group = g
			return nil
		}
	}
	return Errorf("InvalidPlacementGroup.Unknown", "The Placement Group '%s%s' is unknown.", p.GroupID, p.GroupName)
}

// placedLocked are the live instances of a group.
func (w *World) placedLocked(g *PlacementGroup) []*Instance {
	var out []*Instance
	for _, i := range w.ec2.instances {
		if i.PlacementGroupID == g.ID && i.Live() {
			out = append(out, i)
		}
	}
	return out
}

// roomInGroupLocked says why n more instances can't stand in the group of a launch, if it has one: a cluster group is in one
// zone, and a spread group holds few in each.
func (w *World) roomInGroupLocked(l *launch, n int) *Error {
	if l.group == nil {
		return nil
	}
	there, elsewhere := 0, 0
	for _, i := range w.placedLocked(l.group) {
		if i.Zone == l.subnet.Zone {
			there++
		} else {
			elsewhere++
		}
	}
	if l.group.Strategy == GroupCluster && elsewhere > 0 {
		return Errorf("InvalidPlacementGroup.InUse", "The placement group '%s' is in use in another availability zone.", l.group.Name)
	}
	if l.group.Strategy == GroupSpread && there+n > maxSpread {
		return Errorf("InstanceLimitExceeded",
			"The maximum number of running instances (%d) per Availability Zone has been reached for the spread placement group '%s' in %s.", maxSpread, l.group.Name, l.subnet.Zone)
	}
	return nil
}

// putInGroupLocked gives an instance its place: the partition that was asked for, else the one with the fewest instances.
func (w *World) putInGroupLocked(l *launch, i *Instance) {
	if l.group == nil {
		return
	}
	i.PlacementGroupID, i.PlacementGroupName = l.group.ID, l.group.Name
	if l.group.Strategy != GroupPartition {
		return
	}
	if n := deref(l.data.Placement.PartitionNumber); n > 0 {
		i.Partition = n
		return
	}
	used := make([]int, l.group.Partitions+1)
	for _, o := range w.placedLocked(l.group) {
		used[o.Partition]++
	}
	i.Partition = 1
	for n := int32(2); n <= l.group.Partitions; n++ {
		if used[n] < used[i.Partition] {
			i.Partition = n
		}
	}
}
