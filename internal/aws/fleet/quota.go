package fleet

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/kerf-sh/kerf/internal/aws/awserr"
	"github.com/kerf-sh/kerf/internal/aws/offering"
)

// quotaHint says which quotas were in the way, under the names by which they are raised. Empty when none was.
func quotaHint(failures []PoolError) string {
	var names []string
	for i := range failures {
		if q := failures[i].Quota(); q.Name != "" && !slices.Contains(names, q.String()) {
			names = append(names, q.String())
		}
	}
	if len(names) == 0 {
		return ""
	}
	slices.Sort(names)
	return "; to have more, raise in the console of Service Quotas for this region: " + strings.Join(names, ", ")
}

// Quota is the quota that a pool failed for; the zero value for another reason.
func (f *PoolError) Quota() offering.Quota {
	switch f.Reason {
	case awserr.ReasonFleetQuotaExceeded:
		return offering.Quota{Name: "EC2 Fleets per Region"}
	case awserr.ReasonVCPULimitExceeded, awserr.ReasonSpotQuotaExceeded:
	default:
		return offering.Quota{}
	}
	q := offering.Quota{Name: "the vCPU quota of " + f.CapacityType + " instances"}
	if f.InstanceType != "" {
		q = offering.QuotaOf(f.CapacityType, f.InstanceType)
	}
	q.Limit = vCPULimit(f.Message)
	return q
}

// limitOf finds the value of a quota in what EC2 says of it. It says that of on-demand instances only: "your current vCPU limit of 32".
var limitOf = regexp.MustCompile(`vCPU limit of (\d{1,9})\b`)

// vCPULimit is the value of a vCPU quota that EC2 names in a message; 0 where it names none.
func vCPULimit(message string) int {
	found := limitOf.FindStringSubmatch(message)
	if found == nil {
		return 0
	}
	n, err := strconv.Atoi(found[1])
	if err != nil {
		return 0
	}
	return n
}
