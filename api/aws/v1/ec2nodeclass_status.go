package v1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kerf-sh/kerf/api/status"
)

// EC2NodeClassStatus is what the spec of an EC2NodeClass stands for in the account.
type EC2NodeClassStatus struct {
	// Subnets to launch in, those with the most free addresses first.
	// +optional
	Subnets []Subnet `json:"subnets,omitempty"`
	// Security groups of the nodes.
	// +optional
	SecurityGroups []SecurityGroup `json:"securityGroups,omitempty"`
	// Capacity reservations that nodes may use.
	// +optional
	CapacityReservations []CapacityReservation `json:"capacityReservations,omitempty"`
	// Placement group that nodes are launched in.
	// +optional
	PlacementGroup *PlacementGroup `json:"placementGroup,omitempty"`
	// Images that nodes may boot, newest first. An instance type takes the first that fits.
	// +optional
	AMIs []AMI `json:"amis,omitempty"`
	// Instance profile of the nodes.
	// +optional
	InstanceProfile string `json:"instanceProfile,omitempty"`
	// Version of the launch template that nodes are launched from.
	// +optional
	LaunchTemplate *LaunchTemplate `json:"launchTemplate,omitempty"`
	// State of the class, one observation per type.
	// +optional
	Conditions []status.Condition `json:"conditions,omitempty"`
}

// Subnet is a subnet that was found.
type Subnet struct {
	// ID of the subnet.
	// +required
	ID string `json:"id"`
	// Name of the subnet's zone.
	// +required
	Zone string `json:"zone"`
	// ID of the subnet's zone.
	// +optional
	ZoneID string `json:"zoneID,omitempty"`
}

// SecurityGroup is a security group that was found.
type SecurityGroup struct {
	// ID of the security group.
	// +required
	ID string `json:"id"`
	// Name of the security group.
	// +optional
	Name string `json:"name,omitempty"`
}

// PlacementGroupKnown reports whether the placement group that the spec selects stands in the status, or it selects none.
// Karpenter does not write it there, and its definition of the class has no such field.
func (c *EC2NodeClass) PlacementGroupKnown() bool {
	return c.Spec.PlacementGroupSelector == nil || c.Status.PlacementGroup != nil
}

// PlacementGroup is a placement group that was found.
type PlacementGroup struct {
	// ID of the group.
	// +required
	ID string `json:"id"`
	// Name of the group.
	// +optional
	Name string `json:"name,omitempty"`
	// How instances stand to each other: cluster, partition or spread.
	// +required
	Strategy string `json:"strategy"`
	// Number of partitions; of partition groups only.
	// +optional
	PartitionCount int32 `json:"partitionCount,omitempty"`
}

// AMI is an image that was found, with the instance types that can boot it.
type AMI struct {
	// ID of the image.
	// +required
	ID string `json:"id"`
	// Name of the image.
	// +optional
	Name string `json:"name,omitempty"`
	// Whether the owner has deprecated the image.
	// +optional
	Deprecated bool `json:"deprecated,omitempty"`
	// What an instance type must meet to boot the image.
	// +required
	Requirements []corev1.NodeSelectorRequirement `json:"requirements"`
}

// Kinds and states of capacity reservations.
const (
	CapacityReservationTypeDefault       = "default"
	CapacityReservationTypeCapacityBlock = "capacity-block"
	CapacityReservationStateActive       = "active"
	CapacityReservationStateExpiring     = "expiring"
)

// CapacityReservation is a capacity reservation that was found.
type CapacityReservation struct {
	// ID of the reservation.
	// +kubebuilder:validation:Pattern=`^cr-[0-9a-z]+$`
	// +required
	ID string `json:"id"`
	// Zone of the reservation.
	// +required
	AvailabilityZone string `json:"availabilityZone"`
	// When the reservation ends; unset when it has no end.
	// +optional
	EndTime *metav1.Time `json:"endTime,omitempty"`
	// Which instances the reservation takes by itself.
	// +kubebuilder:validation:Enum=open;targeted
	// +required
	InstanceMatchCriteria string `json:"instanceMatchCriteria"`
	// Instance type of the reservation.
	// +required
	InstanceType string `json:"instanceType"`
	// Account that owns the reservation.
	// +kubebuilder:validation:Pattern=`^[0-9]{12}$`
	// +required
	OwnerID string `json:"ownerID"`
	// Kind of the reservation.
	// +kubebuilder:default=default
	// +kubebuilder:validation:Enum=default;capacity-block
	// +optional
	ReservationType string `json:"reservationType,omitempty"`
	// Whether the owner may take the capacity back at any time.
	// +optional
	Interruptible bool `json:"interruptible,omitempty"`
	// Whether the reservation can be used, or is about to end.
	// +kubebuilder:default=active
	// +kubebuilder:validation:Enum=active;expiring
	// +optional
	State string `json:"state,omitempty"`
}
