package instancetype

import (
	"slices"
	"strings"

	awsv1 "github.com/kerf-sh/kerf/api/aws/v1"
	"github.com/kerf-sh/kerf/internal/aws/image"
	"github.com/kerf-sh/kerf/internal/awsmodel/ec2facts"
	"github.com/kerf-sh/kerf/internal/engine/catalog"
)

// Reasons why a node class can't run a type, whatever zones and prices say.
const (
	RefusedArchitecture   = "unsupported architecture"
	RefusedInterfaces     = "too few network interfaces or cards"
	RefusedEFA            = "no EFA support"
	RefusedCPU            = "CPU not supported by the image family"
	RefusedVirtualization = "no nested virtualization"
	RefusedEnclaves       = "no Nitro Enclaves"
	RefusedTracking       = "connection tracking needs the nitro hypervisor"
	RefusedImage          = "no image for the type"
	RefusedIPv6           = "no IPv6 addresses for pods"
	RefusedPrefixes       = "too few places for IP prefixes"
)

// Shape is a type as nodes of one class would be, before it is known where and how it can be launched.
type Shape struct {
	// Type has no offerings and none of the requirements that offerings decide (zone, zone ID, capacity type).
	Type catalog.Type
	// Zones offer the type; UsageClasses are the ways in which it is sold.
	Zones        []string
	UsageClasses []string
	VCPUs        int
	// Strategies are those of the placement groups that instances of the type may stand in.
	Strategies []string
	// Refused says why the class can't run the type, empty when it can.
	Refused string
}

// Shapes gives every type of a snapshot the shape that it has under a configuration, in order.
func Shapes(s *Snapshot, c Config) []Shape {
	out := make([]Shape, len(s.Types))
	for i := range s.Types {
		out[i] = NewShape(&s.Types[i], s.Zones[i], c)
	}
	return out
}

// NewShape works out one type.
func NewShape(t *ec2facts.Type, zones []string, c Config) Shape {
	labels := c.labels(t)
	capacity := c.capacity(t)
	ami, _ := image.For(c.Images, labels)
	c.remember(ami.ID, t.Name, capacity)
	s := Shape{
		Type: catalog.Type{
			Name:         t.Name,
			Requirements: labels,
			Capacity:     capacity,
			Overhead:     c.withExtra(ami.ID, t, capacity, c.overhead(t, capacity)),
			AttachLimits: c.attachLimits(t),
		},
		Zones: zones, UsageClasses: t.UsageClasses, VCPUs: t.VCPUs, Strategies: t.PlacementStrategies,
	}
	s.Refused = c.refuse(t, &s)
	return s
}

func (c *Config) refuse(t *ec2facts.Type, s *Shape) string {
	a := arch(t)
	switch {
	case a == "" || c.Family.IsWindows() && a != "amd64":
		return RefusedArchitecture
	case c.Family == awsv1.AMIFamilyAL2023 && strings.HasPrefix(t.Name, "a1."):
		return RefusedCPU
	case c.NestedVirtualization && !slices.Contains(t.CPUFeatures, "nested-virtualization"):
		return RefusedVirtualization
	case c.Enclaves && t.NitroEnclaves != ec2facts.Supported:
		return RefusedEnclaves
	case c.ConnectionTracking && t.Hypervisor != "nitro":
		return RefusedTracking
	case !c.Family.IsWindows() && !c.PodNetwork.Supported(t):
		return RefusedIPv6
	case !c.prefixesFit(t):
		return RefusedPrefixes
	}
	if r := c.refuseInterfaces(t); r != "" {
		return r
	}
	if len(c.Images) > 0 {
		if _, ok := image.For(c.Images, s.Type.Requirements); !ok {
			return RefusedImage
		}
	}
	return ""
}

// refuseInterfaces checks explicit interfaces against the cards of the type.
func (c *Config) refuseInterfaces(t *ec2facts.Type) string {
	perCard, efaOnly := map[int32]int{}, 0
	for _, i := range c.Interfaces {
		perCard[i.NetworkCardIndex]++
		if i.InterfaceType == awsv1.InterfaceTypeEFAOnly {
			efaOnly++
		}
	}
	if efaOnly > t.Network.MaxEFA {
		return RefusedEFA
	}
	for card, n := range perCard {
		if card < 0 || int(card) >= len(t.Network.ENIsPerCard) || n > t.Network.ENIsPerCard[card] {
			return RefusedInterfaces
		}
	}
	return ""
}
