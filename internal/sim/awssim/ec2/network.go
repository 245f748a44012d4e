package ec2

import (
	"slices"
	"strconv"

	"github.com/kerf-sh/kerf/internal/sim/awssim/wire"
	"github.com/kerf-sh/kerf/internal/sim/awssim/world"
)

// describeLimits are those of most Describe operations: pages of 5 to 1000, everything when not asked for pages.
var describeLimits = limits{min: 5, max: 1000}

type describeSubnetsInput struct {
	paging
	Filters []filter `query:"Filter"`
	IDs     []string `query:"SubnetId"`
}

type describeSubnetsOutput struct {
	Subnets   []subnet `xml:"subnetSet>item"`
	NextToken string   `xml:"nextToken,omitempty"`
}

type subnet struct {
	SubnetID                string    `xml:"subnetId"`
	SubnetARN               string    `xml:"subnetArn"`
	OwnerID                 string    `xml:"ownerId"`
	State                   string    `xml:"state"`
	VpcID                   string    `xml:"vpcId"`
	CidrBlock               string    `xml:"cidrBlock"`
	AvailableIPAddressCount int       `xml:"availableIpAddressCount"`
	AvailabilityZone        string    `xml:"availabilityZone"`
	AvailabilityZoneID      string    `xml:"availabilityZoneId"`
	DefaultForAz            bool      `xml:"defaultForAz"`
	MapPublicIPOnLaunch     bool      `xml:"mapPublicIpOnLaunch"`
	AssignIpv6              bool      `xml:"assignIpv6AddressOnCreation"`
	OutpostARN              string    `xml:"outpostArn,omitempty"`
	Tags                    []tagItem `xml:"tagSet>item"`
}

var subnetFilters = filterable[world.Subnet]{
	attributes: map[string]func(*world.Subnet) []string{
		"availability-zone":          one(func(s *world.Subnet) string { return s.Zone }),
		"availabilityZone":           one(func(s *world.Subnet) string { return s.Zone }),
		"availability-zone-id":       one(func(s *world.Subnet) string { return s.ZoneID }),
		"availabilityZoneId":         one(func(s *world.Subnet) string { return s.ZoneID }),
		"available-ip-address-count": one(func(s *world.Subnet) string { return strconv.Itoa(s.Free) }),
		"cidr-block":                 one(func(s *world.Subnet) string { return s.CIDR.String() }),
		"default-for-az":             yesNo(func(*world.Subnet) bool { return false }),
		"map-public-ip-on-launch":    yesNo(func(s *world.Subnet) bool { return s.Public }),
		"state":                      one(func(*world.Subnet) string { return "available" }),
		"subnet-id":                  one(func(s *world.Subnet) string { return s.ID }),
		"vpc-id":                     one(func(s *world.Subnet) string { return s.VPCID }),
	},
	tags: func(s *world.Subnet) map[string]string { return s.Tags },
}

func (s *service) describeSubnets(_ *wire.Request, in *describeSubnetsInput) (any, error) {
	all, token, err := describe(s.world.Subnets(), in.IDs, in.Filters, in.paging, describing[world.Subnet]{
		id: func(v *world.Subnet) string { return v.ID }, filters: subnetFilters, limits: describeLimits,
		missing: "InvalidSubnetID.NotFound", what: "subnet ID",
	})
	if err != nil {
		return nil, err
	}
	out := describeSubnetsOutput{NextToken: token}
	for _, v := range all {
		out.Subnets = append(out.Subnets, subnet{
			SubnetID: v.ID, SubnetARN: s.arn("subnet/" + v.ID), OwnerID: s.world.Account(), State: "available", VpcID: v.VPCID,
			CidrBlock: v.CIDR.String(), AvailableIPAddressCount: v.Free, AvailabilityZone: v.Zone, AvailabilityZoneID: v.ZoneID,
			MapPublicIPOnLaunch: v.Public, OutpostARN: v.OutpostARN, Tags: tagItems(v.Tags),
		})
	}
	return out, nil
}

type modifySubnetAttributeInput struct {
	ID     string `query:"SubnetId"`
	Public struct {
		Value *bool `query:"Value"`
	} `query:"MapPublicIpOnLaunch"`
}

// modifySubnetAttribute changes whether a subnet gives public addresses. EC2 changes one attribute a call; the others it
// has, such as IPv6 ranges, are not here.
func (s *service) modifySubnetAttribute(r *wire.Request, in *modifySubnetAttributeInput) (any, error) {
	switch {
	case in.ID == "":
		return nil, wire.Errorf("MissingParameter", "The request must contain the parameter SubnetId")
	case in.Public.Value == nil:
		return nil, wire.Errorf("MissingParameter", "The request must contain an attribute of the subnet to modify")
	case r.DryRun():
		return nil, wire.DryRunOperation()
	}
	if err := s.world.SetPublicOnLaunch(in.ID, *in.Public.Value); err != nil {
		return nil, err
	}
	return done{true}, nil
}

func (s *service) arn(rest string) string {
	return "arn:" + s.world.Partition() + ":ec2:" + s.world.Region() + ":" + s.world.Account() + ":" + rest
}

// describing says how an operation finds, filters and pages its things.
type describing[T any] struct {
	id      func(*T) string
	filters filterable[T]
	limits  limits
	missing string // error code for an unknown id
	what    string // what an id is called in that error
	// exclusive refuses pages together with ids.
	exclusive bool
}

func describe[T any](all []T, ids []string, filters []filter, p paging, d describing[T]) ([]T, string, error) {
	if len(ids) > 0 {
		if d.exclusive && (p.MaxResults != nil || p.NextToken != "") {
			return nil, "", wire.Errorf("InvalidParameterCombination",
				"The parameter MaxResults cannot be used together with a list of %ss in the same request", d.what)
		}
		all = slices.DeleteFunc(all, func(v T) bool { return !slices.Contains(ids, d.id(&v)) })
		for _, id := range ids {
			if !slices.ContainsFunc(all, func(v T) bool { return d.id(&v) == id }) {
				return nil, "", wire.Errorf(d.missing, "The %s '%s' does not exist", d.what, id)
			}
		}
	}
	all, err := d.filters.choose(all, filters)
	if err != nil {
		return nil, "", err
	}
	return page(all, d.id, p, d.limits)
}

type describeSecurityGroupsInput struct {
	paging
	Filters []filter `query:"Filter"`
	IDs     []string `query:"GroupId"`
	Names   []string `query:"GroupName"`
}

type describeSecurityGroupsOutput struct {
	Groups    []securityGroup `xml:"securityGroupInfo>item"`
	NextToken string          `xml:"nextToken,omitempty"`
}

type securityGroup struct {
	GroupID     string    `xml:"groupId"`
	ARN         string    `xml:"securityGroupArn"`
	Name        string    `xml:"groupName"`
	Description string    `xml:"groupDescription"`
	OwnerID     string    `xml:"ownerId"`
	VpcID       string    `xml:"vpcId"`
	Egress      []ipRule  `xml:"ipPermissionsEgress>item"`
	Tags        []tagItem `xml:"tagSet>item"`
}

// ipRule is a rule of a security group.
type ipRule struct {
	Protocol string    `xml:"ipProtocol"`
	Ranges   []ipRange `xml:"ipRanges>item"`
}

type ipRange struct {
	CIDR string `xml:"cidrIp"`
}

// egress is what a new security group lets out: everything. Nothing here changes it.
var egress = []ipRule{{Protocol: "-1", Ranges: []ipRange{{CIDR: "0.0.0.0/0"}}}}

var securityGroupFilters = filterable[world.SecurityGroup]{
	attributes: map[string]func(*world.SecurityGroup) []string{
		"description": one(func(g *world.SecurityGroup) string { return g.Description }),
		"group-id":    one(func(g *world.SecurityGroup) string { return g.ID }),
		"group-name":  one(func(g *world.SecurityGroup) string { return g.Name }),
		"vpc-id":      one(func(g *world.SecurityGroup) string { return g.VPCID }),
	},
	tags: func(g *world.SecurityGroup) map[string]string { return g.Tags },
}

func (s *service) describeSecurityGroups(_ *wire.Request, in *describeSecurityGroupsInput) (any, error) {
	if len(in.Names) > 0 {
		in.Filters = append(in.Filters, filter{"group-name", in.Names})
	}
	all, token, err := describe(s.world.SecurityGroups(), in.IDs, in.Filters, in.paging, describing[world.SecurityGroup]{
		id: func(g *world.SecurityGroup) string { return g.ID }, filters: securityGroupFilters, limits: describeLimits,
		missing: "InvalidGroup.NotFound", what: "security group",
	})
	if err != nil {
		return nil, err
	}
	out := describeSecurityGroupsOutput{NextToken: token}
	for _, g := range all {
		out.Groups = append(out.Groups, securityGroup{
			GroupID: g.ID, ARN: s.arn("security-group/" + g.ID), Name: g.Name, Description: g.Description, OwnerID: s.world.Account(),
			VpcID: g.VPCID, Egress: egress, Tags: tagItems(g.Tags),
		})
	}
	return out, nil
}

type describeVpcsInput struct {
	paging
	Filters []filter `query:"Filter"`
	IDs     []string `query:"VpcId"`
}

type describeVpcsOutput struct {
	Vpcs      []vpc  `xml:"vpcSet>item"`
	NextToken string `xml:"nextToken,omitempty"`
}

type vpc struct {
	VpcID     string    `xml:"vpcId"`
	OwnerID   string    `xml:"ownerId"`
	State     string    `xml:"state"`
	CidrBlock string    `xml:"cidrBlock"`
	Tenancy   string    `xml:"instanceTenancy"`
	IsDefault bool      `xml:"isDefault"`
	Tags      []tagItem `xml:"tagSet>item"`
}

var vpcFilters = filterable[world.VPC]{
	attributes: map[string]func(*world.VPC) []string{
		"cidr":       one(func(v *world.VPC) string { return v.CIDR.String() }),
		"is-default": yesNo(func(v *world.VPC) bool { return v.Default }),
		"state":      one(func(*world.VPC) string { return "available" }),
		"vpc-id":     one(func(v *world.VPC) string { return v.ID }),
	},
	tags: func(v *world.VPC) map[string]string { return v.Tags },
}

func (s *service) describeVpcs(_ *wire.Request, in *describeVpcsInput) (any, error) {
	all, token, err := describe(s.world.VPCs(), in.IDs, in.Filters, in.paging, describing[world.VPC]{
		id: func(v *world.VPC) string { return v.ID }, filters: vpcFilters, limits: describeLimits, missing: "InvalidVpcID.NotFound", what: "vpc ID",
	})
	if err != nil {
		return nil, err
	}
	out := describeVpcsOutput{NextToken: token}
	for _, v := range all {
		out.Vpcs = append(out.Vpcs, vpc{v.ID, s.world.Account(), "available", v.CIDR.String(), "default", v.Default, tagItems(v.Tags)})
	}
	return out, nil
}

type describeAvailabilityZonesInput struct {
	Filters []filter `query:"Filter"`
	IDs     []string `query:"ZoneId"`
	Names   []string `query:"ZoneName"`
	All     bool     `query:"AllAvailabilityZones"`
}

type describeAvailabilityZonesOutput struct {
	Zones []zone `xml:"availabilityZoneInfo>item"`
}

type zone struct {
	Name        string `xml:"zoneName"`
	ID          string `xml:"zoneId"`
	Type        string `xml:"zoneType"`
	State       string `xml:"zoneState"`
	Region      string `xml:"regionName"`
	Group       string `xml:"groupName"`
	BorderGroup string `xml:"networkBorderGroup"`
	OptIn       string `xml:"optInStatus"`
}

var zoneFilters = filterable[world.Zone]{attributes: map[string]func(*world.Zone) []string{
	"opt-in-status": one(func(*world.Zone) string { return "opt-in-not-required" }),
	"state":         one(func(z *world.Zone) string { return z.State }),
	"zone-id":       one(func(z *world.Zone) string { return z.ID }),
	"zone-name":     one(func(z *world.Zone) string { return z.Name }),
	"zone-type":     one(func(z *world.Zone) string { return z.Type }),
}}

func (s *service) describeAvailabilityZones(_ *wire.Request, in *describeAvailabilityZonesInput) (any, error) {
	all := s.world.Zones()
	byID := describing[world.Zone]{
		id: func(z *world.Zone) string { return z.ID }, filters: zoneFilters, missing: "InvalidParameterValue", what: "availability zone ID",
	}
	byName := byID
	byName.id, byName.what = func(z *world.Zone) string { return z.Name }, "availability zone"
	all, _, err := describe(all, in.IDs, in.Filters, paging{}, byID)
	if err == nil {
		all, _, err = describe(all, in.Names, nil, paging{}, byName)
	}
	if err != nil {
		return nil, err
	}
	out := describeAvailabilityZonesOutput{}
	for _, z := range all {
		r := s.world.Region()
		out.Zones = append(out.Zones, zone{z.Name, z.ID, z.Type, z.State, r, r, r, "opt-in-not-required"})
	}
	return out, nil
}

type describeRegionsInput struct {
	Filters []filter `query:"Filter"`
	Names   []string `query:"RegionName"`
	All     bool     `query:"AllRegions"` // none needs an opt-in here
}

type describeRegionsOutput struct {
	Regions []region `xml:"regionInfo>item"`
}

type region struct {
	Name     string `xml:"regionName"`
	Endpoint string `xml:"regionEndpoint"`
	OptIn    string `xml:"optInStatus"`
}

var regionFilters = filterable[string]{attributes: map[string]func(*string) []string{
	"endpoint":      one(func(name *string) string { return "ec2." + *name + ".amazonaws.com" }),
	"opt-in-status": one(func(*string) string { return "opt-in-not-required" }),
	"region-name":   one(func(name *string) string { return *name }),
}}

// describeRegions knows the one region that is simulated.
func (s *service) describeRegions(_ *wire.Request, in *describeRegionsInput) (any, error) {
	all, _, err := describe([]string{s.world.Region()}, in.Names, in.Filters, paging{}, describing[string]{
		id: func(name *string) string { return *name }, filters: regionFilters, missing: "InvalidParameterValue", what: "region",
	})
	if err != nil {
		return nil, err
	}
	out := describeRegionsOutput{}
	for _, name := range all {
		out.Regions = append(out.Regions, region{name, "ec2." + name + ".amazonaws.com", "opt-in-not-required"})
	}
	return out, nil
}
