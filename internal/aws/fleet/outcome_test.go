package fleet

import (
	"errors"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/kerf-sh/kerf/internal/aws/awserr"
	"github.com/kerf-sh/kerf/internal/engine/catalog"
	"github.com/kerf-sh/kerf/internal/state/cloud"
)

// fleetError is what EC2 says of one override of a fleet.
func fleetError(instanceType, code, message string) types.CreateFleetError {
	return types.CreateFleetError{ErrorCode: &code, ErrorMessage: &message, LaunchTemplateAndOverrides: &types.LaunchTemplateAndOverridesResponse{
		Overrides: &types.FleetLaunchTemplateOverrides{InstanceType: types.InstanceType(instanceType), AvailabilityZone: aws.String("a"), SubnetId: aws.String("subnet-1")},
	}}
}

// A claim whose pools lack capacity is planned anew, whatever else one of the pools has: else it is retried with the same pools until
// its launch timeout.
func TestOnePoolsOwnTroubleLeavesTheOthersLack(t *testing.T) {
	for name, c := range map[string]struct {
		code, message string
		class         cloud.ErrorClass
		reason        string
		claim         cloud.ErrorClass
	}{
		"not sold in the zone":                   {"InvalidFleetConfiguration", "Your requested instance type (m5.large) is not supported in your requested Availability Zone (a).", cloud.Exhausted, awserr.ReasonUnsupported, cloud.Exhausted},
		"of a code that the table does not know": {"SomethingNew", "", cloud.Exhausted, awserr.ReasonLaunchFailed, cloud.Exhausted},
		"a configuration":                        {"InvalidFleetConfiguration", "Something is wrong.", cloud.Invalid, awserr.ReasonLaunchFailed, cloud.Invalid},
	} {
		t.Run(name, func(t *testing.T) {
			r := &Request{CapacityType: catalog.Spot}
			failures := failuresOf([]types.CreateFleetError{
				fleetError("c5.large", "InsufficientInstanceCapacity", ""), fleetError("m5.large", c.code, c.message), fleetError("r5.large", "InsufficientInstanceCapacity", ""),
			}, r)
			if f := failures[1]; f.Class != c.class || f.Reason != c.reason || f.InstanceType != "m5.large" || f.Zone != "a" {
				t.Errorf("the pool has %+v, want class %s and reason %s", f, c.class, c.reason)
			}
			if e, ok := errors.AsType[*cloud.Error](failure(failures)); !ok || e.Class != c.claim {
				t.Errorf("the claim has %v of class %s, want %s", e, e.Class, c.claim)
			}
		})
	}
}
