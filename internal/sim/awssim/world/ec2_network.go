package world

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"
)

// Zone is an availability zone.
type Zone struct {
	Name, ID string
	Type     string // availability-zone, local-zone
	State    string // available
}

// VPC is a private network.
type VPC struct {
	ID      string
	CIDR    netip.Prefix
	Tags    map[string]string
	Default bool
}

// Subnet is a range of addresses in one zone. EC2 keeps the first four and the last address for itself.
type Subnet struct {
	ID, VPCID, Zone, ZoneID string
	CIDR                    netip.Prefix
	Public                  bool // new interfaces get a public address
	Tags                    map[string]string
	Free                    int    // addresses that can still be given out
	OutpostARN              string // of the Outpost that the subnet is on, empty in the region

	used map[uint32]struct{} // offsets from the start of the range
	next uint32              // where the search for a free offset begins
}

// keptAddresses is how many addresses of a subnet EC2 keeps.
const keptAddresses = 5

// SecurityGroup is a firewall of a VPC.
type SecurityGroup struct {
	ID, Name, Description, VPCID string
	Tags                         map[string]string
}

type network struct {
	zones   []Zone
	vpcs    map[string]*VPC
	subnets map[string]*Subnet
	groups  map[string]*SecurityGroup
}

func (n *network) init() {
	n.vpcs = map[string]*VPC{}
	n.subnets = map[string]*Subnet{}
	n.groups = map[string]*SecurityGroup{}
}

// size is how many addresses of the range can be given out in all.
func (s *Subnet) size() int { return 1<<(32-s.CIDR.Bits()) - keptAddresses }

// takeLocked gives out the next free address.
func (s *Subnet) take() (netip.Addr, bool) {
	if s.Free <= 0 {
		return netip.Addr{}, false
	}
	last := uint32(1)<<(32-s.CIDR.Bits()) - 2 // the last address is the broadcast address
	for range last {
		if s.next < 4 || s.next > last {
			s.next = 4
		}
		offset := s.next
		s.next++
		if _, busy := s.used[offset]; !busy {
			s.used[offset] = struct{}{}
			s.Free--
			return s.at(offset), true
		}
	}
	return netip.Addr{}, false
}

// give takes an address back.
func (s *Subnet) give(a netip.Addr) {
	offset := ipv4(a) - ipv4(s.CIDR.Masked().Addr())
	if _, busy := s.used[offset]; busy {
		delete(s.used, offset)
		s.Free++
	}
}

func (s *Subnet) at(offset uint32) netip.Addr {
	v := ipv4(s.CIDR.Masked().Addr()) + offset
	return netip.AddrFrom4([4]byte{byte(v >> 24), byte(v >> 16), byte(v >> 8), byte(v)})
}

func ipv4(a netip.Addr) uint32 {
	b := a.As4()
	return uint32(b[0])<<24 | uint32(b[1])<<16 | uint32(b[2])<<8 | uint32(b[3])
}

func (s *Subnet) clone() Subnet {
	c := *s
	c.Tags, c.used = maps.Clone(s.Tags), nil
	return c
}

// privateDNSName is the name that EC2 gives to an address.
func (w *World) privateDNSName(a netip.Addr) string {
	domain := w.opts.Region + ".compute.internal"
	if w.opts.Region == "us-east-1" {
		domain = "ec2.internal"
	}
	return "ip-" + strings.ReplaceAll(a.String(), ".", "-") + "." + domain
}

// Zones returns the region's zones by name.
func (w *World) Zones() []Zone {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.ec2.net.zones)
}

// ZoneID returns the id of a zone, or "" if there is none of that name.
func (w *World) ZoneID(name string) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.zoneIDLocked(name)
}

func (w *World) zoneIDLocked(name string) string {
	for _, z := range w.ec2.net.zones {
		if z.Name == name {
			return z.ID
		}
	}
	return ""
}

// VPCs returns all networks by id.
func (w *World) VPCs() []VPC {
	w.mu.Lock()
	defer w.mu.Unlock()
	return sorted(w.ec2.net.vpcs, func(v *VPC) VPC { c := *v; c.Tags = maps.Clone(v.Tags); return c })
}

// Subnets returns all subnets by id.
func (w *World) Subnets() []Subnet {
	w.mu.Lock()
	defer w.mu.Unlock()
	return sorted(w.ec2.net.subnets, (*Subnet).clone)
}

// SecurityGroups returns all security groups by id.
func (w *World) SecurityGroups() []SecurityGroup {
	w.mu.Lock()
	defer w.mu.Unlock()
	return sorted(w.ec2.net.groups, func(g *SecurityGroup) SecurityGroup { c := *g; c.Tags = maps.Clone(g.Tags); return c })
}

// AddVPC makes a network.
func (w *World) AddVPC(cidr string, tags map[string]string) (VPC, error) {
	p, err := netip.ParsePrefix(cidr)
	if err != nil || !p.Addr().Is4() {
		return VPC{}, fmt.Errorf("make VPC: %q is not an IPv4 range", cidr)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	v := &VPC{ID: w.newIDLocked("vpc"), CIDR: p.Masked(), Tags: maps.Clone(tags)}
	w.ec2.net.vpcs[v.ID] = v
	return *v, nil
}

// AddSubnet makes a subnet in a zone of a network.
func (w *World) AddSubnet(vpcID, zone, cidr string, public bool, tags map[string]string) (Subnet, error) {
	p, err := netip.ParsePrefix(cidr)
	if err != nil || !p.Addr().Is4() || p.Bits() < 16 || p.Bits() > 28 {
		return Subnet{}, fmt.Errorf("make subnet: %q is not an IPv4 range between /16 and /28", cidr)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	v := w.ec2.net.vpcs[vpcID]
	if v == nil {
		return Subnet{}, fmt.Errorf("make subnet %s: no VPC %q", cidr, vpcID)
	}
	if !v.CIDR.Contains(p.Addr()) || p.Bits() < v.CIDR.Bits() {
		return Subnet{}, fmt.Errorf("make subnet %s: not inside %s of %s", cidr, v.CIDR, vpcID)
	}
	for _, o := range w.ec2.net.subnets {
		if o.VPCID == vpcID && o.CIDR.Overlaps(p) {
			return Subnet{}, fmt.Errorf("make subnet %s: overlaps %s of %s", cidr, o.CIDR, o.ID)
		}
	}
	id := w.zoneIDLocked(zone)
	if id == "" {
		return Subnet{}, fmt.Errorf("make subnet %s: no zone %q in %s", cidr, zone, w.opts.Region)
	}
	s := &Subnet{
		ID: w.newIDLocked("subnet"), VPCID: vpcID, Zone: zone, ZoneID: id, CIDR: p.Masked(), Public: public,
		Tags: maps.Clone(tags), used: map[uint32]struct{}{},
	}
	s.Free = s.size()
	w.ec2.net.subnets[s.ID] = s
	return s.clone(), nil
}

// PutOnOutpost makes a subnet one of an Outpost.
func (w *World) PutOnOutpost(subnetID, arn string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if s := w.ec2.net.subnets[subnetID]; s != nil {
		s.OutpostARN = arn
	}
}

// AddSecurityGroup makes a security group.
func (w *World) AddSecurityGroup(vpcID, name, description string, tags map[string]string) (SecurityGroup, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.ec2.net.vpcs[vpcID] == nil {
		return SecurityGroup{}, fmt.Errorf("make security group %s: no VPC %q", name, vpcID)
	}
	g := &SecurityGroup{ID: w.newIDLocked("sg"), Name: name, Description: description, VPCID: vpcID, Tags: maps.Clone(tags)}
	w.ec2.net.groups[g.ID] = g
	return *g, nil
}

// OccupyAddresses takes n addresses of a subnet as if something else used them, and returns how many it got.
func (w *World) OccupyAddresses(subnetID string, n int) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	s := w.ec2.net.subnets[subnetID]
	if s == nil {
		return 0
	}
	got := 0
	for got < n {
		if _, ok := s.take(); !ok {
			break
		}
		got++
	}
	return got
}

// sorted returns copies of a map's values in the order of its keys.
func sorted[V, C any](m map[string]*V, clone func(*V) C) []C {
	out := make([]C, 0, len(m))
	for _, k := range slices.Sorted(maps.Keys(m)) {
		out = append(out, clone(m[k]))
	}
	return out
}
