package network

import (
	"cmp"
	"slices"

	awsv1 "github.com/kerf-sh/kerf/api/aws/v1"
	"github.com/kerf-sh/kerf/internal/engine/cluster"
)

// Left is how many addresses some subnets have left once all instances that were launched have theirs, and the pods theirs
// that those instances were launched for; launches that are still in flight are left to whoever knows the claims. It is
// sorted by ID, and lacks the zones of which a subnet was never observed.
func (l *Ledger) Left(subnets []awsv1.Subnet) []cluster.Subnet {
	l.mu.Lock()
	defer l.mu.Unlock()
	var out []cluster.Subnet
	unknown := map[string]bool{}
	for _, s := range subnets {
		a := l.subnets[s.ID]
		if a == nil || !a.known {
			unknown[s.Zone] = true
			continue
		}
		out = append(out, cluster.Subnet{ID: s.ID, Zone: s.Zone, Free: int64(max(0, a.launched()))})
	}
	out = slices.DeleteFunc(out, func(s cluster.Subnet) bool { return unknown[s.Zone] })
	slices.SortFunc(out, func(a, b cluster.Subnet) int { return cmp.Compare(a.ID, b.ID) })
	return out
}

// launched is how many addresses are left once those are gone that instances have which came to be.
func (a *account) launched() int {
	if a.refuses(Demand{}) {
		return 0
	}
	n := a.free
	for _, h := range a.holds {
		if !h.settled.IsZero() {
			n -= h.nodes*h.each + h.planned
		}
	}
	return n
}
