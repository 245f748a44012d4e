package network

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	awsv1 "github.com/kerf-sh/kerf/api/aws/v1"
)

// described are the subnets that EC2 describes.
type described struct {
	API
	subnets []types.Subnet
}

func (d described) DescribeSubnets(context.Context, *ec2.DescribeSubnetsInput, ...func(*ec2.Options)) (*ec2.DescribeSubnetsOutput, error) {
	return &ec2.DescribeSubnetsOutput{Subnets: d.subnets}, nil
}

// A subnet of an Outpost is launched in only in zones where the class selects no other, and SubnetsReady says so. The class has it all the
// same: nodes that run there have not drifted.
func TestSubnetsOfOutpostsBesideOthers(t *testing.T) {
	subnet := func(id, zone, outpost string) types.Subnet {
		s := types.Subnet{SubnetId: &id, AvailabilityZone: &zone, AvailableIpAddressCount: new(int32(1000)), State: types.SubnetStateAvailable}
		if outpost != "" {
			s.OutpostArn, s.AvailableIpAddressCount = &outpost, new(int32(4000))
		}
		return s
	}
	const arn = "arn:aws:outposts:us-east-1:123456789012:outpost/op-1"
	for name, tt := range map[string]struct {
		subnets []types.Subnet
		want    []string
		says    string
	}{
		"beside another of the zone": {[]types.Subnet{subnet("s-1", "a", ""), subnet("s-2", "a", arn), subnet("s-3", "b", "")}, []string{"s-1", "s-3"}, "s-2"},
		"alone in its zone":          {[]types.Subnet{subnet("s-1", "a", ""), subnet("s-2", "b", arn)}, []string{"s-2", "s-1"}, ""},
		"nothing but Outposts":       {[]types.Subnet{subnet("s-1", "a", arn), subnet("s-2", "a", arn)}, []string{"s-1", "s-2"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			r := NewResolver(described{subnets: tt.subnets}, NewLedger(nil), time.Minute, nil)
			class := &awsv1.EC2NodeClass{Spec: awsv1.EC2NodeClassSpec{SubnetSelectorTerms: []awsv1.SubnetSelectorTerm{{Tags: map[string]string{"a": "b"}}}}}
			selected, finding := r.Subnets(t.Context(), class)
			if len(selected) != len(tt.subnets) {
				t.Errorf("the class has %v, want all %d subnets", selected, len(tt.subnets))
			}
			var ids []string
			for _, s := range r.ForLaunches(selected) {
				ids = append(ids, s.ID)
			}
			if !slices.Equal(ids, tt.want) || !finding.OK || (finding.Message != "") != (tt.says != "") || !strings.HasSuffix(finding.Message, tt.says) {
				t.Errorf("got %v, %+v; want launches in %v and that %q is left out", ids, finding, tt.want, tt.says)
			}
		})
	}
}
