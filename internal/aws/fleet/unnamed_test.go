package fleet

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/smithy-go"
	"github.com/google/go-cmp/cmp"

	awsv1 "github.com/kerf-sh/kerf/api/aws/v1"
	"github.com/kerf-sh/kerf/internal/engine/catalog"
)

// answers is an EC2 that gives one answer.
type answers struct {
	out *ec2.CreateFleetOutput
	err error
}

func (a answers) CreateFleet(context.Context, *ec2.CreateFleetInput, ...func(*ec2.Options)) (*ec2.CreateFleetOutput, error) {
	return a.out, a.err
}

// TestAShortageWithoutAPoolIsOfAllThatWereAskedFor: something has to be closed, or the same is asked for again without a pause.
func TestAShortageWithoutAPoolIsOfAllThatWereAskedFor(t *testing.T) {
	code := func(code string) []types.CreateFleetError {
		return []types.CreateFleetError{{ErrorCode: new(code), ErrorMessage: new("why")}}
	}
	inA := []types.CreateFleetError{{ErrorCode: new("InsufficientInstanceCapacity"), LaunchTemplateAndOverrides: &types.LaunchTemplateAndOverridesResponse{
		Overrides: &types.FleetLaunchTemplateOverrides{InstanceType: "m5.large", SubnetId: new("subnet-a"), AvailabilityZone: new("a")},
	}}}
	one := []types.CreateFleetInstance{{InstanceType: "m5.large", InstanceIds: []string{"i-1"}}}
	all := func(reason string) []string {
		return []string{"m5.large a id-a subnet-a " + reason, "m5.large b id-b subnet-b " + reason, "m6.large a id-a subnet-a " + reason}
	}
	for name, c := range map[string]struct {
		answers answers
		want    []string
		refused bool // it brought nothing, of which pools it is known
	}{
		"nothing, and no error":         {answers{out: &ec2.CreateFleetOutput{}}, all("InsufficientInstanceCapacity"), true},
		"one less, and no error":        {answers{out: &ec2.CreateFleetOutput{Instances: one}}, all("InsufficientInstanceCapacity"), false},
		"an error that names no pool":   {answers{out: &ec2.CreateFleetOutput{Errors: code("UnfulfillableCapacity")}}, all("UnfulfillableCapacity"), true},
		"an error that names one":       {answers{out: &ec2.CreateFleetOutput{Errors: inA}}, []string{"m5.large a id-a subnet-a InsufficientInstanceCapacity"}, true},
		"of a capacity type as a whole": {answers{out: &ec2.CreateFleetOutput{Errors: code("MaxFleetCountExceeded")}}, []string{"    FleetQuotaExceeded"}, true},
		"what must be fixed":            {answers{out: &ec2.CreateFleetOutput{Errors: code("InvalidParameterValue")}}, []string{"    LaunchFailed"}, true},
		"all, with an error": {answers{out: &ec2.CreateFleetOutput{
			Instances: []types.CreateFleetInstance{{InstanceType: "m5.large", InstanceIds: []string{"i-1", "i-2"}}}, Errors: code("InsufficientInstanceCapacity"),
		}}, []string{"    InsufficientInstanceCapacity"}, false},
		"the request is refused":                {answers{err: &smithy.GenericAPIError{Code: "InsufficientInstanceCapacity"}}, all("InsufficientInstanceCapacity"), true},
		"the request is refused, for its quota": {answers{err: &smithy.GenericAPIError{Code: "VcpuLimitExceeded"}}, []string{"    VCPULimitExceeded"}, true},
		"the request may not be made":           {answers{err: &smithy.GenericAPIError{Code: "UnauthorizedOperation"}}, []string{"    Unauthorized"}, true},
	} {
		t.Run(name, func(t *testing.T) {
			line := func(f PoolError) string {
				if f.CapacityType != catalog.Spot {
					t.Errorf("%+v is not of spot", f)
				}
				return fmt.Sprintf("%s %s %s %s %s", f.InstanceType, f.Zone, f.ZoneID, f.SubnetID, f.Reason)
			}
			var failed, refused []string
			b := NewLauncher(c.answers, nil, Options{
				Failed: func(f PoolError) { failed = append(failed, line(f)) },
				Refused: func(_ *Request, failures []PoolError) {
					for _, f := range failures {
						refused = append(refused, line(f))
					}
				},
				Now: func() time.Time { return time.Unix(1000, 0) },
			})
			r := Request{
				CapacityType: catalog.Spot, Subnets: []awsv1.Subnet{{ID: "subnet-a", Zone: "a", ZoneID: "id-a"}, {ID: "subnet-b", Zone: "b", ZoneID: "id-b"}},
				Templates: []Template{
					{Name: "t", Overrides: []Override{{InstanceType: "m5.large", Zone: "a"}, {InstanceType: "m5.large", Zone: "b"}, {InstanceType: "m5.large", Zone: "without-subnet"}}},
					{Name: "u", Overrides: []Override{{InstanceType: "m6.large", Zone: "a"}}},
				},
			}
			orders := []*order{{Order: Order{UID: "1", Request: r}, done: make(chan struct{})}, {Order: Order{UID: "2", Request: r}, done: make(chan struct{})}}
			for _, o := range orders {
				b.claims[o.UID] = &claim{running: o}
			}
			b.launchBatch(t.Context(), "", orders)
			slices.Sort(failed)
			slices.Sort(refused)
			if diff := cmp.Diff(c.want, failed); diff != "" {
				t.Errorf("failed (-want +got):\n%s", diff)
			}
			if c.refused != (len(refused) > 0) || c.refused && !slices.Equal(refused, failed) {
				t.Errorf("refused %q", refused)
			}
		})
	}
}
