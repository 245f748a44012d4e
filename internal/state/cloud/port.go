// Package cloud is the port through which controllers launch, find and give back instances, and the classes of error that
// they decide on. internal/aws implements it; nothing above it knows of AWS.
package cloud

import (
	"context"
	"time"

	awsv1 "github.com/kerf-sh/kerf/api/aws/v1"
	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/internal/engine/catalog"
)

// Provider is a cloud that sells instances.
//
// Concurrency: all methods may be called from many goroutines.
type Provider interface {
	// Types lists every instance type that a node class could run, with all offerings, available or not. The slice and
	// what it points to are immutable and shared: equal inputs give the same pointers until something changed.
	Types(ctx context.Context, class *awsv1.EC2NodeClass) ([]*catalog.Type, error)
	// Launch launches one instance for a NodeClaim. It is idempotent by the claim's UID, across restarts too: a second call
	// finds what the first one launched. Errors are *Error.
	Launch(ctx context.Context, claim *karpv1.NodeClaim, class *awsv1.EC2NodeClass) (*Instance, error)
	// Find gives the instance that was launched for a NodeClaim, by this process or one before, without launching one. It may have
	// to wait until that is known. Errors: *Error of class NotFound when none was.
	Find(ctx context.Context, claim *karpv1.NodeClaim) (*Instance, error)
	// Terminate starts to end an instance; it returns an *Error of class NotFound once the instance is gone for good, and nil
	// while it is going.
	Terminate(ctx context.Context, providerID string) error
	// Get reads one instance past all caches. Errors: *Error of class NotFound when it does not exist or is terminated.
	Get(ctx context.Context, providerID string) (*Instance, error)
	// List returns the instances that belong to this cluster, from one inventory loop that all callers share; maxAge is how
	// old the answer may be.
	List(ctx context.Context, maxAge time.Duration) ([]*Instance, error)
	// Tag puts tags on instances: provider ID to tags. Those that no longer exist are skipped.
	Tag(ctx context.Context, tags map[string]map[string]string) error
	// Resolve finds what a node class selects (subnets, security groups, images, instance profile) and checks it.
	// It never changes the class; the nodeclass controller writes the outcome to its status.
	Resolve(ctx context.Context, class *awsv1.EC2NodeClass) (*Resolution, error)
	// Release gives back what was made for a node class (instance profiles, launch templates) before it goes.
	Release(ctx context.Context, class *awsv1.EC2NodeClass) error
	// MarkUnavailable tells that an offering must not be asked for: a spot pool that is being reclaimed.
	MarkUnavailable(capacityType, instanceType, zone, reason string)
	// EmptyReservation tells that a capacity reservation is being taken back: nothing must be asked of it for a while.
	EmptyReservation(id string)
}

// Instance is an instance as the cloud knows it.
type Instance struct {
	ProviderID   string
	InstanceID   string
	InstanceType string
	ImageID      string
	Zone         string
	ZoneID       string
	CapacityType string
	SubnetID     string
	// SecurityGroups are the ids of those that its first interface is in, sorted; not filled by Launch.
	SecurityGroups []string
	LaunchedAt     time.Time
	// State is pending, running, shutting-down, terminated, stopping or stopped.
	State string
	// StateReason is the cloud's word on why the instance stopped, empty while it runs.
	StateReason string
	// Ended is the same, judged, with what to do about it; nil while it runs or is about to.
	Ended *Ended
	Tags  map[string]string
	// LaunchID names the request that launched it, which may have launched others too; only Launch and Find tell it.
	LaunchID string
	// Claim and Pool are read from tags; empty when not tagged yet.
	Claim string
	Pool  string
	// ReservationID is the capacity reservation that the instance was launched out of, empty for other instances, and for those
	// whose reservation has ended: they are on-demand then.
	ReservationID string
	// PlacementGroup is the id of the group that the instance stands in, empty for none. Partition is its partition there, from
	// 1; 0 in groups without partitions, and while it is not known.
	PlacementGroup string
	Partition      int32
	// PrivateDNSName is the name with which its node will join.
	PrivateDNSName string

	// The rest is filled by Launch only.

	// Price is that of the offering launched, per hour; 0 when it is not known.
	Price catalog.MicroUSD

	// Labels that the node will carry: every single-valued requirement of the type and the offering launched.
	Labels      map[string]string
	Annotations map[string]string
	Capacity    map[string]int64 // in the units of res.List
	Allocatable map[string]int64
}

// Resolution is what a node class selects right now.
type Resolution struct {
	Subnets        []awsv1.Subnet
	SecurityGroups []awsv1.SecurityGroup
	AMIs           []awsv1.AMI
	// CapacityReservations is empty where reserved capacity is switched off.
	CapacityReservations []awsv1.CapacityReservation
	// PlacementGroup is nil for classes that select none.
	PlacementGroup  *awsv1.PlacementGroup
	InstanceProfile string
	// LaunchTemplate is the version of the user's own launch template, nil for classes that name none.
	LaunchTemplate *awsv1.LaunchTemplate
	// Findings, one per condition type of the class: what is true, and, when it is not, reason and message with the way
	// out. A condition without a finding was not looked at and keeps its state.
	Findings []Finding
	// Ignored tells which parts of the class's spec have no effect, and why.
	Ignored []string
}

// Finding is the outcome of one check of a node class.
type Finding struct {
	Condition string // condition type of the EC2NodeClass
	OK        bool
	Unknown   bool // could not be decided now; OK is ignored
	Reason    string
	Message   string
}
