package account

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/kerf-sh/kerf/internal/aws/awserr"
)

// SecurityGroup is one with what it lets out.
type SecurityGroup struct {
	ID, Name string
	Egress   []Egress
}

// Egress is a rule of what a security group lets out, to whomever.
type Egress struct {
	Protocol string // tcp, udp, icmp, a number, or -1 for all
	From, To int32  // ports; without meaning for all protocols
}

// Lets tells whether the rule lets a protocol out to a port.
func (e Egress) Lets(protocol string, port int32) bool {
	return e.Protocol == "-1" || e.Protocol == protocol && e.From <= port && port <= e.To
}

// SecurityGroups reads what security groups let out. Those that don't exist are left out.
//
// Errors: *cloud.Error.
func SecurityGroups(ctx context.Context, api ec2.DescribeSecurityGroupsAPIClient, ids []string) ([]SecurityGroup, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	var out []SecurityGroup
	pages := ec2.NewDescribeSecurityGroupsPaginator(api, &ec2.DescribeSecurityGroupsInput{Filters: []types.Filter{{Name: new("group-id"), Values: ids}}})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, awserr.Wrap("reading security groups", err)
		}
		for _, g := range page.SecurityGroups {
			group := SecurityGroup{ID: deref(g.GroupId), Name: deref(g.GroupName)}
			for _, p := range g.IpPermissionsEgress {
				if len(p.IpRanges)+len(p.Ipv6Ranges)+len(p.PrefixListIds)+len(p.UserIdGroupPairs) == 0 {
					continue // it lets nothing out to nobody
				}
				group.Egress = append(group.Egress, Egress{Protocol: protocolName(deref(p.IpProtocol)), From: deref(p.FromPort), To: deref(p.ToPort)})
			}
			out = append(out, group)
		}
	}
	return out, nil
}

// protocolName is how EC2 writes the protocols that it also knows by number.
func protocolName(s string) string {
	switch s {
	case "6":
		return "tcp"
	case "17":
		return "udp"
	}
	return s
}
