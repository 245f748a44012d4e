package fleet

import (
	"testing"

	"github.com/kerf-sh/kerf/internal/aws/awserr"
	"github.com/kerf-sh/kerf/internal/aws/offering"
)

// TestTheQuotaOfARefusalIsNamed as Service Quotas does, with its value where EC2 says it.
func TestTheQuotaOfARefusalIsNamed(t *testing.T) {
	const vcpus, spots = awserr.ReasonVCPULimitExceeded, awserr.ReasonSpotQuotaExceeded
	message := "You have requested more vCPU capacity than your current vCPU limit of 32 allows for the instance bucket that the specified instance type belongs to."
	for name, tt := range map[string]struct {
		failed PoolError
		want   offering.Quota
		text   string
	}{
		"on-demand": {
			PoolError{CapacityType: "on-demand", InstanceType: "m5.large", Reason: vcpus, Message: message},
			offering.Quota{Name: "Running On-Demand Standard (A, C, D, H, I, M, R, T, Z) instances", Code: "L-1216C47A", Limit: 32},
			"Running On-Demand Standard (A, C, D, H, I, M, R, T, Z) instances (L-1216C47A: 32 vCPUs)",
		},
		"spot, of which EC2 says no value": {
			PoolError{CapacityType: "spot", InstanceType: "g5.xlarge", Reason: spots, Message: "Max spot instance count exceeded"},
			offering.Quota{Name: "All G and VT Spot Instance Requests", Code: "L-3819A6DF"}, "All G and VT Spot Instance Requests (L-3819A6DF)",
		},
		"a family without a code":        {PoolError{CapacityType: "on-demand", InstanceType: "mac2.metal", Reason: vcpus}, offering.Quota{Name: "Running On-Demand mac instances"}, "Running On-Demand mac instances"},
		"the request as a whole":         {PoolError{CapacityType: "on-demand", Reason: vcpus, Message: message}, offering.Quota{Name: "the vCPU quota of on-demand instances", Limit: 32}, "the vCPU quota of on-demand instances (32 vCPUs)"},
		"the number of fleets":           {PoolError{CapacityType: "spot", Reason: awserr.ReasonFleetQuotaExceeded}, offering.Quota{Name: "EC2 Fleets per Region"}, "EC2 Fleets per Region"},
		"capacity, which no quota is of": {PoolError{CapacityType: "spot", InstanceType: "m5.large", Reason: awserr.ReasonInsufficientCapacity, Message: message}, offering.Quota{}, ""},
	} {
		got := tt.failed.Quota()
		if got != tt.want || got.String() != tt.text {
			t.Errorf("%s: %+v, %q", name, got, got.String())
		}
	}
}
