package aws_test

import (
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/internal/aws"
	"github.com/kerf-sh/kerf/internal/aws/awserr"
	"github.com/kerf-sh/kerf/internal/aws/fleet"
	"github.com/kerf-sh/kerf/internal/engine/catalog"
	"github.com/kerf-sh/kerf/internal/sim/awssim"
	"github.com/kerf-sh/kerf/internal/sim/awssim/world"
	"github.com/kerf-sh/kerf/internal/state/cloud"
)

// What m5.large on demand in zone us-east-1a meets with closes, of these offerings:
//
//	same     m5.large on demand in us-east-1a
//	zone     m5.xlarge on demand in us-east-1a
//	family   c5.xlarge on demand in us-east-1b
//	group    g4dn.xlarge on demand in us-east-1b
//	spot     m5.large as spot in us-east-1b
type closedBy map[string]bool

var watched = map[string]struct{ instanceType, zone, capacityType string }{
	"same":   {"m5.large", "us-east-1a", catalog.OnDemand},
	"zone":   {"m5.xlarge", "us-east-1a", catalog.OnDemand},
	"family": {"c5.xlarge", "us-east-1b", catalog.OnDemand},
	"group":  {"g4dn.xlarge", "us-east-1b", catalog.OnDemand},
	"spot":   {"m5.large", "us-east-1b", catalog.Spot},
}

var (
	pool     = closedBy{"same": true}
	subnet   = closedBy{"same": true, "zone": true}
	quota    = closedBy{"same": true, "zone": true, "family": true}
	onDemand = closedBy{"same": true, "zone": true, "family": true, "group": true}
	nothing  = closedBy{}
)

// What EC2 says of a type that a zone does not have, besides by the code Unsupported.
const notInZone = "Your requested instance type (m5.large) is not supported in your requested Availability Zone (us-east-1a). Please retry your request by not specifying an Availability Zone or choosing us-east-1b."

// What EC2 says of a refusal: the action, and what it was refused for.
const (
	mayNot     = "You are not authorized to perform this operation. User: arn:aws:sts::1:assumed-role/kerf/kerf is not authorized to perform: "
	ofInstance = " on resource: arn:aws:ec2:us-east-1:1:instance/* with an explicit deny in a service control policy"
	ofSubnet   = " on resource: arn:aws:ec2:us-east-1:1:subnet/subnet-1 with an explicit deny in a service control policy"
	ofVolume   = " on resource: arn:aws:ec2:us-east-1:1:volume/* with an explicit deny in a service control policy"
	ofRole     = " on resource: arn:aws:iam::1:role/node because no identity-based policy allows the iam:PassRole action"
)

// Every error that a launch can meet leads to its class, the reason of the NodeClaim's condition, the label of the
// metric, and closes what it speaks of and no more.
func TestEveryErrorOfALaunchHasItsClassReasonLabelAndWhatIsUnavailable(t *testing.T) {
	s := startSim(t, awssim.Options{})
	type meeting struct {
		class  cloud.ErrorClass
		reason string
		closes closedBy
	}
	// In the fleet's answer, for each place.
	for name, want := range map[string]meeting{
		"InsufficientInstanceCapacity":                      {cloud.Exhausted, awserr.ReasonInsufficientCapacity, pool},
		"UnfulfillableCapacity":                             {cloud.Exhausted, awserr.ReasonUnfulfillableCapacity, pool},
		"Unsupported":                                       {cloud.Exhausted, awserr.ReasonUnsupported, pool},
		"InvalidFleetConfiguration: " + notInZone:           {cloud.Exhausted, awserr.ReasonUnsupported, pool},
		"InvalidFleetConfiguration: Something is wrong.":    {cloud.Invalid, awserr.ReasonLaunchFailed, nothing},
		"ReservationCapacityExceeded":                       {cloud.Exhausted, awserr.ReasonReservationExceeded, pool},
		"VcpuLimitExceeded":                                 {cloud.Exhausted, awserr.ReasonVCPULimitExceeded, quota},
		"MaxSpotInstanceCountExceeded":                      {cloud.Exhausted, awserr.ReasonSpotQuotaExceeded, quota},
		"MaxFleetCountExceeded":                             {cloud.Exhausted, awserr.ReasonFleetQuotaExceeded, onDemand},
		"InsufficientFreeAddressesInSubnet":                 {cloud.Exhausted, awserr.ReasonInsufficientFreeAddresses, subnet},
		"AuthFailure.ServiceLinkedRoleCreationNotPermitted": {cloud.Exhausted, awserr.ReasonSpotSLRCreationFailed, closedBy{"spot": true}},
		"UnauthorizedOperation":                             {cloud.Denied, awserr.ReasonUnauthorized, nothing},
		"AuthFailure":                                       {cloud.Denied, awserr.ReasonUnauthorized, nothing},
		"UnauthorizedOperation: You are not authorized to perform this operation. Encoded authorization failure message: x": {cloud.Denied, awserr.ReasonUnauthorized, nothing},
		"UnauthorizedOperation: an explicit deny":                            {cloud.Exhausted, awserr.ReasonUnauthorized, pool},
		"UnauthorizedOperation: by a service control policy":                 {cloud.Exhausted, awserr.ReasonUnauthorized, pool},
		"UnauthorizedOperation: " + mayNot + "ec2:RunInstances":              {cloud.Exhausted, awserr.ReasonUnauthorized, pool},
		"UnauthorizedOperation: " + mayNot + "ec2:RunInstances" + ofInstance: {cloud.Exhausted, awserr.ReasonUnauthorized, pool},
		"UnauthorizedOperation: " + mayNot + "ec2:RunInstances" + ofSubnet:   {cloud.Denied, awserr.ReasonUnauthorized, nothing},
		"UnauthorizedOperation: " + mayNot + "ec2:RunInstances" + ofVolume:   {cloud.Denied, awserr.ReasonUnauthorized, nothing},
		"UnauthorizedOperation: " + mayNot + "ec2:CreateTags" + ofInstance:   {cloud.Denied, awserr.ReasonUnauthorized, nothing},
		"UnauthorizedOperation: " + mayNot + "iam:PassRole" + ofRole:         {cloud.Denied, awserr.ReasonUnauthorized, nothing},
		"InvalidClientTokenId":                                      {cloud.Denied, awserr.ReasonCredentialsRefused, nothing},
		"AuthFailure: Not authorized for images: [ami-1]":           {cloud.Denied, awserr.ReasonAMIAuthorizationFailure, nothing},
		"InvalidParameter: … belong to different networks":          {cloud.Invalid, awserr.ReasonSecurityGroupSubnetVPC, nothing},
		"InvalidParameterValue: Invalid IAM Instance Profile name":  {cloud.Invalid, awserr.ReasonInstanceProfileNameInvalid, nothing},
		"UserDataSizeLimitExceeded":                                 {cloud.Invalid, awserr.ReasonUserDataSizeLimitExceeded, nothing},
		"InvalidAMIID.Malformed":                                    {cloud.Invalid, awserr.ReasonInvalidAMIID, nothing},
		"InvalidAMIID.NotFound":                                     {cloud.Invalid, awserr.ReasonAMINotFound, nothing},
		"InvalidParameterCombination: … not eligible for Free Tier": {cloud.Invalid, awserr.ReasonFreeTierIneligible, nothing},
		"OptInRequired":                                             {cloud.Invalid, awserr.ReasonLaunchFailed, nothing},
		"PendingVerification":                                       {cloud.Invalid, awserr.ReasonAccountPendingVerification, nothing},
		"InstanceLimitExceeded: … for the spread placement group":   {cloud.Exhausted, awserr.ReasonPlacementGroupFull, nothing}, // the class has none
		"InvalidPlacementGroup.InUse":                               {cloud.Exhausted, awserr.ReasonPlacementGroupElsewhere, nothing},
		"InvalidPlacementGroup.Unknown":                             {cloud.Invalid, awserr.ReasonPlacementGroupNotFound, nothing},
		"SomethingNew":                                              {cloud.Unavailable, awserr.ReasonLaunchFailed, nothing}, // all that was asked for has it
	} {
		code, message, _ := strings.Cut(name, ": ")
		fault := world.Fault{Kind: world.FaultNoCapacity, InstanceType: "m5.large", Zone: "us-east-1a", CapacityType: catalog.OnDemand, Code: code, Message: message}
		t.Run("a place: "+name, func(t *testing.T) {
			meet(t, s, fault, want.class, want.reason, "us-east-1a", want.closes)
		})
	}
	// In place of the fleet's answer.
	for name, want := range map[string]meeting{
		"RequestLimitExceeded":                              {cloud.Throttled, awserr.ReasonRequestLimitExceeded, nothing},
		"InternalError":                                     {cloud.Unavailable, awserr.ReasonInternalError, nothing},
		"InvalidLaunchTemplateName.NotFoundException":       {cloud.Unavailable, awserr.ReasonLaunchTemplateNotFound, nothing},
		"InvalidCapacityReservationId.NotFound":             {cloud.NotFound, awserr.ReasonLaunchFailed, nothing}, // no template is missing
		"MaxFleetCountExceeded":                             {cloud.Exhausted, awserr.ReasonFleetQuotaExceeded, onDemand},
		"VcpuLimitExceeded":                                 {cloud.Exhausted, awserr.ReasonVCPULimitExceeded, onDemand},
		"AuthFailure.ServiceLinkedRoleCreationNotPermitted": {cloud.Exhausted, awserr.ReasonSpotSLRCreationFailed, closedBy{"spot": true}},
		"UnauthorizedOperation":                             {cloud.Denied, awserr.ReasonUnauthorized, nothing},
	} {
		fault := world.Fault{Kind: world.FaultError, Operation: "CreateFleet", Code: name, Status: 400}
		if want.class == cloud.Unavailable && want.reason == awserr.ReasonInternalError {
			fault.Status = 500
		}
		t.Run("the request: "+name, func(t *testing.T) {
			meet(t, s, fault, want.class, want.reason, "", want.closes)
		})
	}
}

var tries int

// meet launches with a fault switched on and compares what came of it.
func meet(t *testing.T, s *awssim.Server, f world.Fault, class cloud.ErrorClass, reason, zone string, closes closedBy) {
	t.Helper()
	var mu sync.Mutex
	labels := map[[3]string]int{}
	p := newProvider(t, s, func(o *aws.Options) {
		o.DisableDryRun = true
		o.LaunchFailed = func(f fleet.PoolError) {
			mu.Lock()
			defer mu.Unlock()
			labels[[3]string{f.Zone, f.CapacityType, f.Reason}]++
			if (f.Zone == "") != (f.ZoneID == "") {
				t.Errorf("zone %q has the id %q", f.Zone, f.ZoneID)
			}
		}
	})
	ready(t, p)
	c := newClass(s)
	resolve(t, p, c)
	id := s.World.AddFault(f)
	defer s.World.RemoveFault(id)
	tries++ // a claim of its own: EC2 would give the same answer again
	claim := newClaim(tries, need(corev1.LabelInstanceTypeStable, corev1.NodeSelectorOpIn, "m5.large"), need(corev1.LabelTopologyZone, corev1.NodeSelectorOpIn, "us-east-1a"),
		need(karpv1.CapacityTypeLabelKey, corev1.NodeSelectorOpIn, catalog.OnDemand))
	_, err := p.Launch(t.Context(), claim, c)
	e, ok := err.(*cloud.Error) // the outermost is what the NodeClaim's condition is made of
	if !ok || e.Class != class || e.Reason != reason {
		t.Errorf("got %v, %s; want class %s and reason %s", err, cloud.ClassOf(err), class, reason)
	}
	mu.Lock()
	if got := slices.Collect(maps.Keys(labels)); !cmp.Equal(got, [][3]string{{zone, catalog.OnDemand, reason}}) {
		t.Errorf("the metric counts %v, want zone %q and reason %s", got, zone, reason)
	}
	mu.Unlock()
	types, err := p.Types(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	got := closedBy{}
	for _, typ := range types {
		for _, o := range typ.Offerings {
			for name, w := range watched {
				if typ.Name == w.instanceType && o.Zone == w.zone && o.CapacityType == w.capacityType && !o.Available {
					got[name] = true
				}
			}
		}
	}
	if diff := cmp.Diff(closes, got); diff != "" {
		t.Errorf("closed (-want +got):\n%s", diff)
	}
}
