package authz

import "github.com/kerf-sh/kerf/internal/awsmodel/iampolicy"

// arcRules: the resource that is asked about is a condition key, for it may be of any service.
//
// Source: Service Authorization Reference for Amazon Application Recovery Controller - Zonal Shift, checked 2026-11.
func arcRules() map[string]rule {
	return map[string]rule{"arc-zonal-shift:GetManagedResource": func(c *call) []check {
		arn := c.r.Path["resourceIdentifier"]
		return []check{{action: "arc-zonal-shift:GetManagedResource", resource: arn, keys: func(k iampolicy.Context) {
			k["arc-zonal-shift:resourceidentifier"] = []string{arn}
		}}}
	}}
}
