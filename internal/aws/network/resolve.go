package network

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	awsv1 "github.com/kerf-sh/kerf/api/aws/v1"
	"github.com/kerf-sh/kerf/internal/aws/awserr"
	"github.com/kerf-sh/kerf/internal/state/cloud"
)

// Subnets finds the subnets of a class, those with the most free addresses first. The finding is on SubnetsReady; when it
// is unknown the subnets are those of the status.
func (r *Resolver) Subnets(ctx context.Context, class *awsv1.EC2NodeClass) ([]awsv1.Subnet, cloud.Finding) {
	var terms []term
	for _, t := range class.Spec.SubnetSelectorTerms {
		terms = append(terms, term{id: t.ID, tags: t.Tags})
	}
	queries, note := queriesOf("subnetSelectorTerms", terms)
	byID := map[string]subnet{}
	for _, q := range queries {
		found, err := r.subnets.get(ctx, q.key(), func(ctx context.Context) ([]subnet, error) { return r.describeSubnets(ctx, q) })
		if err != nil {
			return class.Status.Subnets, outcome(awsv1.ConditionTypeSubnetsReady, "", 0, "", note, err)
		}
		for _, s := range found {
			byID[s.ID] = s
		}
	}
	all := make([]subnet, 0, len(byID))
	for _, s := range byID {
		all = append(all, s)
	}
	slices.SortFunc(all, func(a, b subnet) int { return cmp.Or(cmp.Compare(b.free, a.free), strings.Compare(a.ID, b.ID)) })
	var out []awsv1.Subnet
	for _, s := range all {
		out = append(out, s.Subnet)
	}
	if left := r.leftOut(out); len(left) > 0 {
		left = append([]string{note}, "not used for launches, as they are on an Outpost and the class selects other subnets in their zones: "+strings.Join(left, ", "))
		note = strings.TrimPrefix(strings.Join(left, "; "), "; ")
	}
	return out, outcome(awsv1.ConditionTypeSubnetsReady, awsv1.ReasonSubnetsNotFound, len(out),
		fmt.Sprintf("EC2NodeClass %s: spec.subnetSelectorTerms selects no subnet of this account and region; check ids and tags", class.Name), note, nil)
}

// Know describes the class's subnets if one of its status has not been described by this process, which has taken over from another:
// the status does not say which are on Outposts. What can't be described counts as ForLaunches says: a launch does not wait for long, and
// those that follow do not ask again at once.
//
// Errors: what SubnetsReady would say of a call that was made and not answered.
func (r *Resolver) Know(ctx context.Context, class *awsv1.EC2NodeClass) error {
	if !slices.ContainsFunc(class.Status.Subnets, func(s awsv1.Subnet) bool { _, ok := r.described.Load(s.ID); return !ok }) {
		return nil
	}
	now := r.subnets.now()
	if at, ok := r.asked.Load(class.UID); ok && now.Sub(at.(time.Time)) < askAgain {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, askWithin)
	defer cancel()
	_, f := r.Subnets(ctx, class)
	r.asked.Store(class.UID, now)
	if f.Unknown {
		return errors.New(f.Message)
	}
	return nil
}

// askWithin is how long Know waits for an answer, askAgain how long after one it does not ask for the same class.
const askWithin, askAgain = 3 * time.Second, 30 * time.Second

// ForLaunches are those of a class's subnets that instances are launched in: all but those of Outposts in zones where there is another. What
// an Outpost lacks would count as lacking in the whole zone. A subnet that was never described counts as one of the region.
func (r *Resolver) ForLaunches(subnets []awsv1.Subnet) []awsv1.Subnet {
	left := r.leftOut(subnets)
	if len(left) == 0 {
		return subnets
	}
	return slices.DeleteFunc(slices.Clone(subnets), func(s awsv1.Subnet) bool { return slices.Contains(left, s.ID) })
}

// leftOut are the IDs of subnets of Outposts in zones where there is another, sorted.
func (r *Resolver) leftOut(subnets []awsv1.Subnet) []string {
	regional := map[string]bool{}
	var outposts []awsv1.Subnet
	for _, s := range subnets {
		if outpost, _ := r.described.Load(s.ID); outpost == true {
			outposts = append(outposts, s)
		} else {
			regional[s.Zone] = true
		}
	}
	var left []string
	for _, s := range outposts {
		if regional[s.Zone] {
			left = append(left, s.ID)
		}
	}
	slices.Sort(left)
	return left
}

func (r *Resolver) describeSubnets(ctx context.Context, q query) ([]subnet, error) {
	var out []subnet
	at := r.subnets.now()
	pages := ec2.NewDescribeSubnetsPaginator(r.api, &ec2.DescribeSubnetsInput{Filters: q.filters("subnet-id"), MaxResults: new(int32(500))})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, awserr.Wrap("describing subnets", err)
		}
		for _, s := range page.Subnets {
			if s.SubnetId == nil || s.AvailabilityZone == nil || s.State != "" && s.State != types.SubnetStateAvailable {
				continue
			}
			free := int(aws.ToInt32(s.AvailableIpAddressCount))
			r.described.Store(*s.SubnetId, aws.ToString(s.OutpostArn) != "")
			r.ledger.Observe(*s.SubnetId, free, at)
			out = append(out, subnet{
				vpc:    aws.ToString(s.VpcId),
				Subnet: awsv1.Subnet{ID: *s.SubnetId, Zone: *s.AvailabilityZone, ZoneID: aws.ToString(s.AvailabilityZoneId)},
				free:   free,
			})
		}
	}
	return out, nil
}

// SecurityGroups finds the security groups of a class, sorted by id. The finding is on SecurityGroupsReady; when it is
// unknown the groups are those of the status.
func (r *Resolver) SecurityGroups(ctx context.Context, class *awsv1.EC2NodeClass) ([]awsv1.SecurityGroup, cloud.Finding) {
	var terms []term
	for _, t := range class.Spec.SecurityGroupSelectorTerms {
		terms = append(terms, term{id: t.ID, name: t.Name, tags: t.Tags})
	}
	queries, note := queriesOf("securityGroupSelectorTerms", terms)
	var out []awsv1.SecurityGroup
	for _, q := range queries {
		found, err := r.groups.get(ctx, q.key(), func(ctx context.Context) ([]group, error) { return r.describeGroups(ctx, q) })
		if err != nil {
			return class.Status.SecurityGroups, outcome(awsv1.ConditionTypeSecurityGroupsReady, "", 0, "", note, err)
		}
		for _, g := range found {
			out = append(out, g.SecurityGroup)
		}
	}
	slices.SortFunc(out, func(a, b awsv1.SecurityGroup) int { return strings.Compare(a.ID, b.ID) })
	out = slices.CompactFunc(out, func(a, b awsv1.SecurityGroup) bool { return a.ID == b.ID })
	return out, outcome(awsv1.ConditionTypeSecurityGroupsReady, awsv1.ReasonSecurityGroupsNotFound, len(out),
		fmt.Sprintf("EC2NodeClass %s: spec.securityGroupSelectorTerms selects no security group of this account and region; check ids, names and tags", class.Name), note, nil)
}

func (r *Resolver) describeGroups(ctx context.Context, q query) ([]group, error) {
	var out []group
	pages := ec2.NewDescribeSecurityGroupsPaginator(r.api, &ec2.DescribeSecurityGroupsInput{Filters: q.filters("group-id"), MaxResults: new(int32(500))})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, awserr.Wrap("describing security groups", err)
		}
		for _, g := range page.SecurityGroups {
			if g.GroupId != nil {
				out = append(out, group{awsv1.SecurityGroup{ID: *g.GroupId, Name: aws.ToString(g.GroupName)}, aws.ToString(g.VpcId)})
			}
		}
	}
	return out, nil
}
