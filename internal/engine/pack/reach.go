package pack

import (
	"slices"

	"github.com/kerf-sh/kerf/internal/engine/catalog"
	"github.com/kerf-sh/kerf/internal/engine/cluster"
	"github.com/kerf-sh/kerf/internal/engine/res"
)

// firstFit is the first type of the shape, by price, that carries used and whose daemons leave the ports free, if it
// costs no more than most; -1 if there is none. Limits are not looked at. The lead says where cpu and memory stand in
// vectors.
func (sh *shape) firstFit(lead [2]int, used res.Vector, ports []cluster.HostPort, most catalog.MicroUSD) int {
	from := sh.reaching(lead, used)
	p := sh.pool
	for _, t := range sh.order[from:] {
		if sh.price[t] > most {
			break
		}
		if used.Fits(p.net[t]) && !(len(ports) > 0 && portsConflict(ports, p.burdens[p.burdenOf[t]].ports)) {
			return t
		}
	}
	return -1
}

// reaching is the first place in the order of types at which there is enough cpu and memory; types before it are too
// small, whatever else they have.
func (sh *shape) reaching(lead [2]int, used res.Vector) int {
	if sh.reach[0] == nil {
		sh.makeReach(lead)
	}
	from := 0
	for i, r := range lead {
		if used[r] > 0 {
			at, _ := slices.BinarySearch(sh.reach[i], used[r])
			from = max(from, at)
		}
	}
	return from
}

func (sh *shape) makeReach(lead [2]int) {
	for i, r := range lead {
		most := make([]int64, len(sh.order))
		for at, t := range sh.order {
			most[at] = sh.pool.net[t][r]
			if at > 0 {
				most[at] = max(most[at], most[at-1])
			}
		}
		sh.reach[i] = most
	}
}
