package world

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"
)

// checkInterfaces judges the network interfaces of a preference against what its type carries.
//
// Source: EC2 User Guide, "Maximum IP addresses per network interface", "Elastic Fabric Adapter", "Network cards"; EC2 API,
// InstanceNetworkInterfaceSpecification; error codes of the EC2 API. The texts are those that users report where they do.
func checkInterfaces(l *launch) *Error {
	nics, t := l.data.NetworkInterfaces, l.facts
	if limit := t.Network.MaxENIs(); len(nics) > limit {
		return Errorf("AttachmentLimitExceeded", "Interface count %d exceeds the limit for %s", len(nics), t.Name)
	}
	places := map[[2]int32]bool{}
	perCard := map[int32]int{}
	efas := 0
	for i := range nics {
		n := &nics[i]
		card := deref(n.NetworkCardIndex)
		if card < 0 || int(card) >= len(t.Network.ENIsPerCard) {
			return Errorf("InvalidParameterValue", "Network card index %d is not valid for instance type %s", card, t.Name)
		}
		place := [2]int32{card, deref(n.DeviceIndex)}
		if places[place] {
			return Errorf("InvalidParameterValue", "Each network interface requires a unique device index.")
		}
		places[place] = true
		if perCard[card]++; perCard[card] > t.Network.ENIsPerCard[card] {
			return Errorf("AttachmentLimitExceeded", "Interface count %d exceeds the limit for network card %d of %s", perCard[card], card, t.Name)
		}
		if n.InterfaceType == "efa" || n.InterfaceType == "efa-only" {
			efas++
		}
		if n.AssociatePublicIPAddress != nil && len(nics) > 1 {
			return Errorf("InvalidParameterCombination", "The associatePublicIPAddress parameter cannot be specified when launching with multiple network interfaces")
		}
		if err := n.check(l); err != nil {
			return err
		}
	}
	switch {
	case len(nics) > 0 && !places[[2]int32{}]:
		return Errorf("InvalidParameterCombination", "A primary network interface with device index 0 on network card 0 is required")
	case efas > 0 && !t.Network.EFA:
		return Errorf("InvalidParameterCombination", "%s instances do not support Elastic Fabric Adapters", t.Name)
	case efas > 0 && t.Network.MaxEFA < len(t.Network.ENIsPerCard) && slices.ContainsFunc(nics, func(n NetworkInterfaceSpec) bool {
		return deref(n.NetworkCardIndex) == 0 && (n.InterfaceType == "efa" || n.InterfaceType == "efa-only")
	}):
		return Errorf("InvalidParameterCombination", "Network card 0 of %s does not support Elastic Fabric Adapters", t.Name)
	case efas > t.Network.MaxEFA:
		return Errorf("AttachmentLimitExceeded", "EFA interface count %d exceeds allowed limit for %s", efas, t.Name)
	}
	return nil
}

// check judges one interface by itself.
func (n *NetworkInterfaceSpec) check(l *launch) *Error {
	secondary, v4, v6 := deref(n.SecondaryPrivateIPAddressCount), deref(n.Ipv4PrefixCount), deref(n.Ipv6PrefixCount)
	t := l.facts
	switch {
	case !slices.Contains([]string{"", "interface", "efa", "efa-only"}, n.InterfaceType):
		return Errorf("InvalidParameterValue", "Value (%s) for parameter interfaceType is invalid.", n.InterfaceType)
	case n.InterfaceType == "efa-only" && (deref(n.DeviceIndex) == 0 && deref(n.NetworkCardIndex) == 0):
		return Errorf("InvalidParameterCombination", "An interface of type efa-only cannot be the primary network interface")
	case n.InterfaceType == "efa-only" && (secondary+v4+v6+deref(n.Ipv6AddressCount) > 0 || n.AssociatePublicIPAddress != nil):
		return Errorf("InvalidParameterCombination", "An interface of type efa-only cannot have IP addresses")
	case secondary < 0 || v4 < 0 || v6 < 0:
		return Errorf("InvalidParameterValue", "A count of addresses or prefixes must not be negative")
	case secondary > 0 && v4 > 0:
		return Errorf("InvalidParameterCombination", "Secondary private IP address count and IPv4 prefix count may not be specified on the same request")
	case v4+v6 > 0 && t.Hypervisor == "xen":
		return Errorf("InvalidParameterCombination", "Prefixes can be assigned to instances built on the Nitro System only, not to %s", t.Name)
	case 1+secondary+v4 > int32(t.Network.IPv4PerENI):
		return Errorf("PrivateIpAddressLimitExceeded", "Number of private addresses will exceed limit.")
	case deref(n.Ipv6AddressCount)+v6 > int32(t.Network.IPv6PerENI):
		return Errorf("InvalidParameterValue", "Number of IPv6 addresses will exceed limit.")
	}
	return nil
}

// prefixAddresses is how many addresses an IPv4 prefix given to an interface takes.
const prefixAddresses = 16

// prefixes is how many IPv4 prefixes the subnet must give.
func (l *launch) prefixes() int {
	n := 0
	for _, nic := range l.data.NetworkInterfaces {
		n += int(deref(nic.Ipv4PrefixCount))
	}
	return n
}

// addresses is how many addresses the subnet must give, those of prefixes among them.
func (l *launch) addresses() int {
	if len(l.data.NetworkInterfaces) == 0 {
		return 1
	}
	n := prefixAddresses * l.prefixes()
	for _, nic := range l.data.NetworkInterfaces {
		n += nic.addresses()
	}
	return n
}

// addresses is how many single addresses the interface takes.
func (n *NetworkInterfaceSpec) addresses() int {
	if n.InterfaceType == "efa-only" {
		return 0
	}
	return 1 + int(deref(n.SecondaryPrivateIPAddressCount))
}

// noPrefixes is what EC2 says when addresses are free, but not 16 of them side by side.
func noPrefixes(l *launch) *Error {
	return Errorf("InsufficientCidrBlocks", "There are not enough free cidr blocks in the specified subnet '%s' to satisfy the request.", l.subnet.ID)
}

// block is whether the range of 16 addresses that begins at an offset is free.
func (s *Subnet) block(offset uint32) bool {
	last := uint32(1)<<(32-s.CIDR.Bits()) - 1
	if offset < 4 || offset+prefixAddresses > last {
		return false // EC2 keeps addresses of it
	}
	for o := offset; o < offset+prefixAddresses; o++ {
		if _, busy := s.used[o]; busy {
			return false
		}
	}
	return true
}

// blocks reports whether n prefixes are free.
func (s *Subnet) blocks(n int) bool {
	for offset := uint32(0); n > 0 && offset < uint32(1)<<(32-s.CIDR.Bits()); offset += prefixAddresses {
		if s.block(offset) {
			n--
		}
	}
	return n <= 0
}

// takePrefix gives out a free prefix, the one with the highest addresses, as single addresses are given from below.
func (s *Subnet) takePrefix() (netip.Prefix, bool) {
	for offset := int64(1)<<(32-s.CIDR.Bits()) - prefixAddresses; offset >= 0; offset -= prefixAddresses {
		if !s.block(uint32(offset)) {
			continue
		}
		for o := uint32(offset); o < uint32(offset)+prefixAddresses; o++ {
			s.used[o] = struct{}{}
		}
		s.Free -= prefixAddresses
		return netip.PrefixFrom(s.at(uint32(offset)), 28), true
	}
	return netip.Prefix{}, false
}

// givePrefix takes a prefix back.
func (s *Subnet) givePrefix(p netip.Prefix) {
	for a, n := p.Addr(), 0; n < prefixAddresses; a, n = a.Next(), n+1 {
		s.give(a)
	}
}

// makeInterfacesLocked takes prefixes before addresses, which would break ranges that were seen to be free.
func (w *World) makeInterfacesLocked(l *launch, i *Instance) {
	specs := l.data.NetworkInterfaces
	if len(specs) == 0 {
		specs = []NetworkInterfaceSpec{{SecurityGroupIDs: l.groups}}
	}
	prefixes := make([][]netip.Prefix, len(specs))
	for n := range specs {
		for range deref(specs[n].Ipv4PrefixCount) {
			if p, ok := l.subnet.takePrefix(); ok { // the caller has counted
				prefixes[n] = append(prefixes[n], p)
			}
		}
	}
	tags := tagsFor(slices.Concat(l.data.TagSpecifications, l.tags), "network-interface")
	for n, s := range specs {
		nic := w.newInterfaceLocked(l, &s)
		nic.Tags, nic.Prefixes = maps.Clone(tags), prefixes[n]
		for a := range s.addresses() {
			ip, ok := l.subnet.take()
			if !ok {
				break // the caller has counted; a subnet never gives fewer than it has free
			}
			if a == 0 {
				nic.PrivateIP = ip
			} else {
				nic.Secondary = append(nic.Secondary, ip)
			}
		}
		if nic.DeviceIndex == 0 && nic.CardIndex == 0 {
			i.PrivateIP, i.PrivateDNSName = nic.PrivateIP, w.privateDNSName(nic.PrivateIP)
			// Subnets give public addresses to instances with one interface only.
			if s.AssociatePublicIPAddress != nil && *s.AssociatePublicIPAddress || s.AssociatePublicIPAddress == nil && l.subnet.Public && len(specs) == 1 {
				i.PublicIP = netip.AddrFrom4([4]byte{54, byte(w.rand.IntN(256)), byte(w.rand.IntN(256)), byte(1 + w.rand.IntN(254))})
			}
		}
		i.Interfaces = append(i.Interfaces, nic)
	}
}

func (w *World) newInterfaceLocked(l *launch, s *NetworkInterfaceSpec) Interface {
	nic := Interface{
		ID: w.newIDLocked("eni"), Type: "interface", Description: s.Description, SubnetID: l.subnet.ID,
		DeviceIndex: deref(s.DeviceIndex), CardIndex: deref(s.NetworkCardIndex), SecurityGroupIDs: slices.Clone(s.SecurityGroupIDs),
		DeleteOnTermination: s.DeleteOnTermination == nil || *s.DeleteOnTermination,
		Ipv6Prefixes:        deref(s.Ipv6PrefixCount), Ipv6Addresses: deref(s.Ipv6AddressCount), PrimaryIpv6: deref(s.PrimaryIpv6),
		ConnectionTracking: s.ConnectionTracking,
	}
	if s.InterfaceType != "" {
		nic.Type = s.InterfaceType
	}
	if len(nic.SecurityGroupIDs) == 0 {
		nic.SecurityGroupIDs = slices.Clone(l.groups)
	}
	mac := w.rand.Uint64()
	nic.MAC = fmt.Sprintf("0e:%02x:%02x:%02x:%02x:%02x", byte(mac), byte(mac>>8), byte(mac>>16), byte(mac>>24), byte(mac>>32))
	return nic
}
