package aws_test

import (
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	awsv1 "github.com/kerf-sh/kerf/api/aws/v1"
	"github.com/kerf-sh/kerf/internal/aws"
	"github.com/kerf-sh/kerf/internal/aws/offering"
	"github.com/kerf-sh/kerf/internal/sim/awssim"
	"github.com/kerf-sh/kerf/internal/sim/awssim/world"
)

// A zone whose subnet is full offers nothing before anything was tried there, and offers again when addresses come back; a
// zone with addresses for the instance alone is not taken for one that is launched for pods.
func TestZonesAreOfferedAsTheirSubnetsHaveAddresses(t *testing.T) {
	s := startSim(t, awssim.Options{World: world.Options{PrivateBits: 26}})
	p := newProvider(t, s, nil)
	ready(t, p)
	class := newClass(s)
	resolve(t, p, class)
	full, nearly := class.Status.Subnets[0], class.Status.Subnets[1]
	s.World.OccupyAddresses(full.ID, 64)
	s.World.OccupyAddresses(nearly.ID, 50) // of 59
	resolve(t, p, class)
	closed := func(zone string) (no, yes int) {
		t.Helper()
		types, err := p.Types(t.Context(), class)
		if err != nil {
			t.Fatal(err)
		}
		for _, ty := range types {
			for _, o := range ty.Offerings {
				if o.Zone == zone && o.Unavailable == offering.NoAddresses {
					no++
				} else if o.Zone == zone && o.Available {
					yes++
				}
			}
		}
		return no, yes
	}
	if no, yes := closed(full.Zone); no == 0 || yes > 0 {
		t.Errorf("zone %s, whose subnet is full, has %d offerings closed for that and %d open", full.Zone, no, yes)
	}
	if no, yes := closed(nearly.Zone); no > 0 || yes == 0 {
		t.Errorf("zone %s, which has a few addresses, has %d offerings closed and %d open", nearly.Zone, no, yes)
	}
	claims := newClaims(2) // the last zone has addresses for two such instances
	for _, c := range claims {
		c.Spec.Resources.Requests[corev1.ResourcePods] = resource.MustParse("20")
		m, err := p.Launch(t.Context(), c, class)
		if err != nil {
			t.Fatal(err)
		}
		if m.Zone == full.Zone || m.Zone == nearly.Zone {
			t.Errorf("an instance for 20 pods was launched in %s, whose subnet has no addresses for them", m.Zone)
		}
	}
	if fleets := s.World.Fleets(); len(fleets) != 2 {
		t.Errorf("%d fleets for 2 instances", len(fleets))
	}
	for _, f := range s.World.Fleets() {
		for _, e := range f.Errors {
			if strings.Contains(e.Code, "Address") {
				t.Errorf("EC2 had to say %s", e.Code)
			}
		}
	}
}

// A class whose instances take more of a subnet than is free is no reason to leave the subnet alone for others.
func TestAClassThatTakesManyAddressesLeavesOthersTheirs(t *testing.T) {
	for name, c := range map[string]struct {
		prefixes int32
		occupied int
	}{
		"more than is free, side by side":   {2, 40},
		"what is counted as free, all used": {0, 64},
	} {
		t.Run(name, func(t *testing.T) {
			s := startSim(t, awssim.Options{World: world.Options{PrivateBits: 26}})
			p := newProvider(t, s, nil)
			ready(t, p)
			greedy, modest := newClass(s), newClass(s)
			greedy.Name, greedy.UID = "greedy", "greedy"
			greedy.Spec.IPPrefixCount = new(c.prefixes)
			resolve(t, p, greedy)
			for _, subnet := range greedy.Status.Subnets {
				s.World.OccupyAddresses(subnet.ID, c.occupied)
			}
			if c.prefixes > 0 {
				if _, err := p.Launch(t.Context(), newClaim(1), greedy); err == nil {
					t.Fatal("an instance was launched in a subnet that has no room for it")
				}
			}
			resolve(t, p, modest)
			_, err := p.Launch(t.Context(), newClaim(2), modest)
			if full := c.prefixes == 0; full != (err != nil) {
				t.Errorf("the other class's launch says %v", err)
			}
		})
	}
}

// A claim that must be in one zone goes there although the zone has no addresses for all of its pods: others that have more
// are of no use to it.
func TestAClaimThatMustBeInAZoneIsNotTurnedAwayForOthersWithMoreRoom(t *testing.T) {
	s := startSim(t, awssim.Options{World: world.Options{PrivateBits: 26}})
	p := newProvider(t, s, nil)
	ready(t, p)
	class := newClass(s)
	resolve(t, p, class)
	nearly := class.Status.Subnets[0]
	s.World.OccupyAddresses(nearly.ID, 50) // of 59
	resolve(t, p, class)
	claim := newClaim(1, need(corev1.LabelTopologyZone, corev1.NodeSelectorOpIn, nearly.Zone))
	claim.Spec.Resources.Requests[corev1.ResourcePods] = resource.MustParse("20")
	m, err := p.Launch(t.Context(), claim, class)
	if err != nil {
		t.Fatal(err)
	}
	if m.Zone != nearly.Zone {
		t.Errorf("it is in %s, not in %s", m.Zone, nearly.Zone)
	}
}

// A class keeps the subnet of an Outpost that it selects, so that its nodes there do not drift, and neither trials nor launches use it
// beside another of the zone, not even those of a new process that has not resolved the class yet.
func TestNothingIsLaunchedOnAnOutpostBesideOtherSubnets(t *testing.T) {
	s := startSim(t, awssim.Options{})
	class := newClass(s)
	class.Spec.SubnetSelectorTerms = nil
	for _, v := range s.World.Subnets() {
		class.Spec.SubnetSelectorTerms = append(class.Spec.SubnetSelectorTerms, awsv1.SubnetSelectorTerm{ID: v.ID})
	}
	p := newProvider(t, s, nil)
	ready(t, p)
	first, err := p.Resolve(t.Context(), class)
	if err != nil {
		t.Fatal(err)
	}
	outpost := first.Subnets[0] // has the most addresses
	s.World.PutOnOutpost(outpost.ID, "arn:aws:outposts:us-east-1:123456789012:outpost/op-1")
	s.World.AddFault(world.Fault{Kind: world.FaultError, Operation: "CreateFleet", Resource: outpost.ID, Code: "InvalidParameterValue", Status: 400})
	p = newProvider(t, s, nil)
	ready(t, p)
	resolve(t, p, class)
	if !slices.Contains(class.Status.Subnets, outpost) || len(class.Status.Subnets) != len(s.World.Subnets()) {
		t.Errorf("the class has %v, want all subnets", class.Status.Subnets)
	}
	for _, left := range p.Subnets(class) {
		if left.ID == outpost.ID {
			t.Error("nodes are planned in the subnet of the Outpost")
		}
	}
	next := newProvider(t, s, nil)
	ready(t, next)
	for i, p := range []*aws.Provider{p, next} {
		m, err := p.Launch(t.Context(), newClaim(1+i, need(corev1.LabelTopologyZone, corev1.NodeSelectorOpIn, outpost.Zone)), class)
		if err != nil || m.Zone != outpost.Zone || m.SubnetID == outpost.ID {
			t.Errorf("process %d launched %+v, %v", i, m, err)
		}
	}
}
