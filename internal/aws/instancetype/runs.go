package instancetype

import "github.com/kerf-sh/kerf/internal/awsmodel/ec2facts"

// Runs reports whether the class can run a type, whatever zones and prices say.
func (c *Config) Runs(t *ec2facts.Type) bool {
	s := NewShape(t, nil, *c)
	return s.Refused == ""
}

// prefixesFit reports whether an interface of a type takes as many prefixes as the class asks for: prefixes take the
// places of addresses, of which the first is the interface's own, and need Nitro.
//
// Source: EC2 User Guide, "Prefix delegation for Amazon EC2 network interfaces".
func (c *Config) prefixesFit(t *ec2facts.Type) bool {
	if c.Prefixes == 0 {
		return true
	}
	places := t.Network.IPv4PerENI
	if c.PodNetwork.IPv6 {
		places = t.Network.IPv6PerENI
	}
	return t.Hypervisor != "xen" && c.Prefixes < places
}
