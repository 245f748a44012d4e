package network

// prefixAddresses is how many addresses a prefix takes of a subnet; they stand side by side.
const prefixAddresses = 16

// Demand is what a subnet has to give an instance as it is launched. The zero value stands for one address.
type Demand struct {
	// Addresses of the instance's interfaces.
	Addresses int
	// Prefixes of 16 IPv4 addresses each, which a subnet with many single free addresses may not have.
	Prefixes int
}

// Total is how many addresses the instance takes.
func (d Demand) Total() int { return max(1, d.Addresses) + prefixAddresses*max(0, d.Prefixes) }

// AtLeast reports whether a subnet that can't meet o can't meet d either.
func (d Demand) AtLeast(o Demand) bool {
	return max(1, d.Addresses) >= max(1, o.Addresses) && d.Prefixes >= o.Prefixes
}
