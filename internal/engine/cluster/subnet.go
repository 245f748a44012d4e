package cluster

// Subnet is a part of the network in one zone, and how many nodes it has addresses for. A node takes what its type
// says (catalog.Type.Addresses), all of one subnet.
type Subnet struct {
	ID   string `json:"id"`
	Zone string `json:"zone"`
	// Free is how many addresses are left once all nodes that were launched have theirs; those that are still to be
	// launched are not counted.
	Free int64 `json:"free"`
}
