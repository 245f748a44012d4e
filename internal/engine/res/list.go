// Package res holds resource amounts in fixed integer units.
//
// A List is the readable form that values and plans carry; a Vector is the dense form that the engine computes with,
// laid out by a Schema that is built once for a problem. No amount is ever a float.
package res

import "maps"

// Names of the resources that every node has. They are the Kubernetes names.
const (
	CPU              = "cpu"
	Memory           = "memory"
	EphemeralStorage = "ephemeral-storage"
	Pods             = "pods"
	// Nodes counts nodes in NodePool limits; it is never requested by a pod.
	Nodes = "nodes"
)

// List maps a resource name to an amount.
//
// Units: millicores for cpu, bytes for memory, ephemeral storage and hugepages, counts for everything else.
type List map[string]int64

// Clone returns a copy that shares nothing with l.
func (l List) Clone() List { return maps.Clone(l) }

// Add adds every amount of o to l in place.
func (l List) Add(o List) {
	for k, v := range o {
		l[k] += v
	}
}

// Size is how much is asked for in thousandths of a core; four GiB of memory count as one core. Pods are evicted in its order, and
// plans count on that.
func (l List) Size() int64 { return l[CPU] + l[Memory]/(4<<30/1000) }
