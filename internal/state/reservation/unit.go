package reservation

import "strings"

// Unit names one instance: a Node with its NodeClaim, if it has one, or a NodeClaim whose Node has not joined. A reservation
// that was made for a claim keeps the claim's name when the Node joins.
type Unit string

const (
	nodePrefix  = "n/"
	claimPrefix = "c/"
)

// OfNode is the unit of a Node.
func OfNode(name string) Unit { return Unit(nodePrefix + name) }

// OfClaim is the unit of a NodeClaim.
func OfClaim(name string) Unit { return Unit(claimPrefix + name) }

// Node is the Node's name; ok is false when the unit is a NodeClaim's.
func (u Unit) Node() (name string, ok bool) { return strings.CutPrefix(string(u), nodePrefix) }

// Claim is the NodeClaim's name; ok is false when the unit is a Node's.
func (u Unit) Claim() (name string, ok bool) { return strings.CutPrefix(string(u), claimPrefix) }
