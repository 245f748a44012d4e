package aws_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	awsv1 "github.com/kerf-sh/kerf/api/aws/v1"
	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/internal/aws"
	"github.com/kerf-sh/kerf/internal/sim/awssim"
	"github.com/kerf-sh/kerf/internal/sim/awssim/world"
	"github.com/kerf-sh/kerf/internal/state/cloud"
)

// text is the interfaces of an instance: card/device kind, prefixes, IPv6 addresses and prefixes.
func text(i *world.Instance) []string {
	var out []string
	for _, n := range i.Interfaces {
		line := fmt.Sprintf("%d/%d %s", n.CardIndex, n.DeviceIndex, n.Type)
		if !n.PrivateIP.IsValid() {
			line += " no address"
		}
		if len(n.Prefixes) > 0 {
			line += fmt.Sprintf(" v4:%d", len(n.Prefixes))
		}
		if n.Ipv6Addresses > 0 || n.Ipv6Prefixes > 0 {
			line += fmt.Sprintf(" v6:%d+%d primary:%v", n.Ipv6Addresses, n.Ipv6Prefixes, n.PrimaryIpv6)
		}
		if c := n.ConnectionTracking; c != nil {
			line += fmt.Sprintf(" tcp:%d", *c.TCPEstablishedTimeout)
		}
		if len(n.SecurityGroupIDs) == 0 {
			line += " no group"
		}
		out = append(out, line)
	}
	return out
}

var networkTypes = []string{"m5.large", "m5.xlarge", "m4.large", "c5n.18xlarge", "p4d.24xlarge", "p5.48xlarge", "p6-b300.48xlarge", "m8i.large"}

// What a class says of its instances' network and processor is what EC2 is asked for, and what the instance has.
func TestNetworkFieldsReachTheInstance(t *testing.T) {
	efa := func(c *karpv1.NodeClaim) { c.Spec.Resources.Requests[awsv1.ResourceEFA] = resource.MustParse("1") }
	efas := func(from, to int, first ...string) []string {
		for card := from; card < to; card++ {
			first = append(first, fmt.Sprintf("%d/1 efa", card))
		}
		return first
	}
	for name, c := range map[string]struct {
		instanceType string
		class        func(*awsv1.EC2NodeClassSpec)
		claim        func(*karpv1.NodeClaim)
		ipv6         bool
		want         []string
		check        func(*testing.T, *world.Instance, *cloud.Instance)
	}{
		"nothing said": {"m5.large", nil, nil, false, []string{"0/0 interface"}, func(t *testing.T, i *world.Instance, m *cloud.Instance) {
			if *i.Launch.Monitoring.Enabled || i.Launch.CPUOptions != nil || i.PublicIP.IsValid() || m.Capacity[awsv1.ResourceEFA] != 0 {
				t.Errorf("launched from %+v", i.Launch)
			}
		}},
		"EFA that nobody asked for":      {"p4d.24xlarge", nil, nil, false, []string{"0/0 interface"}, nil},
		"EFA on a type with one":         {"c5n.18xlarge", nil, efa, false, []string{"0/0 efa"}, wantEFA(1)},
		"EFA on all four cards":          {"p4d.24xlarge", nil, efa, false, efas(1, 4, "0/0 efa"), wantEFA(4)},
		"EFA on all 32 cards":            {"p5.48xlarge", nil, efa, false, efas(1, 32, "0/0 efa"), wantEFA(32)},
		"EFA on all cards but the first": {"p6-b300.48xlarge", nil, efa, false, efas(1, 17, "0/0 interface"), wantEFA(16)},
		"interfaces of the class": {"m5.xlarge", func(s *awsv1.EC2NodeClassSpec) {
			s.NetworkInterfaces = []awsv1.NetworkInterface{{InterfaceType: "interface"}, {DeviceIndex: 2, InterfaceType: "interface"}}
		}, nil, false, []string{"0/0 interface", "0/2 interface"}, nil},
		"efa-only": {"p4d.24xlarge", func(s *awsv1.EC2NodeClassSpec) {
			s.NetworkInterfaces = []awsv1.NetworkInterface{{InterfaceType: "interface"}, {NetworkCardIndex: 1, DeviceIndex: 1, InterfaceType: "efa-only"}, {NetworkCardIndex: 2, DeviceIndex: 1, InterfaceType: "efa-only"}}
			s.IPPrefixCount = new(int32(1))
		}, efa, false, []string{"0/0 interface v4:1", "1/1 efa-only no address", "2/1 efa-only no address"}, wantEFA(2)},
		"IPv4 prefixes":   {"m5.large", func(s *awsv1.EC2NodeClassSpec) { s.IPPrefixCount = new(int32(3)) }, nil, false, []string{"0/0 interface v4:3"}, nil},
		"an IPv6 cluster": {"m5.large", nil, nil, true, []string{"0/0 interface v6:1+0 primary:true"}, nil},
		"an IPv6 cluster, and an image of one's own": {"m5.large", func(s *awsv1.EC2NodeClassSpec) {
			s.AMIFamily = new(awsv1.AMIFamilyCustom)
			s.AMISelectorTerms = []awsv1.AMISelectorTerm{{Name: "amazon-eks-node-al2023-x86_64-standard-*", Owner: "amazon"}}
		}, nil, true, []string{"0/0 interface v6:1+0 primary:true"}, nil},
		"IPv6 prefixes": {"m5.large", func(s *awsv1.EC2NodeClassSpec) { s.IPPrefixCount = new(int32(2)) }, nil, true,
			[]string{"0/0 interface v6:1+2 primary:true"}, nil},
		"a public address": {"m5.large", func(s *awsv1.EC2NodeClassSpec) { s.AssociatePublicIPAddress = new(true) }, nil, false, []string{"0/0 interface"},
			func(t *testing.T, i *world.Instance, _ *cloud.Instance) {
				if !i.PublicIP.IsValid() {
					t.Error("it has no public address")
				}
			}},
		"connection tracking": {"m5.large", func(s *awsv1.EC2NodeClassSpec) {
			s.ConnectionTracking = &awsv1.ConnectionTracking{TCPEstablishedTimeout: new(int32(600))}
		}, nil, false, []string{"0/0 interface tcp:600"}, nil},
		"nested virtualization and monitoring": {"m8i.large", func(s *awsv1.EC2NodeClassSpec) {
			s.CPUOptions = &awsv1.CPUOptions{NestedVirtualization: new("enabled")}
			s.DetailedMonitoring = new(true)
		}, nil, false, []string{"0/0 interface"}, func(t *testing.T, i *world.Instance, _ *cloud.Instance) {
			if i.Launch.CPUOptions.NestedVirtualization != "enabled" || !*i.Launch.Monitoring.Enabled {
				t.Errorf("launched from %+v", i.Launch)
			}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			s := startSim(t, awssim.Options{World: world.Options{Types: networkTypes, OnDemandDepth: 5}})
			if c.ipv6 {
				cluster, _ := s.World.Cluster(s.World.ClusterName())
				cluster.IPFamily, cluster.ServiceIPv4CIDR, cluster.ServiceIPv6CIDR = "ipv6", "", "fd00:ec2::/108"
				s.World.SetCluster(cluster)
			}
			p := newProvider(t, s, func(o *aws.Options) {
				if c.ipv6 {
					o.ClusterDNSIP = func(context.Context) (string, error) { return "fd00:ec2::a", nil }
				}
			})
			ready(t, p)
			class := newClass(s)
			class.Spec.Context = new("context-of-the-class")
			if c.class != nil {
				c.class(&class.Spec)
			}
			resolve(t, p, class)
			claim := newClaim(1, need(corev1.LabelInstanceTypeStable, corev1.NodeSelectorOpIn, c.instanceType),
				need(karpv1.CapacityTypeLabelKey, corev1.NodeSelectorOpIn, karpv1.CapacityTypeOnDemand))
			if c.claim != nil {
				c.claim(claim)
			}
			m, err := p.Launch(t.Context(), claim, class)
			if err != nil {
				t.Fatal(err)
			}
			got := alive(s)
			if len(got) != 1 || !strings.HasSuffix(m.ProviderID, got[0].ID) {
				t.Fatalf("%d instances for %s", len(got), m.ProviderID)
			}
			if diff := cmp.Diff(c.want, text(&got[0])); diff != "" {
				t.Errorf("interfaces (-want +got):\n%s", diff)
			}
			if fleets := s.World.Fleets(); len(fleets) != 1 || fleets[0].Request.Context != "context-of-the-class" {
				t.Errorf("the fleet's context is not that of the class")
			}
			if c.check != nil {
				c.check(t, &got[0], m)
			}
		})
	}
}

func wantEFA(n int64) func(*testing.T, *world.Instance, *cloud.Instance) {
	return func(t *testing.T, _ *world.Instance, m *cloud.Instance) {
		t.Helper()
		if m.Capacity[awsv1.ResourceEFA] != n {
			t.Errorf("the instance is expected to have %d EFA devices, want %d", m.Capacity[awsv1.ResourceEFA], n)
		}
	}
}

// EC2 refuses a public address for instances with several interfaces; it is said before the first launch.
func TestAPublicAddressWithSeveralInterfacesIsToldByTheClass(t *testing.T) {
	s := startSim(t, awssim.Options{World: world.Options{Types: networkTypes}})
	p := newProvider(t, s, nil)
	ready(t, p)
	class := newClass(s)
	class.Spec.AssociatePublicIPAddress = new(true)
	class.Spec.NetworkInterfaces = []awsv1.NetworkInterface{{InterfaceType: "interface"}, {DeviceIndex: 1, InterfaceType: "interface"}}
	r, err := p.Resolve(t.Context(), class)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range r.Findings {
		if f.Condition == awsv1.ConditionTypeValidationSucceeded {
			if f.OK || f.Unknown || !strings.Contains(f.Message, "associatePublicIPAddress") {
				t.Errorf("got %+v", f)
			}
			return
		}
	}
	t.Error("nothing is said of validation")
}
