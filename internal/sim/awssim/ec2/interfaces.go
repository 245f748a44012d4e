package ec2

import (
	"strconv"

	"github.com/kerf-sh/kerf/internal/sim/awssim/wire"
	"github.com/kerf-sh/kerf/internal/sim/awssim/world"
)

type describeNetworkInterfacesInput struct {
	paging
	Filters []filter `query:"Filter"`
	IDs     []string `query:"NetworkInterfaceId"`
}

type describeNetworkInterfacesOutput struct {
	Interfaces []describedInterface `xml:"networkInterfaceSet>item"`
	NextToken  string               `xml:"nextToken,omitempty"`
}

// describedInterface is an interface by itself, which tells more than an instance does of it.
type describedInterface struct {
	networkInterface
	Zone             string    `xml:"availabilityZone"`
	RequesterManaged bool      `xml:"requesterManaged"`
	Tags             []tagItem `xml:"tagSet>item"`

	instance *world.Instance
	tags     map[string]string
}

func ofInstance(get func(*world.Instance) string) func(*describedInterface) []string {
	return func(n *describedInterface) []string { return []string{get(n.instance)} }
}

var interfaceFilters = filterable[describedInterface]{
	attributes: map[string]func(*describedInterface) []string{
		"addresses.private-ip-address": func(n *describedInterface) []string {
			var out []string
			for _, a := range n.Addresses {
				out = append(out, a.Address)
			}
			return out
		},
		"attachment.delete-on-termination": yesNo(func(n *describedInterface) bool { return n.Attachment.DeleteOnTermination }),
		"attachment.device-index":          one(func(n *describedInterface) string { return strconv.Itoa(int(n.Attachment.DeviceIndex)) }),
		"attachment.instance-id":           ofInstance(func(i *world.Instance) string { return i.ID }),
		"attachment.status":                one(func(n *describedInterface) string { return n.Attachment.Status }),
		"availability-zone":                ofInstance(func(i *world.Instance) string { return i.Zone }),
		"description":                      one(func(n *describedInterface) string { return n.Description }),
		"group-id": func(n *describedInterface) []string {
			var out []string
			for _, g := range n.Groups {
				out = append(out, g.ID)
			}
			return out
		},
		"interface-type":       one(func(n *describedInterface) string { return n.InterfaceType }),
		"mac-address":          one(func(n *describedInterface) string { return n.MAC }),
		"network-interface-id": one(func(n *describedInterface) string { return n.ID }),
		"owner-id":             one(func(n *describedInterface) string { return n.OwnerID }),
		"private-dns-name":     one(func(n *describedInterface) string { return n.PrivateDNSName }),
		"private-ip-address":   one(func(n *describedInterface) string { return n.PrivateIP }),
		"requester-managed":    yesNo(func(*describedInterface) bool { return false }),
		"status":               one(func(n *describedInterface) string { return n.Status }),
		"subnet-id":            one(func(n *describedInterface) string { return n.SubnetID }),
		"vpc-id":               one(func(n *describedInterface) string { return n.VpcID }),
	},
	tags: func(n *describedInterface) map[string]string { return n.tags },
}

func (s *service) describeNetworkInterfaces(_ *wire.Request, in *describeNetworkInterfacesInput) (any, error) {
	names := s.groupNames()
	var list []describedInterface
	for _, i := range s.world.Instances() {
		for n := range i.Interfaces {
			x := describedInterface{networkInterface: s.showInterface(&i, n, names), Zone: i.Zone, instance: &i, tags: i.Interfaces[n].Tags}
			x.Attachment.InstanceID, x.Attachment.OwnerID = i.ID, s.world.Account()
			x.Tags = tagItems(x.tags)
			list = append(list, x)
		}
	}
	all, token, err := describe(list, in.IDs, in.Filters, in.paging, describing[describedInterface]{
		id: func(n *describedInterface) string { return n.ID }, filters: interfaceFilters, limits: describeLimits,
		missing: "InvalidNetworkInterfaceID.NotFound", what: "networkInterface ID", exclusive: true,
	})
	if err != nil {
		return nil, err
	}
	return describeNetworkInterfacesOutput{Interfaces: all, NextToken: token}, nil
}
