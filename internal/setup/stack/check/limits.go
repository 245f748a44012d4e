package check

import (
	"fmt"
	"slices"

	"github.com/kerf-sh/kerf/internal/awsmodel/awssetup"
	"github.com/kerf-sh/kerf/internal/awsmodel/iampolicy"
)

// Limits of IAM and EKS.
// Source: IAM user guide, "IAM and AWS STS quotas"; EKS user guide, "Cluster name".
const (
	maxInline      = 10240 // characters of all inline policies of a role, without white space
	maxAttached    = 10    // managed policies of a role, unless AWS has raised it
	maxClusterName = 100
)

// limits judges what AWS refuses for its size.
func (c *Comparison) limits() {
	for _, p := range c.Found.Policies {
		n := p.Characters
		if n == 0 && p.Document != nil {
			n = iampolicy.Size(p.Document.JSON())
		}
		if n > iampolicy.ManagedPolicyLimit {
			c.add(Finding{
				Severity: Different, Area: AreaLimits, Thing: p.Name, Policy: p.Name,
				What: fmt.Sprintf("it has %d characters without white space, IAM takes %d", n, iampolicy.ManagedPolicyLimit),
				Why:  "IAM refuses the policy", Fix: "cut it in two between statements, as kerf stack does",
			})
		}
	}
	for _, r := range c.Found.Roles {
		c.roleLimits(r)
	}
	if n := len(c.Report.Cluster); n > maxClusterName {
		c.add(Finding{
			Severity: Different, Area: AreaLimits, Thing: c.Report.Cluster, What: fmt.Sprintf("the cluster's name has %d characters, EKS takes %d", n, maxClusterName),
			Why: "EKS refuses it", Fix: "use a shorter name",
		})
	}
}

func (c *Comparison) roleLimits(r awssetup.Role) {
	if n := len(r.Name); n > maxRoleName {
		c.add(Finding{
			Severity: Different, Area: AreaLimits, Thing: r.Name, What: fmt.Sprintf("the role's name has %d characters, IAM takes %d", n, maxRoleName),
			Why: "IAM refuses the role", Fix: "use a shorter name (--node-role-name, --controller-role-name)",
		})
	}
	n := 0
	for _, p := range r.Inline {
		n += iampolicy.Size(p.Document.JSON())
	}
	if n > maxInline {
		c.add(Finding{
			Severity: Different, Area: AreaLimits, Thing: r.Name, What: fmt.Sprintf("its inline policies have %d characters without white space, IAM takes %d", n, maxInline),
			Why: "IAM refuses the last of them", Fix: "use managed policies",
		})
	}
	attached := slices.Clone(r.ManagedPolicyARNs)
	for _, p := range c.Found.Policies {
		if slices.Contains(p.AttachedTo, r.Name) {
			attached = appendNew(attached, p.ARN)
		}
	}
	if len(attached) > maxAttached {
		c.add(Finding{
			Severity: Different, Area: AreaLimits, Thing: r.Name, What: fmt.Sprintf("%d managed policies are attached to it, IAM takes %d", len(attached), maxAttached),
			Why: "IAM refuses the last of them, unless the account's quota was raised", Fix: "join policies, or use inline ones",
		})
	}
}
