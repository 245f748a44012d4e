package ec2

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsec2 "github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/kerf-sh/kerf/internal/sim/awssim/world"
)

type nic = types.LaunchTemplateInstanceNetworkInterfaceSpecificationRequest

var networkTypes = []string{"m5.large", "m4.large", "c5n.18xlarge", "p4d.24xlarge", "m8i.large"}

// efas are interfaces with EFA, one on each of so many cards.
func efas(n int, kind string) []nic {
	var out []nic
	for card := range int32(n) {
		x := nic{NetworkCardIndex: aws.Int32(card), DeviceIndex: aws.Int32(min(card, 1)), InterfaceType: aws.String(kind)}
		if card == 0 && kind == "efa-only" {
			x.InterfaceType = aws.String("interface")
		}
		out = append(out, x)
	}
	return out
}

func TestInterfacesThatATypeCanNotHave(t *testing.T) {
	at := func(card, device int32) nic {
		return nic{NetworkCardIndex: aws.Int32(card), DeviceIndex: aws.Int32(device)}
	}
	public := func(n nic) nic { n.AssociatePublicIpAddress = aws.Bool(true); return n }
	for name, c := range map[string]struct {
		instanceType string
		nics         []nic
		code         string // none: it is launched
	}{
		"one plain interface":                      {"m5.large", []nic{at(0, 0)}, ""},
		"as many as there can be":                  {"m5.large", []nic{at(0, 0), at(0, 1), at(0, 2)}, ""},
		"one more":                                 {"m5.large", []nic{at(0, 0), at(0, 1), at(0, 2), at(0, 3)}, "AttachmentLimitExceeded"},
		"a card that is not there":                 {"m5.large", []nic{at(0, 0), at(1, 0)}, "InvalidParameterValue"},
		"two in one place":                         {"m5.large", []nic{at(0, 0), at(0, 0)}, "InvalidParameterValue"},
		"none in the first place":                  {"m5.large", []nic{at(0, 1)}, "InvalidParameterCombination"},
		"a public address":                         {"m5.large", []nic{public(at(0, 0))}, ""},
		"a public address with two interfaces":     {"m5.large", []nic{public(at(0, 0)), at(0, 1)}, "InvalidParameterCombination"},
		"one EFA":                                  {"c5n.18xlarge", efas(1, "efa"), ""},
		"EFA on a type without":                    {"m5.large", efas(1, "efa"), "InvalidParameterCombination"},
		"EFA on each of four cards":                {"p4d.24xlarge", efas(4, "efa"), ""},
		"EFA alone on three of four cards":         {"p4d.24xlarge", efas(4, "efa-only"), ""},
		"two EFAs where one can be":                {"c5n.18xlarge", []nic{{DeviceIndex: aws.Int32(0), InterfaceType: aws.String("efa")}, {DeviceIndex: aws.Int32(1), InterfaceType: aws.String("efa")}}, "AttachmentLimitExceeded"},
		"efa-only with an address":                 {"p4d.24xlarge", []nic{at(0, 0), {NetworkCardIndex: aws.Int32(1), DeviceIndex: aws.Int32(1), InterfaceType: aws.String("efa-only"), Ipv4PrefixCount: aws.Int32(1)}}, "InvalidParameterCombination"},
		"efa-only as the first":                    {"p4d.24xlarge", []nic{{InterfaceType: aws.String("efa-only")}}, "InvalidParameterCombination"},
		"a kind that does not exist":               {"m5.large", []nic{{DeviceIndex: aws.Int32(0), InterfaceType: aws.String("branch")}}, "InvalidParameterValue"},
		"prefixes in all slots but one":            {"m5.large", []nic{{DeviceIndex: aws.Int32(0), Ipv4PrefixCount: aws.Int32(9)}}, ""},
		"a prefix too many":                        {"m5.large", []nic{{DeviceIndex: aws.Int32(0), Ipv4PrefixCount: aws.Int32(10)}}, "PrivateIpAddressLimitExceeded"},
		"secondary addresses beyond the slots":     {"m5.large", []nic{{DeviceIndex: aws.Int32(0), SecondaryPrivateIpAddressCount: aws.Int32(10)}}, "PrivateIpAddressLimitExceeded"},
		"prefixes and secondary addresses":         {"m5.large", []nic{{DeviceIndex: aws.Int32(0), SecondaryPrivateIpAddressCount: aws.Int32(1), Ipv4PrefixCount: aws.Int32(1)}}, "InvalidParameterCombination"},
		"prefixes on Xen":                          {"m4.large", []nic{{DeviceIndex: aws.Int32(0), Ipv4PrefixCount: aws.Int32(1)}}, "InvalidParameterCombination"},
		"IPv6 prefixes beside an IPv6 address":     {"m5.large", []nic{{DeviceIndex: aws.Int32(0), Ipv6AddressCount: aws.Int32(1), Ipv6PrefixCount: aws.Int32(2)}}, ""},
		"more IPv6 addresses than there are slots": {"m5.large", []nic{{DeviceIndex: aws.Int32(0), Ipv6AddressCount: aws.Int32(11)}}, "InvalidParameterValue"},
	} {
		t.Run(name, func(t *testing.T) {
			s := start(t, func(o *world.Options) { o.Types = networkTypes })
			s.template("template", func(d *types.RequestLaunchTemplateData) {
				d.SecurityGroupIds, d.NetworkInterfaces = nil, c.nics
			})
			out, err := s.CreateFleet(t.Context(), fleet("template", 1, "on-demand", place(c.instanceType, s.private()[0])))
			if err != nil {
				t.Fatal(err)
			}
			got := ""
			if len(out.Errors) > 0 {
				got = *out.Errors[0].ErrorCode
				t.Log(*out.Errors[0].ErrorMessage)
			}
			if got != c.code || (got == "") != (len(launched(out)) == 1) {
				t.Errorf("error %q and %d instances, want %q", got, len(launched(out)), c.code)
			}
		})
	}
}

func TestNestedVirtualizationNeedsTheProcessor(t *testing.T) {
	s := start(t, func(o *world.Options) { o.Types = networkTypes })
	s.template("template", func(d *types.RequestLaunchTemplateData) {
		d.CpuOptions = &types.LaunchTemplateCpuOptionsRequest{NestedVirtualization: "enabled"}
	})
	for instanceType, want := range map[string]int{"m5.large": 0, "m8i.large": 1} {
		out, err := s.CreateFleet(t.Context(), fleet("template", 1, "on-demand", place(instanceType, s.private()[0])))
		if err != nil || len(launched(out)) != want {
			t.Errorf("%s: %d instances, want %d: %v %v", instanceType, len(launched(out)), want, err, out.Errors)
		}
	}
}

// A subnet of 64 addresses has two ranges of 16 of which EC2 keeps no address.
func TestPrefixesAreRangesOfTheSubnet(t *testing.T) {
	s := start(t, func(o *world.Options) { o.PrivateBits = 26 })
	s.template("template", func(d *types.RequestLaunchTemplateData) {
		d.SecurityGroupIds, d.NetworkInterfaces = nil, []nic{{DeviceIndex: aws.Int32(0), Ipv4PrefixCount: aws.Int32(1)}}
	})
	free := func() int32 { return *s.private()[0].AvailableIpAddressCount }
	before := free()
	out, err := s.CreateFleet(t.Context(), fleet("template", 3, "on-demand", place("m5.large", s.private()[0])))
	if err != nil {
		t.Fatal(err)
	}
	if len(launched(out)) != 2 || len(out.Errors) != 1 || *out.Errors[0].ErrorCode != "InsufficientCidrBlocks" {
		t.Fatalf("%d instances and errors %+v", len(launched(out)), out.Errors)
	}
	if got := free(); got != before-2*17 {
		t.Errorf("two instances with a prefix each leave %d of %d addresses", got, before)
	}
	shown, err := s.DescribeInstances(t.Context(), &awsec2.DescribeInstancesInput{InstanceIds: launched(out)})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range shown.Reservations {
		for _, i := range r.Instances {
			n := i.NetworkInterfaces[0]
			if len(n.Ipv4Prefixes) != 1 || len(n.PrivateIpAddresses) != 1 || *n.PrivateIpAddresses[0].PrivateIpAddress != *i.PrivateIpAddress {
				t.Errorf("%s has prefixes %v and addresses %v", *i.InstanceId, n.Ipv4Prefixes, n.PrivateIpAddresses)
			}
		}
	}
	if _, err := s.TerminateInstances(t.Context(), &awsec2.TerminateInstancesInput{InstanceIds: launched(out)}); err != nil {
		t.Fatal(err)
	}
	s.clock.Advance(30e9)
	if got := free(); got != before {
		t.Errorf("afterwards %d of %d addresses are free", got, before)
	}
	if out, err = s.CreateFleet(t.Context(), fleet("template", 1, "on-demand", place("m5.large", s.private()[0]))); err != nil || len(launched(out)) != 1 {
		t.Errorf("the ranges did not come back: %v %+v", err, out)
	}
}
