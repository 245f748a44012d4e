// Package catalog holds instance types and their offerings: what a pool could launch, where, and for how much.
//
// Type and Offering are readable values; Catalog is the compiled, immutable, columnar form that the engine reads.
package catalog

import (
	"time"

	"github.com/kerf-sh/kerf/internal/engine/requirement"
	"github.com/kerf-sh/kerf/internal/engine/res"
)

// MicroUSD is money in millionths of a US dollar (of the price list's currency in partitions that use another).
type MicroUSD int64

// CapacityType names of the karpenter.sh/capacity-type label.
const (
	OnDemand = "on-demand"
	Spot     = "spot"
	Reserved = "reserved"
)

// Type is an instance type as one node class would run it: the class decides disk, pod count and overhead.
type Type struct {
	Name string `json:"name"`
	// Requirements are the labels of a node of this type, In with one value for what is certain, In with several for what
	// the offering decides (zone, capacity type), DoesNotExist for a known label that does not apply.
	Requirements []requirement.Term `json:"requirements"`
	// Capacity is what the node reports as capacity; zero amounts of extended resources are kept.
	Capacity res.List `json:"capacity"`
	// Overhead is what kube-reserved, system-reserved and the eviction threshold take; allocatable = capacity - overhead.
	Overhead res.List `json:"overhead"`
	// AttachLimits is how many volumes a node of this type attaches, by CSI driver, those of pods only. A driver that is
	// not listed has no limit, or it is not known.
	AttachLimits res.List `json:"attachLimits,omitempty"`
	// Addresses is how many addresses of its subnet a node of this type takes as it is launched; 0 stands for 1.
	Addresses int64 `json:"addresses,omitempty"`
	// Offerings is sorted by zone, then capacity type, then reservation, then partition.
	Offerings []Offering `json:"offerings"`
	// Listed is what the type was before overlays changed it, nil for one that none did.
	Listed *Type `json:"-"`
}

// Offering is one way to launch a Type.
type Offering struct {
	Zone         string `json:"zone"`
	ZoneID       string `json:"zoneID,omitempty"`
	CapacityType string `json:"capacityType"`
	// ReservationID is set for reserved capacity only.
	ReservationID string `json:"reservationID,omitempty"`
	// ReservationType is default or capacity-block, and Interruptible says whether the reservation's owner may take it back
	// at any time. What launching out of a reservation costs is a token price: the reservation is paid for anyway.
	ReservationType string `json:"reservationType,omitempty"`
	Interruptible   bool   `json:"interruptible,omitempty"`
	// Partition is that of the placement group that the node is put into, from 1; 0 where there are none.
	Partition int32 `json:"partition,omitempty"`
	// Price per hour.
	Price MicroUSD `json:"price"`
	// Lately is the least and the most that it has cost in the last hours; nil where that is not known, or it always cost as
	// much as now.
	Lately *Range `json:"lately,omitempty"`
	// Available is false while the offering must not be asked for; Unavailable says why (a closed set of words such as
	// "insufficient capacity", "no price", "no subnet in zone").
	Available   bool   `json:"available"`
	Unavailable string `json:"unavailable,omitempty"`
	// ForNow is set where the offering opens again by itself: its pool has no capacity, or took an instance back, its zone is shifted.
	ForNow bool `json:"forNow,omitempty"`
	// Opens is when an offering without capacity is asked for again, zero for others. Retried is set where one is available only
	// because pods wait and whether the capacity is back is tried with one launch.
	Opens   time.Time `json:"opens,omitzero"`
	Retried bool      `json:"retried,omitempty"`
	// Reservable is how many instances a reservation still holds; reserved offerings only.
	Reservable int `json:"reservable,omitempty"`
}

// Allocatable is capacity less overhead, hugepages taken off memory, never below zero.
func (t *Type) Allocatable() res.List {
	out := t.Capacity.Clone()
	for k, v := range t.Overhead {
		out[k] = max(0, out[k]-v)
	}
	for k, v := range t.Capacity {
		if len(k) > 10 && k[:10] == "hugepages-" {
			out[res.Memory] = max(0, out[res.Memory]-v)
		}
	}
	return out
}

// allocatable is Allocatable in the layout of the schema; resources that it lacks are dropped.
func (t *Type) allocatable(schema *res.Schema) res.Vector {
	v := schema.Vector(t.Capacity)
	for k, x := range t.Overhead {
		if i, ok := schema.Index(k); ok {
			v[i] = max(0, v[i]-x)
		}
	}
	memory, counts := schema.Index(res.Memory)
	for k, x := range t.Capacity {
		if counts && len(k) > 10 && k[:10] == "hugepages-" {
			v[memory] = max(0, v[memory]-x)
		}
	}
	return v
}
