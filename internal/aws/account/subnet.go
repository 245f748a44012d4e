package account

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/kerf-sh/kerf/internal/aws/awserr"
)

// Subnet is one with the addresses that are left in it.
type Subnet struct {
	ID, Zone, CIDR string
	Free           int
}

// Subnets reads how many addresses are left in subnets.
//
// Errors: *cloud.Error.
func Subnets(ctx context.Context, api ec2.DescribeSubnetsAPIClient, ids []string) ([]Subnet, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	var out []Subnet
	pages := ec2.NewDescribeSubnetsPaginator(api, &ec2.DescribeSubnetsInput{Filters: []types.Filter{{Name: new("subnet-id"), Values: ids}}})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, awserr.Wrap("reading subnets", err)
		}
		for _, s := range page.Subnets {
			out = append(out, Subnet{ID: deref(s.SubnetId), Zone: deref(s.AvailabilityZone), CIDR: deref(s.CidrBlock), Free: int(deref(s.AvailableIpAddressCount))})
		}
	}
	return out, nil
}
