package fleet

import (
	"slices"
	"strings"

	"github.com/kerf-sh/kerf/internal/aws/awserr"
	"github.com/kerf-sh/kerf/internal/aws/offering"
	"github.com/kerf-sh/kerf/internal/engine/catalog"
)

// quotaHint says which quotas were in the way, under the names by which they are raised. Empty when none was.
func quotaHint(failures []PoolError) string {
	var names []string
	for _, f := range failures {
		if name := quotaOf(f); name != "" && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return ""
	}
	slices.Sort(names)
	return "; to have more, raise in the console of Service Quotas for this region: " + strings.Join(names, ", ")
}

// quotaOf is the name of the quota that a pool failed for.
//
// Source: Service Quotas, service Amazon EC2, names of the quotas.
func quotaOf(f PoolError) string {
	switch f.Reason {
	case awserr.ReasonFleetQuotaExceeded:
		return `"EC2 Fleets per Region"`
	case awserr.ReasonVCPULimitExceeded, awserr.ReasonSpotQuotaExceeded:
	default:
		return ""
	}
	if f.InstanceType == "" {
		return "the vCPU quota of " + f.CapacityType + " instances"
	}
	families := map[string]string{
		"standard": "Standard (A, C, D, H, I, M, R, T, Z)", "g": "G and VT", "p": "P", "x": "X", "f": "F", "inf": "Inf", "trn": "Trn",
		"dl": "DL", "u": "High Memory", "hpc": "HPC",
	}
	group := offering.QuotaGroup(f.InstanceType)
	name, known := families[group]
	if !known {
		name = group
	}
	if f.CapacityType == catalog.Spot {
		return `"All ` + name + ` Spot Instance Requests"`
	}
	return `"Running On-Demand ` + name + ` instances"`
}
