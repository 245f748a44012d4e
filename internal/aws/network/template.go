package network

import (
	"context"
	"fmt"
	"slices"
	"strings"

	awsv1 "github.com/kerf-sh/kerf/api/aws/v1"
	"github.com/kerf-sh/kerf/internal/state/cloud"
)

// TemplateGroups are the security groups of instances that are launched from a user's template: those that it names or, if
// it names none, the default group of the VPC of the class's subnets. They must be of that VPC. The finding is on
// SecurityGroupsReady.
func (r *Resolver) TemplateGroups(ctx context.Context, class *awsv1.EC2NodeClass, ids []string) ([]awsv1.SecurityGroup, cloud.Finding) {
	no := func(format string, args ...any) ([]awsv1.SecurityGroup, cloud.Finding) {
		return nil, cloud.Finding{Condition: awsv1.ConditionTypeSecurityGroupsReady, Reason: awsv1.ReasonSecurityGroupsNotFound,
			Message: "EC2NodeClass " + class.Name + ": " + fmt.Sprintf(format, args...)}
	}
	unknown := func(err error) ([]awsv1.SecurityGroup, cloud.Finding) {
		return class.Status.SecurityGroups, outcome(awsv1.ConditionTypeSecurityGroupsReady, "", 0, "", "", err)
	}
	vpcs, err := r.vpcs(ctx, class)
	if err != nil {
		return unknown(err)
	}
	if len(vpcs) > 1 {
		return no("spec.subnetSelectorTerms selects subnets of %d VPCs (%s): instances of one launch template are in one", len(vpcs), strings.Join(vpcs, ", "))
	}
	q := query{ids: slices.Sorted(slices.Values(ids))}
	if len(ids) == 0 {
		if len(vpcs) == 0 {
			return no("the launch template names no security group, and without subnets it is not known of which VPC the default group is")
		}
		q = query{names: []string{"default"}, vpc: vpcs[0]}
	}
	found, err := r.groups.get(ctx, q.key(), func(ctx context.Context) ([]group, error) { return r.describeGroups(ctx, q) })
	if err != nil {
		return unknown(err)
	}
	var out []awsv1.SecurityGroup
	for _, g := range found {
		if len(vpcs) == 1 && g.vpc != vpcs[0] {
			return no("security group %s of the launch template is in VPC %s, and the subnets of the class are in %s: name groups of the cluster's VPC", g.ID, g.vpc, vpcs[0])
		}
		out = append(out, g.SecurityGroup)
	}
	slices.SortFunc(out, func(a, b awsv1.SecurityGroup) int { return strings.Compare(a.ID, b.ID) })
	for _, id := range ids {
		if !slices.ContainsFunc(out, func(g awsv1.SecurityGroup) bool { return g.ID == id }) {
			return no("the launch template names security group %s, which is not there", id)
		}
	}
	if len(out) == 0 {
		return no("VPC %s has no default security group: name groups in the launch template", vpcs[0])
	}
	return out, cloud.Finding{Condition: awsv1.ConditionTypeSecurityGroupsReady, OK: true}
}

// vpcs are those of the subnets that a class selects, sorted.
func (r *Resolver) vpcs(ctx context.Context, class *awsv1.EC2NodeClass) ([]string, error) {
	var terms []term
	for _, t := range class.Spec.SubnetSelectorTerms {
		terms = append(terms, term{id: t.ID, tags: t.Tags})
	}
	queries, _ := queriesOf("subnetSelectorTerms", terms)
	var out []string
	for _, q := range queries {
		found, err := r.subnets.get(ctx, q.key(), func(ctx context.Context) ([]subnet, error) { return r.describeSubnets(ctx, q) })
		if err != nil {
			return nil, err
		}
		for _, s := range found {
			if s.vpc != "" && !slices.Contains(out, s.vpc) {
				out = append(out, s.vpc)
			}
		}
	}
	slices.Sort(out)
	return out, nil
}
