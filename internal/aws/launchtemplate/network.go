package launchtemplate

import (
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	awsv1 "github.com/kerf-sh/kerf/api/aws/v1"
)

type nic = types.LaunchTemplateInstanceNetworkInterfaceSpecificationRequest

// networkInterfaces are those of the class, or as many EFA interfaces as were asked for, or one plain one.
func networkInterfaces(in Input) []nic {
	if given := in.Class.Spec.NetworkInterfaces; len(given) > 0 {
		out := make([]nic, len(given))
		for i, n := range given {
			out[i] = newNIC(in, n.NetworkCardIndex, n.DeviceIndex, string(n.InterfaceType))
		}
		return out
	}
	if in.EFAs == 0 {
		n := newNIC(in, 0, 0, "")
		n.NetworkCardIndex = nil
		return []nic{n}
	}
	var out []nic
	if in.PlainFirst {
		out = append(out, newNIC(in, 0, 0, string(awsv1.InterfaceTypeInterface)))
	}
	for range in.EFAs {
		// EFA interfaces on all cards but the first are second devices. Source: EC2 User Guide, EFA on multi-card types.
		card := int32(len(out))
		out = append(out, newNIC(in, card, min(card, 1), "efa"))
	}
	return out
}

func newNIC(in Input, card, device int32, kind string) nic {
	n := nic{NetworkCardIndex: &card, DeviceIndex: &device, Groups: slices.Clone(in.SecurityGroups)}
	if kind != "" {
		n.InterfaceType = &kind
	}
	if kind == string(awsv1.InterfaceTypeEFAOnly) {
		return n // carries no addresses
	}
	n.AssociatePublicIpAddress = in.Class.Spec.AssociatePublicIPAddress
	if c := in.Class.Spec.ConnectionTracking; c != nil {
		n.ConnectionTrackingSpecification = &types.ConnectionTrackingSpecificationRequest{
			TcpEstablishedTimeout: c.TCPEstablishedTimeout,
			UdpStreamTimeout:      c.UDPStreamTimeout,
			UdpTimeout:            c.UDPTimeout,
		}
	}
	prefixes := in.Class.Spec.IPPrefixCount
	if in.IPv6 {
		n.PrimaryIpv6, n.Ipv6AddressCount, n.Ipv6PrefixCount = new(true), new(int32(1)), prefixes
	} else {
		n.Ipv4PrefixCount = prefixes
	}
	return n
}

// noIPv6Metadata are regions whose metadata service does not know the IPv6 option.
var noIPv6Metadata = []string{"us-iso-east-1", "us-iso-west-1", "us-isob-east-1", "us-isob-west-1", "us-isof-south-1", "us-isof-east-1"}

func metadataOptions(o *awsv1.MetadataOptions, region string) *types.LaunchTemplateInstanceMetadataOptionsRequest {
	if o == nil {
		o = &awsv1.MetadataOptions{}
	}
	out := &types.LaunchTemplateInstanceMetadataOptionsRequest{
		HttpEndpoint:            types.LaunchTemplateInstanceMetadataEndpointState(deref(o.HTTPEndpoint, "enabled")),
		HttpProtocolIpv6:        types.LaunchTemplateInstanceMetadataProtocolIpv6(deref(o.HTTPProtocolIPv6, "disabled")),
		HttpPutResponseHopLimit: new(int32(min(max(deref(o.HTTPPutResponseHopLimit, 1), 1), 64))),
		HttpTokens:              types.LaunchTemplateHttpTokensState(deref(o.HTTPTokens, "required")),
		// Keys of our tags hold characters that the metadata service refuses.
		InstanceMetadataTags: types.LaunchTemplateInstanceMetadataTagsStateDisabled,
	}
	if slices.Contains(noIPv6Metadata, region) {
		out.HttpProtocolIpv6 = ""
	}
	return out
}
